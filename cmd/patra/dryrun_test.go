package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/sim"
)

// TestDryRun_SavesNothing: what reads from a source, links or migrates can be looked at first,
// which leaves no plan, no record and no line; done, it leaves a line with the reason.
func TestDryRun_SavesNothing(t *testing.T) {
	t.Parallel()
	db := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	_, url := oracle(t, sim.Config{Records: 20, Seed: 2})
	say := func(args ...string) string {
		t.Helper()
		code, out, e := patra(t, append(args, "--db", db)...)
		if code != exitDone {
			t.Fatalf("%q: exit %d: %s%s", args, code, out, e)
		}
		return out + e
	}
	want := func(out string, words ...string) {
		t.Helper()
		for _, w := range words {
			if !strings.Contains(out, w) {
				t.Errorf("%q is missing in\n%s", w, out)
			}
		}
	}
	want(say("db", "migrate", "--json", "--reason", "first"), `"migrations":[1,2,`)
	want(say("db", "migrate", "--dry-run", "--json"), `"schema_needed":`)
	want(say("search", "new", "s", "--query", "ti:a", "--sources", "crossref", "--reason", "to ask"), "saved")
	before := say("audit", "list")
	want(before, "first", "to ask")

	at := []string{"--base-url", url + "/crossref", "--contact", "a@example.org"}
	want(say(append([]string{"harvest", "crossref", "--dry-run"}, at...)...), "would plan", "records", "nothing was saved")
	want(say(append([]string{"backfill", "crossref", "--from", "2020-01-01", "--to", "2030-01-01", "--dry-run"}, at...)...), "BACKFILL")
	want(say("search", "run", "s", "--dry-run", "--base-url", "crossref="+url+"/crossref", "--contact", "a@example.org"), "SOURCE", "crossref")
	want(say("search", "update", "s", "--dry-run", "--base-url", "crossref="+url+"/crossref", "--contact", "a@example.org"), "SOURCE", "crossref")
	want(say("work", "link", "--dry-run"), "0 records would be looked at")
	if out := say("plan", "list"); strings.Contains(out, "crossref") {
		t.Errorf("there is a plan:\n%s", out)
	}
	if after := say("audit", "list"); after != before {
		t.Errorf("lines were left:\n%s", after)
	}

	say(append([]string{"harvest", "crossref", "--reason", "for the review"}, at...)...)
	// What a harvest has read is linked at its end, so that doubles can be told.
	want(say("export", "--dedupe", "exact"), `"crossref"`)
	want(say("work", "link", "--dry-run", "--again"), "20 records would be looked at")
	want(say("work", "link", "--again", "--reason", "before the export"), " records looked at")
	say(append([]string{"refresh", "crossref", "--older-than", "0s", "--reason", "once more"}, at...)...)
	want(say("audit", "list"), "for the review", "before the export", "once more")
	say("verify")
}
