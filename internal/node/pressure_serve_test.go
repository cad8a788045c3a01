package node_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/app/role"
	"github.com/papertrace/patra/internal/app/scheduler"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// keptLog keeps what is logged.
type keptLog struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (k *keptLog) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.text.Write(p)
}

func (k *keptLog) count(line string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return strings.Count(k.text.String(), line)
}

// TestHealing_ServePlansNothingWhileTheDatabaseIsSlow: a schedule that is due while writes
// take over 3 s is not planned, which the log says and a metric counts, each once; when
// writes are quick again it is planned by itself.
func TestHealing_ServePlansNothingWhileTheDatabaseIsSlow(t *testing.T) {
	t.Parallel()
	servedBubble(t, func(t *testing.T) {
		s := newServed(t, "5", `{harvest: "@hourly"}`, sim.Config{Records: 20, Churn: &sim.Churn{}})
		var slow atomic.Bool
		store := patratest.Open(t, s.dsn, sqlstore.Options{Hook: func(point string) error {
			if point == "before commit" && slow.Load() {
				time.Sleep(4 * time.Second)
			}
			return nil
		}})
		log := &keptLog{}
		logger := slog.New(slog.NewTextHandler(log, nil))
		s.Node = node.Assemble(node.Config{Workers: 2, Poll: s.poll, Logger: logger}, store,
			registry.New(store, registry.Read(s.packs), nil, node.CheckSpec, logger), s)
		planned := func() (n int) {
			s.mu.Lock()
			defer s.mu.Unlock()
			for _, ev := range s.events {
				if ev.Kind == scheduler.Triggered && ev.Plan != 0 {
					n++
				}
			}
			return n
		}
		paused := func(times int, when string) {
			t.Helper()
			text, err := s.Metrics(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			const metric = `patra_ingest_self_heal_events_total{type="plannerPaused"} `
			if !strings.Contains(string(text), metric+fmt.Sprintln(times)) {
				t.Errorf("%s: %s%d is not told", when, metric, times)
			}
			if n := log.count("nothing is planned for a while"); n != times {
				t.Errorf("%s: the log says so %d times, want %d", when, n, times)
			}
		}
		stop := s.begin(role.All...)
		time.Sleep(57 * time.Minute)
		paused(0, "before")
		slow.Store(true)
		for time.Since(time.Date(2000, 1, 1, 1, 4, 0, 0, time.UTC)) < 0 { // other work that the database is slow for
			if err := store.NoteSkew(t.Context(), "another", 0); err != nil {
				t.Fatal(err)
			}
		}
		paused(1, "slow")
		if n := planned(); n != 0 {
			t.Errorf("%d plans were made while the database was slow", n)
		}
		slow.Store(false)
		time.Sleep(5 * time.Minute)
		paused(1, "quick again")
		if n := planned(); n != 1 || log.count("the database is quick enough to plan again") != 1 {
			t.Errorf("%d plans were made when it was quick again", n)
		}
		stop()
		patratest.MustVerify(t, s.Store)
	})
}
