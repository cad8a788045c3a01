package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// ask is a request of a naive client.
type ask struct {
	path   string // default /generic/items
	params url.Values
	kind   string // content type of the body; "": GET
	body   string
}

func (a ask) do(s http.Handler) answer {
	path := a.path
	if path == "" {
		path = "/generic/items"
	}
	if len(a.params) > 0 {
		path += "?" + a.params.Encode()
	}
	if a.kind == "" {
		return do(s, httptest.NewRequest("GET", path, nil))
	}
	r := httptest.NewRequest("POST", path, strings.NewReader(a.body))
	r.Header.Set("Content-Type", a.kind)
	return do(s, r)
}

// seen is an answer as a naive client reads it.
type seen struct {
	header http.Header
	fields map[string]json.RawMessage
	items  []json.RawMessage
	got    int // items before this page
}

func (p seen) text(name string) string {
	var v string
	json.Unmarshal(p.fields[name], &v)
	return v
}

func (p seen) number(name string) int {
	n, _ := strconv.Atoi(strings.Trim(string(p.fields[name]), `"`))
	return n
}

func read(t *testing.T, a answer) seen {
	t.Helper()
	p := seen{header: a.Header()}
	var err error
	if bytes.HasPrefix(a.Body.Bytes(), []byte("[")) {
		err = json.Unmarshal(a.Body.Bytes(), &p.items)
	} else if err = json.Unmarshal(a.Body.Bytes(), &p.fields); err == nil {
		for _, name := range []string{"items", "collection", "events"} {
			if raw, ok := p.fields[name]; ok {
				err = json.Unmarshal(raw, &p.items)
			}
		}
	}
	if a.Code != 200 || err != nil {
		t.Fatalf("%d %v: %.300s", a.Code, err, a.Body)
	}
	return p
}

func idOf(t *testing.T, item []byte) string {
	t.Helper()
	var head struct{ ID, Src, Num, Error string }
	if err := json.Unmarshal(item, &head); err != nil || head.Error != "" {
		t.Fatalf("item %s: %v", item, err)
	}
	if head.Src != "" {
		return head.Src + ":" + head.Num
	}
	return head.ID
}

// follow walks from a request on; next changes the request, or says that the walk
// is over. It returns the items by id and the pages' sizes.
func follow(t *testing.T, s http.Handler, a ask, next func(*ask, seen) bool) (map[string][]byte, []int) {
	t.Helper()
	out, sizes := map[string][]byte{}, []int{}
	for got := 0; len(sizes) < 200; {
		p := read(t, a.do(s))
		p.got = got
		got += len(p.items)
		sizes = append(sizes, len(p.items))
		for _, item := range p.items {
			id := idOf(t, item)
			if _, twice := out[id]; twice {
				t.Fatalf("%s came twice: %v", id, sizes)
			}
			out[id] = item
		}
		if !next(&a, p) {
			return out, sizes
		}
	}
	t.Fatalf("no end: %v", sizes)
	return nil, nil
}

// byOffset counts the items received.
func byOffset(stop func(seen) bool) func(*ask, seen) bool {
	return func(a *ask, p seen) bool {
		a.params.Set("offset", strconv.Itoa(p.got+len(p.items)))
		return !stop(p)
	}
}

func none(p seen) bool   { return len(p.items) == 0 }
func noMore(p seen) bool { return string(p.fields["has_more"]) == "false" }

func reached(name string) func(seen) bool {
	return func(p seen) bool { return p.got+len(p.items) >= p.number(name) }
}

// byToken sends the token until stop.
func byToken(stop func(seen) bool) func(*ask, seen) bool {
	return func(a *ask, p seen) bool {
		if stop(p) {
			return false
		}
		a.params.Set("token", p.text("next_token"))
		return true
	}
}

// byURL goes where it is told, relative to where it is; "" ends the walk.
func byURL(t *testing.T, find func(seen) string) func(*ask, seen) bool {
	return func(a *ask, p seen) bool {
		next := find(p)
		if next == "" {
			return false
		}
		u, err := url.Parse("http://example.com/generic/items")
		if err == nil {
			u, err = u.Parse(next)
		}
		if err != nil || u.Host != "example.com" {
			t.Fatalf("next is %q: %v", next, err)
		}
		a.path, a.params = u.Path, u.Query()
		return true
	}
}

