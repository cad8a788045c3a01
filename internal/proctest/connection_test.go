package proctest

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/patratest"
)

// TestR88_DatabaseGoesAway: the server is killed and comes back, or all connections
// are cut again and again. `harvest` and `serve` end their work by themselves, with
// nothing lost and nothing twice; no role is begun again.
func TestR88_DatabaseGoesAway(t *testing.T) {
	t.Parallel()
	away := 3 * time.Second
	every := 300 * time.Millisecond
	cuts := 8
	if os.Getenv("PATRA_SOAK") != "" {
		away = 20 * time.Second
		every = 5 * time.Second
		cuts = 1000
	}
	for _, run := range []string{"harvest", "serve"} {
		t.Run(run+"/killed", func(t *testing.T) {
			t.Parallel()
			server := patratest.StartServer(t)
			l := newLab(t, "crossref", empty(t, server.Engine()), 500)
			l.survive(run, func() {
				server.Kill()
				pause(away)
				server.Start()
				l.deed.kills++
			})
		})
		t.Run(run+"/cut", func(t *testing.T) {
			t.Parallel()
			l := newLab(t, "crossref", empty(t, patratest.Servers()[0]), 501)
			var proxy *patratest.Proxy
			proxy, l.dsn = patratest.NewProxy(t, l.dsn)
			l.survive(run, func() {
				for range cuts {
					if l.openTasks() == 0 {
						break
					}
					proxy.Cut()
					l.deed.kills++
					pause(every)
				}
			})
		})
	}
}

// survive begins the work, does the harm once pages are being committed, and holds
// the process to ending it by itself.
func (l *lab) survive(run string, harm func()) {
	l.t.Helper()
	var p *process
	if run == "serve" {
		if out, err := l.command("plan", "create", l.source, "--base-url", l.sim+"/"+l.source).CombinedOutput(); err != nil {
			l.t.Fatalf("plan: %v\n%s", err, out)
		}
		p = l.serve("executor")
	} else {
		p = l.start()
	}
	alive := func() {
		if p.ended() {
			l.t.Fatalf("%s ended with %d\n%s\n%s", run, p.code(), p.out.String(), tail(p.err.String()))
		}
	}
	for l.ask(`SELECT COUNT(*) FROM ing_task_run_batch WHERE status_code='SUCCEEDED'`) < 3 {
		alive()
		pause(20 * time.Millisecond)
	}
	harm()
	for end := time.Now().Add(3 * time.Minute); l.openTasks() > 0; pause(50 * time.Millisecond) {
		alive()
		if time.Now().After(end) {
			l.t.Fatalf("%d tasks are left open\n%s", l.openTasks(), tail(p.err.String()))
		}
	}
	if run == "serve" {
		p.signal(syscall.SIGTERM)
	}
	select {
	case <-p.done:
	case <-time.After(time.Minute):
		l.t.Fatalf("%s does not end\n%s", run, tail(p.err.String()))
	}
	if p.code() != 0 || strings.Contains(p.err.String(), "role failed") {
		l.t.Errorf("%s ended with %d\n%s", run, p.code(), tail(p.err.String()))
	}
	l.judge()
}
