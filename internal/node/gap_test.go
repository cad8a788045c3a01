package node_test

import (
	"errors"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// TestR4_OnlyAnAcceptedGapIsPassed: days that hold more than the source can be
// paged to are gaps; the watermark waits before the first until somebody says,
// with a reason, that it may pass, and then goes as far as is proven.
func TestR4_OnlyAnAcceptedGapIsPassed(t *testing.T) {
	t.Parallel()
	patratest.EachKind(t, func(t *testing.T, e patratest.Engine) {
		const wall = 12
		r := patratest.NewRig(t, patratest.RigConfig{
			DSN: e.SpareDSN(t),
			Sim: sim.Config{Records: 240, Seed: 6, LimitRPS: -1, PubMedWall: wall, Now: time.Date(2026, 3, 10, 15, 0, 0, 0, time.UTC)},
			Packs: map[string]registry.Pack{"pubmed": patratest.ShippedPack(t, "pubmed", func(s *source.Spec) {
				patratest.Fast(s)
				s.Paging.MaxItems = wall
				s.Paging.Size = wall
				s.Window.Target = wall
				s.Window.Split, s.Window.Strategy = nil, harvest.StrategyTime
			})},
		})
		store := r.Node.Store
		rep := r.MustHarvest("pubmed")
		gaps, _, err := store.Gaps(t.Context(), control.GapQuery{Source: "pubmed"})
		if err != nil || len(gaps) == 0 || rep.Status == "COMPLETED" {
			t.Fatalf("%d gaps, %v, %+v", len(gaps), err, rep)
		}
		if *rep.Watermark != gaps[0].From {
			t.Errorf("watermark %s, first gap begins at %s", rep.Watermark, gaps[0].From)
		}
		audit := source.Audit{Actor: "tester", Action: "GAP_ACCEPT", Object: "slice", Reason: "read from the files"}
		for i, g := range gaps {
			w, err := store.AcceptGap(t.Context(), g.Slice, audit)
			if err != nil {
				t.Fatal(err)
			}
			want := rep.Window.To
			if i+1 < len(gaps) {
				want = gaps[i+1].From
			}
			if w != want {
				t.Errorf("after %d accepted the watermark is %s, want %s", i+1, w, want)
			}
			patratest.MustVerify(t, store)
		}
		if _, err := store.AcceptGap(t.Context(), gaps[0].Slice, audit); !errors.Is(err, control.ErrNoGap) {
			t.Errorf("accepted twice: %v", err)
		}
		if sum, err := store.Summary(t.Context(), 1); err != nil || sum.Status != harvest.PlanCompleted {
			t.Errorf("the plan is %s, %v", sum.Status, err)
		}
		lines, err := store.Audits(t.Context(), "slice", 1000)
		if err != nil || len(lines) != len(gaps) || lines[0].Reason != audit.Reason {
			t.Errorf("%d audit lines for %d gaps, %v", len(lines), len(gaps), err)
		}
	})
}

// TestR4_RetryNeedsNoRest: an operator may have failed slices tried at once.
func TestR4_RetryNeedsNoRest(t *testing.T) {
	t.Parallel()
	r := patratest.NewRig(t, patratest.RigConfig{DSN: patratest.SQLite.SpareDSN(t), Sim: sim.Config{Records: 60, Seed: 6, LimitRPS: -1}})
	r.Sim.Script(sim.Script{Fault: sim.Errorlist, Source: "pubmed", After: 2, Times: 1})
	rep := r.MustHarvest("pubmed")
	if rep.Slices.Failed != 1 {
		t.Fatalf("a widened query is a refusal: %+v", rep)
	}
	if n, err := r.Node.Store.RetryGaps(t.Context(), "pubmed", false, source.Audit{Actor: "tester", Action: "PLAN_RETRY", Object: "source/pubmed", Reason: "mended"}); err != nil || n != 1 {
		t.Fatalf("%d queued again, %v", n, err)
	}
	r.MustBeExact("pubmed", r.MustHarvest("pubmed"))
}