var nextLink = regexp.MustCompile(`<([^>]*)>; rel="next"$`)

func linkNext(p seen) string {
	if m := nextLink.FindStringSubmatch(p.header.Get("Link")); m != nil {
		return m[1]
	}
	return ""
}

func arrayNext(p seen) string {
	var links []struct{ Rel, Href string }
	json.Unmarshal(p.fields["links"], &links)
	for _, l := range links {
		if l.Rel == "next" {
			return l.Href
		}
	}
	return ""
}

func bodyNext(p seen) string { return p.text("next") }

func TestGenericWalks(t *testing.T) {
	missing := func(name string) func(seen) bool {
		return func(p seen) bool { _, ok := p.fields[name]; return !ok }
	}
	is := func(name, raw string) func(seen) bool {
		return func(p seen) bool { return string(p.fields[name]) == raw }
	}
	last := ""
	repeats := func(p seen) bool {
		token := p.text("next_token")
		same := token == last
		last = token
		return same
	}
	byPage := func(a *ask, p seen) bool {
		a.params.Set("page", strconv.Itoa(number(&request{form: a.params}, "page", 1)+1))
		return len(p.items) > 0
	}
	post := func(write func(got int, p *seen) string, stop func(seen) bool) func(*ask, seen) bool {
		return func(a *ask, p seen) bool {
			a.body = write(p.got+len(p.items), &p)
			return !stop(p)
		}
	}
	for _, c := range []struct {
		name, params string
		kind, body   string
		next         func(*ask, seen) bool
		pages        int
	}{
		{"link header", "style=link&size=40", "", "", byURL(t, linkNext), 8},
		{"link header over a bare array", "style=link&size=40&envelope=array", "", "", byURL(t, linkNext), 8},
		{"link header, relative", "style=link&size=40&href=path", "", "", byURL(t, linkNext), 8},
		{"array of links", "style=links&size=40", "", "", byURL(t, arrayNext), 8},
		{"array of links, relative", "style=links&size=40&href=query", "", "", byURL(t, arrayNext), 8},
		{"url, path only", "style=url&size=40&href=path", "", "", byURL(t, bodyNext), 8},
		{"url, query only", "style=url&size=40&href=query", "", "", byURL(t, bodyNext), 8},
		{"url left out at the end", "style=url&size=40&end=absent", "", "", byURL(t, bodyNext), 8},
		{"url with a token to lift", "style=url&size=40&href=foreign", "", "", func(a *ask, p seen) bool {
			u, _ := url.Parse(bodyNext(p))
			if u.Host != "" && u.Host != "feed.invalid" {
				t.Errorf("next is %v", u)
			}
			a.params.Set("page[cursor]", u.Query().Get("page[cursor]"))
			return u.Host != ""
		}, 8},
		{"offset", "size=40", "", "", byOffset(none), 9},
		{"offset, total", "size=40&end=total", "", "", byOffset(reached("total")), 8},
		{"offset, flag", "size=40&end=flag", "", "", byOffset(noMore), 8},
		{"offset, lowered size", "size=40&most=7", "", "", byOffset(none), 44},
		{"offset, changing size", "size=40&sizes=varying", "", "", byOffset(none), 0},
		{"offset, total as text", "size=40&total=text&end=total", "", "", byOffset(reached("total")), 8},
		{"offset, items missing at the end", "size=40&empty=missing", "", "", byOffset(missing("items")), 9},
		{"offset, items null at the end", "size=40&empty=null", "", "", byOffset(is("items", "null")), 9},
		{"offset of messages", "size=40&envelope=messages", "", "", byOffset(func(p seen) bool {
			return !strings.Contains(string(p.fields["messages"]), `"status":"ok"`)
		}), 9},
		{"page from 1", "style=page&base=1&size=40", "", "", byPage, 9},
		{"page, lowered size", "style=page&base=1&size=40&most=30", "", "", byPage, 11},
		{"token, null", "style=token&size=40", "", "", byToken(is("next_token", "null")), 8},
		{"token, absent", "style=token&size=40&end=absent", "", "", byToken(missing("next_token")), 8},
		{"token, empty text", "style=token&size=40&end=empty", "", "", byToken(is("next_token", `""`)), 8},
		{"token, repeated", "style=token&size=40&end=repeat", "", "", byToken(repeats), 9},
		{"token, empty page", "style=token&size=40&end=empty-page", "", "", byToken(none), 9},
		{"token, total", "style=token&size=40&end=total", "", "", byToken(reached("total")), 8},
		{"token, flag", "style=token&size=40&end=flag", "", "", byToken(noMore), 8},
		{"token, changing size", "style=token&size=40&sizes=varying", "", "", byToken(is("next_token", "null")), 0},
		{"token, lowered size", "style=token&size=40&most=30", "", "", byToken(is("next_token", "null")), 10},
		{"token, composite id, text, flags, zoneless", "style=token&size=40&id=composite&numbers=text&flags=yn&dates=zoneless", "", "", byToken(is("next_token", "null")), 8},
		{"token, bool flags, days", "style=token&size=40&flags=bool&dates=day&deletions=flag", "", "", byToken(is("next_token", "null")), 8},
		{"json body", "body=json", "application/json", `{"page":{"offset":0,"size":40}}`, post(func(got int, _ *seen) string {
			return fmt.Sprintf(`{"page":{"offset":%d,"size":40}}`, got)
		}, none), 9},
		{"json body with token", "body=json&style=token", "application/json", `{"size":40}`, post(func(_ int, p *seen) string {
			return fmt.Sprintf(`{"size":40,"token":%s}`, p.fields["next_token"])
		}, is("next_token", "null")), 8},
		{"json body with scroll", "body=json&style=scroll", "application/json; charset=utf-8", `{"size":40}`, post(func(_ int, p *seen) string {
			return fmt.Sprintf(`{"size":40,"scroll_id":%s}`, p.fields["scroll_id"])
		}, none), 9},
		{"form body", "body=form", "application/x-www-form-urlencoded", "size=40", post(func(got int, _ *seen) string {
			return fmt.Sprintf("size=40&offset=%d", got)
		}, none), 9},
		{"text body", "body=text&total=stats", "text/plain", "search items\nreturn items limit 40 skip 0", post(func(got int, _ *seen) string {
			return fmt.Sprintf(`search items where updated >= "2024-01-01T00:00:00Z" and updated < "2025-01-01T00:00:00Z" return items limit 40 skip %d`, got)
		}, func(p seen) bool {
			var stats struct {
				Total int `json:"total_count"`
			}
			json.Unmarshal(p.fields["_stats"], &stats)
			return p.got+len(p.items) >= stats.Total
		}), 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, Config{Sources: []string{Generic}, Churn: &Churn{}})
			params, err := url.ParseQuery(c.params)
			if err != nil {
				t.Fatal(err)
			}
			rows, err := s.GenericTruth(params)
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]TruthRow{}
			for row := range rows {
				want[row.ID] = row
			}
			got, pages := follow(t, s, ask{params: maps.Clone(params), kind: c.kind, body: c.body}, c.next)
			compare(t, got, want)
			if len(want) != 300 || c.pages != 0 && len(pages) != c.pages || c.pages == 0 && len(pages) < 10 {
				t.Errorf("%d records, pages %v, want %d", len(want), pages, c.pages)
			}
		})
	}
}

