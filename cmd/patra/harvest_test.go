package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/sim"
)

// TestHarvest_JSONKeepsTheNotes: what a harvest says beside its numbers is in its JSON too, and on
// stderr as it is without --json.
func TestHarvest_JSONKeepsTheNotes(t *testing.T) {
	t.Parallel()
	const begins = "first harvest of mini: begun at its baseline"
	d := newDesk(t, sim.Config{Records: 20, Seed: 4})
	rep := d.object(exitDone, "harvest", "mini")
	notes, is := rep["warnings"].([]any)
	if !is || !strings.Contains(fmt.Sprint(notes), begins) {
		t.Errorf("a first harvest has the notes %v", rep["warnings"])
	}
	if n, is := rep["bad_ids"].(float64); !is || n != 0 {
		t.Errorf("bad_ids is %v, want 0", rep["bad_ids"])
	}
	rep = d.object(exitDone, "harvest", "mini")
	notes, is = rep["warnings"].([]any)
	if !is || strings.Contains(fmt.Sprint(notes), begins) {
		t.Errorf("a second harvest has the notes %v", rep["warnings"])
	}
	other := newDesk(t, sim.Config{Records: 20, Seed: 4})
	_, said := other.must(exitDone, "harvest", "mini", "--json")
	says(t, said, "note: "+begins)
}

// TestHarvest_JSONHasNotesWhereThereAreNone: the list is there and empty.
func TestHarvest_JSONHasNotesWhereThereAreNone(t *testing.T) {
	t.Parallel()
	_, url := oracle(t, sim.Config{Records: 20, Seed: 4, LimitRPS: -1})
	line := []string{"harvest", "crossref", "--json", "--contact", "a@example.org", "--base-url", url + "/crossref", "--db", "sqlite:" + filepath.Join(t.TempDir(), "a.db")}
	patra(t, line...)
	code, out, e := patra(t, line...)
	if code != exitDone || !strings.Contains(out, `"warnings":[]`) || !strings.Contains(out, `"noop":true`) {
		t.Errorf("exit %d: %s%s", code, out, e)
	}
}
