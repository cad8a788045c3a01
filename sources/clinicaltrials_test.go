package sources_test

import (
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

func TestClinicalTrials(t *testing.T) { clinicaltrialsPack().run(t) }

func clinicaltrialsPack() packTest {
	const window = "filter.advanced=AREA[LastUpdatePostDate]RANGE[2026-08-01,2026-08-02] format=json"
	return packTest{
		name: "clinicaltrials",
		ops:  threeOps,
		// All but one were asked for with a list of fields that leaves the day of
		// update out.
		pages: []pageWant{
			{file: "search-p1.json", items: 5, total: 21, next: "ZVt07cGHkvI2wRk2CJf6_LLq14bEL8swd7KrgP4dnDeTsPkw", bad: 5},
			{file: "search-p2.json", items: 5, total: -1, next: "ZVt07cGHkvI2wRk2CJf6_LLq14bEL8swd7KrgP4bmjeauvk_IQ", bad: 5},
			{file: "search-last-page.json", items: 3, total: 3, bad: 3},
			{file: "search-total-only.json", items: 1, total: 598101, next: "ZVt07cGHkvI2wRk2CJf6_LLq14bEL8swd6-r3_cfnzeRvfE", bad: 1},
			{file: "search-full-records.json", items: 1, total: -1, next: "NF0g5JCEk_IgxQc"},
			{file: "study-single.json", as: inList(`{"studies":[`, `],"totalCount":1}`), items: 1, total: 1, bad: 1},
		},
		records: []recording{
			{"search-full-records.json", "NCT04280705", `
				title = A Multicenter, Adaptive, Randomized Blinded Controlled Trial of the Safety and Efficacy of Investigational Therapeutics for the Treatment of COVID-19 in Hospitalized Adults
				abstract ~ This study is an adaptive, randomized, double-blind, placebo-controlled trial
				publisher = National Institute of Allergy and Infectious Diseases (NIAID)
				published = 2020-02-21
				type = INTERVENTIONAL
				other_ids.org_study = 20-0006
				keywords# = 7
				keywords.0 = COVID-19
				keywords.1 = Adaptive
				mesh.0.term = COVID-19
				authors = -
				doi = -
				updated = 2022-03-14T04:00:00Z
				status = ACTIVE`}, // COVID-19 is a condition and a keyword; midnight in New York
			{"search-p1.json", "NCT02710084", `
				title = Piloting Treatment With Intranasal Oxytocin in Phelan-McDermid Syndrome
				problem = bad_date`},
			{"search-p2.json", "NCT07281079", `
				title = A Study of NNZ-2591 in Pediatric Participants With Phelan-McDermid Syndrome
				problem = bad_date`},
			{"study-single.json", "NCT06604689", `
				title ~ AI-guided Prognostication and Cranial Radiotherapy Optimization
				problem = bad_date`},
		},
		walks: []walkWant{
			{"search-p?.json", "", 10},
			{"search-last-page.json", harvest.EndNoToken, 3},
		},
		asks: []askWant{
			{source.ForSearch, "", harvest.Position{}, "/api/v2/studies countTotal=true " + window + " pageSize=100 sort=LastUpdatePostDate:asc"},
			{source.ForSearch, "", harvest.Position{Token: "NF0g", Pages: 1}, "/api/v2/studies countTotal=true " + window + " pageSize=100 pageToken=NF0g sort=LastUpdatePostDate:asc"},
			{source.ForCount, "", harvest.Position{}, "/api/v2/studies countTotal=true fields=NCTId " + window + " pageSize=1"},
		},
	}
}

// A page may be empty and still say that there is more.
func TestClinicalTrials_EmptyPageWithTokenGoesOn(t *testing.T) {
	spec := compile(t, "clinicaltrials", harvest.Harvest)
	page, err := decoder(t, spec, source.ForSearch).Page([]byte(`{"studies":[],"nextPageToken":"b"}`))
	if err != nil {
		t.Fatal(err)
	}
	next, end, err := spec.Paging.Step(harvest.Position{Token: "a", Pages: 1, Seen: 5, Total: new(int64(7))}, page.Facts(), func(uint64) bool { return false })
	if err != nil || end != "" || next.Token != "b" {
		t.Errorf("%+v %q %v", next, end, err)
	}
	_, end, err = spec.Paging.Step(next, harvest.PageFacts{IDs: []string{"NCT1"}}, func(uint64) bool { return false })
	if f, ok := harvest.FaultOf(err); !ok || f.Code != "total_not_reached" {
		t.Errorf("a walk that ends before its total: %q %v", end, err)
	}
}

func TestClinicalTrials_Refusals(t *testing.T) {
	spec := compile(t, "clinicaltrials", harvest.Harvest)
	c := must(source.NewClassifier(spec))
	for body, want := range map[string]string{
		"Request parameter `pageToken` has incorrect format": "L1 RESTART token_expired",
		"Unknown area name LastUpdatePostDat":                "L2 STOP request_refused",
	} {
		if got := meaningOf(t, spec, c, source.ForSearch, 400, []byte(body)); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}
