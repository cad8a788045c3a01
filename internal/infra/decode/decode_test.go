package decode

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

func at(paths ...string) []source.Pick {
	var p []source.Pick
	for _, s := range paths {
		p = append(p, source.Pick{Path: s})
	}
	return p
}

// dated are places of an update time.
func dated(picks ...source.Pick) []source.DatedPick {
	var out []source.DatedPick
	for _, p := range picks {
		out = append(out, source.DatedPick{Pick: p, Key: "updated"})
	}
	return out
}

func cleaned(path string, clean ...string) []source.Pick {
	return []source.Pick{{Path: path, Clean: clean}}
}

func text(name string, from ...source.Pick) source.Field {
	return source.Field{Name: name, Kind: source.FieldText, From: from}
}

func list(name string, from ...source.Pick) source.Field {
	return source.Field{Name: name, Kind: source.FieldList, From: from}
}

func number(name string, from ...source.Pick) source.Field {
	return source.Field{Name: name, Kind: source.FieldNumber, From: from}
}

// crossref and pubmed are endpoints like those of the shipped sources.
func crossref() (*source.Endpoint, source.Identity, *source.Mapping) {
	ep := &source.Endpoint{Name: "works", Format: source.FormatJSON, Response: source.Response{
		Items:     []string{"message.items"},
		ID:        at("DOI"),
		UpdatedAt: dated(source.Pick{Path: "indexed.date-time", Format: "RFC3339"}, source.Pick{Path: "indexed.timestamp", Format: "EPOCH_MS"}),
		Total:     "$.message.total-results",
		Token:     "message.next-cursor",
		Signals:   map[string]string{"failure": "message[0].type", "exception": "message.exception"},
	}}
	m := &source.Mapping{
		Fields: []source.Field{
			text("title", cleaned("title[*]", "text")...),
			text("subtitle", cleaned("subtitle[*]", "text")...),
			text("abstract", cleaned("abstract", "jats")...),
			{Name: "authors", Kind: source.FieldObjects, Each: []string{"author[*]"}, Fields: []source.Field{
				text("family", cleaned("family", "text")...),
				text("given", cleaned("given", "text")...),
				text("name", cleaned("name", "text")...),
				text("orcid", cleaned("ORCID", "orcid")...),
				list("affiliations", cleaned("affiliation[*].name", "text")...),
			}},
			text("journal", cleaned("container-title[*]", "text")...),
			list("issn", at("ISSN")...),
			text("publisher", cleaned("publisher", "text")...),
			text("volume", at("volume")...),
			text("issue", at("issue")...),
			text("pages", at("page", "article-number")...),
			text("published", source.Pick{Parts: &source.DateParts{List: "issued.date-parts[0]"}}, source.Pick{Parts: &source.DateParts{List: "published.date-parts[0]"}}),
			text("type", at("type")...),
			text("doi", cleaned("DOI", "doi")...),
			number("references_count", at("references-count", "reference-count")...),
			text("licence", at("license[*].URL")...),
			text("url", at("URL")...),
		},
		Volatile:  []string{"indexed", "score", "is-referenced-by-count"},
		Retracted: []source.Presence{{Path: "updated-by[*].type", In: []string{"retraction", "withdrawal", "removal"}}},
	}
	return ep, source.Identity{Form: "DOI"}, m
}

