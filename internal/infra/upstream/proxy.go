package upstream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"

	"github.com/papertrace/patra/internal/domain/source"
)

// route is a way out: to any address or public ones only, directly or through
// a proxy. Each has connections of its own.
type route struct {
	open  bool
	proxy string // empty: none
	tls   source.TLSConfig
}

// routeOf is the way out to a source.
func routeOf(open bool, h source.HTTP) route {
	r := route{open: open, proxy: h.Proxy}
	if h.TLS != nil {
		r.tls = *h.TLS
	}
	return r
}

// isOwn reports whether the route is that of single sources.
func (r route) isOwn() bool { return r.proxy != "" || r.tls != source.TLSConfig{} }

// maxOwn bounds the routes of single sources that are kept; the oldest is
// given up first, and made again when it is wanted.
const maxOwn = 16

// transports keeps connections by route.
type transports struct {
	// fixed replaces the network, in tests.
	fixed http.RoundTripper
	// wrap looks on; nil: nobody does.
	wrap func(http.RoundTripper) http.RoundTripper

	mu    sync.Mutex
	known map[route]*http.Transport // guarded by mu
	own   []route                   // guarded by mu; oldest first
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
	}
	if err := secure(t, r.tls); err != nil {
		return nil, err
	}
	if r.isOwn() {
		if len(s.own) >= maxOwn {
			s.known[s.own[0]].CloseIdleConnections()
			delete(s.known, s.own[0])
			s.own = append(s.own[:0], s.own[1:]...)
		}
		s.own = append(s.own, r)
	}
	if s.known == nil {
		s.known = map[route]*http.Transport{}
	}
	s.known[r] = t
	return t, nil
}

// secure has connections secured as a source declares it. That the certificate of the
// other side is looked at cannot be left out.
func secure(t *http.Transport, cfg source.TLSConfig) error {
	if cfg == (source.TLSConfig{}) {
		return nil
	}
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	if cfg.MinVersion == "1.3" {
		t.TLSClientConfig.MinVersion = tls.VersionTLS13
	}
	if cfg.CA == "" {
		return nil
	}
	certs, err := source.Authorities(cfg.CA)
	if err != nil {
		return fmt.Errorf("http.tls.ca: %w", err)
	}
	t.TLSClientConfig.RootCAs = x509.NewCertPool()
	for _, cert := range certs {
		t.TLSClientConfig.RootCAs.AddCert(cert)
	}
	return nil
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
