package planner_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/role"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// history is a BACKFILL of 29 days of Crossref.
func (b *bench) history() harvest.Trigger {
	to := b.Sim.Now().UTC().Truncate(24 * time.Hour).Add(-24 * time.Hour)
	return harvest.Trigger{Provenance: "crossref", Operation: harvest.Backfill, Activity: "a", From: to.Add(-29 * 24 * time.Hour), To: to, Kind: "MANUAL", BaseURL: b.Base + "/crossref"}
}

// TestI3_BackfillOverABoundIsPartial: a BACKFILL that cannot be planned whole
// keeps the window it was asked for. Its newest slices are planned, the rest is
// to be seen, and it is gone on with by itself until all of it is read.
func TestI3_BackfillOverABoundIsPartial(t *testing.T) {
	t.Parallel()
	patratest.Long(t, "days of virtual time")
	for name, bound := range map[string]func(*source.Spec){
		"slices": func(s *source.Spec) { s.Window.Target, s.Window.MaxOpen = 20, 3 },
		"quota":  daily(60),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				b := newBench(t, sim.Config{}, bound)
				trigger := b.history()
				want := harvest.Window{From: trigger.From, To: trigger.To}.Span()
				p, err := b.Node.Planner.Plan(t.Context(), trigger)
				if err != nil || p.Plan.Status != harvest.PlanPartial || p.Span != want || p.Reason == "" {
					t.Fatalf("%+v, %v", p, err)
				}
				cov, err := b.Node.Store.Coverage(t.Context(), "crossref")
				if err != nil || len(cov) != 1 || len(cov[0].Open) != 2 {
					t.Fatalf("%+v, %v", cov, err)
				}
				rest, cut := cov[0].Open[0], cov[0].Open[1]
				if rest.From != want.From || !strings.Contains(rest.Reason, "not cut") || cut.From != rest.To || cut.To != want.To {
					t.Errorf("what is open is %+v", cov[0].Open)
				}
				patratest.MustVerify(t, b.Node.Store)
				ctx, stop := context.WithTimeout(t.Context(), 20*24*time.Hour)
				defer stop()
				if err := b.Node.Serve(ctx, node.ServeConfig{Roles: []role.Role{role.Planner, role.Executor}, Poll: benchPoll}); err != nil {
					t.Fatal(err)
				}
				patratest.MustVerify(t, b.Node.Store)
				cov, err = b.Node.Store.Coverage(t.Context(), "crossref")
				if err != nil || len(cov[0].Open)+len(cov[0].Failed)+len(cov[0].Missing) != 0 || cov[0].Watermark != want.From {
					t.Errorf("in the end %+v, %v", cov, err)
				}
				if plans := b.ask(`SELECT COUNT(*) FROM ing_plan WHERE status_code='COMPLETED'`); plans != 1 || b.ask(`SELECT COUNT(*) FROM ing_plan`) != 1 {
					t.Errorf("%d plans", plans)
				}
			})
		})
	}
}

// TestR8_ADaysQuotaGoesToTheNewest: what there is quota for is the end of the
// window, and of that the newest is read first.
func TestR8_ADaysQuotaGoesToTheNewest(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, sim.Config{}, daily(60))
		trigger := b.history()
		if _, err := b.Node.Planner.Plan(t.Context(), trigger); err != nil {
			t.Fatal(err)
		}
		for no, to := 1, trigger.To; no <= b.ask(`SELECT COUNT(*) FROM ing_plan_slice`); no++ {
			var from, until string
			b.scan(&from, `SELECT window_from FROM ing_plan_slice WHERE slice_no=?`, no)
			b.scan(&until, `SELECT window_to FROM ing_plan_slice WHERE slice_no=?`, no)
			const layout = "2006-01-02 15:04:05.000000"
			if until != to.Format(layout) {
				t.Errorf("slice %d ends at %s, want %s", no, until, to.Format(layout))
			}
			var err error
			to, err = time.Parse(layout, from)
			if err != nil {
				t.Fatal(err)
			}
			if !to.After(trigger.From) {
				t.Fatal("all of it was planned")
			}
		}
	})
}

