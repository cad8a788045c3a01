package sim

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// epmcPage is an answer of Europe PMC.
type epmcPage struct {
	HitCount       *int
	NextCursorMark string
	ErrMsg         string
	ResultList     struct{ Result []json.RawMessage }
}

func epmc(t *testing.T, s *Sim, pairs ...string) (p epmcPage) {
	t.Helper()
	a := get(s, "/europepmc/search", append([]string{"format", "json", "resultType", "core"}, pairs...)...)
	if err := json.Unmarshal(a.Body.Bytes(), &p); a.Code != 200 || err != nil {
		t.Fatalf("%d %v %s", a.Code, err, a.Body)
	}
	return p
}

// epmcRecord is what tests look at.
type epmcRecord struct {
	ID, Source, PMID, DOI, Title, AbstractText, PubYear, Language, DateOfRevision string
	PubTypeList                                                                   struct{ PubType []string }
}

func epmcAll(t *testing.T, s *Sim, query string) map[string]epmcRecord {
	t.Helper()
	out := map[string]epmcRecord{}
	for cursor := "*"; ; {
		p := epmc(t, s, "query", query, "pageSize", "40", "cursorMark", cursor)
		if p.HitCount == nil {
			t.Fatalf("%s: %s", query, p.ErrMsg)
		}
		for _, raw := range p.ResultList.Result {
			var r epmcRecord
			if err := json.Unmarshal(raw, &r); err != nil {
				t.Fatal(err)
			}
			out[r.ID] = r
		}
		if p.NextCursorMark == cursor || p.NextCursorMark == "" {
			if len(out) != *p.HitCount {
				t.Errorf("%s: walked %d of %d", query, len(out), *p.HitCount)
			}
			return out
		}
		cursor = p.NextCursorMark
	}
}

// TestEuropePMC_TheCursorBringsAll: a walk brings what the truth lists, byte for
// byte, ends with an empty page that gives the cursor back, and days add up.
func TestEuropePMC_TheCursorBringsAll(t *testing.T) {
	s := open(t, Config{Sources: []string{EuropePMC}})
	want := truth(s, EuropePMC)
	got := map[string]string{}
	for cursor := "*"; ; {
		p := epmc(t, s, "query", "*:*", "pageSize", "70", "cursorMark", cursor)
		for _, raw := range p.ResultList.Result {
			var r epmcRecord
			if err := json.Unmarshal(raw, &r); err != nil {
				t.Fatal(err)
			}
			got[r.ID] = sum(raw)
		}
		if len(p.ResultList.Result) == 0 {
			if p.NextCursorMark != cursor {
				t.Errorf("the last page gives %q, was asked by %q", p.NextCursorMark, cursor)
			}
			break
		}
		cursor = p.NextCursorMark
	}
	if len(got) != len(want) || len(got) != 300 {
		t.Errorf("%d of %d came", len(got), len(want))
	}
	for id, row := range want {
		if got[id] != row.RawSHA256 || !row.Undated {
			t.Errorf("%s: %s, want %+v", id, got[id], row)
		}
	}
	days := 0
	for d := s.Now().AddDate(0, 0, -32); !d.After(s.Now()); d = d.AddDate(0, 0, 1) {
		day := d.In(london).Format(time.DateOnly)
		days += *epmc(t, s, "query", "UPDATE_DATE:["+day+" TO "+day+"]", "pageSize", "1").HitCount
	}
	if days != 300 {
		t.Errorf("days add up to %d", days)
	}
}

// TestEuropePMC_SharesRecords: records of PubMed and Crossref are found here under
// their PMID or DOI, with the same title.
func TestEuropePMC_SharesRecords(t *testing.T) {
	s := open(t, Config{Sources: []string{PubMed, Crossref, EuropePMC}, Records: 400})
	all := epmcAll(t, s, "*:*")
	sources := map[string]int{}
	byPMID, byDOI := 0, 0
	works := s.upstreams[Crossref].(*crossref)
	articles := s.upstreams[PubMed].(*pubmed)
	for id, r := range all {
		sources[r.Source]++
		if i, ok := articles.find(r.PMID); ok {
			byPMID++
			item := string(articles.append(nil, i, &articles.people.records[i]))
			if !strings.Contains(item, ">"+r.Title+"<") && !strings.Contains(item, ">"+r.Title+"</") {
				t.Errorf("%s: %q is not PubMed's title", id, r.Title)
			}
			if r.DOI != "" && !strings.Contains(item, ">"+r.DOI+"<") {
				t.Errorf("%s: %q is not PubMed's DOI", id, r.DOI)
			}
		}
		if i, ok := works.find(r.DOI); ok {
			byDOI++
			var work struct{ Title []string }
			if err := json.Unmarshal(works.append(nil, i, &works.people.records[i]), &work); err != nil {
				t.Fatal(err)
			}
			if have := strings.Join(strings.Fields(work.Title[0]), " "); have != r.Title {
				t.Errorf("%s: %q, at Crossref %q", id, r.Title, have)
			}
		}
		if i, ok := s.upstreams[EuropePMC].find(id); !ok || string(s.upstreams[EuropePMC].appendID(nil, i)) != id {
			t.Errorf("%s is not found again", id)
		}
	}
	t.Logf("%v, %d of PubMed, %d of Crossref", sources, byPMID, byDOI)
	if byPMID < 150 || byDOI < 40 || sources["MED"] == 0 || sources["PMC"] == 0 || sources["PPR"] == 0 || sources["AGR"] == 0 {
		t.Errorf("%v, %d of PubMed, %d of Crossref", sources, byPMID, byDOI)
	}
}

