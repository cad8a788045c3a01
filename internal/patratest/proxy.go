package patratest

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
)

// Proxy stands between a process and its database server, and cuts connections
// when it is told to. It is safe for concurrent use.
type Proxy struct {
	listener net.Listener
	server   string

	mu    sync.Mutex
	conns map[net.Conn]struct{} // guarded by mu; both ends of what is connected
	away  bool                  // guarded by mu
	cutAt int                   // guarded by mu; 0: nothing that is asked cuts
	ended sync.WaitGroup
}

// NewProxy puts a proxy in front of the server of a mysql:// address, and returns
// the address that leads through it.
func NewProxy(t testing.TB, dsn string) (p *Proxy, through string) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatalf("read %s: %v", dsn, err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	p = &Proxy{listener: l, server: u.Host, conns: map[net.Conn]struct{}{}}
	p.ended.Go(p.accept)
	t.Cleanup(func() {
		l.Close() //nolint:errcheck // accept tells
		p.SetAway(true)
		p.ended.Wait()
	})
	u.Host = l.Addr().String()
	return p, u.String()
}

func (p *Proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		s, err := net.Dial("tcp", p.server)
		if err != nil || !p.keep(c, s) {
			c.Close() //nolint:errcheck // nobody was served
			if s != nil {
				s.Close() //nolint:errcheck // likewise
			}
			continue
		}
		p.ended.Go(func() { p.copy(c, s) })
		p.ended.Go(func() { p.copy(s, asking{c, p}) })
	}
}

// keep remembers a connection, unless the server is away.
func (p *Proxy) keep(ends ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away {
		return false
	}
	for _, c := range ends {
		p.conns[c] = struct{}{}
	}
	return true
}

// copy carries one direction; if it ends, the other does.
func (p *Proxy) copy(to, from net.Conn) {
	io.Copy(to, from) //nolint:errcheck // ends when cut
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range []net.Conn{to, from} {
		c.Close() //nolint:errcheck // perhaps twice
		delete(p.conns, c)
	}
}

// asking is the end of a connection from which a process asks.
type asking struct {
	net.Conn
	p *Proxy
}

// Read implements io.Reader.
func (a asking) Read(b []byte) (int, error) {
	n, err := a.Conn.Read(b)
	if n > 0 && a.p.isCutting() {
		a.p.Cut()
		return 0, io.EOF
	}
	return n, err
}

// isCutting counts what processes ask, and reports whether it is time to cut.
func (p *Proxy) isCutting() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cutAt == 0 {
		return false
	}
	p.cutAt--
	return p.cutAt == 0
}

// CutAt cuts every connection once, when the n-th packet from now on comes from a process; it
// does not reach the server.
func (p *Proxy) CutAt(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cutAt = n
}

// WillCut reports whether the packet of [Proxy.CutAt] has not come yet.
func (p *Proxy) WillCut() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cutAt > 0
}

// Cut ends every connection there is; new ones are served.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close() //nolint:errcheck // copy ends with it
	}
}

// SetAway cuts everything and serves nobody until it is told otherwise.
func (p *Proxy) SetAway(away bool) {
	p.mu.Lock()
	p.away = away
	p.mu.Unlock()
	if away {
		p.Cut()
	}
}
