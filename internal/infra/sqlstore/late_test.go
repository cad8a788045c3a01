package sqlstore_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// lookBack saves a plan whose first slice asks for an hour more.
func (l *Lab) lookBack(from, to int) {
	l.Helper()
	d := Draft(ns, from, to)
	slicesOf(d)[0].Spec.Hints.OverlapSec = 3600
	if _, err := l.Store.SavePlan(l.ctx(), d); err != nil {
		l.Fatalf("save plan: %v", err)
	}
}

// lateness of the lab's HARVEST namespace.
func (l *Lab) lateness() harvest.Lateness {
	l.Helper()
	f, err := l.Store.Frontier(l.ctx(), ns)
	if err != nil {
		l.Fatal(err)
	}
	late, err := l.Store.Lateness(l.ctx(), f.Cursor)
	if err != nil {
		l.Fatal(err)
	}
	return late
}

// ofHour is a record updated within hour h.
func ofHour(id string, h int) harvest.Record {
	return Rec(id, hour(h).Add(10*time.Minute), time.Time{}, "a")
}

// lateIsCounted: a page counts its new versions and of those the ones from an
// interval that was proven before its walk began; a plan that did not look back
// says nothing.
func lateIsCounted(l *Lab) {
	l.Plan(0, 2)
	for h, j := range l.Lease(2) {
		l.Walk(j, ofHour(fmt.Sprint("r", h), h))
	}
	if got := l.lateness(); got != (harvest.Lateness{}) {
		l.Errorf("nothing has looked back, yet %+v", got)
	}
	l.lookBack(2, 4)
	jobs := l.Lease(2)
	moved := Rec("r1", hour(1).Add(20*time.Minute), time.Time{}, "b")
	l.Walk(jobs[0],
		ofHour("own", 2),  // of the slice itself
		ofHour("r0", 0),   // seen before
		ofHour("new0", 0), // new, late
		moved,             // changed, late
		ofHour("next", 3), // of a slice that is open
		ofHour("far", 9),  // of no slice
	)
	if f, n := l.Int(`SELECT SUM(fresh) FROM ing_task_run_batch WHERE task_id=?`, jobs[0].Lease.Task), l.Int(`SELECT SUM(late) FROM ing_task_run_batch WHERE task_id=?`, jobs[0].Lease.Task); f != 5 || n != 2 {
		l.Errorf("%d new versions, %d late; want 5 and 2", f, n)
	}
	l.Walk(jobs[1], ofHour("own3", 3))
	if got, want := l.lateness(), (harvest.Lateness{LookedBack: true, Fresh: 6, Late: 2}); got != want {
		l.Errorf("%+v, want %+v", got, want)
	}
	l.movedFor(`{"reason":"HARVEST"}`, `{"reason":"HARVEST","batchNo":1}`, `{"reason":"HARVEST","batchNo":1}`,
		`{"reason":"HARVEST","batchNo":1,"lateArrival":2}`, `{"reason":"HARVEST","batchNo":1}`)

	// The walk began before the interval was proven: seen in time, be it on a
	// page that was asked for afterwards.
	l.lookBack(4, 6)
	jobs = l.Lease(2)
	r := l.Start(jobs[0])
	first := Page(l.Open(jobs[0], r))
	l.Commit(jobs[0], first)
	r.BatchNo = r.BatchNo + 1
	r.SearchDone = r.SearchDone + 1
	r.Search = first.After
	l.Walk(jobs[1], ofHour("own5", 5))
	o := l.Open(jobs[0], r)
	rec := ofHour("new5", 5)
	rec.Version.ObservedAt = o.OpenedAt
	l.Commit(jobs[0], Last(o, rec))
	if got, want := l.lateness(), (harvest.Lateness{LookedBack: true, Fresh: 8, Late: 2}); got != want {
		l.Errorf("%+v, want %+v", got, want)
	}

	// What comes again, be it mapped otherwise, and what happened more than 7
	// days ago does not count.
	l.lookBack(6, 7)
	remapped := ofHour("r0", 0)
	remapped.MappingVersion = "m2"
	if c := l.Walk(l.LeaseOne(), ofHour("new0", 0), moved, remapped); c.Counts.Remapped != 1 {
		l.Errorf("%+v", c.Counts)
	}
	if got, want := l.lateness(), (harvest.Lateness{LookedBack: true, Fresh: 8, Late: 2}); got != want {
		l.Errorf("%+v, want %+v", got, want)
	}
	l.Exec(`UPDATE ing_task_run_batch SET committed_at='2024-01-01 00:00:00.000000'`)
	if got := l.lateness(); got != (harvest.Lateness{}) {
		l.Errorf("all is long ago, yet %+v", got)
	}
	l.Exec(`UPDATE ing_task_run_batch SET committed_at=opened_at`)
	l.MustVerify()
}

