package proctest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/patratest"
)

// TestProcess_ServeUnderKill: schedulers, planners and executors, two of each in
// processes of their own, are killed again and again while a schedule falls due
// every minute. Each time is triggered once, no instant is planned twice, and
// what they did together is judged as every campaign is.
func TestProcess_ServeUnderKill(t *testing.T) {
	t.Parallel()
	ticks, kills := 2, 12
	if os.Getenv("PATRA_SOAK") != "" {
		ticks, kills = 6, 60
	}
	l := newLab(t, "crossref", empty(t, patratest.MySQL), 400, "--faults", "light")
	l.schedule("* * * * *")
	roles := []string{"scheduler", "scheduler planner", "planner", "executor", "executor"}
	team := make([]*process, len(roles))
	for i := range team {
		team[i] = l.serve(roles[i])
	}
	triggers := func() int {
		return l.ask(`SELECT COUNT(*) FROM ing_schedule_instance WHERE scheduler_code='patra' AND outcome_code IN ('PLANNED','EXISTING','NOOP')`)
	}
	moved := 0
	for deadline := time.Now().Add(time.Duration(ticks)*time.Minute + patience); triggers() < ticks || l.deed.kills < kills || l.openTasks() > 0; {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d triggers, %d tasks open\n%s", triggers(), ticks, l.openTasks(), tail(team[0].err.String()))
		}
		pause(time.Duration(200+l.dice.IntN(600)) * time.Millisecond)
		l.quicken()
		if n := triggers(); n > moved { // something to do at the next time, too
			moved = n
			l.advance()
		}
		for i, p := range team {
			if p.ended() && p.code() != -1 {
				t.Fatalf("%s ended with %d\n%s", roles[i], p.code(), tail(p.err.String()))
			}
		}
		// Half of the deeds hit somebody with work in hand.
		i := l.dice.IntN(len(team))
		if l.deed.kills%2 == 0 && l.holds(team[3])+l.holds(team[4]) == 0 && triggers() < ticks {
			continue
		}
		if l.deed.kills < kills {
			l.deed.kills++
			team[i].end()
			team[i] = l.serve(roles[i])
		}
	}
	for i, p := range team {
		// A process that has not yet come to its first line dies of the signal
		// as any program would; only what serves can be asked to stop.
		for end := time.Now().Add(patience); !strings.Contains(p.err.String(), "patra: serving"); pause(20 * time.Millisecond) {
			if p.ended() || time.Now().After(end) {
				t.Fatalf("%s does not serve\n%s", roles[i], tail(p.err.String()))
			}
		}
		p.signal(syscall.SIGTERM)
		select {
		case <-p.done:
		case <-time.After(patience):
			t.Fatalf("%s did not end after SIGTERM\n%s", roles[i], tail(p.err.String()))
		}
		if p.code() != 0 {
			t.Errorf("%s ended with %d\n%s", roles[i], p.code(), tail(p.err.String()))
		}
	}
	if n := l.ask(`SELECT COUNT(*) FROM (SELECT 1 FROM ing_schedule_instance WHERE scheduler_code='patra' GROUP BY scheduler_job_id, scheduler_log_id HAVING COUNT(*)>1) d`); n != 0 {
		t.Errorf("%d times were triggered more than once", n)
	}
	if n := l.ask(`SELECT COUNT(*) FROM ing_plan a JOIN ing_plan b ON a.id<b.id AND a.window_from<b.window_to AND b.window_from<a.window_to AND a.operation_code='HARVEST' AND b.operation_code='HARVEST'`); n != 0 {
		t.Errorf("%d pairs of plans overlap", n)
	}
	t.Logf("%d triggers, %d kills, %d plans", triggers(), l.deed.kills, l.ask(`SELECT COUNT(*) FROM ing_plan`))
	l.judge()
}

// openTasks is how many tasks are not over.
func (l *lab) openTasks() int {
	l.t.Helper()
	return l.ask(`SELECT COUNT(*) FROM ing_task WHERE status_code IN ('QUEUED','DISPATCHED','EXECUTING')`)
}

// schedule gives the pack a cron line, and the address of the simulator.
func (l *lab) schedule(line string) {
	l.t.Helper()
	name := filepath.Join(l.packs, l.source+".yaml")
	b, err := os.ReadFile(name)
	if err != nil {
		l.t.Fatal(err)
	}
	text := strings.Replace(string(b), "baseUrl: https://api.crossref.org", "baseUrl: "+l.sim+"/"+l.source, 1)
	text = regexp.MustCompile(`(?m)^( *)http:\n`).ReplaceAllString(text, "${0}${1}  allowHttp: true\n${1}  allowPrivate: true\n")
	text += fmt.Sprintf("\nschedule:\n  harvest: %q\n", line)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// serve begins a process of some roles.
func (l *lab) serve(roles string) *process {
	l.t.Helper()
	args := append([]string{"serve"}, strings.Fields(roles)...)
	return l.begin(append(args, "--poll", "200ms", "--workers", fmt.Sprint(l.workers))...)
}
