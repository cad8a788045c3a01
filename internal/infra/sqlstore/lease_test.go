package sqlstore_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
)

// write is one method that writes under a lease, and how to call it on a task
// that is EXECUTING with page o open (DISPATCHED for the first).
type write struct {
	name string
	// before begins the run; it is not called for StartRun itself.
	starts bool
	call   func(st *sqlstore.Store, l *Lab, j harvest.Job, r harvest.Resume, o harvest.OpenedBatch) error
}

func writes() []write {
	return []write{
		{"StartRun", true, func(st *sqlstore.Store, l *Lab, j harvest.Job, _ harvest.Resume, _ harvest.OpenedBatch) error {
			_, err := st.StartRun(l.ctx(), j.Lease)
			return err
		}},
		{"RenewLease", false, func(st *sqlstore.Store, l *Lab, j harvest.Job, _ harvest.Resume, _ harvest.OpenedBatch) error {
			return st.RenewLease(l.ctx(), j.Lease)
		}},
		{"OpenBatch", false, func(st *sqlstore.Store, l *Lab, j harvest.Job, r harvest.Resume, _ harvest.OpenedBatch) error {
			o := nextOpen(r)
			o.BatchNo += 10
			_, err := st.OpenBatch(l.ctx(), j.Lease, o)
			return err
		}},
		{"CommitBatch", false, func(st *sqlstore.Store, l *Lab, j harvest.Job, r harvest.Resume, o harvest.OpenedBatch) error {
			b := everything(Page(o, Rec("x", hour(0), hour(9), "x")))
			next := nextOpen(r)
			next.BatchNo = o.BatchNo + 1
			next.Ordinal = o.Ordinal + 1
			next.Before = b.After
			_, err := st.CommitBatch(l.ctx(), j, b, []harvest.BatchOpen{next}, nil)
			return err
		}},
		{"CommitBatch that finishes", false, func(st *sqlstore.Store, l *Lab, j harvest.Job, _ harvest.Resume, o harvest.OpenedBatch) error {
			_, err := st.CommitBatch(l.ctx(), j, everything(Last(o, Rec("x", hour(0), hour(9), "x"))), nil, nil)
			return err
		}},
		{"NewWalk", false, func(st *sqlstore.Store, l *Lab, j harvest.Job, _ harvest.Resume, _ harvest.OpenedBatch) error {
			_, _, err := st.NewWalk(l.ctx(), j.Lease, "page_repeats", true, nil)
			return err
		}},
		{"Reslice", false, func(st *sqlstore.Store, l *Lab, j harvest.Job, r harvest.Resume, _ harvest.OpenedBatch) error {
			w := j.Spec.NominalWindow()
			mid := w.From.Add(w.Duration() / 2)
			return st.Reslice(l.ctx(), j, harvest.RunEnd{Run: r.Run, Code: "max_pages"}, []harvest.SliceDraft{child(w.From, mid), child(mid, w.To)}, "TOKEN", pageSize)
		}},
		{"EndRun released", false, endRun(harvest.Released)},
		{"EndRun spent", false, endRun(harvest.Spent)},
		{"EndRun refused", false, endRun(harvest.Refused)},
		{"EndRun stopped", false, endRun(harvest.Stopped)},
	}
}

func endRun(o harvest.RunOutcome) func(*sqlstore.Store, *Lab, harvest.Job, harvest.Resume, harvest.OpenedBatch) error {
	return func(st *sqlstore.Store, l *Lab, j harvest.Job, r harvest.Resume, _ harvest.OpenedBatch) error {
		return st.EndRun(l.ctx(), j.Lease, harvest.RunEnd{Run: r.Run, Outcome: o, Code: "code", Error: "error"})
	}
}

