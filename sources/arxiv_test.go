package sources_test

import (
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

func TestArXiv(t *testing.T) { arxivPack().run(t) }

func arxivPack() packTest {
	const list = "oai-listrecords-cs.xml"
	return packTest{
		name: "arxiv",
		ops:  threeOps,
		pages: []pageWant{
			{file: list, items: 46, total: -1},
			{file: "oai-norecordsmatch.xml", total: -1},
		},
		records: []recording{
			{list, "oai:arXiv.org:1101.4388", `
				title = Reproducing Kernel Banach Spaces with the l1 Norm
				abstract ~ Targeting at sparse learning, we construct Banach spaces B of functions on an input space X
				authors# = 3
				authors.0 = Song, Guohui
				authors.2 = Hickernell, Fred J.
				published = 2011-01-23
				doi = 10.1016/j.acha.2012.03.009
				other_ids.arxiv = 1101.4388
				keywords = stat.ML | cs.LG | math.FA
				journal = Appl. Comput. Harmon. Anal., 34:96-116, 2013
				type = preprint
				url = https://arxiv.org/abs/1101.4388
				licence = http://arxiv.org/licenses/nonexclusive-distrib/1.0/
				updated = 2015-01-16T00:00:00Z
				status = ACTIVE`},
			{list, "oai:arXiv.org:1111.1546", `
				title = Improved Smoothed Analysis of Multiobjective Optimization
				authors.1 = Röglin, Heiko
				doi = -
				keywords = cs.DS
				published = 2011-11-07`},
		},
		walks: []walkWant{
			{list, harvest.EndNoToken, 46},
			{"oai-norecordsmatch.xml", harvest.EndNoToken, 0},
		},
		// Answers to other questions are no empty pages.
		faults: map[string]faultWant{
			"oai-record-arxivraw.xml":  {200, "shape schema"},
			"query-p1.xml":             {200, "shape schema"},
			"query-p2.xml":             {200, "shape schema"},
			"query-p3.xml":             {200, "shape schema"},
			"idlist-one.xml":           {200, "shape schema"},
			"idlist-unknown-empty.xml": {200, "shape schema"},
			"error-bad-id-400.xml":     {400, "L2 STOP http_400"},
		},
		asks: []askWant{
			{source.ForSearch, "", harvest.Position{}, "/oai from=2026-08-01 metadataPrefix=arXiv until=2026-08-02 verb=ListRecords"},
			{source.ForSearch, "", harvest.Position{Token: "a|b=1", Pages: 1}, "/oai resumptionToken=a|b=1 verb=ListRecords"},
		},
	}
}

func TestArXiv_ErrorsAndTokens(t *testing.T) {
	spec := compile(t, "arxiv", harvest.Harvest)
	c := must(source.NewClassifier(spec))
	const head = `<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><responseDate>2026-01-01T00:00:00Z</responseDate>`
	for body, want := range map[string]string{
		head + `<error code="badResumptionToken">expired</error></OAI-PMH>`: "L1 RESTART token_expired",
		head + `<error code="badArgument">from</error></OAI-PMH>`:           "L2 STOP request_refused",
		head + `<error code="InternalException">oops</error></OAI-PMH>`:     "L1 RETRY oai_error",
		head + `<error code="noRecordsMatch"/></OAI-PMH>`:                   "page",
		head + `</OAI-PMH>`: "shape schema",
		head + `<ListRecords><record></record></ListRecords>`:                   "shape cut",
		head + `<ListRecords><resumptionToken/></ListRecords></OAI-PMH>`:        "page",
		head + `<ListIdentifiers><header></header></ListIdentifiers></OAI-PMH>`: "shape schema",
	} {
		if got := meaningOf(t, spec, c, source.ForSearch, 200, []byte(body)); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	d := decoder(t, spec, source.ForSearch)
	page, err := d.Page([]byte(head + `<ListRecords>
		<record><header status="deleted"><identifier>oai:arXiv.org:1</identifier><datestamp>2026-01-01</datestamp></header></record>
		<resumptionToken expirationDate="2026-01-02T00:00:00Z">verb%3D1</resumptionToken></ListRecords></OAI-PMH>`))
	if err != nil || page.Token != "verb%3D1" || len(page.Items) != 1 {
		t.Fatalf("%+v %v", page, err)
	}
	// A deletion needs no title.
	if it := page.Items[0]; it.Problem != nil || it.Status != harvest.RecordGone || it.ID != "oai:arXiv.org:1" {
		t.Errorf("%+v", it)
	}
}
