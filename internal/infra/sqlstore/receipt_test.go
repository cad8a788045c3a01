package sqlstore_test

import (
	"errors"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// receivedThenAnswered: a trigger is written down with a claim, which others respect until
// it has run out. Then one of them takes it over, and whoever had it before changes
// nothing any more: neither saves a plan, nor answers, nor renews.
func receivedThenAnswered(l *Lab) {
	const noTime = -time.Second // a claim that has run out when it is made
	receive := func(t harvest.Trigger, ttl time.Duration) harvest.Receipt {
		l.Helper()
		r, err := l.Store.ReceiveTrigger(l.ctx(), t, ttl)
		if err != nil {
			l.Fatal(err)
		}
		return r
	}
	left := func() []harvest.LeftTrigger {
		l.Helper()
		all, err := l.Store.LeftTriggers(l.ctx(), 10)
		if err != nil {
			l.Fatal(err)
		}
		return all
	}
	live := receive(scheduled("1"), time.Hour)
	if _, err := l.Store.ReceiveTrigger(l.ctx(), scheduled("1"), time.Hour); !isClaimed(err) {
		l.Errorf("received while another is at it: %v", err)
	}
	if n := len(left()); n != 0 {
		l.Errorf("%d triggers are left while a planner is at the one", n)
	}
	if _, err := l.Store.ClaimTrigger(l.ctx(), live, time.Hour); !errors.Is(err, harvest.ErrLeaseLost) {
		l.Errorf("taken over while another is at it: %v", err)
	}
	if err := l.Store.RenewTrigger(l.ctx(), live, noTime); err != nil {
		l.Fatal(err)
	}
	all := left()
	if len(all) != 1 || all[0].Trigger.Receipt != live || all[0].Claims != 1 || all[0].Trigger.LogID != "1" {
		l.Fatalf("left: %+v", all)
	}
	taken, err := l.Store.ClaimTrigger(l.ctx(), live, time.Hour)
	if err != nil || taken.Fence != live.Fence+1 {
		l.Fatalf("%+v, %v", taken, err)
	}
	d := Draft(ns, 0, 2)
	d.Trigger = scheduled("1")
	d.Trigger.Receipt = live
	l.Unchanged("a planner that was taken over from", func() {
		if _, err := l.Store.SavePlan(l.ctx(), d); !errors.Is(err, harvest.ErrLeaseLost) {
			l.Errorf("save: %v", err)
		}
		if err := l.Store.RecordTrigger(l.ctx(), d.Trigger, harvest.TriggerNoop, "late"); !errors.Is(err, harvest.ErrLeaseLost) {
			l.Errorf("answer: %v", err)
		}
		if err := l.Store.RenewTrigger(l.ctx(), live, time.Hour); !errors.Is(err, harvest.ErrLeaseLost) {
			l.Errorf("renew: %v", err)
		}
		if err := l.Store.LeaveTrigger(l.ctx(), live); !errors.Is(err, harvest.ErrLeaseLost) {
			l.Errorf("leave: %v", err)
		}
	})
	d.Trigger.Receipt = taken
	if _, err := l.Store.SavePlan(l.ctx(), d); err != nil {
		l.Fatal(err)
	}
	if _, err := l.Store.ReceiveTrigger(l.ctx(), scheduled("1"), time.Hour); !errors.Is(err, harvest.ErrAnswered) {
		l.Errorf("received after it was answered: %v", err)
	}

	// A person who runs the same command again goes on in the row that was left.
	byHand := harvest.Trigger{Provenance: prov, Operation: harvest.Harvest, Kind: harvest.TriggerManual, Query: "year:2020"}
	first := receive(byHand, time.Hour)
	if other := receive(byHand, time.Hour); other.Instance == first.Instance {
		l.Errorf("a row was taken that somebody is at")
	}
	if err := l.Store.LeaveTrigger(l.ctx(), first); err != nil {
		l.Fatal(err)
	}
	if again := receive(byHand, time.Hour); again.Instance != first.Instance || again.Fence <= first.Fence {
		l.Errorf("received %+v again as %+v", first, again)
	}
	l.MustVerify()
}

func isClaimed(err error) bool {
	_, is := errors.AsType[*harvest.ClaimedError](err)
	return is
}
