package sqlstore_test

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
)

// done is a child that its parent has proven.
func done(c harvest.SliceDraft) harvest.SliceDraft {
	c.Done = true
	return c
}

// pages is a part of a window by the pages of its walk.
func pages(c harvest.SliceDraft, from, to int64) harvest.SliceDraft {
	c.Spec.Strategy, c.Spec.Range = harvest.StrategyLandmark, harvest.NewRange(harvest.RangePage, from, to)
	if from > 0 {
		c.Spec.Cursor = &harvest.CursorSpec{StartToken: "t"}
	}
	return c
}

// begun starts a task and commits its first page.
func (l *Lab) begun(j harvest.Job) harvest.RunEnd {
	l.Helper()
	r := l.Start(j)
	l.Commit(j, Page(l.Open(j, r)))
	return harvest.RunEnd{Run: r.Run, Code: "budget_spent", Error: "enough"}
}

// provenPrefix cuts a slice of which a beginning is proven: it is done, has no
// task, and the watermark moves over it with the cut, if all before is proven.
func provenPrefix(l *Lab) {
	l.Plan(0, 3)
	jobs := l.Lease(3)
	mid := hour(1).Add(20 * time.Minute)
	end := l.begun(jobs[1])
	l.Unchanged("a cut that leaves nothing to walk", func() {
		if err := l.Store.Reslice(l.ctx(), jobs[1], end, []harvest.SliceDraft{done(child(hour(1), mid)), done(child(mid, hour(2)))}, "TOKEN", pageSize); err == nil {
			l.Fatal("all children are done, and were taken")
		}
	})
	kids := []harvest.SliceDraft{done(child(hour(1), mid)), child(mid, hour(2))}
	kids[1].Spec.PageSize = 5
	l.everyPoint("reslice", func(s *sqlstore.Store) error { return s.Reslice(l.ctx(), jobs[1], end, kids, "TOKEN", pageSize) })
	l.MustBeAt(0)
	l.MustVerify()
	if n := l.Int(`SELECT COUNT(*) FROM ing_plan_slice WHERE parent_id=? AND status_code='DONE'`, jobs[1].Slice); n != 1 {
		l.Errorf("%d children are done", n)
	}
	l.Walk(jobs[0])
	if w := l.Watermark(); !w.Equal(mid) {
		l.Errorf("all up to the cut is proven: watermark %s", harvest.FormatInstant(w))
	}
	rest := l.Lease(9)
	if len(rest) != 1 || rest[0].Spec.NominalWindow() != (harvest.Window{From: mid, To: hour(2)}) || rest[0].Spec.PageSize != 5 {
		l.Fatalf("%d children can be leased: %+v", len(rest), rest)
	}
	// Now the cut itself moves the watermark.
	later := mid.Add(20 * time.Minute)
	end = l.begun(rest[0])
	if err := l.Store.Reslice(l.ctx(), rest[0], end, []harvest.SliceDraft{done(child(mid, later)), child(later, hour(2))}, "TOKEN", pageSize); err != nil {
		l.Fatal(err)
	}
	if w := l.Watermark(); !w.Equal(later) {
		l.Errorf("cut at the watermark: it is %s", harvest.FormatInstant(w))
	}
	l.MustVerify()
	l.Walk(jobs[2])
	l.Walk(l.LeaseOne())
	l.MustBeAt(3)
	if got := l.Text(`SELECT status_code FROM ing_plan`); got != "COMPLETED" {
		l.Errorf("plan is %s", got)
	}
	l.MustVerify()
}

// everyPoint fails a transaction at every point in turn, then lets it through:
// until then nothing of it is there.
func (l *Lab) everyPoint(what string, do func(*sqlstore.Store) error) {
	l.Helper()
	seen, fail := 0, 0
	s := patratest.Open(l, l.DSN, sqlstore.Options{Hook: func(string) error {
		seen++
		if seen == fail {
			return errors.New("pulled the plug")
		}
		return nil
	}})
	for fail = 1; ; fail++ {
		before := l.Dump()
		seen = 0
		err := do(s)
		switch {
		case err == nil, errors.Is(err, harvest.ErrUnknownOutcome): // failed after the commit
			if fail < 10 {
				l.Errorf("only %d points in %s", fail, what)
			}
			return
		case l.Dump() != before:
			l.Fatalf("%s failed at point %d and left:\n%s", what, fail, diff(before, l.Dump()))
		}
	}
}

// prefixBackwards: a BACKFILL falls onto a proven beginning only once what lies
// above it is proven, and then over it at once.
func prefixBackwards(l *Lab) {
	bf := harvest.ActivityNamespace(prov, harvest.Backfill, "updated", "act-1")
	if _, err := l.Store.SavePlan(l.ctx(), Draft(bf, 0, 2)); err != nil {
		l.Fatal(err)
	}
	value := func(want time.Time) {
		l.Helper()
		if got := l.Text(`SELECT cursor_value FROM ing_cursor`); got != harvest.FormatInstant(want) {
			l.Errorf("watermark %s, want %s", got, harvest.FormatInstant(want))
		}
		l.MustVerify()
	}
	jobs := l.Lease(2)
	mid := hour(1).Add(30 * time.Minute)
	if err := l.Store.Reslice(l.ctx(), jobs[1], l.begun(jobs[1]), []harvest.SliceDraft{done(child(hour(1), mid)), child(mid, hour(2))}, "TOKEN", pageSize); err != nil {
		l.Fatal(err)
	}
	value(hour(2))
	l.Walk(l.LeaseOne())
	value(hour(1))
	l.Walk(jobs[0])
	value(hour(0))
}

