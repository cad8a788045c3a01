package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
)

// scene is a plan of some slices, every one with its last page open, whose
// states can be put back by SQL at little cost.
type scene struct {
	*Lab
	jobs   []harvest.Job
	opened []harvest.OpenedBatch
}

func newScene(l *Lab, slices int) *scene {
	l.Helper()
	l.Plan(0, slices)
	s := &scene{Lab: l, jobs: l.Lease(slices)}
	for _, j := range s.jobs {
		s.opened = append(s.opened, l.Open(j, l.Start(j)))
	}
	return s
}

// set makes the slices in done DONE and those in failed FAILED, and every other
// one EXECUTING with its last page open; the watermark follows done.
func (s *scene) set(done, failed uint) {
	s.Helper()
	tx, err := s.DB.Begin()
	if err != nil {
		s.Fatal(err)
	}
	exec := func(q string, args ...any) {
		if _, err := tx.Exec(q, args...); err != nil {
			s.Fatalf("%s: %v", q, err)
		}
	}
	exec(`UPDATE ing_task_run SET status_code='RUNNING', finished_at=NULL`)
	exec(`UPDATE ing_task_run_batch SET status_code='RUNNING', end_proof=NULL, after_position=NULL`)
	exec(`UPDATE ing_plan SET status_code='READY'`)
	exec(`DELETE FROM ing_cursor_event WHERE kind_code='ADVANCE'`)
	for i, j := range s.jobs {
		slice, task := "READY", "EXECUTING"
		switch {
		case done&(1<<i) != 0:
			slice, task = "DONE", "SUCCEEDED"
		case failed&(1<<i) != 0:
			slice, task = "FAILED", "FAILED"
		}
		exec(`UPDATE ing_plan_slice SET status_code=? WHERE id=?`, slice, j.Slice)
		exec(`UPDATE ing_task SET status_code=? WHERE id=?`, task, j.Lease.Task)
	}
	w := hour(s.prefix(done))
	exec(`UPDATE ing_cursor SET cursor_value=?, normalized_instant=?`, harvest.FormatInstant(w), w.Format("2006-01-02 15:04:05.000000"))
	if err := tx.Commit(); err != nil {
		s.Fatal(err)
	}
}

// prefix counts the slices done from the beginning without a hole.
func (s *scene) prefix(done uint) int {
	n := 0
	for n < len(s.jobs) && done&(1<<n) != 0 {
		n++
	}
	return n
}

// everyOrder walks every edge of the lattice of (done, failed) sets of 6
// slices. What the store does depends on nothing but that state, and the
// watermark is checked to depend on nothing but done; so every order of
// completion with every failed subset, all 46,080 of them, is a path along
// edges that are each walked once.
func everyOrder(l *Lab) {
	const n = 6
	s := newScene(l, n)
	stride := l.step(1, 41)
	edge := 0
	for done := range uint(1 << n) {
		for failed := range uint(1 << n) {
			if done&failed != 0 {
				continue
			}
			for i := range n {
				if (done|failed)&(1<<i) != 0 {
					continue
				}
				edge++
				if edge%stride != 0 {
					continue
				}
				s.set(done, failed)
				c := l.Commit(s.jobs[i], Last(s.opened[i]))
				want := mark(s.prefix(done | 1<<i))
				if c.Watermark != want || !l.Watermark().Equal(want.Time()) {
					l.Fatalf("done %06b, failed %06b, then slice %d: watermark %s and %s, want %s", done, failed, i+1, c.Watermark, l.Watermark(), want)
				}
			}
		}
	}
	if edge != 1458 {
		l.Errorf("%d edges, want 6 x 3^5", edge)
	}
}

func racingFinishers(l *Lab) {
	const n = 4
	s := newScene(l, n)
	other := patratest.Open(l, l.DSN, sqlstore.Options{})
	rounds := 1000 / l.step(5, 25)
	for round := range rounds {
		a := rand.IntN(n)
		b := (a + 1 + rand.IntN(n-1)) % n
		s.set((1<<n-1)&^(1<<a|1<<b), 0)
		var wg sync.WaitGroup
		start := make(chan struct{})
		errs := make([]error, 2)
		for k, i := range []int{a, b} {
			st := []*sqlstore.Store{l.Store, other}[k]
			wg.Go(func() {
				<-start
				_, errs[k] = st.CommitBatch(l.ctx(), s.jobs[i], Last(s.opened[i]), nil, nil)
			})
		}
		close(start)
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			l.Fatal(err)
		}
		if w := l.Watermark(); !w.Equal(hour(n)) {
			l.Fatalf("round %d: slices %d and %d finished together, watermark is %s", round, a+1, b+1, w)
		}
		if got := l.Text(`SELECT status_code FROM ing_plan`); got != "COMPLETED" {
			l.Fatalf("round %d: plan is %s", round, got)
		}
	}
}

