package main

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/papertrace/patra/internal/sim"
)

// harvestMembers are the members of what harvest --json prints.
var harvestMembers = []string{
	"operation", "source", "namespace", "plan_key", "status", "window", "watermark", "noop", "slices", "records", "requests", "bytes", "duration_ms", "gaps",
}

// TestSearchRun_TellsOfEachSourceWhatHarvestTells: a source of a run keeps the numbers that it had
// and has all that harvest --json prints beside them; what a second harvest of it read, before
// where the first one begins, is told apart and counts its own requests.
func TestSearchRun_TellsOfEachSourceWhatHarvestTells(t *testing.T) {
	t.Parallel()
	db := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	o, url := oracle(t, sim.Config{Records: 40, Seed: 2, LimitRPS: -1})
	const query = "year:1990..2100"
	object := func(args ...string) (v map[string]any) {
		t.Helper()
		code, out, e := patra(t, append(args, "--json", "--contact", "a@example.org", "--db", db)...)
		if err := json.Unmarshal([]byte(out), &v); code != exitDone || err != nil {
			t.Fatalf("%q: exit %d, %v: %s%s", args, code, err, out, e)
		}
		return v
	}
	sourceOf := func(run map[string]any) map[string]any {
		t.Helper()
		all, _ := run["sources"].([]any)
		if len(all) != 1 {
			t.Fatalf("not one source: %v", run)
		}
		return all[0].(map[string]any)
	}
	object("harvest", "crossref", "--query", query, "--from", "-70d", "--base-url", url+"/crossref")
	object("search", "new", "s", "--query", query, "--sources", "crossref", "--reason", "x")
	asked := sent(o)
	first := sourceOf(object("search", "run", "s", "--base-url", "crossref="+url+"/crossref"))
	whole, _ := first["harvest"].(map[string]any)
	for _, name := range harvestMembers {
		if _, has := whole[name]; !has {
			t.Errorf("harvest has no %q: %v", name, whole)
		}
		if _, has := first[name]; !has {
			t.Errorf("the source has no %q: %v", name, first)
		}
	}
	for _, name := range []string{"records", "requests", "new", "received", "filtered", "quarantined", "bad_ids"} {
		if _, is := first[name].(float64); !is {
			t.Errorf("%q is no number any more: %v", name, first[name])
		}
	}
	earlier, _ := first["earlier"].(map[string]any)
	if whole["operation"] != "HARVEST" || first["operation"] != "HARVEST" || earlier["operation"] != "BACKFILL" {
		t.Errorf("operations %v, %v and %v", whole["operation"], first["operation"], earlier["operation"])
	}
	asked = sent(o) - asked
	own := func(report map[string]any) int {
		requests, _ := report["requests"].(map[string]any)
		n, _ := requests["sent"].(float64)
		return int(n)
	}
	if own(earlier) == 0 || own(whole)+own(earlier) != asked {
		t.Errorf("%d and %d requests are told, %d were sent", own(whole), own(earlier), asked)
	}
	again := sourceOf(object("search", "update", "s", "--base-url", "crossref="+url+"/crossref"))
	if again["noop"] != true || again["harvest"].(map[string]any)["status"] != "NOOP" || again["status"] != "COMPLETED" {
		t.Errorf("with nothing new: %v", again)
	}
}
