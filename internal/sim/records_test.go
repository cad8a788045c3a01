package sim

import (
	"encoding/json"
	"encoding/xml"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"
)

func TestSameSeedSameBytes(t *testing.T) {
	at := func(seed uint64, steps ...time.Duration) *Sim {
		s := open(t, Config{Seed: seed, Records: 80})
		for _, d := range steps {
			s.Advance(d)
		}
		return s
	}
	once, again := at(5, 48*time.Hour), at(5, 48*time.Hour)
	steps := at(5, 90*time.Minute, time.Second, 22*time.Hour+29*time.Minute+59*time.Second, 24*time.Hour)
	other := at(6, 48*time.Hour)
	for _, source := range Upstreams {
		rows := slices.Collect(once.Truth(source))
		if !slices.Equal(rows, slices.Collect(again.Truth(source))) {
			t.Errorf("%s: same seed, other truth", source)
		}
		if !slices.Equal(rows, slices.Collect(steps.Truth(source))) {
			t.Errorf("%s: smaller steps of the clock, other truth", source)
		}
		if slices.Equal(rows, slices.Collect(other.Truth(source))) {
			t.Errorf("%s: other seed, same truth", source)
		}
	}
}

func TestCrossrefItemsAreWhatTheyClaim(t *testing.T) {
	s := open(t, Config{Records: 1500, Sources: []string{Crossref}})
	s.Advance(5 * 24 * time.Hour)
	want := truth(s, Crossref)
	var total, abstracts, nulls, groupAuthors, orcids, notices, retracted, escapes int
	for doi, raw := range walkWorks(t, s, "rows", "500") {
		var item struct {
			DOI     string
			Type    string
			Title   []string
			Indexed struct {
				DateTime  time.Time `json:"date-time"`
				Timestamp int64
			}
			Author []struct {
				Name, Family string
				ORCID        string
			}
			Issued struct {
				Parts [][]*int `json:"date-parts"`
			}
			Abstract  string
			UpdateTo  []struct{ DOI, Type string } `json:"update-to"`
			UpdatedBy []struct{ DOI, Type string } `json:"updated-by"`
			Relation  map[string]any
		}
		if err := json.Unmarshal(raw, &item); err != nil {
			t.Fatalf("%s: %v", doi, err)
		}
		total++
		if row := want[doi]; !row.UpdatedAt.Equal(item.Indexed.DateTime) || item.Indexed.Timestamp/1000 != row.UpdatedAt.Unix() {
			t.Errorf("%s: indexed %v / %d, truth says %v", doi, item.Indexed.DateTime, item.Indexed.Timestamp, row.UpdatedAt)
		}
		if item.DOI != lower(item.DOI) {
			t.Errorf("%s is not lower case", item.DOI)
		}
		if item.Abstract != "" {
			abstracts++
		}
		if item.Issued.Parts[0][0] == nil {
			nulls++
		}
		for _, a := range item.Author {
			if a.Name != "" {
				groupAuthors++
			}
			if a.ORCID != "" {
				orcids++
			}
		}
		for _, u := range item.UpdateTo {
			notices++
			if _, ok := want[u.DOI]; !ok {
				t.Errorf("notice %s is about %s, which is not there", doi, u.DOI)
			}
		}
		for _, u := range item.UpdatedBy {
			retracted++
			if _, ok := want[u.DOI]; !ok {
				t.Errorf("%s was retracted by %s, which is not there", doi, u.DOI)
			}
		}
		if json.Valid(raw) && slices.Contains(raw, '\\') {
			escapes++
		}
		if got := get(s, "/crossref/works/"+escapeDOI(doi)); got.Code != 200 {
			t.Errorf("single %s: %d", doi, got.Code)
		}
	}
	t.Logf("%d works: %d abstracts, %d without date, %d groups, %d ORCIDs, %d notices, %d retracted, %d with escapes",
		total, abstracts, nulls, groupAuthors, orcids, notices, retracted, escapes)
	if math.Abs(float64(abstracts)/float64(total)-.5) > .06 {
		t.Errorf("%d of %d works have an abstract", abstracts, total)
	}
	for what, n := range map[string]int{"null dates": nulls, "groups": groupAuthors, "ORCIDs": orcids, "notices": notices, "retracted": retracted, "escapes": escapes} {
		if n == 0 {
			t.Errorf("no %s among %d works", what, total)
		}
	}
}

func escapeDOI(doi string) string {
	var b []byte
	for k := range len(doi) {
		if c := doi[k]; isLetter(c) || c >= '0' && c <= '9' || c == '.' || c == '/' {
			b = append(b, c)
		} else {
			b = append(b, '%', "0123456789ABCDEF"[c>>4], "0123456789ABCDEF"[c&15])
		}
	}
	return string(b)
}

type medlineDate struct{ Year, Month, Day int }