// under prepares a leased task for w.
func (l *Lab) under(w write) (harvest.Job, harvest.Resume, harvest.OpenedBatch) {
	l.Helper()
	Clear(l, l.DB, l.tables)
	l.Plan(0, 2)
	j := l.LeaseOne()
	if w.starts {
		return j, harvest.Resume{}, harvest.OpenedBatch{}
	}
	r := l.Start(j)
	return j, r, l.Open(j, r)
}

func fencedChangesNothing(l *Lab) {
	for k, w := range writes() {
		for i, successor := range []string{"leased", "executing", "finished", "failed"} {
			if l.leavesOut(k + i) {
				continue
			}
			j, r, o := l.under(w)
			l.Expire(j.Lease.Task)
			n := l.LeaseOne()
			if n.Lease.Task != j.Lease.Task || n.Lease.Fence <= j.Lease.Fence {
				l.Fatalf("took %+v after %+v", n.Lease, j.Lease)
			}
			switch successor {
			case "executing":
				l.Start(n)
			case "finished":
				l.Walk(n)
			case "failed":
				l.Refuse(n)
			}
			what := fmt.Sprintf("%s by a worker whose successor has %s", w.name, successor)
			l.Unchanged(what, func() {
				if err := w.call(l.Store, l, j, r, o); !errors.Is(err, harvest.ErrLeaseLost) {
					l.Errorf("%s: got %v", what, err)
				}
			})
			l.MustVerify()
		}
		// Expiry alone neither grants nor denies.
		j, r, o := l.under(w)
		l.Expire(j.Lease.Task)
		if err := w.call(l.Store, l, j, r, o); err != nil {
			l.Errorf("%s after expiry, nobody else wanting the task: %v", w.name, err)
		}
		l.MustVerify()
	}
}

// takenBeforeBegin: the lease holds when a write is called and is taken over in the
// last instant before its transaction begins. Whoever looked at the lease any
// earlier than in that transaction has looked too early.
func takenBeforeBegin(l *Lab) {
	var takeOver func()
	st := patratest.Open(l, l.DSN, sqlstore.Options{Hook: func(p string) error {
		if f := takeOver; p == "before begin" && f != nil {
			takeOver = nil // it writes too
			f()
		}
		return nil
	}})
	for _, w := range writes() {
		for _, executing := range []bool{false, true} {
			what := fmt.Sprintf("%s, taken over before its transaction, successor executing: %t", w.name, executing)
			j, r, o := l.under(w)
			var taken string
			takeOver = func() {
				l.Expire(j.Lease.Task)
				n := l.LeaseOne()
				if n.Lease.Task != j.Lease.Task {
					l.Fatalf("%s: took another task", what)
				}
				if executing {
					l.Start(n)
				}
				taken = l.Dump()
			}
			if err := w.call(st, l, j, r, o); !errors.Is(err, harvest.ErrLeaseLost) {
				l.Errorf("%s: got %v", what, err)
			}
			if takeOver != nil {
				l.Fatalf("%s: no transaction was begun", what)
			}
			if after := l.Dump(); after != taken {
				l.Errorf("%s: changed the store:\n%s", what, diff(taken, after))
			}
			l.MustVerify()
		}
	}
}

// lockedAtBegin: another process holds SQLite's lock, and a write waits for it
// before its first statement. One that begins without the lock has read what the
// other may yet change.
func lockedAtBegin(l *Lab) {
	if l.Engine != patratest.SQLite {
		return // a server locks rows
	}
	w := write{}
	j, r, _ := l.under(w)
	other, err := l.DB.Begin() // takes the lock
	if err != nil {
		l.Fatal(err)
	}
	defer other.Rollback() //nolint:errcheck // after the first it does nothing
	held, begins := true, 0
	st := patratest.Open(l, l.DSN, sqlstore.Options{Hook: func(p string) error {
		if p != "before begin" {
			if held {
				l.Errorf("reached %q while another process holds the lock", p)
			}
			return nil
		}
		begins++
		if begins == 2 { // the first try has come to its end
			held = false
			return other.Rollback()
		}
		return nil
	}})
	open := nextOpen(r)
	open.BatchNo += 10
	if _, err := st.OpenBatch(l.ctx(), j.Lease, open); err != nil {
		l.Error(err)
	}
	if held {
		l.Errorf("nobody waited for the lock: begun %d times", begins)
	}
}

