package sqlstore_test

import (
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
	return l.breaker().Until.Sub(l.instant(`SELECT updated_at FROM ing_breaker`))
}

func (l *Lab) breaker() (b harvest.Breaker) {
	l.Helper()
	b.Spent = int(l.Int(`SELECT failures FROM ing_breaker`))
	b.Until = l.instant(`SELECT rests_until FROM ing_breaker`)
	b.Trying = l.Int(`SELECT trying FROM ing_breaker`) == 1
	return b
}

// instant reads a stored time, NULL as the zero one.
func (l *Lab) instant(q string) time.Time {
	l.Helper()
	text := l.Text(q)
	if text == "" {
		return time.Time{}
	}
	at, err := time.Parse("2006-01-02 15:04:05.999999", text)
	if err != nil {
		l.Fatal(err)
	}
	return at
}

func (l *Lab) rested() {
	l.Helper()
	l.Exec(`UPDATE ing_breaker SET rests_until='2024-01-01 00:00:00.000000'`)
}

// mend closes every breaker, for claims about something else.
func (l *Lab) mend() {
	l.Helper()
	if _, err := l.DB.Exec(`DELETE FROM ing_breaker`); err != nil {
		l.Fatal(err)
	}
}

// partitionRests: after three spent runs in a row nothing of the partition is
// taken, then one task tries; other partitions go on.
func partitionRests(l *Lab) {
	bf := harvest.ActivityNamespace(prov, harvest.Backfill, "updated", "b1")
	if _, err := l.Store.SavePlan(l.ctx(), Draft(bf, 0, 20)); err != nil {
		l.Fatal(err)
	}
	l.Plan(0, 20)
	l.Due()
	// A page that comes in between begins the count anew.
	for range harvest.DefaultBreaker().After - 1 {
		l.spend(harvest.Harvest)
	}
	l.Walk(l.leaseOf(harvest.Harvest, 1)[0])
	before := l.leaseOf(harvest.Harvest, 2) // under way when the partition breaks
	for range harvest.DefaultBreaker().After {
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
	if d := l.breaker().Spent; d != harvest.DefaultBreaker().After {
		l.Errorf("a run from before made it %d", d)
	}
	l.Plan(20, 22)
	barred("tasks of a new plan")
	l.spend(harvest.Backfill)
	if len(l.leaseOf(harvest.Backfill, 1)) != 1 {
		l.Error("another partition rests with it")
	}
	l.Exec(`DELETE FROM ing_breaker WHERE operation_code='BACKFILL'`)

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
			try = l.leaseOf(harvest.Harvest, 5)
			if len(try) != 1 {
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
	if n := l.Int(`SELECT COUNT(*) FROM ing_breaker`); n != 0 {
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
		for range harvest.DefaultBreaker().After {
			l.spend(harvest.Harvest)
		}
		act()
		if n := len(l.Lease(3)); n != 3 {
			l.Errorf("%s: %d tasks taken", name, n)
		}
	}
}

// requestsCount: what is asked outside of tasks counts for the breaker of its
// partition with what tasks ask, and is held back by it as they are.
func requestsCount(l *Lab) {
	l.Plan(0, 8)
	l.Due()
	var p harvest.Partition
	if err := l.DB.QueryRow(`SELECT provenance_code, endpoint_name, operation_code FROM ing_task LIMIT 1`).Scan(&p.Provenance, &p.Endpoint, &p.Operation); err != nil {
		l.Fatal(err)
	}
	may := func() bool {
		l.Helper()
		_, rests, err := l.Store.PassBreaker(l.ctx(), p)
		if err != nil {
			l.Fatalf("pass: %v", err)
		}
		return !rests
	}
	must := func(err error) {
		l.Helper()
		if err != nil {
			l.Fatal(err)
		}
	}
	l.Unchanged("a request where nothing has failed", func() {
		if !may() {
			l.Error("rests before anything failed")
		}
		must(l.Store.CountAnswer(l.ctx(), p))
		must(l.Store.GiveBackTry(l.ctx(), p))
	})

	// An answer in between begins the count anew; a task's failure is one of three.
	must(l.Store.CountFailure(l.ctx(), p, harvest.BreakerLimits{}, "http_503", "down"))
	must(l.Store.CountFailure(l.ctx(), p, harvest.BreakerLimits{}, "http_503", "down"))
	must(l.Store.CountAnswer(l.ctx(), p))
	must(l.Store.CountFailure(l.ctx(), p, harvest.BreakerLimits{}, "http_503", "down"))
	l.spend(harvest.Harvest)
	if !may() || len(l.Lease(1)) != 1 {
		l.Error("rests after two failures")
	}
	must(l.Store.CountFailure(l.ctx(), p, harvest.BreakerLimits{}, "http_503", "down"))
	if until, rests, err := l.Store.PassBreaker(l.ctx(), p); err != nil || !rests || !until.Equal(l.breaker().Until) || l.rest() != time.Minute {
		l.Errorf("after three failures: until %s, rests %v for %s, %v", until, rests, l.rest(), err)
	}
	if n := len(l.Lease(3)); n != 0 {
		l.Errorf("%d tasks taken at rest", n)
	}

	// Many ask when the rest is over: one may. Given back, another may; failed,
	// the rest is twice as long; answered, it is over.
	l.rested()
	var mu sync.Mutex
	passed := 0
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			_, rests, err := l.Store.PassBreaker(l.ctx(), p)
			mu.Lock()
			defer mu.Unlock()
			if err == nil && !rests {
				passed++
			}
		})
	}
	wg.Wait()
	if passed != 1 || len(l.Lease(1)) != 0 {
		l.Errorf("%d of 8 try at once", passed)
	}
	must(l.Store.GiveBackTry(l.ctx(), p))
	if !may() || may() {
		l.Error("not one try after one was given back")
	}
	must(l.Store.CountFailure(l.ctx(), p, harvest.BreakerLimits{}, "timeout", "down"))
	if d := l.rest(); d != 2*time.Minute {
		l.Errorf("rests for %s after a try", d)
	}
	l.rested()
	if !may() {
		l.Error("no try after the second rest")
	}
	must(l.Store.CountAnswer(l.ctx(), p))
	if n := len(l.Lease(3)); n != 3 || !may() {
		l.Errorf("%d tasks taken once it was mended", n)
	}
	l.MustVerify()
}

