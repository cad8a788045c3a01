package sim

import (
	"bufio"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unsafe"
)

func send(s *Sim, method, target, body string) answer {
	return do(s, httptest.NewRequest(method, target, strings.NewReader(body)))
}

func TestAdminRoutes(t *testing.T) {
	s := open(t, Config{Seed: 3})
	if a := send(s, "GET", "/_sim/clock", ""); strings.TrimSpace(a.Body.String()) != `{"now":"2024-06-01T12:00:00Z"}` {
		t.Errorf("clock: %s", a.Body)
	}
	if a := send(s, "POST", "/_sim/advance?by=90m", ""); strings.TrimSpace(a.Body.String()) != `{"now":"2024-06-01T13:30:00Z"}` {
		t.Errorf("advance: %s", a.Body)
	}
	for _, source := range []string{PubMed, Crossref, Generic} {
		want, n := truth(s, source), 0
		lines := bufio.NewScanner(send(s, "GET", "/_sim/truth/"+source, "").Body)
		for lines.Scan() {
			var row TruthRow
			if err := json.Unmarshal(lines.Bytes(), &row); err != nil || row != want[row.ID] {
				t.Fatalf("%s: %v in %s", source, err, lines.Text())
			}
			var fields map[string]any
			if json.Unmarshal(lines.Bytes(), &fields); len(fields) != 5 || !strings.HasSuffix(fields["updated_at"].(string), "Z") {
				t.Fatalf("%s: %s", source, lines.Text())
			}
			n++
		}
		if n != len(want) {
			t.Errorf("%s: %d rows, want %d", source, n, len(want))
		}
	}
	for _, c := range []struct {
		method, target, body string
		status               int
	}{
		{"POST", "/_sim/faults?set=heavy", "", 200},
		{"POST", "/_sim/faults", `{"rates":{"http_500":1}}`, 200},
		{"POST", "/_sim/faults", `{"rates":{"shoes":1}}`, 400},
		{"POST", "/_sim/faults?set=/etc/passwd", "", 400},
		{"POST", "/_sim/advance?by=-1h", "", 400},
		{"GET", "/_sim/advance?by=1h", "", 405},
		{"GET", "/_sim/truth/scopus", "", 404},
		{"GET", "/_sim/shoes", "", 404},
		{"GET", "/scopus/works", "", 404},
		{"GET", "/pubmed/shoes.fcgi", "", 404},
	} {
		if a := send(s, c.method, c.target, c.body); a.Code != c.status {
			t.Errorf("%s %s: %d %s", c.method, c.target, a.Code, a.Body)
		}
	}
	if a := get(s, "/generic/items"); a.Code != 500 {
		t.Errorf("faults were not set: %d", a.Code)
	}
	a := send(s, "GET", "/_sim/stats", "")
	var st Stats
	if err := json.Unmarshal(a.Body.Bytes(), &st); err != nil || st.Sources[Generic].Faults[HTTP500] != 1 || st.Sources[Generic].ByStatus["500"] != 1 {
		t.Errorf("stats: %v %s", err, a.Body)
	}
}

func TestRepeatedRequestsAreCounted(t *testing.T) {
	s := open(t, Config{})
	get(s, "/crossref/works", "rows", "5", "mailto", "a@b.c")
	get(s, "/crossref/works", "mailto", "d@e.f", "rows", "5")
	token := worksList(t, s, "cursor", "*", "rows", "5").Message.NextCursor
	worksList(t, s, "cursor", token, "rows", "5")
	worksList(t, s, "cursor", token, "rows", "5") // same request, another page
	s.Script(Script{Fault: HTTP500})
	get(s, "/crossref/works", "rows", "6")
	get(s, "/crossref/works", "rows", "6") // the first was not answered
	if st := s.Stats().Sources[Crossref]; st.RepeatedOK != 1 || len(st.Repeated) != 1 || st.Repeated[0].Times != 2 {
		t.Errorf("repeated: %v", s.Stats())
	}
}

func TestRequestLogIsBounded(t *testing.T) {
	s := open(t, Config{KeepLog: 10})
	for range 100 {
		get(s, "/generic/items", "size", "1", "key", "k")
	}
	log := s.Requests()
	if len(log) < 10 || len(log) > 20 {
		t.Errorf("%d requests kept", len(log))
	}
	if last := log[len(log)-1]; last.Number != 100 || last.Status != 200 || last.Params.Get("key") != "k" || last.Records != 1 || time.Since(last.At) > time.Minute {
		t.Errorf("last: %+v", last)
	}
}

func TestConfigIsChecked(t *testing.T) {
	for _, cfg := range []Config{
		{Sources: []string{"scopus"}},
		{Sources: []string{PubMed, PubMed}},
		{Records: -1},
		{Span: time.Second},
		{Now: time.Date(1970, 1, 2, 0, 0, 0, 0, time.UTC)},
		{PubMedWall: -1},
		{Faults: Faults{Rates: map[Fault]float64{"shoes": 1}}},
		{Generic: GenericStyle{Order: "up"}},
	} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%+v was accepted", cfg)
		}
	}
	s, err := New(Config{Records: 10})
	if err != nil {
		t.Fatal(err)
	}
	if age := time.Since(s.Now()); age < 59*24*time.Hour || age > 61*24*time.Hour || len(s.upstreams) != 2 {
		t.Errorf("defaults: now %v, %d sources", s.Now(), len(s.upstreams))
	}
}

func TestRecordsAreSmall(t *testing.T) {
	if n := unsafe.Sizeof(record{}) + 8; n > 64 {
		t.Errorf("a record takes %d bytes of index", n)
	}
}