func deadIsPicked(l *Lab) {
	for _, state := range []string{"DISPATCHED", "EXECUTING"} {
		Clear(l, l.DB, l.tables)
		l.Plan(0, 1)
		j := l.LeaseOne()
		if state == "EXECUTING" {
			l.Open(j, l.Start(j))
		}
		if got := l.Text(`SELECT status_code FROM ing_task`); got != state {
			l.Fatalf("task is %s", got)
		}
		if n := l.Lease(1); len(n) != 0 {
			l.Errorf("%s: taken while the lease held", state)
		}
		l.Expire(j.Lease.Task)
		n := l.LeaseOne()
		if n.Lease.Fence != j.Lease.Fence+1 {
			l.Errorf("%s: fence %d after %d", state, n.Lease.Fence, j.Lease.Fence)
		}
		l.Start(n)
		if k := l.Int(`SELECT COUNT(*) FROM ing_task_run WHERE status_code='FAILED' AND error_code='abandoned'`); (k == 1) != (state == "EXECUTING") {
			l.Errorf("%s: %d abandoned runs", state, k)
		}
		if k := l.Int(`SELECT COUNT(*) FROM ing_task_run_batch WHERE status_code='RUNNING'`); k != 0 {
			l.Errorf("%s: %d pages of the dead still RUNNING", state, k)
		}
		l.MustVerify()
	}
	// A task due in an hour is not due.
	Clear(l, l.DB, l.tables)
	l.Plan(0, 1)
	j := l.LeaseOne()
	r := l.Start(j)
	if err := l.Store.EndRun(l.ctx(), j.Lease, harvest.RunEnd{Run: r.Run, Outcome: harvest.Released, Delay: time.Hour, Code: "rate_wait"}); err != nil {
		l.Fatal(err)
	}
	if n := l.Lease(1); len(n) != 0 {
		l.Error("a task due in an hour was taken")
	}
	w, err := l.Store.Work(l.ctx(), prov, harvest.Harvest)
	if err != nil || w.Later != 1 || w.Ready != 0 || w.NextCode != "rate_wait" {
		l.Errorf("work %+v, %v", w, err)
	}
	l.Due()
	l.LeaseOne()
}

func poison(l *Lab) {
	l.Plan(0, 2)
	for i := range 1 + harvest.MaxDeaths { // the first of them leaves no mark
		j := l.LeaseOne()
		if j.Lease.Task != harvest.TaskID(l.Int(`SELECT MIN(id) FROM ing_task`)) {
			l.Fatalf("acquisition %d took task %d", i+1, j.Lease.Task)
		}
		l.DieInHand(j)
	}
	if n := l.Lease(1); len(n) != 0 {
		l.Errorf("taken a seventh time: %+v", n)
	}
	if s, c := l.Text(`SELECT status_code FROM ing_task ORDER BY id LIMIT 1`), l.Text(`SELECT error_code FROM ing_task ORDER BY id LIMIT 1`); s != "FAILED" || c != "poison" {
		l.Errorf("task is %s (%s)", s, c)
	}
	if s := l.Text(`SELECT status_code FROM ing_plan_slice ORDER BY id LIMIT 1`); s != "FAILED" {
		l.Errorf("slice is %s", s)
	}
	l.MustVerify()
	l.Walk(l.LeaseOne()) // the other goes on
	l.MustBeAt(0)
	if n := l.Lease(9); len(n) != 0 {
		l.Errorf("poison was taken again: %+v", n)
	}
	// A clean release or a page brought forward makes the count begin again.
	Clear(l, l.DB, l.tables)
	l.Plan(0, 1)
	for i := range 8 * harvest.MaxDeaths {
		j := l.LeaseOne()
		if i%4 < 2 {
			l.DieInHand(j)
			continue
		}
		r := l.Start(j)
		if i%8 < 4 {
			l.Commit(j, Page(l.Open(j, r)))
			l.Expire(j.Lease.Task)
		} else if err := l.Store.EndRun(l.ctx(), j.Lease, harvest.RunEnd{Run: r.Run, Outcome: harvest.Released, Code: "shutdown"}); err != nil {
			l.Fatal(err)
		}
	}
	l.MustVerify()
}

