package upstream

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// relay is a forward proxy that leads everything to one place, whatever name it
// is asked for: what a name means is its own affair.
type relay struct {
	*httptest.Server
	to string
	// refuse is the status of a CONNECT that is not made; 0: all are.
	refuse int

	mu    sync.Mutex
	asked []string // requests to the proxy itself, as they came
}

func newRelay(t *testing.T, to string, secure bool) *relay {
	p := &relay{to: to}
	p.Server = httptest.NewUnstartedServer(p)
	if secure {
		p.StartTLS()
	} else {
		p.Start()
	}
	t.Cleanup(p.Close)
	return p
}

func (p *relay) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	dump, _ := httputil.DumpRequest(r, true)
	p.mu.Lock()
	p.asked = append(p.asked, string(dump))
	p.mu.Unlock()
	if r.Method == http.MethodConnect && p.refuse != 0 {
		w.WriteHeader(p.refuse)
		return
	}
	out, err := net.Dial("tcp", p.to)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer out.Close()
	if r.Method != http.MethodConnect {
		r.Header.Del("Connection")
		_ = r.Write(out)
		res, err := http.ReadResponse(bufio.NewReader(out), r)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer res.Body.Close()
		w.WriteHeader(res.StatusCode)
		_, _ = io.Copy(w, res.Body)
		return
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	io.WriteString(conn, "HTTP/1.1 200 Connected\r\n\r\n")
	go func() { _, _ = io.Copy(out, conn); _ = out.(*net.TCPConn).CloseWrite() }()
	_, _ = io.Copy(conn, out)
}

// trusting lets a client's route trust test servers.
func trusting(t *testing.T, c *Client, r route, servers ...*httptest.Server) {
	t.Helper()
	rt, err := c.routes.get(r)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	for _, s := range servers {
		pool.AddCert(s.Certificate())
	}
	rt.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: pool}
}

// TestProxy_Connect: https through a proxy on a private address, which sees a
// name and nothing else; connections through it are kept.
func TestProxy_Connect(t *testing.T) {
	const secret = "c4nary-key"
	var got []string
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Host+" "+r.Header.Get("X-Key"))
		io.WriteString(w, goodReply)
	}))
	defer srv.Close()
	for name, secure := range map[string]bool{"http proxy": false, "https proxy": true} {
		t.Run(name, func(t *testing.T) {
			got = nil
			p := newRelay(t, srv.Listener.Addr().String(), secure)
			g := new(free)
			client := newClient(Config{Credentials: &pool{keys: []string{secret}}}, g, jsonDecoder{})
			defer client.Close()
			spec := authSpec(source.Auth{Type: source.AuthAPIKey, In: source.InHeader, Name: "X-Key"})
			spec.HTTP.BaseURL, spec.HTTP.Proxy = "https://example.com/v1", p.URL // a name of the test certificate
			trusted := []*httptest.Server{srv}
			if secure {
				trusted = append(trusted, p.Server)
			}
			trusting(t, client, route{proxy: p.URL}, trusted...)
			for range 3 {
				if _, err := client.Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch}); err != nil {
					t.Fatal(err)
				}
			}
			if len(p.asked) != 1 || !strings.HasPrefix(p.asked[0], "CONNECT example.com:443 ") || strings.Contains(p.asked[0], "c4nary") {
				t.Errorf("the proxy was asked %q", p.asked)
			}
			if len(got) != 3 || got[0] != "example.com "+secret || g.acquired != 3 {
				t.Errorf("the source saw %q, %d permits", got, g.acquired)
			}
		})
	}
}

func TestProxy_PlainHTTP(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, goodReply) }))
	defer srv.Close()
	p := newRelay(t, srv.Listener.Addr().String(), false)
	client := newClient(Config{}, new(free), jsonDecoder{})
	defer client.Close()
	spec := testSpec()
	spec.HTTP.BaseURL = "http://api.example.test"
	spec.HTTP.AllowHTTP = true
	spec.HTTP.Proxy = p.URL
	if _, err := client.Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch}); err != nil {
		t.Fatal(err)
	}
	if len(p.asked) != 1 || !strings.HasPrefix(p.asked[0], "GET http://api.example.test/works?") {
		t.Errorf("the proxy was asked %q", p.asked)
	}
}

