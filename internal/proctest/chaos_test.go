package proctest

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/patratest"
)

// storm is how much is done to the processes of a chaos run, and for how long.
type storm struct {
	records int
	qps     int
	// ticks is how many times of the schedule have to come.
	ticks int
	// calm is for how long nothing is done at first, to know what is harvested undisturbed; 0 if
	// that is not compared.
	calm time.Duration
	// lasts is for how long things are done to them, and kills how many processes are killed at least.
	lasts time.Duration
	kills int
	// cuts is how often all connections to the database are cut, and serverEvery how often its server is
	// killed or stopped. Neither is done to a file.
	cuts, serverEvery time.Duration
}

// shortStorm is what every run of the suite can afford.
var shortStorm = storm{records: 1200, qps: 20, ticks: 2, lasts: 25 * time.Second, kills: 12, cuts: 5 * time.Second, serverEvery: 9 * time.Second}

// longStorm is a storm of so many minutes: 2,000 records a minute are more than can be had in it.
func longStorm(lasts time.Duration) storm {
	calm := lasts / 8
	return storm{
		records: int((lasts + calm).Minutes()) * 2000, qps: 5, ticks: 2, calm: calm, lasts: lasts, kills: int(lasts.Minutes()) * 6,
		cuts: 5 * time.Second, serverEvery: 40 * time.Second,
	}
}

// TestProcess_Chaos: four executors, two planners, two relays and two schedulers, each a process,
// over an upstream that misbehaves. They are killed and stopped past their leases, their connections to the
// database are cut every five seconds, its server is killed, stopped and begun again. A supervisor begins anew what was
// killed, and nobody does anything else: what is stored is equal to the truth, each time of the schedule was
// triggered once, and two brokers have every revision, those of a record in order. PATRA_SOAK=1 does it for an hour over
// every engine, PATRA_CHAOS=10m for as long as it says over MySQL.
func TestProcess_Chaos(t *testing.T) {
	t.Parallel()
	if text := os.Getenv("PATRA_CHAOS"); text != "" {
		lasts, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("PATRA_CHAOS: %v", err)
		}
		chaosOnServer(t, patratest.StartMySQL(t), longStorm(lasts))
		return
	}
	if os.Getenv("PATRA_TEST_ALONE") == patratest.TiDB.Name {
		chaosOnServer(t, patratest.StartTiDB(t), shortStorm)
		return
	}
	if !patratest.Soak() {
		chaosOnServer(t, patratest.StartServer(t), shortStorm)
		return
	}
	t.Run("mysql", func(t *testing.T) { chaosOnServer(t, patratest.StartMySQL(t), longStorm(30*time.Minute)) })
	t.Run("mariadb", func(t *testing.T) { chaosOnServer(t, patratest.StartServer(t), longStorm(20*time.Minute)) })
	t.Run("sqlite", func(t *testing.T) {
		s := longStorm(10 * time.Minute)
		c := newChaos(t, empty(t, patratest.SQLite), s)
		c.run(nil, nil)
	})
}

// chaosOnServer is a run over a server of the test's own, behind a proxy.
func chaosOnServer(t *testing.T, server *patratest.Server, s storm) {
	t.Helper()
	c := newChaos(t, empty(t, server.Engine()), s)
	var proxy *patratest.Proxy
	proxy, c.dsn = patratest.NewProxy(t, c.dsn)
	c.run(server, proxy)
}

// chaos is a lab with a team that is supervised, and brokers that it tells.
type chaos struct {
	*lab
	storm
	brokers *brokers
	team    []*member
	killed  int
	// quickenedAt is when the stored rate was forgotten last: as often in the storm as before it.
	quickenedAt time.Time
}

// member is a process of the team: whichever runs now.
type member struct {
	role string
	now  *process
	// resting is closed when a stopped process was woken; nil if it runs.
	resting chan struct{}
}

func newChaos(t *testing.T, dsn string, s storm) *chaos {
	t.Helper()
	c := &chaos{lab: newLab(t, "crossref", dsn, 600, "--faults", "heavy", "--records", fmt.Sprint(s.records)), storm: s}
	c.schedule("* * * * *")
	c.slowDown(s.qps)
	c.brokers = startBrokers(t)
	return c
}

// begin starts the process of a member.
func (c *chaos) begin(m *member) {
	c.t.Helper()
	args := append([]string{"serve"}, strings.Fields(m.role)...)
	args = append(args, "--poll", "500ms", "--workers", fmt.Sprint(c.workers))
	if m.role == "relay" {
		args = append(args, "--events", c.brokers.targets())
	}
	m.now = c.lab.begin(args...)
}

