package main

import (
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/sim"
)

// TestR68_SchedulesByHand: a schedule is looked at, set, listed, paused, resumed and
// removed, each with its reason in the audit; what cannot be asked for, or is said
// wrongly, is refused and changes nothing.
func TestR68_SchedulesByHand(t *testing.T) {
	d := newDesk(t, sim.Config{Records: 20, Seed: 3})
	set := func(more ...string) []string {
		return append([]string{"schedule", "set", "insulin", "--source", "crossref", "--cron", "15 4 * * *", "--zone", "Europe/Berlin"}, more...)
	}
	out, _ := d.must(0, set("--query", "type:book", "--dry-run")...)
	says(t, out, "insulin: would be set", "crossref HARVEST, high priority", "type:book", "15 4 * * * Europe/Berlin", "next")
	out, e := d.must(0, "schedule", "list")
	says(t, out+e, "nothing is scheduled", howToBegin)
	for _, bad := range []struct {
		exit int
		args []string
		says string
	}{
		{exitUsage, set("--query", "mesh:x", "--reason", "r"), "neither searches `mesh` nor shows it"},
		{exitUsage, set("--query", "type:book"), "needs --reason"},
		{exitUsage, set("--operation", "BACKFILL", "--reason", "r"), "needs both --from and --to"},
		{exitUsage, set("--operation", "BACKFILL", "--from", "-3d", "--to", "2026-01-01", "--reason", "r"), "moves on with time"},
		{exitUsage, set("--operation", "UPDATE", "--query", "type:book", "--reason", "r"), "by their ids"},
		{exitUsage, set("--from", "-3d", "--reason", "r"), "window of a BACKFILL"},
		{exitUsage, set("--signals", "--reason", "r"), "what an UPDATE reads again"},
		{exitUsage, []string{"schedule", "set", "x", "--source", "crossref", "--cron", "never", "--reason", "r"}, "--cron"},
		{exitUsage, []string{"schedule", "set", "x", "--source", "crossref", "--cron", "@daily", "--zone", "Mars", "--reason", "r"}, "not a time zone"},
		{exitUsage, []string{"schedule", "set", "A b", "--source", "crossref", "--cron", "@daily", "--reason", "r"}, "cannot be the name"},
		{exitUsage, []string{"schedule", "set", "pubmed/HARVEST", "--source", "crossref", "--cron", "@daily", "--reason", "r"}, "a name of its own"},
		{exitNotFound, []string{"schedule", "set", "x", "--source", "nowhere", "--cron", "@daily", "--reason", "r"}, "no source \"nowhere\""},
		{exitNotFound, []string{"schedule", "pause", "insuline", "--reason", "r"}, "there is no schedule"},
	} {
		_, e := d.must(bad.exit, bad.args...)
		says(t, e, bad.says)
	}
	if v := d.object(0, "schedule", "list"); len(v["schedules"].([]any)) != 0 {
		t.Errorf("something was set: %v", v)
	}
	d.must(0, set("--query", "type:book", "--reason", "first")...)
	d.must(0, "schedule", "set", "reread", "--source", "crossref", "--operation", "backfill", "--from", "-30d", "--to", "-1d", "--cron", "@weekly", "--reason", "late data")
	d.must(0, "schedule", "set", "stale", "--source", "crossref", "--operation", "update", "--cron", "@daily", "--priority", "low", "--reason", "retractions")
	out, _ = d.must(0, "schedule", "show", "reread")
	says(t, out, "[-30d, -1d)", "low priority", "none yet")
	out, _ = d.must(0, "schedule", "show", "stale")
	says(t, out, "what is signalled, what was not seen for 180d", "low priority")
	v := d.object(0, "schedule", "show", "insulin")
	if v["query"] != "type:book" || v["enabled"] != true || v["origin"] != "set" || v["next_at"] == nil || v["cursor"] == nil {
		t.Errorf("%v", v)
	}
	_, e = d.must(0, set("--query", "type:monograph", "--reason", "another")...)
	says(t, e, "a cursor of its own")
	d.must(0, "schedule", "pause", "insulin", "--reason", "too much")
	out, _ = d.must(0, "schedule", "pause", "insulin", "--reason", "again")
	says(t, out, "is paused already")
	out, _ = d.must(0, "schedule", "list")
	says(t, out, "paused", "type:monograph")
	d.must(0, "schedule", "resume", "insulin", "--reason", "well again")
	d.must(0, "schedule", "remove", "insulin", "--dry-run")
	d.must(0, "schedule", "remove", "insulin", "--reason", "done")
	d.must(exitNotFound, "schedule", "show", "insulin")
	out, _ = d.must(0, "audit", "list", "--object", "schedule/insulin")
	for _, want := range []string{"SCHEDULE_SET", "first", "another", "SCHEDULE_PAUSE", "too much", "SCHEDULE_RESUME", "SCHEDULE_REMOVE", "done"} {
		if !strings.Contains(out, want) {
			t.Errorf("the audit lacks %s:\n%s", want, out)
		}
	}
	if strings.Count(out, "SCHEDULE_") != 5 {
		t.Errorf("not five changes are in the audit:\n%s", out)
	}
}
