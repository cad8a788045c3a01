package sim

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestGenericEmptyAnswers(t *testing.T) {
	s := open(t, Config{Sources: []string{Generic}})
	for params, want := range map[string]string{
		"":              `{"items":[],"total":0,"offset":0}`,
		"empty=missing": `{"total":0,"offset":0}`,
		"empty=missing&total=absent&style=token&end=absent": `{}`,
		"empty=null":                      `{"items":null,"total":0,"offset":0}`,
		"empty=error-item":                `{"items":[{"error":"Result set was empty"}],"total":0,"offset":0}`,
		"envelope=array":                  `[]`,
		"envelope=messages":               `{"messages":[{"status":"no posts found"}],"collection":[],"offset":0}`,
		"envelope=messages&empty=missing": `{"messages":[{"status":"no posts found"}],"offset":0}`,
		"total=text":                      `{"items":[],"total":"0","offset":0}`,
		"total=stats":                     `{"items":[],"_stats":{"total_count":0},"offset":0}`,
		"style=token&end=empty":           `{"items":[],"total":0,"next_token":""}`,
		"style=token":                     `{"items":[],"total":0,"next_token":null}`,
		"style=hasmore":                   `{"items":[],"total":0,"has_more":false}`,
	} {
		form, _ := url.ParseQuery(params + "&to=2000-01-01")
		if a := (ask{params: form}).do(s); a.Code != 200 || a.Body.String() != want {
			t.Errorf("%s: %d %s, want %s", params, a.Code, a.Body, want)
		}
	}
	if a := get(s, "/generic/items/2000-01-01/2000-01-02/0"); a.Body.String() != `{"messages":[{"status":"no posts found"}],"collection":[]}` {
		t.Errorf("path: %s", a.Body)
	}
}

func TestGenericTotals(t *testing.T) {
	s := open(t, Config{Sources: []string{Generic}, Records: 1234})
	if p := read(t, get(s, "/generic/items", "total", "text")); p.text("total") != "1,234" {
		t.Errorf("text: %s", p.fields["total"])
	}
	for k, pairs := range [][]string{
		{"total", "first"},
		{"total", "first", "offset", "20"},
		{"total", "first", "style", "page", "base", "1"},
		{"total", "first", "style", "page", "base", "1", "page", "2"},
	} {
		if _, ok := read(t, get(s, "/generic/items", pairs...)).fields["total"]; ok != (k%2 == 0) {
			t.Errorf("%v: total %v", pairs, ok)
		}
	}
	p := read(t, get(s, "/generic/items", "total", "first", "style", "scroll"))
	if _, ok := p.fields["total"]; !ok {
		t.Error("no total on the first page of a scroll")
	}
	if _, ok := read(t, get(s, "/generic/items", "total", "first", "style", "scroll", "scroll_id", p.text("scroll_id"))).fields["total"]; ok {
		t.Error("a total on the second page of a scroll")
	}
}

