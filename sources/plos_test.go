package sources_test

import (
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

func TestPLOS(t *testing.T) { plosPack().run(t) }

func plosPack() packTest {
	const (
		window = "fq=doc_type:full AND publication_date:[2026-08-01T00:00:00Z TO 2026-08-02T23:59:59Z]"
		fields = "fl=id,publication_date,title,title_display,author_display,abstract,journal,cross_published_journal_name,eissn,publisher,volume,issue,elocation_id,article_type,subject"
		byDate = "date-window.json"
	)
	return packTest{
		name: "plos",
		ops:  threeOps,
		pages: []pageWant{
			{file: byDate, items: 466, total: 466},
			{file: "search-p1.json", items: 2, total: 51686},
			{file: "search-count-only.json", total: 51686},
			{file: "search-filter.json", items: 9, total: 483, bad: 9},           // fl without the date
			{file: "search-deep-start.json", items: 15, total: 2341967, bad: 15}, // and sections of articles
		},
		records: []recording{
			{byDate, "10.1371/journal.pone.0122673", `
				title = Health Service Utilization for Mental, Behavioural and Emotional Problems among Conflict-Affected Population in Georgia: A Cross-Sectional Study
				authors# = 8
				authors.0 = Ivdity Chikovani
				authors.7 = Bayard Roberts
				journal = PLOS ONE
				volume = 10
				issue = 4
				pages = e0122673
				published = 2015-04-08
				doi = 10.1371/journal.pone.0122673
				updated = 2015-04-08T00:00:00Z
				status = ACTIVE`},
			{byDate, "10.1371/journal.pone.0121536", `
				title = Effectiveness of a Pilot Partner Notification Program for New HIV Cases in Barcelona, Spain
				authors# = 11
				authors.2 = María Jesús Barberà
				published = 2015-04-07`},
			{byDate, "10.1371/journal.pone.0122923", `
				title = Smarter than Others? Conjectures in Lowest Unique Bid Auctions
				authors.3 = Qinghua Chen`},
			{"search-p1.json", "10.1371/journal.pone.0001248", `
				title = -
				published = 2007-11-28
				updated = 2007-11-28T00:00:00Z`},
			{"search-filter.json", "10.1371/journal.pone.0149852", `
				journal = PLOS ONE
				problem = bad_date`},
		},
		walks: []walkWant{
			{byDate, harvest.EndTotal, 466},
			{"search-p1.json", "", 2},
		},
		faults: map[string]faultWant{
			"bad-field-400.json": {400, "L2 STOP request_refused"},
		},
		asks: []askWant{
			{source.ForSearch, "", harvest.Position{}, "/search " + fields + " " + window + " q=*:* rows=500 sort=id asc start=0 wt=json"},
			{source.ForSearch, "", harvest.Position{Offset: 499, LastID: "x", Pages: 1}, "/search " + fields + " " + window + " q=*:* rows=500 sort=id asc start=499 wt=json"},
			{source.ForCount, "", harvest.Position{}, "/search " + window + " q=*:* rows=0 wt=json"},
		},
	}
}

// The recorded error has documents beside it: with status 200 it would still
// be no page.
func TestPLOS_ErrorBesideDocuments(t *testing.T) {
	spec := compile(t, "plos", harvest.Harvest)
	c := must(source.NewClassifier(spec))
	if got := meaningOf(t, spec, c, source.ForSearch, 200, read(t, "plos/bad-field-400.json")); got != "L1 RETRY solr_error" {
		t.Error(got)
	}
}
