package sim

import (
	"bytes"
	"encoding/xml"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// oaiPage is an answer of /generic/oai.
type oaiPage struct {
	XMLName xml.Name `xml:"http://www.openarchives.org/OAI/2.0/ OAI-PMH"`
	Error   struct {
		Code string `xml:"code,attr"`
	} `xml:"error"`
	Identify struct {
		Granularity       string `xml:"granularity"`
		EarliestDatestamp string `xml:"earliestDatestamp"`
		DeletedRecord     string `xml:"deletedRecord"`
	}
	ListRecords     oaiPart
	ListIdentifiers oaiPart
	GetRecord       oaiPart
	raw             []byte
}

type oaiPart struct {
	Record []struct {
		Header   oaiTop `xml:"header"`
		Metadata *struct {
			DC struct {
				Title string `xml:"http://purl.org/dc/elements/1.1/ title"`
			} `xml:"http://www.openarchives.org/OAI/2.0/oai_dc/ dc"`
		} `xml:"metadata"`
	} `xml:"record"`
	Header []oaiTop `xml:"header"`
	Token  *struct {
		Text   string `xml:",chardata"`
		Size   string `xml:"completeListSize,attr"`
		Cursor string `xml:"cursor,attr"`
		Until  string `xml:"expirationDate,attr"`
	} `xml:"resumptionToken"`
}

type oaiTop struct {
	Status     string `xml:"status,attr"`
	Identifier string `xml:"identifier"`
	Datestamp  string `xml:"datestamp"`
}

func oaiAsk(t *testing.T, s *Sim, pairs ...string) oaiPage {
	t.Helper()
	a := get(s, "/generic/oai", pairs...)
	var p oaiPage
	if err := xml.Unmarshal(a.Body.Bytes(), &p); err != nil || a.Code != 200 {
		t.Fatalf("%v: %d %v %.300s", pairs, a.Code, err, a.Body)
	}
	p.raw = a.Body.Bytes()
	return p
}

// oaiWalk lists records to the end and returns their bytes by identifier.
func oaiWalk(t *testing.T, s *Sim, first ...string) (out map[string][]byte, pages []oaiPage) {
	t.Helper()
	out = map[string][]byte{}
	pairs := append([]string{"verb", "ListRecords", "metadataPrefix", "oai_dc"}, first...)
	for range 100 {
		p := oaiAsk(t, s, pairs...)
		pages = append(pages, p)
		rest := p.raw
		for _, r := range p.ListRecords.Record {
			from := bytes.Index(rest, []byte("<record>"))
			to := bytes.Index(rest, []byte("</record>")) + len("</record>")
			if _, twice := out[r.Header.Identifier]; twice {
				t.Errorf("%s came twice", r.Header.Identifier)
			}
			out[r.Header.Identifier] = bytes.Clone(rest[from:to])
			rest = rest[to:]
		}
		if p.ListRecords.Token == nil || p.ListRecords.Token.Text == "" {
			return out, pages
		}
		pairs = []string{"verb", "ListRecords", "resumptionToken", p.ListRecords.Token.Text}
		for k := 0; k < len(first); k += 2 {
			if first[k] != "from" && first[k] != "until" && first[k] != "size" {
				pairs = append(pairs, first[k], first[k+1])
			}
		}
	}
	t.Fatal("no end")
	return nil, nil
}

func TestOAIServesEverythingAndItsDeletions(t *testing.T) {
	for granularity, layout := range map[string]string{"second": time.RFC3339, "day": time.DateOnly} {
		s := open(t, Config{Sources: []string{Generic}, Churn: &Churn{}, Generic: GenericStyle{Format: "oai", Granularity: granularity}})
		s.Advance(time.Hour)
		for _, id := range []string{"g-00000003", oaiPrefix + "g-00000044"} {
			if err := s.Delete(Generic, id); err != nil {
				t.Fatal(err)
			}
		}
		got, pages := oaiWalk(t, s, "size", "70")
		want := truth(s, Generic)
		if len(got) != 300 || len(want) != 300 || len(pages) != 5 {
			t.Errorf("%d records in %d pages, truth has %d", len(got), len(pages), len(want))
		}
		for k, p := range pages {
			token := p.ListRecords.Token
			if token == nil || token.Size != "300" || (token.Text == "") != (k == 4) || (token.Until == "") != (k == 4) {
				t.Errorf("page %d: token %+v", k, token)
			}
			for _, r := range p.ListRecords.Record {
				row := want[r.Header.Identifier]
				at, err := time.Parse(layout, r.Header.Datestamp)
				if err != nil || !at.Equal(row.UpdatedAt) || sum(got[row.ID]) != row.RawSHA256 {
					t.Errorf("%v: %s", row, got[row.ID])
				}
				if (r.Header.Status == "deleted") != row.Deleted || (r.Metadata == nil) != row.Deleted || r.Metadata != nil && r.Metadata.DC.Title == "" {
					t.Errorf("%v: %s", row, got[row.ID])
				}
			}
		}
		deleted := 0
		for _, row := range want {
			if row.Deleted {
				deleted++
			}
		}
		if deleted != 2 {
			t.Errorf("%d deleted", deleted)
		}
	}
}

func TestOAIWindows(t *testing.T) {
	s := open(t, Config{Sources: []string{Generic}, Churn: &Churn{}})
	at := time.Date(2024, 5, 30, 23, 59, 59, 999999000, time.UTC)
	id, err := s.AddLate(Generic, at, s.Now())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]TruthRow{}
	for row := range must(s.GenericTruth(url.Values{"format": {"oai"}})) {
		all[row.ID] = row
	}
	for _, c := range []struct{ granularity, from, until string }{
		{"second", "2024-05-30", "2024-05-30"},
		{"day", "2024-05-30", "2024-05-30"},
		{"second", "2024-05-30T00:00:00Z", "2024-05-30T23:59:59Z"},
	} {
		got, _ := oaiWalk(t, s, "granularity", c.granularity, "from", c.from, "until", c.until, "size", "3")
		want := 0
		for _, row := range all {
			if row.UpdatedAt.Format(time.DateOnly) == "2024-05-30" {
				want++
			}
		}
		if _, ok := got[oaiPrefix+id]; !ok || len(got) != want || want < 4 {
			t.Errorf("%+v: %d records, want %d", c, len(got), want)
		}
	}
	if got, _ := oaiWalk(t, s, "from", "2024-05-30T23:59:59Z", "until", "2024-05-30T23:59:59Z"); len(got) == 0 {
		t.Error("until is not included")
	}
}

