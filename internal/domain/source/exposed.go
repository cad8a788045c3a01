package source

import "fmt"

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
	if s.HTTP.TLS != nil && s.HTTP.TLS.CA != "" {
		note("http.tls.ca", "whoever has a certificate of these is taken for the source, and gets its requests with any credential in them: %s", s.HTTP.TLS.vouchers())
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
