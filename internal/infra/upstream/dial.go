package upstream

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"
)

// errBlocked is returned for an address a source may not lead us to.
var errBlocked error = blockedError{}

type blockedError struct{}

func (blockedError) Error() string { return "address is not a public one" }

// Blocked tells those who look on what kind of error it is.
func (blockedError) Blocked() bool { return true }

// maxHeader bounds the header of a reply.
const maxHeader = 256 << 10

// newTransport returns a transport that keeps connections alive and follows
// nothing. Unless open, it connects to public addresses only.
//
// It speaks HTTP/1.1: at the pace of these sources nothing is gained by
// multiplexing, and the repetitions HTTP/2 makes by itself would pass no gate.
func newTransport(open bool) *http.Transport { return transportOver(newDialer(open)) }

// newDialer returns a dialer that, unless open, refuses addresses that are not
// public once they are known: after DNS, for each one that is tried.
func newDialer(open bool) *net.Dialer {
	d := &net.Dialer{KeepAlive: 30 * time.Second}
	if !open {
		d.Control = refusePrivate
	}
	return d
}

func transportOver(d *net.Dialer) *http.Transport {
	t := &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if limit, ok := ctx.Value(connectTimeout{}).(time.Duration); ok {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, limit)
				defer cancel()
			}
			c, err := d.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return &counted{Conn: c}, nil
		},
		DisableCompression:     true, // we unpack within limits of our own
		MaxIdleConnsPerHost:    8,
		IdleConnTimeout:        30 * time.Second,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxResponseHeaderBytes: maxHeader,
		Protocols:              new(http.Protocols),
	}
	t.Protocols.SetHTTP1(true)
	return t
}

// connectTimeout is the key under which a request's context carries the limit
// for its connection.
type connectTimeout struct{}

// counted is a connection that knows how much was read from it.
type counted struct {
	net.Conn
	n atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// header watches how much comes before a request's reply has begun: of a header
// that is too large the transport says so in words only.
type header struct {
	conn atomic.Pointer[counted]
	from int64
}

// watch returns a context for the request.
func (h *header) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
		conn := i.Conn
		if s, ok := conn.(*tls.Conn); ok {
			conn = s.NetConn()
		}
		if c, ok := conn.(*counted); ok {
			h.from = c.n.Load()
			h.conn.Store(c)
		}
	}})
}

// tooLarge reports whether a header's worth of bytes has come.
func (h *header) tooLarge() bool {
	c := h.conn.Load()
	return c != nil && c.n.Load()-h.from >= maxHeader
}

// refusePrivate is a dialer's control function: it sees the address after
// DNS, so that no name can be pointed inwards.
func refusePrivate(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("dial: %w", errBlocked)
	}
	if !public(ap.Addr()) {
		return fmt.Errorf("dial %s: %w", ap.Addr(), errBlocked)
	}
	return nil
}

// notPublic are the ranges that netip has no word for.
var notPublic = prefixes(
	"0.0.0.0/8",                                                          // this network
	"100.64.0.0/10",                                                      // carrier NAT; a cloud's metadata lives here
	"168.63.129.16/32",                                                   // a cloud's host agent
	"192.0.0.0/24",                                                       // protocol assignments
	"192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", // documentation
	"198.18.0.0/15", // benchmarks
	"240.0.0.0/4",   // reserved, broadcast
	"::/96",         // IPv4-compatible
	"64:ff9b:1::/48", "100::/64", "2001::/32", "fec0::/10",
)

// Ranges that carry an IPv4 address inside, and where it begins.
var (
	nat64  = netip.MustParsePrefix("64:ff9b::/96")
	sixTo4 = netip.MustParsePrefix("2002::/16")
)

func public(a netip.Addr) bool {
	a = a.WithZone("").Unmap()
	switch b := a.As16(); {
	case nat64.Contains(a):
		return public(netip.AddrFrom4([4]byte(b[12:16])))
	case sixTo4.Contains(a):
		return public(netip.AddrFrom4([4]byte(b[2:6])))
	}
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsMulticast() {
		return false
	}
	for _, p := range notPublic {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}