func TestGenericLinkHeader(t *testing.T) {
	s := open(t, Config{Sources: []string{Generic}})
	a := get(s, "/generic/items", "style", "link", "size", "290")
	if h := a.Header(); h.Get("X-Total-Count") != "300" || !strings.HasPrefix(h.Get("Link"), `<http://example.com/generic/items?size=290&style=link>; rel="self", <`) {
		t.Errorf("%v", h)
	}
	if h := get(s, "/generic/items", "style", "link", "size", "300").Header(); strings.Contains(h.Get("Link"), `"next"`) {
		t.Errorf("one page has a next: %v", h)
	}
	if a := get(s, "/generic/items", "total", "header"); a.Header().Get("X-Total-Count") != "300" || strings.Contains(a.Body.String(), `"total"`) {
		t.Errorf("total in the header: %v %.100s", a.Header(), a.Body)
	}
}

// TestGenericPathOffsets: the window and the offset stand in the path, the server
// chooses the pages' sizes.
func TestGenericPathOffsets(t *testing.T) {
	s := open(t, Config{Sources: []string{Generic}, Churn: &Churn{}})
	path := func(from, to string, offset int) string {
		return "/generic/items/" + from + "/" + to + "/" + strconv.Itoa(offset)
	}
	got, pages := follow(t, s, ask{path: path("2024-05-01", "2024-06-01", 0), params: url.Values{"size": {"1000"}}}, func(a *ask, p seen) bool {
		var m []struct {
			Status, Total, Interval string
			Count, Cursor           int
		}
		if err := json.Unmarshal(p.fields["messages"], &m); err != nil {
			t.Fatal(err)
		}
		if m[0].Status == "no posts found" {
			return false
		}
		if m[0].Status != "ok" || m[0].Total != "300" || m[0].Count != len(p.items) || m[0].Cursor != p.got || m[0].Interval != "2024-05-01:2024-06-01" {
			t.Errorf("messages: %s", p.fields["messages"])
		}
		a.path = path("2024-05-01", "2024-06-01", p.got+m[0].Count)
		return true
	})
	compare(t, got, truth(s, Generic))
	slices.Sort(pages)
	if len(slices.Compact(pages)) < 3 || slices.Max(pages) > 30 {
		t.Errorf("pages %v", pages)
	}
	one := read(t, get(s, path("2024-05-20", "2024-05-20", 0)))
	for _, item := range one.items {
		if row := truth(s, Generic)[idOf(t, item)]; row.UpdatedAt.Format(time.DateOnly) != "2024-05-20" {
			t.Errorf("%v is not of that day", row)
		}
	}
	if len(one.items) == 0 {
		t.Error("nothing on 2024-05-20")
	}
	for _, bad := range []string{path("2024-05-20", "yesterday", 0), path("2024-05-20T00:00:00Z", "2024-05-20", 0), "/generic/items/2024-05-01/2024-05-02/x"} {
		if a := get(s, bad); a.Code != 400 {
			t.Errorf("%s: %d", bad, a.Code)
		}
	}
}

