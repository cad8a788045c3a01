package sim

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"
)

func TestEveryFaultCanBeScripted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, Config{Generic: GenericStyle{Paging: "token-constant"}})
		before := truth(s, PubMed)
		ids := strings.Join([]string{string(s.upstreams[PubMed].appendID(nil, 1)), string(s.upstreams[PubMed].appendID(nil, 2))}, ",")
		search := func() answer {
			return get(s, "/pubmed/esearch.fcgi", "db", "pubmed", "retmode", "json", "term", "2024/05/20:2024/05/22[mdat]", "retmax", "100")
		}
		fetch := func() answer { return get(s, "/pubmed/efetch.fcgi", "db", "pubmed", "id", ids) }
		list := func() answer { return get(s, "/crossref/works", "rows", "40") }
		first := func() answer { return get(s, "/crossref/works", "cursor", "*", "rows", "40") }
		walk := func() answer {
			token := worksList(t, s, "cursor", "*", "rows", "40").Message.NextCursor
			return get(s, "/crossref/works", "cursor", token, "rows", "40")
		}
		history := func() answer {
			r := esearch(t, s, "term", "all[sb]", "usehistory", "y")
			return get(s, "/pubmed/efetch.fcgi", "db", "pubmed", "WebEnv", r.Webenv, "query_key", "1", "retmax", "5")
		}
		status := func(code int, header string) func(answer) bool {
			return func(a answer) bool {
				return a.Code == code && !a.aborted && (a.Header().Get("Retry-After") != "") == (header != "")
			}
		}
		dropped := func(a answer) bool { return a.aborted && a.Body.Len() == 0 }
		cutOff := func(a answer) bool { return a.aborted && a.Body.Len() > 100 }
		items := func(n int) func(answer) bool {
			return func(a answer) bool {
				var page worksPage
				return json.Unmarshal(a.Body.Bytes(), &page) == nil && len(page.Message.Items) == n && page.Message.NextCursor != ""
			}
		}
		unlinked := func(n int) func(answer) bool {
			return func(a answer) bool {
				var page worksPage
				return json.Unmarshal(a.Body.Bytes(), &page) == nil && len(page.Message.Items) == n && page.Message.NextCursor == ""
			}
		}
		records := func(n int) func(answer) bool {
			return func(a answer) bool { return len(articlesIn(t, a.Body.Bytes())) == n }
		}
		contains := func(text string) func(answer) bool {
			return func(a answer) bool { return a.Code == 200 && strings.Contains(a.Body.String(), text) }
		}
		cases := map[Fault]struct {
			ask  func() answer
			want func(answer) bool
		}{
			HTTP500:     {list, status(500, "")},
			HTTP502HTML: {list, status(502, "")},
			HTTP503:     {list, status(503, "1")},
			HTTP503Date: {list, func(a answer) bool {
				return a.Code == 503 && a.Header().Get("Retry-After") == "Sat, 01 Jun 2024 12:00:01 GMT"
			}},
			HTTP504HTML:       {search, status(504, "")},
			HTTP429:           {search, status(429, "")},
			HTTP429RetryAfter: {search, status(429, "1")},
			ResetBeforeHeader: {list, dropped},
			ResetMidBody:      {list, cutOff},
			TruncatedBody:     {list, cutOff},
			ServedLost:        {walk, dropped},
			Slow:              {list, status(200, "")},
			HTML200:           {list, contains("<html>")},
			Empty200:          {list, func(a answer) bool { return a.Code == 200 && a.Body.Len() == 0 && !a.aborted }},
			Error200:          {search, contains(`"ERROR":"Search Backend failed`)},
			Viewer400: {fetch, func(a answer) bool {
				return a.Code == 400 && strings.Contains(a.Body.String(), "External viewer error")
			}},
			InvalidUTF8:     {list, func(a answer) bool { return a.Code == 200 && !utf8.Valid(a.Body.Bytes()) && json.Valid(a.Body.Bytes()) }},
			BadJSON:         {list, func(a answer) bool { return a.Code == 200 && !a.aborted && !json.Valid(a.Body.Bytes()) }},
			ShortPage:       {walk, items(30)},
			EmptyMiddlePage: {walk, items(0)},
			RepeatedPage:    {walk, items(40)},
			CursorExpired:   {walk, func(a answer) bool { return a.Code == 404 && strings.Contains(a.Body.String(), "cursor-invalid") }},
			WebEnvLost:      {history, contains("Unable to obtain query #1")},
			DetailMissing:   {fetch, records(1)},
			DetailExtra:     {fetch, records(3)},
			DetailBadItem:   {fetch, func(a answer) bool { _, bad := articlesIn(t, a.Body.Bytes())[""]; return bad }},
			TotalWrong: {list, func(a answer) bool {
				var p worksPage
				json.Unmarshal(a.Body.Bytes(), &p)
				return p.Message.TotalResults > 300
			}},
			Errorlist: {search, func(a answer) bool {
				return strings.Contains(a.Body.String(), `"count":"300"`) && strings.Contains(a.Body.String(), "errorlist")
			}},
			RetryAfterOn200:   {list, status(200, "3600")},
			TokenDropped:      {first, unlinked(40)},
			TokenDroppedShort: {first, unlinked(30)},
			TotalDropped:      {list, func(a answer) bool { return a.Code == 200 && !strings.Contains(a.Body.String(), "total-results") }},
		}
		for _, f := range AllFaults {
			c, ok := cases[f]
			if !ok {
				t.Errorf("%s has no case", f)
				continue
			}
			script := Script{Fault: f}
			if f == ServedLost {
				script.After = 1
			}
			s.Script(script)
			start := time.Now()
			if a := c.ask(); !c.want(a) {
				t.Errorf("%s: %d aborted=%v %v %.300s", f, a.Code, a.aborted, a.Header(), a.Body)
			}
			if took := time.Since(start); (took > 0) != (f == Slow) {
				t.Errorf("%s took %v", f, took)
			}
			if s.Scripted() != 0 {
				t.Errorf("%s was not served", f)
				s.ClearScripts()
			}
			if a := c.ask(); a.Code != 200 || a.aborted {
				t.Errorf("after %s: %d", f, a.Code)
			}
			time.Sleep(2 * time.Second) // let Retry-After pass
		}
		served := 0
		for _, st := range s.Stats().Sources {
			for _, n := range st.Faults {
				served += n
			}
		}
		if served != len(AllFaults) {
			t.Errorf("%d faults counted, %d served", served, len(AllFaults))
		}
		compare(t, fetchAll(t, s, "all[sb]"), before)
	})
}