func lastSliceFirst(l *Lab) {
	l.Plan(0, 5)
	l.MustBeAt(0)
	if k, v := l.Text(`SELECT kind_code FROM ing_cursor_event`), l.Text(`SELECT new_value FROM ing_cursor_event`); k != "INIT" || v != harvest.FormatInstant(hour(0)) {
		l.Errorf("first event is %s %s", k, v)
	}
	jobs := l.Lease(5)
	for i := 4; i > 0; i-- {
		l.Walk(jobs[i])
		l.MustBeAt(0)
	}
	if n := l.Int(`SELECT COUNT(*) FROM ing_cursor_event`); n != 1 {
		l.Errorf("%d events although the watermark never moved", n)
	}
	l.Walk(jobs[0])
	l.MustBeAt(5)
	if n := l.Int(`SELECT COUNT(*) FROM ing_cursor_event`); n != 2 {
		l.Errorf("%d events, want one jump", n)
	}
	l.MustVerify()
}

// middleFails: a middle slice fails; two more triggers plan on; the watermark
// is held and jumps once when the slice is repaired.
func middleFails(l *Lab) {
	l.Plan(0, 3)
	for i, j := range l.Lease(3) {
		if i == 1 {
			l.Refuse(j)
		} else {
			l.Walk(j)
		}
	}
	for round := 1; round <= 2; round++ {
		f, err := l.Store.Frontier(l.ctx(), ns)
		if err != nil {
			l.Fatal(err)
		}
		if f.At != mark(3*round) || f.Watermark != mark(1) {
			l.Errorf("trigger %d: frontier %s, watermark %s", round+1, f.At, f.Watermark)
		}
		l.Plan(3*round, 3*round+3)
		for _, j := range l.Lease(3) {
			l.Walk(j)
		}
		l.MustBeAt(1)
		l.MustVerify()
	}
	if n := l.Int(`SELECT COUNT(*) FROM ing_plan_slice a JOIN ing_plan_slice b ON a.id < b.id AND a.window_from < b.window_to AND b.window_from < a.window_to`); n != 0 {
		l.Errorf("%d pairs of slices overlap", n)
	}
	events := l.Int(`SELECT COUNT(*) FROM ing_cursor_event`)
	requeue := func() int64 {
		n, err := l.Store.RequeueFailed(l.ctx(), prov, harvest.Harvest)
		if err != nil {
			l.Fatal(err)
		}
		return n
	}
	if n := requeue(); n != 0 {
		l.Errorf("%d slices queued again before their rest was over", n)
	}
	l.Exec(`UPDATE ing_task SET scheduled_at='2000-01-01 00:00:00.000000' WHERE status_code='FAILED'`)
	before := l.Int(`SELECT id FROM ing_task WHERE status_code='FAILED'`)
	if n := requeue(); n != 1 {
		l.Fatalf("%d slices queued again", n)
	}
	j := l.LeaseOne()
	if int64(j.Lease.Task) != before {
		l.Errorf("the slice came back under task %d, not %d", j.Lease.Task, before)
	}
	l.MustVerify()
	l.Walk(j)
	l.MustBeAt(9)
	if n := l.Int(`SELECT COUNT(*) FROM ing_cursor_event`); n != events+1 {
		l.Errorf("%d moves on repair, want one jump", n-events)
	}
	if n := l.Int(`SELECT COUNT(*) FROM ing_plan WHERE status_code<>'COMPLETED'`); n != 0 {
		l.Errorf("%d plans are not COMPLETED", n)
	}
	l.MustVerify()
}

