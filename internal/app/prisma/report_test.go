package prisma_test

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/app/prisma"
	"github.com/papertrace/patra/internal/patratest"
)

var _ = flag.Bool("update", false, "write the golden files anew")

// hostile is a text that would leave its place in every form that a report has.
const hostile = "</text></svg><script>alert(1)</script>\n# heading\n| cell | [link](javascript:x) `code` \x1b[31m \u202e\x00"

// sample is a report of a search with one thing of everything.
func sample() prisma.Document {
	said := int64(12)
	return prisma.Document{
		Search: "insulin", Version: 2, Query: `ti:"` + hostile + `"`, From: "2020-01-01T00:00:00Z", Status: "PARTIAL", Software: "patra 1.2.3",
		Sources: []prisma.Searched{
			{
				Source: "pubmed", Name: "PubMed", Host: "https://eutils.ncbi.nlm.nih.gov", Date: "mdat", Zone: "America/New_York", From: "2020-01-01T05:00:00Z",
				To: "2026-03-09T04:00:00Z", Query: "ti:insulin", Sent: []prisma.SentValue{{Key: "text", Value: hostile}}, Request: "GET /esearch.fcgi?term=" + hostile,
				Description: "abc", Status: "COMPLETED", LastRun: "2026-03-10T15:00:09Z", Announced: &said, Received: 18, Filtered: 2, ReadAgain: 5, Quarantined: 1, BadIDs: 1,
				Kept: 10, Plans: 2, Requests: 7,
				Unread: []prisma.UnreadItem{{Kind: "quarantined", ID: hostile, Code: "bad_date", Detail: hostile}, {Kind: "bad_id", ID: "123", Code: "no_details"}},
			},
			{Source: "clinicaltrials", Name: "ClinicalTrials.gov", Register: true, Host: "https://clinicaltrials.gov", Status: "FAILED", Reason: hostile, LastRun: "2026-03-10T15:00:09Z", Uncounted: 3, Kept: 3},
		},
		Runs: []prisma.RunFacts{
			{No: 1, Status: "COMPLETED", Started: "2026-03-01T15:00:00Z", Ended: "2026-03-01T15:00:05Z", Records: 9, New: 9},
			{No: 2, Status: "PARTIAL", Started: "2026-03-10T15:00:00Z", Ended: "2026-03-10T15:00:09Z", Records: 13, New: 4},
		},
		Earlier:    []prisma.EarlierVersion{{Version: 1, Query: "ti:insuline", Sources: "pubmed", Until: "2026-03-01T14:00:00Z"}},
		Identified: map[string]int64{"pubmed": 19, "clinicaltrials": 3}, Duplicates: prisma.DuplicatesRemoved{Exact: 2, ReadAgain: 5}, Works: 11, Quarantined: 1,
		Flow: prisma.Flow{
			Databases: []prisma.FlowCount{{Name: "PubMed", N: 19, Announced: &said}}, Registers: []prisma.FlowCount{{Name: "ClinicalTrials.gov", N: 3}}, Identified: 22, Compared: true,
			Duplicates: []prisma.FlowCount{{Name: "same identifier", N: 2}},
			ReadAgain:  5, Ineligible: 2,
			Other:   []prisma.FlowCount{{Name: "Could not be read (quarantine)", N: 1}, {Name: "Without details at the source", N: 1}},
			Removed: 11, Screened: 11,
		},
	}
}

// TestReport_IsWrittenAsItWas: every form of the report, against what it was before. What
// sources and people wrote stays text in each of them.
func TestReport_IsWrittenAsItWas(t *testing.T) {
	for _, format := range prisma.Formats {
		got, err := sample().Write(format)
		if err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		patratest.Golden(t, "report."+format, got)
	}
}

// TestReport_HostileTextStaysInside: nothing that a source or a person wrote becomes a tag, a
// line or a heading of the report.
func TestReport_HostileTextStaysInside(t *testing.T) {
	form := func(format string) string {
		b, err := sample().Write(format)
		if err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		return string(b)
	}
	for _, format := range []string{"html", "svg"} {
		if text := form(format); strings.Contains(text, "<script") || strings.Contains(text, "\x1b") || strings.Contains(text, "\x00") || strings.Contains(text, "\u202e") {
			t.Errorf("%s lets hostile text out", format)
		}
	}
	in := xml.NewDecoder(strings.NewReader(form("svg")))
	for {
		_, err := in.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the diagram is no XML: %v", err)
		}
	}
	for line := range strings.SplitSeq(form("md"), "\n") {
		if strings.HasPrefix(line, "# heading") || strings.Contains(line, "[link](") || strings.Contains(line, "<script") {
			t.Errorf("Markdown lets hostile text out: %s", line)
		}
	}
	var back prisma.Document
	if err := json.Unmarshal([]byte(form("json")), &back); err != nil || back.Query != sample().Query {
		t.Errorf("%v, %q", err, back.Query)
	}
}

// TestReport_NumbersThatDoNotAddUpAreNoReport: identified is removed plus screened, and each
// is the sum of its parts.
func TestReport_NumbersThatDoNotAddUpAreNoReport(t *testing.T) {
	for what, spoil := range map[string]func(*prisma.Flow){
		"a record that is nowhere":        func(f *prisma.Flow) { f.Screened-- },
		"a record that is there twice":    func(f *prisma.Flow) { f.Screened++ },
		"a duplicate that nobody removed": func(f *prisma.Flow) { f.Duplicates[0].N++ },
		"a source that counts another":    func(f *prisma.Flow) { f.Databases[0].N-- },
		"a record that nobody filtered":   func(f *prisma.Flow) { f.Ineligible++ },
		"a record that came but once":     func(f *prisma.Flow) { f.ReadAgain++ },
	} {
		r := sample()
		spoil(&r.Flow)
		for _, format := range prisma.Formats {
			_, err := r.Write(format)
			if _, is := errors.AsType[*prisma.SumError](err); !is {
				t.Errorf("%s, as %s: %v", what, format, err)
			}
		}
	}
}

// TestSVG_LosesNoNumber: a line that a box does not hold is broken and not cut, so that each
// number of the flow stands in the diagram.
func TestSVG_LosesNoNumber(t *testing.T) {
	f := prisma.Flow{
		Identified: 20, Removed: 7, Screened: 13, Compared: true,
		Databases:  []prisma.FlowCount{{Name: "A Source Whose Name Is Longer Than Any Box Of A Diagram Can Ever Hold", N: 9}, {Name: strings.Repeat("x", 200), N: 11}},
		Duplicates: []prisma.FlowCount{{Name: "the same work by its identifiers or by a person's word", N: 7}},
	}
	drawn := prisma.Document{Search: "s", Flow: f}.SVG()
	for _, number := range []string{"n = 9)", "n = 11)", "n = 7)", "n = 13)"} {
		if !strings.Contains(drawn, number) {
			t.Errorf("%q is not in the diagram", number)
		}
	}
	for line := range strings.Lines(drawn) {
		if _, after, is := strings.Cut(line, `fill="currentColor">`); is && len(after) > 44+len("</text>\n") {
			t.Errorf("a line is longer than its box: %s", after)
		}
	}
}
