package sim

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

var day0 = time.Date(2024, 6, 1, 12, 0, 0, 0, time.UTC)

// open builds a simulator without limits, unless the configuration sets some.
func open(t testing.TB, cfg Config) *Sim {
	t.Helper()
	if cfg.Now.IsZero() {
		cfg.Now = day0
	}
	if cfg.Records == 0 {
		cfg.Records = 300
	}
	if cfg.LimitRPS == 0 {
		cfg.LimitRPS = -1
	}
	if cfg.Sources == nil {
		cfg.Sources = Upstreams
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// answer is a recorded reply; aborted if the connection would have been dropped.
type answer struct {
	*httptest.ResponseRecorder
	aborted bool
}

func do(s http.Handler, r *http.Request) (a answer) {
	a.ResponseRecorder = httptest.NewRecorder()
	defer func() {
		if e := recover(); e != nil {
			if err, ok := e.(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
				panic(e)
			}
			a.aborted = true
		}
	}()
	s.ServeHTTP(a, r)
	return a
}

// get asks for a path with parameters given in pairs.
func get(s http.Handler, path string, pairs ...string) answer {
	params := url.Values{}
	for k := 0; k < len(pairs); k += 2 {
		params.Add(pairs[k], pairs[k+1])
	}
	target := path
	if len(params) > 0 {
		target += "?" + params.Encode()
	}
	return do(s, httptest.NewRequest("GET", target, nil))
}

func post(s http.Handler, path string, form url.Values) answer {
	r := httptest.NewRequest("POST", path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return do(s, r)
}

// searchResult is ESearch's JSON.
type searchResult struct {
	Count, Retmax, Retstart string
	Webenv, Querykey        string
	Idlist                  []string
	Querytranslation        string
	Errorlist               *struct{ Phrasesnotfound, Fieldsnotfound []string }
	Warninglist             *struct{ Outputmessages []string }
	ERROR                   string
}

func esearch(t testing.TB, s http.Handler, pairs ...string) searchResult {
	t.Helper()
	a := get(s, "/pubmed/entrez/eutils/esearch.fcgi", append([]string{"db", "pubmed", "retmode", "json"}, pairs...)...)
	var body struct{ Esearchresult searchResult }
	if err := json.Unmarshal(a.Body.Bytes(), &body); err != nil {
		t.Fatalf("esearch %v: %v in %d %s", pairs, err, a.Code, a.Body)
	}
	return body.Esearchresult
}

// articlesIn cuts an EFetch answer into the bytes of its records, by PMID.
func articlesIn(t testing.TB, body []byte) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	d := xml.NewDecoder(bytes.NewReader(body))
	d.Strict = true
	var depth int
	var start int64
	var pmid, inner string
	for {
		at := d.InputOffset()
		tok, err := d.Token()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatalf("efetch is not well-formed: %v", err)
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			depth++
			if depth == 2 {
				start, pmid = at, ""
			}
			inner = tok.Name.Local
		case xml.CharData:
			if depth == 4 && inner == "PMID" && pmid == "" {
				pmid = string(tok)
			}
		case xml.EndElement:
			inner = ""
			if depth == 2 {
				out[pmid] = bytes.Clone(body[start:d.InputOffset()])
			}
			depth--
		}
	}
}

// worksPage is a Crossref list.
type worksPage struct {
	Status  string
	Message struct {
		NextCursor   string            `json:"next-cursor"`
		TotalResults int               `json:"total-results"`
		Items        []json.RawMessage `json:"items"`
		ItemsPerPage int               `json:"items-per-page"`
	}
}

func worksList(t testing.TB, s http.Handler, pairs ...string) worksPage {
	t.Helper()
	a := get(s, "/crossref/works", pairs...)
	var page worksPage
	if a.Code != 200 {
		t.Fatalf("works %v: %d %s", pairs, a.Code, a.Body)
	}
	if err := json.Unmarshal(a.Body.Bytes(), &page); err != nil {
		t.Fatalf("works %v: %v", pairs, err)
	}
	return page
}

func doiOf(t testing.TB, item []byte) string {
	t.Helper()
	var head struct{ DOI string }
	if err := json.Unmarshal(item, &head); err != nil {
		t.Fatalf("item: %v in %s", err, item)
	}
	return head.DOI
}

// walkWorks goes through a cursor to its end.
func walkWorks(t testing.TB, s http.Handler, pairs ...string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	cursor := "*"
	for range 1000 {
		page := worksList(t, s, append([]string{"cursor", cursor}, pairs...)...)
		if len(page.Message.Items) == 0 {
			return out
		}
		for _, item := range page.Message.Items {
			out[doiOf(t, item)] = item
		}
		cursor = page.Message.NextCursor
	}
	t.Fatal("walk has no end")
	return nil
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

func truth(s *Sim, source string) map[string]TruthRow {
	out := map[string]TruthRow{}
	for row := range s.Truth(source) {
		out[row.ID] = row
	}
	return out
}

// compare checks what was served against the truth.
func compare(t testing.TB, served map[string][]byte, want map[string]TruthRow) {
	t.Helper()
	alive := 0
	for id, row := range want {
		if row.Deleted {
			if _, ok := served[id]; ok {
				t.Errorf("%s is deleted and was served", id)
			}
			continue
		}
		alive++
		if item, ok := served[id]; !ok {
			t.Errorf("%s was not served", id)
		} else if sum(item) != row.RawSHA256 {
			t.Errorf("%s: served %s, truth says %s", id, sum(item), row.RawSHA256)
		}
	}
	if len(served) != alive {
		t.Errorf("served %d records, truth has %d", len(served), alive)
	}
}

// fetchAll goes through search and fetch as a client would.
func fetchAll(t testing.TB, s http.Handler, term string) map[string][]byte {
	t.Helper()
	found := esearch(t, s, "term", term, "retmax", "9999", "sort", "pub_date")
	if found.Count != strconv.Itoa(len(found.Idlist)) {
		t.Fatalf("count %s, %d ids", found.Count, len(found.Idlist))
	}
	out := map[string][]byte{}
	for len(found.Idlist) > 0 {
		n := min(200, len(found.Idlist))
		a := post(s, "/pubmed/efetch.fcgi", url.Values{"db": {"pubmed"}, "retmode": {"xml"}, "id": {strings.Join(found.Idlist[:n], ",")}})
		maps.Copy(out, articlesIn(t, a.Body.Bytes()))
		found.Idlist = found.Idlist[n:]
	}
	return out
}

func TestTruthEqualsWhatIsServed(t *testing.T) {
	s := open(t, Config{Seed: 7})
	for step := range 3 {
		compare(t, fetchAll(t, s, "1900/01/01:2100/12/31[mdat]"), truth(s, PubMed))
		compare(t, walkWorks(t, s, "rows", "37"), truth(s, Crossref))
		items := map[string][]byte{}
		for offset := 0; ; offset += 50 {
			var page struct{ Items []json.RawMessage }
			if err := json.Unmarshal(get(s, "/generic/items", "offset", strconv.Itoa(offset), "limit", "50").Body.Bytes(), &page); err != nil {
				t.Fatal(err)
			}
			if len(page.Items) == 0 {
				break
			}
			for _, item := range page.Items {
				var head struct{ ID string }
				json.Unmarshal(item, &head)
				items[head.ID] = item
			}
		}
		compare(t, items, truth(s, Generic))
		if t.Failed() {
			t.Fatalf("after %d days", step)
		}
		s.Advance(24 * time.Hour)
	}
}

func TestManyClientsAtOnce(t *testing.T) {
	s := open(t, Config{Records: 100, Faults: Faults{Rates: map[Fault]float64{HTTP500: .1, ShortPage: .2, ServedLost: .1}}})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				get(s, "/pubmed/esearch.fcgi", "db", "pubmed", "term", "cardiac AND 2024[crdt]", "usehistory", "y")
				get(s, "/crossref/works", "cursor", "*", "rows", "3")
				get(s, "/generic/items", "style", "scroll")
				s.Stats()
				s.Requests()
			}
		})
	}
	wg.Go(func() {
		for range 10 {
			s.Advance(time.Hour)
			truth(s, PubMed)
		}
	})
	wg.Wait()
	compare(t, fetchAllPatiently(t, s), truth(s, PubMed))
}

func fetchAllPatiently(t *testing.T, s *Sim) map[string][]byte {
	t.Helper()
	if err := s.SetFaults(Faults{}); err != nil {
		t.Fatal(err)
	}
	return fetchAll(t, s, "all[sb]")
}