// noProgress: where the server holds the position, each owner begins a new walk
// and brings page 1 before page 2 kills it. Bringing the same page once more is
// not progress.
func noProgress(l *Lab) {
	l.Plan(0, 1)
	taken := 0
	for ; taken < 20; taken++ {
		jobs := l.Lease(1)
		if len(jobs) == 0 {
			break
		}
		j := jobs[0]
		r := l.Start(j)
		if r.Unknown {
			walk, _, err := l.Store.NewWalk(l.ctx(), j.Lease, "page_outcome_unknown", true, nil)
			if err != nil {
				l.Fatal(err)
			}
			r.Walk = walk
			r.SearchDone = 0
			r.Search = harvest.Position{}
		}
		o := l.Open(j, r)
		next := harvest.BatchOpen{Run: r.Run, BatchNo: o.BatchNo + 1, Walk: r.Walk, Phase: harvest.PhaseSearch, Ordinal: 2, Before: Page(o).After}
		if _, err := l.Store.CommitBatch(l.ctx(), j, Page(o), []harvest.BatchOpen{next}, nil); err != nil {
			l.Fatal(err)
		}
		l.mark(j, r) // page 2 kills the process
		l.Expire(j.Lease.Task)
	}
	if taken != 1+harvest.MaxDeaths { // the first leaves no mark

		l.Errorf("taken %d times", taken)
	}
	if c := l.Text(`SELECT error_code FROM ing_task`); c != "poison" {
		l.Errorf("task ended as %q", c)
	}
	l.MustVerify()
}

func spentRuns(l *Lab) {
	for _, again := range []bool{false, true} {
		Clear(l, l.DB, l.tables)
		l.Plan(0, 1)
		runs := 0
		for ; runs < 30; runs++ {
			jobs := l.Lease(1)
			if len(jobs) == 0 {
				break
			}
			j := jobs[0]
			r := l.Start(j)
			if again { // page 1 comes again in a new walk, page 2 never does
				if runs > 0 {
					walk, _, err := l.Store.NewWalk(l.ctx(), j.Lease, "token_expired", true, nil)
					if err != nil {
						l.Fatal(err)
					}
					r.Walk = walk
					r.SearchDone = 0
					r.Search = harvest.Position{}
				}
				l.Commit(j, Page(l.Open(j, r)))
			}
			if err := l.Store.EndRun(l.ctx(), j.Lease, harvest.RunEnd{Run: r.Run, Outcome: harvest.Spent, Code: "http_503", Error: "down"}); err != nil {
				l.Fatal(err)
			}
			if l.Text(`SELECT status_code FROM ing_task`) == "QUEUED" {
				if got := l.Lease(1); len(got) != 0 {
					l.Errorf("run %d: no rest", runs+1)
				}
				l.Due()
				l.mend()
			}
		}
		if runs != harvest.MaxSpentRuns {
			l.Errorf("again %v: gap after %d spent runs", again, runs)
		}
		if s := l.Text(`SELECT status_code FROM ing_plan_slice`); s != "FAILED" {
			l.Errorf("slice is %s", s)
		}
		l.MustVerify()
	}
}

