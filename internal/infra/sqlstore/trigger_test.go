package sqlstore_test

import (
	"errors"
	"sync"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
)

// scheduled is the trigger of an outside scheduler.
func scheduled(log string) harvest.Trigger {
	return harvest.Trigger{Provenance: prov, Operation: harvest.Harvest, Kind: "SCHEDULED", Scheduler: "cron", JobID: "lab", LogID: log}
}

// answeredOnce: fifty times the same trigger at once, for windows that are all
// different, is one plan; the others are told, and change nothing. A failure is
// no answer.
func answeredOnce(l *Lab) {
	other := patratest.Open(l, l.DSN, sqlstore.Options{})
	if err := l.Store.RecordTrigger(l.ctx(), scheduled("1"), harvest.TriggerFailed, "down"); err != nil {
		l.Fatal(err)
	}
	const n = 50
	errs := make([]error, n)
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		st := []*sqlstore.Store{l.Store, other}[i%2]
		d := Draft(ns, 0, 1+i)
		d.Trigger = scheduled("1")
		wg.Go(func() {
			<-start
			_, errs[i] = st.SavePlan(l.ctx(), d)
		})
	}
	close(start)
	wg.Wait()
	made := 0
	for i, err := range errs {
		switch {
		case err == nil:
			made++
		case !errors.Is(err, harvest.ErrAnswered):
			l.Errorf("trigger %d: %v", i, err)
		}
	}
	if plans, traces := l.Int(`SELECT COUNT(*) FROM ing_plan`), l.Int(`SELECT COUNT(*) FROM ing_schedule_instance`); made != 1 || plans != 1 || traces != 1 {
		l.Errorf("%d say they made it, %d plans, %d traces", made, plans, traces)
	}
	l.Unchanged("a trigger that was answered", func() {
		for _, outcome := range []harvest.TriggerOutcome{harvest.TriggerNoop, harvest.TriggerFailed} {
			if err := l.Store.RecordTrigger(l.ctx(), scheduled("1"), outcome, "late"); !errors.Is(err, harvest.ErrAnswered) {
				l.Errorf("%s: %v", outcome, err)
			}
		}
	})
	// A plan that is there already is an answer, too.
	d := Draft(ns, 0, int(l.Int(`SELECT COUNT(*) FROM ing_plan_slice`)))
	d.Trigger = scheduled("2")
	head, err := l.Store.SavePlan(l.ctx(), d)
	if err != nil || !head.Existing {
		l.Errorf("%+v, %v", head, err)
	}
	got, err := l.Store.LastTriggered(l.ctx(), "cron", "lab")
	if err != nil || got.LogID != "2" || got.Outcome != harvest.TriggerExisting || got.Plan != head.ID {
		l.Errorf("the last trigger: %+v, %v", got, err)
	}
	if got, err := l.Store.Triggered(l.ctx(), scheduled("1")); err != nil || got.Outcome != harvest.TriggerPlanned || got.Plan != head.ID || got.At.IsZero() {
		l.Errorf("the first: %+v, %v", got, err)
	}
	if got, err := l.Store.Triggered(l.ctx(), scheduled("3")); err != nil || got.Answered() {
		l.Errorf("one that never was: %+v, %v", got, err)
	}
	l.MustVerify()
}

// restingLeftAlone: no task of a source in its quiet hours is leased, of the
// operation they are for; others are.
func restingLeftAlone(l *Lab) {
	l.Plan(0, 2)
	back := harvest.ActivityNamespace(prov, harvest.Backfill, "updated", "act")
	if _, err := l.Store.SavePlan(l.ctx(), Draft(back, 0, 2)); err != nil {
		l.Fatal(err)
	}
	lease := func(resting ...harvest.Rest) (n, harvests int) {
		jobs, err := l.Store.LeaseTasks(l.ctx(), harvest.LeaseRequest{Owner: "lab", TTL: ttl, Max: 9, SpecVersion: 1, Resting: resting})
		if err != nil {
			l.Fatal(err)
		}
		for _, j := range jobs {
			if j.Operation == harvest.Harvest {
				harvests++
			}
		}
		return len(jobs), harvests
	}
	both := []harvest.Rest{{Provenance: prov, Operation: harvest.Harvest}, {Provenance: prov, Operation: harvest.Backfill}}
	if n, _ := lease(both...); n != 0 {
		l.Errorf("%d tasks of resting sources were leased", n)
	}
	if n, harvests := lease(both[0], harvest.Rest{Provenance: "other", Operation: harvest.Backfill}); n != 2 || harvests != 0 {
		l.Errorf("%d leased, %d of them HARVEST", n, harvests)
	}
	if n, harvests := lease(harvest.Rest{Provenance: prov, Endpoint: "beside", Operation: harvest.Harvest}); n != 2 || harvests != 2 {
		l.Errorf("another endpoint rests, and %d were leased, %d of them HARVEST", n, harvests)
	}
	third := Draft(harvest.ActivityNamespace(prov, harvest.Backfill, "updated", "third"), 0, 2)
	third.Endpoint = "beside"
	l.Save(third)
	l.Save(Draft(harvest.ActivityNamespace(prov, harvest.Backfill, "updated", "fourth"), 0, 1))
	if n, _ := lease(harvest.Rest{Provenance: prov, Endpoint: "beside", Operation: harvest.Backfill}); n != 1 {
		l.Errorf("%d leased while one endpoint rests, want the one task of the other", n)
	}
	if n, _ := lease(); n != 2 {
		l.Errorf("afterwards %d leased", n)
	}
}