func pubmed() (*source.Endpoint, source.Identity, *source.Mapping) {
	ymd := func(p string) source.Pick {
		return source.Pick{Parts: &source.DateParts{Year: p + "/Year", Month: p + "/Month", Day: p + "/Day"}}
	}
	ep := &source.Endpoint{Name: "efetch", Format: source.FormatXML, Response: source.Response{
		Items:     []string{"PubmedArticleSet/PubmedArticle", "PubmedArticleSet/PubmedBookArticle"},
		ID:        at("MedlineCitation/PMID", "BookDocument/PMID"),
		UpdatedAt: dated(ymd("MedlineCitation/DateRevised"), ymd("PubmedData/History/PubMedPubDate[@PubStatus='entrez']"), ymd("PubmedData/History/PubMedPubDate"), ymd("PubmedBookData/History/PubMedPubDate")),
		Version:   at("MedlineCitation/PMID/@Version"),
		Signals:   map[string]string{"error": "eFetchResult/ERROR"},
	}}
	const art = "MedlineCitation/Article/"
	m := &source.Mapping{
		Fields: []source.Field{
			text("title", source.Pick{Path: art + "ArticleTitle", Clean: []string{"text"}}, source.Pick{Path: "BookDocument/ArticleTitle", Clean: []string{"text"}}, source.Pick{Path: "BookDocument/Book/BookTitle", Clean: []string{"text"}}),
			{Name: "abstract", Kind: source.FieldText, Join: "\n", Label: "@Label", From: cleaned(art+"Abstract/AbstractText", "text")},
			{Name: "authors", Kind: source.FieldObjects, Each: []string{art + "AuthorList/Author[@ValidYN!='N']"}, Fields: []source.Field{
				text("family", cleaned("LastName", "text")...),
				text("given", at("ForeName", "Initials")...),
				text("name", cleaned("CollectiveName", "text")...),
				text("orcid", cleaned("Identifier[@Source='ORCID']", "orcid")...),
				list("affiliations", cleaned("AffiliationInfo/Affiliation", "text")...),
			}},
			text("journal", cleaned(art+"Journal/Title", "text")...),
			text("journal_abbrev", at(art+"Journal/ISOAbbreviation")...),
			list("issn", at(art+"Journal/ISSN", "MedlineCitation/MedlineJournalInfo/ISSNLinking")...),
			text("volume", at(art+"Journal/JournalIssue/Volume")...),
			text("issue", at(art+"Journal/JournalIssue/Issue")...),
			text("pages", at(art+"Pagination/MedlinePgn")...),
			text("published", ymd(art+"Journal/JournalIssue/PubDate")),
			list("type", at(art+"PublicationTypeList/PublicationType")...),
			text("language", at(art+"Language")...),
			text("doi", source.Pick{Path: art + "ELocationID[@EIdType='doi'][@ValidYN!='N']", Clean: []string{"doi"}}, source.Pick{Path: "PubmedData/ArticleIdList/ArticleId[@IdType='doi']", Clean: []string{"doi"}}),
			text("pmid", at("MedlineCitation/PMID", "BookDocument/PMID")...),
			{Name: "other_ids", Kind: source.FieldMap, Entries: []source.Entry{{Key: "pii", From: at("PubmedData/ArticleIdList/ArticleId[@IdType='pii']")}}},
			list("keywords", cleaned("MedlineCitation/KeywordList/Keyword", "text")...),
			{Name: "mesh", Kind: source.FieldObjects, Each: []string{"MedlineCitation/MeshHeadingList/MeshHeading"}, Fields: []source.Field{
				text("term", at("DescriptorName")...),
				text("major", at("DescriptorName/@MajorTopicYN")...),
				list("qualifiers", at("QualifierName")...),
			}},
		},
		Retracted: []source.Presence{{Path: art + "PublicationTypeList/PublicationType", In: []string{"Retracted Publication"}}},
		Required:  []string{"title"},
	}
	return ep, source.Identity{Form: "NUMBER"}, m
}

var eastern = harvest.Calendar{Precision: harvest.PrecisionDay, Zone: mustZone("America/New_York")}

func mustZone(name string) *time.Location {
	z, err := time.LoadLocation(name)
	if err != nil {
		panic(err)
	}
	return z
}

