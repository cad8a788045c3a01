package upstream

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// TestR42_Table is the ruling, a row per case, over the whole of the client:
// what a reply means, how often it was asked for, and by which key. Three
// forbidden slices in a row are the store's to see (sqlstore), a source without
// its credential is not even planned (node).
func TestR42_Table(t *testing.T) {
	const L1, L2, L4 = harvest.Transient, harvest.Rejected, harvest.Fatal
	type replies = []func(*http.Request) (*http.Response, error)
	s := func(code int, body ...string) func(*http.Request) (*http.Response, error) {
		return status(code, strings.Join(body, ""))
	}
	good := status(200, goodReply)
	moved := status(302, "", "Location", "https://evil.example/")
	html := status(200, "<html>Sorry</html>", "Content-Type", "text/html")
	inside := status(200, `{"items":[],"error":"backend down"}`)
	key, open := &source.Auth{Type: source.AuthAPIKey, In: source.InHeader, Name: "X-Key"}, &source.Auth{Type: source.AuthAPIKey, In: source.InHeader, Name: "X-Key", Open: true}
	signature := source.FaultRule{Status: []int{403}, Body: "invalid key", Level: L4, Reaction: harvest.GiveUp, Code: string(harvest.CodeAuthRefused)}
	blocked := source.FaultRule{Status: []int{403}, Body: "blocked", Level: L4, Reaction: harvest.GiveUp, Code: "blocked"}
	bad := func(sp *source.Spec) { sp.Search.Query["x"] = "${ids[3]}" }
	type want struct {
		level harvest.Level // "": a good answer
		code  string
		sent  string // the key of each request, - for none
	}
	for _, c := range []struct {
		name    string
		purpose source.Purpose
		auth    *source.Auth
		change  func(*source.Spec)
		replies replies
		want    want
	}{
		{"401, next credential", source.ForSearch, key, nil, list(s(401), good), want{sent: "one two"}},
		{"401, all tried", source.ForSearch, key, nil, list(s(401)), want{L4, "auth_refused", "one two"}},
		{"401, all tried, open", source.ForSearch, open, nil, list(s(401), s(401), good), want{sent: "one two -"}},
		{"401, all tried, open and refused too", source.ForSearch, open, nil, list(s(401)), want{L4, "auth_refused", "one two -"}},
		{"401, no credential", source.ForSearch, nil, nil, list(s(401)), want{L4, "auth_refused", "-"}},

		{"403", source.ForSearch, key, nil, list(s(403)), want{L2, "http_403", "one"}},
		{"403, details", source.ForDetail, key, nil, list(s(403)), want{L2, "http_403", "one"}},
		{"403, auth signature, next credential", source.ForSearch, key, nil, list(s(403, "invalid key"), good), want{sent: "one two"}},
		{"403, auth signature, all tried", source.ForSearch, key, nil, list(s(403, "invalid key")), want{L4, "auth_refused", "one two"}},
		{"403, signature that no key mends", source.ForSearch, key, nil, list(s(403, "you are blocked")), want{L4, "blocked", "one"}},

		{"408", source.ForSearch, nil, nil, list(s(408)), want{L1, "http_408", "- - -"}},
		{"425", source.ForSearch, nil, nil, list(s(425)), want{L1, "http_425", "- - -"}},
		{"429", source.ForSearch, nil, nil, list(s(429)), want{L1, "http_429", "- - -"}},
		{"429, then good", source.ForSearch, nil, nil, list(s(429), good), want{sent: "- -"}},
		{"500", source.ForSearch, nil, nil, list(s(500)), want{L1, "http_500", "- - -"}},
		{"502 in HTML", source.ForSearch, nil, nil, list(s(502, "<html>")), want{L1, "http_502", "- - -"}},
		{"503", source.ForDetail, nil, nil, list(s(503)), want{L1, "http_503", "- - -"}},
		{"504", source.ForSearch, nil, nil, list(s(504)), want{L1, "http_504", "- - -"}},
		{"599", source.ForSearch, nil, nil, list(s(599)), want{L1, "http_599", "- - -"}},
		{"network: refused", source.ForSearch, nil, nil, list(broken(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED})), want{L1, "connect", "- - -"}},
		{"network: no such host", source.ForSearch, nil, nil, list(broken(&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", IsNotFound: true}})), want{L1, "connect", "- - -"}},
		{"network: reset", source.ForSearch, nil, nil, list(broken(&net.OpError{Op: "read", Err: syscall.ECONNRESET})), want{L1, "network", "- - -"}},
		{"network: timeout", source.ForSearch, nil, nil, list(broken(&net.OpError{Op: "read", Err: late{}})), want{L1, "timeout", "- - -"}},
		{"network: hung up", source.ForSearch, nil, nil, list(broken(io.ErrUnexpectedEOF)), want{L1, "network", "- - -"}},
		{"network: TLS", source.ForSearch, nil, nil, list(broken(errors.New("tls: handshake failure"))), want{L1, "network", "- - -"}},
		{"cut off", source.ForSearch, nil, nil, list(status(200, `{"items":[`)), want{L1, "bad_reply", "- - -"}},

		{"404, search", source.ForSearch, nil, nil, list(s(404)), want{L2, "http_404", "-"}},
		{"410, search", source.ForSearch, nil, nil, list(s(410)), want{L2, "http_410", "-"}},
		{"404, one id", source.ForDetail, nil, nil, list(s(404)), want{L2, "http_404", "-"}}, // what it means is the caller's to say
		{"410, one id", source.ForDetail, nil, nil, list(s(410)), want{L2, "http_410", "-"}},

		{"3xx once", source.ForSearch, nil, nil, list(moved, good), want{sent: "- -"}},
		{"3xx once, no more tries", source.ForSearch, nil, once, list(moved), want{L1, "unexpected_redirect", "-"}},
		{"3xx twice", source.ForSearch, nil, nil, list(moved), want{L4, "unexpected_redirect", "- -"}},
		{"304", source.ForSearch, nil, nil, list(s(304)), want{L4, "unexpected_redirect", "- -"}},
		{"HTML for JSON once", source.ForSearch, nil, nil, list(html, good), want{sent: "- -"}},
		{"HTML for JSON once, no more tries", source.ForSearch, nil, once, list(html), want{L1, "unexpected_html", "-"}},
		{"HTML for JSON twice", source.ForSearch, nil, nil, list(html), want{L4, "unexpected_html", "- -"}},
		{"200 with an error once", source.ForSearch, nil, nil, list(inside, good), want{sent: "- -"}},
		{"200 with an error once, no more tries", source.ForSearch, nil, once, list(inside), want{L1, "error_in_reply", "-"}},
		{"200 with an error twice", source.ForSearch, nil, nil, list(inside), want{L4, "error_in_reply", "- -"}},
		{"one oddity, then another", source.ForSearch, nil, nil, list(html, inside), want{L4, "error_in_reply", "- -"}},

		{"expression error", source.ForSearch, nil, bad, list(good), want{L2, "bad_request", ""}},
		{"expression error, with a key", source.ForSearch, key, bad, list(good), want{L2, "bad_request", ""}},
		{"expression error in a path", source.ForSearch, nil, func(sp *source.Spec) { sp.Search.Path = "/works/${ids[3]}" }, list(good), want{L2, "bad_request", ""}},
		{"expression error in a form", source.ForDetail, nil, func(sp *source.Spec) { sp.Detail.Form["x"] = "${ids[3]}" }, list(good), want{L2, "bad_request", ""}},
		{"expression error in a header", source.ForSearch, nil, func(sp *source.Spec) { sp.HTTP.Headers = source.Headers{"X-A": new("${ids[3]}")} }, list(good), want{L2, "bad_request", ""}},
		{"expression that is none", source.ForSearch, nil, func(sp *source.Spec) { sp.Search.Query["x"] = "${ids[" }, list(good), want{L2, "bad_spec", ""}},

		{"anonymous, source without keys", source.ForSearch, nil, nil, list(good), want{sent: "-"}},
		{"anonymous, declared open", source.ForSearch, open, keyless, list(good), want{sent: "-"}},
		{"anonymous, not declared", source.ForSearch, key, keyless, list(good), want{L4, "no_credential", ""}},
		{"anonymous, open but for this endpoint", source.ForSearch, &source.Auth{Type: key.Type, In: key.In, Name: key.Name, Open: true, Restricted: []string{"works"}}, keyless, list(good), want{L4, "no_credential", ""}},
		{"anonymous, open but for another", source.ForSearch, &source.Auth{Type: key.Type, In: key.In, Name: key.Name, Open: true, Restricted: []string{"fetch"}}, keyless, list(good), want{sent: "-"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				spec := testSpec()
				spec.Retry.Attempts = 3
				spec.Faults = []source.FaultRule{signature, blocked}
				if c.auth != nil {
					a := *c.auth
					a.Pool = "src"
					spec.Auth = &a
				}
				var keys Credentials = &pool{keys: []string{"one-one-1", "two-two-2"}, open: c.auth == open}
				if c.change != nil {
					c.change(spec)
				}
				if spec.Vars["keys"] == "none" {
					keys = nil
				}
				n, g := play(c.replies...), new(free)
				ans, err := newClient(Config{Transport: n, Rand: steady, Credentials: keys}, g, jsonDecoder{}).Ask(t.Context(), spec, source.Call{Purpose: c.purpose, IDs: []string{"1"}})
				var with []string
				for _, r := range n.asked {
					with = append(with, map[string]string{"one-one-1": "one", "two-two-2": "two", "": "-"}[r.Header.Get("X-Key")])
				}
				if sent := strings.Join(with, " "); sent != c.want.sent || ans.Traffic.Sent != len(n.asked) || g.acquired != len(n.asked) {
					t.Errorf("sent %q, want %q; %d counted, %d permits", sent, c.want.sent, ans.Traffic.Sent, g.acquired)
				}
				if c.want.code == "" {
					if err != nil || ans.Page == nil {
						t.Errorf("got %v", err)
					}
					return
				}
				f := mustFault(t, err)
				reaction := harvest.GiveUp
				if c.want.level == L1 {
					reaction = harvest.Retry
				}
				if f.Level != c.want.level || string(f.Code) != c.want.code || f.Reaction != reaction {
					t.Errorf("got %s %s %s, want %s %s", f.Level, f.Reaction, f.Code, c.want.level, c.want.code)
				}
			})
		})
	}
}

func once(s *source.Spec) { s.Retry.Attempts = 1 }

func keyless(s *source.Spec) { s.Vars["keys"] = "none" }

type late struct{}

func (late) Error() string   { return "i/o timeout" }
func (late) Timeout() bool   { return true }
func (late) Temporary() bool { return true }
