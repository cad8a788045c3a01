package query

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Expressions are compared without their places.
var noPlaces = cmp.Options{cmpopts.IgnoreTypes(Place{}), cmpopts.EquateEmpty()}

func mustParse(t testing.TB, text string) Expr {
	t.Helper()
	e, err := Parse(text, Default())
	if err != nil {
		t.Fatalf("Parse(%q): %v", text, err)
	}
	return e
}

func words(field, text string) Term  { return Term{Field: field, Text: text, Match: MatchWords} }
func phrase(field, text string) Term { return Term{Field: field, Text: text, Match: MatchPhrase} }
func exact(field, text string) Term  { return Term{Field: field, Text: text, Match: MatchExact} }
func prefix(field, text string) Term { return Term{Field: field, Text: text, Match: MatchPrefix} }

func years(from, to string) Range {
	return Range{Field: "year", Type: TypeYear, From: Bound{Value: from}, To: Bound{Value: to}}
}

func day(s string) time.Time {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		panic(err)
	}
	return t
}

func days(field, from, to string) Range {
	var f, u time.Time
	if from != "" {
		f = day(from)
	}
	if to != "" {
		u = day(to)
	}
	return DateRange(field, f, u)
}

func TestParse_ReadsWhatPeopleWrite(t *testing.T) {
	number := Range{Field: "pmid", Type: TypeText, From: Bound{Value: "1"}, To: Bound{Value: "5", Open: true}}
	for text, want := range map[string]Expr{
		`cancer`:                          words("full", "cancer"),
		`"breast cancer"`:                 phrase("full", "breast cancer"),
		`breast cancer`:                   And{Of: []Expr{words("full", "breast"), words("full", "cancer")}},
		`a AND b OR c`:                    Or{Of: []Expr{And{Of: []Expr{words("full", "a"), words("full", "b")}}, words("full", "c")}},
		`a and (b or c)`:                  And{Of: []Expr{words("full", "a"), Or{Of: []Expr{words("full", "b"), words("full", "c")}}}},
		`NOT a b`:                         And{Of: []Expr{Not{Of: words("full", "a")}, words("full", "b")}},
		`not NOT(a)`:                      Not{Of: Not{Of: words("full", "a")}},
		`title:cancer`:                    words("ti", "cancer"),
		`Title: cancer`:                   words("ti", "cancer"),
		`ti="Breast Cancer"`:              exact("ti", "Breast Cancer"),
		`ti:="Breast Cancer"`:             exact("ti", "Breast Cancer"),
		`tiab:onco*`:                      prefix("tiab", "onco"),
		`tiab:"breast canc"*`:             prefix("tiab", "breast canc"),
		`ti:"AIDS"cs`:                     Term{Field: "ti", Text: "AIDS", Match: MatchPhrase, CaseSensitive: true},
		`tiab:(breast OR "mamma ca")`:     Or{Of: []Expr{words("tiab", "breast"), phrase("tiab", "mamma ca")}},
		`tiab:(breast cancer)`:            And{Of: []Expr{words("tiab", "breast"), words("tiab", "cancer")}},
		`tiab:(a OR au:b)`:                Or{Of: []Expr{words("tiab", "a"), words("au", "b")}},
		`type:(review, "clinical trial")`: In{Field: "type", Values: []Value{{Text: "review"}, {Text: "clinical trial"}}},
		`type:(review,)`:                  In{Field: "type", Values: []Value{{Text: "review"}}},
		`type:(a,b)cs`:                    In{Field: "type", CaseSensitive: true, Values: []Value{{Text: "a"}, {Text: "b"}}},
		`type:review`:                     exact("type", "review"),
		`doi:10.1000/x:y`:                 exact("doi", "10.1000/x:y"),
		`oa:YES`:                          exact("oa", "true"),
		`oa:0`:                            exact("oa", "false"),
		`has:abstract`:                    Exists{Field: "ab"},
		`abstract:*`:                      Exists{Field: "ab"},
		`*`:                               All{},
		`@pubmed:"free full text[sb]"`:    Token{Source: "pubmed", Text: "free full text[sb]"},
		`year:2020..2024`:                 years("2020", "2024"),
		`year:2020`:                       years("2020", "2020"),
		`year:2020..`:                     years("2020", ""),
		`year:..2024`:                     years("", "2024"),
		`year>=2020`:                      years("2020", ""),
		`year > 2020`:                     years("2021", ""),
		`year:<2020`:                      years("", "2019"),
		`year:[2020 TO 2024}`:             years("2020", "2023"),
		`year:{2020 to *]`:                years("2021", ""),
		`year:(2018 OR 2020..2021)`:       Or{Of: []Expr{years("2018", "2018"), years("2020", "2021")}},
		`year:(2018, 2020)`:               Or{Of: []Expr{years("2018", "2018"), years("2020", "2020")}},
		`pubdate:2020`:                    days("pubdate", "2020-01-01", "2021-01-01"),
		`pubdate:2020-05`:                 days("pubdate", "2020-05-01", "2020-06-01"),
		`pubdate:2020/05/31`:              days("pubdate", "2020-05-31", "2020-06-01"),
		`published:2020..2024-02-29`:      days("pubdate", "2020-01-01", "2024-03-01"),
		`pubdate<2020-05`:                 days("pubdate", "", "2020-05-01"),
		`pubdate>2020-05`:                 days("pubdate", "2020-06-01", ""),
		`updated:[2020-01-01T02:00+02:00 TO 2020-01-02T00:00:00Z}`: days("updated", "2020-01-01", "2020-01-02"),
		`pmid:["1" TO 5}`:     number,
		`"a \" b \\ c"`:       phrase("full", `a " b \ c`),
		`\AND \-5 a\:b x\*`:   And{Of: []Expr{words("full", "AND"), words("full", "-5"), words("full", "a:b"), words("full", "x*")}},
		"ti:a\n\tAND\r\nti:b": And{Of: []Expr{words("ti", "a"), words("ti", "b")}},
		"\"a \u00a0  b\"":     phrase("full", "a b"),
		`R&D`:                 words("full", "R&D"),
		`Krebs übung 癌症`:      And{Of: []Expr{words("full", "Krebs"), words("full", "übung"), words("full", "癌症")}},
		`tiab:"breast cancer" AND year:2020..2024 AND NOT type:review`: And{Of: []Expr{
			phrase("tiab", "breast cancer"), years("2020", "2024"), Not{Of: exact("type", "review")},
		}},
	} {
		got, err := Parse(text, Default())
		if err != nil {
			t.Errorf("Parse(%q): %v", text, err)
			continue
		}
		if d := cmp.Diff(want, got, noPlaces); d != "" {
			t.Errorf("Parse(%q): -want +got\n%s", text, d)
		}
	}
}

