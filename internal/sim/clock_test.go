package sim

import (
	"testing"
	"time"
)

func TestAdvanceMakesThingsHappen(t *testing.T) {
	churn := Churn{New: 20, Changed: 20, Volatile: 20, Deleted: 5, Retracted: 5, Late: 0.2}
	const records = 120
	s := open(t, Config{Records: records, Churn: &churn})
	old := map[string]map[string]TruthRow{}
	for _, source := range Upstreams {
		before := truth(s, source)
		old[source] = before
		if len(before) != records {
			t.Fatalf("%s: %d records at the start", source, len(before))
		}
		for id, row := range before {
			if row.VisibleAt.After(s.Now()) || row.UpdatedAt.After(s.Now()) {
				t.Errorf("%s %s: updated %v, visible %v", source, id, row.UpdatedAt, row.VisibleAt)
			}
		}
	}
	s.Advance(72 * time.Hour)
	st := s.Stats()
	for source, before := range old {
		var added, changed, deleted, late int
		for id, row := range truth(s, source) {
			was, known := before[id]
			switch {
			case row.VisibleAt.After(s.Now()):
				t.Errorf("%s %s is visible at %v, now is %v", source, id, row.VisibleAt, s.Now())
			case row.Deleted:
				deleted++
			case !known:
				added++
			case was.RawSHA256 != row.RawSHA256:
				changed++
			}
			for _, v := range s.Versions(source, id) {
				if !v.Late {
					continue
				}
				late++
				from, to := v.UpdatedAt.Add(10*time.Minute), v.UpdatedAt.Add(46*time.Minute)
				if l, is := s.upstreams[source].(*library); is { // whose items may show less than the instant
					to = to.Add(l.steps)
				}
				if days := s.populations[source].days; days != nil {
					end := time.Unix(dayAfter(v.UpdatedAt.Unix(), days), 0)
					from, to = end.Add(2*time.Hour), end.Add(20*time.Hour)
				}
				if v.VisibleAt.Before(from) || v.VisibleAt.After(to) {
					t.Errorf("%s %s: updated %v, late until %v", source, id, v.UpdatedAt, v.VisibleAt)
				}
			}
		}
		if added < 30 || changed < 30 || late == 0 {
			t.Errorf("%s: %d new, %d changed, %d late", source, added, changed, late)
		}
		if wantDeleted := traitsOf(source).deletes; (deleted > 0) != wantDeleted {
			t.Errorf("%s: %d deleted", source, deleted)
		}
		if st.Sources[source].Truth.Versions["retracted"] == 0 && traitsOf(source).retracts {
			t.Errorf("%s: nothing retracted: %v", source, st)
		}
	}
}

func TestHiddenVersionIsNowhere(t *testing.T) {
	s := open(t, Config{Churn: &Churn{}})
	dated := s.Now().Add(-2 * time.Hour)
	doi, err := s.AddLate(Crossref, dated, s.Now().Add(30*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	pmid, err := s.AddLate(PubMed, dated, s.Now().Add(30*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	old := string(s.upstreams[Crossref].appendID(nil, 3))
	was := truth(s, Crossref)[old]
	if err := s.TouchLate(Crossref, old, dated, s.Now().Add(30*time.Minute)); err != nil {
		t.Fatal(err)
	}
	check := func(visible bool) {
		t.Helper()
		if _, ok := truth(s, Crossref)[doi]; ok != visible {
			t.Errorf("truth has %s: %v", doi, ok)
		}
		if a := get(s, "/crossref/works/"+escapeDOI(doi)); (a.Code == 200) != visible {
			t.Errorf("single %s: %d", doi, a.Code)
		}
		if _, ok := walkWorks(t, s)[doi]; ok != visible {
			t.Errorf("walk has %s: %v", doi, ok)
		}
		if _, ok := fetchAll(t, s, pmid+"[uid]")[pmid]; ok != visible {
			t.Errorf("search and fetch have %s: %v", pmid, ok)
		}
		a := get(s, "/pubmed/efetch.fcgi", "db", "pubmed", "id", pmid)
		if _, ok := articlesIn(t, a.Body.Bytes())[pmid]; ok != visible {
			t.Errorf("fetch has %s: %v", pmid, ok)
		}
		if row := truth(s, Crossref)[old]; (row == was) == visible {
			t.Errorf("%s: %v, was %v", old, row, was)
		}
	}
	check(false)
	s.Advance(29 * time.Minute)
	check(false)
	s.Advance(time.Minute)
	check(true)
}

func TestSupersededVersionLeavesItsDate(t *testing.T) {
	s := open(t, Config{Churn: &Churn{}})
	pmid := string(s.upstreams[PubMed].appendID(nil, 0))
	doi := string(s.upstreams[Crossref].appendID(nil, 0))
	day := func(source, id string) string {
		return truth(s, source)[id].UpdatedAt.In(eastern).Format("2006/01/02")
	}
	before := day(PubMed, pmid)
	second := truth(s, Crossref)[doi].UpdatedAt.Format("2006-01-02T15:04:05")
	s.Advance(24 * time.Hour)
	for source, id := range map[string]string{PubMed: pmid, Crossref: doi} {
		if err := s.Touch(source, id); err != nil {
			t.Fatal(err)
		}
	}
	in := func(term string) bool { _, ok := fetchAll(t, s, term)[pmid]; return ok }
	after := day(PubMed, pmid)
	if before == after || in(before+"[mdat]") || !in(after+"[mdat]") || !in(before+"[crdt]") {
		t.Errorf("pubmed %s: from %s to %s", pmid, before, after)
	}
	if _, ok := walkWorks(t, s, "filter", "from-index-date:"+second+",until-index-date:"+second)[doi]; ok {
		t.Errorf("crossref %s is still found at %s", doi, second)
	}
	if _, ok := walkWorks(t, s, "filter", "from-index-date:"+s.Now().Format("2006-01-02T15:04:05"))[doi]; !ok {
		t.Errorf("crossref %s is not found now", doi)
	}
}

func TestMutationsShow(t *testing.T) {
	s := open(t, Config{Churn: &Churn{}})
	pmid := string(s.upstreams[PubMed].appendID(nil, 5))
	notice, err := s.Retract(PubMed, pmid)
	if err != nil {
		t.Fatal(err)
	}
	got := fetchAll(t, s, notice+"[uid]")
	if len(got) != 1 {
		t.Errorf("notice %s: %d records", notice, len(got))
	}
	if err := s.Delete(PubMed, pmid); err != nil {
		t.Fatal(err)
	}
	if row := truth(s, PubMed)[pmid]; !row.Deleted {
		t.Errorf("truth: %v", row)
	}
	if len(fetchAll(t, s, pmid+"[uid]")) != 0 {
		t.Errorf("%s is still found", pmid)
	}
	if err := s.Touch(PubMed, pmid); err == nil {
		t.Error("a deleted record could be touched")
	}
	if err := s.Touch(PubMed, "1"); err == nil {
		t.Error("an unknown record could be touched")
	}
}