func TestGenericItemShapes(t *testing.T) {
	s := open(t, Config{Sources: []string{Generic}, Churn: &Churn{}, Records: 100})
	at := time.Date(2024, 5, 30, 10, 11, 12, 345678000, time.UTC)
	id, err := s.AddLate(Generic, at, s.Now())
	if err != nil {
		t.Fatal(err)
	}
	item := func(pairs ...string) map[string]any {
		var out map[string]any
		if err := json.Unmarshal(get(s, "/generic/items/"+id, pairs...).Body.Bytes(), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, c := range []struct {
		param, value, field string
		want                any
	}{
		{"dates", "instant", "updated", "2024-05-30T10:11:12.345678Z"},
		{"dates", "zoneless", "updated", "2024-05-30T10:11:12.345678"},
		{"dates", "day", "updated", "2024-05-30"},
		{"dates", "none", "updated", nil},
		{"numbers", "number", "v", 1.0},
		{"numbers", "text", "v", "1"},
		{"flags", "none", "retracted", nil},
		{"flags", "bool", "retracted", false},
		{"flags", "yn", "retracted", "N"},
		{"id", "composite", "src", "a"},
		{"id", "composite", "num", "00000050"},
		{"id", "composite", "id", nil},
		{"deletions", "flag", "deleted", false},
	} {
		if got := item(c.param, c.value)[c.field]; got != c.want {
			t.Errorf("%s=%s: %s is %v, want %v", c.param, c.value, c.field, got, c.want)
		}
	}
	if a := get(s, "/generic/items/a:00000050"); a.Code != 200 || sum(a.Body.Bytes()) != truth(s, Generic)[id].RawSHA256 {
		t.Errorf("by composite id: %d %s", a.Code, a.Body)
	}
	for row := range must(s.GenericTruth(url.Values{"dates": {"day"}, "id": {"composite"}})) {
		if row.ID == "a:00000050" && !row.UpdatedAt.Equal(at.Truncate(24*time.Hour)) {
			t.Errorf("truth of days: %v", row)
		}
	}
	if a := get(s, "/_sim/truth/generic", "id", "composite"); !strings.Contains(a.Body.String(), `"id":"a:00000050"`) {
		t.Errorf("truth by request: %.200s", a.Body)
	}
	if a := get(s, "/_sim/truth/generic", "id", "shoes"); a.Code != 400 {
		t.Errorf("unknown shape: %d", a.Code)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestGenericDeletions: hidden, flagged, and told as events.
func TestGenericDeletions(t *testing.T) {
	s := open(t, Config{Sources: []string{Generic}, Churn: &Churn{}, Records: 100, Generic: GenericStyle{Deletions: "flag"}})
	ids := []string{"g-00000003", "g-00000044"}
	hidden := func(id string) (row TruthRow) {
		for row = range must(s.GenericTruth(url.Values{"deletions": {"hidden"}})) {
			if row.ID == id {
				break
			}
		}
		return row
	}
	for _, id := range ids {
		s.Advance(time.Hour)
		if err := s.Touch(Generic, id); err != nil {
			t.Fatal(err)
		}
		s.Advance(time.Hour)
		before := hidden(id)
		if err := s.Delete(Generic, id); err != nil {
			t.Fatal(err)
		}
		if after := hidden(id); after.RawSHA256 != before.RawSHA256 || after.UpdatedAt != before.UpdatedAt || !after.Deleted {
			t.Errorf("the last content of %s is not kept: %v, %v", id, before, after)
		}
	}
	got, _ := follow(t, s, ask{params: url.Values{"size": {"40"}}}, byOffset(none))
	want := truth(s, Generic)
	if len(got) != 100 || len(want) != 100 {
		t.Errorf("%d listed, %d true", len(got), len(want))
	}
	for id, row := range want {
		if sum(got[id]) != row.RawSHA256 || strings.Contains(string(got[id]), `"deleted":true`) != row.Deleted {
			t.Errorf("%v: %s", row, got[id])
		}
	}
	row := want[ids[1]]
	if !row.Deleted || !row.UpdatedAt.Equal(s.Now()) || string(got[ids[1]]) != `{"id":"g-00000044","updated":"2024-06-01T16:00:00Z","deleted":true}` {
		t.Errorf("%v: %s", row, got[ids[1]])
	}
	if p := read(t, get(s, "/generic/items", "from", "2024-06-01T14:00:00Z", "size", "100")); len(p.items) != 2 {
		t.Errorf("both deletions lie in the window: %s", p.fields["items"])
	}
	if p := read(t, get(s, "/generic/items", "deletions", "hidden", "size", "100")); len(p.items) != 98 {
		t.Errorf("hidden: %d", len(p.items))
	}
	if a := get(s, "/generic/items/"+ids[0], "deletions", "hidden"); a.Code != 404 {
		t.Errorf("hidden: %d", a.Code)
	}

	type event struct {
		ID, Event string
		Date      time.Time
		V         int
	}
	latest, count := map[string]event{}, 0
	for offset := 0; ; {
		p := read(t, get(s, "/generic/history", "offset", strconv.Itoa(offset), "size", "30"))
		if len(p.items) == 0 {
			break
		}
		for _, raw := range p.items {
			var e event
			if err := json.Unmarshal(raw, &e); err != nil {
				t.Fatal(err)
			}
			if e.V <= latest[e.ID].V || e.Date.Before(latest[e.ID].Date) || (e.Event == "add") != (e.V == 1) {
				t.Errorf("%+v comes after %+v", e, latest[e.ID])
			}
			latest[e.ID] = e
			count++
		}
		offset += len(p.items)
		if p.number("total") < 104 {
			t.Errorf("total %s", p.fields["total"])
		}
	}
	for id, row := range want {
		if e := latest[id]; (e.Event == "delete") != row.Deleted || !e.Date.Equal(row.UpdatedAt) || e.V != len(s.Versions(Generic, id)) {
			t.Errorf("%v: %+v", row, e)
		}
	}
	if p := read(t, get(s, "/generic/history", "from", "2024-06-01T13:00:00Z")); len(p.items) != 4 || count < 104 {
		t.Errorf("%d events, window: %s", count, p.fields["events"])
	}
}

func TestGenericFailuresIn200(t *testing.T) {
	s := open(t, Config{Sources: []string{Generic}})
	for failure, want := range map[string]string{
		"object": `{"error":"backend unavailable"}`,
		"text":   `Error : (2002) Connection refused`,
		"item":   `{"items":[{"error":"backend unavailable"}]}`,
		"status": `{"messages":[{"status":"error: backend unavailable"}],"collection":[]}`,
	} {
		s.Script(Script{Fault: Error200})
		if a := get(s, "/generic/items", "failure", failure); a.Code != 200 || a.Body.String() != want {
			t.Errorf("%s: %d %s", failure, a.Code, a.Body)
		}
	}
	s.Script(Script{Fault: Error200})
	if a := get(s, "/generic/oai", "verb", "Identify"); a.Code != 200 || !strings.Contains(a.Body.String(), `<error code="InternalException">`) {
		t.Errorf("oai: %d %s", a.Code, a.Body)
	}
	if a := get(s, "/generic/items", "plan", "free"); a.Code != 429 || a.Body.String() != `{"error":"Plan upgrade required"}` {
		t.Errorf("free plan: %d %s", a.Code, a.Body)
	}
	if a := get(s, "/generic/items", "retryafter", "60"); a.Code != 200 || a.Header().Get("Retry-After") != "60" {
		t.Errorf("Retry-After on 200: %d %v", a.Code, a.Header())
	}
	for status, code := range map[string]int{"own": 410, "400": 400, "404": 404, "422": 422} {
		if a := get(s, "/generic/items", "style", "token", "token", "nonsense", "expired", status); a.Code != code {
			t.Errorf("expired=%s: %d", status, a.Code)
		}
	}
	for _, bad := range []string{"end", "href", "auth", "redirect", "most", "depth", "retryafter"} {
		if a := get(s, "/generic/items", bad, "shoes"); a.Code != 400 {
			t.Errorf("%s=shoes: %d", bad, a.Code)
		}
	}
}

// TestGenericFaultsOnNewStyles: walks by link take the faults of walks by token.
func TestGenericFaultsOnNewStyles(t *testing.T) {
	for _, style := range []string{"link", "links", "url", "token"} {
		find := map[string]func(seen) string{"link": linkNext, "links": arrayNext, "url": bodyNext}[style]
		next := byToken(func(p seen) bool { return p.text("next_token") == "" })
		if find != nil {
			next = byURL(t, find)
		}
		s := open(t, Config{Sources: []string{Generic}})
		s.Script(Script{Fault: ShortPage}, Script{Fault: EmptyMiddlePage, After: 1})
		got, pages := follow(t, s, ask{params: url.Values{"style": {style}, "size": {"40"}}}, next)
		compare(t, got, truth(s, Generic))
		if pages[1] != 30 || pages[3] != 0 || s.Scripted() != 0 {
			t.Errorf("%s: pages %v", style, pages)
		}
		s.Script(Script{Fault: CursorExpired})
		a := ask{params: url.Values{"style": {style}, "size": {"40"}}}
		next(&a, read(t, a.do(s)))
		if r := a.do(s); r.Code != 410 {
			t.Errorf("%s: expired is %d", style, r.Code)
		}
		s.Script(Script{Fault: TotalWrong})
		if r := get(s, "/generic/items", "style", style); r.Header().Get("X-Total-Count") == "300" || strings.Contains(r.Body.String(), `"total":300`) {
			t.Errorf("%s: the wrong total is right", style)
		}
	}
}

func TestGenericRateHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for reset, want := range map[string][2]string{
			"none":     {"", ""},
			"seconds":  {"60", "50"},
			"epoch":    {strconv.FormatInt(day0.Unix()+60, 10), strconv.FormatInt(day0.Unix()+50, 10)},
			"epoch-ms": {strconv.FormatInt(day0.UnixMilli()+60_000, 10), strconv.FormatInt(day0.UnixMilli()+50_000, 10)},
		} {
			s := open(t, Config{Sources: []string{Generic}, LimitRPS: 1.0 / 60})
			first := get(s, "/generic/items", "reset", reset)
			time.Sleep(10 * time.Second)
			second := get(s, "/generic/items", "reset", reset)
			got := [2]string{first.Header().Get("X-RateLimit-Reset"), second.Header().Get("X-RateLimit-Reset")}
			if first.Code != 200 || second.Code != 429 || got != want || first.Header().Get("X-RateLimit-Remaining") != "0" {
				t.Errorf("%s: %d %d %v, want %v", reset, first.Code, second.Code, got, want)
			}
			if reset != "none" && second.Header().Get("X-RateLimit-Remaining") != "0" {
				t.Errorf("%s: %v", reset, second.Header())
			}
		}
	})
}

func TestGenericRedirects(t *testing.T) {
	s, other := open(t, Config{Sources: []string{Generic}}), open(t, Config{Sources: []string{Generic}, Records: 7})
	here, there := httptest.NewServer(s), httptest.NewServer(other)
	defer here.Close()
	defer there.Close()
	for _, status := range []string{"301", "302", "307", "308"} {
		if a := get(s, "/generic/items", "redirect", status, "size", "3"); strconv.Itoa(a.Code) != status || a.Header().Get("Location") != "/generic/items?redirect=none&size=3" {
			t.Errorf("%s: %d %v", status, a.Code, a.Header())
		}
		for target, total := range map[string]string{"": "300", "/generic/items": "300", there.URL + "/generic/items": "7"} {
			resp, err := http.Get(here.URL + "/generic/items?" + url.Values{"redirect": {status}, "target": {target}, "size": {"1"}}.Encode())
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || resp.StatusCode != 200 || !strings.Contains(string(body), `"total":`+total+",") {
				t.Errorf("%s to %q: %d %v %s", status, target, resp.StatusCode, err, body)
			}
		}
	}
	resp, err := http.Post(here.URL+"/generic/items?redirect=308&body=json", "application/json", strings.NewReader(`{"size":2}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var page struct{ Items []json.RawMessage }
	if err := json.NewDecoder(resp.Body).Decode(&page); err != nil || len(page.Items) != 2 {
		t.Errorf("308 after POST: %v, %d items", err, len(page.Items))
	}
}

func TestGenericGzip(t *testing.T) {
	s := open(t, Config{Sources: []string{Generic}})
	r := httptest.NewRequest("GET", "/generic/items?encoding=gzip", nil)
	if a := do(s, r); a.Header().Get("Content-Encoding") != "" {
		t.Errorf("not asked for: %v", a.Header())
	}
	r.Header.Set("Accept-Encoding", "gzip")
	if a := do(s, r); a.Header().Get("Content-Encoding") != "gzip" || !strings.HasPrefix(a.Body.String(), "\x1f\x8b") {
		t.Errorf("%v", a.Header())
	}
}
