package sqlstore_test

import (
	"fmt"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// coverage is what is said of the only namespace of an operation, in hours or in
// candidates, the reasons left out.
func (l *Lab) coverage(op harvest.Operation) string {
	l.Helper()
	all, err := l.Store.Coverage(l.ctx(), prov)
	if err != nil {
		l.Fatal(err)
	}
	at := func(m harvest.Mark) string {
		if m.Kind() == harvest.KindOrdinal {
			return m.String()
		}
		return fmt.Sprint(int(m.Time().Sub(t0).Hours()))
	}
	for _, c := range all {
		if c.Operation != op {
			continue
		}
		out := []string{at(c.Init) + "-" + at(c.Watermark)}
		for _, part := range []struct {
			name string
			list []control.Interval
		}{{"proven", c.Proven}, {"open", c.Open}, {"failed", c.Failed}, {"missing", c.Missing}} {
			for _, i := range part.list {
				out = append(out, part.name+" "+at(i.From)+"-"+at(i.To))
			}
		}
		if c.LookedTo != nil {
			out = append(out, "looked to "+at(*c.LookedTo))
		}
		return strings.Join(out, ", ")
	}
	l.Fatalf("no coverage of %s", op)
	return ""
}

// coverageShown: a window whose parts are walked apart is proven when all of them
// are; of one that was given up and planned again coverage says what became of it
// since, one that is not cut yet is open, and candidates are shown as such.
func coverageShown(l *Lab) {
	must := func(when string, op harvest.Operation, want string) {
		l.Helper()
		if got := l.coverage(op); got != want {
			l.Errorf("%s: %s, want %s", when, got, want)
		}
	}
	d := Draft(ns, 0, 2)
	whole := slicesOf(d)[0].Spec
	d.Slices = harvest.DraftsOf(slicesOf(d)[1:]...)
	for i, r := range []harvest.Range{harvest.NewRange("id", 0, 3), harvest.NewRange("id", 3, 5), harvest.NewRange("id", 5, 0)} {
		part := harvest.SliceDraft{Spec: whole, Expr: fmt.Sprint(i)}
		part.Spec.Strategy, part.Spec.Range = harvest.StrategyHybrid, r
		d.Slices = harvest.DraftsOf(append(slicesOf(d), part)...)
	}
	h := l.Save(d)
	must("parts of an hour", harvest.Harvest, "0-0, open 0-1, open 1-2")
	if rows, err := l.Store.Slices(l.ctx(), control.SliceQuery{Plan: h.ID}, 0, 9); err != nil || len(rows) != 4 || rows[0].Range != "" || rows[2].Range != "id [3, 5)" || rows[3].Range != "id [5, ...)" {
		l.Errorf("slices %+v, %v", rows, err)
	}
	for range 2 {
		l.Walk(l.LeaseOne()) // the second hour, and the first part of the first
	}
	must("one part is done", harvest.Harvest, "0-0, proven 1-2, open 0-1")
	l.Refuse(l.LeaseOne())
	must("another failed", harvest.Harvest, "0-0, proven 1-2, open 0-1, failed 0-1") // each names its part
	l.Walk(l.LeaseOne())
	must("the last is done", harvest.Harvest, "0-0, proven 1-2, failed 0-1")
	if gaps, _, err := l.Store.Gaps(l.ctx(), control.GapQuery{Source: prov}); err != nil || len(gaps) != 1 || gaps[0].Range != "id [3, 5)" {
		l.Errorf("gaps %+v, %v", gaps, err)
	}
	l.Due()
	if n, err := l.Store.RequeueDue(l.ctx()); err != nil || n != 1 {
		l.Fatalf("%d queued again, %v", n, err)
	}
	l.Walk(l.LeaseOne())
	must("all are", harvest.Harvest, "0-2, proven 0-2")

	b := l.Plan(2, 4)
	l.Walk(l.LeaseOne())
	l.Cancel(control.CancelScope{Plan: b.ID})
	must("an hour was given up", harvest.Harvest, "0-3, proven 0-3, failed 3-4")
	d = Draft(ns, 3, 6)
	d.Slices, d.SlicedTo = harvest.DraftsOf(slicesOf(d)[:1]...), mark(4)
	l.Save(d)
	must("and planned again in a plan that is not whole", harvest.Harvest, "0-3, proven 0-3, open 3-4, open 4-6")
	l.Walk(l.LeaseOne())
	must("of which the first hour is done", harvest.Harvest, "0-4, proven 0-4, open 4-6")

	l.Save(updateDraft("u", 0, 4, []string{"a", "b", "c", "d", "e"}))
	l.reread(l.LeaseOne())
	must("candidates", harvest.Update, "0-2, proven 0-2, open 2-4, open 4-5")
	l.MustVerify()
}

// coverageCut: so many slices may lie ahead of cursors that not all are looked at. Then
// each has its share and it is told to where they were looked at; what lies behind, cut
// into slices or not, is neither shown as open nor as missing. A thousand are all looked
// at. A gap that was accepted says so.
func coverageCut(l *Lab) {
	must := func(when string, op harvest.Operation, want string) {
		l.Helper()
		if got := l.coverage(op); got != want {
			l.Errorf("%s: %s, want %s", when, got, want)
		}
	}
	l.Plan(0, 1000)
	must("a thousand are ahead", harvest.Harvest, "0-0, open 0-1000")
	job := l.LeaseOne()
	l.Refuse(job)
	if _, err := l.Store.AcceptGap(l.ctx(), job.Slice, source.Audit{Actor: "lab", Action: "accept", Object: prov, Reason: "lost upstream"}); err != nil {
		l.Fatal(err)
	}
	must("the first was accepted", harvest.Harvest, "0-1, proven 0-1, open 1-1000")
	all, err := l.Store.Coverage(l.ctx(), prov)
	if err != nil || all[0].Proven[0].Reason != "accepted gap: accepted by lab: lost upstream" {
		l.Errorf("%+v, %v", all, err)
	}
	d := Draft(ns, 1000, 1100)
	d.Slices = harvest.DraftsOf(slicesOf(d)[:2]...)
	d.SlicedTo = mark(1002)
	l.Save(d)
	must("one more than a thousand, and a plan that is not cut whole", harvest.Harvest, "0-1, proven 0-1, open 1-1001, looked to 1001")
	l.Save(Draft(harvest.ActivityNamespace(prov, harvest.Backfill, "updated", "b1"), 0, 1010))
	must("beside many others", harvest.Harvest, "0-1, proven 0-1, open 1-501, looked to 501")
	must("those others, whose cursor falls", harvest.Backfill, "1010-1010, open 510-1010, looked to 510")
	l.MustVerify()
}
