package sim

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestCursorIsServerState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, Config{Sources: []string{Crossref}})
		first := worksList(t, s, "cursor", "*", "rows", "100")
		token := first.Message.NextCursor
		if len(token) < 272 || !strings.ContainsAny(token, "+") || !strings.ContainsAny(token, "/") || !strings.HasSuffix(token, "=") {
			t.Errorf("token %q", token)
		}
		seen := map[string]bool{}
		page := first
		for n := 0; ; n++ {
			if page.Message.NextCursor != token || page.Message.TotalResults != 300 || page.Message.ItemsPerPage != 100 {
				t.Errorf("page %d: %d in all, %d a page, cursor %s", n, page.Message.TotalResults, page.Message.ItemsPerPage, page.Message.NextCursor)
			}
			for _, item := range page.Message.Items {
				if doi := doiOf(t, item); seen[doi] {
					t.Errorf("page %d repeats %s", n, doi)
				} else {
					seen[doi] = true
				}
			}
			if len(page.Message.Items) == 0 {
				break
			}
			if n == 1 {
				s.Advance(24 * time.Hour) // neither grows nor shrinks the walk
			}
			page = worksList(t, s, "cursor", token, "rows", "100")
		}
		if len(seen) != 300 {
			t.Errorf("walk saw %d works", len(seen))
		}

		time.Sleep(4 * time.Minute)
		worksList(t, s, "cursor", token, "rows", "1") // use keeps it alive
		time.Sleep(4 * time.Minute)
		worksList(t, s, "cursor", token, "rows", "1")
		time.Sleep(5 * time.Minute)
		for _, cursor := range []string{token, "thing"} {
			a := get(s, "/crossref/works", "cursor", cursor)
			if a.Code != 404 || !strings.Contains(a.Body.String(), `"message-type":"resource-failure"`) || !strings.Contains(a.Body.String(), `"type":"cursor-invalid"`) {
				t.Errorf("cursor %.10s: %d %s", cursor, a.Code, a.Body)
			}
		}
	})
}

func TestCrossrefFilters(t *testing.T) {
	s := open(t, Config{Sources: []string{Crossref}, Records: 800})
	total := func(filter string) int {
		t.Helper()
		return worksList(t, s, "rows", "0", "filter", filter).Message.TotalResults
	}
	for _, pair := range []string{"index", "update", "created"} {
		name := func(at, until string) string {
			return "from-" + pair + "-date:" + at + ",until-" + pair + "-date:" + until
		}
		days, hours := 0, 0
		for d := s.Now().AddDate(0, 0, -31); !d.After(s.Now()); d = d.AddDate(0, 0, 1) {
			day := d.Format("2006-01-02")
			days += total(name(day, day))
			for h := range 24 {
				hour := d.Truncate(24 * time.Hour).Add(time.Duration(h) * time.Hour)
				hours += total(name(hour.Format("2006-01-02T15:04:05"), hour.Add(time.Hour-time.Second).Format("2006-01-02T15:04:05")))
			}
		}
		if days != 800 || hours != 800 {
			t.Errorf("%s: days add up to %d, hours to %d", pair, days, hours)
		}
	}
	yes, no := total("has-abstract:true"), total("has-abstract:false")
	if yes == 0 || no == 0 || yes+no != 800 {
		t.Errorf("has-abstract: %d and %d", yes, no)
	}
	types := 0
	for _, wt := range workTypes {
		types += total("type:" + wt.name)
	}
	if types != 800 {
		t.Errorf("types add up to %d", types)
	}
	if a, b, both := total("type:dataset"), total("type:report"), total("type:dataset,type:report"); a+b != both {
		t.Errorf("same name means either: %d + %d, not %d", a, b, both)
	}
	one, two := string(s.upstreams[Crossref].appendID(nil, 4)), string(s.upstreams[Crossref].appendID(nil, 5))
	if n := total("doi:" + one + ",doi:" + strings.ToUpper(two) + ",doi:10.1/unknown"); n != 2 {
		t.Errorf("doi batch: %d", n)
	}
	if n := total("is-update:true,update-type:retraction"); n == 0 {
		t.Error("no retraction notices")
	}
	if n := worksList(t, s, "query.title", "cardiac fibrosis", "rows", "0").Message.TotalResults; n == 0 || n == 800 {
		t.Errorf("query.title: %d", n)
	}
	page := worksList(t, s, "rows", "3", "select", "DOI,title")
	for _, item := range page.Message.Items {
		var fields map[string]any
		if json.Unmarshal(item, &fields); fields["DOI"] == nil || len(fields) > 2 {
			t.Errorf("select: %s", item)
		}
	}
	if n := len(worksList(t, s, "sample", "7").Message.Items); n != 7 {
		t.Errorf("sample: %d", n)
	}
}

func TestCrossrefListsEveryFailure(t *testing.T) {
	s := open(t, Config{Sources: []string{Crossref}})
	for _, c := range []struct {
		pairs []string
		types []string
	}{
		{[]string{"rows", "1001"}, []string{"integer-not-valid"}},
		{[]string{"rows", "things", "offset", "10001"}, []string{"integer-not-valid", "integer-not-valid"}},
		{[]string{"filter", "has-shoes:1,from-index-date:2024-13-01"}, []string{"filter-not-available", "date-not-valid"}},
		{[]string{"filter", "from-pub-date:2024-01-01T10"}, []string{"date-not-valid"}},
		{[]string{"select", "DOI,shoes", "sort", "shoes"}, []string{"select-not-available", "sort-field-not-valid"}},
		{[]string{"shoes", "1"}, []string{"parameter-not-allowed"}},
		{[]string{"cursor", "*", "offset", "5"}, []string{"parameter-not-allowed"}},
	} {
		a := get(s, "/crossref/v1/works", c.pairs...)
		var body struct {
			Status      string
			MessageType string `json:"message-type"`
			Message     []complaint
		}
		if err := json.Unmarshal(a.Body.Bytes(), &body); err != nil || a.Code != 400 || body.Status != "failed" || body.MessageType != "validation-failure" {
			t.Fatalf("%v: %d %v %s", c.pairs, a.Code, err, a.Body)
		}
		var types []string
		for _, m := range body.Message {
			types = append(types, m.Type)
		}
		if strings.Join(types, " ") != strings.Join(c.types, " ") {
			t.Errorf("%v: %v", c.pairs, types)
		}
	}
	a := get(s, "/crossref/works/10.1371/notarealdoi")
	if a.Code != 404 || a.Body.String() != "Resource not found." {
		t.Errorf("unknown doi: %d %s", a.Code, a.Body)
	}
}