// sentinelSees: a sentinel walks a proven window again, last in the queue and in
// a namespace of its own, and tells what the harvest has missed. Another
// BACKFILL of the same window says nothing.
func sentinelSees(l *Lab) {
	l.Plan(0, 2)
	for h, j := range l.Lease(2) {
		l.Walk(j, ofHour(fmt.Sprint("r", h), h))
	}
	f, err := l.Store.Frontier(l.ctx(), ns)
	if err != nil {
		l.Fatal(err)
	}
	walk := func(activity string, watches harvest.CursorID, recs ...harvest.Record) harvest.Job {
		l.Helper()
		d := Draft(harvest.ActivityNamespace(prov, harvest.Backfill, "updated", activity), 0, 1)
		d.Trigger.Watches = watches
		if watches != 0 {
			d.Trigger.Priority = harvest.SentinelPriority
		}
		if _, err := l.Store.SavePlan(l.ctx(), d); err != nil {
			l.Fatal(err)
		}
		j := l.LeaseOne()
		l.Walk(j, recs...)
		return j
	}
	walk("history", 0, ofHour("r0", 0), ofHour("r9", 0))
	if got := l.lateness(); got != (harvest.Lateness{}) {
		l.Errorf("a BACKFILL is no sentinel, yet %+v", got)
	}
	cursor := l.Text(`SELECT cursor_value FROM ing_cursor WHERE id=?`, f.Cursor)
	events := l.Int(`SELECT COUNT(*) FROM ing_cursor_event WHERE cursor_id=?`, f.Cursor)
	j := walk("sentinel", f.Cursor, ofHour("r0", 0), ofHour("r9", 0), ofHour("r8", 0))
	if got, want := l.lateness(), (harvest.Lateness{SentinelWalked: true, Sampled: 3, Found: 1}); got != want {
		l.Errorf("%+v, want %+v", got, want)
	}
	if p := l.Int(`SELECT priority FROM ing_task WHERE id=?`, j.Lease.Task); p != 900 {
		l.Errorf("priority %d", p)
	}
	if now := l.Text(`SELECT cursor_value FROM ing_cursor WHERE id=?`, f.Cursor); now != cursor || l.Int(`SELECT COUNT(*) FROM ing_cursor_event WHERE cursor_id=?`, f.Cursor) != events {
		l.Errorf("the harvest's cursor went from %s to %s", cursor, now)
	}
	cov, err := l.Store.Coverage(l.ctx(), prov)
	if err != nil || len(cov) != 2 { // HARVEST and history
		l.Errorf("%d namespaces shown, %v", len(cov), err)
	}
	l.MustVerify()
}

// provenWindows: a sentinel may choose only what is proven whole, in time.
func provenWindows(l *Lab) {
	d := Draft(ns, 0, 4)
	part := harvest.Window{From: hour(3), To: hour(4)}
	d.Slices = harvest.DraftsOf(slicesOf(d)[:3]...)
	for _, r := range []harvest.Range{harvest.NewRange("id", 0, 100), harvest.NewRange("id", 100, 0)} {
		d.Slices = harvest.DraftsOf(append(slicesOf(d), harvest.SliceDraft{Spec: harvest.NewSliceSpec(harvest.Part{Span: part.Span(), Range: r}, seconds, pageSize, 0, 0), Expr: r.String()})...)
	}
	if _, err := l.Store.SavePlan(l.ctx(), d); err != nil {
		l.Fatal(err)
	}
	jobs := l.Lease(5)
	see := func(since time.Time, want ...int) {
		l.Helper()
		now, err := l.Store.Now(l.ctx())
		if err != nil {
			l.Fatal(err)
		}
		f, err := l.Store.Frontier(l.ctx(), ns)
		if err != nil {
			l.Fatal(err)
		}
		got, err := l.Store.ProvenWindows(l.ctx(), f.Cursor, since, now)
		if err != nil || len(got) != len(want) {
			l.Fatalf("%v, %v; want hours %v", got, err, want)
		}
		for i, h := range want {
			if !got[i].From.Equal(hour(h)) {
				l.Errorf("%v, want hours %v", got, want)
			}
		}
		if got, err := l.Store.ProvenWindows(l.ctx(), f.Cursor, since, now.Add(-24*time.Hour)); err != nil || len(got) != 0 {
			l.Errorf("proven a day ago: %v, %v", got, err)
		}
	}
	see(hour(-1))
	l.Walk(jobs[0])
	l.Refuse(jobs[1])
	l.Walk(jobs[2])
	l.Walk(jobs[4]) // one part of hour 3
	see(hour(-1), 0, 2)
	l.Walk(jobs[3])
	see(hour(-1), 0, 2, 3)
	see(hour(3), 3)
}

