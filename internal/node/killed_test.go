package node_test

import (
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// TestHarvest_SaysThatItWaitsForTheLeaseOfOneThatWasKilled: a process that was killed holds
// its tasks until their leases are over. Who harvests meanwhile says so, and until when, and
// then goes on.
func TestHarvest_SaysThatItWaitsForTheLeaseOfOneThatWasKilled(t *testing.T) {
	t.Parallel()
	servedBubble(t, func(t *testing.T) {
		r := patratest.NewRig(t, patratest.RigConfig{DSN: patratest.SQLite.SpareDSN(t), Sim: sim.Config{Records: 300, Seed: 3, LimitRPS: -1}})
		req := control.HarvestRequest{Source: "crossref", BaseURL: r.Base + "/crossref", Watch: new(control.Watch)}
		planned, err := r.Node.Planner.Plan(t.Context(), harvest.Trigger{Provenance: "crossref", Operation: harvest.Harvest, Kind: "MANUAL", BaseURL: req.BaseURL})
		if err != nil || planned.Plan.ID == 0 {
			t.Fatalf("%+v, %v", planned, err)
		}
		jobs, err := r.Node.Store.LeaseTasks(t.Context(), harvest.LeaseRequest{Owner: "killed", TTL: time.Minute, Max: 1000, SpecVersion: source.SpecVersion})
		if err != nil || len(jobs) == 0 {
			t.Fatalf("%d tasks, %v", len(jobs), err)
		}
		ends := time.Now().Add(time.Minute)
		ended := make(chan error, 1)
		go func() {
			rep, err := r.Node.Control.Harvest(t.Context(), req)
			if err == nil && rep.Status != "COMPLETED" {
				t.Errorf("it ended %s", rep.Status)
			}
			ended <- err
		}()
		time.Sleep(30 * time.Second)
		want := "waiting until " + control.Time(ends.Truncate(time.Second)).String() + ": another process has the rest in hand"
		if said := req.Watch.Progress().Wait; !strings.HasPrefix(said, want) {
			t.Errorf("said %q, want %q", said, want)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if said := req.Watch.Progress().Wait; said != "" {
			t.Errorf("when it was done it said %q", said)
		}
	})
}
