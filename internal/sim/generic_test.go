package sim

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// genericPage is an answer of /generic/items in any style.
type genericPage struct {
	Items     []json.RawMessage
	Total     *int
	NextToken *string `json:"next_token"`
	ScrollID  *string `json:"scroll_id"`
	Next      *string
	HasMore   *bool `json:"has_more"`
	Complete  *bool
	Error     string
}

func items(t *testing.T, s http.Handler, params url.Values) genericPage {
	t.Helper()
	var pairs []string
	for name, values := range params {
		pairs = append(pairs, name, values[0])
	}
	a := get(s, "/generic/items", pairs...)
	var page genericPage
	if err := json.Unmarshal(a.Body.Bytes(), &page); err != nil || a.Code != 200 {
		t.Fatalf("%v: %d %v %s", params, a.Code, err, a.Body)
	}
	return page
}

// walkStyle goes through a style as its own rules say and returns the pages' sizes.
func walkStyle(t *testing.T, s http.Handler, style string, params url.Values, out map[string][]byte) (pages []int) {
	t.Helper()
	params = maps.Clone(params)
	params.Set("style", style)
	params.Set("size", "40")
	offset, last := 0, ""
	for range 100 {
		page := items(t, s, params)
		pages = append(pages, len(page.Items))
		for _, item := range page.Items {
			var head struct{ ID string }
			if err := json.Unmarshal(item, &head); err != nil {
				t.Fatal(err)
			}
			out[head.ID] = item
		}
		switch style {
		case "offset":
			offset += 40
			if len(page.Items) == 0 {
				return pages
			}
			params.Set("offset", strconv.Itoa(offset))
		case "page":
			offset++
			if len(page.Items) == 0 {
				return pages
			}
			params.Set("page", strconv.Itoa(offset))
		case "hasmore":
			offset += 40
			if !*page.HasMore {
				return pages
			}
			params.Set("offset", strconv.Itoa(offset))
		case "token", "empty-with-token":
			if page.NextToken == nil {
				return pages
			}
			params.Set("token", *page.NextToken)
		case "token-repeat-end":
			if *page.NextToken == last {
				return pages
			}
			last = *page.NextToken
			params.Set("token", last)
		case "token-constant":
			if len(page.Items) == 0 {
				return pages
			}
			if last != "" && *page.NextToken != last {
				t.Errorf("token changed to %s", *page.NextToken)
			}
			last = *page.NextToken
			params.Set("token", last)
		case "scroll":
			if len(page.Items) == 0 {
				return pages
			}
			params.Set("scroll_id", *page.ScrollID)
		case "url":
			if page.Next == nil {
				return pages
			}
			u, err := url.Parse(*page.Next)
			if err != nil || !u.IsAbs() {
				t.Fatalf("next %q: %v", *page.Next, err)
			}
			params = u.Query()
		case "time":
			return pages
		case "keyset":
			if len(page.Items) == 0 {
				return pages
			}
			var key struct{ ID, Updated string }
			if err := json.Unmarshal(page.Items[len(page.Items)-1], &key); err != nil {
				t.Fatal(err)
			}
			params.Set("from", key.Updated)
			params.Set("after_id", key.ID)
		}
	}
	t.Fatalf("%s has no end: %v", style, pages)
	return nil
}

func TestGenericStylesServeEverything(t *testing.T) {
	s := open(t, Config{Sources: []string{Generic}})
	want := truth(s, Generic)
	for _, style := range pagings {
		if style == "link" || style == "links" {
			continue // TestGenericWalks
		}
		for _, order := range orders {
			if order == "none" && style != "token-constant" && style != "scroll" && style != "time" {
				continue // another order at every call: only a frozen walk can be complete
			}
			if style == "keyset" && order != "asc" {
				continue // it has an order of its own
			}
			got := map[string][]byte{}
			pages := walkStyle(t, s, style, url.Values{"order": {order}}, got)
			compare(t, got, want)
			if t.Failed() {
				t.Fatalf("%s %s: pages %v", style, order, pages)
			}
			if style == "empty-with-token" && pages[1] != 0 {
				t.Errorf("%s: pages %v", style, pages)
			}
		}
	}
}

