package planner_test

import (
	"context"
	"fmt"
	"strings"
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

// daily is a quota of a day, for slices that take many requests each.
func daily(n int64) func(*source.Spec) {
	return func(s *source.Spec) {
		slow(s)
		s.Rate.Quotas = []source.QuotaConfig{{Limit: n, Window: source.Duration(24 * time.Hour)}}
	}
}

func slow(s *source.Spec) {
	s.Window.Target = 20
	s.Paging.Size = 2
	s.Batching.IDs = 2
}

// again is another node over the same store and oracle, with other packs.
func (b *bench) again(tweak func(*source.Spec)) *bench {
	b.t.Helper()
	packs := map[string]registry.Pack{}
	for _, code := range []string{"pubmed", "crossref"} {
		packs[code] = patratest.ShippedPack(b.t, code, func(s *source.Spec) {
			patratest.Fast(s)
			tweak(s)
		})
	}
	return &bench{t: b.t, dsn: b.dsn, Rig: patratest.NewRig(b.t, patratest.RigConfig{DSN: b.dsn, Oracle: b.Sim, Packs: packs, Node: node.Config{Workers: 1, Poll: benchPoll}})}
}

// plan triggers a plan of a source.
func (b *bench) plan(t harvest.Trigger) (reason string, slices int, noop bool) {
	b.t.Helper()
	t.Kind, t.BaseURL = "MANUAL", b.Base+"/"+t.Provenance
	before := b.ask(`SELECT COUNT(*) FROM ing_plan_slice`)
	p, err := b.Node.Planner.Plan(b.t.Context(), t)
	if err != nil {
		b.t.Fatalf("%s %s: %v", t.Provenance, t.Operation, err)
	}
	return p.Reason, b.ask(`SELECT COUNT(*) FROM ing_plan_slice`) - before, p.Noop
}

// goOn lets the planner go on with what is not whole.
func (b *bench) goOn() int {
	b.t.Helper()
	n, err := b.Node.Planner.GoOn(b.t.Context(), func(context.Context, string, harvest.Operation) bool { return true })
	if err != nil {
		b.t.Fatal(err)
	}
	return n
}

// TestR38_NothingIsCountedWithoutRoom: a quota that open tasks will take is not
// spent on counting what cannot be planned, neither by a trigger nor by the
// planner that looks again and again, and that leaves no line for each look.
// When half of it is free again, planning goes on.
func TestR38_NothingIsCountedWithoutRoom(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, sim.Config{}, daily(60))
		trigger := harvest.Trigger{Provenance: "crossref", Operation: harvest.Harvest}
		if why, n, noop := b.plan(trigger); noop || n == 0 || n > 60 || !strings.Contains(why, "quota of 60") {
			t.Fatalf("%d slices, %v: %s", n, noop, why)
		}
		sent, rows := len(b.Sim.Requests()), b.ask(`SELECT COUNT(*) FROM ing_schedule_instance`)
		if sent > 40 {
			t.Errorf("%d counts for a few slices", sent)
		}
		for range 5 {
			if n := b.goOn(); n != 0 {
				t.Errorf("%d plans were gone on with", n)
			}
		}
		if n, r := len(b.Sim.Requests())-sent, b.ask(`SELECT COUNT(*) FROM ing_schedule_instance`)-rows; n != 0 || r != 0 {
			t.Errorf("looking five times sent %d requests and left %d triggers", n, r)
		}
		if why, n, noop := b.plan(trigger); !noop || n != 0 || !strings.Contains(why, "spoken for") || len(b.Sim.Requests()) != sent {
			t.Errorf("%d slices, %v, %d counts: %s", n, noop, len(b.Sim.Requests())-sent, why)
		}
		b.exec(`UPDATE ing_task SET status_code='FAILED' WHERE status_code='QUEUED'`)
		if n := b.goOn(); n != 1 || b.ask(`SELECT COUNT(*) FROM ing_task WHERE status_code='QUEUED'`) == 0 {
			t.Errorf("%d plans were gone on with", n)
		}
	})
}

