package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
)

// route is a way out: to any address or public ones only, directly or through
// a proxy. Each has connections of its own.
type route struct {
	open  bool
	proxy string // empty: none
}

// maxProxied bounds the routes through proxies that are kept; the oldest is
// given up first, and made again when it is wanted.
const maxProxied = 16

// transports keeps connections by route.
type transports struct {
	// fixed replaces the network, in tests.
	fixed http.RoundTripper
	// wrap looks on; nil: nobody does.
	wrap func(http.RoundTripper) http.RoundTripper

	mu      sync.Mutex
	known   map[route]*http.Transport // guarded by mu
	proxied []route                   // guarded by mu; oldest first
}

func (s *transports) get(r route) (http.RoundTripper, error) {
	t, err := s.way(r)
	if err != nil || s.wrap == nil {
		return t, err
	}
	return s.wrap(t), nil
}

func (s *transports) way(r route) (http.RoundTripper, error) {
	if s.fixed != nil {
		return s.fixed, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.known[r]; t != nil {
		return t, nil
	}
	t := newTransport(r.open)
	if r.proxy != "" {
		var err error
		t, err = newProxied(r)
		if err != nil {
			return nil, err
		}
		if len(s.proxied) >= maxProxied {
			s.known[s.proxied[0]].CloseIdleConnections()
			delete(s.known, s.proxied[0])
			s.proxied = append(s.proxied[:0], s.proxied[1:]...)
		}
		s.proxied = append(s.proxied, r)
	}
	if s.known == nil {
		s.known = map[route]*http.Transport{}
	}
	s.known[r] = t
	return t, nil
}

// close lets go of idle connections.
func (s *transports) close() {
	if i, ok := s.fixed.(interface{ CloseIdleConnections() }); ok {
		i.CloseIdleConnections()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.known {
		t.CloseIdleConnections()
	}
}

// errProxy is the refusal of a proxy to connect: nothing reached the source.
var errProxy = errors.New("the proxy did not connect")

// newProxied returns a transport whose every connection is one to the proxy:
// with CONNECT for https, so that the proxy sees no more than a name.
//
// The proxy itself may have a private address, as it was named by who runs
// patra. Where it leads is known to it alone: a name is resolved on its side,
// and whether that is a public address is its affair. What can be known here is
// refused here: addresses that are not public, however they are written, and
// names of the machine itself.
func newProxied(r route) (*http.Transport, error) {
	proxy, err := parseURL(r.proxy)
	if err != nil || proxy.Host == "" {
		return nil, errors.New("proxy: it names no host")
	}
	t := newTransport(true)
	t.Proxy = func(req *http.Request) (*url.URL, error) {
		if !r.open {
			if err := refuseInner(req.URL.Hostname()); err != nil {
				return nil, err
			}
		}
		return proxy, nil
	}
	t.OnProxyConnectResponse = func(_ context.Context, _ *url.URL, _ *http.Request, res *http.Response) error {
		if res.StatusCode != http.StatusOK {
			return fmt.Errorf("HTTP %d: %w", res.StatusCode, errProxy)
		}
		return nil
	}
	return t, nil
}

// refuseInner refuses a host that is known, without a resolver, not to be
// public. A host that ends in a number is an address in some notation, and not
// all readers agree on which: 127.1 and 0x7f000001 are refused as well.
func refuseInner(host string) error {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if a, err := netip.ParseAddr(host); err == nil {
		if !public(a) {
			return fmt.Errorf("host %s: %w", a, errBlocked)
		}
		return nil
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last == "" || last == "localhost" || strings.Trim(last, "0123456789") == "" ||
		strings.HasPrefix(last, "0x") && strings.Trim(last[2:], "0123456789abcdef") == "" {
		return fmt.Errorf("host %.80q: %w", host, errBlocked)
	}
	return nil
}