func TestOAIErrors(t *testing.T) {
	s := open(t, Config{Sources: []string{Generic}})
	list := []string{"verb", "ListRecords", "metadataPrefix", "oai_dc"}
	token := oaiAsk(t, s, list...).ListRecords.Token.Text
	for _, c := range []struct {
		code  string
		pairs []string
	}{
		{"noRecordsMatch", append(list, "until", "2000-01-01")},
		{"badVerb", []string{"verb", "Shoes"}},
		{"badVerb", nil},
		{"badArgument", []string{"verb", "ListRecords"}},
		{"badArgument", append(list, "from", "yesterday")},
		{"badArgument", append(list, "from", "2024-05-02", "until", "2024-05-01")},
		{"badArgument", append(list, "from", "2024-05-02", "until", "2024-05-03T00:00:00Z")},
		{"badArgument", append(list, "from", "2024-05-02T00:00:00Z", "granularity", "day")},
		{"badArgument", append(list, "metadataPrefix", "oai_dc")},
		{"badArgument", append(list, "resumptionToken", token)},
		{"badArgument", []string{"verb", "ListRecords", "resumptionToken", token, "from", "2024-05-02"}},
		{"badResumptionToken", []string{"verb", "ListRecords", "resumptionToken", "nonsense"}},
		{"cannotDisseminateFormat", []string{"verb", "ListRecords", "metadataPrefix", "marc"}},
		{"noSetHierarchy", []string{"verb", "ListSets"}},
		{"noSetHierarchy", append(list, "set", "a")},
		{"idDoesNotExist", []string{"verb", "GetRecord", "metadataPrefix", "oai_dc", "identifier", "g-00000001"}},
		{"", []string{"verb", "ListRecords", "resumptionToken", token}},
	} {
		if p := oaiAsk(t, s, c.pairs...); p.Error.Code != c.code {
			t.Errorf("%v: %q, want %q", c.pairs, p.Error.Code, c.code)
		}
	}
	p := oaiAsk(t, s, "verb", "GetRecord", "metadataPrefix", "oai_dc", "identifier", oaiPrefix+"g-00000001")
	if len(p.GetRecord.Record) != 1 || p.GetRecord.Record[0].Header.Identifier != oaiPrefix+"g-00000001" {
		t.Errorf("%s", p.raw)
	}
	if p := oaiAsk(t, s, "verb", "Identify", "granularity", "day").Identify; p.Granularity != "YYYY-MM-DD" || len(p.EarliestDatestamp) != 10 || p.DeletedRecord != "persistent" {
		t.Errorf("%+v", p)
	}
	if p := oaiAsk(t, s, "verb", "ListIdentifiers", "metadataPrefix", "oai_dc").ListIdentifiers; len(p.Header) != 50 || len(p.Record) != 0 {
		t.Errorf("%d headers", len(p.Header))
	}
	if a := post(s, "/generic/oai", url.Values{"verb": {"ListRecords"}, "metadataPrefix": {"oai_dc"}}); !strings.Contains(a.Body.String(), "<record>") {
		t.Errorf("POST: %.300s", a.Body)
	}
}

func TestOAITokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, Config{Sources: []string{Generic}, CursorLife: 2 * time.Minute})
		first := oaiAsk(t, s, "verb", "ListRecords", "metadataPrefix", "oai_dc").ListRecords
		next := []string{"verb", "ListRecords", "resumptionToken", first.Token.Text}
		if first.Token.Until != "2024-06-01T12:02:00Z" || first.Token.Cursor != "0" {
			t.Errorf("%+v", first.Token)
		}
		once, again := oaiAsk(t, s, next...), oaiAsk(t, s, next...)
		if string(once.raw) != string(again.raw) {
			t.Error("the same token, another page")
		}
		s.Script(Script{Fault: CursorExpired})
		if p := oaiAsk(t, s, next...); p.Error.Code != "badResumptionToken" {
			t.Errorf("fault: %q", p.Error.Code)
		}
		oaiAsk(t, s, "verb", "ListRecords", "metadataPrefix", "oai_dc")
		time.Sleep(2 * time.Minute)
		if p := oaiAsk(t, s, next...); p.Error.Code != "badResumptionToken" {
			t.Errorf("too late: %q", p.Error.Code)
		}
		if a := get(s, "/generic/oai", append(next, "expired", "422")...); a.Code != 422 {
			t.Errorf("expired=422: %d", a.Code)
		}

		s.Script(Script{Fault: ShortPage}, Script{Fault: EmptyMiddlePage, After: 1}, Script{Fault: TotalWrong, After: 1})
		got, pages := oaiWalk(t, s, "size", "50", "end", "absent")
		if len(got) != 300 || pages[len(pages)-1].ListRecords.Token != nil || s.Scripted() != 0 {
			t.Errorf("%d records in %d pages", len(got), len(pages))
		}
		if _, pages := oaiWalk(t, s, "size", "150", "total", "first"); pages[0].ListRecords.Token.Size != "300" || pages[1].ListRecords.Token.Size != "" {
			t.Error("the total is not on the first page only")
		}
		for end, tokens := range map[string]int{"stall": 6, "stuck": 1} {
			seen, pairs := map[string]bool{}, []string{"verb", "ListRecords", "metadataPrefix", "oai_dc", "end", end}
			for k := range 6 {
				p := oaiAsk(t, s, pairs...).ListRecords
				if n := len(p.Record); n == 0 && (end == "stuck" || k == 0) || n > 0 && end == "stall" && k > 0 {
					t.Errorf("%s: page %d has %d records", end, k, n)
				}
				seen[p.Token.Text] = true
				pairs = []string{"verb", "ListRecords", "resumptionToken", p.Token.Text, "end", end}
			}
			if len(seen) != tokens {
				t.Errorf("%s: %d tokens", end, len(seen))
			}
		}
	})
}
