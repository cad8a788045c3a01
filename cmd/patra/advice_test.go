package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// TestAdvice_FitsTheFault: what passes by itself is waited for, anything else
// is told with what to mend.
func TestAdvice_FitsTheFault(t *testing.T) {
	db := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	_, url := oracle(t, sim.Config{Records: 100, Seed: 4, Sources: []string{"pubmed"}})
	for _, c := range []struct {
		name, query string
		code        int
		says        []string
	}{
		{"unfinished", "tiab:(", exitUsage, []string{"[bad_query]", "mend --query"}},
		{"unknown to the source", `tiab:"no such words"`, exitUpstream, []string{"[query_widened]", "no such words", "mend --query"}},
		{"as in the README", `tiab:"insulin resistance" AND year:2020..2026 AND NOT type:review`, exitDone, nil},
	} {
		code, _, e := patra(t, "harvest", "pubmed", "--db", db, "--base-url", url+"/pubmed", "--query", c.query)
		if code != c.code || strings.Contains(e, "again later") || strings.Contains(e, "source history") {
			t.Errorf("%s: exit %d: %s", c.name, code, e)
		}
		says(t, e, c.says...)
	}
	// What a cursor is about is shown in words, not only as a hash.
	for _, args := range [][]string{{"coverage", "pubmed"}, {"plan", "list"}, {"plan", "show", "1"}, {"cursor", "list"}, {"cursor", "show", "1"}} {
		for _, form := range [][]string{nil, {"--json"}} {
			_, out, _ := patra(t, append(append(args, "--db", db), form...)...)
			if !strings.Contains(out, "insulin resi") {
				t.Errorf("%v%v does not show the query:\n%s", args, form, out)
			}
		}
	}
	for code, want := range map[string]string{"auth_refused": "patra credential set mini NAME", "http_400": "patra source check mini --show http"} {
		if got := (harvest.Fault{Level: harvest.Fatal, Code: harvest.Code(code)}).Next("mini"); !strings.Contains(got, want) || strings.Contains(got, "later") {
			t.Errorf("%s: %s", code, got)
		}
	}
	if got := (harvest.Fault{Level: harvest.Transient, Code: "http_503"}).Next("mini"); !strings.Contains(got, "later") {
		t.Errorf("http_503: %s", got)
	}
}

// TestInterrupt_SaysSo: it says that it was interrupted, what is kept and how
// to go on, and claims nothing that is not proven.
func TestInterrupt_SaysSo(t *testing.T) {
	db := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	patratest.Open(t, db, sqlstore.Options{})
	_, url := oracle(t, sim.Config{Records: 2000, Seed: 4, Sources: []string{"crossref"}, Latency: 300 * time.Millisecond})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	raw := patratest.Raw(t, db)
	go func() {
		for n := 0; n == 0 && ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
			_ = raw.QueryRowContext(ctx, `SELECT COUNT(*) FROM ing_task_run_batch`).Scan(&n) // busy: again
		}
		stop()
	}()
	var out, errOut bytes.Buffer
	code := run(ctx, []string{"harvest", "crossref", "--db", db, "--base-url", url + "/crossref"}, &out, &errOut)
	if code != exitInterrupted {
		t.Fatalf("exit %d: %s%s", code, out.String(), errOut.String())
	}
	says(t, errOut.String(), "interrupted", "is kept", "next: run the same command again")
	if strings.Contains(out.String(), "0 done") && !strings.Contains(out.String(), "complete  nothing yet") {
		t.Errorf("nothing is proven, yet:\n%s", out.String())
	}
}

// TestAdvice_EveryRefusalHasANextStep: also what the machine refuses.
func TestAdvice_EveryRefusalHasANextStep(t *testing.T) {
	dir := t.TempDir()
	db := "sqlite:" + filepath.Join(dir, "a.db")
	patratest.Open(t, db, sqlstore.Options{})
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, url := oracle(t, sim.Config{Records: 1})
	for _, c := range []struct {
		args []string
		next string
	}{
		{[]string{"plan", "show", "9", "--db", db}, "next: patra plan list"},
		{[]string{"cursor", "show", "9", "--db", db}, "next: patra cursor list"},
		{[]string{"plan", "accept-gap", "9", "--reason", "x", "--db", db}, "next: patra plan gaps SOURCE"},
		{[]string{"verify", "--db", "sqlite:" + text}, "next: name a database"},
		{[]string{"verify", "--db", "mysql://u:p@127.0.0.1:1/x"}, "next: is the database server running"},
		{[]string{"sim", "--listen", strings.TrimPrefix(url, "http://")}, "next: choose another address"},
	} {
		if code, _, e := patra(t, c.args...); code == 0 || !strings.Contains(e, c.next) {
			t.Errorf("%v: exit %d: %s", c.args, code, e)
		}
	}
}
