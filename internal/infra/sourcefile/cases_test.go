package sourcefile_test

import (
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/infra/sourcefile"
)

// TestParseCases_MistakesHaveAPlace: what is wrong with a file of cases is said with
// its line and what to write.
func TestParseCases_MistakesHaveAPlace(t *testing.T) {
	const good = "cases:\n  - name: one\n    reply: {body: '{}'}\n    expect: {items: 0}\n"
	if cases, err := sourcefile.ParseCases("x.cases.yaml", []byte(good)); err != nil || len(cases) != 1 || cases[0].Line != 2 || cases[0].Reply.Status != 200 {
		t.Fatalf("%+v, %v", cases, err)
	}
	r := strings.NewReplacer
	behind, err := sourcefile.ParseCases("x.cases.yaml", []byte(r("name: one", "name: one\n    after: {last: b, at: 2026-08-01T10:00:00Z}").Replace(good)))
	if err != nil || behind[0].After.LastID != "b" || behind[0].After.At.Hour() != 10 || behind[0].After.Pages != 1 {
		t.Errorf("%+v, %v", behind, err)
	}
	for want, text := range map[string]string{
		"x.cases.yaml:1:1: cases: there are none":                               "cases: []\n",
		`x.cases.yaml:3:5: unknown field "replay"`:                              r("reply", "replay").Replace(good),
		"x.cases.yaml:4:21:":                                                    r("items: 0", "items: many").Replace(good),
		"x.cases.yaml:2:1: cases[0]: expect: is missing":                        r("{items: 0}", "{}").Replace(good),
		"x.cases.yaml:2:1: cases[0]: name: is missing":                          r("name: one", "query: ''").Replace(good),
		`x.cases.yaml:2:1: cases[0]: ask: "serch" is none of search, count, de`: r("name: one", "name: one\n    ask: serch").Replace(good),
		`cases[0]: operation: "READ" is none of HARVEST, BACKFILL, UPDATE`:      r("name: one", "name: one\n    operation: READ").Replace(good),
		"cases[0]: reply.status: 99 is no status":                               r("body:", "status: 99, body:").Replace(good),
		"cases[0]: window: is written [from, to]":                               r("name: one", "name: one\n    window: [2026-01-01]").Replace(good),
		"cases[0]: window: 2026-01-02 is not before 2026-01-01":                 r("name: one", "name: one\n    window: [2026-01-02, 2026-01-01]").Replace(good),
		`cases[0]: window: "soon" is neither a day such as`:                     r("name: one", "name: one\n    window: [soon, 2026-01-01]").Replace(good),
		`cases[0]: after.at: "soon" is neither a day such as`:                   r("name: one", "name: one\n    after: {last: b, at: soon}").Replace(good),
		"cases[0]: expect: a reply is a fault or has records, not both":         r("{items: 0}", "{items: 0, fault: {code: x}}").Replace(good),
		`x.cases.yaml:5:1: cases[1]: name: "one" is there twice`:                good + strings.TrimPrefix(good, "cases:\n"),
		"cases[0]: expect.end: only pages of a search end a walk":               r("{items: 0}", "{end: NONE}", "name: one", "name: one\n    ask: count").Replace(good),
		"x.cases.yaml:1:1: is larger than":                                      strings.Repeat("#", sourcefile.MaxSize+1),
		"x.cases.yaml:1:":                                                       "cases: [\n",
	} {
		_, err := sourcefile.ParseCases("x.cases.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestCasesOf_BesideThePack(t *testing.T) {
	for pack, cases := range map[string]string{"a/b.yaml": "a/b.cases.yaml", "crossref": "crossref.cases.yaml", "x.yml": "x.cases.yaml"} {
		if got := sourcefile.CasesOf(pack); got != cases || !sourcefile.IsCases(got) || sourcefile.IsCases(pack) {
			t.Errorf("%s: %s", pack, got)
		}
	}
	if got := sourcefile.PackOf("a/b.cases.yaml"); got != "a/b.yaml" {
		t.Error(got)
	}
}
