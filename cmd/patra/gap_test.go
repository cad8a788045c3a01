package main

import (
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/sim"
)

// TestGap_OneThatWasGivenUpIsToldLikeOneThatFailed: a slice that a person cancelled holds
// the watermark, so status counts it, says that somebody is needed and ends so, and what
// the list of gaps advises queues it again. Once it was accepted nobody is needed.
func TestGap_OneThatWasGivenUpIsToldLikeOneThatFailed(t *testing.T) {
	t.Parallel()
	for _, operation := range []string{"HARVEST", "BACKFILL"} {
		d := newDesk(t, sim.Config{Records: 20, Seed: 3})
		d.must(0, "plan", "create", "mini", "--op", operation, "--from", "2026-01-01", "--to", "2026-02-01", "--reason", "x")
		d.must(0, "plan", "cancel", "1", "--slice", "--reason", "not now")
		told := d.object(exitDifferences, "status", "mini", "--exit-code")
		if gaps := told["sources"].([]any)[0].(map[string]any)["gaps"]; gaps != 1.0 {
			t.Errorf("%s: status counts %v gaps", operation, gaps)
		}
		need := told["needs_you"].([]any)[0].(map[string]any)
		if need["level"] != "gap" || need["next"] != "patra plan gaps mini" {
			t.Errorf("%s: status needs %v", operation, need)
		}

		_, note := d.must(0, "plan", "gaps", "mini")
		says(t, note, "next: patra plan retry mini --cancelled --reason TEXT, or patra plan accept-gap SLICE --reason TEXT")
		advised := strings.Fields("plan retry mini --cancelled --reason TEXT")
		if again := d.object(0, advised...); again["slices"] != 1.0 {
			t.Errorf("%s: what is advised queues %v slices again", operation, again["slices"])
		}

		d.must(0, "plan", "cancel", "1", "--slice", "--reason", "not at all")
		d.must(0, "plan", "accept-gap", "1", "--reason", "it is empty")
		if told := d.object(0, "status", "mini", "--exit-code"); len(told["needs_you"].([]any)) != 0 {
			t.Errorf("%s: after the gap was accepted status needs %v", operation, told["needs_you"])
		}
	}
}

// TestGap_OfAPlanThatWasGivenUpIsOnlyAccepted: nothing queues the slices of a cancelled
// plan again, so the list of gaps does not advise that.
func TestGap_OfAPlanThatWasGivenUpIsOnlyAccepted(t *testing.T) {
	t.Parallel()
	d := newDesk(t, sim.Config{Records: 20, Seed: 3})
	d.must(0, "plan", "create", "mini", "--from", "2026-01-01", "--to", "2026-02-01", "--reason", "x")
	d.must(0, "plan", "cancel", "1", "--reason", "not now")
	_, note := d.must(0, "plan", "gaps", "mini")
	if !strings.Contains(note, "next: patra plan accept-gap SLICE --reason TEXT") || strings.Contains(note, "plan retry") {
		t.Errorf("advised: %s", note)
	}
}
