package sqlstore_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
)

// duplicateTold: a row whose key is there already is refused at the first try, by an
// error that says so.
func duplicateTold(l *Lab) {
	tries := 0
	st := patratest.Open(l, l.DSN, sqlstore.Options{Hook: func(point string) error {
		if point == "before begin" {
			tries++
		}
		return nil
	}})
	l.Plan(0, 1)
	j := l.LeaseOne()
	r := l.Start(j)
	open := nextOpen(r)
	if _, err := st.OpenBatch(l.ctx(), j.Lease, open); err != nil {
		l.Fatal(err)
	}
	tries = 0
	l.Unchanged("a second page under the same number", func() {
		_, err := st.OpenBatch(l.ctx(), j.Lease, open)
		told, ok := errors.AsType[*sqlstore.DuplicateError](err)
		if !ok || told.Problem().Code != "duplicate_key" {
			l.Errorf("it is told as %v", err)
		}
		if p, ok := problem.Of(err); !ok || !strings.Contains(p.Next, "patra verify") {
			l.Errorf("what to do next: %+v", p)
		}
		if errors.Is(err, harvest.ErrStoreAway) {
			l.Errorf("%v is told as a store that is away", err)
		}
	})
	if tries != 1 {
		l.Errorf("it was tried %d times", tries)
	}
	l.MustVerify()
}

// racers are two processes that insert the same row at the same moment: each waits
// before its insert until the other has come as far, so that both have looked for the
// row and found none. SQLite lets only one of them write at a time: there they do what
// they do at once, as it comes.
type racers struct {
	insert string // how the statement begins that they race for; empty: none is waited for
	stores [2]*sqlstore.Store

	mu   sync.Mutex
	here [2]bool // who has come to the insert in this round
	meet chan struct{}
}

func (l *Lab) racers(insert string) *racers {
	r := &racers{insert: insert}
	if l.Engine == patratest.SQLite {
		r.insert = ""
	}
	for k := range r.stores {
		r.stores[k] = patratest.Open(l, l.DSN, sqlstore.Options{Hook: func(point string) error { return r.wait(k, point) }})
	}
	return r
}

// both has the two act at once and returns how each ended.
func (r *racers) both(act func(st *sqlstore.Store, k int) error) (errs [2]error) {
	r.here = [2]bool{}
	r.meet = make(chan struct{})
	var wg sync.WaitGroup
	for k, st := range r.stores {
		wg.Go(func() { errs[k] = act(st, k) })
	}
	wg.Wait()
	return errs
}

// wait lets racer k come to its first insert of a round and wait for the other.
func (r *racers) wait(k int, point string) error {
	if r.insert == "" || !strings.HasPrefix(point, "before "+r.insert) {
		return nil
	}
	r.mu.Lock()
	again := r.here[k]
	r.here[k] = true
	last := r.here[1-k]
	r.mu.Unlock()
	switch {
	case again:
		return nil
	case last:
		close(r.meet)
		return nil
	}
	select {
	case <-r.meet:
		return nil
	case <-time.After(time.Minute):
		return errors.New("the other never came to insert")
	}
}

// oneEndedWith reports whether one ended well and the other with an error.
func oneEndedWith(errs [2]error, want error) bool {
	first := errs[0] == nil && errors.Is(errs[1], want)
	second := errs[1] == nil && errors.Is(errs[0], want)
	return first || second
}

// raceRounds is how often each race is run.
const raceRounds = 10

// rateKeyRace: of two that change a rate key nobody had, the second changes what the
// first has left.
func rateKeyRace(l *Lab) {
	r := l.racers("INSERT INTO ing_rate_gate")
	for round := range raceRounds {
		key := fmt.Sprint("key", round)
		errs := r.both(func(st *sqlstore.Store, _ int) error {
			return st.UpdateGate(l.ctx(), key, func(state []byte, _, _ time.Time) []byte { return append(state, '.') })
		})
		if state := l.Text(`SELECT state FROM ing_rate_gate WHERE gate_key=?`, key); state != ".." || errs != [2]error{} {
			l.Fatalf("round %d: the key holds %q, %v", round, state, errs)
		}
	}
}

// breakerRace: of a partition that had not failed, both failures are counted.
func breakerRace(l *Lab) {
	r := l.racers("INSERT INTO ing_breaker")
	for round := range raceRounds {
		p := harvest.Partition{Provenance: prov, Endpoint: fmt.Sprint("e", round), Operation: harvest.Harvest}
		errs := r.both(func(st *sqlstore.Store, _ int) error {
			return st.CountFailure(l.ctx(), p, harvest.BreakerLimits{}, "http_503", "down")
		})
		if n := l.Int(`SELECT failures FROM ing_breaker WHERE endpoint_name=?`, p.Endpoint); n != 2 || errs != [2]error{} {
			l.Fatalf("round %d: %d failures counted, %v", round, n, errs)
		}
	}
}

// triggerRace: a trigger that comes twice is answered once.
func triggerRace(l *Lab) {
	r := l.racers("INSERT INTO ing_schedule_instance")
	for round := range raceRounds {
		log := fmt.Sprint("log", round)
		errs := r.both(func(st *sqlstore.Store, _ int) error {
			return st.RecordTrigger(l.ctx(), scheduled(log), harvest.TriggerNoop, "nothing to do")
		})
		n := l.Int(`SELECT COUNT(*) FROM ing_schedule_instance WHERE scheduler_log_id=?`, log)
		if n != 1 || !oneEndedWith(errs, harvest.ErrAnswered) {
			l.Fatalf("round %d: %d traces, %v", round, n, errs)
		}
	}
}

