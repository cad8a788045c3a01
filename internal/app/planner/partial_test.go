package planner_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/planner"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// TestI3_NoBoundPartsAWindow: a day that is cut by ids is planned whole or not at
// all, wherever the bound on open slices or the quota of a day comes to lie: a
// plan that ends within it would call all of it planned.
func TestI3_NoBoundPartsAWindow(t *testing.T) {
	t.Parallel()
	patratest.Long(t, "a matrix of cases without concurrency")
	for bound := 1; bound <= 7; bound++ {
		for _, quota := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d/quota=%v", bound, quota), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					b := newBench(t, sim.Config{PubMedWall: 40, Records: 60}, func(s *source.Spec) {
						s.Paging.MaxItems = 40
						s.Paging.Size = 40
						s.Window.Target = 40
						if quota {
							s.Rate.Quotas = []source.QuotaConfig{{Limit: int64(10 * bound), Window: source.Duration(24 * time.Hour)}}
						} else {
							s.Window.MaxOpen = bound
						}
					})
					b.crowd(150)
					rep := b.MustHarvest("pubmed")
					b.MustBeExact("pubmed", rep)
					if n := b.ask(`SELECT COUNT(*) FROM ing_plan_slice WHERE slice_spec LIKE '%"HYBRID"%'`); n < 4 {
						t.Errorf("only %d slices are parts of a day", n)
					}
				})
			})
		}
	}
}

// TestR47_APlanGoesOnAsItWasBegun: what is added to a plan follows the
// description that it has frozen, whatever the registry says meanwhile.
func TestR47_APlanGoesOnAsItWasBegun(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, sim.Config{}, func(s *source.Spec) {
			s.Window.Target = 20
			s.Window.MaxOpen = 4
			s.Paging.Size = 20
		})
		trigger := harvest.Trigger{Provenance: "crossref", Operation: harvest.Harvest, Kind: "MANUAL", BaseURL: b.Base + "/crossref"}
		p, err := b.Node.Planner.Plan(t.Context(), trigger)
		if err != nil || p.Plan.Status != harvest.PlanPartial {
			t.Fatalf("%+v, %v", p, err)
		}
		b.exec(`UPDATE ing_task SET status_code='FAILED' WHERE status_code='QUEUED'`) // there is room again
		pack := patratest.ShippedPack(t, "crossref", func(s *source.Spec) {
			patratest.Fast(s)
			s.Window.Target = 7
			s.Window.MaxOpen = 4
			s.Paging.Size = 7
		})
		later := patratest.NewRig(t, patratest.RigConfig{DSN: b.dsn, Oracle: b.Sim, Packs: map[string]registry.Pack{"crossref": pack}, Node: node.Config{Workers: 1, Poll: benchPoll}})
		trigger.BaseURL = later.Base + "/crossref"
		p, err = later.Node.Planner.Plan(t.Context(), trigger)
		if err != nil || p.Noop {
			t.Fatalf("%+v, %v", p, err)
		}
		if all, old := b.ask(`SELECT COUNT(*) FROM ing_plan_slice`), b.ask(`SELECT COUNT(*) FROM ing_plan_slice WHERE slice_spec LIKE '%"expectedPageSize":20%'`); all < 5 || old != all {
			t.Errorf("%d of %d slices are cut as the plan was begun", old, all)
		}
	})
}

// TestR38_OneSliceIsAlwaysAffordable: a slice that takes more than a day's quota
// is planned, and takes days; else nothing ever would be.
func TestR38_OneSliceIsAlwaysAffordable(t *testing.T) {
	t.Parallel()
	patratest.Long(t, "days of virtual time")
	bubble(t, func(t *testing.T) {
		b := newBench(t, sim.Config{}, func(s *source.Spec) {
			s.Window.Target = 200
			s.Paging.Size = 20
			s.Rate.QPS = 5
			s.Rate.Quotas = []source.QuotaConfig{{Limit: 4, Window: source.Duration(24 * time.Hour)}}
		})
		rep := b.MustHarvest("crossref")
		b.MustBeExact("crossref", rep)
	})
}

// TestPreview_OfNobodyElsesPlan: a token is not spent on going on with a plan
// that somebody saved meanwhile.
func TestPreview_OfNobodyElsesPlan(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, sim.Config{}, func(s *source.Spec) { s.Window.Target, s.Window.MaxOpen = 20, 4 })
		trigger := harvest.Trigger{Provenance: "crossref", Operation: harvest.Harvest, Kind: "MANUAL", BaseURL: b.Base + "/crossref"}
		shown, err := b.Node.Planner.Preview(t.Context(), trigger)
		if err != nil || shown.Token == "" {
			t.Fatalf("%+v, %v", shown, err)
		}
		if p, err := b.Node.Planner.Plan(t.Context(), trigger); err != nil || p.Plan.Status != harvest.PlanPartial {
			t.Fatalf("%+v, %v", p, err)
		}
		b.exec(`UPDATE ing_task SET status_code='FAILED' WHERE status_code='QUEUED'`) // there is room again
		before := b.state()
		p, err := b.Node.Planner.Apply(t.Context(), shown.Token, harvest.Trigger{Kind: "MANUAL"})
		if _, moved := errors.AsType[*planner.MovedError](err); !moved || b.state() != before {
			t.Errorf("%+v, %v", p, err)
		}
	})
}
