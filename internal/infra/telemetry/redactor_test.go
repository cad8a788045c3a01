package telemetry

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/credential"
)

const canary = "canary-7f3a/9+Z=q \"x\"&<é>"

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
		line := strings.TrimSpace(b.String())
		return strings.ReplaceAll(line[1:len(line)-1], "/", `\/`)
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
	for _, secret := range []string{canary, "abcdefgh", "sim-key-0123456789abcdef", `\\\\\\\\`, "////++++", "a b c d e", "%41%42%43", "**stars**in*it**", "pass:w0rd!"} {
		r := new(Redactor)
		r.Learn(credential.NewSecret(secret))
		r.Learn(credential.NewSecret("another-secret"))
		for name, f := range encodings {
			for _, around := range [][2]string{{"", ""}, {"x", "y"}, {`{"k":"`, `"}`}, {"https://h/p?api_key=", "&a=b"}, {secret, secret}} {
				text := around[0] + f(secret) + around[1]
				got := r.Text(text)
				for other, g := range encodings {
					if strings.Contains(got, g(secret)) {
						t.Errorf("%q as %s: %q still holds it as %s", secret, name, got, other)
					}
				}
				if b, err := r.Bytes(t.Context(), []byte(text)); err != nil || string(b) != got {
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
	r.Learn(credential.NewSecret("short"))
	r.Learn(credential.Secret{})
	if r.Text("short") != "short" {
		t.Error("a short text is no secret")
	}
	r.Learn(credential.NewSecret("long-enough-to-be-one"))
	b := []byte(strings.Repeat("lorem ipsum ", 1000))
	if got, err := r.Bytes(t.Context(), b); err != nil || &got[0] != &b[0] {
		t.Error("bytes without a secret are not copied")
	}
	if got := r.Text("a long-enough-to-be-one b"); got != "a *** b" {
		t.Errorf("got %q", got)
	}
	for i := range 2 * maxLive {
		r.Learn(credential.NewSecret(fmt.Sprintf("generated-secret-%d", i)))
	}
	if got := r.Text(fmt.Sprintf("generated-secret-%d", 2*maxLive-1)); got != credential.Hidden {
		t.Errorf("the newest is forgotten: %q", got)
	}
}

// TestR80_RemembersByLastUse: a key in use stays known while others come and go.
func TestR80_RemembersByLastUse(t *testing.T) {
	r := new(Redactor)
	inUse := credential.NewSecret("key-in-use-0123456789")
	for i := range 4 * maxLive {
		r.Learn(credential.NewSecret(fmt.Sprintf("token-of-another-%06d", i)))
		if i%(maxLive-1) == 0 {
			r.Learn(inUse)
		}
		if got := r.Text("reflected: key-in-use-0123456789"); got != "reflected: ***" {
			t.Fatalf("a key that is used again and again was forgotten after %d others: %q", i+1, got)
		}
	}
	if got := r.Text("token-of-another-000000"); got == credential.Hidden {
		t.Error("what was used longest ago is still kept")
	}
}

// TestR80_WorkGrowsWithTheText gives the redactor the worst texts for it: those
// that nearly are a secret at every place, and those that become one when a part
// is taken out. Twice the text must not be four times the work, a longer secret
// not more of it at every place, and a reader whose context has ended is not kept
// waiting.
func TestR80_WorkGrowsWithTheText(t *testing.T) {
	near := strings.Repeat("a", 16<<10-1)
	for name, c := range map[string]struct {
		secret string
		text   func(n int) string
	}{
		"almost at every place": {near + "b", func(n int) string { return strings.Repeat("a", n) }},
		"one after the other":   {near + "b", func(n int) string { return strings.Repeat(near+"b", n/len(near)) }},
		"one within another": {"x**yzzzzzzzzzzzzz", func(n int) string {
			return strings.Repeat("x", n/20) + "x**yzzzzzzzzzzzzz" + strings.Repeat("yzzzzzzzzzzzzz", n/20)
		}},
	} {
		r := NewRedactor(credential.NewSecret(c.secret))
		least := func(r *Redactor, n int) time.Duration { // the quietest of a few, as the machine is shared
			best := time.Hour
			for range 5 {
				b := []byte(c.text(n))
				start := time.Now()
				got, err := r.Bytes(t.Context(), b)
				best = min(best, time.Since(start))
				if err != nil || strings.Contains(string(got), c.secret) {
					t.Fatalf("%s: %v", name, err)
				}
			}
			return best
		}
		if one, eight := least(r, 256<<10), least(r, 2<<20); eight > 24*one+50*time.Millisecond {
			t.Errorf("%s: 256 KiB took %v, 2 MiB %v", name, one, eight)
		}
		if c.secret[0] == 'a' {
			short := NewRedactor(credential.NewSecret(near[:127] + "b"))
			if short, long := least(short, 256<<10), least(r, 256<<10); long > 8*short+50*time.Millisecond {
				t.Errorf("%s: %v with a secret of 128 bytes, %v with one of 16 KiB", name, short, long)
			}
		}
		ended, end := context.WithCancel(t.Context())
		end()
		if _, err := r.Bytes(ended, []byte(c.text(2<<20))); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: a context that has ended: %v", name, err)
		}
	}
}

// FuzzA13_Redactor: whatever the secret and whatever is around it, it is gone
// afterwards, in every form.
func FuzzA13_Redactor(f *testing.F) {
	f.Add(canary, "before", "after", uint8(3))
	f.Add("aaaaaaaaaaaaaaaa", "aaaa", "aaa", uint8(0))
	f.Add("**-**-**-**-**-**", "**-", "-**", uint8(6))
	names := slices.Sorted(maps.Keys(encodings)) // a failing input fails again
	for how := range names {
		f.Add(`000000000000000"`, "0", "0", uint8(how))
	}
	f.Fuzz(func(t *testing.T, secret, before, after string, how uint8) {
		if len(secret) > 4096 || credential.CheckSecret(credential.NewSecret(secret)) != nil {
			t.Skip("not a secret that may be kept")
		}
		r := new(Redactor)
		r.Learn(credential.NewSecret(secret))
		enc := encodings[names[int(how)%len(names)]]
		got := r.Text(before + enc(secret) + after)
		if strings.Contains(got, secret) || strings.Contains(got, enc(secret)) {
			t.Errorf("%q is left in %q", secret, got)
		}
	})
}

func BenchmarkRedactor(b *testing.B) {
	r := new(Redactor)
	r.Learn(credential.NewSecret("0123456789abcdef0123456789abcdef0123"))
	body := []byte(strings.Repeat(`{"DOI":"10.1000/182","title":["On the % of \u00e9 things"],"URL":"https://doi.org/10.1000/182"},`, 60000))
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := r.Bytes(b.Context(), body); err != nil {
			b.Fatal(err)
		}
	}
}