// TestR8_APartialBackfillIsGoneOnWith: the same command goes on with what is
// left of the plan, and one that goes further back with what lies before it.
func TestR8_APartialBackfillIsGoneOnWith(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, sim.Config{}, func(s *source.Spec) { s.Window.Target, s.Window.MaxOpen = 20, 3 })
		trigger := b.history()
		if _, err := b.Node.Planner.Plan(t.Context(), trigger); err != nil {
			t.Fatal(err)
		}
		from := trigger.From.Add(-10 * 24 * time.Hour)
		rep, err := b.Node.Control.Harvest(t.Context(), control.HarvestRequest{Source: "crossref", Operation: harvest.Backfill, Activity: "a", From: from, To: trigger.To, BaseURL: trigger.BaseURL})
		if err != nil || rep.Status != "COMPLETED" || rep.Waits || !rep.Watermark.Time().Equal(from) {
			t.Fatalf("%+v, %v", rep, err)
		}
		if n := b.ask(`SELECT COUNT(*) FROM ing_plan`); n != 2 {
			t.Errorf("%d plans", n)
		}
		patratest.MustVerify(t, b.Node.Store)
	})
}

// TestR8_ALaterEndIsRefused: an activity goes back from where it began. What lies
// after is read by another, and not reported as read by this one.
func TestR8_ALaterEndIsRefused(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, sim.Config{}, nil)
		trigger := b.history()
		ask := func(from, to time.Time) (*control.Report, error) {
			return b.Node.Control.Harvest(t.Context(), control.HarvestRequest{Source: "crossref", Operation: harvest.Backfill, Activity: "a", From: from, To: to, BaseURL: trigger.BaseURL})
		}
		mid := trigger.To.Add(-13 * 24 * time.Hour)
		if rep, err := ask(trigger.From, mid); err != nil || rep.Status != "COMPLETED" {
			t.Fatalf("%+v, %v", rep, err)
		}
		before := b.state()
		for _, from := range []time.Time{trigger.From, trigger.From.Add(-5 * 24 * time.Hour)} {
			_, err := ask(from, trigger.To)
			refused, ok := errors.AsType[*harvest.NeverReadError](err)
			if !ok || refused.Window != (harvest.Window{From: mid, To: trigger.To}) || b.state() != before {
				t.Errorf("from %s: %v", from, err)
			}
		}
		if rep, err := ask(trigger.From, mid); err != nil || !rep.Noop {
			t.Errorf("the same again: %+v, %v", rep, err)
		}
	})
}

// TestR8_AnEndInTheFutureIsGoneOnWith: an activity that began at the horizon of
// its day is no other one because the horizon has moved since.
func TestR8_AnEndInTheFutureIsGoneOnWith(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, sim.Config{}, nil)
		trigger := b.history()
		for n := range 2 {
			rep, err := b.Node.Control.Harvest(t.Context(), control.HarvestRequest{
				Source: "crossref", Operation: harvest.Backfill, Activity: "a", From: trigger.From, To: b.Sim.Now().Add(300 * 24 * time.Hour), BaseURL: trigger.BaseURL,
			})
			if err != nil || rep.Noop != (n > 0) || (len(rep.Warnings) > 0) != (n > 0) {
				t.Fatalf("run %d: %+v, %v", n, rep, err)
			}
			b.Sim.Advance(72 * time.Hour)
			time.Sleep(72 * time.Hour)
		}
	})
}

// TestR3_AnEarlierStartIsRefused: a harvest goes forward from where it began, and
// what lies before is history.
func TestR3_AnEarlierStartIsRefused(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, sim.Config{}, nil)
		first := b.MustHarvest("crossref").Window.From.Time()
		before := b.state()
		_, err := b.Node.Control.Harvest(t.Context(), control.HarvestRequest{Source: "crossref", From: first.Add(-24 * time.Hour), BaseURL: b.Base + "/crossref"})
		if refused, ok := errors.AsType[*harvest.NeverReadError](err); !ok || refused.Window != (harvest.Window{From: first.Add(-24 * time.Hour), To: first}) || b.state() != before {
			t.Errorf("%v", err)
		}
		if rep, err := b.Node.Control.Harvest(t.Context(), control.HarvestRequest{Source: "crossref", From: first, BaseURL: b.Base + "/crossref"}); err != nil || !rep.Noop {
			t.Errorf("from where it began: %+v, %v", rep, err)
		}
	})
}
