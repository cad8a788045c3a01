package sources_test

import (
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

func TestEuropePMC(t *testing.T) { europepmcPack().run(t) }

func europepmcPack() packTest {
	const (
		corpora = "(SRC:MED OR SRC:PMC OR SRC:PPR OR SRC:NBK OR SRC:AGR OR SRC:PAT) AND UPDATE_DATE:[2026-08-01 TO 2026-08-02]"
		core    = "search-core-p1.json"
	)
	return packTest{
		name: "europepmc",
		ops:  threeOps,
		pages: []pageWant{
			{file: core, items: 25, total: 5059039, next: "AoIIP4ZawSg1MzEyODI1MA=="},
			{file: "search-lite-p1.json", items: 25, total: 5059039, next: "AoIIP4ZawSg1MzEyODI1MA=="},
			{file: "search-idlist.json", items: 25, total: 5059039, next: "AoIIP4ZawSg1MzEyODI1MA=="},
			{file: "search-post.json", items: 25, total: 5933343, next: "AoIIQM+luyg1MTc3NTM5Mw=="},
			{file: "search-one-pmid.json", items: 1, total: 1},
			{file: "search-not-retracted-1.json", items: 5, total: 5},
			{file: "search-not-retracted-2.json", items: 6, total: 6},
			{file: "search-empty.json", total: 0},
			{file: "cursor-chain-p01.json", items: 100, total: 5059039, next: "AoIIP4T93Cg1MzE0OTUzNA=="},
			{file: "cursor-chain-p02.json", items: 100, total: 5059039, next: "AoIIP4QUSig1MzEzNTg1NA=="},
			{file: "cursor-chain-p03.json", items: 100, total: 5059039, next: "AoIIP4OKzyg1MzE3ODI1Mg=="},
			{file: "cursor-chain-p04.json", items: 100, total: 5059039, next: "AoIIP4Mocig1MzEwMzgzMA=="},
		},
		records: []recording{
			{core, "39709209", `
				title = Abscopal response in a patient with fibrolamellar hepatocellular carcinoma following radiotherapy.
				authors# = 3
				authors.0 = Schoenfeld, Jonathan D
				authors.2 = O'Neill, Allison F
				authors.0.affiliations ~ Department of Radiation Oncology, Brigham and Women's Hospital
				journal = Lancet (London, England)
				journal_abbrev = Lancet
				issn = 0140-6736 | 1474-547X
				volume = 404
				issue = 10471
				pages = 2603-2604
				published = 2025-12-01
				type = Journal Article
				language = eng
				doi = 10.1016/s0140-6736(24)02600-x
				pmid = 39709209
				pmcid = -
				other_ids.corpus = MED
				other_ids.nlm_journal = 2985213R
				url = https://doi.org/10.1016/S0140-6736(24)02600-X
				abstract = -
				updated = 0001-01-01T00:00:00Z
				status = ACTIVE`},
			{core, "39709208", `
				title = Department of Error.
				authors = -
				type = Published Erratum
				corrects = 39293462
				retracted_by = -
				pmcid = PMC12124214
				other_ids.manuscript = NIHPA2075201
				status = ACTIVE`},
			{core, "40468710", `
				authors# = 7
				authors.0 = Al-Abbadey, Miznah
				authors.0.orcid = 0000-0002-6307-9196
				authors.0.affiliations.1 = Chronic Pain Service, Hampshire and Isle of Wight NHS Foundation Trust, Hampshire, England.
				licence = cc by
				abstract.0 = Objective
				abstract.1 ~ This study investigated whether psychological flexibility
				keywords# = 6
				keywords.0 = Cancer
				mesh.0.term = Humans
				mesh.0.major = false
				mesh.1.term = Neoplasms
				mesh.1.major = true
				mesh.1.qualifiers = psychology | therapy
				published = 2025-09-01
				pages = e12807`},
			{core, "39038316", `
				doi = -
				volume = 31
				published = 2025-07-01`},
			{"search-not-retracted-2.json", "PMC11627200", `
				title ~ Abstracts from the 57th European Society of Human Genetics
				other_ids.corpus = PMC`},
			{"search-one-pmid.json", "20516115", `
				title = Comprehensive analysis of missense variations in the BRCT domain of BRCA1 by structural and functional assays.
				doi = 10.1158/0008-5472.can-09-4563
				pmcid = PMC3040717
				published = 2010-06-01`},
			{"search-not-retracted-1.json", "28779002", `
				title ~ Rare, protein-truncating variants in ATM,`}, // markup escaped twice
		},
		walks: []walkWant{
			{"cursor-chain-p*.json", "", 400},
			{"search-empty.json", harvest.EndEmpty, 0},
		},
		faults: map[string]faultWant{
			"supplementary-not-open-access.xml": {200, "L1 RETRY error_bean"},
		},
		asks: []askWant{
			{source.ForSearch, "", harvest.Position{}, `/europepmc/webservices/rest/search cursorMark=* format=json pageSize=500
				query=` + corpora + ` resultType=core synonym=false`},
			{source.ForSearch, `tiab:"breast cancer" NOT type:review NOT oa:true`, harvest.Position{Token: "AoI+/=", Pages: 1}, `/europepmc/webservices/rest/search
				cursorMark=AoI+/= format=json pageSize=500 query=(TITLE_ABS:"breast cancer" NOT OPEN_ACCESS:y) AND ` + corpora + ` resultType=core synonym=false`},
			{source.ForCount, "", harvest.Position{}, `/europepmc/webservices/rest/search format=json pageSize=1
				query=` + corpora + ` resultType=idlist synonym=false`},
		},
	}
}

// The cursor that was sent coming back is the end, with or without items.
func TestEuropePMC_RepeatedCursorEnds(t *testing.T) {
	spec := compile(t, "europepmc", harvest.Harvest)
	_, end, err := spec.Paging.Step(harvest.Position{Token: "AoI", Pages: 3, Seen: 2}, harvest.PageFacts{Token: "AoI", IDs: nil}, func(uint64) bool { return false })
	if err != nil || end != harvest.EndEmpty {
		t.Errorf("%q %v", end, err)
	}
	_, end, err = spec.Paging.Step(harvest.Position{Token: "AoI", Pages: 3, Seen: 2}, harvest.PageFacts{Token: "AoI", IDs: []string{"1"}}, func(uint64) bool { return false })
	if err != nil || end != harvest.EndRepeat {
		t.Errorf("%q %v", end, err)
	}
}

// An error with status 200 is never an empty page.
func TestEuropePMC_ErrorInGoodReply(t *testing.T) {
	spec := compile(t, "europepmc", harvest.Harvest)
	c := must(source.NewClassifier(spec))
	for body, want := range map[string]string{
		`{"errCode":404,"errMsg":"Something went wrong"}`:                                       "L1 RETRY error_bean",
		`{"version":"6.9","errCode":404,"errMsg":"Invalid pageSize: 1001. It must be <= 1000"}`: "L2 STOP request_refused",
	} {
		if got := meaningOf(t, spec, c, source.ForSearch, 200, []byte(body)); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}
