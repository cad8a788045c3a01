package proctest

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/patratest"
)

// soak is how many campaigns of each kind are run.
func soak() int {
	if os.Getenv("PATRA_SOAK") != "" {
		return 5
	}
	return 1
}

// records in the simulated source.
func records() int {
	if os.Getenv("PATRA_SOAK") != "" {
		return 3000
	}
	return 800
}

// TestProcess_KillsAndZombiesOnMySQL: three processes share one database and
// are killed, or stopped past their lease and woken, while they work.
func TestProcess_KillsAndZombiesOnMySQL(t *testing.T) {
	t.Parallel()
	for n := range soak() {
		for _, c := range []struct {
			source         string
			kills, zombies int
		}{{"pubmed", 8, 3}, {"crossref", 7, 2}} {
			t.Run(fmt.Sprintf("%s/%d", c.source, n+1), func(t *testing.T) {
				t.Parallel()
				l := newLab(t, c.source, empty(t, patratest.Servers()[0]), uint64(100+n), "--faults", "heavy")
				l.campaign(3, c.kills, c.zombies)
				l.judge()
			})
		}
	}
}

// TestProcess_KillsOnSQLite: one process, killed again and again.
func TestProcess_KillsOnSQLite(t *testing.T) {
	t.Parallel()
	for n := range soak() {
		for source, kills := range map[string]int{"pubmed": 5, "crossref": 5} {
			t.Run(fmt.Sprintf("%s/%d", source, n+1), func(t *testing.T) {
				t.Parallel()
				l := newLab(t, source, empty(t, patratest.SQLite), uint64(200+n), "--faults", "heavy")
				l.campaign(1, kills, 0)
				l.judge()
			})
		}
	}
}

// maxAdvances is how often the simulated clock can move on: it begins 60 days
// before the real one.
const maxAdvances = 19

// campaign keeps n processes at work and does the deeds to them in an order
// that the seed decides.
func (l *lab) campaign(n, kills, zombies int) {
	l.t.Helper()
	team := make([]*process, n)
	for i := range team {
		team[i] = l.start()
		for i == 0 && l.ask(`SELECT COUNT(*) FROM ing_task`) == 0 { // one of them plans
			pause(20 * time.Millisecond)
			if team[0].ended() {
				l.t.Fatalf("ended with %d\n%s", team[0].code(), tail(team[0].err.String()))
			}
		}
	}
	refill := func() {
		for i, p := range team {
			if !p.ended() {
				continue
			}
			l.note(p)
			if c := p.code(); c != 0 && c != -1 {
				l.t.Fatalf("a harvest ended with %d\n%s\n%s", c, p.out.String(), tail(p.err.String()))
			}
			if p.code() == 0 && l.openTasks() == 0 {
				l.advance() // nothing left: let the world move on
			}
			team[i] = l.start()
		}
	}
	for k, z := kills, zombies; k+z > 0; {
		if l.deed.advances >= maxAdvances { // the simulated clock has caught up: nothing new will come
			if done := l.deed.kills + l.deed.zombies; done < (kills+zombies)/2 {
				l.t.Errorf("only %d of %d deeds were done before all was harvested", done, kills+zombies)
			}
			break
		}
		pause(time.Duration(100+l.dice.IntN(500)) * time.Millisecond)
		l.quicken()
		victim := l.dice.IntN(n)
		for range 200 { // until it has work in hand
			refill()
			if l.holds(team[victim]) > 0 {
				break
			}
			pause(30 * time.Millisecond)
		}
		pause(time.Duration(l.dice.IntN(150)) * time.Millisecond)
		if l.dice.IntN(k+z) < k {
			k--
			l.deed.kills++
			team[victim].end()
		} else if l.zombie(team[victim]) {
			z--
		}
	}
	for _, p := range team {
		p.signal(syscall.SIGTERM)
	}
	for _, p := range team {
		select {
		case <-p.done:
		case <-time.After(patience):
			l.t.Fatalf("did not end after SIGTERM\n%s", tail(p.err.String()))
		}
		l.note(p)
	}
}

