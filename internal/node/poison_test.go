package node_test

import (
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// TestR16_RunTheSameCommandAgain: processes that were killed before a first page
// came, however many, have not been killed by a page. The same command, run again,
// goes on with their slice as with any other, and ends well.
func TestR16_RunTheSameCommandAgain(t *testing.T) {
	t.Parallel()
	servedBubble(t, func(t *testing.T) {
		r := patratest.NewRig(t, patratest.RigConfig{DSN: patratest.SQLite.SpareDSN(t), Sim: sim.Config{Records: 300, Seed: 3, LimitRPS: -1}})
		planned, err := r.Node.Planner.Plan(t.Context(), harvest.Trigger{Provenance: "crossref", Operation: harvest.Harvest, Kind: "MANUAL", BaseURL: r.Base + "/crossref"})
		if err != nil || planned.Plan.ID == 0 {
			t.Fatalf("%+v, %v", planned, err)
		}
		const ttl = time.Minute
		for range 3 * harvest.MaxDeaths {
			jobs, err := r.Node.Store.LeaseTasks(t.Context(), harvest.LeaseRequest{Owner: "killed", TTL: ttl, Max: 1, SpecVersion: source.SpecVersion})
			if err != nil || len(jobs) != 1 {
				t.Fatalf("%d tasks, %v", len(jobs), err)
			}
			if _, err := r.Node.Store.StartRun(t.Context(), jobs[0].Lease); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * ttl)
		}
		rep := r.MustHarvest("crossref")
		if rep.Status != "COMPLETED" || rep.Slices.Failed+rep.Slices.Open != 0 {
			t.Errorf("%s %+v", rep.Status, rep.Slices)
		}
		r.MustBeExact("crossref", rep)
	})
}
