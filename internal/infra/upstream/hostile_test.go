package upstream

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// These tests use real sockets on loopback, so not in a bubble.

const lure = "c4nary-key-0001:pw"

// auths are the ways in which a key is sent; the spec they are put into has a
// form, so that a body is one of them.
var auths = map[string]source.Auth{
	"key in query":  {Type: source.AuthAPIKey, In: source.InQuery, Name: "api_key"},
	"key in header": {Type: source.AuthAPIKey, In: source.InHeader, Name: "X-Api-Key", Prefix: "Bearer "},
	"key in body":   {Type: source.AuthAPIKey, In: source.InBody, Name: "api_key"},
	"bearer":        {Type: source.AuthBearer, In: source.InHeader, Name: "Authorization"},
	"basic":         {Type: source.AuthBasic, In: source.InHeader, Name: "Authorization"},
}

// trap is a source's own server and another that nothing may ever come to.
type trap struct {
	home, evil *httptest.Server
	mu         sync.Mutex
	asked      []string // of home
	caught     []string // everything that came to evil, as it was sent
	keys       int      // requests that carried the key, at home
}

// newTrap serves the source's replies with answer.
func newTrap(t *testing.T, answer http.HandlerFunc) *trap {
	t.Helper()
	p := new(trap)
	p.home = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent := written(r)
		p.mu.Lock()
		p.asked = append(p.asked, r.URL.Path)
		if carries(sent) {
			p.keys++
		}
		p.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(p.home.Close)
	p.evil = httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		sent := written(r)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.caught = append(p.caught, sent)
	}))
	// A connection alone is too much.
	p.evil.Config.ConnState = func(c net.Conn, s http.ConnState) {
		if s == http.StateNew {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.caught = append(p.caught, "connection from "+c.RemoteAddr().String())
		}
	}
	p.evil.Start()
	t.Cleanup(p.evil.Close)
	return p
}

// client sends whatever is not for home to evil, whoever it was meant for.
func (p *trap) client(t *testing.T) *Client {
	t.Helper()
	tr := newTransport(true)
	dial := tr.DialContext
	tr.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr != p.home.Listener.Addr().String() {
			addr = p.evil.Listener.Addr().String()
		}
		return dial(ctx, network, addr)
	}
	c := newClient(Config{Transport: tr, Credentials: &pool{keys: []string{lure}}, Rand: steady}, new(free), jsonDecoder{})
	t.Cleanup(c.Close)
	return c
}

// spec of the source at home, whose pages lead to one another by URL.
func (p *trap) spec(a source.Auth) *source.Spec {
	s := authSpec(a)
	s.HTTP = source.HTTP{BaseURL: p.home.URL + "/v1", AllowHTTP: true, AllowPrivate: true}
	s.Paging.Type = harvest.PageURL
	s.Search.Form = map[string]string{"rows": "10"}
	s.Retry = source.Retry{Attempts: 3, Base: source.Duration(time.Microsecond), Max: source.Duration(time.Microsecond)}
	return s
}

func (p *trap) seen() (asked, caught []string, keys int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.asked), slices.Clone(p.caught), p.keys
}

// written is a request as it came.
func written(r *http.Request) string {
	body, _ := io.ReadAll(r.Body)
	return fmt.Sprint(r.Method, " ", r.RequestURI, " ", r.Host, " ", r.Header, " ", string(body))
}

func carries(sent string) bool {
	return strings.Contains(sent, lure) || strings.Contains(sent, url.QueryEscape(lure)) ||
		strings.Contains(sent, base64.StdEncoding.EncodeToString([]byte(lure)))
}

