package proctest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/patratest"
)

// What the source allows in a second, and what of it the pack makes use of. The gap between both is what
// requests may be late by, which is much: all machines that run tests are busy.
const (
	ratedLimit  = 5
	ratedQPS    = 3
	ratedJitter = "200ms"
)

// TestR86_FourProcessesUseTheRate: four executors share what a source allows for a minute, in which the server of the database is
// stopped twice. The source counts no breach, and while the server answers nearly all of the rate is used.
func TestR86_FourProcessesUseTheRate(t *testing.T) {
	t.Parallel()
	const lasts, stops, stopped = time.Minute, 2, 4 * time.Second
	server := patratest.StartServer(t)
	l := newLab(t, "crossref", empty(t, server.Engine()), 800, "--records", "12000", "--limit-rps", fmt.Sprint(ratedLimit))
	l.rewrite("target: 120", "target: 900", fmt.Sprintf("limit: %d\n", simLimit), fmt.Sprintf("limit: %d\n", ratedLimit),
		fmt.Sprintf("qps: %d\n", packRate), fmt.Sprintf("qps: %d\n  jitter: %s\n", ratedQPS, ratedJitter))
	l.lease = 30 * time.Second
	if out, err := l.command("plan", "create", l.source, "--base-url", l.sim+"/"+l.source).CombinedOutput(); err != nil {
		t.Fatalf("plan: %v\n%s", err, out)
	}
	var team []*process
	for range 4 {
		team = append(team, l.serve("executor"))
	}
	planned := l.stats().Requests
	for end := time.Now().Add(patience); l.stats().Requests < planned+4; pause(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("nothing is asked\n%s", tail(team[0].err.String()))
		}
	}
	began := time.Now()
	before := l.stats().Requests
	for range stops {
		pause(lasts/(stops+1) - stopped)
		server.Pause()
		pause(stopped)
		server.Resume()
	}
	pause(lasts - time.Since(began))
	sent := l.stats().Requests - before
	answered := time.Since(began) - stops*stopped
	used := float64(sent) / (ratedQPS * answered.Seconds())
	if l.openTasks() == 0 {
		t.Fatal("there was not enough to do")
	}
	for _, p := range team {
		p.signal(syscall.SIGTERM)
	}
	for _, p := range team {
		<-p.done
		if p.code() != 0 {
			t.Errorf("ended with %d\n%s", p.code(), tail(p.err.String()))
		}
	}
	s := l.stats()
	if s.Breaches.Rate+s.Breaches.Concurrency != 0 {
		t.Errorf("limits were broken: %+v", s.Breaches)
	}
	t.Logf("%d requests in %.0f s while the server answered: %.2f of the rate, breaches %+v", sent, answered.Seconds(), used, s.Breaches)
	if used < 0.85 {
		t.Errorf("%.2f of the rate was used", used)
	}
}

// rewrite changes the pack: each text that is there once, for the one behind it.
func (l *lab) rewrite(pairs ...string) {
	l.t.Helper()
	name := filepath.Join(l.packs, l.source+".yaml")
	b, err := os.ReadFile(name)
	if err != nil {
		l.t.Fatal(err)
	}
	text := string(b)
	for i := 0; i < len(pairs); i += 2 {
		if strings.Count(text, pairs[i]) != 1 {
			l.t.Fatalf("the pack has %q not once", pairs[i])
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
}
