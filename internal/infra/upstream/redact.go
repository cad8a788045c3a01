package upstream

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/papertrace/patra/internal/domain/template"
)

// credentials are parameters whose values stay out of everything that is kept.
var credentials = []string{
	"api_key", "apikey", "api-key", "key", "token", "access_token", "secret", "client_secret", "password", "mailto", "email",
	"insttoken",
}

const masked = "***"

// mask writes u without credentials.
func mask(u *url.URL) string {
	v := *u
	v.User, v.Fragment = nil, ""
	if v.RawQuery != "" {
		q, err := url.ParseQuery(v.RawQuery)
		if err != nil {
			v.RawQuery = masked
		} else {
			v.RawQuery = strings.ReplaceAll(maskValues(q).Encode(), "%2A%2A%2A", masked)
		}
	}
	return v.String()
}

func maskValues(q url.Values) url.Values {
	for name := range q {
		if slices.Contains(credentials, strings.ToLower(name)) {
			q[name] = []string{masked}
		}
	}
	return q
}

// cause is what is left of an error from below: text without queries and
// userinfo, and the few sentinels a caller may want to know. The original is
// not kept, since each level of it could print what it holds.
type cause struct {
	text string
	is   []error
}

func (c *cause) Error() string   { return c.text }
func (c *cause) Unwrap() []error { return c.is }

var sentinels = []error{
	context.Canceled, context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNREFUSED,
	syscall.ECONNRESET, errTooLong, errHugeHead, errRatio, errEncoding, errBlocked, errHostile, template.ErrControl, errProxy, errHook,
}

var (
	queryText    = regexp.MustCompile(`\?[^\s"'<>]*`)
	userinfoText = regexp.MustCompile(`//[^/\s"'@]*@`)
	pairText     = regexp.MustCompile(`(?i)\b(` + strings.Join(credentials, "|") + `)("?\s*[=:]\s*"?)[^\s"'&,;}]+`)
)

// redactor takes secrets out of a text.
type redactor interface{ Text(s string) string }

// Redactor takes the secrets that it knows out of texts and bytes, in every form in
// which an upstream may write them back. Bytes may work in place; it fails only if
// the context ends.
type Redactor interface {
	redactor
	Learn(s credential.Secret)
	Bytes(ctx context.Context, b []byte) ([]byte, error)
}

// noSecrets is the redactor of a client that is given no credentials.
type noSecrets struct{}

func (noSecrets) Learn(credential.Secret)                           {}
func (noSecrets) Text(s string) string                              { return s }
func (noSecrets) Bytes(_ context.Context, b []byte) ([]byte, error) { return b, nil }

// scrub rebuilds err without secrets, those that r knows and those that can be
// told by their place. Of a [url.Error] only the operation and the cause are
// left.
func scrub(err error, r redactor) error {
	if err == nil {
		return nil
	}
	c := new(cause)
	for _, s := range sentinels {
		if errors.Is(err, s) {
			c.is = append(c.is, s)
		}
	}
	c.text = redact(err, r)
	return c
}

func redact(err error, r redactor) string {
	text := err.Error()
	if u, ok := errors.AsType[*url.Error](err); ok {
		text = strings.ReplaceAll(text, u.Error(), u.Op+": "+redact(u.Err, r))
	}
	text = r.Text(text) // whole, before a pattern can take a part of one
	text = queryText.ReplaceAllString(text, "?"+masked)
	text = userinfoText.ReplaceAllString(text, "//")
	return pairText.ReplaceAllString(text, "${1}${2}"+masked)
}
