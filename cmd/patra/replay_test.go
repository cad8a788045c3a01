package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/sim"
)

// TestReplay_VerdictsAreOneWordForPrograms: in JSON a verdict is a word without a blank and it is said
// that nothing was written; people read the verdict as two words.
func TestReplay_VerdictsAreOneWordForPrograms(t *testing.T) {
	t.Parallel()
	d := newDesk(t, sim.Config{Records: 20, Seed: 4})
	d.must(exitDone, "harvest", "mini")
	cut := filepath.Join(t.TempDir(), "box.jsonl.zst")
	d.must(exitDone, "blackbox", "export", "1/1", "--reason", "to see it cut", "--out", cut)
	whole, err := os.ReadFile(cut)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cut, whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	d.write(strings.ReplaceAll(d.pack, "title: title", "title: id"))
	d.must(exitDone, "source", "apply", filepath.Join(d.packs, "mini.yaml"), "--reason", "to see titles mapped otherwise")
	for _, c := range []struct{ what, word, words string }{
		{"1/1", "PARSER_CHANGED", "  PARSER CHANGED  "},
		{cut, "NOT_REPRODUCED", "  NOT REPRODUCED  "},
	} {
		v := d.object(exitDone, "replay", c.what)
		written, said := v["written"]
		if v["verdict"] != c.word || !said || written != false {
			t.Errorf("replay %s: verdict %v, written %v (said: %v); want %s and false", c.what, v["verdict"], written, said, c.word)
		}
		out, _ := d.must(exitDone, "replay", c.what)
		says(t, out, c.words, "nothing written, cursor not moved")
	}
	all := d.object(exitDone, "replay", "--task", "1")
	totals, _ := all["totals"].(map[string]any)
	if totals["PARSER_CHANGED"] == nil || totals["NOT_REPRODUCED"] == nil || all["written"] != false {
		t.Errorf("replay --task 1: totals %v, written %v", totals, all["written"])
	}
	out, _ := d.must(exitDone, "replay", "--task", "1")
	says(t, out, "PARSER CHANGED")
}
