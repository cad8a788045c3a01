package sources_test

import (
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

func TestOpenAlex(t *testing.T) { openalexPack().run(t) }

func openalexPack() packTest {
	const (
		window = "from_updated_date:2026-08-01T00:00:00.000000,to_updated_date:2026-08-02T23:59:59.999999"
		first  = "cursor-p1.json"
		cursor = "IlsnLUluZmluaXR5JywgMCwgJ2h0dHBzOi8vb3BlbmFsZXgub3JnL1czMDQ1OTIxODkxJ10i"
	)
	single := inList(`{"meta":{"count":1,"next_cursor":null},"results":[`, `]}`)
	return packTest{
		name: "openalex",
		ops:  threeOps,
		pages: []pageWant{
			{file: first, items: 2, total: 2, next: cursor},
			{file: "cursor-p2-empty.json", total: 2},
			{file: "list-select-p1.json", items: 1, total: 145616, bad: 1}, // select left the id out
			{file: "work-singleton.json", as: single, items: 1, total: 1},
			{file: "work-singleton-2.json", as: single, items: 1, total: 1},
			{file: "work-select.json", as: single, items: 1, total: 1, bad: 1},
		},
		records: []recording{
			{first, "https://openalex.org/W3046863325", `
				title = Trends of Publications' Citations and Altmetrics Based on Open Access Types
				authors# = 2
				authors.0 = Chifumi Nishioka
				authors.0.orcid = 0000-0002-1853-3038
				authors.0.affiliations = Kyoto University, Kyoto, Japan
				authors.1 = Michael Färber
				journal = Proceedings of the ACM/IEEE Joint Conference on Digital Libraries in 2020
				issn = -
				volume = -
				pages = 503-504
				published = 2020-08-01
				type = article
				language = en
				doi = 10.1145/3383583.3398584
				other_ids.mag = 3046863325
				keywords# = 7
				keywords.0 = Altmetrics
				mesh = -
				references_count = 6
				licence = other-oa
				url = https://doi.org/10.1145/3383583.3398584
				abstract ~ This paper analyzes trends of citation and altmetrics with respect to different OA types (e.g., gold, hybrid, green). The analysis based on
				updated = 2025-11-06T03:46:38Z
				status = ACTIVE`},
			{first, "https://openalex.org/W3045921891", `
				title = Measuring prominence of scientific work in online news as a proxy for impact
				authors# = 3
				authors.0 = James Ravenscroft
				authors.0.affiliations = -
				abstract ~ The impact made by a scientific paper on the work of other academics has many established metrics, including metrics based on citation count
				doi = 10.48550/arxiv.2007.14454
				type = preprint
				published = 2020-07-28
				updated = 2025-11-06T06:51:31Z`},
			{"work-singleton.json", "https://openalex.org/W4234567890", `
				title = -
				abstract = -
				authors.0 = Bakhtiyor Rasulev
				journal = Journal of Nanotoxicology and Nanomedicine
				issn = 2379-7444 | 2379-7452
				publisher = IGI Global
				volume = 3
				issue = 1
				pages = -
				published = 2018-01-01
				status = ACTIVE`}, // is_retracted is null
			{"work-singleton-2.json", "https://openalex.org/W2162348455", `
				title = Biodiversity hotspots for conservation priorities
				authors# = 5
				authors.0 = Norman Myers
				authors.1.orcid = 0000-0002-8002-826X
				journal = Nature
				publisher = Nature Portfolio
				volume = 403
				issue = 6772
				pages = 853-858
				doi = 10.1038/35002501
				pmid = 10706275
				other_ids.pubmed = -
				mesh# = 15
				mesh.0.term = Animals
				mesh.0.major = false
				mesh.0.qualifiers = -
				references_count = 230
				updated = 2026-03-01T08:55:55Z`},
		},
		walks: []walkWant{{"cursor-p*.json", harvest.EndNoToken, 2}},
		faults: map[string]faultWant{
			"bad-filter-400.json": {400, "L2 STOP request_refused"},
			"rate-limit-401.json": {401, "L4 STOP auth_refused"},
			"work-404.html":       {404, "L2 STOP http_404"},
			"group-by.json":       {200, "shape schema"}, // no results at all
		},
		asks: []askWant{
			{source.ForSearch, "", harvest.Position{}, "/works cursor=* filter=" + window + " per_page=100"},
			{
				source.ForSearch, "type:(article OR review) NOT lang:de",
				harvest.Position{Token: cursor, Pages: 1},
				"/works cursor=" + cursor + " filter=" + window + ",type:article|review,language:!de per_page=100",
			},
			{source.ForCount, "", harvest.Position{}, "/works filter=" + window + " per_page=1 select=id"},
		},
	}
}

// The answer to a key whose plan has no dates of update: waiting mends nothing.
func TestOpenAlex_PlanRefused(t *testing.T) {
	spec := compile(t, "openalex", harvest.Harvest)
	c := must(source.NewClassifier(spec))
	for body, want := range map[string]string{
		`{"error":"Plan upgrade required","message":"..."}`:                "L4 STOP plan_refused",
		`{"error":"Rate limit exceeded","message":"...","retryAfter":300}`: "L1 RETRY http_429",
	} {
		if got := meaningOf(t, spec, c, source.ForSearch, 429, []byte(body)); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}
