package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/sim"
)

// TestOutput_EveryFormTellsTheSame: the same answer in each form, in the order in which
// it has its fields, and hostile text inside its own field.
func TestOutput_EveryFormTellsTheSame(t *testing.T) {
	type row struct {
		ID    int    `json:"id"`
		Title string `json:"title"`
		More  any    `json:"more,omitempty"`
	}
	answer := struct {
		Source string `json:"source"`
		Rows   []row  `json:"rows"`
		Next   string `json:"next,omitempty"`
	}{"x", []row{{2, "=1+1", nil}, {10000000000000001, "a \"b\",\nc", map[string]any{"deep": map[string]any{"er": 1}}}}, "n"}
	for _, c := range []struct {
		form   form
		fields string
		want   string
	}{
		{asTable, "", "words\n"},
		{asJSON, "", `{"source":"x","rows":[{"id":2,"title":"=1+1"},{"id":10000000000000001,"title":"a \"b\",\nc","more":{"deep":{"er":1}}}],"next":"n"}` + "\n"},
		{asJSON, "title,more.deep.er", `{"source":"x","rows":[{"title":"=1+1","more.deep.er":null},{"title":"a \"b\",\nc","more.deep.er":1}],"next":"n"}` + "\n"},
		{asJSONL, "id", `{"id":2}` + "\n" + `{"id":10000000000000001}` + "\n"},
		{asYAML, "id,title", "source: x\nrows:\n- id: 2\n  title: =1+1\n- id: 10000000000000001\n  title: |-\n    a \"b\",\n    c\nnext: \"n\"\n"},
		{asCSV, "", "\"id\",\"title\",\"more\"\r\n\"2\",\"'=1+1\",\"\"\r\n\"10000000000000001\",\"a \"\"b\"\",\nc\",\"{\"\"deep\"\":{\"\"er\"\":1}}\"\r\n"},
		{asName, "", "2\n10000000000000001\n"},
	} {
		var out, notes bytes.Buffer
		p := &cli{printer: printer{out: &out, err: &notes}, form: c.form, nextPageOf: func(next string) string { return "more --after " + next }}
		if c.fields != "" {
			p.fields = strings.Split(c.fields, ",")
		}
		if err := p.settleForm(); err != nil {
			t.Fatal(err)
		}
		if err := p.showList(answer, "rows", func() { p.printf("words\n") }); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); got != c.want {
			t.Errorf("%s %s:\n%s\nnot\n%s", c.form, c.fields, got, c.want)
		}
		// Where the form has no place for it, that the list goes on is said apart.
		if said := strings.Contains(notes.String(), "--after n"); said != (c.form == asJSONL || c.form == asCSV || c.form == asName) {
			t.Errorf("%s: %q", c.form, &notes)
		}
	}
	p := &cli{printer: printer{out: new(bytes.Buffer)}, form: asJSON, json: true, fields: []string{"titel"}}
	if err := p.showList(answer, "rows", nil); err == nil || !strings.Contains(err.Error(), "there are id, title, more") {
		t.Errorf("a field that is not there: %v", err)
	}
	p = &cli{form: asCSV, json: true}
	if err := p.settleForm(); err == nil {
		t.Error("--json and -o csv at once")
	}
}

// TestOutput_AThingIsOneLine: an answer about one thing is told whole in every form, whatever lists are in it, and
// fields are picked from it.
func TestOutput_AThingIsOneLine(t *testing.T) {
	db := "sqlite:" + t.TempDir() + "/p.db"
	_, url := oracle(t, sim.Config{Records: 5, Seed: 1, LimitRPS: -1})
	if code, out, e := patra(t, "harvest", "crossref", "--base-url", url+"/crossref", "--contact", "a@example.org", "--db", db); code != 0 {
		t.Fatal(out, e)
	}
	_, names, _ := patra(t, "record", "list", "--db", db, "-o", "jsonl", "--fields", "id", "--limit", "1")
	var first struct{ ID string }
	if err := json.Unmarshal([]byte(names), &first); err != nil {
		t.Fatal(err, names)
	}
	_, sources, _ := patra(t, "source", "list", "-o", "name", "--db", db)
	all := strings.Count(sources, "\n")
	for _, c := range []struct {
		line  string
		lines int
		has   string
	}{
		{"status -o jsonl", all, `{"source":"crossref",`},
		{"status -o name", all, "crossref\n"},
		{"status -o json --fields source", 1, `{"source":"crossref"}`},
		{"record show crossref " + first.ID + " -o jsonl", 1, `"revision":1`},
		{"record show crossref " + first.ID + " -o json --fields id,revision", 1, `{"id":"` + first.ID + `","revision":1}` + "\n"},
		{"record show crossref " + first.ID + " -o csv --fields id", 2, `"id"` + "\r\n" + `"` + first.ID + `"`},
		{"plan show 1 -o jsonl", 1, `{"plan":{`},
		{"plan gaps crossref -o jsonl", 0, ""},
	} {
		code, out, said := patra(t, append(strings.Split(c.line, " "), "--db", db)...)
		if code != 0 || strings.Count(out, "\n") != c.lines || !strings.Contains(out, c.has) {
			t.Errorf("%s: exit %d\n%s%s", c.line, code, out, said)
		}
	}
	code, _, said := patra(t, "report", "search", "x", "-o", "csv", "--db", db)
	if code != exitUsage || !strings.Contains(said, "use --format with") {
		t.Errorf("a report in a form that it has not: exit %d: %s", code, said)
	}
}

