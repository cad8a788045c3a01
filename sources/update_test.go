package sources_test

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/upstream"
)

// TestUpdate_KnownRecordsAreAskedForByTheirIDs: what a pack sends to read records
// again, what it makes of the answers that were recorded, and that its harvest is
// no two-phase walk because of it.
func TestUpdate_KnownRecordsAreAskedForByTheirIDs(t *testing.T) {
	bulk := string(read(t, "semanticscholar/bulk-p1.json"))
	first := bulk[strings.Index(bulk, "[")+1:]
	first = first[:strings.Index(first, `{"paperId": "001e4f`)]
	for _, c := range []struct {
		pack string
		two  bool           // the harvest has two phases all the same
		how  source.Purpose // default: all ids together
		ids  []string
		want string
		body string
		// a reply, and the ids found in it
		reply string
		found string
	}{
		{
			pack: "crossref", ids: []string{"10.1000/a", "10.1000/b(c)<1>"},
			want:  "/works filter=doi:10.1000/a,doi:10.1000/b(c)<1> mailto=ops@example.org rows=50",
			reply: `{"status":"ok","message":{"total-results":1,"items":[{"DOI":"10.1000/A","indexed":{"date-time":"2026-01-01T00:00:00Z"}}]}}`, found: "10.1000/a",
		},
		{ // which no list can hold
			pack: "crossref", how: source.ForLookup, ids: []string{"10.1000/a,b(c)<1>"},
			want:  "/works/10.1000/a,b(c)<1> mailto=ops@example.org",
			reply: string(read(t, "crossref/work/alias_doi_target.json")), found: "10.26434/chemrxiv.5406907.v5",
		},
		{
			pack: "pubmed", two: true, ids: []string{"1", "22"}, want: "/entrez/eutils/efetch.fcgi", body: "db=pubmed&email=ops%40example.org&id=1%2C22&retmode=xml&tool=patra",
			reply: string(read(t, "pubmed/efetch/pmid_31511694.xml")), found: "31511694",
		},
		{
			pack: "datacite", ids: []string{"10.5061/dryad.8515"}, want: "/dois/10.5061/dryad.8515 mailto=ops@example.org",
			reply: string(read(t, "datacite/doi-single.json")), found: "10.5061/dryad.8515",
		},
		{
			pack: "doaj", ids: []string{"0005e11ec616453f854070069385e057"}, want: "/api/articles/0005e11ec616453f854070069385e057",
			reply: string(read(t, "doaj/article-single.json")), found: "0005e11ec616453f854070069385e057",
		},
		{
			pack: "clinicaltrials", ids: []string{"NCT00000001", "NCT00000002"},
			want:  "/api/v2/studies filter.ids=NCT00000001,NCT00000002 format=json pageSize=50",
			reply: `{"studies":[` + string(read(t, "clinicaltrials/study-single.json")) + `]}`, found: "NCT06604689!bad_date", // recorded without its dates
		},
		{
			pack: "clinicaltrials", how: source.ForLookup, ids: []string{"NCT06604689"}, want: "/api/v2/studies/NCT06604689 format=json",
			reply: string(read(t, "clinicaltrials/study-single.json")), found: "NCT06604689!bad_date",
		},
		{
			pack: "semanticscholar", ids: []string{"0018ce3db8f9957b520d6b7e0cec84abfa230e1c", "x"},
			want:  "/graph/v1/paper/batch fields=paperId,corpusId,externalIds,url,title,abstract,venue,publicationVenue,year,referenceCount,openAccessPdf,publicationTypes,publicationDate,journal,authors",
			body:  `{"ids":["0018ce3db8f9957b520d6b7e0cec84abfa230e1c","x"]}`,
			reply: `[` + first + `null]`, found: "0018ce3db8f9957b520d6b7e0cec84abfa230e1c",
		},
		{
			pack: "openalex", ids: []string{"https://openalex.org/W3045921891", "https://openalex.org/W3046863325"},
			want:  "/works filter=openalex:W3045921891|W3046863325 per_page=100",
			reply: string(read(t, "openalex/cursor-p1.json")), found: "https://openalex.org/W3046863325 https://openalex.org/W3045921891",
		},
		{
			pack: "openalex", how: source.ForLookup, ids: []string{"https://openalex.org/W4234567890"}, want: "/works/W4234567890",
			reply: string(read(t, "openalex/work-singleton.json")), found: "https://openalex.org/W4234567890",
		},
		{ // the only record that was recorded alone is in another format: its header counts
			pack: "arxiv", ids: []string{"oai:arXiv.org:1810.09584"}, want: "/oai identifier=oai:arXiv.org:1810.09584 metadataPrefix=arXiv verb=GetRecord",
			reply: string(read(t, "arxiv/oai-record-arxivraw.xml")), found: "oai:arXiv.org:1810.09584!missing_field",
		},
		{ // gone, at a repository that tells the second
			pack: "arxiv", ids: []string{"hdl:1765/1160"}, want: "/oai identifier=hdl:1765/1160 metadataPrefix=arXiv verb=GetRecord",
			reply: strings.Replace(string(read(t, "oai-pmh/eur-getrecord-deleted.xml")), "T13:29:54Z</datestamp>", "</datestamp>", 1), found: "hdl:1765/1160",
		},
		{
			pack: "europepmc", ids: []string{"123", "PMC9"},
			want:  `/europepmc/webservices/rest/search format=json pageSize=100 query=(EXT_ID:"123" OR EXT_ID:"PMC9") AND (SRC:MED OR SRC:PMC OR SRC:PPR OR SRC:NBK OR SRC:AGR OR SRC:PAT) resultType=core synonym=false`,
			reply: `{"hitCount":1,"resultList":{"result":[{"id":"123","source":"MED"}]}}`, found: "123",
		},
	} {
		c.how = cmp.Or(c.how, source.ForDetail)
		t.Run(c.pack+"/"+string(c.how), func(t *testing.T) {
			if spec := compile(t, c.pack, harvest.Backfill); spec.TwoPhase() != c.two {
				t.Errorf("the other operations have two phases: %v", spec.TwoPhase())
			}
			spec := compile(t, c.pack, harvest.Update)
			if spec.Detail == nil || spec.Batching.IDs < len(c.ids) {
				t.Fatalf("cannot be asked by ids: %+v", spec.Batching)
			}
			spec.Vars = map[string]string{"contact": "ops@example.org", "tool": "patra"}
			net := &bodyWire{}
			client := upstream.New(upstream.Config{Transport: net}, open{}, anyReply{})
			if _, err := client.Ask(context.Background(), spec, source.Call{Purpose: c.how, IDs: c.ids}); err != nil {
				t.Fatal(err)
			}
			if net.asked != c.want || net.body != c.body {
				t.Errorf("asked\n%s\n%s\nwant\n%s\n%s", net.asked, net.body, c.want, c.body)
			}
			page, err := decoder(t, spec, c.how).Page([]byte(c.reply))
			if err != nil {
				t.Fatal(err)
			}
			var found []string
			for _, it := range page.Items {
				id := it.ID
				if it.Problem != nil {
					id += "!" + string(it.Problem.Code)
				}
				found = append(found, id)
			}
			if got := strings.Join(found, " "); got != c.found {
				t.Errorf("found %q, want %q", got, c.found)
			}
		})
	}
}

