package upstream

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/pace"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/telemetry"
)

// stop is a server that writes down what it was asked and answers by path.
type stop struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string // requests as they came
	// to is where a path leads; a path that is not in it has a page.
	to map[string]string
}

func newStop(t *testing.T) *stop {
	s := &stop{to: map[string]string{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		dump, _ := httputil.DumpRequest(r, true)
		s.mu.Lock()
		s.asked = append(s.asked, string(dump))
		to, moved := s.to[r.URL.Path]
		s.mu.Unlock()
		if !moved {
			io.WriteString(w, goodReply)
			return
		}
		code, at, ok := strings.Cut(to, " ")
		if !ok {
			code, at = "302", to
		}
		w.Header().Set("Location", at)
		n := 0
		fmt.Sscan(code, &n)
		w.WriteHeader(n)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *stop) host() string { return strings.TrimPrefix(s.URL, "http://") }

// redirecting is a spec at home that follows redirects.
func redirecting(home *stop, a *source.Auth, hosts ...string) *source.Spec {
	spec := testSpec()
	spec.HTTP = source.HTTP{
		BaseURL: home.URL + "/v1", AllowHTTP: true, AllowPrivate: true, Redirects: &source.RedirectConfig{Max: 3, Hosts: hosts},
	}
	if a != nil {
		a.Pool = "src"
		spec.Auth = a
	}
	spec.Retry = source.Retry{Attempts: 2, Base: source.Duration(time.Microsecond), Max: source.Duration(time.Microsecond)}
	return spec
}

// TestR59_Redirects over the wire: which are followed, and how far.
func TestR59_Redirects(t *testing.T) {
	home, other := newStop(t), newStop(t)
	for name, c := range map[string]struct {
		to    map[string]string // of home
		away  map[string]string // of other
		spec  func(*source.Spec)
		home  int // requests
		other int
		bad   bool
	}{
		"a slash":         {map[string]string{"/v1/works": "308 /v1/works/"}, nil, nil, 2, 0, false},
		"an alias":        {map[string]string{"/v1/works": "301 " + home.URL + "/v2/works?x=1"}, nil, nil, 2, 0, false},
		"relative":        {map[string]string{"/v1/works": "303 others?y=2"}, nil, nil, 2, 0, false},
		"up":              {map[string]string{"/v1/works": "307 ../v2"}, nil, nil, 2, 0, false},
		"three in a row":  {map[string]string{"/v1/works": "/a", "/a": "/b", "/b": "/c"}, nil, nil, 4, 0, false},
		"a listed host":   {map[string]string{"/v1/works": other.URL + "/x"}, nil, nil, 1, 1, false},
		"there and back":  {map[string]string{"/v1/works": other.URL + "/x"}, map[string]string{"/x": home.URL + "/y"}, nil, 2, 1, false},
		"four in a row":   {map[string]string{"/v1/works": "/a", "/a": "/b", "/b": "/c", "/c": "/d"}, nil, nil, 8, 0, true},
		"round and round": {map[string]string{"/v1/works": "/v1/works"}, nil, nil, 8, 0, true},
		"fewer allowed":   {map[string]string{"/v1/works": "/a", "/a": "/b"}, nil, func(s *source.Spec) { s.HTTP.Redirects.Max = 1 }, 4, 0, true},
		"never more":      {map[string]string{"/v1/works": "/v1/works"}, nil, func(s *source.Spec) { s.HTTP.Redirects.Max = 99 }, 8, 0, true},
		"not turned on":   {map[string]string{"/v1/works": "/a"}, nil, func(s *source.Spec) { s.HTTP.Redirects = nil }, 2, 0, true},
		"not listed":      {map[string]string{"/v1/works": other.URL + "/x"}, nil, func(s *source.Spec) { s.HTTP.Redirects.Hosts = nil }, 2, 0, true},
		"another status":  {map[string]string{"/v1/works": "300 /a"}, nil, nil, 2, 0, true},
		"nowhere":         {map[string]string{"/v1/works": "302 "}, nil, nil, 2, 0, true},
		"a POST":          {map[string]string{"/v1/works": "307 /a"}, nil, func(s *source.Spec) { s.Search.Method = "POST" }, 2, 0, true},
		"a form": {
			map[string]string{"/v1/works": "303 /a"}, nil, func(s *source.Spec) { s.Search.Form = map[string]string{"a": "1"} }, 2, 0, true,
		},
		"a GET with a body": {
			map[string]string{"/v1/works": "307 /a"},
			nil,
			func(s *source.Spec) { s.Search.Method, s.Search.Form = "GET", map[string]string{"a": "1"} }, 2, 0, true,
		},
		"a rule of the pack comes first": {map[string]string{"/v1/works": "302 /login"}, nil, func(s *source.Spec) {
			s.Faults = []source.FaultRule{{Status: []int{302}, Level: harvest.Fatal, Reaction: harvest.GiveUp, Code: "unexpected_redirect"}}
		}, 1, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			home.asked = nil
			other.asked = nil
			home.to = c.to
			other.to = c.away
			g := new(free)
			client := newClient(Config{}, g, jsonDecoder{})
			defer client.Close()
			spec := redirecting(home, nil, other.host())
			if c.spec != nil {
				c.spec(spec)
			}
			a, err := client.Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch})
			if len(home.asked) != c.home || len(other.asked) != c.other {
				t.Errorf("%d requests at home, %d at the other, want %d and %d", len(home.asked), len(other.asked), c.home, c.other)
			}
			if n := c.home + c.other; g.acquired != n || a.Traffic.Sent != n || len(g.told) != n || g.inside != 0 {
				t.Errorf("%d permits, %d counted, %d reports for %d requests", g.acquired, a.Traffic.Sent, len(g.told), n)
			}
			if !strings.HasPrefix(a.Request, spec.Search.Method) || !strings.Contains(a.Request, home.URL+"/v1/works") {
				t.Errorf("kept as %s", a.Request)
			}
			if !c.bad {
				if err != nil || a.Page == nil || a.Status != 200 {
					t.Errorf("%v, %d", err, a.Status)
				}
				return
			}
			if f := mustFault(t, err); f.Code != "unexpected_redirect" || f.Level != harvest.Fatal {
				t.Errorf("%+v", f)
			}
		})
	}
}

