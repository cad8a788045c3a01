package sqlstore_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// labSource is the HARVEST namespace of a source of the lab.
func labSource(code string) harvest.Namespace {
	return harvest.HarvestNamespace(code, "search", "updated", harvest.HashKey("all"))
}

// save plans the hours [from, to) of a namespace.
func (l *Lab) save(ns harvest.Namespace, from, to int) harvest.PlanHead {
	l.Helper()
	h, err := l.Store.SavePlan(l.ctx(), Draft(ns, from, to))
	if err != nil {
		l.Fatalf("save plan: %v", err)
	}
	return h
}

// waited makes the queued tasks of a plan due for as long.
func (l *Lab) waited(p harvest.PlanID, d time.Duration) {
	l.Helper()
	now, err := l.Store.Now(l.ctx())
	if err != nil {
		l.Fatal(err)
	}
	if _, err := l.DB.Exec(`UPDATE ing_task SET scheduled_at=? WHERE plan_id=? AND status_code='QUEUED'`, sqlTime(now.Add(-d)), p); err != nil {
		l.Fatal(err)
	}
}

func sqlTime(t time.Time) string { return harvest.Instant(t).Format("2006-01-02 15:04:05.000000") }

// turn takes one task as an executor does that keeps its turns.
func (l *Lab) turn(t *harvest.Turns) (harvest.Job, bool) {
	l.Helper()
	jobs, err := l.Store.LeaseTasks(l.ctx(), harvest.LeaseRequest{Owner: "lab", TTL: time.Hour, Max: 1, SpecVersion: 1, Turns: t})
	if err != nil {
		l.Fatalf("lease: %v", err)
	}
	if len(jobs) == 0 {
		return harvest.Job{}, false
	}
	return jobs[0], true
}

func orderOfPicking(l *Lab) {
	upd := harvest.ActivityNamespace(prov, harvest.Update, "updated", "u1")
	bf := harvest.ActivityNamespace(prov, harvest.Backfill, "updated", "b1")
	for _, n := range []harvest.Namespace{bf, upd, ns} {
		l.waited(l.save(n, 0, 3).ID, 10*time.Minute)
	}
	// Within a priority by due time, then by id.
	now, err := l.Store.Now(l.ctx())
	if err != nil {
		l.Fatal(err)
	}
	l.Exec(`UPDATE ing_task SET scheduled_at=? WHERE operation_code='UPDATE' AND slice_id=(SELECT MAX(id) FROM ing_plan_slice WHERE plan_id=ing_task.plan_id)`, sqlTime(now.Add(-11*time.Minute)))
	var got []string
	for {
		jobs := l.Lease(1 + rand.IntN(2))
		if len(jobs) == 0 {
			break
		}
		for _, j := range jobs {
			got = append(got, fmt.Sprintf("%s %s", j.Operation, j.Spec.Window.From.Format("15")))
		}
	}
	want := []string{
		"HARVEST 00", "HARVEST 01", "HARVEST 02", "UPDATE 02", "UPDATE 00", "UPDATE 01", "BACKFILL 00", "BACKFILL 01", "BACKFILL 02",
	}
	if !slices.Equal(got, want) {
		l.Errorf("picked %s", strings.Join(got, ", "))
	}
	for op, p := range map[string]int64{"HARVEST": 100, "UPDATE": 200, "BACKFILL": 300} {
		if n := l.Int(`SELECT MIN(priority) FROM ing_task WHERE operation_code=?`, op); n != p {
			l.Errorf("%s has priority %d", op, n)
		}
	}
	// A snapshot newer than the worker is left for another (R47).
	Clear(l, l.DB, l.tables)
	l.Plan(0, 1)
	l.Exec(`UPDATE ing_task SET spec_version=2`)
	if n := l.Lease(1); len(n) != 0 {
		l.Error("a newer snapshot was taken")
	}
}

// nothingStarves: one worker, a task a minute (five where a commit is slow). A BACKFILL is taken within 90
// minutes though a HARVEST never ends, whether its tasks come one by one or lay
// there before, and of however many sources; but not before it has waited.
func nothingStarves(l *Lab) {
	every := l.step(2, 5)
	bf := harvest.ActivityNamespace(prov, harvest.Backfill, "updated", "b1")
	low := harvest.ActivityNamespace(prov, harvest.Backfill, "updated", "sentinel")
	for name, load := range map[string]func(minute int) []harvest.PlanHead{
		"one by one": func(m int) []harvest.PlanHead { return []harvest.PlanHead{l.save(ns, m, m+every)} },
		"all at once": func(m int) (out []harvest.PlanHead) {
			if m == 0 {
				out = append(out, l.save(ns, 0, 160), l.save(labSource("lab2"), 0, 160))
			}
			return out
		},
	} {
		Clear(l, l.DB, l.tables)
		d := Draft(low, 0, 1)
		d.Trigger.Priority = 900
		sentinel, err := l.Store.SavePlan(l.ctx(), d)
		if err != nil {
			l.Fatal(err)
		}
		since := map[harvest.PlanID]int{l.save(bf, 0, 1).ID: 0, sentinel.ID: 0}
		turns := new(harvest.Turns)
		took := map[string]int{}
		for m := 0; m < 300 && len(took) < 2; m += every {
			for _, p := range load(m) {
				since[p.ID] = m
			}
			for p, began := range since {
				l.waited(p, time.Duration(m-began)*time.Minute)
			}
			turns.ReplaceHeads(nil, time.Time{}, 0) // a minute later the heads are read again
			j, ok := l.turn(turns)
			if !ok {
				l.Fatalf("%s: nothing to take in minute %d", name, m)
			}
			if j.Operation == harvest.Backfill {
				key := "backfill"
				if j.Plan == sentinel.ID {
					key = "sentinel"
				}
				took[key] = m
			}
		}
		if m, ok := took["backfill"]; !ok || m < 60 || m > 90 {
			l.Errorf("%s: the BACKFILL was taken after %d minutes (%v)", name, m, ok)
		}
		if m, ok := took["sentinel"]; !ok || m < 240 {
			l.Errorf("%s: priority 900 was taken after %d minutes (%v)", name, m, ok)
		}
	}
}