// TestR49_HostileNextURLsReachNobody: whatever a page names as the one after
// it, nothing leaves for any other place, with or without the key, and nothing
// for the source itself in a form it did not mean.
func TestR49_HostileNextURLsReachNobody(t *testing.T) {
	p := newTrap(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, goodReply) })
	home, evil := p.home.Listener.Addr().String(), p.evil.Listener.Addr().String()
	_, homePort, _ := net.SplitHostPort(home)
	_, evilPort, _ := net.SplitHostPort(evil)
	hostile := []string{
		// Another host, port or scheme.
		"http://" + evil + "/v1/works",
		"http://evil.example/v1/works",
		"http://evil.example:" + homePort + "/v1/works",
		"http://127.0.0.1:" + evilPort + "/v1/works",
		"http://127.0.0.1/v1/works",
		"http://127.0.0.1:0/v1/works",
		"http://127.0.0.1:0" + homePort + "/v1/works",
		"https://" + home + "/v1/works",
		"ftp://" + home + "/v1/works",
		"ws://" + home + "/v1/works",
		"gopher://" + home + "/v1/works",
		"file:///etc/passwd",
		"file://" + home + "/v1/works",
		"javascript:alert(1)",
		"data:text/plain,x",
		"http:" + home,
		"http:/v1/works",
		"//" + evil + "/v1/works",
		"//evil.example/v1/works",
		"///evil.example/v1/works",
		// The same machine by another name, or nearly the same name.
		"http://localhost:" + homePort + "/v1/works",
		"http://2130706433:" + homePort + "/v1/works",
		"http://0x7f000001:" + homePort + "/v1/works",
		"http://0177.0.0.1:" + homePort + "/v1/works",
		"http://127.1:" + homePort + "/v1/works",
		"http://0:" + homePort + "/v1/works",
		"http://[::1]:" + homePort + "/v1/works",
		"http://[::ffff:127.0.0.1]:" + homePort + "/v1/works",
		"http://[fe80::1%25eth0]:" + homePort + "/v1/works",
		"http://127.0.0.1.:" + homePort + "/v1/works",
		"http://127.0.0.1.evil.example:" + homePort + "/v1/works",
		"http://127.0.0.1%2eevil.example:" + homePort + "/v1/works",
		"http://127.0.0.1%00.evil.example:" + homePort + "/v1/works",
		"http://１２７.0.0.1:" + homePort + "/v1/works",
		"http://127。0。0。1:" + homePort + "/v1/works",
		"http://169.254.169.254/latest/meta-data/",
		// Userinfo, and what looks like it.
		"http://user:pw@" + home + "/v1/works",
		"http://@" + home + "/v1/works",
		"http://" + home + "@evil.example/v1/works",
		"http://" + home + "%40evil.example/v1/works",
		"http://" + home + "#@evil.example/v1/works",
		"http://" + home + "?@evil.example/v1/works",
		"http://evil.example#@" + home + "/v1/works",
		// Backslashes and control characters.
		`http:\\evil.example\v1\works`,
		`http://` + home + `\@evil.example/v1/works`,
		`\\evil.example\v1\works`,
		`/\evil.example/v1/works`,
		`/v1/works\..\..\admin`,
		"http://" + home + "/v1/works\r\nX-Evil: 1",
		"http://" + home + "/v1/works?a=b\r\nX-Evil: 1",
		"http://" + home + "/v1/works?a=b\nGET /admin HTTP/1.1",
		"http://" + home + "/v1/works%0d%0aX-Evil:1",
		"http://" + home + "/v1/works/%00",
		"ht\ttp://evil.example/v1/works",
		"\x00http://evil.example/v1/works",
		" http://evil.example/v1/works",
		// Out of the endpoint's path.
		"http://" + home,
		"http://" + home + "/",
		"http://" + home + "/v1",
		"http://" + home + "/admin",
		"http://" + home + "/v1/worksheets",
		"http://" + home + "/V1/works",
		"http://" + home + "//v1/works",
		"http://" + home + "/v1/works/../../admin",
		"http://" + home + "/v1/works/./x",
		"http://" + home + "/v1/works/%2e%2e/%2e%2e/admin",
		"http://" + home + "/v1/works/%2E%2E%2Fadmin",
		"http://" + home + "/v1/works/.%2e/admin",
		"http://" + home + "/v1/works/%252e%252e/admin",
		"http://" + home + "/v1/works/%25252e%25252e/admin",
		"http://" + home + "/v1/works/..;/admin",
		"http://" + home + "/v1/works/..;x=y/admin",
		"http://" + home + "/v1/works/%2e%2e%3b/admin",
		"http://" + home + "/v1/works/..%5cadmin",
		"../../admin",
		"/admin",
		"works/../../../admin",
		// Broken, or with more than an address.
		"http://" + home + "/v1/works#fragment",
		"http://" + home + "/v1/works?a=%zz",
		"http://" + home + "/v1/works/%zz",
		"http://[" + home + "/v1/works",
		"http://" + home + ":80/v1/works",
		"http://",
		":",
	}
	for name, a := range auths {
		t.Run(name, func(t *testing.T) {
			c, spec := p.client(t), p.spec(a)
			for _, next := range hostile {
				before, _, _ := p.seen()
				_, err := c.Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch, Position: harvest.Position{URL: next}})
				if err == nil {
					t.Errorf("%q was followed", next)
					continue
				}
				if f := mustFault(t, err); f.Code != "hostile_url" || f.Level != harvest.Rejected || f.Reaction != harvest.GiveUp {
					t.Errorf("%q: %+v", next, f)
				}
				if after, caught, _ := p.seen(); len(after) != len(before) || len(caught) != 0 {
					t.Fatalf("%q: %d requests at home, and elsewhere %q", next, len(after)-len(before), caught)
				}
			}
		})
	}
	if len(hostile) < 20 {
		t.Fatalf("only %d", len(hostile))
	}
	// The trap works: what leads on at home is followed, key and all, and what a
	// client without the rule would follow is caught.
	for name, a := range auths {
		_, _, before := p.seen()
		for _, next := range []string{"HTTP://" + home + "/v1/works?page=2", "/v1/works?page=2", "?page=2", "http://" + home + "/v1/works/next?x=http://evil.example/"} {
			if _, err := p.client(t).Ask(t.Context(), p.spec(a), source.Call{Purpose: source.ForSearch, Position: harvest.Position{URL: next}}); err != nil {
				t.Errorf("%s: %q: %v", name, next, err)
			}
		}
		if _, _, keys := p.seen(); keys-before != 4 {
			t.Errorf("%s: the key was sent %d times of 4", name, keys-before)
		}
	}
	spec := p.spec(auths["bearer"])
	spec.HTTP.BaseURL = "http://evil.example/v1"
	_, _ = p.client(t).Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch})
	if _, caught, _ := p.seen(); len(caught) < 2 || !carries(caught[1]) {
		t.Errorf("the trap caught %q", caught)
	}
}

