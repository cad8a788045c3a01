package node_test

import (
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// TestEuropePMC_ExactAgainstItsOracle: a source whose search goes by a date that is
// in no record brings every record and every change, and not one more, whatever
// goes wrong on the way.
func TestEuropePMC_ExactAgainstItsOracle(t *testing.T) {
	t.Parallel()
	for _, faults := range []string{"none", "heavy"} {
		t.Run(faults, func(t *testing.T) {
			t.Parallel()
			f, err := sim.ParseFaults(faults)
			if err != nil {
				t.Fatal(err)
			}
			r := patratest.NewRig(t, patratest.RigConfig{
				DSN:  patratest.SQLite.SpareDSN(t),
				Sim:  sim.Config{Sources: []string{sim.EuropePMC}, Records: 300, Seed: 5, LimitRPS: -1, Faults: f, Now: time.Date(2026, 3, 28, 15, 0, 0, 0, time.UTC)},
				Node: node.Config{Workers: 2, Poll: 50 * time.Millisecond},
				Packs: map[string]registry.Pack{sim.EuropePMC: patratest.ShippedPack(t, sim.EuropePMC, func(s *source.Spec) {
					patratest.Fast(s)
					s.Paging.Size = 8
					s.Window.Target = 40
				})},
			})
			first := r.MustHarvest(sim.EuropePMC)
			r.MustBeExact(sim.EuropePMC, first)
			if first.Status != "COMPLETED" || first.Records.Inserted < 250 {
				t.Errorf("first harvest: %+v", first)
			}
			r.Sim.Advance(72 * time.Hour) // clocks in London are put forward meanwhile
			second := r.MustHarvest(sim.EuropePMC)
			r.MustBeExact(sim.EuropePMC, second)
			if second.Records.Inserted == 0 || second.Records.Updated == 0 {
				t.Errorf("second harvest: %+v", second.Records)
			}
			if served := r.Sim.Stats().Sources[sim.EuropePMC].Faults; faults == "heavy" && len(served) < 4 {
				t.Errorf("few faults were served: %v", served)
			}
		})
	}
}