// run is the whole of it.
func (c *chaos) run(server *patratest.Server, proxy *patratest.Proxy) {
	c.t.Helper()
	// Relays come first, for a target is told of what is stored since it was added.
	for _, role := range []string{"relay", "relay", "executor", "planner", "scheduler", "executor", "executor", "planner", "scheduler", "executor"} {
		m := &member{role: role}
		c.team = append(c.team, m)
		c.begin(m)
		for len(c.team) == 2 && c.ask(`SELECT COUNT(*) FROM ing_outbox_target WHERE kind_code IN ('nats','kafka')`) < 2 {
			c.mustLive()
			pause(50 * time.Millisecond)
		}
	}
	for c.pages() == 0 {
		c.mustLive()
		pause(50 * time.Millisecond)
	}
	undisturbed := c.watchCalm()
	began := time.Now()
	before := c.pages()
	c.rage(server, proxy)
	// What is there when the storm is over was stored in it.
	disturbed := float64(c.pages()-before) / time.Since(began).Seconds()
	c.t.Logf("pages a second: %.2f undisturbed, %.2f in the storm (%.0f s)", undisturbed, disturbed, time.Since(began).Seconds())
	if c.calm > 0 && disturbed < undisturbed/2 {
		c.t.Errorf("%.2f pages a second in the storm, %.2f undisturbed: less than half", disturbed, undisturbed)
	}
	c.settle()
	last := c.finish()
	c.brokers.waitFor(c.t, c.revisions())
	c.stop()
	if n := c.ask(`SELECT COUNT(*) FROM (SELECT 1 FROM ing_schedule_instance WHERE scheduler_code='patra' GROUP BY scheduler_job_id, scheduler_log_id HAVING COUNT(*)>1) d`); n != 0 {
		c.t.Errorf("%d times were triggered more than once", n)
	}
	if n := c.ask(`SELECT COUNT(*) FROM ing_plan a JOIN ing_plan b ON a.id<b.id AND a.window_from<b.window_to AND b.window_from<a.window_to AND a.operation_code='HARVEST' AND b.operation_code='HARVEST'`); n != 0 {
		c.t.Errorf("%d pairs of plans overlap", n)
	}
	if n := c.ask(`SELECT COUNT(*) FROM ing_outbox_held`); n != 0 {
		c.t.Errorf("%d messages were held back or parked", n)
	}
	c.t.Logf("%d processes killed, %d stopped, %d triggers, %d plans, %d records up to %s", c.killed, c.deed.zombies, c.triggers(), c.ask(`SELECT COUNT(*) FROM ing_plan`), c.ask(`SELECT COUNT(*) FROM ing_record`), last.Watermark)
	c.judge()
}

// quickenNowAndThen quickens at most once a second.
func (c *chaos) quickenNowAndThen() {
	c.t.Helper()
	if time.Since(c.quickenedAt) < time.Second {
		return
	}
	c.quickenedAt = time.Now()
	c.quicken()
}

// pages is how many were stored.
func (c *chaos) pages() int {
	c.t.Helper()
	return c.ask(`SELECT COUNT(*) FROM ing_task_run_batch WHERE status_code='SUCCEEDED'`)
}

func (c *chaos) triggers() int {
	c.t.Helper()
	return c.ask(`SELECT COUNT(*) FROM ing_schedule_instance WHERE scheduler_code='patra' AND outcome_code IN ('PLANNED','EXISTING','NOOP')`)
}

// mustLive fails the test if a process has ended by itself, and begins anew what was killed.
func (c *chaos) mustLive() {
	c.t.Helper()
	for _, m := range c.team {
		if !m.now.ended() {
			continue
		}
		if m.now.code() != -1 {
			c.t.Fatalf("%s ended with %d\n%s", m.role, m.now.code(), tail(m.now.err.String()))
		}
		c.begin(m)
	}
}

// watchCalm returns how many pages a second are stored while nothing is done.
func (c *chaos) watchCalm() float64 {
	c.t.Helper()
	if c.calm == 0 {
		return 0
	}
	began := time.Now()
	before := c.pages()
	for time.Since(began) < c.calm {
		c.mustLive()
		c.quickenNowAndThen()
		pause(time.Second)
	}
	return float64(c.pages()-before) / time.Since(began).Seconds()
}

