package sqlstore_test

import (
	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/source"
)

// acceptedGaps: what somebody has decided not to read is queued by nobody again,
// neither when its rest is over nor when gaps are tried again.
func acceptedGaps(l *Lab) {
	l.Plan(0, 3) // the last slice stays open, and the plan with it
	jobs := l.Lease(3)
	l.Refuse(jobs[0])
	l.Walk(jobs[1])
	l.MustBeAt(0)
	a := source.Audit{Actor: "lab", Action: "accept", Object: prov, Reason: "lost upstream"}
	if w, err := l.Store.AcceptGap(l.ctx(), jobs[0].Slice, a); err != nil || w != mark(2) {
		l.Fatalf("accepted: %s, %v", w, err)
	}
	l.Exec(`UPDATE ing_task SET scheduled_at='2001-01-01 00:00:00.000000'`) // its rest is over
	l.Unchanged("looking for gaps", func() {
		if n, err := l.Store.RequeueDue(l.ctx()); err != nil || n != 0 {
			l.Errorf("%d queued again, %v", n, err)
		}
		if n, err := l.Store.RetryGaps(l.ctx(), prov, true, a); err != nil || n != 0 {
			l.Errorf("%d tried again, %v", n, err)
		}
	})
	if gaps, _, err := l.Store.Gaps(l.ctx(), control.GapQuery{Source: prov}); err != nil || len(gaps) != 0 {
		l.Errorf("gaps %+v, %v", gaps, err)
	}
	l.MustVerify()
}

// gapsAreCounted: what is counted of a source are the windows that the list of its gaps
// has: those that failed and those that were given up, but for those that somebody
// accepted and those that a newer plan answers for.
func gapsAreCounted(l *Lab) {
	counted := func(want int64) {
		l.Helper()
		facts, err := l.Store.SourceFacts(l.ctx(), []string{prov})
		if err != nil || facts[prov].Gaps.Count != want {
			l.Errorf("counted %+v gaps, want %d: %v", facts[prov].Gaps, want, err)
		}
		gaps, _, err := l.Store.Gaps(l.ctx(), control.GapQuery{Source: prov})
		if err != nil || int64(len(gaps)) != want {
			l.Errorf("listed %d gaps, want %d: %v", len(gaps), want, err)
		}
	}
	l.Plan(0, 3) // the last slice stays open, and the plan with it
	jobs := l.Lease(3)
	l.Refuse(jobs[0])
	counted(1)
	l.begun(jobs[1])
	l.Cancel(control.CancelScope{Slice: jobs[1].Slice})
	counted(2)
	if _, err := l.Store.AcceptGap(l.ctx(), jobs[0].Slice, accepted); err != nil {
		l.Fatal(err)
	}
	counted(1)
	given := l.Plan(3, 4)
	l.Cancel(control.CancelScope{Plan: given.ID})
	counted(2)
	l.Plan(3, 4)
	counted(1)
}
