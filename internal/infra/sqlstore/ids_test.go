package sqlstore_test

import (
	"github.com/papertrace/patra/internal/domain/harvest"
)

// idsArePlaces: a cursor that goes by ids of its source moves over them, behind a gap
// stays, and tells ids wherever it is told of.
func idsArePlaces(l *Lab) {
	byID := harvest.HarvestNamespace(prov, endpoint, "sequence", selection)
	draft := func(from, to int64) harvest.Draft {
		d := Draft(byID, 0, 0)
		d.Span = harvest.IDSpan(from, to)
		d.SlicedTo = harvest.IDMark(to)
		d.Strategy = harvest.StrategyID
		for at := from; at < to; at += 10 {
			d.Slices = harvest.DraftsOf(append(slicesOf(d), harvest.SliceDraft{Spec: harvest.NewIDSlice("sequence", at, min(at+10, to), pageSize), Expr: harvest.IDMark(at).String()})...)
		}
		return d
	}
	l.Save(draft(0, 25))
	jobs := l.Lease(3)
	if len(jobs) != 3 || jobs[0].Spec.Span() != harvest.IDSpan(0, 10) {
		l.Fatalf("%d tasks, the first of %v", len(jobs), jobs[0].Spec.Span())
	}
	l.Walk(jobs[2])
	if c := l.Walk(jobs[0]); c.Watermark != harvest.IDMark(10) {
		l.Errorf("the cursor stands at %s, behind a slice that is open", c.Watermark)
	}
	if c := l.Walk(jobs[1]); c.Watermark != harvest.IDMark(25) {
		l.Errorf("the cursor stands at %s, want 25", c.Watermark)
	}
	f, err := l.Store.Frontier(l.ctx(), byID)
	if err != nil || f.At != harvest.IDMark(25) || f.Watermark != harvest.IDMark(25) || f.Init != harvest.IDMark(0) {
		l.Errorf("frontier %+v, %v", f, err)
	}
	next := l.Save(draft(25, 30))
	if next.Span != harvest.IDSpan(25, 30) {
		l.Errorf("the next plan is of %s", next.Span)
	}
	l.Refuse(l.LeaseOne())
	covered, err := l.Store.Coverage(l.ctx(), prov)
	if err != nil || len(covered) != 1 || covered[0].Watermark != harvest.IDMark(25) || len(covered[0].Failed) != 1 || covered[0].Failed[0].From != harvest.IDMark(25) {
		l.Errorf("coverage %+v, %v", covered, err)
	}
	l.MustVerify()
}
