package node_test

import (
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/app/role"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// TestFigures_RetriesSucceed: of the pages that were answered 429 or 5xx, or not at all, at
// least 95 of 100 are read by the same run, without a person and without another attempt at
// their task. The rate gave way meanwhile, and what is stored is what the source has.
func TestFigures_RetriesSucceed(t *testing.T) {
	t.Parallel()
	servedBubble(t, func(t *testing.T) {
		s := newServed(t, "5", everyQuarter, sim.Config{Records: 2000, Churn: &sim.Churn{New: 400, Changed: 100}})
		rates := map[sim.Fault]float64{sim.HTTP429: .04, sim.HTTP429RetryAfter: .02, sim.HTTP503: .04, sim.HTTP500: .06, sim.ResetMidBody: .04}
		if err := s.oracle.SetFaults(sim.Faults{Rates: rates}); err != nil {
			t.Fatal(err)
		}
		stop := s.begin(role.All...)
		time.Sleep(2 * time.Hour)
		stop()
		troubled := s.count(`SELECT COUNT(*) FROM ing_task_run_batch WHERE retried>0 OR http_429>0 OR http_5xx>0 OR status_code='FAILED'`)
		failed := s.count(`SELECT COUNT(*) FROM ing_task_run_batch WHERE status_code='FAILED'`)
		t.Logf("%d pages met trouble, %d of them failed", troubled, failed)
		if troubled < 40 {
			t.Errorf("only %d pages met trouble", troubled)
		}
		if 20*failed > troubled {
			t.Errorf("%d of %d pages that met trouble failed, more than one in twenty", failed, troubled)
		}
		is, _ := s.statusOf(sim.Generic)
		patratest.MustEqual(t, s.Store, s.oracle, sim.Generic, time.Time(*is.Watermark))
		patratest.MustVerify(t, s.Store)
	})
}

// TestFigures_LagIsHealthyAQuarterAfterAnOutage: a source that did not answer for five hours
// is on time within fifteen minutes of its first answer, and what was told about it is over.
// That answer comes within half an hour of its return: so long a source that failed often is
// left alone between two requests.
func TestFigures_LagIsHealthyAQuarterAfterAnOutage(t *testing.T) {
	t.Parallel()
	servedBubble(t, func(t *testing.T) {
		s := newServed(t, "5", everyQuarter, sim.Config{Records: 200, Churn: &sim.Churn{New: 400, Changed: 100}})
		stop := s.begin(role.All...)
		time.Sleep(2*time.Hour + 7*time.Minute)
		s.oracle.Script(sim.Script{Fault: sim.HTTP503, Source: sim.Generic, Times: -1})
		time.Sleep(5 * time.Hour)
		if is, _ := s.statusOf(sim.Generic); is.Freshness == control.FreshOnTime {
			t.Fatalf("after five hours without an answer it is %s", show(is))
		}
		const read = `SELECT COUNT(*) FROM ing_task_run_batch WHERE status_code='SUCCEEDED'`
		before := s.count(read)
		s.oracle.ClearScripts()
		for minutes := 0; s.count(read) == before; minutes++ {
			if minutes > 31 {
				t.Fatalf("nothing was read for %d minutes after the source is back", minutes)
			}
			time.Sleep(time.Minute)
		}
		time.Sleep(15 * time.Minute)
		is, needs := s.statusOf(sim.Generic)
		if is.Freshness != control.FreshOnTime || is.Cause != nil || len(needs) != 0 {
			t.Errorf("a quarter of an hour after its first answer: %s, needs %+v", show(is), needs)
		}
		stop()
		patratest.MustEqual(t, s.Store, s.oracle, sim.Generic, time.Time(*is.Watermark))
		patratest.MustVerify(t, s.Store)
	})
}

// TestFigures_TwiceTheExecutorsTwiceTheRate: where replies take 50 ms, each doubling of who works
// brings at least 1.9 times the pages in a time, up to seven tenths of what the source
// allows; beyond that the limit is used, and not more.
func TestFigures_TwiceTheExecutorsTwiceTheRate(t *testing.T) {
	t.Parallel()
	const allowed = 105
	const stored = "2006-01-02 15:04:05.000000"
	pagesPerSecond := func(executors int) (rate float64) {
		servedBubble(t, func(t *testing.T) {
			pack := patratest.ShippedPack(t, "crossref", func(s *source.Spec) {
				patratest.Fast(s)
				s.Rate.QPS = allowed
				s.Paging.Size = 20
				s.Window.Target = 40
			})
			dsn := patratest.SQLite.SpareDSN(t)
			r := patratest.NewRig(t, patratest.RigConfig{
				DSN:   dsn,
				Sim:   sim.Config{Sources: []string{"crossref"}, Records: 1500, Seed: 5, LimitRPS: -1, Latency: 50 * time.Millisecond},
				Packs: map[string]registry.Pack{"crossref": pack},
				Node:  node.Config{Workers: executors},
			})
			rep := r.MustHarvest("crossref")
			r.MustBeExact("crossref", rep)
			db := patratest.Raw(t, dsn)
			var pages float64
			var first, last string
			if err := db.QueryRow(`SELECT COUNT(*), MIN(opened_at), MAX(committed_at) FROM ing_task_run_batch WHERE status_code='SUCCEEDED'`).Scan(&pages, &first, &last); err != nil {
				t.Fatal(err)
			}
			began, err := time.Parse(stored, first)
			if err != nil {
				t.Fatal(err)
			}
			ended, err := time.Parse(stored, last)
			if err != nil {
				t.Fatal(err)
			}
			rate = pages / ended.Sub(began).Seconds()
		})
		return rate
	}
	before := pagesPerSecond(1)
	for _, executors := range []int{2, 4} {
		now := pagesPerSecond(executors)
		t.Logf("%d workers: %.1f pages a second, %.2f times", executors, now, now/before)
		if now < 1.9*before {
			t.Errorf("%d workers read %.1f pages a second, half of them %.1f", executors, now, before)
		}
		before = now
	}
	if most := pagesPerSecond(16); most > allowed*1.01 || most < 0.9*allowed {
		t.Errorf("16 workers read %.1f pages a second of %d that are allowed", most, allowed)
	}
}
