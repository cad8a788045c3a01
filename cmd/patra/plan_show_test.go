package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// TestPlanShow_NamesTheParts: where slices share a window, plan, gaps and
// coverage say which part of it each is, and a window is proven when all are.
func TestPlanShow_NamesTheParts(t *testing.T) {
	t.Parallel()
	d := newDesk(t, sim.Config{Records: 200, Seed: 3})
	d.write(strings.NewReplacer(
		"  target: 60", "  target: 60\n  strategy: HASH\n  split: {buckets: 8}",
		"token: ${page.token}", "token: ${page.token}\n      bucket: ${bucket}\n      buckets: ${buckets}",
		"size: 1}", `size: 1, bucket: "${bucket}", buckets: "${buckets}"}`,
	).Replace(d.pack))
	out, _ := d.must(0, "plan", "create", "mini", "--dry-run")
	says(t, out, "bucket 0 of 4", "bucket 3 of 4")
	d.must(0, "plan", "create", "mini")
	out, _ = d.must(0, "plan", "show", "1")
	says(t, out, "STATE", ") bucket 0 of 4 0", ") bucket 1 of 4 0")
	out, _ = d.must(0, "coverage", "mini")
	says(t, out, "  open     [", ")  in 4 parts\n")

	// One bucket is refused, and one has not been walked.
	db := patratest.Raw(t, "sqlite:"+d.file)
	if _, err := db.ExecContext(t.Context(), `UPDATE ing_plan_slice SET status_code='DONE'`); err != nil {
		t.Fatal(err)
	}
	for status, no := range map[string]int{"FAILED": 2, "READY": 3} {
		if _, err := db.ExecContext(t.Context(), `UPDATE ing_plan_slice SET status_code=?, reason='no' WHERE slice_spec LIKE ?`, status, fmt.Sprintf(`%%"from":%d,"to":%d,"of":4%%`, no, no+1)); err != nil {
			t.Fatal(err)
		}
	}
	out, _ = d.must(0, "coverage", "mini")
	says(t, out, ")  1 of 4 parts: bucket 2 of 4  no\n", ")  1 of 4 parts: bucket 3 of 4\n")
	if strings.Contains(out, "proven") {
		t.Errorf("a window of which half is missing is proven:\n%s", out)
	}
	out, _ = d.must(0, "plan", "gaps", "mini")
	says(t, out, ") bucket 2 of 4 FAILED")
	shown := fmt.Sprint(d.object(0, "plan", "show", "1"), d.object(0, "coverage", "mini"), d.object(0, "plan", "gaps", "mini"))
	says(t, shown, "range:bucket 3 of 4", "parts:4 ranges:[bucket 2 of 4]", "range:bucket 2 of 4 reason:no")
}

// TestR67_WhatThePlannerRemarkedIsShown: plan show has what the planner remarked (how large
// the plan was taken to be, what it does without, what it may cost) and of each slice how
// many requests were expected and could go out; a move of the cursor has all that made it.
func TestR67_WhatThePlannerRemarkedIsShown(t *testing.T) {
	t.Parallel()
	d := newDesk(t, sim.Config{Records: 200, Seed: 3})
	d.must(0, "plan", "create", "mini")
	shown := d.object(0, "plan", "show", "1")
	list := shown["slice_list"].([]any)
	remarks, _ := shown["remarks"].(map[string]any)
	_, lacks := remarks["degradation"].([]any)
	budget, _ := remarks["budget"].(map[string]any)
	if remarks["sliceCount"] != float64(len(list)) || remarks["totalEstimated"].(float64) <= 0 || !lacks || budget["maxRequests"] == nil || budget["qps"] == nil {
		t.Errorf("remarks %v", remarks)
	}
	for _, s := range list {
		hints, _ := s.(map[string]any)["hints"].(map[string]any)
		for _, key := range []string{"expectedRecords", "expectedRequests", "budgetHint"} {
			if n, _ := hints[key].(float64); n <= 0 {
				t.Errorf("no %s in %v", key, s)
			}
		}
	}
	d.must(0, "harvest", "mini")
	moves := d.object(0, "cursor", "events", "1")["events"].([]any)
	last := moves[0].(map[string]any)
	for _, key := range []string{"schedule_instance", "plan", "slice", "task", "run", "batch"} {
		if n, _ := last[key].(float64); n <= 0 {
			t.Errorf("no %s in %v", key, last)
		}
	}
}