func TestParse_PointsAtTheMistake(t *testing.T) {
	for text, want := range map[string]string{
		``:                                  `line 1, column 1: the query is empty; write * for everything`,
		`tiba:cancer`:                       `line 1, column 1: field "tiba" is not known; did you mean tiab? Quote the text if it is no field`,
		"ti:a AND\n  autor:b":               `line 2, column 3: field "autor" is not known; did you mean author?`,
		`"breast cancer`:                    `line 1, column 1: this quote is not closed; add "`,
		`(a OR b`:                           `line 1, column 1: this ( is not closed; add )`,
		`a OR b)`:                           `line 1, column 7: this ) closes nothing`,
		`a AND`:                             `line 1, column 6: the query ends where something is still to come`,
		`AND a`:                             `line 1, column 1: AND has nothing before it`,
		`a OR OR b`:                         `line 1, column 6: OR has nothing before it`,
		`ti::x`:                             `line 1, column 4: ':' has no meaning here`,
		`ti:`:                               `line 1, column 4: a value is missing here`,
		`()`:                                `this ) closes nothing`,
		`doi:10.1016/S0140-6736(20)30183-5`: `line 1, column 23: '(' has no meaning here; put the whole text in quotes`,
		`Smith, J`:                          `line 1, column 6: a comma has no meaning here; quote a text that has a comma`,
		`wom?n`:                             `only a * at the end of a word stands for letters`,
		`*cancer`:                           `line 1, column 1: '*' has no meaning here; only a * at the end`,
		`on*co`:                             `line 1, column 4: 'c' has no meaning here`,
		`-review`:                           `a word cannot begin with -; write NOT, or quote the text`,
		`+a`:                                `leave it out`,
		`a || b`:                            `line 1, column 3: '|' has no meaning here; write OR`,
		`a && b`:                            `write AND`,
		`!a`:                                `write NOT`,
		`ti:'breast cancer'`:                `line 1, column 4: '\'' is no quotation mark of this language; use straight double quotes`,
		`‘breast`:                           `line 1, column 1: '‘' is no quotation mark of this language; use straight double quotes`,
		`“breast cancer”`:                   `line 1, column 1: '“' is no quotation mark of this language; use straight quotes`,
		`2020..2024`:                        `line 1, column 5: a range needs a field before it`,
		`[1 TO 2]`:                          `a range needs a field before it`,
		`year:20`:                           `line 1, column 6: "20" is not a year`,
		`year:2024..2020`:                   `the range is empty: it ends before it begins`,
		`year:[* TO *]`:                     `the range has no bounds`,
		`year:[2020 2021]`:                  `line 1, column 12: TO is missing between the bounds`,
		`year:[2020 TO 2021`:                `this [ is not closed`,
		`pubdate:2020-13`:                   `"2020-13" is not a date; write 2024, 2024-05`,
		`pubdate:9999`:                      `is outside the years`,
		`year:20*`:                          `year is a YEAR: it has no beginnings and no case`,
		`oa:maybe`:                          `"maybe" is neither true nor false; write oa:true or oa:false`,
		`ti:a..b`:                           `ti is a TEXT field: it has no ranges`,
		`year>==5`:                          `">==" is no comparison`,
		`has:foo`:                           `field "foo" is not known`,
		`token:x`:                           `field "token" is not known`,
		`has:`:                              `has: needs the name of a field`,
		`@pubmed:x`:                         `@ needs a source and a quoted text`,
		`""`:                                `the text is empty`,
		"\"a\nb\"":                          "the control character U+000A cannot be in a text",
		"a\x00b":                            "the control character U+0000 cannot be in a query",
		"a\xffb":                            `line 1, column 2: the query is not valid UTF-8`,
		`a\`:                                `the backslash has nothing to escape`,
		`"a"b`:                              `put the whole text in quotes`,
		strings.Repeat("(", 100):            `nested deeper than 64`,
		strings.Repeat("a ", 2001):          `more than 2000 parts`,
		strings.Repeat("a", MaxText+1):      `longer than 32768 bytes`,
		`af:(` + strings.Repeat("word ", 1900) + `)`:       ``,
		`pubdate:(` + strings.Repeat("2020, ", 1500) + `)`: `the query written out is longer than 32768 bytes`,
	} {
		_, err := Parse(text, Default())
		if want == "" {
			if err != nil {
				t.Errorf("Parse(%.40q): %v", text, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%.60q):\n got %v\nwant %s", text, err, want)
		}
		if p, ok := errors.AsType[Problems](err); err != nil && (!ok || len(p) == 0) {
			t.Errorf("Parse(%.60q): the error holds no problems", text)
		}
	}
}

func TestParse_ReportsEveryBadFieldAndValueAtOnce(t *testing.T) {
	text := `tiba:x AND year:20 AND (oa:perhaps OR pubdate:nope)`
	_, err := Parse(text, Default())
	p, _ := errors.AsType[Problems](err)
	var starts []int
	for _, one := range p {
		starts = append(starts, one.At.Start)
	}
	if d := cmp.Diff([]int{0, 16, 27, 46}, starts); d != "" {
		t.Errorf("places: -want +got\n%s\n%v", d, err)
	}
}

func TestProblem_ShowsTheTextWithACaret(t *testing.T) {
	text := "ti:\"a\" AND\n  äutor: tiba:cancer"
	_, err := Parse("ti:a AND\n  tiba:cancer", Default())
	p, _ := errors.AsType[Problems](err)
	want := `line 2, column 3: field "tiba" is not known; did you mean tiab? Quote the text if it is no field
    tiba:cancer
    ^^^^`
	if got := p.Show("ti:a AND\n  tiba:cancer"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	_, err = Parse(text, Default())
	p, _ = errors.AsType[Problems](err)
	if got := p.Show(text); !strings.Contains(got, "\n    äutor: tiba:cancer\n         ^") {
		t.Errorf("got\n%s", got)
	}
}

func TestFormat_WritesAsPeopleDo(t *testing.T) {
	for text, want := range map[string]string{
		`tiab:"breast cancer" and year:2020..2024 and not type:review`: `tiab:"breast cancer" AND year:2020..2024 AND NOT type:review`,
		`title:(a or "b c") d`:      `(ti:a OR ti:"b c") AND d`,
		`pubdate:2020`:              `pubdate:2020-01-01..2020-12-31`,
		`pubdate:2020-05-01`:        `pubdate:2020-05-01`,
		`pubdate>=2020-05`:          `pubdate:2020-05-01..`,
		`updated>=2020-05-01T10:00`: `updated:[2020-05-01T10:00:00Z TO *]`,
		`updated<2020-05-01T10:00`:  `updated:[* TO 2020-05-01T10:00:00Z}`,
		`year>2020`:                 `year:2021..`,
		`type:("x y", or)`:          `type:("x y", "or")`,
		`ab:*`:                      `has:ab`,
		`"AND" \or`:                 `"AND" AND \or`,
		`ti="x"`:                    `ti="x"`,
		`full="x"`:                  `full="x"`,
		`onco*`:                     `full:onco*`,
	} {
		if got := Format(mustParse(t, text), Default()); got != want {
			t.Errorf("Format(%q)\n got %s\nwant %s", text, got, want)
		}
	}
}
