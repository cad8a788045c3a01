package sources_test

import (
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

func TestDataCite(t *testing.T) { datacitePack().run(t) }

func datacitePack() packTest {
	const (
		window = "query=updated:[2026-08-01T00:00:00.000Z TO 2026-08-02T23:59:59.999Z]"
		byDate = "dois-cursor-updated-window.json"
		byPage = "dois-page-number.json"
	)
	return packTest{
		name: "datacite",
		ops:  threeOps,
		pages: []pageWant{
			{file: byDate, items: 1, total: 1},
			{file: byPage, items: 5, total: 18666188, next: "https://api.datacite.org/dois?page%5Bnumber%5D=2&page%5Bsize%5D=5"},
			{file: "dois-empty.json", total: 0},
			{file: "doi-single.json", as: member("data", `{"data":[`, `],"meta":{"total":1}}`), items: 1, total: 1},
		},
		records: []recording{
			{byDate, "10.3204/desy-2014-00864", `
				title = THE SECOND FERMI LARGE AREA TELESCOPE CATALOG OF GAMMA-RAY PULSARS
				authors.0.family = Abdo
				authors.0.given = A. A.
				authors.0.affiliations = -
				authors.19.affiliations = Deutsches Elektronen-Synchrotron
				published = 2013
				type = Text
				doi = 10.3204/desy-2014-00864
				updated = 2019-02-03T02:31:46Z`},
			{byPage, "10.5281/zenodo.3596961", `
				title = ALSETLab/sysml.powersystems.framework: Release Linked to Zenodo
				authors# = 1
				authors.0.family = Gómez
				authors.0.given = Francis
				authors.0.affiliations = KTH Royal Institute of Technology
				type = Software
				licence = info:eu-repo/semantics/openAccess
				updated = 2020-01-02T22:21:56Z`},
			{byPage, "10.5281/zenodo.3520062", `
				title = Między zagrodą a boiskiem. Studium aktywności wiejskich klubów sportowych
				other_ids.isbn = 978-83-7683-181-7
				licence = http://creativecommons.org/licenses/by/4.0/legalcode
				type = Text`},
			{byPage, "10.15468/dl.msish2", `
				title = Occurrence Download
				authors.0 = Occdownload Gbif.Org
				authors.0.family = -
				type = Dataset
				updated = 2020-01-02T22:18:41Z`},
			{"doi-single.json", "10.5061/dryad.8515", `
				title = Data from: A new malaria agent in African hominids.
				abstract ~ Plasmodium falciparum is the major human malaria agent responsible for 200 to 300 million
				authors# = 8
				authors.0.family = Ollomo
				authors.4.given = Céline
				authors.4.affiliations = French National Centre for Scientific Research
				publisher = Dryad
				published = 2011
				language = en
				keywords = Plasmodium | malaria | taxonomy | mitochondrial genome | Parasites
				licence = https://creativecommons.org/publicdomain/zero/1.0/legalcode
				url = http://datadryad.org/stash/dataset/doi:10.5061/dryad.8515
				version = 17`},
		},
		walks: []walkWant{
			{byDate, harvest.EndNoURL, 1},
			{"dois-empty.json", harvest.EndNoURL, 0},
			{byPage, "", 5},
		},
		faults: map[string]faultWant{
			"doi-not-found-404.json": {404, "L2 STOP http_404"},
		},
		asks: []askWant{
			{source.ForSearch, "", harvest.Position{}, "/dois disable-facets=true mailto=ops@example.org page[cursor]=1 page[size]=500 " + window},
			{
				source.ForSearch, "",
				harvest.Position{URL: "https://api.datacite.org/dois?page%5Bcursor%5D=MTYwOT%3D&page%5Bsize%5D=500&query=x", Pages: 1},
				"/dois page[cursor]=MTYwOT= page[size]=500 query=x",
			},
			{source.ForCount, "", harvest.Position{}, "/dois disable-facets=true mailto=ops@example.org page[size]=0 " + window},
		},
	}
}

// A query the index rejects has errors as an object, not as a list.
func TestDataCite_QueryRejected(t *testing.T) {
	spec := compile(t, "datacite", harvest.Harvest)
	c := must(source.NewClassifier(spec))
	for _, body := range []string{`{"errors":{"title":"Failed to parse query"}}`, `{"errors":[{"status":"400","title":"x"}]}`} {
		if got := meaningOf(t, spec, c, source.ForSearch, 400, []byte(body)); got != "L2 STOP request_refused" {
			t.Errorf("%s: %s", body, got)
		}
	}
}
