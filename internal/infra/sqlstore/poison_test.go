package sqlstore_test

import (
	"errors"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// DieInHand runs a leased task as a process does that is killed by the reply to its
// next page.
func (l *Lab) DieInHand(j harvest.Job) {
	l.Helper()
	r := l.Start(j)
	l.Open(j, r)
	l.mark(j, r)
	l.Expire(j.Lease.Task)
}

// mark notes that a reply is in hand, where the task needs that.
func (l *Lab) mark(j harvest.Job, r harvest.Resume) {
	l.Helper()
	if !r.Died {
		return
	}
	if _, err := l.Store.MarkReply(l.ctx(), j.Lease); err != nil {
		l.Fatalf("mark reply: %v", err)
	}
}

// deathsBeforeAReply: processes that end before they have a reply in hand were not
// killed by one, however many they are. Neither do their deaths count beside those
// of others that had one, nor is a mark left behind by a page that was stored.
func deathsBeforeAReply(l *Lab) {
	l.Plan(0, 1)
	dieBefore := func(start bool) {
		j := l.LeaseOne()
		if start {
			l.Open(j, l.Start(j))
		}
		l.Expire(j.Lease.Task)
	}
	for i := range 4 * harvest.MaxDeaths {
		dieBefore(i%2 == 0)
	}
	for range harvest.MaxDeaths - 1 {
		l.DieInHand(l.LeaseOne())
		dieBefore(true)
	}
	j := l.LeaseOne()
	r := l.Start(j)
	o := l.Open(j, r)
	l.mark(j, r)
	l.Commit(j, Page(o))
	marked, err := l.Store.MarkReply(l.ctx(), j.Lease)
	if err != nil || marked {
		l.Errorf("the page after one that was stored was marked: %v, %v", marked, err)
	}
	l.Expire(j.Lease.Task) // without a reply: one more would be five
	for range harvest.MaxDeaths - 1 {
		l.DieInHand(l.LeaseOne())
	}
	if n := l.Int(`SELECT COUNT(*) FROM ing_task WHERE error_code IS NOT NULL OR status_code='FAILED'`); n != 0 {
		l.Errorf("%d tasks have failed", n)
	}
	l.Walk(l.LeaseOne())
	l.MustVerify()
}

// unmarkedWhileNobodyDied: a task that goes well costs no mark.
func unmarkedWhileNobodyDied(l *Lab) {
	l.Plan(0, 1)
	j := l.LeaseOne()
	r := l.Start(j)
	if r.Died {
		l.Error("nobody has died")
	}
	marked, err := l.Store.MarkReply(l.ctx(), j.Lease)
	if err != nil || marked {
		l.Errorf("marked %v, %v", marked, err)
	}
	if err := l.Store.EndRun(l.ctx(), j.Lease, harvest.RunEnd{Run: r.Run, Outcome: harvest.Released, Code: "shutdown"}); err != nil {
		l.Fatal(err)
	}
	if r := l.Start(l.LeaseOne()); r.Died {
		l.Error("a clean release is no death")
	}
	if _, err := l.Store.MarkReply(l.ctx(), j.Lease); !errors.Is(err, harvest.ErrLeaseLost) {
		l.Errorf("marked under a lease that is lost: %v", err)
	}
}

// poisonByHand: a slice that everybody died with, a reply of it in hand, is begun
// anew by the next run by hand. Nobody else touches it before its rest is over, and
// each time it stops again.
func poisonByHand(l *Lab) {
	l.Plan(0, 1)
	die := func() (deaths int) {
		for ; deaths < 20; deaths++ {
			jobs := l.Lease(1)
			if len(jobs) == 0 {
				return deaths
			}
			l.DieInHand(jobs[0])
		}
		return deaths
	}
	count := func(what string, got, want int64, err error) {
		l.Helper()
		if err != nil || got != want {
			l.Errorf("%s: %d slices, want %d, %v", what, got, want, err)
		}
	}
	if n := die(); n != 1+harvest.MaxDeaths {
		l.Errorf("%d deaths before it was poison", n)
	}
	n, err := l.Store.RequeueDue(l.ctx())
	count("queued again by itself", n, 0, err)
	n, err = l.Store.RequeueFailed(l.ctx(), "another", harvest.Harvest)
	count("begun anew, another source", n, 0, err)

	n, err = l.Store.RequeueFailed(l.ctx(), prov, harvest.Harvest)
	count("begun anew by hand", n, 1, err)
	if n := die(); n != 1+harvest.MaxDeaths {
		l.Errorf("%d deaths of a slice that was begun anew", n)
	}
	n, err = l.Store.RequeueFailed(l.ctx(), prov, harvest.Harvest)
	count("begun anew once more", n, 1, err)
	l.Walk(l.LeaseOne())
	if c := l.Int(`SELECT COUNT(*) FROM ing_task WHERE error_code IS NOT NULL OR status_code<>'SUCCEEDED'`); c != 0 {
		l.Errorf("%d tasks are not done", c)
	}
	l.MustVerify()
}
