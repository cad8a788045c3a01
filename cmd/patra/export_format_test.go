package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/patratest"
)

// TestExport_References: references go to a file with a manifest beside it, and what
// is left out is counted with its reason.
func TestExport_References(t *testing.T) {
	t.Parallel()
	dsn := patratest.SQLite.DSN(t)
	storeRecords(
		t, dsn, "lab",
		harvest.Record{ID: "1", Raw: []byte("1"), Fields: []byte(`{"title":"One\nER  - evil","pmid":"11","type":"Journal Article","abstract":"Write to me@example.org"}`)},
		harvest.Record{ID: "2", Raw: []byte("2"), Fields: []byte(`{"doi":"10.1000/2"}`)},
		harvest.Record{ID: "3", Raw: []byte("3"), Fields: []byte(`{"title":"Three"}`), Status: harvest.RecordRetracted},
		harvest.Record{ID: "4", Raw: []byte("4"), Fields: []byte(`{"title":"Four"}`), Status: harvest.RecordGone},
	)
	dir := t.TempDir()
	file := filepath.Join(dir, "out.ris")
	code, out, e := patra(t, "export", "--db", dsn, "--format", "ris", "--out", file, "--json")
	if code != exitDone || e != "" {
		t.Fatalf("exit %d: %s %s", code, out, e)
	}
	var s control.ExportSummary
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if s.Records != 2 || len(s.LeftOut) != 2 || s.LeftOut[0] != (control.LeftOut{Reason: "gone from the source", Records: 1}) ||
		s.LeftOut[1] != (control.LeftOut{Reason: "no title", Records: 1}) {
		t.Errorf("got %+v", s)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for _, want := range []string{"TI  - One ER - evil\r\n", "KW  - Retracted Publication\r\n", "AB  - Write to ***@***\r\n", "AN  - 11\r\n", "DB  - lab\r\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if n := strings.Count(text, "\r\nER  - \r\n"); n != 2 {
		t.Errorf("%d records end in\n%s", n, text)
	}
	b, err = os.ReadFile(file + ".manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		control.ExportFile
		Parts  int
		Format string
		At     time.Time
	}
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(text))
	if m.SHA256 != hex.EncodeToString(sum[:]) || m.Bytes != int64(len(text)) || m.Records != 2 || m.Sources["lab"] != 2 || m.Parts != 1 || m.Format != "ris" || m.At.IsZero() {
		t.Errorf("manifest %s", b)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 2 {
		t.Errorf("left behind: %v, %v", names, err)
	}
}

// TestExport_Selection: what is asked for is what is written.
func TestExport_Selection(t *testing.T) {
	t.Parallel()
	dsn := patratest.SQLite.DSN(t)
	storeRecords(t, dsn, "crossref", harvest.Record{ID: "1", Raw: []byte("1"), Fields: []byte(`{"title":"One"}`)})
	storeRecords(
		t, dsn, "pubmed",
		harvest.Record{ID: "2", Raw: []byte("2"), Fields: []byte(`{"title":"Two"}`)},
		harvest.Record{ID: "3", Raw: []byte("3"), Fields: []byte(`{"title":"Three"}`), Status: harvest.RecordGone},
	)
	storeRecords(t, dsn, "zenodo", harvest.Record{ID: "4", Raw: []byte("4"), Fields: []byte(`{"title":"Four"}`)})
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "1 2 3 4"},
		{[]string{"--source", "crossref", "--source", "zenodo"}, "1 4"},
		{[]string{"--status", "gone"}, "3"},
		{[]string{"--status", "ACTIVE", "--status", "GONE", "--source", "pubmed"}, "2 3"},
		{[]string{"--plan", "2"}, "2 3"},
		{[]string{"--since", "2020-01-01"}, "1 2 3 4"},
		{[]string{"--query", "ti:two OR ti:four"}, "2 3 4"}, // of what is gone nothing can be told
		{[]string{"--query", "ti:two OR ti:four", "--status", "ACTIVE"}, "2 4"},
		{[]string{"--query", "NOT ti:one", "--status", "ACTIVE", "--source", "crossref"}, ""},
		{[]string{"--since", "2999-01-01"}, ""},
	} {
		code, out, e := patra(t, append([]string{"export", "--db", dsn}, c.args...)...)
		if code != exitDone {
			t.Fatalf("%v: exit %d: %s", c.args, code, e)
		}
		var ids []string
		for line := range strings.Lines(out) {
			var r struct{ ID string }
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, r.ID)
		}
		if got := strings.Join(ids, " "); got != c.want {
			t.Errorf("%v: got %s, want %s", c.args, got, c.want)
		}
	}
	if code, out, e := patra(t, "export", "--db", dsn, "--plan", "7"); code != exitNotFound || out != "" || !strings.Contains(e, "plan 7") {
		t.Errorf("a plan that there is not: exit %d: %q, %s", code, out, e)
	}
	for args, want := range map[string]string{
		"--query ti:(":                "ti:(",
		"--status odd":                "is none of ACTIVE",
		"--format odd":                `the format "odd" is not known`,
		"--for odd":                   "is no program",
		"--for zotero --raw":          "use jsonl for --raw",
		"--for covidence":             "name one with --out",
		"--for zotero --format jsonl": "does not read jsonl",
	} {
		code, _, e := patra(t, append([]string{"export", "--db", dsn}, strings.Fields(args)...)...)
		if code != exitUsage || !strings.Contains(e, want) {
			t.Errorf("%s: exit %d: %s", args, code, e)
		}
	}
}