func TestServedLostMovesTheCursorOn(t *testing.T) {
	s := open(t, Config{Sources: []string{Crossref}, Records: 120})
	token := worksList(t, s, "cursor", "*", "rows", "50").Message.NextCursor
	s.Script(Script{Fault: ServedLost, Match: "cursor="})
	if a := get(s, "/crossref/works", "cursor", token, "rows", "50"); !a.aborted {
		t.Fatalf("answer came: %d", a.Code)
	}
	if n := len(worksList(t, s, "cursor", token, "rows", "50").Message.Items); n != 20 {
		t.Errorf("page after the lost one has %d works", n)
	}
}

func TestShortPagesLoseNothing(t *testing.T) {
	s := open(t, Config{Sources: []string{Crossref}, Faults: Faults{Rates: map[Fault]float64{ShortPage: .5, RepeatedPage: .2}}})
	compare(t, walkWorks(t, s, "rows", "20"), truth(s, Crossref))
	if st := s.Stats().Sources[Crossref]; st.Faults[ShortPage] == 0 || st.Faults[RepeatedPage] == 0 {
		t.Errorf("faults: %v", st.Faults)
	}
}

func TestScriptPicksItsRequest(t *testing.T) {
	s := open(t, Config{})
	s.Script(
		Script{Fault: HTTP500, Source: Generic, Number: 3},
		Script{Fault: HTTP504HTML, Match: "to=2024-05-20T00:00:00Z", After: 1, Times: 2},
		Script{Fault: HTTP502HTML, When: func(r *http.Request) bool { return r.Form.Get("size") == "7" }},
	)
	var codes []int
	for _, pairs := range [][]string{nil, {"size", "7"}, nil, {"to", "2024-05-20T00:00:00Z"}, {"to", "2024-05-20T00:00:00Z"}, {"to", "2024-05-20T00:00:00Z"}, {"size", "7"}} {
		codes = append(codes, get(s, "/generic/items", pairs...).Code)
	}
	if want := []int{200, 502, 500, 200, 504, 504, 200}; !slices.Equal(codes, want) {
		t.Errorf("got %v, want %v", codes, want)
	}
}

func TestEarlyRetriesAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, Config{})
		s.Script(Script{Fault: HTTP503}, Script{Fault: HTTP429RetryAfter, After: 1})
		get(s, "/generic/items")
		time.Sleep(999 * time.Millisecond)
		get(s, "/generic/items") // 1 ms early
		get(s, "/generic/items") // 429
		time.Sleep(time.Second)
		get(s, "/generic/items")
		if n := s.Stats().Sources[Generic].RetryAfterViolations; n != 2 {
			t.Errorf("%d requests came early, want 2: %v", n, s.Stats())
		}
	})
}

func TestParseFaults(t *testing.T) {
	for name, share := range map[string][2]float64{"none": {0, 0}, "light": {.015, .03}, "heavy": {.11, .17}} {
		f, err := ParseFaults(name)
		if err != nil {
			t.Fatal(err)
		}
		total := 0.0
		for _, rate := range f.Rates {
			total += rate
		}
		if total < share[0] || total > share[1] {
			t.Errorf("%s: %v in total", name, total)
		}
		for _, hopeless := range []Fault{InvalidUTF8, Errorlist} {
			if f.Rates[hopeless] > 0 {
				t.Errorf("%s contains %s", name, hopeless)
			}
		}
	}
	file := filepath.Join(t.TempDir(), "faults.json")
	write := func(s string) {
		if err := os.WriteFile(file, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"rates":{"http_500":0.5},"sources":{"pubmed":{"slow":1}},"max_in_row":2,"delay_ms":10}`)
	f, err := ParseFaults(file)
	if err != nil || f.rates(Crossref)[HTTP500] != .5 || f.rates(PubMed)[Slow] != 1 || f.MaxInRow != 2 || f.delay() != 10*time.Millisecond {
		t.Errorf("%+v, %v", f, err)
	}
	for _, bad := range []string{`{"rates":{"shoes":0.5}}`, `{"rates":{"slow":2}}`, `{"rate":{}}`, `[]`} {
		write(bad)
		if _, err := ParseFaults(file); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
	if _, err := ParseFaults(file + "x"); err == nil {
		t.Error("a missing file was accepted")
	}
}

// TestPatientClientGetsThroughHeavyFaults is the promise of the presets: five
// attempts a request, three walks a query, one more question for each missing id.
func TestPatientClientGetsThroughHeavyFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for seed := range uint64(5) {
			heavy, _ := ParseFaults("heavy")
			s := open(t, Config{Seed: seed, Records: 600, Sources: []string{PubMed, Crossref}, Faults: heavy})
			works, records := map[string][]byte{}, map[string][]byte{}
			for d := s.Now().AddDate(0, 0, -31); !d.After(s.Now()); d = d.AddDate(0, 0, 1) {
				patientWalk(t, s, d.Format("2006-01-02"), works)
				patientFetch(t, s, d.Format("2006/01/02"), records)
			}
			compare(t, works, truth(s, Crossref))
			compare(t, records, truth(s, PubMed))
			if st := s.Stats(); len(st.Sources[Crossref].Faults) < 3 || len(st.Sources[PubMed].Faults) < 3 {
				t.Errorf("seed %d: hardly any faults: %v", seed, st)
			}
		}
	})
}

func patientWalk(t *testing.T, s *Sim, day string, out map[string][]byte) {
	t.Helper()
	for walk := range 3 {
		seen := map[string][]byte{}
		cursor, total := "*", 0
		for {
			a := get(s, "/crossref/works", "rows", "5", "cursor", cursor, "filter", "from-index-date:"+day+",until-index-date:"+day)
			var page worksPage
			if a.aborted || a.Code != 200 || json.Unmarshal(a.Body.Bytes(), &page) != nil || page.Status != "ok" {
				time.Sleep(2 * time.Second)
				break
			}
			for _, item := range page.Message.Items {
				seen[doiOf(t, item)] = item
			}
			if cursor == "*" {
				total = page.Message.TotalResults
			}
			cursor = page.Message.NextCursor
			if len(page.Message.Items) > 0 {
				continue
			}
			if len(seen) >= total {
				maps.Copy(out, seen)
				return
			}
			break
		}
		if walk == 2 {
			t.Fatalf("three walks over %s failed: %v", day, s.Stats())
		}
	}
}

func patientFetch(t *testing.T, s *Sim, day string, out map[string][]byte) {
	t.Helper()
	ask := func(path string, form url.Values, good func(answer) bool) answer {
		form.Set("db", "pubmed")
		for range 5 {
			a := post(s, path, form)
			if !a.aborted && a.Code == 200 && good(a) {
				return a
			}
			time.Sleep(2 * time.Second)
		}
		t.Fatalf("five attempts at %s %v failed: %v", path, form, s.Stats())
		return answer{}
	}
	var found struct{ Esearchresult searchResult }
	ask("/pubmed/esearch.fcgi", url.Values{"term": {day + "[mdat]"}, "retmode": {"json"}, "retmax": {"9999"}, "sort": {"pub_date"}}, func(a answer) bool {
		found.Esearchresult = searchResult{}
		return json.Unmarshal(a.Body.Bytes(), &found) == nil && found.Esearchresult.Count == strconv.Itoa(len(found.Esearchresult.Idlist))
	})
	asked := found.Esearchresult.Idlist
	for round := 0; len(asked) > 0; round++ {
		if round > 4 {
			t.Fatalf("%v could not be had: %v", asked, s.Stats())
		}
		batch := asked[:min(10, len(asked))]
		a := ask("/pubmed/efetch.fcgi", url.Values{"id": {strings.Join(batch, ",")}}, func(a answer) bool {
			body := a.Body.String()
			return strings.Contains(body, "<PubmedArticleSet>") && strings.HasSuffix(body, "</PubmedArticleSet>")
		})
		got := articlesIn(t, a.Body.Bytes())
		var missing []string
		for _, id := range batch {
			if item, ok := got[id]; ok {
				out[id] = item
			} else {
				missing = append(missing, id)
			}
		}
		if len(missing) == 0 {
			round = -1
		}
		asked = append(missing, asked[len(batch):]...)
	}
}

func TestDroppedConnectionsOverRealSockets(t *testing.T) {
	s := open(t, Config{Sources: []string{Crossref}})
	srv := httptest.NewServer(s)
	defer srv.Close()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ask := func() (int, error) {
		resp, err := client.Get(srv.URL + "/crossref/works?rows=200&sort=created")
		if err != nil {
			return 0, err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return len(body), err
	}
	whole, err := ask()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []Fault{ResetBeforeHeader, ServedLost, ResetMidBody, ResetMidBody, TruncatedBody, TruncatedBody} {
		s.Script(Script{Fault: f})
		n, err := ask()
		if err == nil || n >= whole {
			t.Errorf("%s: %d of %d bytes, %v", f, n, whole, err)
		}
		if f == TruncatedBody && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %v", f, err)
		}
	}
	if n, err := ask(); err != nil || n != whole {
		t.Errorf("afterwards: %d bytes, %v", n, err)
	}
}
