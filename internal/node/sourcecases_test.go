package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/papertrace/patra/sources"
)

// TestCases_NameWhatDiffers writes expectations that do not hold beside a pack: each
// is named with what came instead, and one that holds is not.
func TestCases_NameWhatDiffers(t *testing.T) {
	t.Parallel()
	const reply = `{"message": {"total-results": 2, "next-cursor": "abc", "items": [
      {"DOI": "10.5555/a", "indexed": {"date-time": "2026-08-01T10:00:00Z"}, "title": ["A title"], "author": [{"family": "Muster"}]},
      {"DOI": "10.5555/b", "title": ["B"]}]}}`
	for want, expect := range map[string]string{
		"": `{items: 2, total: 2, next: abc, records: [{id: 10.5555/a, status: ACTIVE, updated: 2026-08-01T10:00:00Z,
             fields: {title: A title, authors: [{family: Muster}], abstract: null}}, {id: 10.5555/b, problem: bad_date}]}`,
		`the page has 2 items, expected 3`:                                                   `{items: 3}`,
		`the total is 2, expected 4`:                                                         `{total: 4}`,
		`what leads to the next page is "abc", expected ""`:                                  `{next: ""}`,
		`there is no record "10.5555/c"; the page has "10.5555/a", "10.5555/b"`:              `{records: [{id: 10.5555/c}]}`,
		`record 10.5555/b: problem is "bad_date", expected ""`:                               `{records: [{id: 10.5555/b}]}`,
		`record 10.5555/a: status is "ACTIVE", expected "GONE"`:                              `{records: [{id: 10.5555/a, status: GONE}]}`,
		`record 10.5555/a: updated is 2026-08-01T10:00:00Z, expected 2026-08-02T00:00:00Z`:   `{records: [{id: 10.5555/a, updated: 2026-08-02}]}`,
		`record 10.5555/a: version is 0, expected 3`:                                         `{records: [{id: 10.5555/a, version: 3}]}`,
		`record 10.5555/a: title is "A title", expected "Another"`:                           `{records: [{id: 10.5555/a, fields: {title: Another}}]}`,
		`record 10.5555/a: title is "A title", expected nothing`:                             `{records: [{id: 10.5555/a, fields: {title: null}}]}`,
		`record 10.5555/a: authors is [{"family":"Muster"}], expected ["x","y"]`:             `{records: [{id: 10.5555/a, fields: {authors: [x, y]}}]}`,
		`record 10.5555/a: authors.0.family is "Muster", expected "Other"`:                   `{records: [{id: 10.5555/a, fields: {authors: [{family: Other}]}}]}`,
		`request is "/works?cursor=*&filter=from-index-date:2026-08-01T00:00:00,until-index`: `{request: /works}`,
		`the reply is read as a page, expected the fault over_wall`:                          `{fault: {code: over_wall}}`,
	} {
		results := tryCase(t, `reply: {body: '`+reply+`'}`, expect)
		if want == "" {
			if len(results) != 0 {
				t.Errorf("%s: %q", expect, results)
			}
			continue
		}
		if len(results) != 1 || !strings.Contains(results[0], want) {
			t.Errorf("%s\n got %q\nwant %q", expect, results, want)
		}
	}
	// A fault that is another, and one where a page was expected.
	const blocked = `reply: {status: 403, body: no}`
	for want, expect := range map[string]string{
		`fault is "blocked", expected "over_wall"`: `{fault: {code: over_wall}}`,
		`level is "L4", expected "L1"`:             `{fault: {code: blocked, level: L1}}`,
		`reaction is "STOP", expected "CUT"`:       `{fault: {code: blocked, reaction: CUT}}`,
		`403`:                                      `{items: 0}`,
	} {
		if results := tryCase(t, blocked, expect); len(results) != 1 || !strings.Contains(results[0], want) {
			t.Errorf("%s\n got %q\nwant %q", expect, results, want)
		}
	}
}

// tryCase writes one case beside Crossref's pack and lists what differs.
func tryCase(t *testing.T, reply, expect string) []string {
	t.Helper()
	dir := t.TempDir()
	pack, err := sources.FS.ReadFile("crossref.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "crossref.yaml")
	text := "cases:\n  - name: a case\n    " + reply + "\n    expect: " + expect + "\n"
	for name, content := range map[string]string{file: string(pack), filepath.Join(dir, "crossref.cases.yaml"): text} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, err := TestPacks(t.Context(), []string{file})
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	tested := all.Packs[0]
	if len(tested.Results) != 1 || tested.Results[0].Line != 2 {
		t.Fatalf("%+v", tested.Results)
	}
	return tested.Results[0].Differences
}