func (d medlineDate) at() time.Time {
	return time.Date(d.Year, time.Month(d.Month), d.Day, 0, 0, 0, 0, eastern).UTC()
}

func TestPubMedRecordsAreWhatTheyClaim(t *testing.T) {
	s := open(t, Config{Records: 1500, Sources: []string{PubMed}})
	s.Advance(5 * 24 * time.Hour)
	want := truth(s, PubMed)
	var total, size, books, undated, retractions, references, collective, medline int
	for pmid, raw := range fetchAll(t, s, "all[sb]") {
		var item struct {
			XMLName  xml.Name
			Revised  *medlineDate `xml:"MedlineCitation>DateRevised"`
			BookDate *medlineDate `xml:"BookDocument>DateRevised"`
			History  []struct {
				Status string `xml:"PubStatus,attr"`
				medlineDate
			} `xml:"PubmedData>History>PubMedPubDate"`
			PubDate    string   `xml:"MedlineCitation>Article>Journal>JournalIssue>PubDate>MedlineDate"`
			Collective []string `xml:"MedlineCitation>Article>AuthorList>Author>CollectiveName"`
			Updates    []struct {
				RefType string `xml:",attr"`
				PMID    string
			} `xml:"MedlineCitation>CommentsCorrectionsList>CommentsCorrections"`
			References []string `xml:"PubmedData>ReferenceList>Reference>Citation"`
		}
		if err := xml.Unmarshal(raw, &item); err != nil {
			t.Fatalf("%s: %v", pmid, err)
		}
		total++
		size += len(raw)
		at := item.Revised
		if item.XMLName.Local == "PubmedBookArticle" {
			books++
			at = item.BookDate
		}
		if at == nil {
			undated++
			for _, h := range item.History {
				if h.Status == "entrez" {
					at = &h.medlineDate
				}
			}
		}
		if row := want[pmid]; !row.UpdatedAt.Equal(at.at()) {
			t.Errorf("%s: dated %v, truth says %v", pmid, at.at(), row.UpdatedAt)
		}
		for _, u := range item.Updates {
			if u.RefType == "RetractionOf" || u.RefType == "RetractionIn" {
				retractions++
				if _, ok := want[u.PMID]; !ok {
					t.Errorf("%s %s %s, which is not there", pmid, u.RefType, u.PMID)
				}
			}
		}
		if len(item.References) > 0 {
			references++
		}
		if len(item.Collective) > 0 {
			collective++
		}
		if item.PubDate != "" {
			medline++
		}
	}
	t.Logf("%d records of %d bytes: %d books, %d undated, %d retractions, %d with references, %d collective, %d MedlineDate",
		total, size/total, books, undated, retractions, references, collective, medline)
	for what, n := range map[string]int{"books": books, "undated": undated, "retractions": retractions, "references": references, "collective": collective, "MedlineDate": medline} {
		if n == 0 || n == total {
			t.Errorf("%d %s among %d records", n, what, total)
		}
	}
}

func TestVolatileChangesTouchOnlyVolatileParts(t *testing.T) {
	s := open(t, Config{Sources: []string{Crossref}})
	doi := string(s.upstreams[Crossref].appendID(nil, 11))
	load := func() map[string]any {
		var work struct{ Message map[string]any }
		if err := json.Unmarshal(get(s, "/crossref/works/"+escapeDOI(doi)).Body.Bytes(), &work); err != nil {
			t.Fatal(err)
		}
		return work.Message
	}
	s.Advance(time.Hour)
	before := load()
	if err := s.TouchVolatile(Crossref, doi); err != nil {
		t.Fatal(err)
	}
	after := load()
	for name := range after {
		a, _ := json.Marshal(before[name])
		b, _ := json.Marshal(after[name])
		volatile := name == "indexed" || name == "is-referenced-by-count" || name == "score"
		if (string(a) == string(b)) == volatile {
			t.Errorf("%s: %s, then %s", name, a, b)
		}
	}
	if err := s.Touch(Crossref, doi); err != nil {
		t.Fatal(err)
	}
	if a, b := after["title"], load()["title"]; after["type"] != "component" && slices.Equal(a.([]any), b.([]any)) {
		t.Errorf("title still %v after a change", a)
	}
}

func TestIdsLeadBackToTheirRecords(t *testing.T) {
	s := open(t, Config{Records: 1})
	for name, up := range s.upstreams {
		for i := range uint32(3000) {
			id := string(up.appendID(nil, i*37))
			if got, ok := up.find(id); !ok || got != i*37 {
				t.Fatalf("%s %s: found %d, %v", name, id, got, ok)
			}
		}
		for _, id := range []string{"", "x", "10.1/1", "30000000", "g-1", "10.99001/j.sim.2019.0000000x", strconv.Itoa(math.MaxInt)} {
			if i, ok := up.find(id); ok {
				t.Errorf("%s %q: found %d", name, id, i)
			}
		}
	}
}