// planRace: the first plan of a namespace is made once; the other gets that one.
func planRace(l *Lab) {
	r := l.racers("INSERT INTO ing_cursor ")
	for round := range raceRounds {
		namespace := harvest.ActivityNamespace(prov, harvest.Backfill, "updated", fmt.Sprint("race", round))
		var heads [2]harvest.PlanHead
		errs := r.both(func(st *sqlstore.Store, k int) (err error) {
			heads[k], err = st.SavePlan(l.ctx(), Draft(namespace, 0, 3))
			return err
		})
		plans := l.Int(`SELECT COUNT(*) FROM ing_plan`)
		slices := l.Int(`SELECT COUNT(*) FROM ing_plan_slice`)
		once := heads[0].ID == heads[1].ID && heads[0].Existing != heads[1].Existing
		if plans != int64(round+1) || slices != 3*plans || !once || errs != [2]error{} {
			l.Fatalf("round %d: %d plans with %d slices, %+v, %v", round, plans, slices, heads, errs)
		}
	}
	l.MustVerify()
}

// sourceRace: a source that two make known at once is there once.
func sourceRace(l *Lab) {
	r := l.racers("INSERT INTO reg_provenance")
	audit := source.Audit{Actor: "lab", Action: "APPLY", Object: "race", Reason: "race"}
	for round := range raceRounds {
		p := source.Provenance{Code: fmt.Sprint("race", round), Origin: "FILE", OriginHash: "h"}
		errs := r.both(func(st *sqlstore.Store, _ int) error {
			_, err := st.ChangeSource(l.ctx(), p, audit, func(source.Contents) ([]source.Change, error) { return nil, nil })
			return err
		})
		if n := l.Int(`SELECT COUNT(*) FROM reg_provenance WHERE provenance_code=?`, p.Code); n != 1 || errs != [2]error{} {
			l.Fatalf("round %d: the source is there %d times, %v", round, n, errs)
		}
	}
	if n := l.Int(`SELECT COUNT(*) FROM sys_audit WHERE object='race'`); n != raceRounds {
		l.Errorf("%d audit lines for %d new sources", n, raceRounds)
	}
}

// permissionRace: what two allow at once is allowed.
func permissionRace(l *Lab) {
	r := l.racers("")
	audit := source.Audit{Actor: "lab", Action: "CREDENTIAL_ALLOW", Object: "pool", Reason: "race"}
	pool := source.Provenance{Code: "pool", Origin: "FILE", OriginHash: "h"}
	if _, err := l.Store.ChangeSource(l.ctx(), pool, audit, func(source.Contents) ([]source.Change, error) { return nil, nil }); err != nil {
		l.Fatal(err)
	}
	for round := range raceRounds {
		g := credential.Grant{Kind: credential.GrantPool, Value: fmt.Sprint("other", round)}
		errs := r.both(func(st *sqlstore.Store, _ int) error {
			return st.ChangeCredentials(l.ctx(), pool.Code, audit, func([]credential.Credential, time.Time) ([]credential.Change, error) {
				return []credential.Change{{Allow: &g}}, nil
			})
		})
		if n := l.Int(`SELECT COUNT(*) FROM reg_prov_grant WHERE granted=?`, g.Value); n != 1 || errs != [2]error{} {
			l.Fatalf("round %d: allowed %d times, %v", round, n, errs)
		}
	}
}

// pageRacers are racers that store pages of one source. On TiDB such pages are stored one after the other, so that
// nobody meets anybody.
func (l *Lab) pageRacers(insert string) *racers {
	if l.Engine == patratest.TiDB {
		insert = ""
	}
	return l.racers(insert)
}

// badIDRace: an id without details that two pages bring at once is counted twice.
func badIDRace(l *Lab) {
	r := l.pageRacers("INSERT INTO ing_bad_id")
	l.Plan(0, 2*raceRounds)
	for round := range raceRounds {
		jobs := l.Lease(2)
		id := fmt.Sprint("bad", round)
		var pages [2]harvest.Batch
		for k, j := range jobs {
			pages[k] = Last(l.Open(j, l.Start(j)))
			pages[k].Missing = []string{id}
		}
		errs := r.both(func(st *sqlstore.Store, k int) error {
			_, err := st.CommitBatch(l.ctx(), jobs[k], pages[k], nil, nil)
			return err
		})
		if n := l.Int(`SELECT times FROM ing_bad_id WHERE ext_id=?`, id); n != 2 || errs != [2]error{} {
			l.Fatalf("round %d: seen %d times, %v", round, n, errs)
		}
	}
	l.MustBeAt(2 * raceRounds)
	l.MustVerify()
}

// recordRace: of a record that two pages bring at once for the first time, the newer
// version is held in the end, whoever was first.
func recordRace(l *Lab) {
	r := l.pageRacers("INSERT INTO ing_record ")
	l.Plan(0, 2*raceRounds)
	for round := range raceRounds {
		jobs := l.Lease(2)
		id := fmt.Sprint("rec", round)
		var pages [2]harvest.Batch
		for k, j := range jobs {
			pages[k] = Last(l.Open(j, l.Start(j)), Rec(id, hour(k), hour(9), fmt.Sprint("by ", k)))
		}
		var counts [2]harvest.Counts
		errs := r.both(func(st *sqlstore.Store, k int) error {
			c, err := st.CommitBatch(l.ctx(), jobs[k], pages[k], nil, nil)
			counts[k] = c.Counts
			return err
		})
		held := l.Text(`SELECT updated_at FROM ing_record WHERE ext_id=?`, id)
		if counts[0].Inserted+counts[1].Inserted != 1 || held != "2024-01-01 01:00:00.000000" || errs != [2]error{} {
			l.Fatalf("round %d: %+v, held is the version of %s, %v", round, counts, held, errs)
		}
	}
	l.MustBeAt(2 * raceRounds)
	l.MustVerify()
}