func TestGenericBoundsAndTotals(t *testing.T) {
	s := open(t, Config{Sources: []string{Generic}, Churn: &Churn{}})
	at := s.Now().Add(-time.Hour).Add(999999 * time.Microsecond)
	id, err := s.AddLate(Generic, at, s.Now())
	if err != nil {
		t.Fatal(err)
	}
	if row := truth(s, Generic)[id]; !row.UpdatedAt.Equal(at) {
		t.Errorf("updated at %v, want %v", row.UpdatedAt, at)
	}
	stamp := at.Format(time.RFC3339Nano)
	count := func(pairs ...string) genericPage {
		params := url.Values{}
		for k := 0; k < len(pairs); k += 2 {
			params.Set(pairs[k], pairs[k+1])
		}
		return items(t, s, params)
	}
	if p := count("from", stamp, "to", stamp); *p.Total != 0 {
		t.Errorf("half-open: %d", *p.Total)
	}
	if p := count("from", stamp, "to", stamp, "bounds", "closed"); *p.Total != 1 {
		t.Errorf("closed: %d", *p.Total)
	}
	if p := count("total", "absent"); p.Total != nil {
		t.Errorf("absent total: %d", *p.Total)
	}
	if p := count("total", "wrong"); *p.Total == 301 {
		t.Error("wrong total is right")
	}
	if err := s.SetGeneric(GenericStyle{Paging: "time", Most: 10, Undated: true}); err != nil {
		t.Fatal(err)
	}
	p := count()
	if len(p.Items) != 10 || *p.Complete || strings.Contains(string(p.Items[0]), "updated") {
		t.Errorf("time: %d items, complete %v: %s", len(p.Items), *p.Complete, p.Items[0])
	}
	if s.SetGeneric(GenericStyle{Paging: "shoes"}) == nil {
		t.Error("an unknown style was accepted")
	}
}

func TestGenericSingleAndBatch(t *testing.T) {
	s := open(t, Config{Sources: []string{Generic}})
	want := truth(s, Generic)
	ids := slices.Sorted(maps.Keys(want))[:3]
	if a := get(s, "/generic/items/"+ids[0]); a.Code != 200 || sum(a.Body.Bytes()) != want[ids[0]].RawSHA256 {
		t.Errorf("single: %d %s", a.Code, a.Body)
	}
	if a := get(s, "/generic/items/g-99999999"); a.Code != 404 {
		t.Errorf("unknown: %d", a.Code)
	}
	for _, a := range []answer{get(s, "/generic/batch", "ids", strings.Join(ids, ",")+",nobody"), post(s, "/generic/batch", url.Values{"ids": ids})} {
		var page genericPage
		if err := json.Unmarshal(a.Body.Bytes(), &page); err != nil || len(page.Items) != 3 {
			t.Errorf("batch: %v %s", err, a.Body)
		}
	}
}

func TestHookMovesRowsBetweenPages(t *testing.T) {
	s := open(t, Config{Sources: []string{Generic}, Churn: &Churn{}})
	first := items(t, s, url.Values{"limit": {"50"}})
	var head struct{ ID string }
	if err := json.Unmarshal(first.Items[0], &head); err != nil {
		t.Fatal(err)
	}
	moved := false
	s.SetOnRequest(func(r *http.Request) {
		if r.Form.Get("offset") == "50" && !moved {
			moved = true
			if err := s.Touch(Generic, head.ID); err != nil {
				t.Error(err)
			}
		}
	})
	before := items(t, s, url.Values{"offset": {"49"}, "limit": {"2"}}).Items[1]
	after := items(t, s, url.Values{"offset": {"50"}, "limit": {"1"}}).Items[0]
	if !moved || string(before) == string(after) {
		t.Errorf("moved %v, row 50 is still %s", moved, after)
	}
}
