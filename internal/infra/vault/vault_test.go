package vault

import (
	"bytes"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/domain/source"
)

const secret = "canary-5b1c0f9e"

func keyOf(b byte) string { return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{b}, 32)) }

func with(env map[string]string) *Vault {
	return New(func(k string) (string, bool) { v, ok := env[k]; return v, ok })
}

var main = source.Credential{Pool: "pubmed", Name: "main"}

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
	v := with(map[string]string{"GOOD": " " + secret + "\n", "EMPTY": "", "SHORT": "abc", "BROKEN": "has a\ttab in it"})
	for _, c := range []struct {
		kind source.SecretKind
		ref  string
		says string
	}{
		{source.SecretEnv, "GOOD", ""},
		{source.SecretEnv, "EMPTY", "EMPTY is not set"},
		{source.SecretEnv, "NOWHERE", "NOWHERE is not set"},
		{source.SecretEnv, "SHORT", "shorter than"},
		{source.SecretEnv, "BROKEN", "control character"},
		{source.SecretEnv, "GOOD,EMPTY", "EMPTY is not set"},
		{source.SecretEnv, "GOOD,SHORT", "shorter than"},
		{source.SecretFile, file, ""},
		{source.SecretFile, file + "x", "no such file"},
		{source.SecretFile, large, "longer than"},
		{"PIGEON", "x", "not known"},
	} {
		cred := main
		cred.Secret = source.SecretRef{Kind: c.kind, Ref: c.ref}
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
	if err := os.WriteFile(file, []byte(secret+"\r\nanother-secret\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	v := with(map[string]string{"A": secret, "B": "another-secret\n", EnvKey: keyOf(1)})
	sealed, err := v.Seal(main, source.NewSecret(secret+"\nanother-secret"))
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range []source.SecretRef{{Kind: source.SecretEnv, Ref: "A,B"}, {Kind: source.SecretFile, Ref: file}, sealed} {
		cred := main
		cred.Secret = ref
		s, err := v.Resolve(cred)
		if err != nil {
			t.Fatal(err)
		}
		if p := s.Parts(); len(p) != 2 || p[0].Reveal() != secret || p[1].Reveal() != "another-secret" {
			t.Errorf("%s: %d parts", ref.Kind, len(p))
		}
	}
}

// TestSeal_OpensOnlyWhereItBelongs: one bit changed, another credential,
// another key: nothing comes out, and nothing is told.
func TestSeal_OpensOnlyWhereItBelongs(t *testing.T) {
	v := with(map[string]string{EnvKey: keyOf(1)})
	ref, err := v.Seal(main, source.NewSecret(secret))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(ref.Sealed, []byte(secret)) || ref.MAC == "" || len(ref.MAC) > 16 {
		t.Errorf("sealed as %x, mac %s", ref.Sealed, ref.MAC)
	}
	open := func(v *Vault, c source.Credential, b []byte) (source.Secret, error) {
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
	for _, c := range []source.Credential{{Pool: "pubmed", Name: "other"}, {Pool: "crossref", Name: "main"}} {
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
	again, err := v.Seal(main, source.NewSecret(secret))
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
	if cred.Secret, err = old.Seal(main, source.NewSecret(secret)); err != nil {
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
	if cred.Secret, err = both.Seal(main, s); err != nil {
		t.Fatal(err)
	}
	if is, err := both.Current(cred.Secret); err != nil || !is {
		t.Errorf("current: %v %v", is, err)
	}
	if s, err := with(map[string]string{EnvKey: keyOf(2)}).Resolve(cred); err != nil || s.Reveal() != secret {
		t.Errorf("under the new key alone: %v", err)
	}
	for _, bad := range []string{"", "short", keyOf(1)[:20], strings.Repeat("!", 44)} {
		if _, err := with(map[string]string{EnvKey: bad}).Seal(main, source.NewSecret(secret)); err == nil || bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("key %q: %v", bad, err)
		}
	}
}
