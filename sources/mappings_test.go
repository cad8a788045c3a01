package sources_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/papertrace/patra/internal/domain/source"
)

// TestMappings_KeepWhatRepliesHave holds forms that the recordings have not, or not
// all of, against what is made of them.
func TestMappings_KeepWhatRepliesHave(t *testing.T) {
	openalex := func(item string) string {
		return `{"meta":{"count":1,"next_cursor":null},"results":[{"id":"https://openalex.org/W1","updated_date":"2026-01-01T00:00:00",` + item + `}]}`
	}
	doaj := func(pages string) string {
		return `{"total":1,"results":[{"id":"1","last_updated":"2026-01-01T00:00:00Z","bibjson":{"title":"t"` + pages + `}}]}`
	}
	arxiv := func(inner string) string {
		return `<OAI-PMH><ListRecords><record><header><identifier>oai:arXiv.org:1</identifier><datestamp>2026-01-01</datestamp></header>` +
			`<metadata><arXiv><id>hep-th/9901001</id><title>t</title>` + inner + `</arXiv></metadata></record></ListRecords></OAI-PMH>`
	}
	crossref := func(item string) string {
		return `{"status":"ok","message-type":"work-list","message":{"total-results":1,"items":[{"DOI":"10.1000/a","indexed":{"date-time":"2026-01-01T00:00:00Z"},` + item + `}]}}`
	}
	datacite := func(related string) string {
		return `{"data":[{"id":"10.1000/a","attributes":{"updated":"2026-01-01T00:00:00Z","relatedIdentifiers":[` + related + `]}}],"meta":{"total":1}}`
	}
	europepmc := func(kind, id string) string {
		return `{"hitCount":1,"resultList":{"result":[{"id":"1","source":"MED","commentCorrectionList":{"commentCorrection":[` +
			`{"id":"9","source":"MED","type":"Cites"},{"id":"` + id + `","source":"MED","type":"` + kind + `"}]}}]}}`
	}
	for _, c := range []struct{ pack, reply, field, want string }{
		{"crossref", crossref(`"relation":{"is-preprint-of":[{"id-type":"uri","id":"http://x"},{"id-type":"doi","id":"10.1000/B"}]}`), "other_ids", `{"preprint_of":"10.1000/b"}`},
		{
			"crossref", crossref(`"relation":{"has-preprint":[{"id-type":"doi","id":"10.1101/1"}],"is-same-as":[{"id-type":"doi","id":"10.1000/c"}]}`), "other_ids",
			`{"has_preprint":"10.1101/1","identical_to":"10.1000/c"}`,
		},
		{
			"crossref", crossref(`"update-to":[{"type":"new_version","DOI":"10.1000/v"},{"type":"expression_of_concern","DOI":"10.1000/e"}]`), "other_ids",
			`{"version_of":"10.1000/v","concerns":"10.1000/e"}`,
		},
		{
			"crossref", crossref(`"relation":{"is-review-of":[{"id-type":"doi","id":"10.1000/r"}],"is-component-of":[{"id-type":"doi","id":"10.1000/p"}]}`), "other_ids",
			`{"reviews":"10.1000/r","part_of":"10.1000/p"}`,
		},
		{"datacite", datacite(`{"relationType":"IsIdenticalTo","relatedIdentifier":"978-83"},{"relationType":"HasVersion","relatedIdentifier":"10.1000/v"}`), "other_ids", `{"version_of":"10.1000/v"}`},
		{
			"datacite", datacite(`{"relationType":"IsIdenticalTo","relatedIdentifier":"https://doi.org/10.1000/I"},{"relationType":"IsSupplementTo","relatedIdentifier":"10.1000/s"}`),
			"other_ids", `{"identical_to":"10.1000/i","supplement_to":"10.1000/s"}`,
		},
		{"europepmc", europepmc("Preprint of", "38605817"), "other_ids", `{"corpus":"MED","preprint_of":"38605817"}`},
		{"europepmc", europepmc("Preprint in", "PPR7"), "other_ids", `{"corpus":"MED","has_preprint":"PPR7"}`},
		{"europepmc", europepmc("Expression of concern for", "8"), "other_ids", `{"corpus":"MED","concerns":"8"}`},
		{"openalex", openalex(`"ids":{"pmid":"https://pubmed.ncbi.nlm.nih.gov/10706275"}`), "pmid", `"10706275"`},
		{"openalex", openalex(`"ids":{"pmcid":"https://www.ncbi.nlm.nih.gov/pmc/articles/2464723"}`), "pmcid", `"PMC2464723"`},
		{"openalex", openalex(`"ids":{"pmcid":"https://www.ncbi.nlm.nih.gov/pmc/articles/PMC2464723/"}`), "pmcid", `"PMC2464723"`},
		{"openalex", openalex(`"biblio":{"first_page":"959","last_page":"975"}`), "pages", `"959-975"`},
		{"openalex", openalex(`"biblio":{"first_page":"e12","last_page":null}`), "pages", `"e12"`},
		{"doaj", doaj(`,"start_page":"6001","end_page":"6008"`), "pages", `"6001-6008"`},
		{"doaj", doaj(`,"start_page":"17"`), "pages", `"17"`},
		{"doaj", doaj(`,"start_page":"17","end_page":"n/a"`), "pages", `"17"`},
		{"doaj", doaj(`,"start_page":"n/a","end_page":"n/a"`), "pages", ``},
		{"doaj", doaj(`,"start_page":"n/a"`), "pages", ``},
		{"arxiv", arxiv(`<authors><author><keyname>King</keyname><forenames>Martin L.</forenames><suffix>Jr.</suffix></author></authors>`), "authors", `[{"family":"King","given":"Martin L. Jr."}]`},
		{"arxiv", arxiv(`<authors><author><keyname>King</keyname></author></authors>`), "authors", `[{"family":"King"}]`},
		{"arxiv", arxiv("<journal-ref>IEEE Trans. Inf. Theory, pp.\n  7389-7415</journal-ref>"), "journal", `"IEEE Trans. Inf. Theory, pp. 7389-7415"`},
		{"arxiv", arxiv(`<categories>quant-ph gr-qc</categories>`), "keywords", `["quant-ph","gr-qc"]`},
		{"arxiv", arxiv(``), "url", `"https://arxiv.org/abs/hep-th/9901001"`},
		{"arxiv", arxiv(``), "type", `"preprint"`},
	} {
		t.Run(fmt.Sprint(c.pack, " ", c.field, " ", c.want), func(t *testing.T) {
			p, err := decoder(t, compile(t, c.pack, operationOf(c.pack)), source.ForSearch).Page([]byte(c.reply))
			if err != nil || len(p.Items) != 1 || p.Items[0].Problem != nil {
				t.Fatalf("%+v, %v", p, err)
			}
			var fields map[string]json.RawMessage
			if err := json.Unmarshal(p.Items[0].Fields, &fields); err != nil {
				t.Fatal(err)
			}
			if got := string(fields[c.field]); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
