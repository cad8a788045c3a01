package citation_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/papertrace/patra/internal/domain/citation"
	"pgregory.net/rapid"
)

func from(t testing.TB, fields string) *citation.Citation {
	t.Helper()
	c, err := citation.New(citation.Record{Source: "lab", Type: "work", ID: "1", Fields: []byte(fields)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestPlain_LosesMarkupAndKeepsSigns: markup and entities go, signs of less and greater
// that are words of the text stay.
func TestPlain_LosesMarkupAndKeepsSigns(t *testing.T) {
	for in, want := range map[string]string{
		"H<sub>2</sub>O and <i>E. coli</i>":        "H2O and E. coli",
		"p &lt; 0.05 &amp; q > 1":                  "p < 0.05 & q > 1",
		"a < b and c > d":                          "a < b and c > d",
		"&lt;i&gt;twice&lt;/i&gt; &amp;amp; more":  "twice & more",
		"<jats:p>One</jats:p><jats:p>Two</jats:p>": "One Two",
		"x<br/>y": "x y",
		"<mml:math><mml:mi>α</mml:mi></mml:math>-blocker": "α-blocker",
		"  many\t\r\n blanks \u00a0 \u2028 here ":         "many blanks here",
		"Cafe\u0301":                "Café",
		"bad \xff byte":             "bad \uFFFD byte",
		"nul \x00 and \x1b[0m":      "nul and [0m",
		"<script>alert(1)</script>": "<script>alert(1)</script>",
		"&#13;&#10;ER&#32;&#32;- ":  "ER -",
		"&amp;#10;ER  - ":           "ER -",
		"":                          "",
	} {
		if got := citation.Plain(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// TestPlain_IsOneLine: whatever came, a text is one line without control characters
// and without two blanks in a row, and nothing more is done to it the next time.
func TestPlain_IsOneLine(t *testing.T) {
	pieces := []string{"\n", "ER  - ", "<i>", "</p>", "&lt;", "&amp;lt;", "&#10;", "&", "#10;", "e", "\u0301", "\ufeff", "\u2028", "\u0085", " ", "\xff", "\x00", "\uffff"}
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOf(rapid.OneOf(rapid.SampledFrom(pieces), rapid.String())).Draw(t, "pieces"), "")
		got := citation.Line(s)
		if again := citation.Line(got); again != got {
			t.Errorf("%q becomes %q and then %q", s, got, again)
		}
		for _, got := range []string{got, citation.Plain(s)} {
			if !utf8.ValidString(got) || strings.Contains(got, "  ") || strings.TrimSpace(got) != got || strings.ContainsFunc(got, unicode.IsControl) ||
				strings.ContainsAny(got, "\u2028\u2029\ufeff\ufffe\uffff") {
				t.Errorf("%q becomes %q", s, got)
			}
		}
	})
}

func TestNew_Names(t *testing.T) {
	for in, want := range map[string][]citation.Name{
		`[{"family":"King","given":"Martin L. Jr."}]`:                      {{Family: "King", Given: "Martin L.", Suffix: "Jr."}},
		`[{"name":"Ludwig van Beethoven"}]`:                                {{Family: "van Beethoven", Given: "Ludwig"}},
		`[{"name":"Smith, Jane"}]`:                                         {{Family: "Smith", Given: "Jane"}},
		`[{"name":"Jane Q. Public"}]`:                                      {{Family: "Public", Given: "Jane Q."}},
		`[{"name":"John Smith III"}]`:                                      {{Family: "Smith", Given: "John", Suffix: "III"}},
		`[{"name":"World Health Organization"}]`:                           {{Literal: "World Health Organization"}},
		`[{"name":"RECOVERY"}]`:                                            {{Literal: "RECOVERY"}},
		`[{"name":"张 三"}]`:                                                 {{Literal: "张 三"}},
		`[{"family":"A","given":"B"},{"name":"Jane Doe Trust"}]`:           {{Family: "A", Given: "B"}, {Literal: "Jane Doe Trust"}},
		`[{"family":"Doe","name":"Doe, J","orcid":"0000-0002-1825-0097"}]`: {{Family: "Doe", ORCID: "0000-0002-1825-0097"}},
		`[{"orcid":"0000-0002-1825-0097"},{}]`:                             nil,
	} {
		if diff := cmp.Diff(want, from(t, `{"authors":`+in+`}`).Authors); diff != "" {
			t.Errorf("%s (-want +got):\n%s", in, diff)
		}
	}
}

func TestNew_DatesPagesIdentifiers(t *testing.T) {
	for in, want := range map[string]string{
		"2020": "2020", "2020-03": "2020-03", "2020-03-01": "2020-03-01", "2020-13": "2020", "2020-02-30": "2020-02", "2020-00-00": "2020",
		"2020-03-01T10:00:00Z": "2020-03-01", "in press": "", "0000": "", "12": "",
	} {
		if got := from(t, `{"published":"`+in+`"}`).Issued.String(); got != want {
			t.Errorf("published %s: got %s, want %s", in, got, want)
		}
	}
	for in, want := range map[string]citation.Pages{
		"123-9": {First: "123", Last: "129"}, "123-129": {First: "123", Last: "129"}, "S1–S5": {First: "S1", Last: "S5"}, "e12345": {First: "e12345"},
		"12-12": {First: "12"}, "1-5, 7": {First: "1-5, 7"}, "": {},
	} {
		if got := from(t, `{"pages":"`+in+`"}`).Pages; got != want {
			t.Errorf("pages %s: got %+v, want %+v", in, got, want)
		}
	}
	c := from(t, `{"doi":"https://doi.org/10.1000/ABC","pmid":"0123","pmcid":"pmc77","language":"eng","url":"https://u:p@h.example/a b;c",
		"other_ids":{"arxiv":"arXiv:2101.00001v2","nct":"nct01234567"}}`)
	if got := []string{c.DOI, c.PMID, c.PMCID, c.ArXiv, c.NCTID, c.Language, c.BookLanguage(), c.URL}; !cmp.Equal(got, []string{
		"10.1000/abc", "123", "PMC77", "2101.00001v2", "NCT01234567", "en", "eng", "https://h.example/a%20b%3Bc",
	}) {
		t.Errorf("got %q", got)
	}
	c = from(t, `{"doi":"none","pmid":"12x","pmcid":"PMX","url":"file:///etc/passwd","other_ids":{"arxiv":"x","nct":"NCT1"}}`)
	if got := c.DOI + c.PMID + c.PMCID + c.ArXiv + c.NCTID + c.URL; got != "" {
		t.Errorf("taken for identifiers: %q", got)
	}
}

func TestNew_Types(t *testing.T) {
	for in, want := range map[string]citation.Type{
		"journal-article": citation.Article, "Journal Article": citation.Article, "Randomized Controlled Trial": citation.ClinicalTrial, "posted-content": citation.Preprint,
		"THESE": citation.Thesis, "INTERVENTIONAL": citation.Registration, "ConferencePaper": citation.Proceedings, "Systematic Review": citation.Review,
		"JournalArticle": citation.Article, "Published Erratum": citation.Notice, "no such": citation.Other, "": citation.Other,
	} {
		if got := from(t, `{"type":"`+in+`"}`).Type; got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
	if got := from(t, `{"journal":"J","issn":["1234-5678"]}`).Type; got != citation.Article {
		t.Errorf("in a journal: got %s", got)
	}
}

// TestNew_RetractionsAreMarked: what was taken back is marked by a keyword, its notice
// is not, and neither has a word more in its title.
func TestNew_RetractionsAreMarked(t *testing.T) {
	make := func(fields map[string]any) *citation.Citation {
		b, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		c, err := citation.New(citation.Record{Source: "lab", ID: "1", Retracted: true, Fields: b})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	paper := make(map[string]any{"title": "Paper", "keywords": []string{"a"}, "retracted_by": "2"})
	if !paper.Retracted || paper.Title != "Paper" || !cmp.Equal(paper.Subjects(), []string{"a", citation.RetractedKeyword}) {
		t.Errorf("got %+v", paper)
	}
	notice := make(map[string]any{"title": "Retraction: Paper", "retracts": "1"})
	if notice.Retracted || notice.Type != citation.Notice || len(notice.Subjects()) != 0 {
		t.Errorf("got %+v", notice)
	}
}
