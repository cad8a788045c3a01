package sqlstore_test

import (
	"errors"
	"sync"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
)

func identicalTriggers(l *Lab) {
	other := patratest.Open(l, l.DSN, sqlstore.Options{})
	const n = 50
	heads := make([]harvest.PlanHead, n)
	errs := make([]error, n)
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		st := []*sqlstore.Store{l.Store, other}[i%2]
		wg.Go(func() {
			<-start
			heads[i], errs[i] = st.SavePlan(l.ctx(), Draft(ns, 0, 4))
		})
	}
	close(start)
	wg.Wait()
	fresh := 0
	for i := range n {
		if errs[i] != nil {
			l.Fatalf("trigger %d: %v", i, errs[i])
		}
		if heads[i].ID != heads[0].ID || heads[i].Key != heads[0].Key {
			l.Errorf("trigger %d got plan %d, the first %d", i, heads[i].ID, heads[0].ID)
		}
		if !heads[i].Existing {
			fresh++
		}
	}
	if fresh != 1 {
		l.Errorf("%d triggers say they made the plan", fresh)
	}
	for tab, want := range map[string]int64{"ing_plan": 1, "ing_plan_slice": 4, "ing_task": 4, "ing_cursor": 1, "ing_cursor_event": 1} {
		if got := l.Int(`SELECT COUNT(*) FROM ` + tab); got != want {
			l.Errorf("%s has %d rows, want %d", tab, got, want)
		}
	}
	l.MustVerify()
	// A cancelled plan gives its key back.
	l.Exec(`UPDATE ing_plan SET status_code='CANCELLED'`)
	if h, err := l.Store.SavePlan(l.ctx(), Draft(ns, 0, 4)); err != nil || h.Existing || h.ID == heads[0].ID {
		l.Errorf("after a cancel: %+v, %v", h, err)
	}
}

func anotherActivity(l *Lab) {
	for i, act := range []string{"a", "b"} {
		d := Draft(harvest.ActivityNamespace(prov, harvest.Backfill, "updated", act), 0, 2)
		h, err := l.Store.SavePlan(l.ctx(), d)
		if err != nil || h.Existing {
			l.Fatalf("activity %s: %+v, %v", act, h, err)
		}
		if again, err := l.Store.SavePlan(l.ctx(), d); err != nil || !again.Existing || again.ID != h.ID {
			l.Errorf("activity %s again: %+v, %v", act, again, err)
		}
		if n := l.Int(`SELECT COUNT(*) FROM ing_task`); n != int64(2*(i+1)) {
			l.Errorf("%d tasks", n)
		}
	}
	if n := l.Int(`SELECT COUNT(DISTINCT slice_signature_hash) FROM ing_plan_slice`); n != 2 {
		l.Errorf("%d signatures for 2 windows", n)
	}
	l.MustVerify()
}

func frontierMoved(l *Lab) {
	l.Plan(0, 2)
	for name, d := range map[string]harvest.Draft{
		"from before the frontier": Draft(ns, 1, 4),
		"from past the frontier":   Draft(ns, 3, 4),
	} {
		l.Unchanged("a plan "+name, func() {
			if _, err := l.Store.SavePlan(l.ctx(), d); !errors.Is(err, harvest.ErrFrontierMoved) {
				l.Errorf("%s: got %v", name, err)
			}
		})
	}
	// Two that saw the same frontier: one is saved, the other told.
	var wg sync.WaitGroup
	errs := make([]error, 2)
	for i := range 2 {
		wg.Go(func() { _, errs[i] = l.Store.SavePlan(l.ctx(), Draft(ns, 2, 3+i)) })
	}
	wg.Wait()
	if (errs[0] == nil) == (errs[1] == nil) || !errors.Is(errors.Join(errs...), harvest.ErrFrontierMoved) {
		l.Errorf("got %v and %v", errs[0], errs[1])
	}
	l.MustVerify()
}

