package credential_test

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/papertrace/patra/internal/infra/telemetry"
)

const canary = "canary-7f3a/9+Z=q \"x\"&<é>"

// TestR48_SecretNeverPrints tries every way in which a value becomes text.
func TestR48_SecretNeverPrints(t *testing.T) {
	s := credential.NewSecret(canary)
	type inner struct{ hidden credential.Secret }
	outer := struct {
		S    credential.Secret
		P    *credential.Secret
		in   inner
		M    map[string]credential.Secret
		L    []credential.Secret
		any  any
		Cred credential.Key
	}{s, &s, inner{s}, map[string]credential.Secret{"k": s}, []credential.Secret{s}, s, credential.Key{Secret: s}}
	var out bytes.Buffer
	for _, v := range []any{s, &s, outer, &outer, outer.in, outer.any} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T", "%p", "%t", "%e", "%08v", "% x"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		fmt.Fprintln(&out, v)
		b, err := json.Marshal(v)
		if err != nil {
			fmt.Fprintln(&out, err)
		}
		out.Write(b)
		b, err = xml.Marshal(v)
		if err != nil {
			fmt.Fprintln(&out, err)
		}
		out.Write(b)
		_ = gob.NewEncoder(&out).Encode(v)
		slog.New(slog.NewTextHandler(&out, nil)).Info("m", "v", v)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("m", "v", v)
		fmt.Fprintln(&out, fmt.Errorf("wrap: %v", v))
	}
	func() {
		defer func() { fmt.Fprint(&out, recover()) }()
		panic(outer)
	}()
	// The redactor knows every form in which a secret is written.
	if clean := telemetry.NewRedactor(s).Text(out.String()); clean != out.String() {
		t.Errorf("the secret printed somewhere in:\n%s", out.String())
	}
	if s.Reveal() != canary || (credential.Secret{}).Reveal() != "" || !s.Equal(credential.NewSecret(canary)) || s.Equal(credential.Secret{}) {
		t.Error("a secret must still be one")
	}
}

// TestR48_RevealIsForFew holds the callers of Reveal to a list.
func TestR48_RevealIsForFew(t *testing.T) {
	may := []string{
		"internal/domain/credential/secret.go", "internal/domain/credential/credential.go", "internal/domain/credential/fits.go",
		"internal/infra/telemetry/redactor.go",
		"internal/infra/upstream/auth.go", "internal/infra/upstream/secrets.go", "internal/infra/upstream/token.go", "internal/infra/upstream/hook.go", "internal/infra/vault/vault.go",
		"internal/infra/notify/target.go", "internal/infra/notify/notify.go", "internal/infra/notify/chat.go", "internal/infra/notify/mail.go",
		"internal/infra/bus/nats.go", "internal/infra/bus/settings.go", "internal/infra/bus/webhook.go",
	}
	err := fs.WalkDir(os.DirFS("../../.."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		b, err := fs.ReadFile(os.DirFS("../../.."), name)
		if err != nil {
			return err
		}
		if bytes.Contains(b, []byte(".Reveal()")) && !strings.Contains(strings.Join(may, " "), name) {
			t.Errorf("%s reveals secrets", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestR80_WhatCannotBeASecret is refused with the true cause.
func TestR80_WhatCannotBeASecret(t *testing.T) {
	for text, want := range map[string]string{
		"fifteen-bytes-x":                     "shorter than 16 bytes",
		"sixteen-bytes-ok":                    "",
		"long-enough-but-***-within":          "holds ***",
		"a-first-line-0123\nshort":            "shorter than 16 bytes",
		"a-first-line-0123\nand-another-one!": "",
		"a-control-\x01-character":            "control character",
		"\ufeffby-an-editor-of-windows":       "mark that some editors put",
	} {
		err := credential.CheckSecret(credential.NewSecret(text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