// turnsAreTaken: partitions of one priority that have work never differ by more
// than a quantum, however many tasks of one lie before those of the others.
func turnsAreTaken(l *Lab) {
	codes := []string{prov, "lab2", "lab3"}
	for i, code := range codes {
		l.waited(l.save(labSource(code), 0, 60).ID, time.Duration(20-i)*time.Minute)
	}
	turns := new(harvest.Turns)
	had := map[string]int{}
	row, last := 0, ""
	for n := range 150 {
		if n == 50 {
			l.waited(l.save(labSource("lab4"), 0, 30).ID, 0) // one that comes later
			codes = append(codes, "lab4")
			had = map[string]int{}
			turns.ReplaceHeads(nil, time.Time{}, 0) // as a second later
		}
		j, ok := l.turn(turns)
		if !ok {
			l.Fatalf("nothing to take after %d tasks", n)
		}
		had[j.Provenance]++
		row++
		if j.Provenance != last {
			row, last = 1, j.Provenance
		}
		if row > harvest.Quantum {
			l.Fatalf("%s was taken %d times in a row", last, row)
		}
		least := 1 << 20
		for _, c := range codes {
			least = min(least, had[c])
		}
		if d := slices.Max(slices.Collect(maps.Values(had))) - least; d > harvest.Quantum {
			l.Fatalf("after %d tasks they had %v", n+1, had)
		}
	}
	// Alone, a partition has every turn.
	Clear(l, l.DB, l.tables)
	l.save(labSource("lab2"), 0, 3*harvest.Quantum)
	for n := range 3 * harvest.Quantum {
		if _, ok := l.turn(turns); !ok {
			l.Fatalf("nothing to take after %d tasks", n)
		}
	}
	// One that is held or at rest gives its turn away.
	l.save(labSource(prov), 0, 20)
	l.save(labSource("lab2"), 3*harvest.Quantum, 40)
	if err := l.Store.HoldSource(l.ctx(), "lab2", true, false, "test"); err != nil {
		l.Fatal(err)
	}
	for range 2 * harvest.Quantum {
		if j, ok := l.turn(turns); !ok || j.Provenance != prov {
			l.Fatalf("took %+v of a held source", j)
		}
	}
	l.MustVerify()
}

// everySourceRuns: a hundred sources, the first with very many tasks: after a
// hundred turns each has been taken (C21).
func everySourceRuns(l *Lab) {
	const sources = 100
	l.save(labSource("s000"), 0, 2000)
	for i := range sources - 1 {
		l.save(labSource(fmt.Sprintf("s%03d", i+1)), 0, 5)
	}
	turns := new(harvest.Turns)
	had := map[string]int{}
	for range sources * harvest.Quantum {
		j, ok := l.turn(turns)
		if !ok {
			l.Fatal("nothing to take")
		}
		had[j.Provenance]++
	}
	if len(had) != sources || slices.Max(slices.Collect(maps.Values(had))) > harvest.Quantum {
		l.Errorf("%d sources were taken: %v", len(had), had)
	}
}

// newerSpecs: a worker that cannot read a description leaves its tasks to those
// that can, alive or given up.
func newerSpecs(l *Lab) {
	d := Draft(ns, 0, 1)
	d.SpecVersion = 2
	l.Save(d)
	lease := func(version int) []harvest.Job {
		jobs, err := l.Store.LeaseTasks(l.ctx(), harvest.LeaseRequest{Owner: "lab", TTL: ttl, Max: 1, SpecVersion: version})
		if err != nil {
			l.Fatal(err)
		}
		return jobs
	}
	l.Unchanged("a worker of before", func() {
		if jobs := lease(1); len(jobs) != 0 {
			l.Errorf("it was given %+v", jobs)
		}
	})
	jobs := lease(2)
	if len(jobs) != 1 {
		l.Fatal("nobody was given the task")
	}
	l.Exec(`UPDATE ing_task SET leased_until='2001-01-01 00:00:00.000000'`) // its owner is gone
	if jobs := lease(1); len(jobs) != 0 {
		l.Errorf("a worker of before was given what another left: %+v", jobs)
	}
	if jobs := lease(2); len(jobs) != 1 {
		l.Error("what another left was given to nobody")
	}
}