func renewals(l *Lab) {
	l.Plan(0, 1)
	j := l.LeaseOne()
	l.Start(j)
	for range 10 {
		if err := l.Store.RenewLease(l.ctx(), j.Lease); err != nil {
			l.Fatal(err)
		}
	}
	for col, want := range map[string]int64{"fence": 1, "attempts": 1, "renewals": 10} {
		if got := l.Int(`SELECT ` + col + ` FROM ing_task`); got != want {
			l.Errorf("%s is %d, want %d", col, got, want)
		}
	}
}

// timeNeverGoesBack works on with a machine clock that is stepped back and
// forth and frozen, and looks whether what was stored ever went back.
func timeNeverGoesBack(l *Lab) {
	var mu sync.Mutex
	frozen := time.Now()
	wall := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		switch rand.IntN(4) {
		case 0:
			return time.Now().Add(-time.Hour)
		case 1:
			return time.Now().Add(time.Hour)
		case 2:
			return frozen
		default:
			return time.Now()
		}
	}
	st := patratest.Open(l, l.DSN, sqlstore.Options{Wall: wall})
	const n = 12
	l.Plan(0, n)
	var wg sync.WaitGroup
	for w := range 3 {
		wg.Go(func() {
			if err := l.worker(st, fmt.Sprint("w", w)); err != nil {
				l.Errorf("worker %d: %v", w, err)
			}
		})
	}
	wg.Wait()
	l.MustBeAt(n)
	l.MustVerify()
	back := []string{
		`SELECT COUNT(*) FROM ing_task_run_batch a JOIN ing_task_run_batch b ON b.task_id=a.task_id AND b.id>a.id WHERE b.opened_at < a.opened_at`,
		`SELECT COUNT(*) FROM ing_task_run_batch WHERE committed_at < opened_at`,
		`SELECT COUNT(*) FROM ing_task_run a JOIN ing_task_run b ON b.task_id=a.task_id AND b.id>a.id WHERE b.started_at < a.started_at`,
	}
	if l.Engine == patratest.SQLite { // transactions one after the other
		back = append(back,
			`SELECT COUNT(*) FROM ing_task_run_batch a JOIN ing_task_run_batch b ON b.id=a.id+1 WHERE b.opened_at < a.opened_at`,
			`SELECT COUNT(*) FROM ing_cursor_event a JOIN ing_cursor_event b ON b.id=a.id+1 WHERE b.event_time < a.event_time`,
			`SELECT COUNT(*) FROM ing_task_run a JOIN ing_task_run b ON b.id=a.id+1 WHERE b.started_at < a.started_at`)
	}
	for _, q := range back {
		if k := l.Int(q); k != 0 {
			l.Errorf("%d times time went back: %s", k, q)
		}
	}
	// A process started after the clock was set back goes on from what is stored.
	for _, col := range []string{
		"ing_task.updated_at", "ing_task_run_batch.opened_at", "ing_cursor_event.event_time",
		"ing_schedule_instance.triggered_at", "ing_task_run.started_at",
	} {
		tab, c, _ := strings.Cut(col, ".")
		ahead := harvest.Instant(time.Now().Add(5 * time.Hour))
		l.Exec(`UPDATE `+tab+` SET `+c+`=?`, ahead.Format("2006-01-02 15:04:05.000000"))
		again := patratest.Open(l, l.DSN, sqlstore.Options{})
		now, err := again.Now(l.ctx())
		if err != nil || now.Before(ahead) {
			l.Errorf("%s holds %s, the store says it is %s (%v)", col, ahead, now, err)
		}
		l.Exec(`UPDATE ` + tab + ` SET ` + c + `='2024-01-01 00:00:00.000000'`)
	}
}

