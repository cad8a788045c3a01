package sources_test

import (
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

func TestDOAJ(t *testing.T) { doajPack().run(t) }

func doajPack() packTest {
	const (
		path = "/api/search/articles/last_updated:[2026-08-01T00:00:00Z TO 2026-08-02T23:59:59Z]"
		ten  = "articles-p1-size10.json"
	)
	return packTest{
		name: "doaj",
		ops:  threeOps,
		pages: []pageWant{
			{file: ten, items: 10, total: 5412874},
			{file: "articles-p1-size2.json", items: 2, total: 5412874},
			{file: "article-single.json", as: inList(`{"total":1,"results":[`, `]}`), items: 1, total: 1},
			{file: "journals-p1.json", items: 10, total: 112}, // of another endpoint, in the same form
		},
		records: []recording{
			{ten, "00000b689df5492bb15d3ec8927a4f6d", `
				title = Brain insulin sensitivity is linked to adiposity and body fat distribution
				abstract ~ Brain insulin action regulates eating behavior and whole-body energy fluxes, however the impact
				authors# = 9
				authors.0 = Stephanie Kullmann
				authors.3.affiliations = Emergency Department, Marienhospital Stuttgart, Vinzenz von Paul Kliniken
				journal = Nature Communications
				issn = 2041-1723
				publisher = Nature Publishing Group
				volume = 11
				issue = 1
				pages = 1-6
				published = 2020-04
				language = EN
				doi = 10.1038/s41467-020-15686-y
				keywords = Science
				licence = CC BY
				url = http://link.springer.com/article/10.1038/s41467-020-15686-y
				updated = 2020-11-25T02:27:47Z
				status = ACTIVE`},
			{ten, "00000d914fd04a18adf84e756444ec98", `
				authors.0 = Mitidieri, André Luis
				doi = -
				issn.0 = 0101-3335
				pages = 431-440
				published = 2013-01`},
			{ten, "00001149f7964522953b91582f289cfc", `
				title = Memória, História Oral e Patrimônio Imaterial Afro-brasileiro: teoria, práxis
				published = 2017-03
				pages = -
				doi = 10.22481/odeere.v0i2.1555`}, // the month is a name
			{ten, "00001cb7350c4c5ba3cefe297098f736", `
				published = 2013
				journal = Cell Journal
				issn = 2228-5806 | 2228-5814`},
			{"article-single.json", "0005e11ec616453f854070069385e057", `
				title = Where in the brain are the genes expressed
				authors.1 = Ilya Zaslavsky
				authors.1.affiliations = San Diego Supercomputer Center, UCSD
				doi = 10.3389/neuro.11.009.2007
				updated = 2020-11-24T23:35:43Z`},
		},
		asks: []askWant{
			{source.ForSearch, "", harvest.Position{}, path + " page=1 pageSize=100"},
			{source.ForCount, "", harvest.Position{}, path + " page=1 pageSize=1"},
		},
	}
}

// One page is all of a slice, or the slice is cut.
func TestDOAJ_OnePageOrCut(t *testing.T) {
	spec := compile(t, "doaj", harvest.Harvest)
	none := func(uint64) bool { return false }
	two := harvest.PageFacts{IDs: []string{"a", "b"}, Total: new(int64(2))}
	if _, end, err := spec.Paging.Step(harvest.Position{}, two, none); err != nil || end != harvest.EndTotal {
		t.Errorf("%q %v", end, err)
	}
	two.Total = new(int64(101))
	_, _, err := spec.Paging.Step(harvest.Position{}, two, none)
	if f, ok := harvest.FaultOf(err); !ok || f.Reaction != harvest.CutSlice {
		t.Errorf("got %v", err)
	}
	c := must(source.NewClassifier(spec))
	for body, want := range map[string]string{
		`{"status":"bad_request","error":"You cannot access results beyond 1000 records via this API. Please see the data dump or OAI-PMH (ref: x)"}`: "L1 CUT over_wall",
		`{"status":"bad_request","error":"Query contains disallowed Lucene features (ref: x)"}`:                                                       "L2 STOP request_refused",
	} {
		if got := meaningOf(t, spec, c, source.ForSearch, 400, []byte(body)); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}
