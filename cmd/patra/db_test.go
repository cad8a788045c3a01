package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// TestDB_WhatIsOldIsMovedAndFound: an operator looks at what is large, sees what would be
// moved, moves exactly that, and finds it again; verify knows what is archived and notices
// when the archive is not there.
func TestDB_WhatIsOldIsMovedAndFound(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	db := "sqlite:" + path
	upstream, url := oracle(t, sim.Config{Records: 60, Seed: 3, LimitRPS: -1, Sources: []string{"crossref"}})
	harvestOnce := func() {
		t.Helper()
		if code, _, e := patra(t, "harvest", "crossref", "--db", db, "--base-url", url+"/crossref"); code != exitDone {
			t.Fatalf("exit %d: %s", code, e)
		}
	}
	harvestOnce()
	upstream.Advance(6 * time.Hour)
	harvestOnce()
	// The first was long ago.
	raw := patratest.Raw(t, db)
	for _, q := range []string{
		`UPDATE ing_plan SET updated_at='2020-01-01 00:00:00.000000' WHERE id=1`,
		`UPDATE ing_cursor_event SET event_time='2020-01-01 00:00:00.000000' WHERE plan_id=1 OR kind_code='INIT'`,
	} {
		if _, err := raw.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	_, exported, _ := patra(t, "export", "--db", db, "--out", "-")
	var planKey string
	if err := raw.QueryRow(`SELECT plan_key FROM ing_plan WHERE id=1`).Scan(&planKey); err != nil {
		t.Fatal(err)
	}

	replayed := func(args ...string) (s control.ReplaySummary) {
		t.Helper()
		_, out, e := patra(t, append([]string{"replay", "--json", "--db", db}, args...)...)
		if err := json.Unmarshal([]byte(out), &s); err != nil || len(s.Reports) == 0 {
			t.Fatalf("%v: %v: %s%s", args, err, out, e)
		}
		return s
	}
	ofPlan, ofTask := replayed("--plan", planKey), replayed("--task", "1")
	if ofPlan.PlanKey != planKey || ofTask.Task != 1 || ofPlan.Reports[0].Batch != ofTask.Reports[0].Batch {
		t.Errorf("the plan replays %s, its first task %s", ofPlan.Reports[0].Batch, ofTask.Reports[0].Batch)
	}

	code, out, e := patra(t, "db", "archive", "--dry-run", "--json", "--db", db)
	var shown control.ArchivePreview
	if err := json.Unmarshal([]byte(out), &shown); code != exitDone || err != nil || shown.Due.Plans.Count != 1 || shown.Due.Batches.Count == 0 || shown.Token == "" {
		t.Fatalf("exit %d, %v: %s%s", code, err, out, e)
	}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"db", "archive"}, exitUsage, "--reason"},
		{[]string{"db", "archive", "--before", time.Now().Format(time.DateOnly), "--reason", "x"}, exitUsage, "[too_young]"},
		{[]string{"db", "archive", "--reason", "x", "--archive", "none"}, exitUsage, "[no_archive]"},
		{[]string{"db", "archive", "--reason", "x", "--apply", "1.2"}, exitUsage, "[bad_token]"},
		{[]string{"db", "archive", "--reason", "x", "--keep-trail", "3d"}, exitUsage, "at least 14 days"},
		{[]string{"db", "archive", "show", "plan/1"}, exitNotFound, "[not_archived]"},
	} {
		if code, out, e := patra(t, append(c.args, "--db", db)...); code != c.code || !strings.Contains(e, c.says) {
			t.Errorf("%v: exit %d: %s%s", c.args, code, out, e)
		}
	}
	code, out, e = patra(t, "db", "archive", "--apply", shown.Token, "--reason", "disk", "--json", "--db", db)
	var done control.ArchiveReport
	if err := json.Unmarshal([]byte(out), &done); code != exitDone || err != nil || len(done.Archives) != 1 || done.Rows == 0 {
		t.Fatalf("exit %d, %v: %s%s", code, err, out, e)
	}
	file := filepath.Join(path+".archive", done.Archives[0].File)
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
	code, _, e = patra(t, "plan", "show", "1", "--db", db)
	if code != exitNotFound {
		t.Errorf("exit %d", code)
	}
	says(t, e, "plan 1 was archived on "+time.Now().UTC().Format(time.DateOnly), done.Archives[0].File, "next: patra db archive show plan/1")
	for _, args := range [][]string{
		{"blackbox", "show", "1/1"},
		{"blackbox", "show", "ing-1-1"},
		{"blackbox", "show", "1"},
		{"blackbox", "export", "1/1", "--reason", "x"},
		{"replay", "1/1"},
		{"replay", "--plan", planKey},
		{"replay", "--task", "1"},
		{"task", "show", "1"},
		{"run", "show", "1"},
		{"batch", "show", "1/1"},
	} {
		code, out, e := patra(t, append(args, "--db", db)...)
		if code != exitNotFound {
			t.Errorf("%v: exit %d: %s", args, code, out)
		}
		says(t, e, "was archived on", done.Archives[0].File, "next: patra db archive show ")
	}
	code, _, e = patra(t, "blackbox", "show", "1/1", "--archive", "none", "--db", db)
	if code != exitNotFound {
		t.Errorf("exit %d", code)
	}
	says(t, e, "it may be in archive "+done.Archives[0].File, "--archive DIR")
	if _, out, _ := patra(t, "db", "archive", "show", "plan/1", "--db", db); !strings.Contains(out, "spec_snapshot") || !strings.Contains(out, "ing_task_run_batch") {
		t.Errorf("%s", out)
	}
	if _, out, _ := patra(t, "db", "status", "--db", db); !strings.Contains(out, done.Archives[0].File) || !strings.Contains(out, "ing_record_version") || !strings.Contains(out, "365 days") {
		t.Errorf("%s", out)
	}
	if _, out, _ := patra(t, "audit", "list", "--json", "--db", db); !strings.Contains(out, `"ARCHIVE"`) || !strings.Contains(out, "disk") {
		t.Errorf("%s", out)
	}
	if _, again, _ := patra(t, "export", "--db", db, "--out", "-"); again != exported {
		t.Error("the export is another")
	}
	if code, out, e := patra(t, "verify", "--deep", "--db", db); code != exitDone {
		t.Errorf("exit %d: %s%s", code, out, e)
	}
	upstream.Advance(6 * time.Hour)
	harvestOnce()
	if err := os.Truncate(file, 10); err != nil {
		t.Fatal(err)
	}
	if code, out, _ := patra(t, "verify", "--db", db); code != exitDifferences || !strings.Contains(out, "10 bytes") {
		t.Errorf("a damaged archive: exit %d: %s", code, out)
	}
}

// TestR74_GrantsOfAConsole: a console at which people change things needs what an operator
// needs, one that lets nobody change anything what a reader needs, and it is said which.
func TestR74_GrantsOfAConsole(t *testing.T) {
	for as, args := range map[string][]string{"operator": {"console"}, "reader": {"console", "--read-only"}} {
		_, want, _ := patra(t, "db", "grants", as, "--user", "web")
		code, got, note := patra(t, append([]string{"db", "grants", "--user", "web"}, args...)...)
		if code != 0 || got != "-- what the role "+as+" needs\n"+want {
			t.Errorf("%v: exit %d\n%s%s", args, code, got, note)
		}
	}
	if code, got, note := patra(t, "db", "grants", "executor", "--read-only"); code != exitUsage {
		t.Errorf("of an executor: exit %d\n%s%s", code, got, note)
	}
}
