package sqlstore_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// states reads the state of every row that has one.
func (l *Lab) states() map[string]string {
	l.Helper()
	out := map[string]string{}
	rows, err := l.DB.Query(`SELECT 'plan', id, status_code FROM ing_plan UNION ALL SELECT 'slice', id, status_code FROM ing_plan_slice UNION ALL
		SELECT 'task', id, status_code FROM ing_task UNION ALL SELECT 'run', id, status_code FROM ing_task_run UNION ALL SELECT 'batch', id, status_code FROM ing_task_run_batch`)
	if err != nil {
		l.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var what, state string
		var id int64
		if err := rows.Scan(&what, &id, &state); err != nil {
			l.Fatal(err)
		}
		out[fmt.Sprint(what, " ", id)] = state
	}
	if err := rows.Err(); err != nil {
		l.Fatal(err)
	}
	return out
}

func allowed(what, from, to string) error {
	switch kind, _, _ := strings.Cut(what, " "); kind {
	case "plan":
		return harvest.PlanState(from).To(harvest.PlanState(to))
	case "slice":
		return harvest.SliceState(from).To(harvest.SliceState(to))
	case "task":
		return harvest.TaskState(from).To(harvest.TaskState(to))
	case "run":
		return harvest.RunState(from).To(harvest.RunState(to))
	default:
		if !slices.Contains(harvest.BatchState(to).From(), harvest.BatchState(from)) {
			return fmt.Errorf("a batch that is %s may not become %s", from, to)
		}
		return nil
	}
}

// born are the states a row may begin in.
var born = map[string]string{"plan": "READY", "slice": "READY", "task": "QUEUED", "run": "RUNNING", "batch": "RUNNING"}

// onlyListed calls the store's methods in random order, with leases that hold
// and leases that do not, and checks every change of every state against the
// domain's tables, and the integrity check after each step.
func onlyListed(l *Lab) {
	rounds, steps := 25, 60
	if l.small() {
		rounds, steps = 4, 30
	}
	seen := map[string]bool{}
	for round := range rounds {
		seed := uint64(1)
		if os.Getenv("PATRA_SOAK") != "" {
			seed = rand.Uint64()
		}
		if !l.play(rand.New(rand.NewPCG(seed, uint64(round))), steps, seen) {
			l.Fatalf("with seed %d, round %d", seed, round)
		}
	}
	if !l.small() {
		for _, want := range []string{
			"plan READY COMPLETED", "slice READY DONE", "slice READY FAILED", "slice READY RESLICED", "slice FAILED READY", "task QUEUED DISPATCHED", "task DISPATCHED EXECUTING",
			"task EXECUTING SUCCEEDED", "task EXECUTING FAILED", "task EXECUTING PARTIAL", "task EXECUTING QUEUED", "task EXECUTING DISPATCHED", "task FAILED QUEUED",
			"run RUNNING SUCCEEDED", "run RUNNING FAILED", "run RUNNING PARTIAL", "batch RUNNING SUCCEEDED", "batch RUNNING FAILED", "batch RUNNING SKIPPED",
		} {
			if !seen[want] {
				l.Errorf("never saw %s", want)
			}
		}
	}
}

// player is a worker that may be out of date.
type player struct {
	job    harvest.Job
	res    harvest.Resume
	opened *harvest.OpenedBatch
}

func (l *Lab) play(rnd *rand.Rand, steps int, seen map[string]bool) bool {
	Clear(l, l.DB, l.tables)
	l.Plan(0, 1+rnd.IntN(2))
	var players []*player
	before := l.states()
	var trail []string
	for range steps {
		step, err := l.move(rnd, &players)
		trail = append(trail, fmt.Sprintf("%s: %v", step, err))
		if err != nil && !errors.Is(err, harvest.ErrLeaseLost) && !errors.Is(err, harvest.ErrHeld) {
			l.Errorf("%s", strings.Join(trail, "\n"))
			return false
		}
		after := l.states()
		for what, to := range after {
			from, ok := before[what]
			kind, _, _ := strings.Cut(what, " ")
			switch {
			case !ok && to != born[kind]:
				l.Errorf("%s began as %s", what, to)
			case ok && from != to:
				if err := allowed(what, from, to); err != nil {
					l.Errorf("%v", err)
				}
				seen[kind+" "+from+" "+to] = true
			}
		}
		before = after
		l.MustVerify()
		if l.Failed() {
			l.Errorf("%s", strings.Join(trail, "\n"))
			return false
		}
	}
	return true
}