// TestUpdate_WhatIsNotThere: no item, or a refusal that speaks of one id.
func TestUpdate_WhatIsNotThere(t *testing.T) {
	for _, c := range []struct {
		pack   string
		how    source.Purpose
		status int
		file   string
		want   string
	}{
		{"arxiv", source.ForDetail, 200, "oai-pmh/nsdl-id-does-not-exist.xml", " EMPTY unknown_id"},
		{"openalex", source.ForDetail, 200, "openalex/cursor-p2-empty.json", "page"},
		{"openalex", source.ForLookup, 404, "openalex/work-404.html", "L2 STOP http_404"},
		{"crossref", source.ForLookup, 404, "crossref/errors/404_unknown_doi.txt", "L2 STOP http_404"},
	} {
		spec := compile(t, c.pack, harvest.Update)
		if got := meaningOf(t, spec, must(source.NewClassifier(spec)), c.how, c.status, read(t, c.file)); got != c.want {
			t.Errorf("%s: %s, want %s", c.file, got, c.want)
		}
	}
}

// TestR31_HowAPackTellsWhatIsNotThere: by a 404 to one id, or by lists that leave
// out nothing else. A list that is a search tells nothing.
func TestR31_HowAPackTellsWhatIsNotThere(t *testing.T) {
	for pack, want := range map[string]string{
		"pubmed": "complete", "semanticscholar": "complete", "arxiv": "complete", "pmc": "complete", "doaj-oai": "complete", "zenodo-oai": "complete", "crossref": "lookup", "openalex": "lookup",
		"clinicaltrials": "lookup", "datacite": "one", "biorxiv": "one", "unpaywall": "one", "medrxiv": "one", "doaj": "one", "europepmc": "nothing",
	} {
		got, spec := "nothing", compile(t, pack, harvest.Update)
		switch {
		case spec.Detail.Response.Complete:
			got = "complete"
		case spec.Lookup != nil:
			got = "lookup"
		case spec.Batching.IDs == 1:
			got = "one"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", pack, got, want)
		}
	}
}

// TestUpdate_ArXivRecordsAreThoseOfTheList: GetRecord gives the same element, so
// that what has not changed is no new version.
func TestUpdate_ArXivRecordsAreThoseOfTheList(t *testing.T) {
	list := string(read(t, "arxiv/oai-listrecords-cs.xml"))
	begin, end := strings.Index(list, "<record>"), strings.Index(list, "</record>")+len("</record>")
	one := list[:strings.Index(list, "<ListRecords>")] + "<GetRecord>" + list[begin:end] + "</GetRecord></OAI-PMH>"
	want, err := decoder(t, compile(t, "arxiv", harvest.Harvest), source.ForSearch).Page([]byte(list))
	if err != nil {
		t.Fatal(err)
	}
	got, err := decoder(t, compile(t, "arxiv", harvest.Update), source.ForDetail).Page([]byte(one))
	if err != nil || len(got.Items) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	a, b := want.Items[0], got.Items[0]
	if _, was := a.Hashes(); a.ID != b.ID || !a.UpdatedAt.Equal(b.UpdatedAt) || string(a.Fields) != string(b.Fields) {
		t.Errorf("%s %s, want %s %s", b.ID, b.Fields, a.ID, a.Fields)
	} else if _, is := b.Hashes(); was != is {
		t.Errorf("the content of %s has another hash", a.ID)
	}
}

// TestUpdate_ListsHoldOnlyWhatTheyCan: a comma ends a filter of Crossref.
func TestUpdate_ListsHoldOnlyWhatTheyCan(t *testing.T) {
	takes := compile(t, "crossref", harvest.Update).Detail.Takes()
	for id, want := range map[string]bool{"10.1000/a": true, "10.1000/b(c)<1>;2-#": true, "10.1000/a,b": false, ",": false} {
		if takes(id) != want {
			t.Errorf("%s: %v, want %v", id, !want, want)
		}
	}
}

// bodyWire is a wire that keeps bodies too.
type bodyWire struct {
	wire
	body string
}

func (w *bodyWire) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		w.body = string(b)
	}
	return w.wire.RoundTrip(r)
}