// TestR49_ProxiedDestinations: what is known not to be public is not asked of
// the proxy either, unless the source allows it.
func TestR49_ProxiedDestinations(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, goodReply) }))
	defer srv.Close()
	p := newRelay(t, srv.Listener.Addr().String(), false)
	client := newClient(Config{}, new(free), jsonDecoder{})
	defer client.Close()
	for _, host := range []string{
		"127.0.0.1", "10.0.0.1", "192.168.1.1:8080", "169.254.169.254", "[::1]", "[fd00::1]", "[::ffff:127.0.0.1]", "localhost", "LOCALHOST.",
		"api.localhost", "127.1", "2130706433", "0x7f000001", "0x7f.1", "127.0.0.1.", "0", "1.2.3.256",
	} {
		spec := testSpec()
		spec.HTTP.BaseURL = "http://" + host
		spec.HTTP.AllowHTTP = true
		spec.HTTP.Proxy = p.URL
		_, err := client.Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch})
		if f := mustFault(t, err); f.Code != "address_refused" || f.Level != harvest.Rejected {
			t.Errorf("%s: %+v: %v", host, f, err)
		}
	}
	if len(p.asked) != 0 {
		t.Errorf("the proxy was asked %q", p.asked)
	}
	spec := testSpec()
	spec.HTTP.BaseURL = "http://10.0.0.1"
	spec.HTTP.AllowHTTP = true
	spec.HTTP.AllowPrivate = true
	spec.HTTP.Proxy = p.URL
	if _, err := client.Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch}); err != nil {
		t.Error(err)
	}
	for _, host := range []string{"api.example.org", "8.8.8.8", "2607:f220:41e:4290::110", "xn--bcher-kva.example", "a1.b2", "0x.example.c0"} {
		if err := refuseInner(host); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// TestProxy_ThatRefuses: nothing reached the source, so nothing is lost and the
// permit is given back.
func TestProxy_ThatRefuses(t *testing.T) {
	for _, code := range []int{403, 407, 502} {
		p := newRelay(t, "127.0.0.1:1", false)
		p.refuse = code
		g := new(free)
		client := newClient(Config{}, g, jsonDecoder{})
		spec := testSpec()
		spec.HTTP.Proxy, spec.Retry.Attempts = p.URL, 1
		_, err := client.Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch})
		if f := mustFault(t, err); f.Code != "proxy_refused" || f.Level != harvest.Transient || f.Lost || g.unsent != 1 {
			t.Errorf("%d: %+v, %d permits given back: %v", code, f, g.unsent, err)
		}
		if !strings.Contains(err.Error(), fmt.Sprint(code)) || !errors.Is(err, errProxy) {
			t.Errorf("%d: %v", code, err)
		}
		client.Close()
	}
	client := newClient(Config{}, new(free), jsonDecoder{})
	defer client.Close()
	spec := testSpec()
	spec.HTTP.Proxy, spec.Retry.Attempts = "http://127.0.0.1:1", 1 // where nobody listens
	_, err := client.Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch})
	if f := mustFault(t, err); f.Code != "connect" || f.Lost {
		t.Errorf("no proxy there: %+v", f)
	}
}

// TestProxy_NotOfTheEnvironment: only what the source says counts.
func TestProxy_NotOfTheEnvironment(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"} {
		t.Setenv(name, "http://proxy.example:3128")
	}
	for _, open := range []bool{false, true} {
		if newTransport(open).Proxy != nil {
			t.Error("a proxy is looked for")
		}
	}
	t.Setenv("NO_PROXY", "*")
	tr, err := newProxied(route{proxy: "http://10.0.0.9:3128"})
	if err != nil {
		t.Fatal(err)
	}
	req := httptest.NewRequest("GET", "https://api.example.org/", nil)
	if u, err := tr.Proxy(req); err != nil || u.Host != "10.0.0.9:3128" {
		t.Errorf("%v %v", u, err)
	}
}

// TestProxy_RoutesAreBounded: one transport per route, and not ever more.
func TestProxy_RoutesAreBounded(t *testing.T) {
	var s transports
	a, _ := s.get(route{})
	b, _ := s.get(route{open: true})
	for i := range 3 * maxOwn {
		if _, err := s.get(route{proxy: fmt.Sprintf("http://proxy%d.example", i)}); err != nil {
			t.Fatal(err)
		}
	}
	again, _ := s.get(route{})
	if a == b || a != again || len(s.known) != maxOwn+2 || len(s.own) != maxOwn {
		t.Errorf("%d routes are kept, %d through proxies", len(s.known), len(s.own))
	}
	if _, err := s.get(route{proxy: "nonsense"}); err == nil {
		t.Error("a proxy that is none")
	}
	s.close()
}

// TestM4_Connections: kept alive, gzip and nothing else asked for, and given up
// when nothing comes.
func TestM4_Connections(t *testing.T) {
	var opened atomic.Int32
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Values("Accept-Encoding"); len(got) != 1 || got[0] != "gzip" {
			t.Errorf("asked for %q", got)
		}
		switch r.URL.Path {
		case "/slow/works":
			select {
			case <-r.Context().Done():
			case <-time.After(10 * time.Second):
			}
		case "/deflate/works":
			w.Header().Set("Content-Encoding", "deflate")
			io.WriteString(w, "x")
		case "/gone/works":
			http.NotFound(w, r)
		default:
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, pack(t, []byte(goodReply)))
		}
	}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	srv.Start()
	defer srv.Close()
	client := newClient(Config{}, new(free), jsonDecoder{})
	defer client.Close()
	spec := testSpec()
	spec.Retry.Attempts = 1
	ask := func(base string) harvest.Fault {
		_, err := client.Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch, BaseURL: source.WithCredentials(srv.URL + base)})
		f, _ := harvest.FaultOf(err)
		return f
	}
	for range 5 {
		if f := ask("/good"); f.Code != "" {
			t.Fatalf("%+v", f)
		}
		if f := ask("/gone"); f.Code != "http_404" {
			t.Errorf("%+v", f)
		}
	}
	if n := opened.Load(); n != 1 {
		t.Errorf("%d connections for ten requests", n)
	}
	if f := ask("/deflate"); f.Code != "unreadable" || f.Level != harvest.Rejected {
		t.Errorf("deflate: %+v", f)
	}
	spec.HTTP.ConnectTimeout, spec.HTTP.ReadTimeout = source.Duration(20*time.Millisecond), source.Duration(20*time.Millisecond)
	start := time.Now()
	if f := ask("/slow"); f.Code != "timeout" || time.Since(start) > 5*time.Second {
		t.Errorf("%+v after %v", f, time.Since(start))
	}
}