// move makes one random call.
func (l *Lab) move(rnd *rand.Rand, players *[]*player) (string, error) {
	ctx := l.ctx()
	pick := func() *player {
		if len(*players) == 0 {
			return &player{job: harvest.Job{Lease: harvest.Lease{Task: harvest.TaskID(l.Int(`SELECT MIN(id) FROM ing_task`)), Fence: 99}, Spec: child(hour(0), hour(1)).Spec}}
		}
		n := len(*players)
		return (*players)[max(rnd.IntN(n), rnd.IntN(n))] // rather the newer ones
	}
	end := func(p *player, o harvest.RunOutcome) error {
		e := harvest.RunEnd{Run: p.res.Run, Outcome: o, Code: "c", Error: "e"}
		if p.opened != nil { // and nothing was sent for it, or something
			e.Page = &harvest.FailedPage{Batch: p.opened.ID, Asked: rnd.IntN(2) == 0}
		}
		return l.Store.EndRun(ctx, p.job.Lease, e)
	}
	switch k := rnd.IntN(26); k {
	case 0, 1, 2, 3:
		jobs, err := l.Store.LeaseTasks(ctx, harvest.LeaseRequest{Owner: "p", TTL: ttl, Max: 1, SpecVersion: 1})
		if err != nil || len(jobs) == 0 {
			return "lease nothing", err
		}
		*players = append(*players, &player{job: jobs[0]})
		return "lease", nil
	case 4, 5, 6:
		p := pick()
		if n := len(*players); n > 0 && rnd.IntN(3) > 0 {
			p = (*players)[n-1]
		}
		r, err := l.Store.StartRun(ctx, p.job.Lease)
		if err == nil {
			p.res, p.opened = r, nil
		}
		return "start", err
	case 7, 8, 23, 24:
		p := pick()
		if p.opened != nil || p.res.Run == 0 {
			return "nothing", nil
		}
		o, err := l.Store.OpenBatch(ctx, p.job.Lease, nextOpen(p.res))
		if err == nil {
			p.opened = &o
		}
		return "open", err
	case 9, 10, 11, 12:
		p := pick()
		if p.opened == nil {
			return "nothing", nil
		}
		b := Page(*p.opened, Rec(fmt.Sprint(rnd.IntN(5)), hour(rnd.IntN(3)), hour(9), fmt.Sprint(rnd.IntN(3))))
		if rnd.IntN(2) == 0 {
			b.End, b.Finish = harvest.EndEmpty, true
		}
		_, err := l.Store.CommitBatch(ctx, p.job, b, nil, nil)
		if err == nil {
			p.opened = nil
			p.res.BatchNo = p.res.BatchNo + 1
			p.res.SearchDone = p.res.SearchDone + 1
			p.res.Search = b.After
		}
		return fmt.Sprintf("commit, finish %v", b.Finish), err
	case 13:
		p := pick()
		walk, _, err := l.Store.NewWalk(ctx, p.job.Lease, "r", true, nil)
		if err == nil {
			if p.opened != nil {
				p.res.BatchNo++
			}
			p.opened = nil
			p.res.Walk = walk
			p.res.SearchDone = 0
			p.res.Search = harvest.Position{}
		}
		return "new walk", err
	case 14:
		return "release", end(pick(), harvest.Released)
	case 15:
		defer l.DB.Exec(`UPDATE ing_task SET scheduled_at='2000-01-01 00:00:00.000000'`) //nolint:errcheck // helps, or not
		return "spend", end(pick(), harvest.Spent)
	case 16:
		return "refuse", end(pick(), harvest.Refused)
	case 17:
		err := end(pick(), harvest.Stopped)
		return "stop", errors.Join(err, l.Store.HoldSource(ctx, prov, false, false, ""))
	case 18:
		p := pick()
		w := p.job.Spec.NominalWindow()
		mid := w.From.Add(w.Duration() / 2).Truncate(time.Second)
		if !mid.After(w.From) {
			return "nothing", nil
		}
		return "reslice", l.Store.Reslice(ctx, p.job, harvest.RunEnd{Run: p.res.Run, Code: "c"}, []harvest.SliceDraft{child(w.From, mid), child(mid, w.To)}, "TOKEN", pageSize)
	case 19, 20:
		_, err := l.DB.Exec(`UPDATE ing_task SET scheduled_at='2000-01-01 00:00:00.000000' WHERE status_code='FAILED'`)
		if err != nil {
			return "", err
		}
		_, err = l.Store.RequeueFailed(ctx, prov, harvest.Harvest)
		return "requeue and resume", errors.Join(err, l.Store.HoldSource(ctx, prov, false, false, ""))
	case 21:
		_, err := l.DB.Exec(`UPDATE ing_task SET leased_until='2000-01-01 00:00:00.000000' WHERE leased_until IS NOT NULL`)
		return "expire", err
	case 22:
		return "renew", l.Store.RenewLease(ctx, pick().job.Lease)
	default:
		err := l.Store.HoldSource(ctx, prov, rnd.IntN(2) == 0, false, "x")
		return "hold or resume", err
	}
}

