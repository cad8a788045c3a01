package source

import (
	"bytes"
	"encoding/base64"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
)

const canary = "canary-7f3a/9+Z=q \"x\"&<é>"

// TestR48_SecretNeverPrints tries every way in which a value becomes text.
func TestR48_SecretNeverPrints(t *testing.T) {
	s := NewSecret(canary)
	type inner struct{ hidden Secret }
	outer := struct {
		S    Secret
		P    *Secret
		in   inner
		M    map[string]Secret
		L    []Secret
		any  any
		Cred Key
	}{s, &s, inner{s}, map[string]Secret{"k": s}, []Secret{s}, s, Key{Secret: s}}
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
		if b, err = xml.Marshal(v); err != nil {
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
	for name, f := range encodings {
		if strings.Contains(out.String(), f(canary)) {
			t.Errorf("found %s:\n%s", name, out.String())
		}
	}
	if s.Reveal() != canary || (Secret{}).Reveal() != "" || !s.Equal(NewSecret(canary)) || s.Equal(Secret{}) {
		t.Error("a secret must still be one")
	}
}

// TestR48_RevealIsForFew holds the callers of Reveal to a list.
func TestR48_RevealIsForFew(t *testing.T) {
	may := []string{
		"internal/domain/source/secret.go", "internal/domain/source/redactor.go", "internal/domain/source/credential.go",
		"internal/infra/upstream/auth.go", "internal/infra/upstream/token.go", "internal/infra/upstream/hook.go", "internal/infra/vault/vault.go",
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

// encodings are how others write a text.
var encodings = map[string]func(string) string{
	"plain":        func(s string) string { return s },
	"query":        url.QueryEscape,
	"path":         url.PathEscape,
	"query twice":  func(s string) string { return url.QueryEscape(url.QueryEscape(s)) },
	"query lower":  func(s string) string { return lowerEscapes(url.QueryEscape(s)) },
	"query %20":    func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") },
	"base64":       func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"base64 raw":   func(s string) string { return base64.RawStdEncoding.EncodeToString([]byte(s)) },
	"base64 url":   func(s string) string { return base64.URLEncoding.EncodeToString([]byte(s)) },
	"base64 query": func(s string) string { return url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(s))) },
	"hex":          func(s string) string { return hex.EncodeToString([]byte(s)) },
	"HEX":          func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) },
	"json": func(s string) string {
		b, _ := json.Marshal(s)
		return string(b[1 : len(b)-1])
	},
	"json slashed": func(s string) string {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		_ = e.Encode(s)
		return strings.ReplaceAll(strings.Trim(strings.TrimSpace(b.String()), `"`), "/", `\/`)
	},
	"go": func(s string) string { q := strconv.Quote(s); return q[1 : len(q)-1] },
	"go twice": func(s string) string {
		q := strconv.Quote(s)
		q = strconv.Quote(q[1 : len(q)-1])
		return q[1 : len(q)-1]
	},
	"html": html.EscapeString,
}

// TestA13_RedactorFindsEveryForm puts a secret in every form and place into a text.
func TestA13_RedactorFindsEveryForm(t *testing.T) {
	for _, secret := range []string{canary, "abcdefgh", "sim-key-0123456789abcdef", `\\\\\\\\`, "////++++", "a b c d e", "%41%42%43", "********", "pass:w0rd!"} {
		r := new(Redactor)
		r.Learn(NewSecret(secret))
		r.Learn(NewSecret("another-secret"))
		for name, f := range encodings {
			for _, around := range [][2]string{{"", ""}, {"x", "y"}, {`{"k":"`, `"}`}, {"https://h/p?api_key=", "&a=b"}, {secret, secret}} {
				text := around[0] + f(secret) + around[1]
				got := r.Text(text)
				for other, g := range encodings {
					if strings.Contains(got, g(secret)) {
						t.Errorf("%q as %s: %q still holds it as %s", secret, name, got, other)
					}
				}
				if string(r.Bytes([]byte(text))) != got {
					t.Errorf("%q as %s: bytes and text differ", secret, name)
				}
			}
		}
		// Inside a longer base64, as in Basic auth or a data URL.
		for lead := range 4 {
			text := base64.StdEncoding.EncodeToString([]byte("user"[:lead] + secret + "tail"))
			if got := r.Text(text); len(secret) > 10 && got == text {
				t.Errorf("%q behind %d bytes in base64: %q is left", secret, lead, got)
			}
		}
	}
}

func TestRedactor_LeavesTheRestAlone(t *testing.T) {
	r := new(Redactor)
	text := "nothing to see"
	if r.Text(text) != text || (*Redactor)(nil).Text(text) != text {
		t.Error("without secrets nothing changes")
	}
	r.Learn(NewSecret("short"))
	r.Learn(Secret{})
	if r.Text("short") != "short" {
		t.Error("a short text is no secret")
	}
	r.Learn(NewSecret("long-enough-to-be-one"))
	b := []byte(strings.Repeat("lorem ipsum ", 1000))
	if got := r.Bytes(b); &got[0] != &b[0] {
		t.Error("bytes without a secret are not copied")
	}
	if got := r.Text("a long-enough-to-be-one b"); got != "a *** b" {
		t.Errorf("got %q", got)
	}
	for i := range 2 * maxLive {
		r.Learn(NewSecret(fmt.Sprintf("generated-secret-%d", i)))
	}
	if got := r.Text(fmt.Sprintf("generated-secret-%d", 2*maxLive-1)); got != hidden {
		t.Errorf("the newest is forgotten: %q", got)
	}
}

// FuzzA13_Redactor: whatever the secret and whatever is around it, it is gone
// afterwards, in every form.
func FuzzA13_Redactor(f *testing.F) {
	f.Add(canary, "before", "after", uint8(3))
	f.Add("aaaaaaaa", "aaaa", "aaa", uint8(0))
	f.Add("***-***-***", "***-", "-***", uint8(6))
	names := []string{}
	for n := range encodings {
		names = append(names, n)
	}
	f.Fuzz(func(t *testing.T, secret, before, after string, how uint8) {
		if len(secret) < MinSecret || len(secret) > 4096 || CheckSecret(NewSecret(secret)) != nil {
			t.Skip("not a secret that may be kept")
		}
		r := new(Redactor)
		r.Learn(NewSecret(secret))
		enc := encodings[names[int(how)%len(names)]]
		got := r.Text(before + enc(secret) + after)
		if strings.Contains(got, secret) || len(enc(secret)) >= MinSecret && strings.Contains(got, enc(secret)) {
			t.Errorf("%q is left in %q", secret, got)
		}
	})
}

func BenchmarkRedactor(b *testing.B) {
	r := new(Redactor)
	r.Learn(NewSecret("0123456789abcdef0123456789abcdef0123"))
	body := []byte(strings.Repeat(`{"DOI":"10.1000/182","title":["On the % of \u00e9 things"],"URL":"https://doi.org/10.1000/182"},`, 60000))
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		r.Bytes(body)
	}
}
