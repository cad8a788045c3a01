package upstream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// errBlocked is returned for an address a source may not lead us to.
var errBlocked = errors.New("address is not a public one")

// maxHeader bounds the header of a reply.
const maxHeader = 256 << 10

// newTransport returns a transport that keeps connections alive and follows
// nothing. Unless open, it connects to public addresses only.
//
// It speaks HTTP/1.1: at the pace of these sources nothing is gained by
// multiplexing, and the repetitions HTTP/2 makes by itself would pass no gate.
func newTransport(open bool) *http.Transport {
	d := &net.Dialer{KeepAlive: 30 * time.Second}
	if !open {
		d.Control = refusePrivate
	}
	t := &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if limit, ok := ctx.Value(connectTimeout{}).(time.Duration); ok {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, limit)
				defer cancel()
			}
			return d.DialContext(ctx, network, addr)
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
