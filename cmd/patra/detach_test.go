package main

import (
	"encoding/json"
	"testing"

	"github.com/papertrace/patra/internal/sim"
)

// TestHarvest_Detached: what was planned is left to others, is there to be worked on, and is done by the same
// command without the flag.
func TestHarvest_Detached(t *testing.T) {
	db := "sqlite:" + t.TempDir() + "/p.db"
	_, url := oracle(t, sim.Config{Records: 20, Seed: 1, LimitRPS: -1})
	harvest := func(more ...string) (status string, open, done, inserted int64) {
		t.Helper()
		args := []string{"harvest", "crossref", "--base-url", url + "/crossref", "--contact", "a@example.org", "--db", db, "--json"}
		code, out, e := patra(t, append(args, more...)...)
		var rep struct {
			Status  string
			Slices  struct{ Open, Done int64 }
			Records struct{ Inserted int64 }
		}
		if err := json.Unmarshal([]byte(out), &rep); code != exitDone || err != nil {
			t.Fatalf("exit %d, %v\n%s%s", code, err, out, e)
		}
		return rep.Status, rep.Slices.Open, rep.Slices.Done, rep.Records.Inserted
	}
	if status, open, done, inserted := harvest("--detach"); open == 0 || done+inserted > 0 || status == "COMPLETED" {
		t.Errorf("detached: %s, %d slices open, %d done, %d records", status, open, done, inserted)
	}
	if status, open, done, inserted := harvest(); status != "COMPLETED" || open > 0 || done == 0 || inserted == 0 {
		t.Errorf("then: %s, %d slices open, %d done, %d records", status, open, done, inserted)
	}
}