// daysApart plans the days around two changes of the clock: as the database
// compares, the first and the last instant of each day lie in one slice, its own.
func daysApart(l *Lab) {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		l.Fatal(err)
	}
	cal := harvest.Calendar{Precision: harvest.PrecisionDay, Zone: zone}
	for _, first := range []time.Time{time.Date(2024, 3, 8, 0, 0, 0, 0, zone), time.Date(2024, 11, 1, 0, 0, 0, 0, zone)} {
		d := Draft(harvest.ActivityNamespace(prov, harvest.Backfill, "updated", first.Format(time.DateOnly)), 0, 0)
		d.Span = harvest.Window{From: first.UTC(), To: cal.Step(first, 5).UTC()}.Span()
		d.SlicedTo = d.Span.From
		var specs []harvest.SliceSpec
		err := harvest.TimeStrategy{}.Slice(l.ctx(), harvest.SliceRequest{Span: d.Span, Calendar: cal, Step: 24 * time.Hour, PageSize: pageSize},
			func(s harvest.SliceSpec) { specs = append(specs, s) })
		if err != nil {
			l.Fatal(err)
		}
		for _, s := range specs {
			d.Slices = harvest.DraftsOf(append(slicesOf(d), harvest.SliceDraft{Spec: s, Expr: s.Part().String()})...)
		}
		head, err := l.Store.SavePlan(l.ctx(), d)
		if err != nil {
			l.Fatal(err)
		}
		for day := range 5 {
			from := first.AddDate(0, 0, day)
			for _, at := range []time.Time{from, from.AddDate(0, 0, 1).Add(-time.Microsecond)} {
				const layout = "2006-01-02 15:04:05.000000"
				x := at.UTC().Format(layout)
				if n := l.Int(`SELECT COUNT(*) FROM ing_plan_slice WHERE plan_id=? AND window_from<=? AND window_to>?`, head.ID, x, x); n != 1 {
					l.Errorf("%s lies in %d slices", at, n)
				}
				if n := l.Int(`SELECT COUNT(*) FROM ing_plan_slice WHERE plan_id=? AND window_from=? AND window_to>?`, head.ID, from.UTC().Format(layout), x); n != 1 {
					l.Errorf("%s is not in the slice of its day", at)
				}
			}
		}
	}
	l.MustVerify()
}

// planGoesOn: a plan that stopped early is gone on with by one, from where it
// stopped, at the priority it has; its window is planned by nobody else, and it
// is not complete before it is whole.
func planGoesOn(l *Lab) {
	d := Draft(ns, 0, 4)
	d.Slices = harvest.DraftsOf(slicesOf(d)[:1]...)
	d.SlicedTo = mark(1)
	d.Trigger.Priority = 7
	h := l.Save(d)
	first, ok, err := l.Store.PartialPlan(l.ctx(), ns)
	if err != nil || !ok || first.ID != h.ID || first.SlicedTo != mark(1) || h.Status != harvest.PlanPartial {
		l.Fatalf("%+v, %v, %v", first, ok, err)
	}
	first.PagingType, first.PageSize = d.PagingType, d.PageSize
	l.Walk(l.LeaseOne())
	l.MustBeAt(1)
	if f, err := l.Store.Frontier(l.ctx(), ns); err != nil || f.At != mark(4) {
		l.Errorf("the frontier is %+v, %v", f, err)
	}
	extend := func(p harvest.OpenPlan, from, to int) (harvest.PlanHead, error) {
		var add []harvest.SliceDraft
		for at := from; at < to; at++ {
			add = append(add, child(hour(at), hour(at+1)))
		}
		return l.Store.ExtendPlan(l.ctx(), p, harvest.DraftsOf(add...), mark(to))
	}
	if h, err := extend(first, 1, 3); err != nil || h.Status != harvest.PlanPartial || h.ID != first.ID {
		l.Fatalf("%+v, %v", h, err)
	}
	l.Unchanged("who was slower", func() {
		if _, err := extend(first, 1, 4); !errors.Is(err, harvest.ErrFrontierMoved) {
			l.Errorf("got %v", err)
		}
	})
	l.MustVerify()
	for range 2 {
		l.Walk(l.LeaseOne())
	}
	l.MustBeAt(3)
	rest, ok, err := l.Store.PartialPlan(l.ctx(), ns)
	if err != nil || !ok {
		l.Fatalf("a plan that is not whole is gone: %v, %v", ok, err)
	}
	rest.PagingType = d.PagingType
	rest.PageSize = d.PageSize
	rest.Priority = 5
	if h, err := extend(rest, 3, 4); err != nil || h.Status != harvest.PlanReady {
		l.Fatalf("%+v, %v", h, err)
	}
	if _, ok, err := l.Store.PartialPlan(l.ctx(), ns); err != nil || ok {
		l.Errorf("it is whole: %v, %v", ok, err)
	}
	for i, want := range []int64{7, 7, 7, 5} {
		if got := l.Int(`SELECT t.priority FROM ing_task t JOIN ing_plan_slice s ON s.id=t.slice_id WHERE s.slice_no=?`, i+1); got != want {
			l.Errorf("task %d has priority %d, want %d", i+1, got, want)
		}
	}
	l.Walk(l.LeaseOne())
	l.MustBeAt(4)
	if p, err := l.Store.Plan(l.ctx(), h.ID); err != nil || p.Status != harvest.PlanCompleted {
		l.Errorf("plan is %s, %v", p.Status, err)
	}
	// One that was given up is not gone on with.
	d = Draft(ns, 4, 6)
	d.Slices, d.SlicedTo = harvest.DraftsOf(slicesOf(d)[:1]...), mark(5)
	l.Save(d)
	open, ok, err := l.Store.PartialPlan(l.ctx(), ns)
	if err != nil || !ok {
		l.Fatal(ok, err)
	}
	l.Cancel(control.CancelScope{Plan: open.ID})
	l.Unchanged("going on with what was given up", func() {
		if _, err := extend(open, 5, 6); !errors.Is(err, harvest.ErrFrontierMoved) {
			l.Errorf("got %v", err)
		}
	})
	l.MustVerify()
}

