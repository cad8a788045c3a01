package sqlstore_test

import (
	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// lineageOfSlices: of slices that are asked for together each has its own runs and pages,
// the newest first: all of them where they are few, else as many as are asked for and one
// more. One without a task is not among them.
func lineageOfSlices(l *Lab) {
	l.Plan(0, 3)
	first := l.LeaseOne()
	l.Walk(first)
	second := l.LeaseOne()
	l.Refuse(second)
	l.Due()
	if n, err := l.Store.RequeueDue(l.ctx()); err != nil || n != 1 {
		l.Fatalf("%d queued again, %v", n, err)
	}
	for j := l.LeaseOne(); ; j = l.LeaseOne() {
		if j.Slice == second.Slice {
			l.Walk(j)
			break
		}
		l.Refuse(j)
	}
	ids := []harvest.SliceID{first.Slice, second.Slice, 1 << 40}
	look := func(most int) map[harvest.SliceID]control.SliceWork {
		work, err := l.Store.SliceWork(l.ctx(), ids, most)
		if err != nil {
			l.Fatal(err)
		}
		if len(work) != 2 || work[first.Slice].TaskID != first.Lease.Task || work[second.Slice].TaskID != second.Lease.Task {
			l.Fatalf("%+v", work)
		}
		return work
	}
	attempts := func(w control.SliceWork) (out []int) {
		for _, r := range w.Runs {
			out = append(out, r.Attempt)
		}
		return out
	}
	for _, most := range []int{50, 1} { // at 1 the second slice is one of those that have many
		work := look(most)
		if got := attempts(work[first.Slice]); len(got) != 1 || got[0] != 1 {
			l.Errorf("at most %d: the first slice has attempts %v", most, got)
		}
		if got := attempts(work[second.Slice]); len(got) != 2 || got[0] != 2 || got[1] != 1 {
			l.Errorf("at most %d: the second slice has attempts %v", most, got)
		}
		for slice, w := range work {
			if len(w.Batches) != 1 || w.Batches[0].Run != w.Runs[0].ID {
				l.Errorf("at most %d: slice %d has pages %+v", most, slice, w.Batches)
			}
		}
	}
	if got := attempts(look(0)[second.Slice]); len(got) != 1 || got[0] != 2 {
		l.Errorf("at most none, and one more: attempts %v", got)
	}
}
