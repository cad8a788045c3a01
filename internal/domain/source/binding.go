package source

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Origin is where a request goes, as far as it matters to whom a secret is told:
// scheme, host and port. It is empty for what is no such address.
func Origin(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" {
		return ""
	}
	return OriginOf(u)
}

// OriginOf is the origin of a URL that names a host.
func OriginOf(u *url.URL) string {
	host, port := strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")), u.Port()
	if port == map[string]string{"https": "443", "http": "80"}[u.Scheme] {
		port = ""
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port != "" {
		host += ":" + port
	}
	return u.Scheme + "://" + host
}

// Origins are where the requests of a spec go, those for tokens among them.
func (s *Spec) Origins() []string {
	out := []string{Origin(s.HTTP.BaseURL)}
	if s.Auth != nil && s.Auth.Token != nil {
		if o := Origin(s.Auth.Token.URL); o != "" && !slices.Contains(out, o) {
			out = append(out, o)
		}
	}
	return out
}

// lent marks a base URL that stands in for a source's own and is sent its
// credentials all the same, since whoever named it said so. It is a fragment,
// which no request carries, so that it stays with the address wherever that is
// kept: on a plan, a trigger or a preview.
const lent = "#with-credentials"

// WithCredentials says of a base URL, if there is one, that it is to be sent
// credentials.
func WithCredentials(base string) string {
	if base == "" {
		return ""
	}
	return strings.TrimSuffix(base, lent) + lent
}

// SplitBase is a base URL and whether it is to be sent credentials.
func SplitBase(base string) (address string, credentials bool) { return strings.CutSuffix(base, lent) }

// GrantKind is what a source's owner lets others do.
type GrantKind string

// The kinds of grants.
const (
	GrantOrigin GrantKind = "ORIGIN" // the source's credentials may be sent to an origin
	GrantPool   GrantKind = "POOL"   // another source may use the source's credentials
	GrantRate   GrantKind = "RATE"   // another source may share the source's rate limit
)

// Grant is something that packs cannot take by themselves: an operator gives it.
type Grant struct {
	Kind GrantKind `json:"kind"`
	// Value is an origin, or the code of the other source.
	Value string `json:"value"`
}

// String says what is allowed.
func (g Grant) String() string {
	switch g.Kind {
	case GrantOrigin:
		return "its credentials may be sent to " + g.Value
	case GrantPool:
		return "source " + g.Value + " may use its credentials"
	}
	return "source " + g.Value + " may share its rate limit"
}

// Unbound lists the origins that a credential may not be sent to.
func (c Credential) Unbound(origins []string, grants []Grant) (out []string) {
	for _, o := range origins {
		if !slices.Contains(c.Origins, o) && !slices.Contains(grants, Grant{GrantOrigin, o}) {
			out = append(out, o)
		}
	}
	return out
}

// NotAllowed is what a source lacks the owner's word for.
type NotAllowed struct {
	Pool  string // whose word
	Grant Grant
	Text  string
}

func (e *NotAllowed) Error() string { return e.Text + "; to allow it: " + e.Command() }

// Command is how it is given.
func (e *NotAllowed) Command() string {
	flag := map[GrantKind]string{GrantOrigin: "--origin", GrantPool: "--pool-for", GrantRate: "--rate-for"}[e.Grant.Kind]
	return fmt.Sprintf("patra credential allow %s %s %s --reason WHY", e.Pool, flag, e.Grant.Value)
}

// Exposed lists what a description claims for itself that its reader should not
// have to look for.
func (s *Spec) Exposed() (out []Warning) {
	note := func(path, format string, args ...any) {
		out = append(out, Warning{Path: path, Text: fmt.Sprintf(format, args...)})
	}
	if s.HTTP.AllowHTTP {
		note("http.allowHttp", "requests may go over plain http: everybody on the way can read them, with any credential in them")
	}
	if s.HTTP.AllowPrivate {
		note("http.allowPrivate", "requests may go to addresses within this machine or network; the base URL is %s", s.HTTP.BaseURL)
	}
	if s.Auth != nil && s.Auth.Pool != s.Source {
		note("auth.pool", "uses the credentials of %s, another source: only after patra credential allow %s --pool-for %s --reason WHY", s.Auth.Pool, s.Auth.Pool, s.Source)
	}
	for _, path := range keysOf(s.RateKeys()) {
		if key := s.RateKeys()[path]; key != s.Source {
			note(path, "counts its requests under %s: if that is the rate limit of another source, only after patra credential allow %s --rate-for %s --reason WHY", key, key, s.Source)
		}
	}
	return out
}

// RateKeys are the names of the limits that a spec counts its requests under,
// by where it says so.
func (s *Spec) RateKeys() map[string]string {
	out := map[string]string{"rateLimit.key": s.Rate.Key}
	if s.Auth != nil && s.Auth.Rate != nil {
		out["auth.rateLimit.key"] = s.Auth.Rate.Key
	}
	return out
}
