package vault

import (
	"bytes"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/domain/credential"
)

const secret = "canary-5b1c0f9e-77"

func keyOf(b byte) string { return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{b}, 32)) }

func with(env map[string]string) *Vault {
	return New(func(k string) (string, bool) { v, ok := env[k]; return v, ok })
}

var main = credential.Credential{Pool: "pubmed", Name: "main"}

func TestResolve_ByReference(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "key")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	large := filepath.Join(dir, "large")
	if err := os.WriteFile(large, make([]byte, maxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	v := with(map[string]string{"GOOD": " " + secret + "\n", "EMPTY": "", "SHORT": "abc", "BROKEN": "has a tab \t in it, though"})
	for _, c := range []struct {
		kind credential.SecretKind
		ref  string
		says string
	}{
		{credential.SecretEnv, "GOOD", ""},
		{credential.SecretEnv, "EMPTY", "EMPTY is not set"},
		{credential.SecretEnv, "NOWHERE", "NOWHERE is not set"},
		{credential.SecretEnv, "SHORT", "shorter than"},
		{credential.SecretEnv, "BROKEN", "control character"},
		{credential.SecretEnv, "GOOD,EMPTY", "EMPTY is not set"},
		{credential.SecretEnv, "GOOD,SHORT", "shorter than"},
		{credential.SecretFile, file, ""},
		{credential.SecretFile, file + "x", "no such file"},
		{credential.SecretFile, large, "longer than"},
		{"PIGEON", "x", "not known"},
	} {
		cred := main
		cred.Secret = credential.SecretRef{Kind: c.kind, Ref: c.ref}
		s, err := v.Resolve(cred)
		switch {
		case c.says == "" && (err != nil || s.Reveal() != secret):
			t.Errorf("%s %s: %v", c.kind, c.ref, err)
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s %s: %v, want %q", c.kind, c.ref, err, c.says)
		}
	}
}

// TestResolve_SeveralSecrets: two variables, or the two lines of a file, are the
// parts of one credential; sealed, they stay so.
func TestResolve_SeveralSecrets(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte(secret+"\r\nanother-secret-of-it\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	v := with(map[string]string{"A": secret, "B": "another-secret-of-it\n", EnvKey: keyOf(1)})
	sealed, err := v.Seal(main, credential.NewSecret(secret+"\nanother-secret-of-it"))
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range []credential.SecretRef{{Kind: credential.SecretEnv, Ref: "A,B"}, {Kind: credential.SecretFile, Ref: file}, sealed} {
		cred := main
		cred.Secret = ref
		s, err := v.Resolve(cred)
		if err != nil {
			t.Fatal(err)
		}
		if p := s.Parts(); len(p) != 2 || p[0].Reveal() != secret || p[1].Reveal() != "another-secret-of-it" {
			t.Errorf("%s: %d parts", ref.Kind, len(p))
		}
	}
}

// TestSeal_OpensOnlyWhereItBelongs: one bit changed, another credential,
// another key: nothing comes out, and nothing is told.
func TestSeal_OpensOnlyWhereItBelongs(t *testing.T) {
	v := with(map[string]string{EnvKey: keyOf(1)})
	ref, err := v.Seal(main, credential.NewSecret(secret))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(ref.Sealed, []byte(secret)) || ref.MAC == "" || len(ref.MAC) > 16 {
		t.Errorf("sealed as %x, mac %s", ref.Sealed, ref.MAC)
	}
	open := func(v *Vault, c credential.Credential, b []byte) (credential.Secret, error) {
		c.Secret = ref
		c.Secret.Sealed = b
		return v.Resolve(c)
	}
	if s, err := open(v, main, ref.Sealed); err != nil || s.Reveal() != secret {
		t.Fatalf("open: %v", err)
	}
	for i := range ref.Sealed {
		for _, bit := range []byte{1, 0x80} {
			bent := bytes.Clone(ref.Sealed)
			bent[i] ^= bit
			if _, err := open(v, main, bent); err == nil || strings.Contains(err.Error(), secret) {
				t.Errorf("byte %d changed: %v", i, err)
			}
		}
		if _, err := open(v, main, ref.Sealed[:i]); err == nil {
			t.Errorf("cut at %d: opened", i)
		}
	}
	for _, c := range []credential.Credential{{Pool: "pubmed", Name: "other"}, {Pool: "crossref", Name: "main"}} {
		if _, err := open(v, c, ref.Sealed); err == nil {
			t.Errorf("opened for %s/%s", c.Pool, c.Name)
		}
	}
	if _, err := open(with(map[string]string{EnvKey: keyOf(2)}), main, ref.Sealed); !errors.Is(err, ErrNoKey) {
		t.Errorf("another key: %v", err)
	}
	if _, err := open(with(nil), main, ref.Sealed); !errors.Is(err, ErrNoKey) {
		t.Errorf("no key: %v", err)
	}
	other := main
	other.Pool = "crossref"
	if foreign, err := v.Seal(other, credential.NewSecret(secret)); err != nil || foreign.MAC == ref.MAC {
		t.Errorf("the same secret in two pools can be seen to be the same: %s, %v", foreign.MAC, err)
	}
	again, err := v.Seal(main, credential.NewSecret(secret))
	if err != nil || bytes.Equal(again.Sealed, ref.Sealed) || again.MAC != ref.MAC {
		t.Errorf("sealed again: %v", err)
	}
}

func TestKey_ChangesHandsByResealing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(keyOf(2)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	old := with(map[string]string{EnvKey: keyOf(1)})
	cred := main
	var err error
	cred.Secret, err = old.Seal(main, credential.NewSecret(secret))
	if err != nil {
		t.Fatal(err)
	}
	both := with(map[string]string{EnvKeyFile: file, EnvPrevious: keyOf(1)})
	if is, err := both.Current(cred.Secret); err != nil || is {
		t.Errorf("current: %v %v", is, err)
	}
	s, err := both.Resolve(cred)
	if err != nil {
		t.Fatal(err)
	}
	cred.Secret, err = both.Seal(main, s)
	if err != nil {
		t.Fatal(err)
	}
	if is, err := both.Current(cred.Secret); err != nil || !is {
		t.Errorf("current: %v %v", is, err)
	}
	if s, err := with(map[string]string{EnvKey: keyOf(2)}).Resolve(cred); err != nil || s.Reveal() != secret {
		t.Errorf("under the new key alone: %v", err)
	}
	for _, bad := range []string{"", "short", keyOf(1)[:20], strings.Repeat("!", 44)} {
		if _, err := with(map[string]string{EnvKey: bad}).Seal(main, credential.NewSecret(secret)); err == nil || bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("key %q: %v", bad, err)
		}
	}
}

// TestR81_ReferencesAreLimited: what a row of the store points at is read only
// within what this process allows; never its own settings, never a file that
// others may have written.
func TestR81_ReferencesAreLimited(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	file := func(dir, name string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(secret+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	mine := file(dir, "mine", 0o600)
	open := file(dir, "open", 0o666)
	outside := file(elsewhere, "outside", 0o600)
	link := filepath.Join(dir, "link")
	if err := os.Symlink(outside, link); err != nil {
		t.Fatal(err)
	}
	keyFile := file(dir, "sealing", 0o600)
	env := map[string]string{
		"NCBI_KEY": secret, "AWS_SECRET": secret, "PATRA_DB": secret, EnvKey: keyOf(1), EnvKeyFile: keyFile, "patra_contact": secret,
	}
	for _, c := range []struct {
		kind        credential.SecretKind
		ref         string
		vars, paths string // the lists; empty: none
		says        string
	}{
		{credential.SecretEnv, "NCBI_KEY", "", "", ""},
		{credential.SecretEnv, "PATRA_DB", "", "", "never a credential"},
		{credential.SecretEnv, EnvKey, "", "", "never a credential"},
		{credential.SecretEnv, EnvKey, "PATRA_*", "", "never a credential"},
		{credential.SecretEnv, "NCBI_KEY,PATRA_DB", "", "", "never a credential"},
		{credential.SecretEnv, "patra_contact", "", "", "never a credential"},
		{credential.SecretEnv, "NCBI_KEY", "NCBI_*, ELSEVIER_KEY", "", ""},
		{credential.SecretEnv, "NCBI_KEY", "ELSEVIER_KEY,NCBI_KEY", "", ""},
		{credential.SecretEnv, "AWS_SECRET", "NCBI_*,ELSEVIER_KEY", "", "is not in PATRA_CREDENTIAL_ENV"},
		{credential.SecretEnv, "AWS_SECRET", ",", "", "is not in PATRA_CREDENTIAL_ENV"},
		{credential.SecretFile, mine, "", "", ""},
		{credential.SecretFile, open, "", "", "can be written by everybody"},
		{credential.SecretFile, dir, "", "", "is not a file"},
		{credential.SecretFile, "/dev/zero", "", "", "is not a file"},
		{credential.SecretFile, keyFile, "", "", "sealing key"},
		{credential.SecretFile, mine, "", elsewhere + string(os.PathListSeparator) + dir, ""},
		{credential.SecretFile, outside, "", dir, "in none of the folders"},
		{credential.SecretFile, link, "", dir, "in none of the folders"},
		{credential.SecretFile, mine, "", dir + "x", "in none of the folders"},
	} {
		v := New(func(k string) (string, bool) {
			switch {
			case k == EnvVariables:
				return c.vars, c.vars != ""
			case k == EnvFolders:
				return c.paths, c.paths != ""
			}
			s, ok := env[k]
			return s, ok
		})
		cred := main
		cred.Secret = credential.SecretRef{Kind: c.kind, Ref: c.ref}
		s, err := v.Resolve(cred)
		switch {
		case c.says == "" && (err != nil || s.Reveal() != secret):
			t.Errorf("%s %s with %q %q: %v", c.kind, c.ref, c.vars, c.paths, err)
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), secret)):
			t.Errorf("%s %s with %q %q: %v, want %q", c.kind, c.ref, c.vars, c.paths, err, c.says)
		}
	}
	if info, err := os.Stat("/proc/1/cmdline"); err == nil && os.Geteuid() == 0 && !trusted(info) {
		t.Error("a file of root is not trusted")
	}
	if os.Geteuid() != 0 {
		return
	}
	if err := os.Chown(mine, 4321, 4321); err != nil {
		t.Skipf("files cannot be given away here: %v", err)
	}
	cred := main
	cred.Secret = credential.SecretRef{Kind: credential.SecretFile, Ref: mine}
	if _, err := with(env).Resolve(cred); err == nil || !strings.Contains(err.Error(), "belongs to another user") {
		t.Errorf("a file of another user: %v", err)
	}
}
