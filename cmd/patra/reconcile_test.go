package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/sim"
)

// TestReconcile_ListsPlansAndIsCleanAfter: the way from a difference to none, for
// people and as JSON.
func TestReconcile_ListsPlansAndIsCleanAfter(t *testing.T) {
	t.Parallel()
	d := newDesk(t, sim.Config{Records: 150, Seed: 3})
	d.must(0, "db", "migrate")
	_, e := d.must(exitNotFound, "reconcile", "mini")
	says(t, e, "nothing of it is proven", "[nothing_proven]", "next: patra harvest")
	d.must(0, "harvest", "mini")
	out, _ := d.must(0, "reconcile", "mini")
	says(t, out, "mini  [", " windows, upstream counts ", "no differences")
	if v := d.object(0, "reconcile", "mini", "--step", "7d"); len(v["differences"].([]any)) != 0 || v["windows"].(float64) > 6 || v["upstream"] != v["stored"] || v["requests"] != v["windows"] {
		t.Errorf("clean: %v", v)
	}

	late := d.o.Now().Add(-10 * 24 * time.Hour)
	for range 3 {
		if _, err := d.o.AddLate(sim.Generic, late, d.o.Now()); err != nil {
			t.Fatal(err)
		}
	}
	out, e = d.must(exitDifferences, "reconcile", "mini")
	day := late.UTC().Truncate(24 * time.Hour)
	window := fmt.Sprintf("[%s, %s)", day.Format(time.RFC3339), day.Add(24*time.Hour).Format(time.RFC3339))
	says(t, out, "1 windows differ", window, "+3  3 missing here, though the window was read to its end at ")
	if strings.Contains(out, "late") {
		t.Errorf("what is missing is excused as late:\n%s", out)
	}
	says(t, e, "may differ though nothing is wrong", "--plan --reason TEXT")

	plans := d.int(`SELECT COUNT(*) FROM ing_plan`)
	out, _ = d.must(exitDifferences, "reconcile", "mini", "--plan", "--dry-run")
	says(t, out, "would be reconcile-")
	if d.int(`SELECT COUNT(*) FROM ing_plan`) != plans {
		t.Error("the preview planned")
	}
	v := d.object(exitDifferences, "reconcile", "mini", "--plan", "--reason", "shown late")
	diff := v["differences"].([]any)[0].(map[string]any)
	if v["applied"] != true || diff["upstream"].(float64)-diff["stored"].(float64) != 3 || diff["planned"].(map[string]any)["operation"] != "BACKFILL" {
		t.Errorf("planned %v", v)
	}
	out, e = d.must(exitDifferences, "reconcile", "mini", "--plan", "--reason", "again")
	says(t, out, "planned for this finding already")
	says(t, e, "next: patra backfill mini --from ")
	if d.int(`SELECT COUNT(*) FROM ing_plan`) != plans+1 {
		t.Error("the same finding was planned twice")
	}
	out, _ = d.must(0, "audit", "list", "--object", "source/mini")
	says(t, out, "RECONCILE_PLAN", "shown late")
	if strings.Contains(out, "again") {
		t.Errorf("nothing was changed, yet it is in the audit:\n%s", out)
	}
	// The command that was named works on it.
	_, next, _ := strings.Cut(e, "next: patra ")
	next, _, _ = strings.Cut(next, ",")
	out, _ = d.must(0, strings.Fields(next)...)
	says(t, out, "mini BACKFILL  COMPLETED", "3 new")
	out, _ = d.must(0, "reconcile", "mini")
	says(t, out, "no differences")
	d.clean()
}

func TestReconcile_BadInput(t *testing.T) {
	t.Parallel()
	d := newDesk(t, sim.Config{Records: 50, Seed: 3})
	d.must(0, "harvest", "mini")
	for _, c := range []struct {
		code int
		args []string
		says string
	}{
		{exitUsage, nil, "needs the name of a source"},
		{exitNotFound, []string{"nope"}, "no source"},
		{exitUsage, []string{"mini", "--plan"}, "--reason"},
		{exitUsage, []string{"mini", "--reason", "x"}, "--plan"},
		{exitUsage, []string{"mini", "--step", "often"}, "--step"},
		{exitUsage, []string{"mini", "--step", "0s"}, "--step"},
		{exitUsage, []string{"mini", "--step", "36h"}, "whole days"},
		{exitUsage, []string{"mini", "--from", "soon"}, "--from"},
		{exitUsage, []string{"mini", "--base-url", "ftp://x"}, "--base-url"},
		{exitNotFound, []string{"mini", "--from", "2020-01-01", "--to", "2020-02-01"}, "nothing of it is proven"},
	} {
		if out, e := d.must(c.code, append([]string{"reconcile"}, c.args...)...); out != "" || !strings.Contains(e, c.says) || !strings.Contains(e, "next: ") {
			t.Errorf("%v: %s%s", c.args, out, e)
		}
	}
	uncounted := strings.NewReplacer("total: EXACT", "total: ROUGH", "usage: COUNT", "usage: COUNT\n    #").Replace(d.pack)
	before, _, _ := strings.Cut(uncounted, "  count:\n")
	d.write(before + "mapping:\n  fields: {title: title}\nrateLimit: {limit: 2000, window: 1s, qps: 1000, burst: 1}\n")
	_, e := d.must(exitUsage, "reconcile", "mini")
	says(t, e, "no COUNT endpoint", "[cannot_count]")
	d.write(d.pack) // which can be counted
	d.must(0, "source", "pause", "mini", "--reason", "test")
	_, e = d.must(exitUpstream, "reconcile", "mini")
	says(t, e, "paused")
}
