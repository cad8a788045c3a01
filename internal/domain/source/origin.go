package source

import (
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