// closedIsRefused: what ends a run, a task or a slice that is not open any more, though
// the lease holds, is refused whole: closed rows stay as they are and nothing else is
// changed with them.
func closedIsRefused(l *Lab) {
	mid := hour(0).Add(30 * time.Minute)
	ends := map[string]func(j harvest.Job, r harvest.Resume, o harvest.OpenedBatch) error{
		"finish": func(j harvest.Job, _ harvest.Resume, o harvest.OpenedBatch) error {
			_, err := l.Store.CommitBatch(l.ctx(), j, Last(o, Rec("a", hour(0), hour(9), "a")), nil, nil)
			return err
		},
		"cut": func(j harvest.Job, r harvest.Resume, _ harvest.OpenedBatch) error {
			end := harvest.RunEnd{Run: r.Run, Code: harvest.CodeMaxPages}
			return l.Store.Reslice(l.ctx(), j, end, []harvest.SliceDraft{child(hour(0), mid), child(mid, hour(1))}, harvest.PageToken, pageSize)
		},
		"release": func(j harvest.Job, r harvest.Resume, _ harvest.OpenedBatch) error {
			return l.Store.EndRun(l.ctx(), j.Lease, harvest.RunEnd{Run: r.Run, Outcome: harvest.Released, Code: harvest.CodeShutdown})
		},
		"refuse": func(j harvest.Job, r harvest.Resume, _ harvest.OpenedBatch) error {
			return l.Store.EndRun(l.ctx(), j.Lease, harvest.RunEnd{Run: r.Run, Outcome: harvest.Refused, Code: "http_400"})
		},
	}
	for _, c := range []struct{ plant, end string }{
		{`UPDATE ing_task_run SET status_code='FAILED'`, "finish"},
		{`UPDATE ing_task_run SET status_code='FAILED'`, "cut"},
		{`UPDATE ing_task_run SET status_code='FAILED'`, "release"},
		{`UPDATE ing_task_run SET status_code='FAILED'`, "refuse"},
		{`UPDATE ing_plan_slice SET status_code='CANCELLED'`, "refuse"},
	} {
		Clear(l, l.DB, l.tables)
		l.Plan(0, 1)
		j := l.LeaseOne()
		r := l.Start(j)
		o := l.Open(j, r)
		l.Exec(c.plant)
		l.Unchanged(c.end+" after "+c.plant, func() {
			if err := ends[c.end](j, r, o); !errors.Is(err, harvest.ErrTransition) {
				l.Errorf("%s after %s: %v", c.end, c.plant, err)
			}
		})
	}
}

// poisonWithoutItsSlice: a task that is poison and whose slice was closed past the
// store keeps nobody from work.
func poisonWithoutItsSlice(l *Lab) {
	l.Plan(0, 2)
	j := l.LeaseOne()
	l.Start(j)
	l.Exec(`UPDATE ing_task SET deaths=?, deaths_in_hand=?, reply_fence=fence WHERE id=?`, harvest.MaxDeaths, harvest.MaxDeaths, j.Lease.Task)
	l.Exec(`UPDATE ing_plan_slice SET status_code='CANCELLED' WHERE id=?`, j.Slice)
	l.Expire(j.Lease.Task)
	if n := len(l.Lease(2)); n != 1 {
		l.Errorf("%d tasks leased beside the one that is poison", n)
	}
	if state := l.Text(`SELECT status_code FROM ing_task WHERE id=?`, j.Lease.Task); state != string(harvest.TaskFailed) {
		l.Errorf("the task that is poison is %s", state)
	}
}