// TestExport_ForPrograms: a folder gets one file a source, each with a manifest; what a
// format cannot hold is counted and named; every format is written whole.
func TestExport_ForPrograms(t *testing.T) {
	t.Parallel()
	dsn := patratest.SQLite.DSN(t)
	storeRecords(
		t, dsn, "crossref",
		harvest.Record{ID: "10.1000/1", Raw: []byte("1"), Fields: []byte(`{"title":"One","doi":"10.1000/1"}`)},
		harvest.Record{ID: "10.1000/2", Raw: []byte("2"), Fields: []byte(`{"title":"=Two","pmid":"22","doi":"10.1000/2"}`)},
	)
	storeRecords(t, dsn, "pubmed", harvest.Record{ID: "3", Raw: []byte("3"), Fields: []byte(`{"title":"Three","pmid":"3","abstract":"a"}`)})
	dir := filepath.Join(t.TempDir(), "new")
	code, _, e := patra(t, "export", "--db", dsn, "--for", "covidence", "--out", dir+"/")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, e)
	}
	day := time.Now().UTC().Format(time.DateOnly)
	for name, want := range map[string]string{"patra_crossref_" + day + ".ris": "TI  - One", "patra_pubmed_" + day + ".ris": "TI  - Three"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(b), want) {
			t.Errorf("%s: %s, %v", name, b, err)
		}
		if _, err := os.Stat(filepath.Join(dir, name+".manifest.json")); err != nil {
			t.Error(err)
		}
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 4 {
		t.Errorf("written were %v, %v", names, err)
	}
	for args, want := range map[string]string{
		"--format nbib":                            "2 records exported\n1 left out: no PMID",
		"--format bibtex":                          "3 records exported",
		"--format csl-json":                        "3 records exported",
		"--format endnote":                         "3 records exported",
		"--format parquet":                         "3 records exported",
		"--format csv":                             "3 records exported",
		"--for asreview":                           "3 records exported",
		"--for zotero --fields title":              "3 records exported",
		"--for zotero --fields doi":                "add title to --fields",
		"--fields titel":                           "did you mean title",
		"--format csv --fields title,year,nothing": `csv has no column "nothing"`,
		"--follow --format ris":                    "which only jsonl holds",
		"--follow --since 2020":                    "use --after",
	} {
		_, out, e := patra(t, append([]string{"export", "--db", dsn}, strings.Fields(args)...)...)
		if !strings.Contains(e, want) {
			t.Errorf("%s: %s", args, e)
		}
		if strings.Contains(args, "--fields title") && strings.Contains(out, "DO  - ") {
			t.Errorf("%s: more than the title in %s", args, out)
		}
	}
	_, out, _ := patra(t, "export", "--db", dsn, "--format", "csv", "--fields", "title,doi")
	if want := "\"title\",\"doi\"\r\n\"One\",\"10.1000/1\"\r\n\"'=Two\",\"10.1000/2\"\r\n\"Three\",\"\"\r\n"; out != want {
		t.Errorf("got %q, want %q", out, want)
	}
}

// TestExport_NamesOfParts: a file alone has the name that was given, several have
// numbers.
func TestExport_NamesOfParts(t *testing.T) {
	one := &exportFiles{out: "a/b.ris", sources: []string{""}}
	if got := one.name(0); got != "a/b.ris" {
		t.Errorf("got %s", got)
	}
	ofTwo := func(search string) string {
		e := &exportFiles{out: "a", apart: true, of: search, sources: []string{"crossref"}, exporting: new(control.Exporting)}
		return e.name(0)
	}
	if one, other := ofTwo("insulin"), ofTwo("insulin-trials"); one == other || !strings.HasPrefix(one, "a/insulin_crossref_") {
		t.Errorf("two searches are exported to %s and %s", one, other)
	}
	three := &exportFiles{out: "a/b.ris", sources: []string{"", "", ""}}
	if got := three.name(0) + " " + three.name(2); got != "a/b-1.ris a/b-3.ris" {
		t.Errorf("got %s", got)
	}
}

// TestExport_AQueryKnowsTheWordsOfTheSource: what a search of a source is asked for in its own words is found among
// what is stored as well, and not left out.
func TestExport_AQueryKnowsTheWordsOfTheSource(t *testing.T) {
	t.Parallel()
	dsn := patratest.SQLite.DSN(t)
	storeRecords(
		t, dsn, "crossref",
		harvest.Record{ID: "10.1000/1", Raw: []byte("1"), Fields: []byte(`{"title":"One","type":"journal-article"}`)},
		harvest.Record{ID: "10.1000/2", Raw: []byte("2"), Fields: []byte(`{"title":"Two","type":"book"}`)},
	)
	if code, _, e := patra(t, "source", "apply", "crossref", "--db", dsn, "--reason", "its words"); code != exitDone {
		t.Fatalf("exit %d: %s", code, e)
	}
	for query, want := range map[string]string{"type:article": "10.1000/1", "NOT type:article": "10.1000/2"} {
		code, out, e := patra(t, "export", "--db", dsn, "--query", query)
		if code != exitDone || strings.Count(out, "\n") != 1 || !strings.Contains(out, `"id":"`+want+`"`) {
			t.Errorf("%s: exit %d\n%s%s", query, code, out, e)
		}
	}
}