// TestR59_CredentialsStayAtTheFirstHost, whatever kind they are and wherever
// the first host writes them.
func TestR59_CredentialsStayAtTheFirstHost(t *testing.T) {
	const secret = "c4nary:key/+part"
	esc := url.QueryEscape(secret)
	home, other := newStop(t), newStop(t)
	for name, auth := range map[string]source.Auth{
		"query":  {Type: source.AuthAPIKey, In: source.InQuery, Name: "api_key"},
		"header": {Type: source.AuthAPIKey, In: source.InHeader, Name: "X-Key"},
		"bearer": {Type: source.AuthBearer, In: source.InHeader, Name: "Authorization"},
		"basic":  {Type: source.AuthBasic, In: source.InHeader, Name: "Authorization"},
		"signed": {Type: source.AuthCustom, Hook: "hmac-sha256", Options: map[string]string{"id": "X-Id"}},
	} {
		for way, c := range map[string]struct {
			to          string
			back        string // where the other leads
			home, other int
			bad         bool
		}{
			"same host":            {"/v2/works?page=2&api_key=" + esc, "", 2, 0, false},
			"listed host":          {other.URL + "/x?page=2", "", 1, 1, false},
			"listed, with the key": {other.URL + "/x?api_key=" + esc + "&page=2", "", 1, 1, false},
			"listed, key in path":  {other.URL + "/x/" + url.PathEscape(secret), "", 2, 0, true},
			"listed, other name":   {other.URL + "/x?k=" + esc, "", 2, 0, true},
			"there and back":       {other.URL + "/x", home.URL + "/steal?cb=1", 2, 1, false},
		} {
			t.Run(name+", "+way, func(t *testing.T) {
				home.asked, other.asked = nil, nil
				home.to, other.to = map[string]string{"/v1/works": c.to}, map[string]string{}
				if c.back != "" {
					other.to["/x"] = c.back
				}
				if name != "query" && way == "listed, with the key" {
					c.home = 2
					c.other = 0
					c.bad = true // there it is no place of the key's
				}
				client := newClient(Config{Credentials: &pool{keys: []string{secret}}}, new(free), jsonDecoder{})
				defer client.Close()
				_, err := client.Ask(t.Context(), redirecting(home, &auth, other.host()), source.Call{Purpose: source.ForSearch})
				if len(home.asked) != c.home || len(other.asked) != c.other || (err != nil) != c.bad {
					t.Errorf("%d requests at home, %d at the other: %v", len(home.asked), len(other.asked), err)
				}
				for _, r := range other.asked {
					if hasKey(r, secret) || strings.Contains(r, "X-Signature") || strings.Contains(r, "api_key") {
						t.Errorf("the other host was told: %s", r)
					}
				}
				for i, r := range home.asked {
					key := hasKey(r, secret) || strings.Contains(r, "X-Signature")
					if away := i > 0 && way == "there and back"; key == away {
						t.Errorf("request %d at home: key %v: %s", i, key, r)
					}
					if strings.Count(r, "api_key=") > 1 {
						t.Errorf("the key twice: %s", r)
					}
				}
			})
		}
	}
}