// threeMiddlesFail: three slices in the middle fail, one in each of three plans;
// nothing is planned twice, the watermark stays before the first, and is passed
// in one jump when the first is mended last.
func threeMiddlesFail(l *Lab) {
	for round := range 3 {
		l.Plan(3*round, 3*round+3)
		for _, j := range l.Lease(3) {
			if j.Spec.NominalWindow().From.Equal(hour(3*round + 1)) {
				l.Refuse(j)
			} else {
				l.Walk(j)
			}
		}
		l.MustBeAt(1)
		l.MustVerify()
	}
	if n := l.Int(`SELECT COUNT(*) FROM ing_plan_slice a JOIN ing_plan_slice b ON a.id < b.id AND a.window_from < b.window_to AND b.window_from < a.window_to`); n != 0 {
		l.Errorf("%d pairs of slices overlap", n)
	}
	gaps, _, err := l.Store.Gaps(l.ctx(), control.GapQuery{Source: prov})
	if err != nil || len(gaps) != 3 || gaps[0].Reason == "" || gaps[0].RetryAt.IsZero() {
		l.Fatalf("gaps %+v, %v", gaps, err)
	}
	l.Exec(`UPDATE ing_task SET scheduled_at='2000-01-01 00:00:00.000000' WHERE status_code='FAILED'`)
	if n, err := l.Store.RequeueFailed(l.ctx(), prov, harvest.Harvest); err != nil || n != 3 {
		l.Fatalf("%d slices queued again, %v", n, err)
	}
	events := l.Int(`SELECT COUNT(*) FROM ing_cursor_event`)
	jobs := l.Lease(3)
	slices.SortFunc(jobs, func(a, b harvest.Job) int {
		return b.Spec.Window.From.Compare(a.Spec.Window.From)
	})
	for i, j := range jobs {
		if l.Walk(j); i < 2 {
			l.MustBeAt(1)
		}
	}
	l.MustBeAt(9)
	if n := l.Int(`SELECT COUNT(*) FROM ing_cursor_event`); n != events+1 {
		l.Errorf("%d moves on repair, want one jump", n-events)
	}
	l.MustVerify()
}

// openWork: what open tasks will take is told, for planning to keep within quotas.
func openWork(l *Lab) {
	l.Plan(0, 4)
	l.Exec(`UPDATE ing_plan_slice SET slice_spec=REPLACE(slice_spec, '"hints":{', '"hints":{"expectedRecords":70,')`)
	if r, err := l.Store.Reserved(l.ctx(), prov, harvest.Harvest, 100); err != nil || r.Records != 280 || r.Pages != 4+280/pageSize || r.WaitsUntil.After(r.Now) {
		l.Errorf("%+v, %v", r, err)
	}
	for what, r := range map[string]struct {
		prov     string
		priority int
	}{"another source": {"other", 300}, "what goes before": {prov, 99}} {
		if r, err := l.Store.Reserved(l.ctx(), r.prov, harvest.Harvest, r.priority); err != nil || r.Pages != 0 || r.Records != 0 {
			l.Errorf("%s: %+v, %v", what, r, err)
		}
	}
}

// backfillFalls is R1 mirrored, over two plans of one activity, beside a
// HARVEST that must not feel it.
func backfillFalls(l *Lab) {
	l.Plan(0, 2)
	l.Walk(l.LeaseOne())
	l.MustBeAt(1)
	rows := l.rows("ing_cursor")
	bf := harvest.ActivityNamespace(prov, harvest.Backfill, "updated", "act-1")
	value := func() string {
		return l.Text(`SELECT cursor_value FROM ing_cursor WHERE operation_code='BACKFILL'`)
	}
	take := func() []harvest.Job {
		jobs, err := l.Store.LeaseTasks(l.ctx(), harvest.LeaseRequest{Owner: "lab", TTL: ttl, Max: 9, Operation: harvest.Backfill, SpecVersion: 1})
		if err != nil || len(jobs) != 3 {
			l.Fatalf("lease: %d, %v", len(jobs), err)
		}
		return jobs
	}
	for part, from := range []int{-3, -6} { // the second goes on below the first
		if _, err := l.Store.SavePlan(l.ctx(), Draft(bf, from, from+3)); err != nil {
			l.Fatalf("plan %d: %v", part+1, err)
		}
		jobs := take()
		l.Walk(jobs[0]) // the earliest first: a hole above it
		if got := value(); got != harvest.FormatInstant(hour(from+3)) {
			l.Errorf("lowest slice done first: watermark %s", got)
		}
		l.Walk(jobs[2])
		if got := value(); got != harvest.FormatInstant(hour(from+2)) {
			l.Errorf("topmost slice done: watermark %s", got)
		}
		l.Walk(jobs[1])
		if got := value(); got != harvest.FormatInstant(hour(from)) {
			l.Errorf("all done: watermark %s", got)
		}
	}
	if n := l.Int(`SELECT COUNT(*) FROM ing_cursor WHERE operation_code='BACKFILL'`); n != 1 {
		l.Errorf("%d cursors for one activity", n)
	}
	l.MustVerify()
	l.Exec(`DELETE FROM ing_cursor WHERE operation_code='BACKFILL'`)
	if got := l.rows("ing_cursor"); got != rows {
		l.Errorf("the HARVEST cursor changed:\n%s", diff(rows, got))
	}
}

