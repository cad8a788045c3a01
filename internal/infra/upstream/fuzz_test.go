package upstream

import (
	"math"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// FuzzNextURL: whatever a page names, it is refused or a place of the source's
// own, as it would be sent and not only as it was parsed (R49).
func FuzzNextURL(f *testing.F) {
	for _, s := range []string{
		"https://api.example.org/v1/works?cursor=a%2Bb", "?page=3", "/v1/works/x", "HTTPS://API.example.org:443/v1/works/?page=2",
		"https://api.example.org@evil.example/v1/works", `https:\\evil.example/v1/works`, "//evil.example/v1/works", "https://api.example.org./v1/works",
		"https://api.example.org/v1/works/%252e%252e/admin", "https://api.example.org/v1/works/..;/x", "https://api.example.org/v1/works?a=b c", "https://[::1]/v1/works",
		"https://api.example.org/v1/works?a=b HTTP/1.1", "https://аpi.example.org/v1/works", "https://api.example.org/v1/works/é?é=é", "http://127.1/v1/works#x",
		"https://api.example.org:/v1/works", "https://api.example.org/v1/works?#", "https://api.example.org/v1%2fworks/a", "https:///v1/works",
	} {
		f.Add(s, "https://api.example.org/v1/works")
		f.Add(s, "https://api.example.org")
		f.Add(s, "http://127.0.0.1:8080/a%20b/")
	}
	f.Fuzz(func(t *testing.T, next, base string) {
		home, err := url.Parse(base)
		if err != nil || home.Host == "" || home.Scheme != "https" && home.Scheme != "http" || home.User != nil || home.Fragment != "" || home.Opaque != "" || !plainPath(home.Path) {
			return
		}
		home.RawQuery = ""
		u, err := nextURL(home, next)
		if err != nil {
			return
		}
		if u.Scheme != home.Scheme || u.Host != home.Host || u.User != nil || u.Opaque != "" || u.Fragment != "" {
			t.Fatalf("%q leads from %s to %s", next, home, u)
		}
		// The request line that the transport writes.
		line := u.RequestURI()
		if strings.ContainsFunc(line, func(r rune) bool { return r <= ' ' || r == 0x7f }) || !strings.HasPrefix(line, "/") {
			t.Fatalf("%q is asked for as %q", next, line)
		}
		path, _, _ := strings.Cut(line, "?")
		at := strings.TrimRight(home.Path, "/")
		plain, err := url.PathUnescape(path)
		if err != nil || plain != at && !strings.HasPrefix(plain, at+"/") && at != "" || strings.Contains(plain+"/", "/../") {
			t.Fatalf("%q leads out of %s: %q", next, home, line)
		}
		// Kept and read again it is the same place.
		again, err := nextURL(home, u.String())
		if err != nil || again.String() != u.String() {
			t.Fatalf("%q: %s, then %v, %v", next, u, again, err)
		}
	})
}

// FuzzAllowance: what a provider says of its limit is a rate or nothing (R37).
func FuzzAllowance(f *testing.F) {
	for _, s := range [][4]string{
		{"50", "1s", "", ""},
		{"100", "60", "3", ""},
		{"-1", "0", "1e308", "1e-300"},
		{"NaN", "NaN", "Inf", "-Inf"},
		{"1e309", "1e-320s", "0x1p-2", "1h"},
		{"3", "2000000h", "10", "1e5"},
		{"1", "1ns", "1", "1e-12"},
		{"\xff", "١", "1_000", "1,000"},
	} {
		f.Add(s[0], s[1], s[2], s[3])
	}
	names := []string{"X-Rate-Limit-Limit", "x-ratelimit-limit", "RateLimit"}
	f.Fuzz(func(t *testing.T, limit, every, other, interval string) {
		h := http.Header{"X-Rate-Limit-Limit": {limit}, "X-Rate-Limit-Interval": {every}, "X-Ratelimit-Limit": {other}, "X-Ratelimit-Interval": {interval}, "Ratelimit": {other}}
		n, per := allowance(h, names)
		if n == 0 && per == 0 {
			return
		}
		rate := n / per.Seconds()
		if !(n > 0) || math.IsInf(n, 0) || per <= 0 || rate < leastRate || math.IsInf(rate, 0) {
			t.Fatalf("%q %q %q %q: %v per %v is no rate", limit, every, other, interval, n, per)
		}
		for _, name := range names { // the strictest of them
			if m, p := allowance(h, []string{name}); m > 0 && m/p.Seconds() < rate {
				t.Fatalf("%q %q %q %q: %v per %v, although %s allows less", limit, every, other, interval, n, per, name)
			}
		}
	})
}
