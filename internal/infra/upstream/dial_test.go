package upstream

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

func TestR49_DialerRefusesInnerAddresses(t *testing.T) {
	for _, a := range []string{
		"127.0.0.1:80", "127.8.9.10:443", "[::1]:80", "0.0.0.0:80", "[::]:80", "10.1.2.3:443", "172.16.0.1:443", "172.31.255.255:443",
		"192.168.1.1:80", "169.254.169.254:80", "[fe80::1%eth0]:80", "[fd00:ec2::254]:80", "[fc00::1]:80", "224.0.0.1:80", "[ff02::1]:80",
		"100.100.100.200:80", "168.63.129.16:80", "255.255.255.255:80", "198.18.0.1:80", "[::ffff:127.0.0.1]:80", "[::ffff:10.0.0.1]:80",
		"[64:ff9b::7f00:1]:80", "[64:ff9b::a9fe:a9fe]:80", "[2002:7f00:1::]:80", "[2002:808:808::1]:443", "192.88.99.1:443", "[3fff::1]:443", "[2620:4f:8000::1]:443", "[::127.0.0.1]:80", "[2001:0:1::1]:80", "localhost:80", "",
	} {
		if err := refusePrivate("tcp", a, nil); !errors.Is(err, errBlocked) {
			t.Errorf("%s: %v", a, err)
		}
	}
	for _, a := range []string{"130.14.29.110:443", "172.32.0.1:443", "8.8.8.8:443", "[2607:f220:41e:4290::110]:443", "[::ffff:8.8.8.8]:443", "[64:ff9b::808:808]:443"} {
		if err := refusePrivate("tcp", a, nil); err != nil {
			t.Errorf("%s: %v", a, err)
		}
	}
}

// The tests below use real sockets on loopback, so not in a bubble.

func TestR49_StrictTransportDoesNotReachLoopback(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("reached") }))
	defer srv.Close()
	c := newClient(Config{}, new(free), jsonDecoder{})
	defer c.Close()
	spec := testSpec()
	spec.HTTP.BaseURL, spec.HTTP.AllowHTTP = srv.URL, true
	_, err := c.Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch})
	if f := mustFault(t, err); f.Code != "address_refused" || f.Level != harvest.Rejected {
		t.Errorf("%+v: %v", f, err)
	}
}

func TestAsk_OverTheWire(t *testing.T) {
	var redirected atomic.Bool
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/src/works":
			if r.TransferEncoding != nil || r.ContentLength != 0 || r.Header.Get("Content-Length") != "" {
				t.Errorf("a GET with a body: %v %d", r.TransferEncoding, r.ContentLength)
			}
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, pack(t, []byte(`{"items":["a"]}`)))
		case "/src/fetch":
			if b, _ := io.ReadAll(r.Body); string(b) != "id=1%2C2" || r.Method != "POST" {
				t.Errorf("%s %s", r.Method, b)
			}
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		default:
			redirected.Store(true)
		}
	}))
	defer srv.Close()
	c := newClient(Config{}, new(free), jsonDecoder{})
	defer c.Close()
	call := source.Call{Purpose: source.ForSearch, BaseURL: srv.URL + "/src"}
	for range 3 {
		if a, err := c.Ask(t.Context(), testSpec(), call); err != nil || len(a.Page.Items) != 1 {
			t.Fatal(err)
		}
	}
	call.Purpose, call.IDs = source.ForDetail, []string{"1", "2"}
	_, err := c.Ask(t.Context(), testSpec(), call)
	if f := mustFault(t, err); f.Code != "unexpected_redirect" || redirected.Load() {
		t.Errorf("%+v, followed: %v", f, redirected.Load())
	}
}

// A server that hangs up on a kept connection after it has read the request may
// have served it: the transport must not ask again behind our back.
func TestR22_TransportRepeatsNothingByItself(t *testing.T) {
	var served atomic.Int32
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				buf := make([]byte, 64<<10)
				for i := range 2 {
					if _, err := conn.Read(buf); err != nil {
						return
					}
					served.Add(1)
					if i == 1 {
						return // read, perhaps served, and gone
					}
					io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{\"items\":[]}")
				}
			}()
		}
	}()
	c := newClient(Config{}, new(free), jsonDecoder{})
	defer c.Close()
	spec := testSpec()
	spec.Paging.Stateful = true
	call := source.Call{Purpose: source.ForSearch, BaseURL: "http://" + l.Addr().String()}
	if _, err := c.Ask(t.Context(), spec, call); err != nil {
		t.Fatal(err)
	}
	call.Position.Token = "t"
	a, err := c.Ask(t.Context(), spec, call)
	if f := mustFault(t, err); f.Reaction != harvest.RestartWalk || !f.Lost || a.Traffic.Sent != 1 || served.Load() != 2 {
		t.Errorf("served %d, sent %d: %+v", served.Load(), a.Traffic.Sent, f)
	}
}

func TestDial_ConnectTimeout(t *testing.T) {
	tr := newTransport(true)
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), connectTimeout{}, time.Nanosecond))
	defer cancel()
	if _, err := tr.DialContext(ctx, "tcp", "127.0.0.1:1"); err == nil || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("got %v", err)
	}
}