// reslice cuts a slice in mid-walk; the children hold the watermark until both
// are proven.
func reslice(l *Lab) {
	l.Plan(0, 3)
	jobs := l.Lease(3)
	l.Walk(jobs[0])
	l.Walk(jobs[2])
	r := l.Start(jobs[1])
	l.Commit(jobs[1], Page(l.Open(jobs[1], r), Rec("a", hour(1), hour(9), "a")))
	end := harvest.RunEnd{Run: r.Run, Code: "max_pages", Error: "too long"}
	mid := hour(1).Add(30 * time.Minute)
	for name, kids := range map[string][]harvest.SliceDraft{
		"a hole":       {child(hour(1), mid), child(mid.Add(time.Second), hour(2))},
		"an overlap":   {child(hour(1), mid), child(mid.Add(-time.Second), hour(2))},
		"an overrun":   {child(hour(1), mid), child(mid, hour(3))},
		"a short tail": {child(hour(1), mid)},
		"nothing":      nil,
	} {
		l.Unchanged("children with "+name, func() {
			if err := l.Store.Reslice(l.ctx(), jobs[1], end, kids, "TOKEN", pageSize); err == nil {
				l.Errorf("children with %s were taken", name)
			}
		})
	}
	if err := l.Store.Reslice(l.ctx(), jobs[1], end, []harvest.SliceDraft{child(hour(1), mid), child(mid, hour(2))}, "TOKEN", pageSize); err != nil {
		l.Fatal(err)
	}
	if s, k := l.Text(`SELECT status_code FROM ing_plan_slice WHERE id=?`, jobs[1].Slice), l.Text(`SELECT status_code FROM ing_task WHERE id=?`, jobs[1].Lease.Task); s != "RESLICED" || k != "PARTIAL" {
		l.Errorf("slice %s, task %s", s, k)
	}
	l.MustVerify()
	l.MustBeAt(1)
	kids := l.Lease(9)
	if len(kids) != 2 {
		l.Fatalf("%d children can be leased", len(kids))
	}
	l.Walk(kids[1])
	l.MustBeAt(1)
	if got := l.Text(`SELECT status_code FROM ing_plan`); got != "READY" {
		l.Errorf("plan is %s with a slice open", got)
	}
	l.Walk(kids[0])
	l.MustBeAt(3)
	if got := l.Text(`SELECT status_code FROM ing_plan`); got != "COMPLETED" {
		l.Errorf("plan is %s", got)
	}
	l.MustVerify()
}

// eventFirst fails the page that moves the watermark at every point of its
// transaction: before the commit nothing is there, after it all of it is.
func eventFirst(l *Lab) {
	var points []string
	fail := -1
	st := patratest.Open(l, l.DSN, sqlstore.Options{Hook: func(p string) error {
		points = append(points, p)
		if len(points)-1 == fail {
			return errors.New("pulled the plug")
		}
		return nil
	}})
	for k := 0; ; k++ {
		if l.leavesOut(k) {
			continue
		}
		Clear(l, l.DB, l.tables)
		l.Plan(0, 2)
		j := l.LeaseOne()
		b := everything(Last(l.Open(j, l.Start(j)), Rec("a", hour(0), hour(9), "a")))
		before := l.Dump()
		points, fail = nil, k
		_, err := st.CommitBatch(l.ctx(), j, b, nil, nil)
		if err == nil {
			if k < 20 {
				l.Errorf("only %d points in a commit", k)
			}
			break
		}
		after := l.Dump()
		if committed := points[k] == "after commit"; committed {
			if !errors.Is(err, harvest.ErrUnknownOutcome) {
				l.Errorf("after the commit: %v", err)
			}
			l.MustBeAt(1)
		} else if after != before {
			l.Errorf("failed %q, yet:\n%s", points[k], diff(before, after))
		}
		l.MustVerify()
		if l.Failed() {
			return
		}
	}
	event, cursor := -1, -1
	for i, p := range points {
		switch {
		case strings.HasPrefix(p, "before INSERT INTO ing_cursor_event "):
			event = i
		case strings.HasPrefix(p, "before UPDATE ing_cursor "):
			cursor = i
		}
	}
	for _, tab := range []string{"ing_quarantine", "ing_bad_id", "ing_signal"} {
		if n := l.Int(`SELECT COUNT(*) FROM ` + tab); n != 1 {
			l.Errorf("%d rows in %s: the page that failed at every point had none of these", n, tab)
		}
	}
	if event < 0 || cursor < event {
		l.Errorf("event at statement %d, cursor at %d", event, cursor)
	}
	if n := l.Int(`SELECT COUNT(*) FROM ing_cursor_event e JOIN ing_cursor c ON c.id=e.cursor_id AND c.cursor_value=e.new_value`); n != 1 {
		l.Error("the last event is not the cursor's value")
	}
}