// onceADay: whoever asks, one gets the sentinel and one the tuning of a day; a
// tuned lag is audited and stands only for the declared lag it began with.
func onceADay(l *Lab) {
	l.Plan(0, 1)
	now, err := l.Store.Now(l.ctx())
	if err != nil {
		l.Fatal(err)
	}
	t := harvest.Tuning{Namespace: ns, Declared: 10 * time.Minute, From: 10 * time.Minute, To: 15 * time.Minute, Rate: 0.0123}
	audits := func() int {
		l.Helper()
		lines, err := l.Store.Audits(l.ctx(), "source/"+prov, 100)
		if err != nil {
			l.Fatal(err)
		}
		n := 0
		for _, a := range lines {
			if a.Action == "lag.tune" {
				n++
				if a.Actor != "patra" || a.Reason == "" {
					l.Errorf("%+v", a)
				}
			}
		}
		return n
	}
	before := audits()
	race := func(do func() (bool, error)) int64 {
		l.Helper()
		var won atomic.Int64
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if ok, err := do(); err != nil {
					l.Error(err)
				} else if ok {
					won.Add(1)
				}
			})
		}
		wg.Wait()
		return won.Load()
	}
	for i, want := range []int64{1, 0} {
		if n := race(func() (bool, error) { return l.Store.ClaimSentinel(l.ctx(), ns, now) }); n != want {
			l.Errorf("round %d: %d got the sentinel", i, n)
		}
		if n := race(func() (bool, error) { return l.Store.TuneLag(l.ctx(), t) }); n != want {
			l.Errorf("round %d: %d tuned", i, n)
		}
	}
	if n := race(func() (bool, error) { return l.Store.ClaimSentinel(l.ctx(), ns, now.Add(24*time.Hour)) }); n != 1 {
		l.Errorf("tomorrow %d got the sentinel", n)
	}
	if n := audits() - before; n != 1 {
		l.Errorf("%d audit lines", n)
	}
	lag := func(declared time.Duration) string {
		l.Helper()
		d, ok, err := l.Store.TunedLag(l.ctx(), ns, declared)
		return fmt.Sprint(d, ok, err)
	}
	if got := lag(10 * time.Minute); got != "15m0s true <nil>" {
		l.Errorf("tuned lag: %s", got)
	}
	if got := lag(20 * time.Minute); got != "0s false <nil>" {
		l.Errorf("another was declared, yet %s", got)
	}
	// Back at the declared lag nothing is tuned; the same lag again is no news.
	for _, c := range []struct {
		from, to time.Duration
		lag      string
		lines    int
	}{{15, 10, "0s false <nil>", 2}, {10, 10, "0s false <nil>", 2}, {10, 9, "9m0s true <nil>", 3}} {
		l.Exec(`UPDATE ing_tuning SET tuned_at='2024-01-01 00:00:00.000000'`)
		t.From, t.To = c.from*time.Minute, c.to*time.Minute
		if ok, err := l.Store.TuneLag(l.ctx(), t); err != nil || !ok {
			l.Fatalf("%v, %v", ok, err)
		}
		if got, n := lag(10*time.Minute), audits()-before; got != c.lag || n != c.lines {
			l.Errorf("from %d to %d: %s, %d audit lines", c.from, c.to, got, n)
		}
	}
	w, err := l.Store.Watched(l.ctx())
	if err != nil || len(w) != 1 || w[0].Namespace != ns || w[0].TunedAt.IsZero() || w[0].SentinelAt.IsZero() || len(w[0].Snapshot) == 0 {
		l.Errorf("%+v, %v", w, err)
	}
}