// throttledIsNoFailure: an upstream that asks for fewer requests is there, however
// often it does.
func throttledIsNoFailure(l *Lab) {
	l.Plan(0, 8)
	l.Due()
	for range 2 * harvest.DefaultBreaker().After {
		j := l.LeaseOne()
		l.end(j, harvest.RunEnd{Outcome: harvest.Spent, Code: "http_429", Error: "slow down", Throttled: true})
		l.Due()
	}
	if n := l.Int(`SELECT COUNT(*) FROM ing_breaker`); n != 0 || len(l.Lease(1)) != 1 {
		l.Errorf("%d breakers", n)
	}
}

// waitKeepsTheFault: what the upstream said last stays the reason of a task that
// waits for a permit since.
func waitKeepsTheFault(l *Lab) {
	l.Plan(0, 1)
	reason := func() string { return l.Text(`SELECT CONCAT(error_code, ': ', error) FROM ing_task`) }
	l.end(l.LeaseOne(), harvest.RunEnd{Outcome: harvest.Released, Code: harvest.CodeRate, Error: "no permit"})
	if got := reason(); got != "rate_wait: no permit" {
		l.Errorf("before any fault: %s", got)
	}
	l.end(l.LeaseOne(), harvest.RunEnd{Outcome: harvest.Spent, Code: "http_503", Error: "down"})
	for _, code := range []harvest.Code{harvest.CodeRate, harvest.CodeQuota, harvest.CodeQuiet, "shutdown"} {
		l.Due()
		l.end(l.LeaseOne(), harvest.RunEnd{Outcome: harvest.Released, Code: code, Error: "waits"})
		if got := reason(); got != "http_503: down" {
			l.Errorf("after %s: %s", code, got)
		}
	}
	l.Due()
	l.end(l.LeaseOne(), harvest.RunEnd{Outcome: harvest.Spent, Code: "timeout", Error: "slow"})
	if got := reason(); got != "timeout: slow" {
		l.Errorf("after another fault: %s", got)
	}
	l.MustVerify()
}

// breakerIsTheSources: how many failures it takes and for how long a partition rests then
// is the source's to say, for what tasks ask and for what is asked outside of them.
func breakerIsTheSources(l *Lab) {
	own := harvest.BreakerLimits{After: 2, Rest: 5 * time.Second, Most: 8 * time.Second}
	l.Plan(0, 8)
	l.Due()
	spend := func() {
		l.Helper()
		l.end(l.LeaseOne(), harvest.RunEnd{Outcome: harvest.Spent, Code: "http_503", Error: "down", Breaker: own})
		l.Due()
	}
	spend()
	if n := len(l.Lease(1)); n != 1 {
		l.Errorf("%d tasks taken after one failure of two", n)
	}
	if err := l.Store.CountFailure(l.ctx(), labPartition, own, "http_503", "down"); err != nil {
		l.Fatal(err)
	}
	if d := l.rest(); d != 5*time.Second {
		l.Errorf("rests for %s", d)
	}
	if n := len(l.Lease(3)); n != 0 {
		l.Errorf("%d tasks taken at rest", n)
	}
	if _, rests, err := l.Store.PassBreaker(l.ctx(), labPartition); err != nil || !rests {
		l.Errorf("a question passes at rest: %v", err)
	}
	facts, err := l.Store.PartitionFacts(l.ctx())
	if err != nil || !facts[labPartition].Breaker.Open() {
		l.Errorf("%+v is shown as closed: %v", facts[labPartition].Breaker, err)
	}
	l.rested()
	spend()
	if d := l.rest(); d != 8*time.Second {
		l.Errorf("rests for %s after a try", d)
	}

	// The platform's three are not reached by two.
	l.mend()
	patient := harvest.BreakerLimits{After: 4}
	for n := range 4 {
		if _, rests, err := l.Store.PassBreaker(l.ctx(), labPartition); err != nil || rests {
			l.Errorf("rests after %d failures of four: %v", n, err)
		}
		if err := l.Store.CountFailure(l.ctx(), labPartition, patient, "http_503", "down"); err != nil {
			l.Fatal(err)
		}
	}
	if d := l.rest(); d != time.Minute {
		l.Errorf("rests for %s", d)
	}
}