// hasKey reports whether a request shows a secret in any form.
func hasKey(r, secret string) bool {
	seen := new(telemetry.Redactor)
	seen.Learn(credential.NewSecret(secret))
	return seen.Text(r) != r
}

// TestR59_HostsNotListed: R49's list, as redirects. Nothing goes to the trap: no
// request, no connection, no credential; also not by way of a listed host.
func TestR59_HostsNotListed(t *testing.T) {
	var touched atomic.Int32
	trap, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer trap.Close()
	go func() {
		for {
			conn, err := trap.Accept()
			if err != nil {
				return
			}
			touched.Add(1)
			conn.Close()
		}
	}()
	home, other := newStop(t), newStop(t)
	evil := trap.Addr().String()
	_, evilPort, _ := net.SplitHostPort(evil)
	homePort := strings.TrimPrefix(home.host(), "127.0.0.1:")
	hostile := []string{
		"http://" + evil + "/", "https://" + evil + "/", "//" + evil + "/", "HTTP://" + evil, "http:/" + evil, "http:" + evil,
		"http://" + home.host() + "@" + evil + "/", "http://u:p@" + evil + "/", "http://" + evil + "\\@" + home.host() + "/",
		"http://" + evil + "#@" + home.host() + "/", "http://" + evil + "?@" + home.host() + "/", "\\\\" + evil + "/", "/\\" + evil + "/",
		"http://localhost:" + evilPort + "/", "http://localhost:" + homePort + "/", "http://[::1]:" + homePort + "/",
		"http://[::ffff:127.0.0.1]:" + evilPort + "/", "http://2130706433:" + evilPort + "/", "http://127.1:" + evilPort + "/",
		"http://127.0.0.1.:" + evilPort + "/", "http://127.0.0.1/", "http://" + home.host() + ".evil.example/", "https://" + home.host() + ".evil.example/",
		"http://169.254.169.254/latest/meta-data/", "ftp://" + home.host() + "/", "file:///etc/passwd", "javascript:alert(1)", "gopher://" + evil,
		"http://user@" + home.host() + "/", "http://" + home.host() + "/#frag", "/a/%2e%2e/%2e%2e/b", "/a/..;/b", "/x?a=%zz", "/x\ty", "http://" + home.host() + ":1/",
	}
	auth := &source.Auth{Type: source.AuthAPIKey, In: source.InHeader, Name: "X-Key"}
	client := newClient(Config{Credentials: &pool{keys: []string{"c4nary-key"}}}, new(free), jsonDecoder{})
	defer client.Close()
	for _, to := range hostile {
		for _, through := range []bool{false, true} {
			home.asked = nil
			other.asked = nil
			home.to = map[string]string{"/v1/works": "302 " + to}
			other.to = nil
			if through {
				home.to["/v1/works"], other.to = other.URL+"/x", map[string]string{"/x": "302 " + to}
			}
			_, err := client.Ask(t.Context(), redirecting(home, auth, other.host()), source.Call{Purpose: source.ForSearch})
			if f := mustFault(t, err); f.Code != "unexpected_redirect" || len(home.asked) != 2 {
				t.Errorf("%s (through another: %v): %+v after %d requests at home", to, through, f, len(home.asked))
			}
			if strings.Contains(strings.Join(other.asked, "\n"), "c4nary") || strings.Contains(err.Error(), "c4nary") {
				t.Errorf("%s: the key went along", to)
			}
		}
	}
	if n := touched.Load(); n != 0 {
		t.Errorf("%d connections to a host that is not listed", n)
	}
}

