package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/sim"
)

// TestSearch_SinceHoldsWhateverOthersHaveRead: a search that is bounded by time finds the same
// in a database that has the whole of its query already as it does in a new one.
func TestSearch_SinceHoldsWhateverOthersHaveRead(t *testing.T) {
	t.Parallel()
	o, url := oracle(t, sim.Config{Sources: []string{"openalex", "pubmed"}, Records: 300, Seed: 7, LimitRPS: -1})
	since := o.Now().Add(-10 * 24 * time.Hour).Format(time.RFC3339)
	must := func(db string, args ...string) string {
		t.Helper()
		code, out, e := patra(t, append(args, "--db", db, "--contact", "a@example.org")...)
		if code != exitDone {
			t.Fatalf("%q: exit %d: %s%s", args, code, out, e)
		}
		return out
	}
	type found struct{ Records, New int64 }
	run := func(db, name string) (f found) {
		t.Helper()
		out := must(db, "search", "run", name, "--base-url", "openalex="+url+"/openalex", "--base-url", "pubmed="+url+"/pubmed", "--json")
		if err := json.Unmarshal([]byte(out), &f); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return f
	}
	search := func(db, name string, more ...string) {
		t.Helper()
		must(db, append([]string{"search", "new", name, "--query", "tiab:insulin", "--sources", "openalex,pubmed", "--reason", "x"}, more...)...)
	}
	dir := t.TempDir()
	fresh, shared := "sqlite:"+filepath.Join(dir, "fresh.db"), "sqlite:"+filepath.Join(dir, "shared.db")
	search(fresh, "recent", "--since", since)
	search(shared, "recent", "--since", since)
	search(shared, "whole")
	whole := run(shared, "whole")
	alone, beside := run(fresh, "recent"), run(shared, "recent")
	if alone != beside || alone.Records == 0 || alone.Records >= whole.Records {
		t.Errorf("since %s: %+v by itself, %+v where all %+v were read", since, alone, beside, whole)
	}
	o.Advance(7 * 24 * time.Hour)
	run(shared, "whole")
	alone, beside = run(fresh, "recent"), run(shared, "recent")
	if alone.Records != beside.Records || alone.New == 0 || beside.New < alone.New || beside.New >= beside.Records {
		t.Errorf("a week later: %+v by itself, %+v where all was read", alone, beside)
	}
	export := func(db string, more ...string) []string {
		return strings.Fields(must(db, append([]string{"search", "export", "recent", "--format", "csv", "--fields", "source,id"}, more...)...))
	}
	if a, b := export(fresh), export(shared); !slices.Equal(a, b) || int64(len(b)-1) != beside.Records {
		t.Errorf("%d lines by itself and %d where all was read, of %d records", len(a), len(b), beside.Records)
	}
	renewed := export(shared, "--new")
	for _, line := range export(fresh, "--new") {
		if !slices.Contains(renewed, line) {
			t.Errorf("%s is new and is not told", line)
		}
	}
	if int64(len(renewed)-1) != beside.New {
		t.Errorf("%d lines of what is new, the run said %d", len(renewed), beside.New)
	}
	says(t, must(shared, "report", "search", "recent"), "| Records screened | "+itoa(beside.Records)+" |", "|   Changed before the search begins | ")
	says(t, must(fresh, "report", "search", "recent"), "| Records screened | "+itoa(alone.Records)+" |")
}
