package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/sim"
)

// TestR12_ADateIsTheSourcesDay: a date is the day of a source that counts days, also where
// clocks change, and the note says so; for another source it begins at midnight UTC, and an
// instant is that instant for both.
func TestR12_ADateIsTheSourcesDay(t *testing.T) {
	t.Parallel()
	const pubmed, crossref = "pubmed", "crossref"
	for name, c := range map[string]struct {
		source, from, to string
		wantFrom, wantTo string
		note             string
		backfill         bool
	}{
		"harvest to summer time":  {source: pubmed, from: "2025-03-09", to: "2025-03-10", wantFrom: "2025-03-09T05", wantTo: "2025-03-10T04", note: "2025-03-09 and 2025-03-10 are those days in America/New_York"},
		"backfill to summer time": {source: pubmed, from: "2025-03-09", to: "2025-03-10", wantFrom: "2025-03-09T05", wantTo: "2025-03-10T04", note: "America/New_York", backfill: true},
		"backfill to winter time": {source: pubmed, from: "2025-11-02", to: "2025-11-03", wantFrom: "2025-11-02T04", wantTo: "2025-11-03T05", note: "America/New_York", backfill: true},
		"a month":                 {source: pubmed, from: "2025-03", to: "2025-03-05T05:00:00Z", wantFrom: "2025-03-01T05", wantTo: "2025-03-05T05", note: "2025-03 (2025-03-01) is that day in America/New_York", backfill: true},
		"instants":                {source: pubmed, from: "2025-03-09T05:00:00Z", to: "2025-03-10T04:00:00Z", wantFrom: "2025-03-09T05", wantTo: "2025-03-10T04", backfill: true},
		"instants within a day":   {source: pubmed, from: "2025-03-09T00:00:00Z", to: "2025-03-10T00:00:00Z", wantFrom: "2025-03-08T05", wantTo: "2025-03-10T04", backfill: true},
		"harvest of seconds":      {source: crossref, from: "2025-03-09", to: "2025-03-10", wantFrom: "2025-03-09T00", wantTo: "2025-03-10T00"},
		"backfill of seconds":     {source: crossref, from: "2025-11-02", to: "2025-11-03", wantFrom: "2025-11-02T00", wantTo: "2025-11-03T00", backfill: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, url := oracle(t, sim.Config{Records: 60, Seed: 3, LimitRPS: -1, Sources: []string{c.source}, Now: time.Date(2025, 11, 20, 0, 0, 0, 0, time.UTC)})
			db := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
			wish := []string{c.source, "--from", c.from, "--to", c.to, "--db", db, "--base-url", url + "/" + c.source, "--json"}
			op := []string{"harvest"}
			plan := []string{"plan", "create", "--op", "HARVEST", "--dry-run"}
			if c.backfill {
				op[0] = "backfill"
				plan[3] = "BACKFILL"
			}
			var shown struct {
				From, To string
				Warnings []string
			}
			answer(t, &shown, append(plan, wish...)...)
			if !strings.HasPrefix(shown.From, c.wantFrom+":00:00") || !strings.HasPrefix(shown.To, c.wantTo+":00:00") || !strings.Contains(strings.Join(shown.Warnings, "\n"), c.note) {
				t.Errorf("the preview shows %+v", shown)
			}
			var rep struct {
				Window struct{ From, To string }
				Notes  []string
			}
			answer(t, &rep, append(op, wish...)...)
			if !strings.HasPrefix(rep.Window.From, c.wantFrom+":00:00") || !strings.HasPrefix(rep.Window.To, c.wantTo+":00:00") {
				t.Errorf("read [%s, %s), not [%s, %s)", rep.Window.From, rep.Window.To, c.wantFrom, c.wantTo)
			}
			if said := strings.Join(rep.Notes, "\n"); !strings.Contains(said, c.note) || c.note == "" && said != "" {
				t.Errorf("the notes are %q", said)
			}
		})
	}
}

// TestR12_ADateIsTheSourcesDayEverywhere: schedules, comparisons and checks mean the same
// day as a harvest.
func TestR12_ADateIsTheSourcesDayEverywhere(t *testing.T) {
	t.Parallel()
	_, url := oracle(t, sim.Config{Records: 300, Seed: 3, LimitRPS: -1, Sources: []string{"pubmed"}, Now: time.Date(2025, 3, 20, 0, 0, 0, 0, time.UTC)})
	rest := []string{"--db", "sqlite:" + filepath.Join(t.TempDir(), "a.db"), "--json"}
	base := append([]string{"--base-url", url + "/pubmed"}, rest...)
	window := []string{"--from", "2025-03-09", "--to", "2025-03-11"}
	type said struct {
		From, To string
		Notes    []string
	}
	isThatDay := func(where string, s said) {
		t.Helper()
		if !strings.HasPrefix(s.From, "2025-03-09T05:00:00") || !strings.HasPrefix(s.To, "2025-03-11T04:00:00") || !strings.Contains(strings.Join(s.Notes, ""), "America/New_York") {
			t.Errorf("%s: %+v", where, s)
		}
	}
	var first map[string]any
	answer(t, &first, append([]string{"harvest", "pubmed", "--from", "2025-03-01"}, base...)...)
	var compared said
	answer(t, &compared, append(append([]string{"reconcile", "pubmed"}, window...), base...)...)
	isThatDay("reconcile", compared)
	var set struct {
		After said
		Notes []string
	}
	answer(t, &set, append(append([]string{"schedule", "set", "old", "--source", "pubmed", "--operation", "BACKFILL", "--cron", "0 3 * * *", "--reason", "x"}, window...), rest...)...)
	set.After.Notes = set.Notes
	isThatDay("schedule", set.After)
	code, out, e := patra(t, append(append([]string{"source", "check", "pubmed", "--records", "5"}, window...), base[:4]...)...)
	if !strings.Contains(out, "2025-03-09 and 2025-03-11 are those days in America/New_York") {
		t.Errorf("check: exit %d\n%s%s", code, out, e)
	}
}

// answer runs a command line that ends well, and reads its one JSON object.
func answer(t *testing.T, into any, args ...string) {
	t.Helper()
	code, out, e := patra(t, args...)
	if code != 0 {
		t.Fatalf("patra %s: exit %d\n%s%s", strings.Join(args, " "), code, out, e)
	}
	if err := json.Unmarshal([]byte(out), into); err != nil {
		t.Fatalf("patra %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// TestR8_BackfillFromNowRunsTwice: the same command again ends well. That it has nothing to
// do on the same day is told where time can be held: here midnight may pass.
func TestR8_BackfillFromNowRunsTwice(t *testing.T) {
	t.Parallel()
	_, url := oracle(t, sim.Config{Records: 60, Seed: 3, LimitRPS: -1, Sources: []string{"crossref"}})
	db := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	for range 2 {
		var rep struct{ Status string }
		answer(t, &rep, "backfill", "crossref", "--from", "-80d", "--to", "-61d", "--base-url", url+"/crossref", "--db", db, "--json")
	}
}