// eventKeys: the key of every event is made of its cursor and its new value, of
// nothing else, so that no two owners can record the same move.
func eventKeys(l *Lab) {
	l.furnish()
	rows, err := l.DB.Query(`SELECT kind_code, cursor_id, new_value, idempotent_key FROM ing_cursor_event`)
	if err != nil {
		l.Fatal(err)
	}
	defer rows.Close()
	seen := map[string]int{}
	for rows.Next() {
		var kind, cursor, value, key string
		if err := rows.Scan(&kind, &cursor, &value, &key); err != nil {
			l.Fatal(err)
		}
		if want := harvest.HashKey(cursor, value); key != want {
			l.Errorf("%s of cursor %s to %s has key %s, want %s", kind, cursor, value, key, want)
		}
		seen[kind]++
	}
	if err := rows.Err(); err != nil || seen["INIT"] < 2 || seen["ADVANCE"] < 2 {
		l.Errorf("saw %v, %v", seen, err)
	}
}

// observedMaximum: the event of a move names the newest record of everything it
// passes, whichever page and slice came last, and the cursor never forgets one.
func observedMaximum(l *Lab) {
	l.Plan(0, 3)
	jobs := l.Lease(3)
	seen := func(b harvest.Batch, at time.Time) harvest.Batch {
		b.ObservedMax = at
		return b
	}
	l.Commit(jobs[1], seen(Last(l.Open(jobs[1], l.Start(jobs[1]))), hour(1).Add(50*time.Minute)))
	r := l.Start(jobs[0])
	l.Commit(jobs[0], seen(Page(l.Open(jobs[0], r)), hour(0).Add(9*time.Minute)))
	r.SearchDone = 1
	r.BatchNo = r.BatchNo + 1
	r.Search.Pages = 1
	r.Search.Token = "t1"
	l.Commit(jobs[0], Last(l.Open(jobs[0], r))) // an empty page ends it
	l.MustBeAt(2)
	want := harvest.FormatInstant(hour(1).Add(50 * time.Minute))
	if got := l.Text(`SELECT observed_max_value FROM ing_cursor_event WHERE kind_code='ADVANCE'`); got != want {
		l.Errorf("the event says %q, want %s", got, want)
	}
	l.Commit(jobs[2], seen(Last(l.Open(jobs[2], l.Start(jobs[2]))), hour(0))) // of another window
	l.MustBeAt(3)
	if got := l.Text(`SELECT observed_max_value FROM ing_cursor`); got != want {
		l.Errorf("the cursor says %q, want %s", got, want)
	}
}

func unknownOutcome(l *Lab) {
	commits := 0
	st := patratest.Open(l, l.DSN, sqlstore.Options{Hook: func(p string) error {
		if p == "after commit" {
			commits++
			return fmt.Errorf("connection lost in COMMIT: %w", context.DeadlineExceeded)
		}
		return nil
	}})
	l.Plan(0, 1)
	j := l.LeaseOne()
	r := l.Start(j)
	b := Page(l.Open(j, r), Rec("a", hour(0), hour(9), "a"))
	if _, err := st.CommitBatch(l.ctx(), j, b, nil, nil); !errors.Is(err, harvest.ErrUnknownOutcome) {
		l.Errorf("got %v", err)
	}
	if commits != 1 {
		l.Errorf("committed %d times", commits)
	}
	// The next owner reads what is there and does not bring the page again.
	l.Expire(j.Lease.Task)
	j = l.LeaseOne()
	r = l.Start(j)
	if r.SearchDone != 1 || r.Search.Token != "t1" || r.Unknown {
		l.Errorf("resumed at %+v", r)
	}
	l.Commit(j, Last(l.Open(j, r), Rec("a", hour(0), hour(9), "a")))
	if n := l.Int(`SELECT revision FROM ing_record`); n != 1 {
		l.Errorf("revision %d", n)
	}
	l.MustVerify()
}

var _ testing.TB = (*Lab)(nil)