// TestR49_RedirectsAreNotFollowed: a source that sends us elsewhere is asked
// once more, then given up; nobody else hears of it or of the key (R59).
func TestR49_RedirectsAreNotFollowed(t *testing.T) {
	p := newTrap(t, func(w http.ResponseWriter, r *http.Request) {
		to, code := r.URL.Query().Get("to"), 0
		fmt.Sscan(r.URL.Query().Get("code"), &code)
		w.Header().Set("Location", to)
		w.Header().Set("Refresh", "0; url="+to)
		w.Header().Set("Link", "<"+to+`>; rel="next"`)
		w.WriteHeader(code)
		fmt.Fprintf(w, `<a href=%q>`, to)
	})
	evil := p.evil.Listener.Addr().String()
	for name, a := range auths {
		for _, code := range []int{300, 301, 302, 303, 305, 307, 308} {
			for _, to := range []string{"http://" + evil + "/v1/works", "//" + evil + "/", "https://evil.example/", p.home.URL + "/elsewhere", "/elsewhere"} {
				spec := p.spec(a)
				spec.Search.Query = map[string]string{"to": to, "code": fmt.Sprint(code)}
				before, _, keys := p.seen()
				ans, err := p.client(t).Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch})
				f := mustFault(t, err)
				if f.Code != "unexpected_redirect" || f.Level != harvest.Fatal || ans.Traffic.Sent != 2 {
					t.Errorf("%s, %d to %s: %d sent, %+v", name, code, to, ans.Traffic.Sent, f)
				}
				after, caught, now := p.seen()
				if len(caught) != 0 || len(after)-len(before) != 2 || now-keys != 2 || slices.Contains(after, "/elsewhere") {
					t.Fatalf("%s, %d to %s: at home %v, elsewhere %q", name, code, to, after[len(before):], caught)
				}
			}
		}
	}
}

// names is a DNS server that has the same addresses for every name.
type names struct {
	addrs atomic.Pointer[[]netip.Addr]
}

// resolver asks n, whatever server it was meant to ask.
func (n *names) resolver(t *testing.T) *net.Resolver {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pc.Close() })
	go func() {
		buf := make([]byte, 1500)
		for {
			k, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			pc.WriteTo(n.reply(buf[:k]), from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", pc.LocalAddr().String())
	}}
}

// reply answers a DNS query for the addresses of one family.
func (n *names) reply(query []byte) []byte {
	end := 12
	for end < len(query) && query[end] != 0 {
		end += int(query[end]) + 1
	}
	kind := binary.BigEndian.Uint16(query[end+1:])
	end += 5
	out := slices.Clone(query[:end])
	binary.BigEndian.PutUint16(out[2:], 0x8180) // an answer, recursion and all
	clear(out[6:12])
	for _, a := range *n.addrs.Load() {
		if kind != map[bool]uint16{true: 1, false: 28}[a.Is4()] {
			continue
		}
		out[7]++
		out = append(out, 0xc0, 12, 0, byte(kind), 0, 1, 0, 0, 0, 0, 0, byte(len(a.AsSlice())))
		out = append(out, a.AsSlice()...)
	}
	return out
}

// errOffline stands for every connection that the dialer would have made.
var errOffline = errors.New("nothing leaves a test")

