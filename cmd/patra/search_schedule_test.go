package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/sim"
)

// TestSearchSchedule_GoesOnFromARun: a search that was never run has nowhere to go on from, and
// its schedule would read everything since its sources began; after a run it may be scheduled.
func TestSearchSchedule_GoesOnFromARun(t *testing.T) {
	t.Parallel()
	db := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	_, url := oracle(t, sim.Config{Records: 20, Seed: 2, LimitRPS: -1})
	schedule := []string{"search", "schedule", "s", "--cron", "@daily", "--reason", "keep it fresh", "--db", db}
	must := func(want int, args ...string) (said string) {
		t.Helper()
		code, out, e := patra(t, args...)
		if code != want {
			t.Fatalf("%q: exit %d: %s%s", args, code, out, e)
		}
		return out + e
	}
	must(exitDone, "search", "new", "s", "--query", "year:1990..2100", "--sources", "crossref", "--since", "2026-01-01", "--reason", "x", "--db", db)
	says(t, must(exitUsage, schedule...), "crossref was not read for this search yet", "next: patra search run s, then the same command again")
	says(t, must(exitUsage, append(schedule, "--dry-run")...), "was not read for this search yet")
	must(exitDone, "search", "run", "s", "--base-url", "crossref="+url+"/crossref", "--contact", "a@example.org", "--db", db)
	must(exitDone, schedule...)
	says(t, must(exitDone, "schedule", "list", "--db", db), "s.crossref")
}

// TestSearchSchedule_EndsWithItsSearch: a schedule of a search goes with the source that an edit
// drops, with the query that it changes, and with the search; each end is told before and after.
func TestSearchSchedule_EndsWithItsSearch(t *testing.T) {
	t.Parallel()
	db := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	_, url := oracle(t, sim.Config{Records: 20, Seed: 2, LimitRPS: -1})
	must := func(args ...string) (said string) {
		t.Helper()
		code, out, e := patra(t, append(args, "--db", db, "--contact", "a@example.org")...)
		if code != exitDone {
			t.Fatalf("%q: exit %d: %s%s", args, code, out, e)
		}
		return out + e
	}
	save := func(query, sources string, more ...string) string {
		t.Helper()
		return must(append([]string{"search", "new", "s", "--query", query, "--sources", sources, "--since", "2026-01-01", "--reason", "x"}, more...)...)
	}
	schedule := func(base ...string) {
		t.Helper()
		must(append([]string{"search", "run", "s"}, base...)...)
		must("search", "schedule", "s", "--cron", "@daily", "--reason", "x")
	}
	crossref := []string{"--base-url", "crossref=" + url + "/crossref"}
	both := append([]string{"--base-url", "pubmed=" + url + "/pubmed"}, crossref...)
	save("year:1990..2100", "crossref,pubmed")
	schedule(both...)
	const dropped = "1 schedule of what the search no longer asks for is removed with this: s.pubmed"
	says(t, save("year:1990..2100", "crossref", "--dry-run"), dropped)
	says(t, must("schedule", "list"), "s.crossref", "s.pubmed")
	says(t, save("year:1990..2100", "crossref"), dropped)
	left := must("schedule", "list")
	says(t, left, "s.crossref")
	if strings.Contains(left, "s.pubmed") {
		t.Errorf("the schedule of a source that was dropped is still there:\n%s", left)
	}
	says(t, must("audit", "list"), "SCHEDULE_REMOVE", "schedule/s.pubmed")
	says(t, save("year:1991..2100", "crossref"), "is removed with this: s.crossref", "patra search run s, then patra search schedule s")
	schedule(crossref...)
	says(t, must("search", "remove", "s", "--reason", "x", "--dry-run"), "is removed with this: s.crossref")
	says(t, must("search", "remove", "s", "--reason", "x"), "is removed with this: s.crossref")
	if left := must("schedule", "list"); strings.Contains(left, "s.crossref") {
		t.Errorf("the schedule of a search that was removed is still there:\n%s", left)
	}
}
