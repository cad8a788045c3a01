package upstream

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// TestR85_AGETHasNoBody looks at requests as they are handed to the transport.
// What net/http writes follows from three fields: with http.NoBody it neither
// probes for a body, which takes a goroutine that a busy machine does not run in
// time, nor has anything that could be sent in chunks.
func TestR85_AGETHasNoBody(t *testing.T) {
	n := play(status(200, goodReply))
	c := newClient(Config{Transport: n}, new(free), jsonDecoder{})
	spec := testSpec()
	if _, err := c.Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch}); err != nil {
		t.Fatal(err)
	}
	get := n.asked[0]
	if get.Method != http.MethodGet || get.Body != http.NoBody || get.ContentLength != 0 || get.TransferEncoding != nil {
		t.Errorf("%s with body %T, length %d, encoding %q", get.Method, get.Body, get.ContentLength, get.TransferEncoding)
	}

	// The same on the wire: method, header, and not a byte behind them.
	l := listen(t)
	heads := make(chan string, 2)
	go serveRaw(l, func(conn net.Conn) {
		r := bufio.NewReader(conn)
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 12\r\nConnection: close\r\n\r\n{\"items\":[]}")
		rest, _ := io.ReadAll(r)
		heads <- fmt.Sprintf("%s length=%d te=%q cl=%q rest=%q", req.Method, req.ContentLength, req.TransferEncoding, req.Header.Get("Content-Length"), rest)
	})
	real := newClient(Config{}, new(free), jsonDecoder{})
	defer real.Close()
	if _, err := real.Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch, BaseURL: "http://" + l.Addr().String()}); err != nil {
		t.Fatal(err)
	}
	if got, want := <-heads, `GET length=0 te=[] cl="" rest=""`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestR85_NothingIsRepeated: a connection that is lost after the request was sent
// on it, and a server that refuses a stream as one that may be sent again, get one
// request for each permit, over every protocol.
func TestR85_NothingIsRepeated(t *testing.T) {
	const refusedStream, protocolError = 7, 1
	cases := map[string]struct {
		proto string // offered in the handshake; empty: no TLS
		serve func(conn net.Conn, served *atomic.Int32)
	}{
		"HTTP/1.1":                        {"", hangUpOnTheSecond},
		"HTTP/1.1 over TLS":               {"http/1.1", hangUpOnTheSecond},
		"HTTP/2, connection lost":         {"h2", h2Server(-1)},
		"HTTP/2, stream refused":          {"h2", h2Server(refusedStream)},
		"HTTP/2, stream in error":         {"h2", h2Server(protocolError)},
		"HTTP/2, told to go away at once": {"h2", h2Server(goAway)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			l := listen(t)
			var served atomic.Int32
			certs := httptest.NewUnstartedServer(nil)
			certs.StartTLS()
			defer certs.Close()
			go serveRaw(l, func(conn net.Conn) {
				if c.proto != "" {
					secure := tls.Server(conn, &tls.Config{Certificates: certs.TLS.Certificates, NextProtos: []string{c.proto}})
					if secure.Handshake() != nil {
						return
					}
					conn = secure
				}
				c.serve(conn, &served)
			})
			g := new(free)
			client := newClient(Config{}, g, jsonDecoder{})
			defer client.Close()
			scheme := "http"
			if c.proto != "" {
				scheme = "https"
				trusting(t, client, route{open: true}, certs)
			}
			spec := testSpec()
			spec.Retry.Attempts = 1
			call := source.Call{Purpose: source.ForSearch, BaseURL: scheme + "://" + l.Addr().String()}
			for range 4 {
				_, _ = client.Ask(t.Context(), spec, call)
			}
			if g.acquired != 4 || served.Load() != 4 {
				t.Errorf("%d requests served for %d permits, want 4 for 4", served.Load(), g.acquired)
			}
		})
	}
}