// landmarks: parts of one window by pages; the watermark passes the window when
// the last of them is proven.
func landmarks(l *Lab) {
	l.Plan(0, 2)
	jobs := l.Lease(2)
	l.Walk(jobs[1])
	whole := child(hour(0), hour(1))
	if err := l.Store.Reslice(l.ctx(), jobs[0], l.begun(jobs[0]), []harvest.SliceDraft{done(pages(whole, 0, 3)), pages(whole, 3, 0)}, "TOKEN", pageSize); err != nil {
		l.Fatal(err)
	}
	l.MustBeAt(0)
	l.MustVerify()
	rest := l.LeaseOne()
	if rest.Spec.Cursor == nil || rest.Spec.Cursor.StartToken != "t" {
		l.Errorf("the rest begins at %+v", rest.Spec.Cursor)
	}
	if err := l.Store.Reslice(l.ctx(), rest, l.begun(rest), []harvest.SliceDraft{done(pages(whole, 3, 9)), pages(whole, 9, 0)}, "TOKEN", pageSize); err != nil {
		l.Fatal(err)
	}
	l.MustBeAt(0)
	l.Walk(l.LeaseOne())
	l.MustBeAt(2)
	l.MustVerify()
}

// cutsCount: a cut that has not helped is a failure to the breaker of its
// partition, any other is an answer; and what a plan has cost is told.
func cutsCount(l *Lab) {
	l.Plan(0, 8)
	l.Due()
	plan := harvest.PlanID(l.Int(`SELECT MIN(id) FROM ing_plan`))
	cost := func(want harvest.PlanCost) {
		l.Helper()
		got, err := l.Store.PlanCost(l.ctx(), plan, harvest.Window{From: hour(0), To: hour(1)})
		if err != nil {
			l.Fatal(err)
		}
		if got != want {
			l.Errorf("cost %+v, want %+v", got, want)
		}
	}
	cut := func(o harvest.RunOutcome) {
		l.Helper()
		j := l.LeaseOne()
		w := j.Spec.NominalWindow()
		mid := w.From.Add(w.Duration() / 2)
		r := l.Start(j)
		page := &harvest.FailedPage{Batch: l.Open(j, r).ID, Asked: true, Evidence: harvest.Evidence{Sent: 7}}
		end := harvest.RunEnd{Run: r.Run, Outcome: o, Code: "reply_too_large", Error: "too large", Page: page}
		if err := l.Store.Reslice(l.ctx(), j, end, []harvest.SliceDraft{child(w.From, mid), child(mid, w.To)}, "TOKEN", pageSize); err != nil {
			l.Fatal(err)
		}
	}
	l.Exec(`UPDATE ing_plan_slice SET slice_spec=? WHERE id=(SELECT id FROM (SELECT MIN(id) AS id FROM ing_plan_slice) x)`,
		counted(l.Text(`SELECT slice_spec FROM ing_plan_slice ORDER BY id LIMIT 1`), 120))
	cost(harvest.PlanCost{Slices: 1, Records: 120})
	l.Walk(l.LeaseOne())
	sent := l.Int(`SELECT SUM(sent) FROM ing_task_run_batch`)
	cost(harvest.PlanCost{Slices: 1, Records: 120, Done: 1, DoneWithin: 1, Sent: int64(sent)})

	cut(harvest.Spent)
	cut(harvest.Spent)
	cut(harvest.Refused) // it helped: the count begins anew
	for range harvest.DefaultBreaker().After {
		cut(harvest.Spent)
	}
	if n := len(l.Lease(1)); n != 0 || l.rest() != time.Minute {
		l.Errorf("%d tasks taken after %d cuts that did not help, rests %s", n, harvest.DefaultBreaker().After, l.rest())
	}
	cost(harvest.PlanCost{Slices: 1, Records: 120, Done: 1, DoneWithin: 1, Cuts: 6, Sent: int64(sent) + 6*7})
	l.mend()
	l.Walk(l.LeaseOne())
	got, err := l.Store.PlanCost(l.ctx(), plan, harvest.Window{From: hour(0), To: hour(1)})
	if err != nil || got.Cuts != 0 || got.Done != 2 {
		l.Errorf("after another slice was proven: %+v, %v", got, err)
	}
	l.MustVerify()
}

// counted is a slice as the upstream has counted it.
func counted(spec string, records int64) string {
	var s harvest.SliceSpec
	if err := json.Unmarshal([]byte(spec), &s); err != nil {
		panic(err)
	}
	s.Hints = &harvest.SliceHints{ExpectedRecords: records, EstimatedBy: harvest.ByCount}
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}