func TestGenericDepthLimits(t *testing.T) {
	s := open(t, Config{Sources: []string{Generic}})
	for _, c := range []struct {
		pairs  string
		beyond string
		code   int
		items  int
	}{
		{"size=40&depth=100", "offset=80", 200, 20},
		{"size=40&depth=100", "offset=100", 400, 0},
		{"style=page&size=50&depth=100", "page=1", 200, 50},
		{"style=page&size=50&depth=100", "page=2", 400, 0},
		{"style=page&size=50&depth=100&beyond=cut", "page=1", 200, 50},
		{"style=page&size=50&depth=100&beyond=cut", "page=2", 200, 0},
	} {
		params, _ := url.ParseQuery(c.pairs + "&" + c.beyond)
		a := ask{params: params}.do(s)
		if a.Code != c.code {
			t.Errorf("%v: %d %.100s", params, a.Code, a.Body)
		}
		if a.Code == 200 {
			if p := read(t, a); len(p.items) != c.items || p.number("total") != 300 {
				t.Errorf("%v: %d items of %d", params, len(p.items), p.number("total"))
			}
		}
	}
	for beyond, more := range map[string]string{"refuse": "true", "cut": "false"} {
		p := read(t, get(s, "/generic/items", "size", "50", "offset", "50", "depth", "100", "end", "flag", "beyond", beyond))
		if string(p.fields["has_more"]) != more {
			t.Errorf("at the limit with %s: has_more %s", beyond, p.fields["has_more"])
		}
	}
	end := byURL(t, bodyNext)
	got, _ := follow(t, s, ask{params: url.Values{"style": {"url"}, "size": {"40"}, "depth": {"100"}, "beyond": {"cut"}}}, end)
	if len(got) != 100 {
		t.Errorf("a silent cut at 100 left %d", len(got))
	}
	next := ""
	for range 3 {
		a := ask{params: url.Values{"style": {"url"}, "size": {"40"}, "depth": {"100"}}}
		if next != "" {
			u, _ := url.Parse(next)
			a.params = u.Query()
		}
		next = bodyNext(read(t, a.do(s)))
	}
	u, err := url.Parse(next)
	if a := (ask{params: u.Query()}).do(s); err != nil || next == "" || a.Code != 400 {
		t.Errorf("the link beyond the limit: %q %d", next, a.Code)
	}
}

