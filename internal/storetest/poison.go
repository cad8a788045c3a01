package storetest

import "github.com/papertrace/patra/internal/domain/harvest"

// poisonByHand: a slice that everybody died with is tried once more in the run by
// hand that found it to be poison, and begun anew by the next one. Nobody else
// touches it before its rest is over, and each time it stops again.
func poisonByHand(l *Lab) {
	l.Plan(0, 1)
	die := func() (deaths int) {
		for ; deaths < 20; deaths++ {
			jobs := l.Lease(1)
			if len(jobs) == 0 {
				return deaths
			}
			l.Open(jobs[0], l.Start(jobs[0]))
			l.Expire(jobs[0].Lease.Task)
		}
		return deaths
	}
	count := func(what string, got, want int64, err error) {
		l.Helper()
		if err != nil || got != want {
			l.Errorf("%s: %d slices, want %d, %v", what, got, want, err)
		}
	}
	if n := die(); n != harvest.MaxBarren {
		l.Errorf("%d deaths before it was poison", n)
	}
	n, err := l.Store.RequeueDue(l.ctx())
	count("queued again by itself", n, 0, err)
	n, err = l.Store.RetryPoisoned(l.ctx(), "another", harvest.Harvest)
	count("tried once more, another source", n, 0, err)

	n, err = l.Store.RetryPoisoned(l.ctx(), prov, harvest.Harvest)
	count("tried once more", n, 1, err)
	if n := die(); n != 1 {
		l.Errorf("%d deaths with the one try", n)
	}
	n, err = l.Store.RetryPoisoned(l.ctx(), prov, harvest.Harvest)
	count("tried a third time", n, 0, err)

	n, err = l.Store.RequeueFailed(l.ctx(), prov, harvest.Harvest)
	count("begun anew by hand", n, 1, err)
	if n := die(); n != harvest.MaxBarren {
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
