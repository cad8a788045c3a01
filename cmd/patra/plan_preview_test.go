package main

import (
	"testing"

	"github.com/papertrace/patra/internal/sim"
)

// TestPreview_RefusesWhatTheActRefuses: a preview goes the way of the change
// itself, so that it ends as that would, and leaves nothing behind.
func TestPreview_RefusesWhatTheActRefuses(t *testing.T) {
	d := newDesk(t, sim.Config{Records: 200, Seed: 3})
	d.must(0, "plan", "create", "mini")
	both := func(want int, code string, args ...string) {
		t.Helper()
		_, preview := d.must(want, append(args, "--dry-run")...)
		_, act := d.must(want, append(args, "--reason", "x")...)
		says(t, preview, code)
		says(t, act, code)
	}
	both(exitConflict, "[no_gap]", "plan", "accept-gap", "1")
	both(exitNotFound, "[not_found]", "plan", "accept-gap", "777")
	d.must(0, "plan", "cancel", "1", "--slice", "--dry-run")
	d.must(0, "plan", "cancel", "1", "--slice", "--reason", "x")
	both(exitConflict, "[not_open]", "plan", "cancel", "1", "--slice")

	// What is not refused says where it would lead.
	before := d.object(0, "cursor", "show", "1")
	would := d.object(0, "plan", "accept-gap", "1", "--dry-run")
	if after := d.object(0, "cursor", "show", "1"); after["cursor"].(map[string]any)["value"] != before["cursor"].(map[string]any)["value"] {
		t.Error("the preview moved the cursor")
	}
	if did := d.object(0, "plan", "accept-gap", "1", "--reason", "x"); did["watermark"] != would["watermark"] {
		t.Errorf("the watermark is %v, the preview said %v", did["watermark"], would["watermark"])
	}
	both(exitConflict, "[no_gap]", "plan", "accept-gap", "1")

	would = d.object(0, "plan", "cancel", "1", "--dry-run")
	if did := d.object(0, "plan", "cancel", "1", "--reason", "x"); did["slices"] != would["slices"] || did["slices"] == 0.0 {
		t.Errorf("%v slices, the preview said %v", did["slices"], would["slices"])
	}
	both(exitConflict, "[not_open]", "plan", "cancel", "1")
	d.clean()
}
