package sourcefile_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sourcefile"
	"github.com/papertrace/patra/sources"
)

func TestSchema_DocsAreCurrent(t *testing.T) {
	const file = "../../../docs/source.schema.json"
	b, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(b, sourcefile.Schema()) {
		t.Errorf("docs/source.schema.json is stale (%v): go run ./cmd/patra source schema > docs/source.schema.json", err)
	}
}

func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(sourcefile.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("source.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("source.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// valid reports what the schema says of a pack.
func valid(t *testing.T, s *jsonschema.Schema, text []byte) error {
	t.Helper()
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(doc)
}

func TestSchema_ShippedPacksAreValidAndNameIt(t *testing.T) {
	s := schema(t)
	names, err := sources.FS.ReadDir(".")
	if err != nil || len(names) < 2 {
		t.Fatal(names, err)
	}
	for _, n := range names {
		if sourcefile.IsCases(n.Name()) {
			continue
		}
		b, err := sources.FS.ReadFile(n.Name())
		if err != nil {
			t.Fatal(err)
		}
		if err := valid(t, s, b); err != nil {
			t.Errorf("%s: %v", n.Name(), err)
		}
		ref, ok := strings.CutPrefix(strings.SplitN(string(b), "\n", 2)[0], "# yaml-language-server: $schema=")
		if _, err := os.Stat(filepath.Join("../../../sources", ref)); !ok || err != nil {
			t.Errorf("%s does not name its schema: %v", n.Name(), err)
		}
		p, err := sourcefile.Parse(n.Name(), b)
		if err != nil {
			t.Fatal(err)
		}
		if err := valid(t, s, sourcefile.Format(p.Definition)); err != nil {
			t.Errorf("%s as written by Format: %v", n.Name(), err)
		}
	}
	if err := valid(t, s, []byte(small+tasksPart)); err != nil {
		t.Errorf("short forms: %v", err)
	}
}

// The packs that read recordings use words that no shipped one does.
func TestSchema_TestPacksAreValidAndComeBack(t *testing.T) {
	s := schema(t)
	files, err := filepath.Glob("../../../sources/testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		p, err := sourcefile.Parse(f, b)
		if err != nil {
			t.Fatal(err)
		}
		written := sourcefile.Format(p.Definition)
		for what, text := range map[string][]byte{"as it is": b, "as written by Format": written} {
			if err := valid(t, s, text); err != nil {
				t.Errorf("%s %s: %v", f, what, err)
			}
		}
		again, err := sourcefile.Parse(f, written)
		if err != nil {
			t.Fatalf("%v\n%s", err, written)
		}
		if diff := cmp.Diff(p.Definition, again.Definition); diff != "" {
			t.Errorf("%s changes when written:\n%s", f, diff)
		}
	}
}

func TestSchema_RefusesWhatTheReaderRefuses(t *testing.T) {
	s := schema(t)
	for _, c := range []struct{ old, bad string }{
		{"identity: text", "identty: text"},
		{"identity: text", "identity: roman"},
		{"type: cursor", "type: cursr"},
		{"pageSize: 100", "pageSize: many"},
		{"usage: search", "usage: seek"},
		{"bound: open", "bound: open\n  step: soon"},
		{"title: title", "title: {path: a, list: b}"},
		{"title: title", "title: {pth: a}"},
		{"mapping:", "tasks: {sometimes: {}}\nmapping:"},
	} {
		text := strings.Replace(small, c.old, c.bad, 1)
		if text == small {
			t.Fatalf("%s is not there", c.old)
		}
		if valid(t, s, []byte(text)) == nil {
			t.Errorf("%s passes", c.bad)
		}
	}
	for _, alias := range []string{"PAGE_NUMBER", "Page_Number", "token", "CURSOR"} {
		if err := valid(t, s, []byte(strings.Replace(small, "type: cursor", "type: "+alias, 1))); err != nil {
			t.Errorf("%s is read, yet refused: %v", alias, err)
		}
	}
}

const tasksPart = `tasks:
  Backfill:
    pagination: {type: token, pageSize: 10, end: no_token, total: rough}
    rateLimit: {qps: 0.5}
  update:
    endpoints:
      list:
        usage: search
        path: /other
        format: json
        query: {from: "${iso(window.from)}", until: "${iso(window.to)}", rows: "${page.size}", cursor: "${page.token}"}
        response: {items: items, id: id, updatedAt: {path: updated, key: updated}, nextToken: next}
`

func TestTasks_ReadWrittenAndChecked(t *testing.T) {
	p := parse(t, small+tasksPart)
	b := p.Definition.Tasks[harvest.Backfill]
	if b == nil || b.Pagination.PageSize != 10 || b.Pagination.Type != harvest.PageToken || b.RateLimit.QPS != 0.5 {
		t.Fatalf("tasks: %+v", p.Definition.Tasks)
	}
	if _, err := p.Check(nil, nil); err != nil {
		t.Fatal(err)
	}
	again := parse(t, string(sourcefile.Format(p.Definition)))
	if diff := cmp.Diff(p.Definition, again.Definition); diff != "" {
		t.Errorf("round trip: %s", diff)
	}
	bad := strings.NewReplacer("pageSize: 10,", "pageSize: -1,", "qps: 0.5", "qps: 0.5, limit: 1, burst: 9", "path: /other", "path: other").Replace(small + tasksPart)
	bad = strings.Replace(bad, "  update:", "  updaet: {}\n  update:\n    htpp: {}", 1)
	pack, err := sourcefile.Parse("demo.yaml", []byte(bad))
	if err == nil {
		t.Fatal("an unknown operation is read")
	}
	_, err = pack.Check(nil, nil)
	for _, want := range []string{
		"demo.yaml:33:31: tasks.backfill.pagination.pageSize: -1 is below 1",
		"demo.yaml:34:5: tasks.backfill.rateLimit: 0.5 a second with a burst of 9, arriving up to 50ms early or late, exceeds the provider's limit of 1 in 1s; next: burst: 1, or a smaller one",
		"demo.yaml:35:3: tasks.updaet: key is not known: did you mean update?",
		"demo.yaml:37:5: tasks.update.htpp: key is not known: did you mean http?",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("missing %q in:\n%v", want, err)
		}
	}
}

func TestDiff_ChangedValuesOnly(t *testing.T) {
	a := parse(t, small).Definition
	b := parse(t, strings.NewReplacer("pageSize: 100", "pageSize: 200", "    pages: [pages, number]\n", "", "identity: text", "identity: text\nhomepage: https://example.org").Replace(small)+tasksPart).Definition
	var got []string
	for _, d := range sourcefile.Diff(a, b) {
		got = append(got, d.String())
	}
	for _, want := range []string{
		"homepage: (none) -> https://example.org", "pagination.pageSize: 100 -> 200", "mapping.fields.pages.first: [pages, number] -> (none)",
		"tasks.backfill.rateLimit.qps: (none) -> 0.5",
	} {
		if !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("missing %q in\n%s", want, strings.Join(got, "\n"))
		}
	}
	if d := sourcefile.Diff(a, a); len(d) != 0 {
		t.Errorf("a pack differs from itself: %v", d)
	}
	if len(sourcefile.Values(source.Retry{Attempts: 3})) != 1 {
		t.Error("values of a part")
	}
}
