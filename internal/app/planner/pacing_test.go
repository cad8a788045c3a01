package planner_test

import (
	"errors"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// TestR73_PacingIsFrozenWithThePlan: the tasks of a plan begin when and in the order that
// its trigger says, spread evenly, also those of a plan that is cut in parts; its pages
// are as small as it says.
func TestR73_PacingIsFrozenWithThePlan(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, sim.Config{}, func(s *source.Spec) {
			s.Window.Target = 20
			s.Window.MaxOpen = 4
			s.Paging.Size = 20
		})
		begin := time.Now().Add(10 * time.Hour)
		trigger := harvest.Trigger{
			Provenance: "crossref", Operation: harvest.Harvest, Kind: harvest.TriggerManual, BaseURL: b.BaseOf("crossref"), Priority: 250,
			Pacing: harvest.Pacing{NotBefore: begin, Spread: 4 * time.Hour, Bounds: harvest.Bounds{PageSize: 7}},
		}
		p, err := b.Node.Planner.Plan(t.Context(), trigger)
		if err != nil || p.Plan.Status != harvest.PlanPartial {
			t.Fatalf("%+v, %v", p, err)
		}
		due := func() []time.Time {
			t.Helper()
			tasks, err := b.Node.Control.Tasks(t.Context(), control.TaskQuery{Page: control.Page{Limit: 100}})
			if err != nil {
				t.Fatal(err)
			}
			var out []time.Time
			for _, one := range tasks.Tasks {
				if one.Status == harvest.TaskQueued {
					out = append(out, one.DueAt)
				}
				if one.Priority != 250 {
					t.Errorf("task %d has priority %d", one.ID, one.Priority)
				}
			}
			return out
		}
		first := due()
		if len(first) < 4 {
			t.Fatalf("%d tasks", len(first))
		}
		step := 4 * time.Hour / time.Duration(len(first))
		for i := range first {
			want := begin.Add(time.Duration(i) * step)
			if !hasInstant(first, want) {
				t.Errorf("no task begins at %s: %s", want, first)
			}
		}
		b.exec(`UPDATE ing_task SET status_code='FAILED' WHERE status_code='QUEUED'`) // there is room again
		if n, err := b.Node.Planner.GoOn(t.Context(), anySource); n != 1 || err != nil {
			t.Fatalf("gone on with %d, %v", n, err)
		}
		for _, at := range due() {
			if at.Before(begin) {
				t.Errorf("what was added begins at %s", at)
			}
		}
		stored, err := b.Node.Store.Spec(t.Context(), p.Plan.ID)
		if err != nil {
			t.Fatal(err)
		}
		spec, err := source.ParseSpec(stored)
		if err != nil || spec.Paging.Size != 7 {
			t.Errorf("pages of %d, %v", spec.Paging.Size, err)
		}
		b.mustVerify()
	})
}

func hasInstant(all []time.Time, want time.Time) bool {
	for _, at := range all {
		if at.Sub(want).Abs() < time.Millisecond {
			return true
		}
	}
	return false
}

// TestR73_MoreThanTheSourceAllowsIsRefused: a trigger may ask for less than the
// description of its source, never for more, and what it is refused is kept.
func TestR73_MoreThanTheSourceAllowsIsRefused(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, sim.Config{}, func(s *source.Spec) {
			s.Rate.QPS = 10
			s.Rate.Concurrency = 3
			s.Paging.Size = 20
		})
		for n, more := range []harvest.Bounds{{Rate: 10.5}, {Concurrency: 4}, {PageSize: 21}, {Rate: -1}} {
			_, err := b.Node.Control.Harvest(t.Context(), control.HarvestRequest{
				Source: "crossref", BaseURL: b.BaseOf("crossref"), Manner: control.Manner{Pacing: harvest.Pacing{Bounds: more}},
			})
			if _, refused := errors.AsType[*source.BoundError](err); !refused || b.outcomes(harvest.TriggerRefused) != n+1 {
				t.Errorf("%+v: %v, %d refused", more, err, b.outcomes(harvest.TriggerRefused))
			}
		}
		if plans := b.ask(`SELECT COUNT(*) FROM ing_plan`); plans != 0 {
			t.Errorf("%d plans", plans)
		}
	})
}

// TestR73_RateOfAPlanBindsAllProcesses: two processes that work on one plan keep to its
// rate together, though their source has none; another plan of the source does not.
func TestR73_RateOfAPlanBindsAllProcesses(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		small := func(s *source.Spec) {
			s.Window.Target = 20
			s.Paging.Size = 10
		}
		b := newBench(t, sim.Config{}, small)
		slow := control.HarvestRequest{
			Source: "crossref", BaseURL: b.BaseOf("crossref"), Manner: control.Manner{Pacing: harvest.Pacing{Bounds: harvest.Bounds{Rate: 0.5}}},
		}
		began := time.Now()
		p, err := b.Node.Control.CreatePlan(t.Context(), harvest.Trigger{
			Provenance: "crossref", Operation: harvest.Harvest, Kind: harvest.TriggerManual, BaseURL: slow.BaseURL, Pacing: slow.Pacing,
		}, control.By{Actor: "test"})
		if err != nil {
			t.Fatal(err)
		}
		other := patratest.NewRig(t, patratest.RigConfig{
			DSN: b.dsn, Oracle: b.Sim, Node: node.Config{Workers: 1, Poll: time.Second},
			Packs: map[string]registry.Pack{"crossref": patratest.ShippedPack(t, "crossref", func(s *source.Spec) {
				patratest.Fast(s)
				small(s)
			})},
		})
		sent := make(chan int64)
		for _, ctl := range []*control.Control{b.Node.Control, other.Node.Control} {
			go func() {
				rep, err := ctl.Harvest(t.Context(), slow)
				if err != nil {
					t.Error(err)
				}
				sent <- int64(rep.Requests.Sent)
			}()
		}
		asked := <-sent + <-sent
		took := time.Since(began)
		pages := b.ask(`SELECT COUNT(*) FROM ing_task_run_batch WHERE plan_id=?`, p.Plan)
		if least := time.Duration(pages-1) * 2 * time.Second; pages < 10 || took < least {
			t.Errorf("%d pages with %d requests at one in two seconds took %s", pages, asked, took)
		}
		began = time.Now()
		rep, err := b.Node.Control.Harvest(t.Context(), control.HarvestRequest{
			Source: "crossref", Operation: harvest.Backfill, Activity: "quick", BaseURL: slow.BaseURL,
			From: b.Sim.Now().Add(-20 * 24 * time.Hour), To: b.Sim.Now().Add(-10 * 24 * time.Hour),
		})
		if err != nil || rep.Requests.Sent < 5 || time.Since(began) > 5*time.Second {
			t.Errorf("another plan: %d requests took %s, %v", rep.Requests.Sent, time.Since(began), err)
		}
		b.mustVerify()
	})
}
