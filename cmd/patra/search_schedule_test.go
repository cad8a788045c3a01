package main

import (
	"path/filepath"
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
