package sourcefile_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sourcefile"
)

// small is a whole pack in few lines.
const small = `source: Demo
recordType: Work
baseUrl: https://api.example.org
identity: text
window:
  key: updated
  filters: {from: updated, until: updated}
  precision: second
  bound: open
pagination: {type: cursor, pageSize: 100, end: no_token, total: rough}
endpoints:
  list:
    usage: search
    path: /works
    format: json
    query:
      from: ${iso(window.from)}
      until: ${iso(window.to)}
      rows: ${page.size}
      cursor: ${page.token}
    response:
      items: items
      id: id
      updatedAt: {path: updated, key: updated}
      nextToken: next
mapping:
  fields:
    title: title
    pages: [pages, number]
    issn: {list: "issn[*]", clean: upper}
`

func parse(t *testing.T, text string) *sourcefile.Pack {
	t.Helper()
	p, err := sourcefile.Parse("demo.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestParse_ShortFormsAndCodesInAnyCase(t *testing.T) {
	d := parse(t, small).Definition
	if d.Source != "demo" || d.RecordType != "work" || d.Identity != "TEXT" {
		t.Errorf("codes: %s %s %s", d.Source, d.RecordType, d.Identity)
	}
	if d.Pagination.Type != harvest.PageToken {
		t.Errorf("cursor is %s", d.Pagination.Type)
	}
	if diff := cmp.Diff([]harvest.EndProof{harvest.EndNoToken}, d.Pagination.End); diff != "" {
		t.Errorf("one end alone is a list: %s", diff)
	}
	want := []source.Field{
		{Name: "title", Kind: "TEXT", From: []source.Pick{{Path: "title"}}},
		{Name: "pages", Kind: "TEXT", From: []source.Pick{{Path: "pages"}, {Path: "number"}}},
		{Name: "issn", Kind: "LIST", From: []source.Pick{{Path: "issn[*]", Clean: []string{"upper"}}}},
	}
	if diff := cmp.Diff(want, d.Mapping.Fields); diff != "" {
		t.Errorf("fields: %s", diff)
	}
	spec, _, err := parse(t, small).Compile(source.Trigger{Operation: harvest.Harvest})
	if err != nil {
		t.Fatal(err)
	}
	if spec.Paging.Type != harvest.PageToken || spec.Search.Name != "list" {
		t.Errorf("spec: %+v", spec.Paging)
	}
}

func TestParse_AliasesOfCodes(t *testing.T) {
	for _, c := range []struct{ old, alias string }{
		{"type: cursor", "type: TOKEN"}, {"usage: search", "usage: SEARCH"}, {"end: no_token", "end: [NO_TOKEN]"},
	} {
		a, b := parse(t, small), parse(t, strings.Replace(small, c.old, c.alias, 1))
		if diff := cmp.Diff(a.Definition, b.Definition); diff != "" {
			t.Errorf("%s and %s differ: %s", c.old, c.alias, diff)
		}
	}
	p := parse(t, strings.Replace(small, "type: cursor", "type: page_number", 1))
	if p.Definition.Pagination.Type != harvest.PageNumber {
		t.Errorf("page_number is %s", p.Definition.Pagination.Type)
	}
	p = parse(t, strings.Replace(small, "usage: search", "usage: fetch", 1))
	if p.Definition.Endpoints[0].Usage != source.UsageDetail {
		t.Errorf("fetch is %s", p.Definition.Endpoints[0].Usage)
	}
}

func TestParse_Durations(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"PT10M": 10 * time.Minute, "P1D": 24 * time.Hour, "30d": 720 * time.Hour, "90s": 90 * time.Second,
	} {
		p := parse(t, strings.Replace(small, "  bound: open", "  bound: open\n  baseline: "+in, 1))
		if got := p.Definition.Window.Baseline.D(); got != want {
			t.Errorf("%s is %s", in, got)
		}
	}
}

