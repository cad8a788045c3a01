package node_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// TestHarvest_ThreeRounds is the whole promise on one page: a first harvest,
// two more after the upstream moved on, and one with nothing new.
func TestHarvest_ThreeRounds(t *testing.T) {
	patratest.EachEngine(t, func(t *testing.T, e patratest.Engine) {
		for _, faults := range []string{"none", "heavy"} {
			t.Run(faults, func(t *testing.T) {
				f, err := sim.ParseFaults(faults)
				if err != nil {
					t.Fatal(err)
				}
				r := patratest.NewRig(t, patratest.RigConfig{
					DSN: e.DSN(t),
					Sim: sim.Config{Records: 600, Seed: 3, LimitRPS: -1, Faults: f, Now: time.Date(2026, 3, 10, 15, 0, 0, 0, time.UTC)},
				})
				for _, code := range []string{"pubmed", "crossref"} {
					first := r.MustHarvest(code)
					r.MustBeExact(code, first)
					if first.Records.Inserted == 0 || first.Status != "COMPLETED" {
						t.Fatalf("first harvest: %+v", first)
					}
				}
				for round := 2; round <= 3; round++ {
					r.Sim.Advance(48 * time.Hour)
					for _, code := range []string{"pubmed", "crossref"} {
						rep := r.MustHarvest(code)
						r.MustBeExact(code, rep)
						if rep.Records.Updated == 0 || rep.Records.Inserted == 0 {
							t.Errorf("round %d of %s brought nothing: %+v", round, code, rep.Records)
						}
						again := r.MustHarvest(code)
						if !again.Noop || again.Requests.Sent > 1+again.Requests.Retried {
							t.Errorf("nothing new, yet %+v", again)
						}
						r.MustBeExact(code, again)
					}
				}
			})
		}
	})
}

// TestHarvest_InABubble shows that a whole node runs in virtual time.
func TestHarvest_InABubble(t *testing.T) {
	dsn := patratest.SQLite.DSN(t)
	synctest.Test(t, func(t *testing.T) {
		r := patratest.NewRig(t, patratest.RigConfig{DSN: dsn, Sim: sim.Config{Records: 300, Seed: 5}})
		rep := r.MustHarvest("pubmed")
		r.MustBeExact("pubmed", rep)
	})
}