// worker runs tasks to their end until none is left, as an executor does.
func (l *Lab) worker(st *sqlstore.Store, name string) error {
	lost := func(err error) bool { return errors.Is(err, harvest.ErrLeaseLost) }
	for idle := 0; idle < 200; {
		jobs, err := st.LeaseTasks(l.ctx(), harvest.LeaseRequest{Owner: name, TTL: ttl, Max: 1, SpecVersion: 1})
		if err != nil {
			return err
		}
		if len(jobs) == 0 {
			w, err := st.Work(l.ctx(), prov, harvest.Harvest)
			if err != nil {
				return err
			}
			if w.Leased+w.Ready+w.Later == 0 {
				return nil
			}
			idle++
			continue
		}
		j := jobs[0]
		r, err := st.StartRun(l.ctx(), j.Lease)
		if lost(err) {
			continue
		}
		if err != nil {
			return err
		}
		for p := r.SearchDone; p < 3; p++ {
			o, err := st.OpenBatch(l.ctx(), j.Lease, harvest.BatchOpen{Run: r.Run, BatchNo: p + 1, Walk: r.Walk, Phase: harvest.PhaseSearch, Ordinal: p + 1, Before: r.Search})
			if lost(err) {
				break
			}
			if err != nil {
				return err
			}
			b := Page(o, Rec(fmt.Sprintf("%d-%d", j.Slice, p), hour(0), o.OpenedAt, "c"))
			if p == 2 {
				b.End, b.Finish = harvest.EndEmpty, true
			}
			_, err = st.CommitBatch(l.ctx(), j, b, nil, nil)
			if lost(err) {
				break
			}
			if err != nil {
				return err
			}
			r.Search = b.After
		}
	}
	return errors.New("work was left that nobody could take")
}

// TestLease_AsksAServerLittle: what many processes that look for tasks at once wait for is a
// server that is busy being asked. A lease begins with the clock, reads what bars tasks, reads
// a task, takes it, reads its job and commits; each further task costs three questions.
func TestLease_AsksAServerLittle(t *testing.T) {
	for _, e := range patratest.Servers() {
		t.Run(e.Name, func(t *testing.T) {
			if e == patratest.TiDB {
				t.Skip("TiDB does not count the questions of a session")
			}
			lab := NewLab(t, e)
			// The clock stands, so that the heads of the queue are not read again.
			st, err := sqlstore.OpenFrozen(t.Context(), lab.DSN, time.Now().Add(time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close() //nolint:errcheck // a test's store
			lab.Store = st
			lab.Plan(0, 10)
			turns := new(harvest.Turns)
			lease := func(n int) int {
				t.Helper()
				asked, err := st.AskedOf(t.Context(), func() {
					jobs, err := st.LeaseTasks(t.Context(), harvest.LeaseRequest{Owner: "lab", TTL: time.Minute, Max: n, SpecVersion: 1, Turns: turns})
					if err != nil || len(jobs) != n {
						t.Errorf("%d tasks were leased: %v", len(jobs), err)
					}
				})
				if err != nil {
					t.Fatal(err)
				}
				return asked
			}
			lease(1) // reads the heads
			if asked := lease(1); asked != 7 {
				t.Errorf("a lease takes %d questions, not 7", asked)
			}
			if asked := lease(4); asked != 16 {
				t.Errorf("a lease of four takes %d questions, not 16", asked)
			}
		})
	}
}

// TestWrite_SeesWhatOthersCommit: on a server a write goes by what is committed when it asks,
// not by what was when it began, so that it takes no locks between rows.
func TestWrite_SeesWhatOthersCommit(t *testing.T) {
	for _, e := range patratest.Servers() {
		t.Run(e.Name, func(t *testing.T) {
			lab := NewLab(t, e)
			lab.Plan(0, 1)
			before, after, err := lab.Store.TwiceInAWrite(t.Context(), `SELECT status_code FROM ing_task`, func() {
				lab.Exec(`UPDATE ing_task SET status_code='CANCELLED'`)
			})
			if err != nil {
				t.Fatal(err)
			}
			if before != "QUEUED" || after != "CANCELLED" {
				t.Errorf("the task was %s and then %s", before, after)
			}
		})
	}
}
