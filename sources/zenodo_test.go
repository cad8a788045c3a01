package sources_test

import (
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

func TestZenodo(t *testing.T) { zenodoPack().run(t) }

func zenodoPack() packTest {
	const (
		window = "q=updated:[2026-08-01T00:00:00.000Z TO 2026-08-02T23:59:59.999Z]"
		two    = "search-p1-size2.json"
	)
	return packTest{
		name: "zenodo",
		ops:  threeOps,
		pages: []pageWant{
			{file: two, items: 2, total: 10, next: "https://zenodo.org/api/records/?sort=bestmatch&q=title%3A%22Frictionless+Data+Test%22&page=2&size=2"},
			{file: "search-mostrecent.json", items: 1, total: 8, next: "https://zenodo.org/api/records/?sort=mostrecent&q=creators.name%3A%22FD+Tester%22&page=2&size=1"},
			{file: "search-one-hit-no-next.json", items: 1, total: 1},
			{file: "record-single.json", as: inList(`{"hits":{"total":1,"hits":[`, `]}}`), items: 1, total: 1},
		},
		records: []recording{
			{two, "7089850", `
				title = Frictionless Data Test Publication
				authors# = 1
				authors.0 = FD Tester
				authors.0.affiliations = FD Testing
				published = 2022-09-18
				type = thesis
				doi = 10.5281/zenodo.7089850
				licence = CC-BY-4.0
				updated = 2022-09-18T14:26:16Z
				version = 2
				status = ACTIVE`},
			{two, "7078760", `
				title = Frictionless Data Test Dataset
				authors.0 = FD Tester Creator
				type = dataset
				updated = 2022-09-21T04:51:26Z
				version = 10`},
			{"search-mostrecent.json", "7097299", `
				title = Test Write File - Remote
				licence = CC0-1.0
				doi = 10.5281/zenodo.7097299`},
			{"search-one-hit-no-next.json", "7078768", `
				title = Frictionless Data Test Dataset Without Descriptor
				authors.0 = FD Testing
				abstract = This is a test dataset
				keywords = TDWD
				other_ids.concept = 7078767
				other_ids.concept_doi = 10.5281/zenodo.7078767
				url = https://zenodo.org/record/7078768`},
			{"record-single.json", "7078768", `
				doi = 10.5281/zenodo.7078768
				updated = 2022-09-17T16:58:30Z
				version = 8`},
		},
		walks: []walkWant{
			{"search-one-hit-no-next.json", harvest.EndNoURL, 1},
			{two, "", 2},
		},
		faults: map[string]faultWant{
			"search-redirect-308.html": {308, "L1 RETRY unexpected_redirect"},
		},
		asks: []askWant{
			{source.ForSearch, "", harvest.Position{}, "/api/records allversions=true page=1 " + window + " size=25 sort=-mostrecent"},
			{
				source.ForSearch, "",
				harvest.Position{URL: "https://zenodo.org/api/records?page=2&q=updated%3A%5Ba%20TO%20b%5D&size=25", Pages: 1},
				"/api/records page=2 q=updated:[a TO b] size=25",
			},
			{source.ForCount, "", harvest.Position{}, "/api/records allversions=true page=1 " + window + " size=1"},
		},
	}
}

// Too deep a page is a slice too large, and a shorter walk than the total a
// walk to begin again.
func TestZenodo_DepthAndShift(t *testing.T) {
	spec := compile(t, "zenodo", harvest.Harvest)
	c := must(source.NewClassifier(spec))
	if got := meaningOf(t, spec, c, source.ForSearch, 400, []byte(`{"status": 400, "message": "Invalid querystring parameters."}`)); got != "L1 CUT over_wall" {
		t.Error(got)
	}
	none := func(uint64) bool { return false }
	_, _, err := spec.Paging.Step(harvest.Position{}, harvest.PageFacts{IDs: []string{"1"}, Total: new(int64(10001)), URL: "x"}, none)
	if f, ok := harvest.FaultOf(err); !ok || f.Reaction != harvest.CutSlice {
		t.Errorf("got %v", err)
	}
	_, _, err = spec.Paging.Step(harvest.Position{Total: new(int64(3)), Seen: 1, Pages: 1}, harvest.PageFacts{IDs: []string{"2"}, Total: new(int64(2))}, none)
	if f, ok := harvest.FaultOf(err); !ok || f.Reaction != harvest.RestartWalk {
		t.Errorf("got %v", err)
	}
}
