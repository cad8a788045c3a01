package upstream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
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
// nothing. Unless open, it connects to public addresses only, whatever protocol
// is then spoken. Over TLS that is HTTP/2 where the upstream offers it.
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
		// A connection that many requests share is not closed when one of them
		// is given up, so one that has died has to be found out by asking.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 10 * time.Second, MaxReceiveBufferPerStream: 1 << 20},
	}
	t.Protocols.SetHTTP1(true)
	t.Protocols.SetHTTP2(true)
	return t
}

// connectTimeout is the key under which a request's context carries the limit
// for its connection.
type connectTimeout struct{}

// counted is a connection that knows how much was read from it, and by how many
// requests it is used.
type counted struct {
	net.Conn
	n      atomic.Int64
	uses   atomic.Int64 // requests so far
	active atomic.Int64 // requests now
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// errRepeated is the end of a request that the transport set out to send a second
// time.
var errRepeated = errors.New("the connection was lost after the request was sent")

// passage watches over the way of one request to the network.
//
// It keeps the transport from repeating the request on its own: that would pass
// no gate, and skip a page of a stateful walk. Whenever a connection is found for
// a request, of either protocol, the transport says so before it writes; at the
// second time the request is ended. An HTTP/2 connection looks at that right
// before it writes a header; an HTTP/1 connection does not and is closed, so that
// nothing can be written to it.
//
// It also sees how much comes before a reply has begun: of a header that is too
// large the transport says so in words only.
type passage struct {
	end  context.CancelCauseFunc
	conn atomic.Pointer[counted]
	from int64
	use  int64
	solo bool // nobody else used the connection when the request came to it
}

// watch returns a context for the request, which the transport may send once.
func (p *passage) watch(ctx context.Context) context.Context {
	ctx, p.end = context.WithCancelCause(ctx)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: p.gotConn})
}

func (p *passage) gotConn(i httptrace.GotConnInfo) {
	conn, shared := i.Conn, false
	if s, ok := conn.(*tls.Conn); ok {
		shared = s.ConnectionState().NegotiatedProtocol == "h2"
		conn = s.NetConn()
	}
	c, ok := conn.(*counted)
	if !ok {
		return
	}
	if p.conn.Load() != nil {
		p.end(errRepeated)
		if !shared {
			_ = conn.Close()
		}
		return
	}
	p.from = c.n.Load()
	p.use = c.uses.Add(1)
	p.solo = c.active.Add(1) == 1
	p.conn.Store(c)
}

// done ends the watch: the reply has been read, or there is none.
func (p *passage) done() {
	p.end(nil)
	if c := p.conn.Load(); c != nil {
		c.active.Add(-1)
	}
}

// tooLarge reports whether a header's worth of bytes has come for the request.
// What came while others used the connection too says nothing.
func (p *passage) tooLarge() bool {
	c := p.conn.Load()
	return c != nil && p.solo && c.uses.Load() == p.use && c.n.Load()-p.from >= maxHeader
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

// doorkeeper knows the ranges that the registries keep for special purposes, and one
// that a cloud took for the agent of its hosts.
var doorkeeper = ssrf.New(ssrf.WithAnyPort(), ssrf.WithDeniedV4Prefixes(netip.MustParsePrefix("168.63.129.16/32")))

// public reports whether an address is one of the internet. An IPv4 address that is
// written as an IPv6 one, for a program or for a translator on the way, is judged as
// what it is.
func public(a netip.Addr) bool {
	a = a.WithZone("").Unmap()
	if ssrf.IPv6NAT64Prefix.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	return doorkeeper.SafeAddr(a) == nil
}