// TestR49_NamesThatTurnInward: the address is judged when it is dialled, not
// when the name was first looked up, and so is each one of several.
func TestR49_NamesThatTurnInward(t *testing.T) {
	outside := netip.MustParseAddr("8.8.8.8")
	var reached atomic.Int32
	evil := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	evil.Config.ConnState = func(net.Conn, http.ConnState) { reached.Add(1) }
	evil.Start()
	defer evil.Close()
	_, port, _ := net.SplitHostPort(evil.Listener.Addr().String())

	// ask a name's source twice, of which the second time its addresses may be
	// others: what the dialer let through, and what became of each question.
	ask := func(t *testing.T, first, second []netip.Addr) (let []string, faults []harvest.Fault) {
		var dns names
		d := newDialer(false)
		d.Resolver = dns.resolver(t)
		var mu sync.Mutex // two families are dialled at once
		judge := d.Control
		d.Control = func(network, address string, c syscall.RawConn) error {
			if judge != nil {
				if err := judge(network, address, c); err != nil {
					return err
				}
			}
			mu.Lock()
			defer mu.Unlock()
			let = append(let, address)
			return errOffline
		}
		for i, addrs := range [][]netip.Addr{first, second} {
			dns.addrs.Store(&addrs)
			client := newClient(Config{Transport: transportOver(d), Credentials: &pool{keys: []string{lure}}, Rand: steady}, new(free), jsonDecoder{})
			spec := authSpec(auths["bearer"])
			spec.HTTP.BaseURL, spec.HTTP.AllowHTTP = "http://rebind.example.org.:"+port, true
			if i == 1 {
				spec.HTTP.BaseURL = "https://rebind.example.org.:" + port
			}
			spec.Retry = source.Retry{Attempts: 1}
			_, err := client.Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch})
			client.Close()
			faults = append(faults, mustFault(t, err))
		}
		return let, faults
	}

	for _, inner := range []string{
		"127.0.0.1", "127.255.255.254", "::1", "0.0.0.0", "0.1.2.3", "::", "10.0.0.1", "172.16.0.1", "192.168.0.1", "fc00::1", "fd12:3456::1",
		"169.254.0.1", "169.254.169.254", "fe80::1", "fd00:ec2::254", "100.64.0.1", "100.100.100.200", "168.63.129.16",
		"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b::a00:1",
		"64:ff9b:1::7f00:1", "2002:7f00:1::", "2002:a9fe:a9fe::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "224.0.0.1", "239.255.255.250", "ff02::1",
		"255.255.255.255", "240.0.0.1", "192.0.0.192", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "fec0::1", "100::1",
	} {
		t.Run(inner, func(t *testing.T) {
			in := []netip.Addr{netip.MustParseAddr(inner)}
			// As it is, and as IPv6 writes it.
			for _, a := range []netip.Addr{in[0], netip.AddrFrom16(in[0].As16())} {
				if err := refusePrivate("tcp", netip.AddrPortFrom(a, 80).String(), nil); !errors.Is(err, errBlocked) {
					t.Errorf("%s: %v", a, err)
				}
			}
			let, faults := ask(t, in, in)
			for _, f := range faults {
				if f.Code != "address_refused" || f.Level != harvest.Rejected || f.Reaction != harvest.GiveUp {
					t.Errorf("%+v", f)
				}
			}
			if len(let) != 0 {
				t.Errorf("let through: %v", let)
			}
			// Public when first asked for, inner from then on.
			let, faults = ask(t, []netip.Addr{outside}, in)
			if faults[0].Code != "connect" || faults[1].Code != "address_refused" || len(let) != 1 || let[0] != outside.String()+":"+port {
				t.Errorf("rebound: let through %v, %+v", let, faults)
			}
			// Both at once: the public one may be tried, the other not.
			both := []netip.Addr{outside, in[0]}
			let, _ = ask(t, both, both)
			if slices.ContainsFunc(let, func(a string) bool { return a != outside.String()+":"+port }) {
				t.Errorf("both: let through %v", let)
			}
		})
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("%d connections inside", n)
	}
}

// TestR49_LettersThatOnlyLookAlike: two signs that Unicode folds to ASCII are
// not the letters of a host.
func TestR49_LettersThatOnlyLookAlike(t *testing.T) {
	home, err := url.Parse("https://kiosk.example.org/v1")
	if err != nil {
		t.Fatal(err)
	}
	for host, same := range map[string]bool{"KIOSK.example.org": true, "\u212aiosk.example.org": false, "kio\u017fk.example.org": false, "%E2%84%AAiosk.example.org": false} {
		if u, err := nextURL(home, "https://"+host+"/v1"); (err == nil) != same || same && u.Host != home.Host {
			t.Errorf("%s: %v, %v", host, u, err)
		}
	}
}
