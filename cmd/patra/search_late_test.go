package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/sim"
)

// TestSearch_WhatIsReadLaterIsFound: ids that a search named and that had no details then are
// read by a refresh, and are found by the search from then on.
func TestSearch_WhatIsReadLaterIsFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := "sqlite:" + filepath.Join(dir, "a.db")
	o, url := oracle(t, sim.Config{Sources: []string{"pubmed"}, Records: 400, Seed: 23, LimitRPS: -1})
	must := func(args ...string) string {
		t.Helper()
		code, out, e := patra(t, append(args, "--db", db, "--contact", "a@example.org")...)
		if code != exitDone {
			t.Fatalf("%q: exit %d: %s%s", args, code, out, e)
		}
		return out
	}
	type report struct {
		Sources []struct {
			Kept   int64
			BadIDs int64 `json:"bad_ids"`
			Unread []struct{ Kind, ID string }
		}
	}
	look := func() (r report) {
		t.Helper()
		if err := json.Unmarshal([]byte(must("report", "search", "s", "--format", "json")), &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	if err := o.SetFaults(sim.Faults{Sources: map[string]map[sim.Fault]float64{sim.PubMed: {sim.DetailMissing: 1}}}); err != nil {
		t.Fatal(err)
	}
	must("search", "new", "s", "--query", "tiab:insulin", "--sources", "pubmed", "--reason", "x")
	run := []string{"search", "run", "s", "--base-url", "pubmed=" + url + "/pubmed"}
	must(run...)
	first := look().Sources[0]
	if first.BadIDs == 0 {
		t.Fatalf("nothing is without details: %+v", first)
	}
	if err := o.SetFaults(sim.Faults{}); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, u := range first.Unread {
		ids = append(ids, u.ID)
	}
	list := filepath.Join(dir, "ids")
	if err := os.WriteFile(list, []byte(strings.Join(ids, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	must("refresh", "pubmed", "--ids", list, "--base-url", url+"/pubmed")
	must(run...)
	if now := look().Sources[0]; now.Kept != first.Kept+first.BadIDs || now.BadIDs != 0 {
		t.Errorf("%d found and %d without details, before %d and %d", now.Kept, now.BadIDs, first.Kept, first.BadIDs)
	}
}
