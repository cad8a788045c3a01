package upstream

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

func TestComplete_HeadersAndTokensInLinks(t *testing.T) {
	for _, c := range []struct {
		name     string
		response source.Response
		page     harvest.Page
		headers  []string
		token    string
		url      string
		total    int64 // -1: none
		bad      string
	}{
		{
			"total with separators",
			source.Response{Total: "header:X-Total-Count"},
			harvest.Page{},
			[]string{"X-Total-Count", "3,180,030"},
			"", "", 3180030, "",
		},
		{"total that is none", source.Response{Total: "header:X-Total-Count"}, harvest.Page{}, []string{"X-Total-Count", "many"}, "", "", -1, "not a total"},
		{"no total", source.Response{Total: "header:X-Total-Count"}, harvest.Page{}, nil, "", "", -1, ""},
		{"token", source.Response{Token: "header:x-next-page-token"}, harvest.Page{}, []string{"X-Next-Page-Token", " abc= "}, "abc=", "", -1, ""},
		{
			"link",
			source.Response{URL: "header:Link"},
			harvest.Page{},
			[]string{"Link", `<https://a.org/?p=1>; rel="prev", <https://a.org/?p=3,4>; title="x, y"; rel="last next"`},
			"", "https://a.org/?p=3,4", -1, "",
		},
		{"link without next", source.Response{URL: "header:Link"}, harvest.Page{}, []string{"Link", `<https://a.org/>; rel=last; rel=next`}, "", "", -1, ""},
		{
			"link behind a title with signs of its own",
			source.Response{URL: "header:Link"},
			harvest.Page{},
			[]string{"Link", `</?p=1>; title="a; rel=b, c"; rel="prev", </?p=3>; title="a; rel=\"b\", c"; rel="next"`},
			"", "/?p=3", -1, "",
		},
		{"link in quotes that are none", source.Response{URL: "header:Link"}, harvest.Page{}, []string{"Link", `</?p=3>; rel='next'`}, "", "", -1, "header Link"},
		{"link without brackets", source.Response{URL: "header:Link"}, harvest.Page{}, []string{"Link", `https://a.org/?p=3,4; rel="next"`}, "", "", -1, "header Link"},
		{"link with half of its brackets", source.Response{Token: "header:Link"}, harvest.Page{}, []string{"Link", `<https://a.org/?p=3; rel=next`}, "", "", -1, "header Link"},
		{"another link that cannot be read", source.Response{URL: "header:Link"}, harvest.Page{}, []string{"Link", `/?p=1; rel=prev, </?p=3>; rel=next`}, "", "/?p=3", -1, ""},
		{"links to elsewhere that cannot be read", source.Response{URL: "header:Link"}, harvest.Page{}, []string{"Link", `/?rel=next; rel=prev, nonsense`}, "", "", -1, ""},
		{
			"token in a link",
			source.Response{Token: "links.next", TokenParam: "page[cursor]"},
			harvest.Page{Token: "https://a.org/dois?page%5Bcursor%5D=MTY%3D&page%5Bsize%5D=2"},
			nil, "MTY=", "", -1, "",
		},
		{"token in a link header", source.Response{Token: "header:Link", TokenParam: "c"}, harvest.Page{}, []string{"Link", "</x?c=7>;rel=next"}, "7", "", -1, ""},
		{"no link is no token", source.Response{Token: "links.next", TokenParam: "c"}, harvest.Page{}, nil, "", "", -1, ""},
		{"a link of another form is not the end", source.Response{Token: "links.next", TokenParam: "c"}, harvest.Page{Token: "https://a.org/?d=1"}, nil, "", "", -1, "no parameter c"},
	} {
		h := http.Header{}
		for i := 0; i+1 < len(c.headers); i += 2 {
			h.Set(c.headers[i], c.headers[i+1])
		}
		p := c.page
		err := completePage(&p, &c.response, h)
		if c.bad != "" {
			if err == nil || !strings.Contains(err.Error(), c.bad) {
				t.Errorf("%s: error %v, want one about %q", c.name, err, c.bad)
			}
			continue
		}
		total := int64(-1)
		if p.Total != nil {
			total = *p.Total
		}
		if err != nil || p.Token != c.token || p.URL != c.url || total != c.total {
			t.Errorf("%s: token %q, url %q, total %d, %v", c.name, p.Token, p.URL, total, err)
		}
	}
}