// TestCompletion_KnowsWhatThereIs: shells are told sources, codes and forms, and for a file
// that files are wanted.
func TestCompletion_KnowsWhatThereIs(t *testing.T) {
	db := "sqlite:" + t.TempDir() + "/p.db"
	if code, out, e := patra(t, "db", "migrate", "--db", db); code != 0 {
		t.Fatal(out, e)
	}
	if code, out, e := patra(t, "search", "new", "insulin", "--query", "ti:insulin", "--sources", "crossref", "--db", db); code != 0 {
		t.Fatal(out, e)
	}
	_, url := oracle(t, sim.Config{Records: 5, Seed: 1, LimitRPS: -1})
	code, out, e := patra(t, "harvest", "crossref", "--base-url", url+"/crossref", "--contact", "a@example.org", "--db", db, "--json")
	var done struct {
		Key string `json:"plan_key"`
	}
	if err := json.Unmarshal([]byte(out), &done); code != 0 || err != nil {
		t.Fatal(code, err, out, e)
	}
	key := done.Key
	for _, c := range []struct{ line, want string }{
		{"harvest cro", "crossref\tCrossref\n:4\n"},
		{"source show pubm", "pubmed\tPubMed\n:4\n"},
		{"record list --source datac", "datacite\tDataCite\ndatacite-oai\tDataCite (OAI-PMH)\n:4\n"},
		{"explain circuit", "circuit_open\t"},
		{"status -o js", "json\njsonl\n:4\n"},
		{"source apply x", ":0\n"},
		{"plan show 9", ":4\n"},
		{"export --search ins", "insulin\tti:insulin\n:4\n"},
		{"export --plan ", "1\tcrossref HARVEST COMPLETED\n:4\n"},
		{"task list --plan ", "1\tcrossref HARVEST COMPLETED\n:4\n"},
		{"replay --plan " + key[:9], key + "\tcrossref HARVEST COMPLETED\n:4\n"},
		{"search new s --sources pubmed,ela", ":4\n"},
		{"search new s --sources pubmed,eli", "pubmed,elife\teLife\n:4\n"},
		{"query explain ti:a --sources crossr", "crossref\tCrossref\n:4\n"},
		{"harvest crossref --sources ", ":16\n"},
		{"sim --sources pubmed,crossr", "pubmed,crossref\n:4\n"},
		{"serve pl", "planner\n:4\n"},
		{"serve planner pl", ":4\n"},
		{"serve planner ex", "executor\n:4\n"},
		{"export --for zo", "zotero\n:4\n"},
		{"export --dedupe ex", "exact\n:4\n"},
		{"record list --state g", "gone\n:4\n"},
		{"plan create crossref --priority h", "high\n:4\n"},
		{"db grants exe", "executor\n:4\n"},
		{"search export insulin --format cs", "csv\ncsl-json\n:4\n"},
		{"search report insulin --format h", "html\n:4\n"},
		{"report search insulin --format s", "svg\n:4\n"},
		{"task list --state Q", "QUEUED\n:4\n"},
	} {
		code, out, _ := patra(t, append([]string{"__complete", "--db", db}, strings.Split(c.line, " ")...)...)
		if code != 0 || !strings.HasPrefix(out, c.want) {
			t.Errorf("%s: %d %q, not %q", c.line, code, out, c.want)
		}
	}
}

// TestCompletion_BeforeThereIsADatabase: what comes with patra is known to somebody who has just begun.
func TestCompletion_BeforeThereIsADatabase(t *testing.T) {
	db := "sqlite:" + t.TempDir() + "/none.db"
	for _, c := range []struct{ line, want string }{
		{"harvest cro", "crossref\tCrossref\n:4\n"},
		{"search new s --sources pubmed,eli", "pubmed,elife\teLife\n:4\n"},
		{"explain circuit", "circuit_open\t"},
		{"plan show ", ":4\n"},
	} {
		code, out, _ := patra(t, append([]string{"__complete", "--db", db}, strings.Split(c.line, " ")...)...)
		if code != 0 || !strings.HasPrefix(out, c.want) {
			t.Errorf("%s: %d %q, not %q", c.line, code, out, c.want)
		}
	}
}

// TestCompletion_ValuesOfFlags: a flag that takes what the store has is completed at every
// command that has it.
func TestCompletion_ValuesOfFlags(t *testing.T) {
	seen := map[string]bool{}
	for _, cmd := range leaves(commands()) {
		for name := range storedValues {
			f := cmd.LocalNonPersistentFlags().Lookup(name)
			if f == nil || f.Value.Type() == "bool" {
				continue
			}
			seen[name] = true
			if _, known := cmd.GetFlagCompletionFunc(name); !known {
				t.Errorf("%s --%s is not completed", cmd.CommandPath(), name)
			}
		}
	}
	for name := range storedValues {
		if !seen[name] {
			t.Errorf("no command has --%s", name)
		}
	}
}

// TestCompletion_FourShells: each shell has a script, which asks patra itself.
func TestCompletion_FourShells(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		code, out, said := patra(t, "completion", shell)
		if code != exitDone || !strings.Contains(out, "__complete") {
			t.Errorf("%s: exit %d: %.200s%s", shell, code, out, said)
		}
	}
}