// holds is how many tasks a process is working on.
func (l *lab) holds(p *process) int {
	l.t.Helper()
	return l.ask(`SELECT COUNT(*) FROM ing_task WHERE status_code='EXECUTING' AND lease_owner LIKE ?`, fmt.Sprintf("%%/%d", p.cmd.Process.Pid))
}

// inHand are the tasks that a process is working on, each with its fence.
func (l *lab) inHand(p *process) map[int]int {
	l.t.Helper()
	rows, err := l.db.Query(`SELECT id, fence FROM ing_task WHERE status_code='EXECUTING' AND lease_owner LIKE ?`, fmt.Sprintf("%%/%d", p.cmd.Process.Pid))
	if err != nil {
		l.t.Fatal(err)
	}
	defer rows.Close()
	out := map[int]int{}
	for rows.Next() {
		var task, fence int
		if err := rows.Scan(&task, &fence); err != nil {
			l.t.Fatal(err)
		}
		out[task] = fence
	}
	return out
}

// takenOver reports whether another owner has one of these tasks since, or had it. A task that
// is in hand no more may just have ended: the server goes on with a commit that it was sent.
func (l *lab) takenOver(tasks map[int]int) bool {
	l.t.Helper()
	for task, fence := range tasks {
		if l.ask(`SELECT fence FROM ing_task WHERE id=?`, task) > fence {
			return true
		}
	}
	return false
}

// zombie stops a process until another has taken a task of its over, and wakes
// it: it must notice that it was fenced (R14). It reports false if there was
// nothing to take over: no task in hand, or one locked by a commit that was
// stopped half-way, which is as good as any other when it wakes.
func (l *lab) zombie(p *process) bool {
	l.t.Helper()
	p.signal(syscall.SIGSTOP)
	held := l.inHand(p)
	for range 100 {
		if p.ended() || len(held) == 0 || l.takenOver(held) {
			break
		}
		pause(100 * time.Millisecond)
	}
	took := !p.ended() && l.takenOver(held)
	before := p.fenced()
	p.signal(syscall.SIGCONT)
	if !took {
		return false
	}
	l.deed.zombies++
	for range 100 {
		if p.ended() || p.fenced() > before {
			break
		}
		pause(100 * time.Millisecond)
	}
	if p.fenced() == before {
		l.t.Errorf("a zombie was never fenced\n%s", tail(p.err.String()))
	}
	return true
}

// fenced is how often a process said that it had lost a lease.
func (p *process) fenced() int { return strings.Count(p.err.String(), `msg="lease lost"`) }

// note counts what a process that has ended said about lost leases.
func (l *lab) note(p *process) {
	l.deed.fenced += p.fenced()
}

// pause lets real time pass: processes live in it.
func pause(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	<-t.C
}

// TestProcess_SIGTERMReleasesEverything: it ends soon, says so, and the next
// run need not wait for a lease.
func TestProcess_SIGTERMReleasesEverything(t *testing.T) {
	t.Parallel()
	l := newLab(t, "pubmed", empty(t, patratest.SQLite), 300, "--latency", "100ms")
	// A run that had to wait for a lease to run out would outlive the test.
	l.lease = 2 * time.Hour
	p := l.start()
	for l.ask(`SELECT COUNT(*) FROM ing_task_run_batch WHERE status_code='SUCCEEDED'`) < 10 {
		pause(20 * time.Millisecond)
		if p.ended() {
			t.Fatalf("ended with %d\n%s", p.code(), tail(p.err.String()))
		}
	}
	began := time.Now()
	p.signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(patience):
		t.Fatal("did not end")
	}
	if p.code() != 130 {
		t.Errorf("ended with %d, want 130\n%s", p.code(), tail(p.err.String()))
	}
	t.Logf("ended after %s", time.Since(began).Round(time.Millisecond))
	if n := l.ask(`SELECT COUNT(*) FROM ing_task WHERE lease_owner IS NOT NULL OR status_code NOT IN ('QUEUED','SUCCEEDED')`); n != 0 {
		t.Errorf("%d tasks were not released", n)
	}
	l.judge()
}
