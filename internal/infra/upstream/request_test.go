package upstream

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

func TestRender_PubMedDays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		zone, err := time.LoadLocation("America/New_York")
		if err != nil {
			t.Fatal(err)
		}
		spec := testSpec()
		spec.Window = source.Window{Zone: "America/New_York", Precision: harvest.PrecisionDay, Bound: source.BoundClosed}
		spec.Search = source.Endpoint{
			Path: "esearch.fcgi", Method: "POST", Format: source.FormatJSON, Form: map[string]string{
				"mindate": "${date(window.from, '2006/01/02')}", "maxdate": "${date(window.last, '2006/01/02')}",
				"retstart": "${page.offset}", "WebEnv": "${page.held.WebEnv}", "term": "all[sb]&api_key=x",
			},
		}
		n := play(status(200, `{"items":[]}`))
		_, err = client(n, new(free)).Ask(t.Context(), spec, source.Call{
			Purpose: source.ForSearch, BaseURL: "http://127.0.0.1:123/pubmed",
			// 30 hours around the change to winter time: one day, and another.
			Window: harvest.Window{From: time.Date(2026, 10, 31, 0, 0, 0, 0, zone).UTC(), To: time.Date(2026, 11, 2, 0, 0, 0, 0, zone).UTC()},
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := n.asked[0].URL.String(); got != "http://127.0.0.1:123/pubmed/esearch.fcgi" || n.asked[0].Method != "POST" {
			t.Errorf("asked %s", got)
		}
		if got, want := n.bodies[0], "maxdate=2026%2F11%2F01&mindate=2026%2F10%2F31&retstart=0&term=all%5Bsb%5D%26api_key%3Dx"; got != want {
			t.Errorf("sent %s\nwant %s", got, want)
		}
	})
}

// TestR44_HeadersMergeByKeyAndNullTakesAway: platform, then http, then endpoint,
// whatever the case of the names; what renders empty leaves the wider value.
func TestR44_HeadersMergeByKeyAndNullTakesAway(t *testing.T) {
	for _, c := range []struct {
		name           string
		http, endpoint source.Headers
		accept, own    string
	}{
		{"platform's own", nil, nil, "application/json", ""},
		{"of the source", source.Headers{"Accept": new("a/b"), "X-Own": new("1")}, nil, "a/b", "1"},
		{"the endpoint's wins", source.Headers{"Accept": new("a/b"), "X-Own": new("1")}, source.Headers{"accept": new("c/d"), "x-own": new("2")}, "c/d", "2"},
		{"null at the endpoint", source.Headers{"Accept": new("a/b"), "X-Own": new("1")}, source.Headers{"X-OWN": nil}, "a/b", ""},
		{"null of the platform's own", source.Headers{"accept": nil}, nil, "", ""},
		{"null at the endpoint of the platform's own", nil, source.Headers{"Accept": nil}, "", ""},
		{"null at the source, given at the endpoint", source.Headers{"X-Own": nil}, source.Headers{"X-Own": new("2")}, "application/json", "2"},
		{"empty is not null", source.Headers{"X-Own": new("1")}, source.Headers{"X-Own": new("")}, "application/json", "1"},
		{"nothing to take away", nil, source.Headers{"X-Own": nil}, "application/json", ""},
	} {
		spec := testSpec()
		spec.HTTP.Headers, spec.Search.Headers = c.http, c.endpoint
		n := play(status(200, `{"items":[]}`))
		if _, err := client(n, new(free)).Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch}); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		h := n.asked[0].Header
		if _, sent := h["Accept"]; h.Get("Accept") != c.accept || sent != (c.accept != "") {
			t.Errorf("%s: accept %q, want %q", c.name, h["Accept"], c.accept)
		}
		if _, sent := h["X-Own"]; h.Get("X-Own") != c.own || sent != (c.own != "") {
			t.Errorf("%s: own %q, want %q", c.name, h["X-Own"], c.own)
		}
	}
}

func TestR51_HostileValuesStayInTheirPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			name string
			set  func(*source.Spec, *source.Call)
			sent string // "": refused, and nothing leaves
		}{
			{"parameter", func(_ *source.Spec, c *source.Call) { c.Position.Token = "x&api_key=y#z?" }, "https://api.example.org/v1/works?cursor=x%26api_key%3Dy%23z%3F&mailto=me%40example.org&rows=10"},
			{"path value", func(s *source.Spec, c *source.Call) {
				s.Search.Path = "/works/${ids[0]}"
				s.Search.Query = nil
				c.IDs = []string{"10.1/a b?c#d/../e"}
			}, ""},
			{"path value, plain", func(s *source.Spec, c *source.Call) {
				s.Search.Path = "/works/${ids[0]}"
				s.Search.Query = nil
				c.IDs = []string{"10.1/a b?c#d"}
			}, "https://api.example.org/v1/works/10.1%2Fa%20b%3Fc%23d"},
			{"path climbs", func(s *source.Spec, c *source.Call) {
				s.Search.Path, c.IDs = "/works/${ids[0]}", []string{".."}
			}, ""},
			{"path climbs, encoded", func(s *source.Spec, c *source.Call) {
				s.Search.Path, c.IDs = "/works/${ids[0]}", []string{"%2e%2e"}
			}, ""},
			{"path empty", func(s *source.Spec, _ *source.Call) { s.Search.Path = "/works/${page.token}" }, ""},
			{"line break", func(_ *source.Spec, c *source.Call) { c.Position.Token = "a\r\nX: y" }, ""},
			{"header split", func(s *source.Spec, c *source.Call) {
				s.HTTP.Headers, c.Position.Token = source.Headers{"X-A": new("${page.token}")}, "a\nX: y"
			}, ""},
			{"header name", func(s *source.Spec, _ *source.Call) { s.HTTP.Headers = source.Headers{"X-A: b\r\nY": new("z")} }, ""},
			{"authorization", func(s *source.Spec, _ *source.Call) {
				s.Search.Headers = source.Headers{"authorization": new("Bearer x")}
			}, ""},
			{"correlation", func(_ *source.Spec, c *source.Call) { c.Correlation = "a\r\nb" }, ""},
			{"contact", func(s *source.Spec, _ *source.Call) { s.Vars["contact"] = "a\nb" }, ""},
			{"expression fails", func(s *source.Spec, _ *source.Call) { s.Search.Query["x"] = "${ids[3]}" }, ""},
			{"expression is none", func(s *source.Spec, _ *source.Call) { s.Search.Query["x"] = "${" }, ""},
			{"plain http", func(s *source.Spec, _ *source.Call) { s.HTTP.BaseURL = "http://api.example.org" }, ""},
			{"plain http allowed", func(s *source.Spec, _ *source.Call) {
				s.HTTP.BaseURL = "http://api.example.org/"
				s.HTTP.AllowHTTP = true
				s.Search.Query = nil
			}, "http://api.example.org/works"},
			{"userinfo", func(s *source.Spec, _ *source.Call) { s.HTTP.BaseURL = "https://u:p@api.example.org" }, ""},
			{"no host", func(s *source.Spec, _ *source.Call) { s.HTTP.BaseURL = "" }, ""},
			{"file", func(_ *source.Spec, c *source.Call) { c.BaseURL = "file:///etc/passwd" }, ""},
			{"no such endpoint", func(_ *source.Spec, c *source.Call) { c.Purpose = source.ForCount }, ""},
		} {
			spec, call := testSpec(), source.Call{Purpose: source.ForSearch}
			c.set(spec, &call)
			n, g := play(status(200, `{"items":[]}`)), new(free)
			_, err := client(n, g).Ask(t.Context(), spec, call)
			if c.sent != "" {
				if err != nil || n.asked[0].URL.String() != c.sent {
					t.Errorf("%s: %v, %v", c.name, n.asked, err)
				}
				continue
			}
			if f := mustFault(t, err); f.Level != harvest.Rejected || f.Reaction != harvest.GiveUp || len(n.asked) != 0 || g.acquired != 0 {
				t.Errorf("%s: %d sent, %+v", c.name, len(n.asked), f)
			}
		}
	})
}

func TestR49_NextURL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ask := func(next string) (*network, error) {
			spec, n := testSpec(), play(status(200, `{"items":[]}`))
			spec.Paging.Type = harvest.PageURL
			_, err := client(n, new(free)).Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch, Position: harvest.Position{URL: next}})
			return n, err
		}
		for next, want := range map[string]string{
			"https://api.example.org/v1/works?cursor=a%2Bb": "https://api.example.org/v1/works?cursor=a%2Bb",
			"https://API.example.org:443/v1/works/?page=2":  "https://api.example.org/v1/works/?page=2",
			"/v1/works?page=2": "https://api.example.org/v1/works?page=2",
			"?page=3":          "https://api.example.org/v1/works?page=3",
			"https://api.example.org/v1/works/next/2?x=http:": "https://api.example.org/v1/works/next/2?x=http:",
		} {
			n, err := ask(next)
			if err != nil || n.asked[0].URL.String() != want {
				t.Errorf("%s: %v %v", next, n.asked, err)
			}
		}
		for _, next := range []string{
			"http://api.example.org/v1/works",
			"https://evil.example/v1/works",
			"https://api.example.org.evil.example/v1/works",
			"https://api.example.org@evil.example/v1/works",
			"https://user:pw@api.example.org/v1/works",
			"https://@api.example.org/v1/works",
			"https://api.example.org:8443/v1/works",
			"https://api.example.org./v1/works",
			"//evil.example/v1/works",
			"//api.example.org/v1/works",
			`https:\\evil.example/v1/works`,
			`https://api.example.org\@evil.example/v1/works`,
			"https:evil",
			"https://api.example.org/v1/works/../admin",
			"https://api.example.org/v1/works/%2e%2e/admin",
			"https://api.example.org/v1/works/%252e%252e/admin",
			"https://api.example.org/v1/worksheets",
			"https://api.example.org/v2/works",
			"https://api.example.org/",
			"../../admin",
			"https://api.example.org/v1/works#@evil.example",
			"https://api.example.org/v1/works?a=%zz",
			"https://127.0.0.1/v1/works",
			"https://[::1]/v1/works",
			"https://169.254.169.254/latest/meta-data/",
			"file:///etc/passwd",
			"javascript:alert(1)",
			"https://api.example.org/v1/works\r\nX: y",
			"https://аpi.example.org/v1/works", // a Cyrillic letter
			"gopher://api.example.org/v1/works",
		} {
			n, err := ask(next)
			if f := mustFault(t, err); f.Code != "hostile_url" || f.Level != harvest.Rejected || len(n.asked) != 0 {
				t.Errorf("%s: %d sent, %+v", next, len(n.asked), f)
			}
		}
	})
}