// rage does things to all for as long as the storm lasts, and until enough were killed and the schedule came
// often enough.
func (c *chaos) rage(server *patratest.Server, proxy *patratest.Proxy) {
	c.t.Helper()
	began := time.Now()
	lastCut := began
	lastServer := began
	moved := c.triggers()
	serverDeeds := 0
	end := began.Add(c.lasts + time.Duration(c.ticks)*time.Minute + patience)
	for time.Since(began) < c.lasts || c.killed < c.kills || c.triggers() < c.ticks {
		if time.Now().After(end) {
			c.t.Fatalf("%d of %d triggers, %d tasks open\n%s", c.triggers(), c.ticks, c.openTasks(), tail(c.team[4].now.err.String()))
		}
		pause(time.Duration(300+c.dice.IntN(700)) * time.Millisecond)
		c.mustLive()
		c.quickenNowAndThen()
		if n := c.triggers(); n > moved { // something to do at the next time, too
			moved = n
			if c.deed.advances < maxAdvances {
				c.advance()
			}
		}
		m := c.team[c.dice.IntN(len(c.team))]
		switch {
		case time.Since(began) > c.lasts && c.killed >= c.kills: // only the schedule has yet to come
		case proxy != nil && time.Since(lastCut) > c.cuts:
			lastCut = time.Now()
			proxy.Cut()
			c.countForAll()
		case server != nil && time.Since(lastServer) > c.serverEvery:
			lastServer = time.Now()
			serverDeeds++
			c.harm(server, serverDeeds%2 == 1)
			c.countForAll()
		case c.dice.IntN(3) == 0:
			c.stopPastLease(m)
		case m.resting == nil:
			c.deed.kills++
			c.killed++
			m.now.end()
		}
	}
	c.wakeAll()
	c.mustLive()
}

// countForAll counts a deed that hits every executor.
func (c *chaos) countForAll() {
	for _, m := range c.team {
		if m.role == "executor" {
			c.deed.kills++
		}
	}
}

// harm kills the server and begins it again, or stops it for longer than a lease.
func (c *chaos) harm(server *patratest.Server, kill bool) {
	c.t.Helper()
	if kill {
		server.Kill()
		pause(time.Second)
		server.Start()
		return
	}
	server.Pause()
	pause(c.lease + time.Second)
	server.Resume()
}

// stopPastLease stops a process, and wakes it when its leases have run out.
func (c *chaos) stopPastLease(m *member) {
	if m.resting != nil {
		select {
		case <-m.resting:
			m.resting = nil
		default:
		}
		return
	}
	c.deed.zombies++
	stopped := m.now
	stopped.signal(syscall.SIGSTOP)
	woken := make(chan struct{})
	m.resting = woken
	time.AfterFunc(c.lease*2, func() {
		stopped.signal(syscall.SIGCONT)
		close(woken)
	})
}

// wakeAll waits until everybody who was stopped is awake.
func (c *chaos) wakeAll() {
	for _, m := range c.team {
		if m.resting != nil {
			<-m.resting
			m.resting = nil
		}
	}
}

// settle waits until nothing is open.
func (c *chaos) settle() {
	c.t.Helper()
	for end := time.Now().Add(patience); c.openTasks() > 0; pause(200 * time.Millisecond) {
		c.mustLive()
		c.quickenNowAndThen()
		if time.Now().After(end) {
			c.t.Fatalf("%d tasks are left open\n%s", c.openTasks(), tail(c.team[2].now.err.String()))
		}
	}
}

// stop asks everybody to stop, which all do in good order.
func (c *chaos) stop() {
	c.t.Helper()
	var all sync.WaitGroup
	for _, m := range c.team {
		for end := time.Now().Add(patience); !strings.Contains(m.now.err.String(), "patra: serving"); pause(20 * time.Millisecond) {
			if m.now.ended() || time.Now().After(end) {
				c.t.Fatalf("%s does not serve\n%s", m.role, tail(m.now.err.String()))
			}
		}
		m.now.signal(syscall.SIGTERM)
		all.Go(func() {
			select {
			case <-m.now.done:
			case <-time.After(patience):
				c.t.Errorf("%s did not end after SIGTERM\n%s", m.role, tail(m.now.err.String()))
				return
			}
			if m.now.code() != 0 {
				c.t.Errorf("%s ended with %d\n%s", m.role, m.now.code(), tail(m.now.err.String()))
			}
		})
	}
	all.Wait()
}
