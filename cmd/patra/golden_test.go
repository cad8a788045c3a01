package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/patratest"
)

// goldenReads are commands that show something, over a store with a little of everything.
var goldenReads = []string{
	"status", "queue show", "plan list", "plan show 1", "task list", "task show 1", "run list", "run show 1", "cursor list", "coverage crossref", "record list",
	"record list --source pubmed --limit 1", "record show crossref 10.1000/1", "record history pubmed 17", "search list", "search show diabetes", "schedule list", "alert list",
	"error list", "quarantine list", "work list", "work suggestions", "rate show", "work show 1", "schedule show nightly", "token list",
	"credential list",
}

// goldenErrors are command lines that fail, each in a way of its own.
var goldenErrors = []string{
	"harvest", "harvest crosref", "harvest crossref --from 2020-13", "harvest crossref --query tiab:(", "harvest crossref --workers 0", "hervest crossref", "plan lst", "plan show 99",
	"plan show x", "record show pubmed 99", "search show nosuch", "search new x --query ti:a --sources pubmd --reason x", "task list --state DONE", "task list -o xml",
	"task list -q --json", "record list --fields nosuch -o csv", "export --format word", "export --for covidence", "explain nosuch", "source pause crossref",
	"work join 1 --reason x", "alert show 1", "db status --db sqlite:DIR/none/p.db", "plan create --apply stale", "rate lower crossref --reason x",
}

// TestGolden_WhatCommandsPrint: tables on a terminal of 80 columns and in a pipe, with texts in
// scripts that are wide, that go from right to left and that have marks; the same as data and as
// names; and what is said of command lines that fail, in words and as data.
func TestGolden_WhatCommandsPrint(t *testing.T) {
	t.Parallel()
	dsn := patratest.SQLite.DSN(t)
	dir := filepath.Dir(strings.TrimPrefix(dsn, "sqlite:"))
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC))) // a day after what is stored
		fillGolden(t, dsn)
		tell := func(s screen, lines []string, more ...string) []byte {
			var all bytes.Buffer
			for _, line := range lines {
				var out, errOut bytes.Buffer
				args := append(strings.Fields(strings.ReplaceAll(line, "DIR", dir)), more...)
				if !strings.Contains(line, "--db") {
					args = append(args, "--db", dsn)
				}
				code := runOn(t.Context(), s, args, &out, &errOut)
				fmt.Fprintf(&all, "$ patra %s\n%s", strings.Join(append([]string{line}, more...), " "), pretty(out.Bytes()))
				for said := range strings.Lines(errOut.String()) {
					fmt.Fprintf(&all, "! %s", said)
				}
				if code != exitDone {
					fmt.Fprintf(&all, "exit %d\n", code)
				}
				all.WriteByte('\n')
			}
			return bytes.ReplaceAll(all.Bytes(), []byte(dir), []byte("DIR"))
		}
		// In a pipe this tells of how many rows each pack has, which any change of one changes.
		sources := []string{"source list"}
		wide := tell(screen{terminal: true, width: 80}, append(sources, goldenReads...))
		patratest.Golden(t, "reads_80.txt", wide)
		patratest.Golden(t, "reads_pipe.txt", tell(screen{}, goldenReads))
		patratest.Golden(t, "reads_json.txt", tell(screen{}, goldenReads, "--json"))
		patratest.Golden(t, "errors.txt", tell(screen{}, goldenErrors))
		patratest.Golden(t, "errors_json.txt", tell(screen{}, []string{"plan show 99", "harvest crosref", "task list --state DONE"}, "--json"))
		lists := sources
		for _, line := range goldenReads {
			if strings.HasSuffix(line, " list") {
				lists = append(lists, line)
			}
		}
		patratest.Golden(t, "reads_quiet.txt", tell(screen{}, lists, "-q"))
		checkWidth(t, string(wide))
	})
}

// checkWidth wants every row of a table to fit on the screen. Notes, and values that stand alone
// behind their heads, are wrapped by the terminal.
func checkWidth(t *testing.T, text string) {
	t.Helper()
	inTable := false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		isHead := line == strings.ToUpper(line) && strings.Count(line, "  ") > 1
		inTable = isHead || inTable && line != "" && !strings.HasPrefix(line, "never harvested: ")
		if inTable && textWidth(line) > 80 {
			t.Errorf("a row of %d columns: %s", textWidth(line), line)
		}
	}
}

// pretty is JSON with a member a line; anything else stays as it is.
func pretty(out []byte) []byte {
	var b bytes.Buffer
	if json.Indent(&b, out, "", "  ") != nil {
		return out
	}
	return b.Bytes()
}

// fillGolden stores records of two sources with titles in several scripts, and saves a search.
func fillGolden(t *testing.T, dsn string) {
	t.Helper()
	mustRun := func(args ...string) {
		t.Helper()
		if code, out, e := patra(t, append(args, "--db", dsn)...); code != exitDone {
			t.Fatalf("%q: %d %s%s", args, code, out, e)
		}
	}
	mustRun("db", "migrate")
	mustRun("source", "apply", "crossref")
	mustRun("source", "apply", "pubmed")
	storeRecords(t, dsn, "crossref",
		harvest.Record{ID: "10.1000/1", Raw: []byte("1"), Fields: []byte(`{"title":"胰岛素抵抗与二型糖尿病患者认知功能障碍之间关系的随机对照试验研究进展","doi":"10.1000/1","published":"2020-01-02","authors":[{"family":"王","given":"小明"}]}`)},
		harvest.Record{ID: "10.1000/2", Raw: []byte("2"), Fields: []byte(`{"title":"مقاومة الأنسولين في مرضى السكري من النوع الثاني","doi":"10.1000/2"}`)},
		harvest.Record{ID: "10.1000/3", Raw: []byte("3"), Fields: []byte(`{"title":"Re\u0301sistance a\u0300 l’insuline: e\u0301tude randomise\u0301e en double aveugle, avec un titre qui ne tient pas sur une ligne","doi":"10.1000/3"}`)})
	storeRecords(t, dsn, "pubmed",
		harvest.Record{ID: "17", Raw: []byte("4"), Fields: []byte(`{"title":"胰岛素抵抗与二型糖尿病患者认知功能障碍之间关系的随机对照试验研究进展","doi":"10.1000/1","pmid":"17","published":"2020-01-02","authors":[{"family":"王","given":"小明"}]}`)},
		harvest.Record{ID: "18", Raw: []byte("5"), Status: harvest.RecordRetracted, Fields: []byte(`{"title":"Evil \u001b[2J title\nwith a second line","pmid":"18"}`)})
	mustRun("work", "link", "--reason", "x")
	mustRun("search", "new", "diabetes", "--query", "ti:糖尿病 AND year:2020..2026", "--sources", "pubmed,crossref", "--reason", "x")
	mustRun("schedule", "set", "nightly", "--source", "crossref", "--cron", "@daily", "--reason", "x")
}