func TestParse_RefusesWithPlaceAndAllAtOnce(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"three mistakes", "source: demo\nwindw:\n  key: x\nhttp:\n  readTimeout: soon\n  maxBody: big\n", []string{
			`p.yaml:2:1: windw: key is not known: did you mean window?`,
			`p.yaml:5:16: http.readTimeout: "soon" is not a duration: write 90s, 30d, PT10M or P1D`,
			`p.yaml:6:12: http.maxBody: "big" is not a size: write 32MiB or a number of bytes`,
		}},
		{"key twice", "source: a\nname: x\nsource: b\n", []string{`p.yaml:3:1: source: is given twice, first on line 1`}},
		{"anchor and alias", "source: &x a\nname: *x\n", []string{
			`p.yaml:1:9: source: an anchor is not allowed in a pack`,
			`p.yaml:2:7: name: an alias is not allowed in a pack`,
		}},
		{"merge key", "http:\n  <<: {readTimeout: 1s}\n", []string{`p.yaml:2:3: http: a merge key is not allowed in a pack`}},
		{"tag", "name: !!str x\n", []string{`p.yaml:1:7: name: a tag is not allowed in a pack`}},
		{"wrong kinds", "window: [a]\npagination:\n  pageSize: many\n  snapshot: maybe\nrateLimit: {qps: fast}\n", []string{
			`p.yaml:1:9: window: expected a map, found a list`,
			`p.yaml:3:13: pagination.pageSize: "many" is not a whole number`,
			`p.yaml:4:13: pagination.snapshot: "maybe" is neither true nor false`,
			`p.yaml:5:18: rateLimit.qps: "fast" is not a number`,
		}},
		{"map for a value", "name: {a: b}\n", []string{`p.yaml:1:7: name: expected a single value, found a map`}},
		{"field", "mapping:\n  fields:\n    title: {path: a, list: b}\n    doi: {pth: x}\n", []string{
			`p.yaml:3:12: mapping.fields.title: needs exactly one of path, first, list, number, bool, count, date, each, entries; has path and list`,
			`p.yaml:4:10: mapping.fields.doi: needs exactly one of path, first, list, number, bool, count, date, each, entries; has none`,
			`p.yaml:4:11: mapping.fields.doi.pth: key is not known: did you mean path?`,
		}},
		{"pick", "endpoints:\n  e:\n    response:\n      updatedAt: {path: a, kee: b}\n", []string{
			`p.yaml:4:28: endpoints.e.response.updatedAt[0].kee: key is not known: did you mean key?`,
		}},
		{"two documents", "source: a\n---\nsource: b\n", []string{`p.yaml:3:7: a pack is one document`}},
		{"empty", "# nothing\n", []string{`p.yaml:1:1: the file is empty`}},
		{"not a map", "- a\n", []string{`p.yaml:1:1: expected a map, found a list`}},
		{"not UTF-8", "name: \xff\n", []string{`p.yaml:1:1: the file is not UTF-8`}},
		{"deep", "name: " + strings.Repeat("[", 2000), []string{`p.yaml:1:39: nested too deep`}},
		{"deep dashes", strings.Repeat("- ", 2000) + "a", []string{`p.yaml:1:1: nested too deep`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := sourcefile.Parse("p.yaml", []byte(c.in))
			problems, ok := errors.AsType[sourcefile.Problems](err)
			if !ok {
				t.Fatalf("got %v", err)
			}
			if diff := cmp.Diff(strings.Join(c.want, "\n"), problems.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParse_RefusesSyntaxErrorWithPlace(t *testing.T) {
	_, err := sourcefile.Parse("p.yaml", []byte("source: a\nname: [x\n"))
	if err == nil || !strings.HasPrefix(err.Error(), "p.yaml:2:") {
		t.Errorf("got %v", err)
	}
}

func TestParse_RefusesLargeFile(t *testing.T) {
	_, err := sourcefile.Parse("p.yaml", []byte(strings.Repeat("# filler\n", sourcefile.MaxSize/9+1)))
	if err == nil || !strings.Contains(err.Error(), "more than 1048576") {
		t.Errorf("got %v", err)
	}
}

func TestCompile_PutsViolationsInTheirPlace(t *testing.T) {
	text := strings.Replace(small, "precision: second", "precision: fortnight", 1)
	text = strings.Replace(text, "from: ${iso(window.from)}", "from: ${iso(windw.from)}", 1)
	_, _, err := parse(t, text).Compile(source.Trigger{Operation: harvest.Harvest})
	want := []string{
		"demo.yaml:17:7: endpoints.list.query.from: ${iso(windw.from)}: variable windw.from is not known: did you mean window.from?",
		"demo.yaml:8:3: window.precision: FORTNIGHT is not known: known are DAY, SECOND, MILLI, MICRO",
	}
	for _, w := range want {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("missing %q in:\n%v", w, err)
		}
	}
}

// TestParse_FilesOfOtherEditors: one that begins with a mark, and whose lines end with two
// characters, is read as any other, and a mistake in it is where it says.
func TestParse_FilesOfOtherEditors(t *testing.T) {
	t.Parallel()
	other := func(text string) []byte { return []byte("\ufeff" + strings.ReplaceAll(text, "\n", "\r\n")) }
	text := "# ours\n" + small
	want, err := sourcefile.Parse("p.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	got, err := sourcefile.Parse("p.yaml", other(text))
	if err != nil || !bytes.Equal(sourcefile.Format(got.Definition), sourcefile.Format(want.Definition)) {
		t.Errorf("read as another pack: %v", err)
	}
	_, err = sourcefile.Parse("p.yaml", other("# one\n# two\nsource: a\nsurce: b\n"))
	if err == nil || !strings.Contains(err.Error(), "p.yaml:4:1: surce: key is not known") {
		t.Errorf("got %v, want the fourth line", err)
	}
	_, err = sourcefile.ParseCases("p.cases.yaml", other("# one\n# two\ncases:\n  - nmae: a\n"))
	if err == nil || !strings.Contains(err.Error(), "p.cases.yaml:4:") {
		t.Errorf("got %v, want the fourth line", err)
	}
}

func TestCompile_ReportsReadingAndMeaningTogether(t *testing.T) {
	text := strings.Replace(small, "identity: text", "identity: roman\nhtpp: {}", 1)
	text = strings.Replace(text, "  bound: open", "  bund: open", 1)
	text = strings.Replace(text, "pageSize: 100", "pageSize: -1", 1)
	pack, err := sourcefile.Parse("demo.yaml", []byte(text))
	if err == nil {
		t.Fatal("no error")
	}
	_, _, err = pack.Compile(source.Trigger{Operation: harvest.Harvest})
	got := fmt.Sprint(err)
	for _, w := range []string{"htpp: key is not known: did you mean http?", "window.bund: key is not known: did you mean bound?", "pagination.pageSize: -1 is below 1"} {
		if !strings.Contains(got, w) {
			t.Errorf("missing %q in:\n%s", w, got)
		}
	}
	if strings.Contains(got, "window.bound: is required") {
		t.Errorf("an echo of the misspelt key:\n%s", got)
	}
}

func TestFormat_RoundTripOfShippedPacks(t *testing.T) {
	files, err := filepath.Glob("../../../sources/*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("packs: %v %v", files, err)
	}
	for _, f := range files {
		if sourcefile.IsCases(f) {
			continue
		}
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		a, err := sourcefile.Parse(f, data)
		if err != nil {
			t.Fatal(err)
		}
		again := sourcefile.Format(a.Definition)
		b, err := sourcefile.Parse("again.yaml", again)
		if err != nil {
			t.Fatalf("%v\n%s", err, again)
		}
		if diff := cmp.Diff(a.Definition, b.Definition); diff != "" {
			t.Errorf("%s: %s", f, diff)
		}
	}
}

func TestFormat_RoundTripOfAllowedValues(t *testing.T) {
	text := "source: demo\nmapping:\n  fields:\n    type: {path: kind, allowed: [article, \"no\"]}\n    issn: {list: issns, pattern: '\\d{4}-\\d{3}[\\dX]'}\n"
	a, err := sourcefile.Parse("a.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	f := a.Definition.Mapping.Fields
	if len(f) != 2 || !slices.Equal(f[0].Allowed, []string{"article", "no"}) || f[1].Pattern != `\d{4}-\d{3}[\dX]` {
		t.Fatalf("%+v", f)
	}
	b, err := sourcefile.Parse("again.yaml", sourcefile.Format(a.Definition))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a.Definition, b.Definition); diff != "" {
		t.Error(diff)
	}
}

func TestFormat_RoundTripOfAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		str := rapid.String().Filter(func(s string) bool { return !strings.ContainsAny(s, "\x00\uFFFD\ufeff\r\u0085") })
		some := rapid.Map(str, func(s string) string { return "x" + s })
		want := source.Definition{
			Source: "demo", Name: str.Draw(t, "name"),
			HTTP: &source.HTTP{
				Headers: rapid.MapOfN(some, rapid.Ptr(str, true), 0, 4).Draw(t, "headers"),
				MaxBody: source.Size(rapid.Int64Range(0, 1<<40).Draw(t, "size")),
			},
			Window: &source.WindowConfig{
				SafetyLag: new(source.Duration(rapid.Int64Range(0, 1e15).Draw(t, "lag"))),
				Align:     source.Duration(rapid.Int64Range(0, 1e15).Draw(t, "align")),
			},
			RateLimit: &source.Rate{QPS: rapid.Float64Range(0, 1e6).Draw(t, "qps"), LimitHeaders: nonEmpty(rapid.SliceOfN(some, 0, 3).Draw(t, "limit"))},
			Mapping: source.Mapping{
				Fields: []source.Field{
					{Name: "title", Kind: "TEXT", From: []source.Pick{{Path: some.Draw(t, "path"), Clean: nonEmpty(rapid.SliceOfN(some, 0, 2).Draw(t, "clean"))}}, Join: str.Draw(t, "join")},
					{Name: "authors", Kind: "OBJECTS", Each: nonEmpty(rapid.SliceOfN(some, 1, 2).Draw(t, "each")), Fields: []source.Field{{Name: "name", Kind: "TEXT", From: []source.Pick{{Path: "a"}, {Path: "b"}}}}},
					{Name: "mesh", Kind: "OBJECTS", Each: []string{"m"}, Fields: []source.Field{{Name: "major", Kind: "BOOL", From: []source.Pick{{Path: "a"}}}}},
					{Name: "references_count", Kind: "NUMBER", Count: nonEmpty(rapid.SliceOfN(some, 1, 2).Draw(t, "count"))},
					{Name: "other_ids", Kind: "MAP", Entries: []source.Entry{{Key: some.Draw(t, "key"), From: []source.Pick{{Parts: &source.DateParts{Year: "y"}}}}}},
				},
				Retracted: []source.Presence{{Path: some.Draw(t, "presence")}, {Path: "p", In: []string{some.Draw(t, "in")}}, {Path: some.Draw(t, "self"), Self: true}},
			},
		}
		if len(want.HTTP.Headers) == 0 {
			want.HTTP.Headers = nil
		}
		text := sourcefile.Format(want)
		got, err := sourcefile.Parse("x.yaml", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if diff := cmp.Diff(want.Canonical(), got.Definition); diff != "" {
			t.Fatalf("%s\n%s", diff, text)
		}
	})
}

func nonEmpty(s []string) []string {
	if len(s) == 0 {
		return nil
	}
	return s
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte("a: &x [*x]\n<<: {}\n? {}\n: - -\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		pack, err := sourcefile.Parse("f.yaml", data)
		_, _, cerr := pack.Compile(source.Trigger{Operation: harvest.Harvest})
		if err != nil && cerr == nil {
			t.Errorf("compiled what could not be read: %v", err)
		}
		if err != nil {
			return
		}
		again, err := sourcefile.Parse("again.yaml", sourcefile.Format(pack.Definition))
		if err == nil && !cmp.Equal(pack.Definition, again.Definition) {
			t.Errorf("round trip: %s", cmp.Diff(pack.Definition, again.Definition))
		}
	})
}