// TestR59_ListedHostsAndPorts: what a list means, on the parsed URL.
func TestR59_ListedHostsAndPorts(t *testing.T) {
	home, _ := url.Parse("https://api.example.org/v1/works")
	for _, c := range []struct {
		to    string
		hosts []string
		http  bool
		ok    bool
	}{
		{"https://api.example.org/x", nil, false, true},
		{"https://API.example.org:443/x", nil, false, true},
		{"https://api.example.org:8443/x", nil, false, false},
		{"http://api.example.org/x", nil, false, false},
		{"http://api.example.org/x", nil, true, false}, // another port
		{"http://api.example.org/x", []string{"api.example.org"}, true, true},
		{"http://api.example.org:443/x", nil, false, false},
		{"https://cdn.example.org/x", []string{"cdn.example.org"}, false, true},
		{"https://cdn.example.org:8443/x", []string{"cdn.example.org"}, false, false},
		{"https://cdn.example.org:8443/x", []string{"cdn.example.org:8443"}, false, true},
		{"https://cdn.example.org/x", []string{"cdn.example.org:8443"}, false, false},
		{"http://cdn.example.org/x", []string{"cdn.example.org"}, false, false},
		{"http://cdn.example.org/x", []string{"cdn.example.org"}, true, true},
		{"https://www.cdn.example.org/x", []string{"cdn.example.org"}, false, false},
		{"https://cdn.example.org./x", []string{"cdn.example.org"}, false, false},
		{"https://cdn.example.org\x00/x", []string{"cdn.example.org"}, false, false},
		{"https://cdn.example.org/x y", []string{"cdn.example.org"}, false, false},
		{"https://cdn.example.org/x\r\nX: y", []string{"cdn.example.org"}, false, false},
		{"https:///x", []string{""}, false, false},
	} {
		spec := testSpec()
		spec.HTTP.AllowHTTP, spec.HTTP.Redirects = c.http, &source.RedirectConfig{Max: 3, Hosts: c.hosts}
		u, err := hopURL(spec, home, home, c.to)
		if (err == nil) != c.ok {
			t.Errorf("%q, listed %v, http %v: %v %v", c.to, c.hosts, c.http, u, err)
		}
	}
}

// TestR59_AddressGuardHoldsOnEveryHop: a listed name is still not a way inside,
// not even where the base of a test is on this machine.
func TestR59_AddressGuardHoldsOnEveryHop(t *testing.T) {
	home, other := newStop(t), newStop(t)
	home.to["/v1/works"] = other.URL + "/x"
	client := newClient(Config{}, new(free), jsonDecoder{})
	defer client.Close()
	spec := redirecting(home, nil, other.host())
	spec.HTTP.AllowPrivate = false
	_, err := client.Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch, BaseURL: home.URL + "/v1"})
	if f := mustFault(t, err); f.Code != "address_refused" || len(other.asked) != 0 {
		t.Errorf("%+v, %d requests", f, len(other.asked))
	}
}

// TestR59_ARefusalElsewhereIsNotTheKeys: the key was not sent there.
func TestR59_ARefusalElsewhereIsNotTheKeys(t *testing.T) {
	n := play(status(302, "", "Location", "https://cdn.example.org/x"), status(401, ""))
	p := &pool{keys: []string{"secret-key"}}
	spec := authSpec(source.Auth{Type: source.AuthAPIKey, In: source.InHeader, Name: "X-Key"})
	spec.HTTP.Redirects = &source.RedirectConfig{Max: 1, Hosts: []string{"cdn.example.org"}}
	_, err := keyed(n, new(free), p).Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch})
	if f := mustFault(t, err); f.Code != "redirect_refused" || f.Level != harvest.Rejected || len(p.told) != 0 || len(n.asked) != 2 {
		t.Errorf("%+v, told %v, %d requests", f, p.told, len(n.asked))
	}
}

// TestR39_ARedirectMayAskToWait: the gate hears of it before the next request.
func TestR39_ARedirectMayAskToWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := new(free)
		spec := testSpec()
		spec.HTTP.Redirects = &source.RedirectConfig{Max: 1}
		n := play(status(303, "", "Location", "/v1/ready", "Retry-After", "4"), status(200, goodReply))
		if _, err := client(n, g).Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch}); err != nil {
			t.Fatal(err)
		}
		if len(g.told) != 2 || g.told[0] != (pace.Outcome{Kind: pace.Unwell, RetryAfter: 4 * time.Second}) {
			t.Errorf("the gate heard %+v", g.told)
		}
	})
}

// second is a gate that gives one permit.
type second struct{ free }

func (g *second) Acquire(ctx context.Context, r source.Rate, cost int, d time.Duration) (context.Context, func(bool), pace.Pass, error) {
	if g.acquired > 0 {
		g.refuse = harvest.Fault{Level: harvest.Transient, Reaction: harvest.Retry, Code: "rate", RetryAfter: time.Hour}
	}
	return g.free.Acquire(ctx, r, cost, d)
}

// TestR22_NoPermitForAHop: the first request was sent, and who knows what it
// used up.
func TestR22_NoPermitForAHop(t *testing.T) {
	spec := testSpec()
	spec.Paging.Stateful = true
	spec.HTTP.Redirects = &source.RedirectConfig{Max: 1}
	n := play(status(302, "", "Location", "/v1/x"))
	_, err := client(n, new(second)).Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch, Position: harvest.Position{Token: "t"}})
	if f := mustFault(t, err); f.Code != "rate" || f.Reaction != harvest.RestartWalk || !f.Lost || len(n.asked) != 1 {
		t.Errorf("%+v after %d requests", f, len(n.asked))
	}
}