// TestR38_ASpentQuotaIsWaitedFor: while there is nothing left of a quota, the
// planner that goes on by itself waits, instead of cutting blindly what it can
// count tomorrow.
func TestR38_ASpentQuotaIsWaitedFor(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, sim.Config{}, daily(60))
		b.plan(harvest.Trigger{Provenance: "crossref", Operation: harvest.Harvest})
		b.exec(`UPDATE ing_task SET status_code='FAILED' WHERE status_code='QUEUED'`)
		spend := harvest.Trigger{Provenance: "crossref", Operation: harvest.Harvest, Query: "year:2020", Kind: "MANUAL", BaseURL: b.Base + "/crossref"}
		for spent := -1; spent != len(b.Sim.Requests()); {
			spent = len(b.Sim.Requests())
			if _, err := b.Node.Planner.Preview(t.Context(), spend); err != nil {
				t.Fatal(err)
			}
		}
		slices := b.ask(`SELECT COUNT(*) FROM ing_plan_slice`)
		if n := b.goOn(); n != 0 || b.ask(`SELECT COUNT(*) FROM ing_plan_slice`) != slices {
			t.Errorf("%d plans were gone on with", n)
		}
		time.Sleep(25 * time.Hour)
		if n := b.goOn(); n != 1 || b.ask(`SELECT COUNT(*) FROM ing_plan_slice`) == slices {
			t.Errorf("%d plans were gone on with when the quota was there again", n)
		}
	})
}

// TestC1_HarvestIsPlannedFirst: what open tasks of a BACKFILL or an UPDATE will
// take of a quota keeps no HARVEST from being planned, for it goes before them;
// they wait for each other in the order of the queue.
func TestC1_HarvestIsPlannedFirst(t *testing.T) {
	t.Parallel()
	patratest.Long(t, "days of virtual time")
	for _, open := range []harvest.Operation{harvest.Backfill, harvest.Update} {
		t.Run(string(open), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				b := newBench(t, sim.Config{Records: 400}, slow)
				b.MustHarvest("pubmed")
				b = b.again(daily(60))
				trigger := harvest.Trigger{Provenance: "pubmed", Operation: open, Activity: "a", From: b.Sim.Now().Add(-20 * 24 * time.Hour), To: b.Sim.Now().Add(-24 * time.Hour)}
				trigger.Pick.SeenBefore = time.Now().Add(time.Hour)
				if open == harvest.Update {
					trigger.From, trigger.To = time.Time{}, time.Time{}
				}
				if why, n, noop := b.plan(trigger); noop || n == 0 || !strings.Contains(why, "quota of 60") {
					t.Errorf("%s: %d slices, %v: %s", open, n, noop, why)
				}
				b.exec(`UPDATE ing_plan_slice SET slice_spec=REPLACE(slice_spec, '"expectedRequests":', '"expectedRequests":9')`)
				for day := range 3 {
					b.Sim.Advance(24 * time.Hour)
					time.Sleep(24 * time.Hour)
					if why, n, noop := b.plan(harvest.Trigger{Provenance: "pubmed", Operation: harvest.Harvest}); noop || n == 0 {
						t.Errorf("day %d: no HARVEST beside an open %s: %s", day, open, why)
					}
					b.exec(`UPDATE ing_task SET status_code='FAILED' WHERE status_code='QUEUED' AND operation_code='HARVEST'`)
				}
				trigger.Operation, trigger.Activity = harvest.Backfill, "b"
				trigger.From, trigger.To = b.Sim.Now().Add(-20*24*time.Hour), b.Sim.Now().Add(-24*time.Hour)
				if why, _, noop := b.plan(trigger); !noop || !strings.Contains(why, "spoken for") {
					t.Errorf("another BACKFILL is planned beside it: %s", why)
				}
			})
		})
	}
}

// TestR38_WhatWaitsSaysSo: a run that finds no room in the quota says so, with
// what there is to wait for, and not that there is nothing new.
func TestR38_WhatWaitsSaysSo(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, sim.Config{}, daily(60))
		b.plan(harvest.Trigger{Provenance: "crossref", Operation: harvest.Harvest})
		b.exec(`UPDATE ing_plan_slice SET slice_spec=REPLACE(slice_spec, '"expectedRequests":', '"expectedRequests":9')`)
		later := time.Now().UTC().Add(7 * time.Hour).Truncate(time.Second)
		b.exec(fmt.Sprintf(`UPDATE ing_task SET scheduled_at='%s'`, later.Format("2006-01-02 15:04:05.000000")))
		rep, err := b.Node.Control.Harvest(t.Context(), control.HarvestRequest{
			Source: "crossref", Operation: harvest.Backfill, Activity: "a", From: b.Sim.Now().Add(-50 * 24 * time.Hour), To: b.Sim.Now().Add(-40 * 24 * time.Hour), BaseURL: b.Base + "/crossref",
		})
		if err != nil || !rep.Noop || !rep.Waits || !strings.Contains(rep.Reason, "quota of 60 per 24h") || !strings.Contains(rep.Reason, harvest.FormatInstant(later)) {
			t.Errorf("%+v, %v", rep, err)
		}
	})
}
