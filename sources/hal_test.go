package sources_test

import (
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

func TestHAL(t *testing.T) { halPack().run(t) }

func halPack() packTest {
	const (
		window = "fq=modifiedDate_tdate:[2026-08-01T00:00:00.000Z TO 2026-08-02T23:59:59.999Z]"
		fields = "fl=docid,halId_s,version_i,uri_s,modifiedDate_tdate,title_s,subTitle_s,abstract_s,authFullName_s,journalTitle_s,journalIssn_s,journalEissn_s,journalPublisher_s,publisher_s,bookTitle_s,conferenceTitle_s,volume_s,issue_s,page_s,producedDate_s,publicationDate_s,docType_s,language_s,doiId_s,pubmedId_s,pubmedcentralId_s,arxivId_s,isbn_s,nntId_s,keyword_s,licence_s"
		file   = "search-author.json"
	)
	return packTest{
		name: "hal",
		ops:  threeOps,
		pages: []pageWant{
			{file: file, items: 36, total: 36, bad: 36}, // asked for without the date
		},
		records: []recording{
			{file, "hal-02001689", `
				title = Streamwise streaks induced by bedload diffusion
				authors# = 3
				authors.0 = Anaïs Abramian
				journal = Journal of Fluid Mechanics
				publisher = Cambridge University Press (CUP)
				volume = 863
				pages = 601-619
				published = 2019-03-25
				type = ART
				language = en
				doi = 10.1017/jfm.2018.1024
				url = https://hal.archives-ouvertes.fr/hal-02001689
				version = 1
				problem = bad_date`},
			{file, "hal-01500390", `
				title = Geometry of valley growth
				authors# = 6
				published = 2011
				doi = 10.1017/s002211201100053x
				other_ids.arxiv = 1011.2782
				problem = bad_date`},
			{file, "hal-01500391", `
				authors.3 = D. H. Rothman
				pages = 38 - 47
				problem = bad_date`},
		},
		asks: []askWant{
			{source.ForSearch, "", harvest.Position{}, "/search/ cursorMark=* " + fields + " " + window + " q=*:* rows=500 sort=docid asc wt=json"},
			{source.ForSearch, "", harvest.Position{Token: "AoE+/w==", Pages: 1}, "/search/ cursorMark=AoE+/w== " + fields + " " + window + " q=*:* rows=500 sort=docid asc wt=json"},
			{source.ForCount, "", harvest.Position{}, "/search/ " + window + " q=*:* rows=0 wt=json"},
		},
	}
}

func TestHAL_WalkAndErrors(t *testing.T) {
	spec := compile(t, "hal", harvest.Harvest)
	page, err := decoder(t, spec, source.ForSearch).Page([]byte(`{"response":{"numFound":1,"start":0,"docs":[
		{"docid":"1","halId_s":"hal-1","version_i":3,"modifiedDate_tdate":"2026-08-01T10:11:12Z","title_s":["A","B"]}]},"nextCursorMark":"AoE"}`))
	if err != nil {
		t.Fatal(err)
	}
	checkRecord(t, page.Items[0], false, "title = A\nversion = 3\nupdated = 2026-08-01T10:11:12Z")
	none := func(uint64) bool { return false }
	pos, end, err := spec.Paging.Step(harvest.Position{}, page.Facts(), none)
	if err != nil || end != "" || pos.Token != "AoE" {
		t.Fatalf("%+v %q %v", pos, end, err)
	}
	_, end, err = spec.Paging.Step(pos, harvest.PageFacts{Token: "AoE", Total: new(int64(1))}, none)
	if err != nil || end != harvest.EndEmpty {
		t.Errorf("%q %v", end, err)
	}
	c := must(source.NewClassifier(spec))
	if got := meaningOf(t, spec, c, source.ForSearch, 200, []byte(`{"error":{"code":400,"msg":"x"}}`)); got != "L1 RETRY solr_error" {
		t.Error(got)
	}
}

// TestHALKeyset: its pages are asked for by the date and the name of the document that
// the page before ended with, and nothing of them is a total or a mark.
func TestHALKeyset(t *testing.T) {
	const (
		fields = "fl=docid,halId_s,version_i,uri_s,modifiedDate_tdate,title_s,subTitle_s,abstract_s,authFullName_s,journalTitle_s,journalIssn_s,journalEissn_s,journalPublisher_s,publisher_s,bookTitle_s,conferenceTitle_s,volume_s,issue_s,page_s,producedDate_s,publicationDate_s,docType_s,language_s,doiId_s,pubmedId_s,pubmedcentralId_s,arxivId_s,isbn_s,nntId_s,keyword_s,licence_s"
		rest   = " q=*:* rows=500 sort=modifiedDate_tdate asc,halId_s asc wt=json"
		first  = `fq=modifiedDate_tdate:{2026-08-01T00:00:00.000Z TO 2026-08-02T23:59:59.999Z] OR (modifiedDate_tdate:[2026-08-01T00:00:00.000Z TO 2026-08-01T00:00:00.000Z] AND halId_s:{"" TO *])`
		next   = `fq=modifiedDate_tdate:{2026-08-01T10:11:12.345Z TO 2026-08-02T23:59:59.999Z] OR (modifiedDate_tdate:[2026-08-01T10:11:12.345Z TO 2026-08-01T10:11:12.345Z] AND halId_s:{"hal-7" TO *])`
	)
	place := harvest.Position{LastID: "hal-7", At: time.Date(2026, 8, 1, 10, 11, 12, 345e6, time.UTC), Pages: 1}
	packTest{
		name: "hal-keyset",
		ops:  threeOps,
		asks: []askWant{
			{source.ForSearch, "", harvest.Position{}, "/search/ " + fields + " " + first + rest},
			{source.ForSearch, "", place, "/search/ " + fields + " " + next + rest},
			{source.ForCount, "", harvest.Position{}, "/search/ fq=modifiedDate_tdate:[2026-08-01T00:00:00.000Z TO 2026-08-02T23:59:59.999Z] q=*:* rows=0 wt=json"},
		},
	}.run(t)
	page, err := decoder(t, compile(t, "hal-keyset", harvest.Harvest), source.ForSearch).Page(read(t, "hal/search-author.json"))
	if err != nil || len(page.Items) != 36 || page.Facts().Total != nil {
		t.Errorf("the recording: %+v, %v", page, err)
	}
}
