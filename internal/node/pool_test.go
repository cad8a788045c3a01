package node_test

import (
	"testing"
	"testing/synctest"

	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// TestR91_WhoGivesNoContactIsNotOverAsking: Crossref allows those who do not say
// who they are a third of what the pack declares, and says so in its replies. The
// first of them counts for the very next request.
func TestR91_WhoGivesNoContactIsNotOverAsking(t *testing.T) {
	t.Parallel()
	dsn := patratest.SQLite.SpareDSN(t)
	synctest.Test(t, func(t *testing.T) {
		r := patratest.NewRig(t, patratest.RigConfig{
			DSN: dsn, Sim: sim.Config{Records: 6000, Seed: 1, Sources: []string{"crossref"}}, Node: node.Config{Workers: 4}, Nameless: true,
			Packs: map[string]registry.Pack{"crossref": patratest.ShippedPack(t, "crossref", nil)},
		})
		rep := r.MustHarvest("crossref")
		st := r.Sim.Stats().Sources["crossref"]
		if st.Breaches != (sim.Breaches{}) || st.Requests < 5 {
			t.Errorf("%d requests, breaches %+v %v", st.Requests, st.Breaches, st.BreachesByKey)
		}
		r.MustBeExact("crossref", rep)
	})
}
