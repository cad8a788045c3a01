package upstream

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/papertrace/patra/internal/domain/pace"
	"github.com/papertrace/patra/internal/domain/source"
)

// maxHops bounds redirects in a row, whatever a spec says (R59).
const maxHops = 3

var redirections = []int{
	http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect,
}

// follow is the attempt that goes where a redirect leads; nil if the reply is
// none, or none that is to be followed: then it means what R42 says of it.
//
// Nothing is followed unless the pack says so; then at most three in a row, for
// requests that only read, to the source's own host and those the pack lists
// (R59). A key goes to the first host alone: once a walk of redirects has left
// that host it goes without, also if it comes back.
func (a *attempt) follow(got received) *attempt {
	r := a.spec.HTTP.Redirects
	switch {
	case r == nil || a.hops >= min(cmp.Or(r.Max, maxHops), maxHops):
		return nil
	case !slices.Contains(redirections, got.status):
		return nil
	case a.method != http.MethodGet && a.method != http.MethodHead || a.body != "":
		return nil
	}
	if _, ruled := a.rules.Ruled(source.Reply{
		Purpose: a.call.Purpose, Status: got.status, Type: got.header.Get("Content-Type"),
		Head: got.body[:min(len(got.body), source.HeadSize)],
	}); ruled {
		return nil
	}
	home := a.url
	if a.home != nil {
		home = a.home
	}
	u, err := hopURL(a.spec, home, a.url, got.header.Get("Location"))
	if err != nil {
		return nil
	}
	next, m := *a, *a.message
	next.message = &m
	next.home = home
	next.hops = a.hops + 1
	m.url = u
	if !sameOrigin(u, home) {
		if a.secrets.shownIn(u.String()) {
			return nil // it would carry a key away
		}
		next.away, m.open = true, a.spec.HTTP.AllowPrivate
	}
	if next.away {
		next.key, next.secret = nil, credential.Secret{}
	}
	return &next
}

// hopURL accepts the address of a redirect as nextURL does that of a page,
// except for where it may lead: to home or a listed host, at any path.
func hopURL(spec *source.Spec, home, from *url.URL, location string) (*url.URL, error) {
	hostile := fmt.Errorf("redirect: %w", errHostile)
	if location == "" || strings.ContainsFunc(location, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }) {
		return nil, hostile
	}
	u, err := parseURL(location)
	if err != nil || u.Opaque != "" || u.User != nil || u.Fragment != "" {
		return nil, hostile
	}
	if u.Scheme == "" && u.Host == "" {
		u = from.ResolveReference(u)
	}
	plain := u.Scheme == "http" && (spec.HTTP.AllowHTTP || sameOrigin(u, home))
	if u.Scheme != "https" && !plain {
		return nil, hostile
	}
	own := sameHost(u.Hostname(), home.Hostname()) && port(u) == port(home)
	if u.Hostname() == "" || !own && !slices.ContainsFunc(spec.HTTP.Redirects.Hosts, func(h string) bool { return listed(u, h) }) {
		return nil, hostile
	}
	if _, err := url.ParseQuery(u.RawQuery); err != nil || !plainPath(u.Path) {
		return nil, hostile
	}
	out := &url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery}
	if own {
		out.Host = home.Host
	}
	if a := spec.Auth; a != nil && out.RawQuery != "" {
		// What came back of the key; the request gets its own where it may.
		_, out.RawQuery, _ = strings.Cut(withoutKeys(a, "?"+out.RawQuery), "?")
	}
	return out, nil
}

// listed reports whether u is at a host of the pack's list: at the port given
// there, else at the usual one.
func listed(u *url.URL, host string) bool {
	h, err := parseURL(u.Scheme + "://" + host)
	return err == nil && h.Host == host && sameHost(u.Hostname(), h.Hostname()) && port(u) == port(h)
}

func sameOrigin(a, b *url.URL) bool {
	return strings.EqualFold(a.Scheme, b.Scheme) && sameHost(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

// delay is the wait a redirect asks for before it is followed, for the gate to
// see to; nil if it asks for none.
func (a *attempt) delay(got received) *trouble {
	at, err := http.ParseTime(got.header.Get("Date"))
	if err != nil {
		at = time.Now()
	}
	r := source.Reply{Purpose: a.call.Purpose, Status: got.status}
	r.RetryAfter, _ = pace.ParseRetryAfter(got.header.Get("Retry-After"), at)
	if v, _ := a.rules.Default(r); v.RetryAfter > 0 {
		return &trouble{Fault: v}
	}
	return nil
}
