package tape

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/papertrace/patra/internal/app/sourcecheck"
	"github.com/papertrace/patra/internal/domain/source"
)

const masked = "***"

// Redactor takes what it knows out of texts and bytes, in any form. Bytes may work
// in place; it fails only if the context ends.
type Redactor interface {
	Text(s string) string
	Bytes(ctx context.Context, b []byte) ([]byte, error)
}

// Mask takes secrets out of exchanges: those the redactors know, and what stands
// where a credential does.
type Mask struct {
	Redactors []Redactor
	// Names of headers and parameters that carry a credential, beside the usual.
	Names []string
}

// MaskFor is the mask of what is asked by a spec, which may be nil: it knows by which
// names the spec sends credentials.
func MaskFor(spec *source.Spec, redactors ...Redactor) Mask {
	mask := Mask{Redactors: redactors}
	if spec == nil || spec.Auth == nil {
		return mask
	}
	for _, p := range spec.Auth.Places() {
		mask.Names = append(mask.Names, p.Name)
	}
	return mask
}

// usual names of headers and parameters with credentials, and of those that
// tell who is asking.
var usual = []string{
	"authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "x-inst-token", "x-signature",
	"api_key", "apikey", "api-key", "key", "token", "access_token", "secret", "client_secret", "password", "mailto", "email", "insttoken",
}

func (m Mask) text(s string) string {
	for _, r := range m.Redactors {
		s = r.Text(s)
	}
	return s
}

func (m Mask) named(name string) bool {
	same := func(n string) bool { return strings.EqualFold(n, name) }
	return slices.ContainsFunc(usual, same) || slices.ContainsFunc(m.Names, same)
}

// exchange is t without secrets. Of a request for a token nothing is shown but
// that it was made.
func (m Mask) exchange(t *taken) sourcecheck.Exchange {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.Exchange
	e.URL, e.Error = m.address(e.URL), m.text(e.Error)
	e.Request, e.Header = m.headers(e.Request), m.headers(e.Header)
	if e.Label == "token" {
		e.Form = ""
		e.Request = nil
		e.Header = nil
		return e
	}
	e.Form = m.text(m.pairs(e.Form))
	e.Body = m.body(unpacked(t.Header, t.body.Bytes()))
	return e
}

func (m Mask) body(b []byte) []byte {
	for _, r := range m.Redactors {
		b, _ = r.Bytes(context.Background(), b) // which does not end
	}
	return b
}

func (m Mask) headers(h http.Header) http.Header {
	if h == nil {
		return nil
	}
	out := http.Header{}
	for name, values := range h {
		for _, v := range values {
			if m.named(name) {
				v = masked
			}
			out.Add(name, m.text(v))
		}
	}
	return out
}

func (m Mask) address(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return masked
	}
	u.User, u.RawQuery = nil, m.pairs(u.RawQuery)
	return m.text(u.String())
}

// pairs masks name=value pairs and leaves their order.
func (m Mask) pairs(s string) string {
	if !strings.Contains(s, "=") {
		return s
	}
	list := strings.Split(s, "&")
	for i, p := range list {
		name, _, is := strings.Cut(p, "=")
		if plain, err := url.QueryUnescape(name); is && err == nil && m.named(plain) {
			list[i] = name + "=" + masked
		}
	}
	return strings.Join(list, "&")
}