// A reply may say "no records" as an error, and mean it (R61).
func TestR61_ABodyCanMeanAnEmptyPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := testSpec()
		spec.Faults = []source.FaultRule{
			{Status: []int{200}, Body: `code="noRecordsMatch"`, Reaction: harvest.NoItems, Code: "no_records"},
			{Status: []int{200}, Body: "token is dead", Level: harvest.Transient, Reaction: harvest.RestartWalk, Code: "token_expired"},
			{Status: []int{429}, Body: "Plan upgrade required", Level: harvest.Fatal, Reaction: harvest.GiveUp, Code: "plan_refused"},
			{Status: []int{404}, Body: "no posts", Reaction: harvest.NoItems, Code: "no_posts"},
			{Signal: "error", Match: "^none$", Reaction: harvest.NoItems, Code: "none"},
		}
		for _, c := range []struct {
			status int
			body   string
			at     harvest.Position
			empty  bool
			total  bool
			code   harvest.Code
		}{
			{200, `<error code="noRecordsMatch"/>`, harvest.Position{}, true, true, ""},
			{200, `<error code="noRecordsMatch"/>`, harvest.Position{Token: "t", Pages: 3}, true, false, ""},
			{404, "no posts found", harvest.Position{}, true, true, ""},
			{200, `{"error":"none"}`, harvest.Position{}, true, true, ""},
			{200, "the token is dead", harvest.Position{Token: "t", Pages: 1}, false, false, "token_expired"},
			{429, `{"error":"Plan upgrade required"}`, harvest.Position{}, false, false, "plan_refused"},
		} {
			n := play(status(c.status, c.body))
			a, err := client(n, new(free)).Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch, Position: c.at})
			if len(n.asked) != 1 {
				t.Errorf("%s: asked %d times", c.body, len(n.asked))
			}
			if !c.empty {
				if f := mustFault(t, err); f.Code != c.code {
					t.Errorf("%s: %v, want %s", c.body, f, c.code)
				}
				continue
			}
			if err != nil || a.Page == nil || len(a.Page.Items) != 0 || a.Page.Token != "" || (a.Page.Total != nil) != c.total {
				t.Errorf("%s at page %d: %+v, %v", c.body, c.at.Pages, a.Page, err)
			}
		}
	})
}

func TestRender_FollowingPagesSendTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := testSpec()
		spec.Search.Query = map[string]string{"verb": "ListRecords", "metadataPrefix": "oai_dc", "from": "2026-01-01"}
		spec.Search.Next = &source.NextConfig{Query: map[string]string{"verb": "ListRecords", "resumptionToken": "${page.token}"}}
		n := play(status(200, `{"items":[]}`))
		c := client(n, new(free))
		for _, at := range []harvest.Position{{}, {Token: "a&b", Pages: 1}} {
			if _, err := c.Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch, Position: at}); err != nil {
				t.Fatal(err)
			}
		}
		if got := n.asked[0].URL.RawQuery; got != "from=2026-01-01&metadataPrefix=oai_dc&verb=ListRecords" {
			t.Errorf("first page: %s", got)
		}
		if got := n.asked[1].URL.RawQuery; got != "resumptionToken=a%26b&verb=ListRecords" {
			t.Errorf("following page: %s", got)
		}
	})
}

