package storetest

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// spend takes a task of the operation and ends its run as spent.
func (l *Lab) spend(op harvest.Operation) {
	l.Helper()
	j := l.leaseOf(op, 1)
	if len(j) != 1 {
		l.Fatalf("no %s task to lease", op)
	}
	l.endAs(j[0], harvest.Spent)
}

func (l *Lab) endAs(j harvest.Job, o harvest.RunOutcome) {
	l.Helper()
	l.end(j, harvest.RunEnd{Outcome: o, Code: "http_503", Error: "down"})
	l.Due() // the task's own rest is another matter
}

func (l *Lab) leaseOf(op harvest.Operation, n int) []harvest.Job {
	l.Helper()
	jobs, err := l.Store.LeaseTasks(l.ctx(), harvest.LeaseRequest{Owner: "lab", TTL: ttl, Max: n, SpecVersion: 1, Operation: op})
	if err != nil {
		l.Fatalf("lease: %v", err)
	}
	return jobs
}

// rest is how long the partition's breaker, which must be the only one, was told
// to rest, and rested makes that be over.
func (l *Lab) rest() time.Duration {
	l.Helper()
	at, err := time.Parse("2006-01-02 15:04:05.999999", l.Text(`SELECT updated_at FROM ing_rate_gate`))
	if err != nil {
		l.Fatal(err)
	}
	return l.breaker().Until.Sub(at)
}

func (l *Lab) breaker() (b harvest.Breaker) {
	l.Helper()
	if err := json.Unmarshal([]byte(l.Text(`SELECT state FROM ing_rate_gate`)), &b); err != nil {
		l.Fatal(err)
	}
	return b
}

func (l *Lab) rested() {
	l.Helper()
	b := l.breaker()
	b.Until = t0
	state, err := json.Marshal(b)
	if err != nil {
		l.Fatal(err)
	}
	l.Exec(`UPDATE ing_rate_gate SET state=?`, string(state))
}

// mend closes every breaker, for claims about something else.
func (l *Lab) mend() {
	l.Helper()
	if _, err := l.DB.Exec(`DELETE FROM ing_rate_gate`); err != nil {
		l.Fatal(err)
	}
}

// partitionRests: after five spent runs in a row nothing of the partition is
// taken, then one task tries; other partitions go on.
func partitionRests(l *Lab) {
	bf := harvest.ActivityNamespace(prov, harvest.Backfill, "updated", "b1")
	if _, err := l.Store.SavePlan(l.ctx(), Draft(bf, 0, 20)); err != nil {
		l.Fatal(err)
	}
	l.Plan(0, 20)
	l.Due()
	// A page that comes in between begins the count anew.
	for range harvest.BreakAfter - 1 {
		l.spend(harvest.Harvest)
	}
	l.Walk(l.leaseOf(harvest.Harvest, 1)[0])
	before := l.leaseOf(harvest.Harvest, 2) // under way when the partition breaks
	for range harvest.BreakAfter {
		l.spend(harvest.Harvest)
	}
	barred := func(what string) {
		l.Helper()
		if n := len(l.leaseOf(harvest.Harvest, 5)); n != 0 {
			l.Errorf("%s: %d tasks were taken", what, n)
		}
	}
	barred("at rest")
	if d := l.rest(); d != time.Minute {
		l.Errorf("rests for %s", d)
	}
	l.Unchanged("a try at rest", func() { barred("still") })
	l.endAs(before[0], harvest.Spent)
	if d := l.breaker().Spent; d != harvest.BreakAfter {
		l.Errorf("a run from before made it %d", d)
	}
	l.Plan(20, 22)
	barred("tasks of a new plan")
	l.spend(harvest.Backfill)
	if len(l.leaseOf(harvest.Backfill, 1)) != 1 {
		l.Error("another partition rests with it")
	}
	l.Exec(`DELETE FROM ing_rate_gate WHERE gate_key LIKE '%BACKFILL'`)

	// One try; spent, it doubles the rest; given back, another may.
	for i, want := range []time.Duration{2 * time.Minute, 4 * time.Minute} {
		l.rested()
		try := l.leaseOf(harvest.Harvest, 5)
		if len(try) != 1 {
			l.Fatalf("%d tasks try at once", len(try))
		}
		barred("while one tries")
		if i == 0 {
			l.endAs(try[0], harvest.Released)
			if try = l.leaseOf(harvest.Harvest, 5); len(try) != 1 {
				l.Fatalf("%d tasks try after one was given back", len(try))
			}
		}
		l.endAs(try[0], harvest.Spent)
		barred("after a try")
		if d := l.rest(); d != want {
			l.Errorf("rests for %s, want %s", d, want)
		}
	}

	// Many ask at once: one may.
	l.rested()
	var mu sync.Mutex
	var won []harvest.Job
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			jobs := l.leaseOf(harvest.Harvest, 2)
			mu.Lock()
			defer mu.Unlock()
			won = append(won, jobs...)
		})
	}
	wg.Wait()
	if len(won) != 1 {
		l.Fatalf("%d of 8 try at once", len(won))
	}

	// Its first page is enough.
	l.Commit(won[0], Page(l.Open(won[0], l.Start(won[0]))))
	if n := l.Int(`SELECT COUNT(*) FROM ing_rate_gate`); n != 0 {
		l.Errorf("%d breakers left", n)
	}
	if n := len(l.leaseOf(harvest.Harvest, 3)); n != 3 {
		l.Errorf("%d tasks taken once it was mended", n)
	}
	l.MustVerify()
}

// partitionClosed: an answer that is a refusal, or a person, ends the rest too.
func partitionClosed(l *Lab) {
	for name, act := range map[string]func(){
		"refusal": func() {
			l.rested()
			l.endAs(l.LeaseOne(), harvest.Refused)
		},
		"person": func() {
			l.Exec(`UPDATE ing_task SET status_code='FAILED' WHERE id=(SELECT id FROM (SELECT MIN(id) AS id FROM ing_task) x)`)
			l.Exec(`UPDATE ing_plan_slice SET status_code='FAILED' WHERE id=(SELECT slice_id FROM ing_task WHERE status_code='FAILED')`)
			if n, err := l.Store.RetryGaps(l.ctx(), prov, false, source.Audit{Actor: "lab", Action: "retry", Object: prov, Reason: "mended"}); err != nil || n != 1 {
				l.Fatalf("retry: %d, %v", n, err)
			}
		},
	} {
		Clear(l, l.DB, l.tables)
		l.Plan(0, 8)
		l.Due()
		for range harvest.BreakAfter {
			l.spend(harvest.Harvest)
		}
		act()
		if n := len(l.Lease(3)); n != 3 {
			l.Errorf("%s: %d tasks taken", name, n)
		}
	}
}
