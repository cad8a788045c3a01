package sources_test

import (
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

func TestSemanticScholar(t *testing.T) { semanticscholarPack().run(t) }

func semanticscholarPack() packTest {
	const (
		window = "publicationDateOrYear=2026-08-01:2026-08-02"
		fields = "fields=paperId,corpusId,externalIds,url,title,abstract,venue,publicationVenue,year,referenceCount,openAccessPdf,publicationTypes,publicationDate,journal,authors"
	)
	return packTest{
		name: "semanticscholar",
		ops:  []harvest.Operation{harvest.Backfill, harvest.Update},
		pages: []pageWant{
			{file: "bulk-p1.json", items: 1000, total: 2674, next: "PCOKWVSKJJGM4TWNJNI3EUSQJIWVNUSRKBFEYK2JFUBHFI4VJRJU2DOMSMGIYLGMZRG4YDJMCJGS3DIN2PGJGLKNFRGYZTINZXGFELETJQJ42DKNSVRGWAOXLUJSW"},
			{file: "bulk-p2.json", items: 1000, total: 2674, next: "PCOA3RZLB2ADAEAFYCVZBJYRUVFZWLKXEGEP3VMQEAAEPOB3RSNQOKVWY7QVQBWEQVYYB5B3Z27SXVE3E2PUTJTA4ZCIKMSV4ONEXVMWLS5JVNZQYH3H55F4CTBQ"},
			{file: "bulk-p3.json", items: 674, total: 2674},
			{file: "search-p1.json", items: 100, total: 70498}, // the relevance search, in the same form
			{file: "search-p2.json", items: 100, total: 70498},
			{file: "search-date-open-end.json", items: 100, total: 1199},
			{file: "search-empty.json", total: 0},
		},
		records: []recording{
			{"bulk-p1.json", "0018ce3db8f9957b520d6b7e0cec84abfa230e1c", `
				title = Kubernetes Cluster for Automating Software Production Environment
				authors = -
				updated = 0001-01-01T00:00:00Z`},
			{"bulk-p1.json", "001e4f9693b704f9024a61bccfc00885edd560ac", `
				title = Storage events: distributed users, federation and beyond`},
			{"bulk-p2.json", "5e620a3f2211053a39a0a48a717dc65133d3a0ac", `
				title = Monitoring Container Services at the Network Edge`},
			{"bulk-p3.json", "bda0e7ae301203558e5a73efaa08eb1eab204e6e", `
				title = Mastering Service Mesh`},
			{"search-p1.json", "7cbc2a7843411a1768ab762930707af0a3c33a19", `
				title = Using DeepSpeed and Megatron to Train Megatron-Turing NLG 530B, A Large-Scale Generative Language Model`},
			{"search-date-open-end.json", "331fa9e381cd219a3961cd5ef7dda401e8751606", `
				title = A Turing test of whether AI chatbots are behaviorally similar to humans`},
		},
		walks: []walkWant{
			{"bulk-p?.json", harvest.EndNoToken, 2674},
			{"search-empty.json", harvest.EndNoToken, 0},
		},
		faults: map[string]faultWant{
			"bad-fields-400.json": {400, "L2 STOP request_refused"},
			"paper-404.json":      {404, "L2 STOP http_404"},
			"citations.json":      {200, "shape schema"}, // of another endpoint: no total
		},
		asks: []askWant{
			{source.ForSearch, "", harvest.Position{}, "/graph/v1/paper/search/bulk " + fields + " limit=1000 " + window + " sort=paperId:asc"},
			{source.ForSearch, "", harvest.Position{Token: "PCOA", Pages: 1}, "/graph/v1/paper/search/bulk " + fields + " limit=1000 " + window + " sort=paperId:asc token=PCOA"},
			{source.ForCount, "", harvest.Position{}, "/graph/v1/paper/search/bulk fields=paperId " + window},
		},
	}
}

// No whole record of the bulk search was recorded; this is the form the
// provider describes, with the ids of a recorded citation.
func TestSemanticScholar_Record(t *testing.T) {
	const body = `{"total":1,"token":null,"data":[{"paperId":"56cfe391a8bd5bb371a9922d6703de9231314b35","corpusId":289902517,
		"externalIds":{"DOI":"10.1016/J.CLBC.2026.06.016","CorpusId":289902517,"PubMed":"42501439"},"title":"Heterozygous BRCA1 SNPs","abstract":null,
		"venue":"Clinical Breast Cancer","publicationVenue":{"id":"x","name":"Clinical Breast Cancer","issn":"1526-8209"},"year":2026,"referenceCount":3,
		"publicationTypes":["JournalArticle","Review"],"publicationDate":"2026-06-01","journal":{"name":"Clinical breast cancer","pages":"\n 1-9 ","volume":"26"},
		"authors":[{"authorId":"1","name":"A. Person"}],"openAccessPdf":{"url":"","license":"CCBY"}},
		{"paperId":"b","title":"Only a year","year":1999,"publicationDate":null,"journal":null,"publicationVenue":null,"venue":""}]}`
	d := decoder(t, compile(t, "semanticscholar", harvest.Backfill), source.ForSearch)
	checkPage(t, d, []byte(body), recording{"record", "56cfe391a8bd5bb371a9922d6703de9231314b35", `
		doi = 10.1016/j.clbc.2026.06.016
		pmid = 42501439
		other_ids.corpus = 289902517
		authors = A. Person
		journal = Clinical breast cancer
		issn = 1526-8209
		volume = 26
		pages = 1-9
		published = 2026-06-01
		type = JournalArticle
		references_count = 3
		licence = CCBY
		abstract = -`}, false)
	checkPage(t, d, []byte(body), recording{"record", "b", `
		published = 1999
		journal = -`}, false)
}

// Only where nothing is found may the data be missing.
func TestSemanticScholar_DataMissing(t *testing.T) {
	spec := compile(t, "semanticscholar", harvest.Backfill)
	c := must(source.NewClassifier(spec))
	for body, want := range map[string]string{
		`{"total": 0, "offset": 0}`:                "page",
		`{"total": 0, "token": null, "data": []}`:  "page",
		`{"total": 12, "token": null, "data": []}`: "page",
		`{"total": 12, "token": null}`:             "L1 RETRY data_missing",
		`{"total":12}`:                             "L1 RETRY data_missing",
		`{"message":"Endpoint request timed out"}`: "shape schema",
		`{"error":"Internal"}`:                     "L1 RETRY error_in_reply",
	} {
		if got := meaningOf(t, spec, c, source.ForSearch, 200, []byte(body)); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}