// TestGenericServerFaults: walks that never come to an end.
func TestGenericServerFaults(t *testing.T) {
	s := open(t, Config{Sources: []string{Generic}})
	for end, want := range map[string]func(k int, first, p seen, tokens map[string]bool) bool{
		"stall": func(k int, _, p seen, tokens map[string]bool) bool {
			return len(tokens) == k+1 && (len(p.items) == 0) == (k > 0)
		},
		"stuck": func(_ int, first, p seen, tokens map[string]bool) bool {
			return len(tokens) == 1 && string(p.fields["items"]) == string(first.fields["items"])
		},
		"empty-page": func(k int, _, p seen, tokens map[string]bool) bool {
			return len(tokens) == k+1 && (len(p.items) == 0) == (k > 1)
		},
	} {
		params, tokens := url.Values{"style": {"token"}, "size": {"150"}, "end": {end}}, map[string]bool{}
		var first seen
		for k := range 6 {
			p := read(t, ask{params: params}.do(s))
			if k == 0 {
				first = p
			}
			tokens[p.text("next_token")] = true
			params.Set("token", p.text("next_token"))
			if !want(k, first, p, tokens) {
				t.Errorf("%s, page %d: %d items, tokens %v", end, k, len(p.items), tokens)
			}
		}
	}
	final := read(t, get(s, "/generic/items", "style", "token", "size", "300", "end", "repeat")).text("next_token")
	for range 2 {
		p := read(t, get(s, "/generic/items", "style", "token", "size", "300", "end", "repeat", "token", final))
		if len(p.items) != 0 || p.text("next_token") != final {
			t.Errorf("repeat: %d items, token %s after %s", len(p.items), p.text("next_token"), final)
		}
		if err := s.Delete(Generic, "g-00000007"); err != nil && p.number("total") == 300 {
			t.Error(err)
		}
	}
	for _, end := range []string{"total", "flag"} {
		p := read(t, get(s, "/generic/items", "style", "token", "size", "300", "end", end))
		if a := get(s, "/generic/items", "style", "token", "size", "300", "end", end, "token", p.text("next_token")); a.Code != 400 {
			t.Errorf("past the end with %s: %d", end, a.Code)
		}
		if a := get(s, "/generic/items", "offset", "299", "end", end); a.Code != 400 {
			t.Errorf("offset past the end with %s: %d", end, a.Code)
		}
	}
}

func TestGenericBodiesInTheWrongPlace(t *testing.T) {
	s := open(t, Config{Sources: []string{Generic}})
	for _, c := range []struct {
		params, kind, body string
		code               int
	}{
		{"body=json", "", "", 405},
		{"body=json", "text/plain", "{}", 415},
		{"body=json&offset=3", "application/json", "{}", 400},
		{"body=json", "application/json", "{", 400},
		{"body=text", "text/plain", "select *", 400},
		{"body=text&style=page", "text/plain", "search items return items", 400},
		{"body=form&size=3", "application/x-www-form-urlencoded", "", 400},
	} {
		params, _ := url.ParseQuery(c.params)
		if a := (ask{params: params, kind: c.kind, body: c.body}).do(s); a.Code != c.code {
			t.Errorf("%s %s %q: %d, want %d", c.params, c.kind, c.body, a.Code, c.code)
		}
	}
	if r := s.Requests()[3]; string(r.Body) != "{" || r.Method != "POST" {
		t.Errorf("log: %+v", r)
	}
}