func TestR51_ValuesInBodiesStayValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const evil = `x", "admin": true, "y": "\`
		for _, c := range []struct {
			kind, body, token, sent string
		}{
			{"application/json", `{"q":"a ${page.token} b","limit":${page.size},"scrollId":${page.token}}`, evil, `{"q":"a x\", \"admin\": true, \"y\": \"\\ b","limit":10,"scrollId":"x\", \"admin\": true, \"y\": \"\\"}`},
			{"application/vnd.api+json; charset=utf-8", `{"first":${page.first}}`, "", `{"first":true}`},
			{"application/json", "{\n \"t\": \"${page.token}\"}", "a\r\nb", "{\n \"t\": \"a\\r\\nb\"}"},
			{"application/x-www-form-urlencoded", `a=1&t=${page.token}`, "b&c=2", `a=1&t=b%26c%3D2`},
			{"text/plain", "search publications return publications limit ${page.size} skip ${page.offset}", "", "search publications return publications limit 10 skip 0"},
			{"text/plain", "token ${page.token}", "a\nb", ""},
		} {
			spec := testSpec()
			spec.Search = source.Endpoint{Name: "works", Path: "/works", Method: "POST", Format: source.FormatJSON, Body: c.body, ContentType: c.kind}
			n := play(status(200, `{"items":[]}`))
			_, err := client(n, new(free)).Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch, Position: harvest.Position{Token: c.token}})
			if c.sent == "" {
				if err == nil || len(n.asked) != 0 {
					t.Errorf("%s: sent %q", c.body, n.bodies)
				}
				continue
			}
			if err != nil || n.bodies[0] != c.sent || n.asked[0].Header.Get("Content-Type") != c.kind {
				t.Errorf("%s:\n got %s\nwant %s\n%v", c.body, n.bodies[0], c.sent, err)
			}
		}
	})
}

func TestRender_LongQueriesArePosted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := testSpec()
		spec.Detail = &source.Endpoint{Name: "fetch", Path: "/fetch", Method: "GET", Format: source.FormatJSON, Query: map[string]string{"id": "${join(ids, ',')}"}, PostOver: 60}
		n := play(status(200, `{"items":[]}`))
		c := client(n, new(free))
		for _, ids := range [][]string{{"1"}, {strings.Repeat("2", 50)}} {
			if _, err := c.Ask(t.Context(), spec, source.Call{Purpose: source.ForDetail, IDs: ids}); err != nil {
				t.Fatal(err)
			}
		}
		if r := n.asked[0]; r.Method != "GET" || r.URL.RawQuery != "id=1" || n.bodies[0] != "" {
			t.Errorf("short: %s %s %s", r.Method, r.URL, n.bodies[0])
		}
		if r := n.asked[1]; r.Method != "POST" || r.URL.RawQuery != "" || n.bodies[1] != "id="+strings.Repeat("2", 50) || r.Header.Get("Content-Type") != formType {
			t.Errorf("long: %s %s %s", r.Method, r.URL, n.bodies[1])
		}
	})
}

func TestRender_PathKeepsSlashesOnRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := testSpec()
		spec.Detail = &source.Endpoint{Name: "one", Path: "/v2/${path(ids[0])}", Method: "GET", Format: source.FormatJSON}
		n := play(status(200, `{"items":[]}`))
		c := client(n, new(free))
		if _, err := c.Ask(t.Context(), spec, source.Call{Purpose: source.ForDetail, IDs: []string{"10.1016/0021(89)90085-0?x"}}); err != nil {
			t.Fatal(err)
		}
		if got := n.asked[0].URL.EscapedPath(); got != "/v1/v2/10.1016/0021%2889%2990085-0%3Fx" {
			t.Errorf("asked %s", got)
		}
		for _, id := range []string{"../x", "a/../../b", "a\r\nb"} {
			if _, err := c.Ask(t.Context(), spec, source.Call{Purpose: source.ForDetail, IDs: []string{id}}); err == nil {
				t.Errorf("%q was asked for", id)
			}
		}
	})
}

func FuzzLinkNext(f *testing.F) {
	f.Add(`<https://a.org/?p=1>; rel="prev", <https://a.org/?p=3>; rel=next`)
	f.Add(`<a>;rel="next`)
	f.Add(`<,>;,;"\`)
	f.Fuzz(func(t *testing.T, s string) {
		next, readable := linkNext(s)
		if next != "" && !readable {
			t.Errorf("%q has %q, and cannot be read", s, next)
		}
		if next != "" && !strings.Contains(s, next) {
			t.Errorf("%q is not in %q", next, s)
		}
		if strings.Contains(next, ">") {
			t.Errorf("%q goes on behind its bracket", next)
		}
	})
}
