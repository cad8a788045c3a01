package sqlstore_test

import (
	"fmt"
	"slices"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// cancelledInParts: what a cancelled plan left is planned again in windows of
// other plans, none of which holds the whole of it. It then holds nothing.
func cancelledInParts(l *Lab) {
	d := Draft(ns, 0, 4)
	d.Slices = harvest.DraftsOf(child(hour(0), hour(4)))
	l.Cancel(control.CancelScope{Plan: l.Save(d).ID})
	for from := 0; from < 4; from += 2 {
		l.Plan(from, from+2)
		for range 2 {
			l.Walk(l.LeaseOne())
		}
		l.MustBeAt(from + 2)
		l.MustVerify()
	}
	if gaps, _, err := l.Store.Gaps(l.ctx(), control.GapQuery{Source: prov}); err != nil || len(gaps) != 0 {
		l.Errorf("gaps %+v, %v", gaps, err)
	}
	// One that nobody planned again holds.
	Clear(l, l.DB, l.tables)
	a := l.Plan(0, 2)
	l.Plan(2, 4)
	l.Cancel(control.CancelScope{Plan: a.ID})
	for range 2 {
		l.Walk(l.LeaseOne())
	}
	l.MustBeAt(0)
	if gaps, _, err := l.Store.Gaps(l.ctx(), control.GapQuery{Source: prov}); err != nil || len(gaps) != 2 {
		l.Errorf("gaps %+v, %v", gaps, err)
	}
	l.MustVerify()
}

// queuedByAPerson: a slice that was given up alone is queued again when a person
// asks for it and never by itself, goes on from its last page, and then holds
// nothing; one given up with its plan is not.
func queuedByAPerson(l *Lab) {
	retry := func(cancelled bool, want int64) {
		l.Helper()
		if n, err := l.Store.RetryGaps(l.ctx(), prov, cancelled, source.Audit{Actor: "lab", Action: "PLAN_RETRY", Object: prov, Reason: "test"}); err != nil || n != want {
			l.Errorf("%d queued again, %v, want %d", n, err, want)
		}
	}
	h := l.Plan(0, 3)
	jobs := l.Lease(3)
	l.begun(jobs[1])
	l.Cancel(control.CancelScope{Slice: jobs[1].Slice})
	l.Walk(jobs[0])
	l.Refuse(jobs[2])
	l.MustBeAt(1)
	retry(false, 1)
	l.Walk(l.LeaseOne())
	l.Due()
	l.Unchanged("waiting", func() {
		if n, err := l.Store.RequeueDue(l.ctx()); err != nil || n != 0 {
			l.Errorf("%d queued by themselves, %v", n, err)
		}
		retry(false, 0)
	})
	l.MustBeAt(1)
	retry(true, 1)
	l.MustVerify()
	j := l.LeaseOne()
	r := l.Start(j)
	if j.Slice != jobs[1].Slice || r.SearchDone != 1 {
		l.Errorf("slice %d goes on after %d pages", j.Slice, r.SearchDone)
	}
	l.Commit(j, Last(l.Open(j, r)))
	l.MustBeAt(3)
	if p, err := l.Store.Plan(l.ctx(), h.ID); err != nil || p.Status != harvest.PlanCompleted {
		l.Errorf("plan is %s, %v", p.Status, err)
	}
	a := l.Plan(3, 4)
	l.Plan(4, 5)
	l.Cancel(control.CancelScope{Plan: a.ID})
	retry(true, 0)
	if gaps, _, err := l.Store.Gaps(l.ctx(), control.GapQuery{Source: prov}); err != nil || len(gaps) != 1 || !gaps[0].Whole {
		l.Errorf("gaps %+v, %v", gaps, err)
	}
	l.MustVerify()
}

// accepted is who lets a watermark pass a gap.
var accepted = source.Audit{Actor: "lab", Action: "GAP_ACCEPT", Object: "slice", Reason: "test"}

// Cancel gives up a plan or a slice.
func (l *Lab) Cancel(scope control.CancelScope) {
	l.Helper()
	if _, err := l.Store.Cancel(l.ctx(), scope, source.Audit{Actor: "lab", Action: "PLAN_CANCEL", Object: "plan", Reason: "test"}); err != nil {
		l.Fatalf("cancel: %v", err)
	}
}

// updateDraft is a plan that reads ids again, two to a slice, numbered from an
// ordinal on, and cut up to another.
func updateDraft(activity string, from, cut int64, ids []string) harvest.Draft {
	d := Draft(harvest.ActivityNamespace(prov, harvest.Update, harvest.RangeOrdinal, activity), 0, 0)
	to := from + int64(len(ids))
	d.Span = harvest.OrdinalSpan(from, to)
	d.SlicedTo = harvest.OrdinalMark(cut)
	d.Strategy = harvest.StrategyID
	d.PagingType = harvest.PageIDs
	d.Candidates = ids
	for at := from; at < cut; at += 2 {
		d.Slices = harvest.DraftsOf(append(slicesOf(d), harvest.SliceDraft{Spec: harvest.NewIDSlice(harvest.RangeOrdinal, at, min(at+2, cut), 2), Expr: fmt.Sprint(at)})...)
	}
	return d
}

// reread runs a leased task of an UPDATE to its end.
func (l *Lab) reread(j harvest.Job) []string {
	l.Helper()
	r := l.Start(j)
	o, err := l.Store.OpenBatch(l.ctx(), j.Lease, harvest.BatchOpen{Run: r.Run, BatchNo: r.BatchNo, Walk: r.Walk, Phase: harvest.PhaseDetail, Ordinal: 1})
	if err != nil {
		l.Fatal(err)
	}
	b := Page(o)
	b.After = harvest.Position{Offset: int64(len(r.IDs))}
	for _, id := range r.IDs {
		b.Records = append(b.Records, Rec(id, hour(0), o.OpenedAt, id))
	}
	b.Asked = len(r.IDs)
	b.End = harvest.EndFrozen
	b.Finish = true
	l.Commit(j, b)
	return r.IDs
}

// signalsReturned: what an UPDATE was pointed to and has not read when it is
// given up, as a slice or as a whole, is there for the next one; what it has
// read is not read twice. The activity goes on from where it stands.
func signalsReturned(l *Lab) {
	l.Plan(0, 1)
	j := l.LeaseOne()
	b := Last(l.Open(j, l.Start(j)), Rec("notice", hour(0), hour(9), "notice"))
	var ids []string
	for i := range 10 {
		id := fmt.Sprint("r", i)
		ids = append(ids, id)
		b.Records = append(b.Records, Rec(id, hour(0), b.OpenedAt, id))
		b.Signals = append(b.Signals, harvest.Signal{From: "notice", Target: id, Kind: harvest.SignalRetraction})
	}
	l.Commit(j, b)
	open := func(when string, want ...string) {
		l.Helper()
		got, err := l.Store.Candidates(l.ctx(), prov, recordType, "m1", harvest.CandidatePick{Signals: true})
		if slices.Sort(got); err != nil || !slices.Equal(got, want) {
			l.Errorf("%s signals point to %v, %v, want %v", when, got, err, want)
		}
		l.MustVerify()
	}
	open("before the plan", ids...)
	act := updateDraft("act", 0, 8, ids)
	h := l.Save(act)
	if h.Status != harvest.PlanPartial {
		l.Fatalf("plan is %s", h.Status)
	}
	open("once they are taken")
	if got := l.reread(l.LeaseOne()); !slices.Equal(got, ids[:2]) {
		l.Fatalf("read %v", got)
	}
	j = l.LeaseOne()
	l.Cancel(control.CancelScope{Slice: j.Slice})
	open("after the second slice was given up", ids[2:4]...)
	if w, err := l.Store.AcceptGap(l.ctx(), j.Slice, accepted); err != nil || w.String() != "4" {
		l.Errorf("accepted to %s, %v", w, err)
	}
	// Another activity takes those; it keeps them whatever becomes of the first.
	other := l.Save(updateDraft("other", 0, 1, ids[2:3]))
	open("of which another plan took one", ids[3])
	l.Cancel(control.CancelScope{Plan: h.ID})
	open("after the whole plan was given up", ids[3:]...)
	l.Cancel(control.CancelScope{Plan: other.ID})
	open("after the other was, too", ids[2:]...)
	if gaps, _, err := l.Store.Gaps(l.ctx(), control.GapQuery{Source: prov}); err != nil || len(gaps) != 0 {
		l.Errorf("what was given up holds as gaps %+v, %v", gaps, err)
	}

	f, err := l.Store.Frontier(l.ctx(), act.Namespace)
	if err != nil || !f.Known || f.Live || f.At.Ordinal() != 4 {
		l.Fatalf("frontier %+v, %v", f, err)
	}
	h = l.Save(updateDraft("act", 4, 9, ids[5:]))
	f, err = l.Store.Frontier(l.ctx(), act.Namespace)
	if err != nil || !f.Live || f.At.Ordinal() != 9 {
		l.Errorf("frontier %+v, %v", f, err)
	}
	open("once some are taken again", ids[2:5]...)
	var got []string
	for range 3 {
		got = append(got, l.reread(l.LeaseOne())...)
	}
	p, err := l.Store.Plan(l.ctx(), h.ID)
	if f, ferr := l.Store.Frontier(l.ctx(), act.Namespace); err != nil || ferr != nil || !slices.Equal(got, ids[5:]) || p.Status != harvest.PlanCompleted || f.Watermark.Ordinal() != 9 {
		l.Errorf("read %v, plan %s, frontier %+v, %v, %v", got, p.Status, f, err, ferr)
	}
	open("at the end", ids[2:5]...)
}

// signalsOfAcceptedGap: what an UPDATE was pointed to and could not read is there
// for the next one when its slice is accepted as a gap.
func signalsOfAcceptedGap(l *Lab) {
	l.Plan(0, 1)
	j := l.LeaseOne()
	b := Last(l.Open(j, l.Start(j)), Rec("notice", hour(0), hour(9), "notice"))
	ids := []string{"r0", "r1", "r2", "r3"}
	for _, id := range ids {
		b.Records = append(b.Records, Rec(id, hour(0), b.OpenedAt, id))
		b.Signals = append(b.Signals, harvest.Signal{From: "notice", Target: id, Kind: harvest.SignalRetraction})
	}
	l.Commit(j, b)
	h := l.Save(updateDraft("act", 0, 4, ids))
	j = l.LeaseOne()
	l.Refuse(j)
	l.reread(l.LeaseOne())
	signals := func(when string, want ...string) {
		l.Helper()
		got, err := l.Store.Candidates(l.ctx(), prov, recordType, "m1", harvest.CandidatePick{Signals: true})
		if slices.Sort(got); err != nil || !slices.Equal(got, want) {
			l.Errorf("%s signals point to %v, %v, want %v", when, got, err, want)
		}
	}
	signals("while it may be tried again")
	if _, err := l.Store.AcceptGap(l.ctx(), j.Slice, accepted); err != nil {
		l.Fatal(err)
	}
	signals("accepted unread:", ids[:2]...)
	if p, err := l.Store.Plan(l.ctx(), h.ID); err != nil || p.Status != harvest.PlanCompleted {
		l.Errorf("plan is %s, %v", p.Status, err)
	}
	l.MustVerify()
}

// signalsOpened: a notice that is new or changed points to what it is about, once;
// when that was taken, only another notice opens it again.
func signalsOpened(l *Lab) {
	l.Plan(0, 6)
	jobs := l.Lease(6)
	bring := func(notice, content string, at int, targets ...string) {
		l.Helper()
		j := jobs[0]
		jobs = jobs[1:]
		b := Last(l.Open(j, l.Start(j)), Rec("a", hour(0), hour(9), "a"), Rec("b", hour(0), hour(9), "b"), Rec(notice, hour(at), hour(9), content))
		for _, t := range targets {
			b.Signals = append(b.Signals, harvest.Signal{From: notice, Target: t, Kind: harvest.SignalCorrection})
		}
		l.Commit(j, b)
	}
	open := func(when string, want ...string) {
		l.Helper()
		got, err := l.Store.Candidates(l.ctx(), prov, recordType, "m1", harvest.CandidatePick{Signals: true})
		if slices.Sort(got); err != nil || !slices.Equal(got, want) {
			l.Errorf("%s signals point to %v, %v, want %v", when, got, err, want)
		}
	}
	bring("n1", "one", 1, "a")
	open("a new notice:", "a")
	// Signals come before what is only old, and nothing twice.
	if got, err := l.Store.Candidates(l.ctx(), prov, recordType, "m1", harvest.CandidatePick{Signals: true, SeenBefore: hour(10)}); err != nil || len(got) != 3 || got[0] != "a" {
		l.Errorf("signalled and old: %v, %v", got, err)
	}
	if _, err := l.Store.Candidates(l.ctx(), prov, recordType, "m1", harvest.CandidatePick{Max: 3}); err == nil {
		l.Error("nothing was asked for, and answered")
	}
	bring("n1", "one", 1, "a", "b")
	open("the same again:", "a")
	l.Save(updateDraft("u", 0, 1, []string{"a"}))
	open("taken:")
	bring("n1", "one", 1, "a")
	open("the same once more:")
	bring("n1", "two", 2, "a", "b")
	open("changed, it points to another, too:", "b")
	bring("n2", "three", 1, "a", "never held")
	open("another notice:", "a", "b")
	l.MustVerify()
}