// TestR85_HTTP2WhereItIsOffered: one connection serves several requests at once;
// each GET ends with its header. A server that only speaks HTTP/1.1 is asked in it.
func TestR85_HTTP2WhereItIsOffered(t *testing.T) {
	for _, offered := range []bool{true, false} {
		t.Run(fmt.Sprint("offered: ", offered), func(t *testing.T) {
			var mu sync.Mutex
			seen := map[string]int{}
			srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				mu.Lock()
				seen[fmt.Sprintf("%s %s length=%d te=%q body=%q", r.Proto, r.Method, r.ContentLength, r.TransferEncoding, b)]++
				mu.Unlock()
				io.WriteString(w, goodReply)
			}))
			srv.EnableHTTP2 = offered
			srv.StartTLS()
			defer srv.Close()
			client := newClient(Config{}, new(free), jsonDecoder{})
			defer client.Close()
			trusting(t, client, route{open: true}, srv)
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					if _, err := client.Ask(t.Context(), testSpec(), source.Call{Purpose: source.ForSearch, BaseURL: srv.URL}); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			want := `HTTP/1.1 GET length=0 te=[] body=""`
			if offered {
				want = `HTTP/2.0 GET length=0 te=[] body=""`
			}
			if len(seen) != 1 || seen[want] != 8 {
				t.Errorf("got %v, want 8 of %s", seen, want)
			}
		})
	}
}

// TestR85_HTTP2KeepsToPublicAddresses: the protocol changes nothing about where a
// connection may lead.
func TestR85_HTTP2KeepsToPublicAddresses(t *testing.T) {
	asked := false
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	client := newClient(Config{}, new(free), jsonDecoder{})
	defer client.Close()
	trusting(t, client, route{open: false}, srv)
	spec := testSpec()
	spec.HTTP.BaseURL = srv.URL
	_, err := client.Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch})
	if f := mustFault(t, err); f.Code != "address_refused" || f.Level != harvest.Rejected || asked {
		t.Errorf("asked: %v, %+v", asked, f)
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func serveRaw(l net.Listener, serve func(net.Conn)) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			serve(conn)
		}()
	}
}

// hangUpOnTheSecond answers one request and closes the connection when it has
// read another.
func hangUpOnTheSecond(conn net.Conn, served *atomic.Int32) {
	r := bufio.NewReader(conn)
	for i := range 2 {
		if _, err := http.ReadRequest(r); err != nil {
			return
		}
		served.Add(1)
		if i == 0 {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{\"items\":[]}")
		}
	}
}

// goAway stands for a GOAWAY frame that disowns the stream.
const goAway = -2

// h2Server reads requests, frame by frame, and refuses each with the given
// HTTP/2 error; with -1 it closes the connection instead.
func h2Server(code int) func(net.Conn, *atomic.Int32) {
	return func(conn net.Conn, served *atomic.Int32) {
		const headers, rst, settings, goaway, ack = 1, 3, 4, 7, 1
		frame := func(kind, flags byte, stream uint32, payload ...byte) {
			head := make([]byte, 9, 9+len(payload))
			head[2] = byte(len(payload))
			head[3] = kind
			head[4] = flags
			binary.BigEndian.PutUint32(head[5:], stream)
			_, _ = conn.Write(append(head, payload...))
		}
		r := bufio.NewReader(conn)
		if _, err := r.Discard(len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")); err != nil {
			return
		}
		frame(settings, 0, 0)
		for {
			var head [9]byte
			if _, err := io.ReadFull(r, head[:]); err != nil {
				return
			}
			if _, err := r.Discard(int(head[0])<<16 | int(head[1])<<8 | int(head[2])); err != nil {
				return
			}
			switch {
			case head[3] == settings && head[4]&ack == 0:
				frame(settings, ack, 0)
			case head[3] == headers:
				served.Add(1)
				switch stream := binary.BigEndian.Uint32(head[5:]); code {
				case -1:
					return
				case goAway:
					frame(goaway, 0, 0, make([]byte, 8)...)
					return
				default:
					frame(rst, 0, stream, binary.BigEndian.AppendUint32(nil, uint32(code))...)
				}
			}
		}
	}
}