// backfillGoesOn is a plan of history that stopped early: its end is cut, the
// beginning is left, and both are told apart.
func backfillGoesOn(l *Lab) {
	bf := harvest.ActivityNamespace(prov, harvest.Backfill, "updated", "b1")
	d := Draft(bf, 0, 4)
	d.Slices, d.SlicedTo = harvest.DraftsOf(slicesOf(d)[3:]...), mark(3)
	h := l.Save(d)
	p, ok, err := l.Store.PartialPlan(l.ctx(), bf)
	if err != nil || !ok || h.Status != harvest.PlanPartial || p.SlicedTo != mark(3) {
		l.Fatalf("%+v, %v, %v", p, ok, err)
	}
	if f, err := l.Store.Frontier(l.ctx(), bf); err != nil || f.At != mark(0) {
		l.Errorf("the frontier is %+v, %v", f, err)
	}
	cov, err := l.Store.Coverage(l.ctx(), prov)
	if err != nil || len(cov) != 1 || len(cov[0].Open) != 2 || cov[0].Open[0].From != mark(0) || cov[0].Open[0].To != mark(3) || cov[0].Open[0].Reason == "" || cov[0].Open[1].To != mark(4) {
		l.Errorf("%+v, %v", cov, err)
	}
	l.MustVerify()
	for _, at := range []int{2, 0} {
		var add []harvest.SliceDraft
		for from := p.SlicedTo.Time(); from.After(hour(at)); from = from.Add(-time.Hour) {
			add = append(add, child(from.Add(-time.Hour), from))
		}
		p.PagingType, p.PageSize = d.PagingType, d.PageSize
		h, err = l.Store.ExtendPlan(l.ctx(), p, harvest.DraftsOf(add...), mark(at))
		if err != nil {
			l.Fatal(err)
		}
		p.SlicedTo = mark(at)
		l.MustVerify()
	}
	if h.Status != harvest.PlanReady {
		l.Errorf("the whole plan is %s", h.Status)
	}
	// Plans of before have their end there.
	l.Exec(`UPDATE ing_plan SET sliced_to=window_to`)
	l.MustVerify()
}

// triedAgain: a plan whose transaction the database has run once more is saved whole, from its
// first slice on.
func triedAgain(l *Lab) {
	const hours = 700 // more than are written at a time
	tries := 0
	st := patratest.Open(l, l.DSN, sqlstore.Options{Hook: func(point string) error {
		if point != "before commit" {
			return nil
		}
		tries++
		if tries == 1 {
			return sqlstore.ErrLostRace
		}
		return nil
	}})
	d := Draft(ns, 0, hours)
	head, err := st.SavePlan(l.ctx(), d)
	if err != nil || tries != 2 {
		l.Fatalf("saved with %d tries: %v", tries, err)
	}
	for _, table := range []string{"ing_plan_slice", "ing_task"} {
		if n := l.Int(`SELECT COUNT(*) FROM `+table+` WHERE plan_id=?`, head.ID); n != hours {
			l.Errorf("%d rows in %s, want %d", n, table, hours)
		}
	}
	if n := l.Int(`SELECT MAX(slice_no) FROM ing_plan_slice WHERE plan_id=?`, head.ID); n != hours {
		l.Errorf("the last slice has number %d, want %d", n, hours)
	}
	l.MustVerify()
}