func compile(t testing.TB, ep *source.Endpoint, id source.Identity, m *source.Mapping) *Decoder {
	t.Helper()
	d, err := Compile(ep, id, m, eastern)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func page(t testing.TB, d *Decoder, body string) *harvest.Page {
	t.Helper()
	p, err := d.Page([]byte(body))
	if err != nil {
		t.Fatalf("page: %v", err)
	}
	return p
}

func shapeOf(t testing.TB, err error) *ShapeError {
	t.Helper()
	e, ok := errors.AsType[*ShapeError](err)
	if !ok {
		t.Fatalf("got %v, want a ShapeError", err)
	}
	return e
}

func limitOf(t testing.TB, err error) string {
	t.Helper()
	e, ok := errors.AsType[*LimitError](err)
	if !ok {
		t.Fatalf("got %v, want a LimitError", err)
	}
	return e.Limit
}

const work = `{"DOI":"10.1000/ABC","title":["A  <i>B<\/i> &amp;amp; C\n"],"author":[{"given":"Ann","family":"Lee","ORCID":"http://orcid.org/0000-0002-1825-0097","affiliation":[{"name":"\u00a0"},{"name":"X"}]},{"sequence":"first"},{"name":"Group"}],
"ISSN":["1234-5678","2345-6789"],"issued":{"date-parts":[[2023,2,6]]},"references-count":12,"abstract":"<jats:title>Background<\/jats:title><jats:p>One.<\/jats:p><jats:p>Two &lt; 3<\/jats:p>",
"indexed":{"date-time":"2024-01-02T03:04:05.1234567Z","timestamp":1},"score":1.5,"updated-by":[{"type":"retraction"}]}`

func TestPage_CrossrefWork(t *testing.T) {
	ep, id, m := crossref()
	d := compile(t, ep, id, m)
	p := page(t, d, `{"status":"ok","message":{"total-results":454,"next-cursor":"AoJ+/=","items":[`+work+`]}}`)
	if *p.Total != 454 || p.Token != "AoJ+/=" || len(p.Items) != 1 {
		t.Fatalf("got %+v", p)
	}
	it := p.Items[0]
	want := `{"title":"A B & C","abstract":"Background: One.\nTwo < 3","authors":[{"family":"Lee","given":"Ann","orcid":"0000-0002-1825-0097","affiliations":["X"]},{"name":"Group"}],` +
		`"issn":["1234-5678","2345-6789"],"published":"2023-02-06","doi":"10.1000/abc","references_count":12}`
	if diff := cmp.Diff(want, string(it.Fields)); diff != "" {
		t.Error(diff)
	}
	if string(it.Raw) != work || it.ID != "10.1000/abc" || it.Status != harvest.RecordRetracted || it.Problem != nil {
		t.Errorf("got %s %s %v", it.ID, it.Status, it.Problem)
	}
	if want := time.Date(2024, 1, 2, 3, 4, 5, 123456000, time.UTC); it.UpdatedAt != want {
		t.Errorf("updated at %v", it.UpdatedAt)
	}
}

const article = `<PubmedArticle><MedlineCitation><PMID Version="2">0042</PMID><DateRevised><Year>2024</Year><Month>07</Month><Day>04</Day></DateRevised>
<Article><Journal><JournalIssue><PubDate><Year>2024</Year><Month>Sep</Month></PubDate></JournalIssue></Journal>
<ArticleTitle>On <i>E. coli</i> &amp; H<sub>2</sub>O <mml:math><mml:mi>x</mml:mi></mml:math></ArticleTitle>
<ELocationID EIdType="pii" ValidYN="Y">1</ELocationID><ELocationID EIdType="doi" ValidYN="N">10.1/no</ELocationID><ELocationID EIdType="doi" ValidYN="Y">10.1000/YES</ELocationID>
<Abstract><AbstractText Label="AIM">One.</AbstractText><AbstractText>Two.</AbstractText></Abstract>
<AuthorList><Author ValidYN="Y"><LastName>Lee</LastName><Initials>A</Initials></Author><Author ValidYN="N"><LastName>No</LastName></Author><Author><CollectiveName>G</CollectiveName></Author></AuthorList>
</Article></MedlineCitation></PubmedArticle>`

func TestPage_PubmedArticle(t *testing.T) {
	ep, id, m := pubmed()
	d := compile(t, ep, id, m)
	p := page(t, d, "<?xml version=\"1.0\" ?>\n<!DOCTYPE PubmedArticleSet PUBLIC \"-//NLM//DTD\" \"https://x/y.dtd\">\n<PubmedArticleSet>\n"+article+"<PubmedBookArticle/></PubmedArticleSet>\n")
	if len(p.Items) != 2 {
		t.Fatalf("got %d items", len(p.Items))
	}
	it := p.Items[0]
	want := `{"title":"On E. coli & H2O x","abstract":"AIM: One.\nTwo.","authors":[{"family":"Lee","given":"A"},{"name":"G"}],"published":"2024-09","doi":"10.1000/yes","pmid":"0042"}`
	if diff := cmp.Diff(want, string(it.Fields)); diff != "" {
		t.Error(diff)
	}
	if string(it.Raw) != article || it.ID != "42" || it.Version != 2 || it.Problem != nil {
		t.Errorf("got %q %d %v", it.ID, it.Version, it.Problem)
	}
	if want := time.Date(2024, 7, 4, 4, 0, 0, 0, time.UTC); it.UpdatedAt != want {
		t.Errorf("updated at %v", it.UpdatedAt)
	}
	if pr := p.Items[1].Problem; pr == nil || pr.Code != "no_id" {
		t.Errorf("empty item: %v", pr)
	}
}

func TestPage_ErrorBodyIsNoEmptyPage(t *testing.T) {
	ep, id, m := pubmed()
	d := compile(t, ep, id, m)
	p, err := d.Page([]byte(`<eFetchResult><ERROR> Supplied id parameter is empty. </ERROR></eFetchResult>`))
	if e := shapeOf(t, err); e.Kind != ShapeSchema || !strings.Contains(err.Error(), "PubmedArticleSet") {
		t.Errorf("got %v", e)
	}
	if p == nil || p.Signals["error"] != "Supplied id parameter is empty." {
		t.Errorf("got %+v", p)
	}
	if p := page(t, d, `<PubmedArticleSet></PubmedArticleSet>`); len(p.Items) != 0 {
		t.Errorf("got %+v", p)
	}
}
