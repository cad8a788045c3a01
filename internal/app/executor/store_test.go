package executor_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// TestR88_UnreadablePlanFailsAlone: the description that a plan carries was damaged.
// Its slices are gaps that say so; nobody else's work ends with them.
func TestR88_UnreadablePlanFailsAlone(t *testing.T) {
	t.Parallel()
	dsn := patratest.SQLite.DSN(t)
	patratest.Open(t, dsn, sqlstore.Options{})
	synctest.Test(t, func(t *testing.T) {
		r := patratest.NewRig(t, patratest.RigConfig{DSN: dsn, Sim: sim.Config{Records: 60, Seed: 4, LimitRPS: -1, Sources: []string{"crossref", "pubmed"}}})
		if _, err := r.Node.Planner.Plan(t.Context(), harvest.Trigger{Provenance: "crossref", Operation: harvest.Harvest, Kind: "MANUAL", BaseURL: r.Base + "/crossref"}); err != nil {
			t.Fatal(err)
		}
		if _, err := patratest.Raw(t, dsn).Exec(`UPDATE ing_plan SET spec_snapshot='{}'`); err != nil {
			t.Fatal(err)
		}
		rep, err := r.Harvest(t.Context(), "crossref")
		if err != nil || rep.Slices.Failed == 0 || rep.Slices.Open != 0 || !strings.Contains(rep.Gaps[0].Reason, "run patra verify") {
			t.Errorf("%v, %+v, %+v", err, rep.Slices, rep.Gaps)
		}
		r.MustHarvest("pubmed")
	})
}

// TestR88_StoreErrorFailsThatTaskAlone: the store refuses the page of one slice,
// whenever it comes. That slice is a gap with the store's word for it, all others
// are done, and once the store takes the page nothing is missing.
func TestR88_StoreErrorFailsThatTaskAlone(t *testing.T) {
	t.Parallel()
	dsn := patratest.SQLite.DSN(t)
	patratest.Open(t, dsn, sqlstore.Options{}) // made outside the bubble
	synctest.Test(t, func(t *testing.T) {
		pack := patratest.ShippedPack(t, "crossref", func(s *source.Spec) {
			patratest.Fast(s)
			s.Window.Target = 20
		})
		r := patratest.NewRig(t, patratest.RigConfig{
			DSN: dsn, Sim: sim.Config{Records: 120, Seed: 4, LimitRPS: -1, Sources: []string{"crossref"}},
			Packs: map[string]registry.Pack{"crossref": pack}, Node: node.Config{Workers: 2},
		})
		db := patratest.Raw(t, dsn)
		exec := func(q string) {
			if _, err := db.Exec(q); err != nil {
				t.Fatal(err)
			}
		}
		refused := ""
		for one := range patratest.Truth(r.Sim, "crossref") {
			refused = one.ID
			break
		}
		exec(`CREATE TRIGGER refuse BEFORE INSERT ON ing_record WHEN NEW.ext_id='` + refused + `' BEGIN SELECT RAISE(ABORT, 'not this one'); END`)
		rep, err := r.Harvest(t.Context(), "crossref")
		if err != nil {
			t.Fatalf("one page ended the harvest: %v", err)
		}
		if rep.Slices.Failed != 1 || rep.Slices.Done == 0 || rep.Slices.Open != 0 {
			t.Errorf("%+v", rep.Slices)
		}
		for _, g := range rep.Gaps {
			if !strings.Contains(g.Reason, "store_error") || !strings.Contains(g.Reason, "not this one") {
				t.Errorf("a gap because of %q", g.Reason)
			}
		}
		exec(`DROP TRIGGER refuse`)
		time.Sleep(2 * time.Hour) // the rest of a failed slice
		r.MustBeExact("crossref", r.MustHarvest("crossref"))
	})
}
