package citefile_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/citation"
)

// hostile are titles that try to leave their field, each in a record of its own.
var hostile = []string{
	"Serum\nER  - positive patients",
	"In one line ER  - and on",
	"Line\r\nDO  - 10.666/evil\r\nL1  - file:///etc/passwd",
	"Separator\u2028TY  - JOUR\u2029next\u0085ER  - \vend\f.",
	"Evil},\n}\n@article{evil,\n  title = {Taken over}\n}",
	"A lone } brace, and { another",
	`Ends in a backslash\`,
	"100 % sure & 5_6 #7 $x^2$ ~ done",
	"=HYPERLINK(\"http://evil.example\";\"x\")",
	"@SUM(1+1)*cmd|' /C calc'!A0",
	"+1 -1 \"quoted\", 'single'; semicolon",
	"\tTab first",
	"＝1+1 in full width",
	"Control \x00\x01\x08\x0b\x1f characters \ufffe\uffff and \x7f",
	"</title></titles></record><record><ref-type name=\"Book\">6</ref-type>",
	"]]> & &amp; &lt;i&gt;markup&lt;/i&gt; <sub>2</sub> p < 0.05 > 0",
	"COVID-19 in children\nCOVID-19 - a line\n\nPMID- 666",
	"\ufeffByte order mark",
	"Cafe\u0301 composed, \U0001f600 and 中文",
	"\"}],\n[{\"id\":\"evil\"}",
	"{{GPT}} and the DNA of McDonald's iPhone",
	`\input{/etc/passwd} \textbf{bold}`,
}

// corpus are records of every type, of every shape of name, date and page, and those
// with a hostile title.
func corpus(t testing.TB) []*citation.Citation {
	t.Helper()
	var out []*citation.Citation
	add := func(source, id string, retracted bool, fields map[string]any) {
		b, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
		c, err := citation.New(citation.Record{Source: source, Type: "work", ID: id, Retracted: retracted, UpdatedAt: at, FetchedAt: at.Add(time.Hour), Fields: b})
		if err != nil {
			t.Fatal(err)
		}
		c.Database = map[string]string{"pubmed": "PubMed", "crossref": "Crossref"}[source]
		out = append(out, c)
	}
	type m = map[string]any
	type l = []any
	add("pubmed", "31452104", false, m{
		"title": "Insulin resistance in <i>Mus musculus</i>: a randomised trial.", "abstract": "BACKGROUND: Why & how.\nMETHODS: p &lt; 0.05.",
		"authors": l{
			m{"family": "van der Berg", "given": "Anna M", "orcid": "0000-0002-1825-0097"},
			m{"family": "King", "given": "Martin L. Jr."},
			m{"family": "Müller", "given": "Jürgen"},
			m{"name": "RECOVERY Collaborative Group, and others"},
		},
		"journal": "The New England journal of medicine", "journal_abbrev": "N Engl J Med", "issn": l{"0028-4793", "1533-4406"},
		"volume": "381", "issue": "9", "pages": "797-8", "published": "2019-08-29", "type": "Randomized Controlled Trial", "language": "eng",
		"doi": "10.1056/NEJMoa1905239", "pmid": "31452104", "pmcid": "PMC6750000", "keywords": l{"glucose; insulin", "Mice"},
		"mesh": l{
			m{"term": "Diabetes Mellitus, Type 2", "major": true, "qualifiers": l{"drug therapy", "blood"}}, m{"term": "Humans"},
		},
		"url": "https://example.org/a;b?c={d}&e=f",
	})
	add("pubmed", "9500320", true, m{
		"title": "Ileal-lymphoid-nodular hyperplasia", "authors": l{m{"family": "Wakefield", "given": "A J"}}, "journal": "Lancet", "pmid": "9500320",
		"doi": "10.1016/s0140-6736(97)11096-0", "volume": "351", "pages": "637-41", "published": "1998-02", "type": "Journal Article", "retracted_by": "20137807",
	})
	add("pubmed", "20137807", false, m{
		"title": "Retraction--Ileal-lymphoid-nodular hyperplasia", "journal": "Lancet", "pmid": "20137807", "published": "2010",
		"type": "Retraction of Publication", "retracts": "9500320", "authors": l{m{"name": "Editors of The Lancet"}},
	})
	add("crossref", "10.1101/2020.01.01.123456", false, m{
		"title": "A preprint", "type": "posted-content", "published": "2020-01-01", "doi": "10.1101/2020.01.01.123456", "authors": l{m{"name": "Ludwig van Beethoven"}},
		"publisher": "Cold Spring Harbor Laboratory", "url": "javascript:alert(1)", "keywords": l{"Only, with commas"},
	})
	for i, kind := range []string{
		"book", "book-chapter", "proceedings-article", "dataset", "software", "dissertation", "report", "INTERVENTIONAL", "review", "editorial", "letter", "component",
	} {
		add("crossref", "10.5555/"+kind, false, m{
			"title": "A " + kind, "type": kind, "published": "2021-0" + string(rune('1'+i%9)), "doi": "10.5555/" + kind, "journal": "Container of " + kind,
			"publisher": "Some & Sons", "other_ids": m{"isbn": "9783161484100", "nct": "NCT01234567", "arxiv": "2101.00001"}, "authors": l{m{"name": "Smith, Jane"}},
			"pages": "e1234" + string(rune('0'+i%10)), "pmid": "", "volume": "12A", "issue": "Suppl 1",
		})
	}
	for i, title := range hostile {
		pmid := "7" + strings.Repeat("0", 3) + string(rune('0'+i/10)) + string(rune('0'+i%10))
		add("pubmed", pmid, false, m{
			"title": title, "abstract": title, "pmid": pmid, "journal": "J. of " + title, "published": "2020-03", "type": "Journal Article",
			"authors": l{m{"family": title, "given": title}, m{"name": title}}, "keywords": l{title, "plain"}, "volume": title, "issue": title, "pages": title,
			"publisher": title, "language": title, "doi": "10.1000/x\nER  - ", "url": "https://example.org/" + title, "other_ids": m{"isbn": title},
		})
	}
	return out
}