// TestEuropePMC_Search holds hits against what the records say.
func TestEuropePMC_Search(t *testing.T) {
	s := open(t, Config{Sources: []string{EuropePMC}, Records: 150})
	all := epmcAll(t, s, "*:*")
	text := func(r epmcRecord) string { return strings.Join(wordsOf(unmarked(r.Title)), " ") }
	abstract := func(r epmcRecord) string {
		return strings.Join(wordsOf(unmarked(strings.ReplaceAll(r.AbstractText, "<", " <"))), " ")
	}
	has := func(in, words string) bool { return strings.Contains(" "+in+" ", " "+words+" ") }
	review := func(r epmcRecord) bool {
		return strings.Contains(strings.Join(r.PubTypeList.PubType, "|"), "Review")
	}
	for query, want := range map[string]func(epmcRecord) bool{
		`TITLE:"insulin resistance"`: func(r epmcRecord) bool { return has(text(r), "insulin resistance") },
		`TITLE:insulin`:              func(r epmcRecord) bool { return has(text(r), "insulin") },
		`TITLE:insul*`:               func(r epmcRecord) bool { return strings.Contains(" "+text(r), " insul") },
		`TITLE:nsulin`:               func(epmcRecord) bool { return false },
		`TITLE_ABS:"insulin resistance"`: func(r epmcRecord) bool {
			return has(text(r), "insulin resistance") || has(abstract(r), "insulin resistance")
		},
		`(TITLE:insulin OR TITLE:cardiac) AND NOT PUB_TYPE:"review"`: func(r epmcRecord) bool {
			return (has(text(r), "insulin") || has(text(r), "cardiac")) && !review(r)
		},
		`TITLE:insulin TITLE:trial NOT LANG:"fre"`: func(r epmcRecord) bool {
			return has(text(r), "insulin") && has(text(r), "trial") && r.Language != "fre"
		},
		`NOT TITLE:insulin`:                      func(epmcRecord) bool { return false },
		`*:* NOT TITLE:insulin`:                  func(r epmcRecord) bool { return !has(text(r), "insulin") },
		`PUB_YEAR:[2024 TO *] AND SRC:MED`:       func(r epmcRecord) bool { return r.PubYear >= "2024" && r.Source == "MED" },
		`NO_SUCH_FIELD:insulin`:                  func(epmcRecord) bool { return false },
		`DOI:"10.99777/EPMC.sim.0000003"`:        func(r epmcRecord) bool { return r.DOI == "10.99777/epmc.sim.0000003" },
		`HAS_ABSTRACT:y AND TITLE:"resistance"`:  func(r epmcRecord) bool { return r.AbstractText != "" && has(text(r), "resistance") },
		`TITLE:"5 µg·mL⁻¹" OR TITLE:"ifn gamma"`: func(r epmcRecord) bool { return has(text(r), "5 μg ml 1") },
	} {
		got := epmcAll(t, s, query)
		n := 0
		for id, r := range all {
			_, hit := got[id]
			if hit != want(r) {
				t.Errorf("%s: %s %q: %v", query, id, r.Title, hit)
			}
			if hit {
				n++
			}
		}
		t.Logf("%s: %d", query, n)
	}
	for _, query := range []string{
		"", "(TITLE:a", `TITLE:"a`, "TITLE:a AND", "UPDATE_DATE:[a TO b]", "UPDATE_DATE:[2024-01-01", "TITLE:[a TO b]", "TITLE:a)",
	} {
		if p := epmc(t, s, "query", query); p.HitCount != nil || !strings.HasPrefix(p.ErrMsg, "Invalid query") {
			t.Errorf("%s: %+v", query, p)
		}
	}
	for _, size := range []string{"1001", "x"} {
		if p := epmc(t, s, "query", "a", "pageSize", size); !strings.HasPrefix(p.ErrMsg, "Invalid pageSize") {
			t.Errorf("%s: %+v", size, p)
		}
	}
	if p := epmc(t, s, "query", "TITLE:qwertzuiop"); *p.HitCount != 0 || p.NextCursorMark != "" {
		t.Errorf("nothing found: %+v", p)
	}
	if p := epmc(t, s, "query", "TITLE:a", "cursorMark", "AoI"); !strings.HasPrefix(p.ErrMsg, "Invalid cursorMark") {
		t.Errorf("%+v", p)
	}
}

// TestEuropePMC_ChangesMoveTheDay: a change takes a record to the day of the
// change, one of counts only leaves its date of revision.
func TestEuropePMC_ChangesMoveTheDay(t *testing.T) {
	s := open(t, Config{Sources: []string{EuropePMC}})
	id := string(s.upstreams[EuropePMC].appendID(nil, 5))
	on := func(at time.Time) (epmcRecord, bool) {
		day := at.In(london).Format(time.DateOnly)
		r, ok := epmcAll(t, s, fmt.Sprintf("EXT_ID:%q AND UPDATE_DATE:[%s TO %s]", id, day, day))[id]
		return r, ok
	}
	before, ok := on(truth(s, EuropePMC)[id].UpdatedAt)
	if !ok {
		t.Fatal("not found on its day")
	}
	if err := s.TouchVolatile(EuropePMC, id); err != nil {
		t.Fatal(err)
	}
	if r, ok := on(s.Now()); !ok || r.DateOfRevision != before.DateOfRevision {
		t.Errorf("%v %+v", ok, r)
	}
	if err := s.Touch(EuropePMC, id); err != nil {
		t.Fatal(err)
	}
	if r, ok := on(s.Now()); !ok || r.DateOfRevision == before.DateOfRevision {
		t.Errorf("%v %+v", ok, r)
	}
}
