package storetest_test

import (
	"cmp"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
	"github.com/papertrace/patra/internal/storetest"
)

// TestSweep is the proof of the commit protocol: a harvest in which the store
// fails once at its k-th point, or is dead from there on, for every k until one
// completes untouched. A point is the moment before or after a statement or a
// commit, so that "after commit" is a commit whose success nobody learned of.
// After each a new process goes on until nothing is left: the integrity check
// is clean and the store equals the oracle.
//
// On SQLite every k runs, in virtual time. On the servers every commit and each
// 19th other point does; PATRA_SOAK=1 runs them all. Under the race detector
// only each 19th point runs.
func TestSweep(t *testing.T) {
	patratest.EachEngine(t, func(t *testing.T, e patratest.Engine) {
		for _, code := range []string{"pubmed", "crossref"} {
			for _, mode := range []string{"fail", "kill"} {
				t.Run(code+"/"+mode, func(t *testing.T) { sweep(t, e, code, mode) })
			}
		}
	})
}

// TestR88_CutAtEveryPoint is the sweep with lost connections: at its k-th point
// every connection to the server is cut. The harvest does not fail, it goes on by
// itself on new ones and ends exact. Only where COMMIT is under way is its run given
// back, to be taken again from what the store says.
func TestR88_CutAtEveryPoint(t *testing.T) {
	for _, e := range []patratest.Engine{patratest.MySQL, patratest.MariaDB} {
		for _, code := range []string{"pubmed", "crossref"} {
			t.Run(e.Name+"/"+code, func(t *testing.T) { sweep(t, e, code, "cut") })
		}
	}
}

func sweep(t *testing.T, e patratest.Engine, code, mode string) {
	dsn := e.DSN(t)
	db := storetest.OpenSQL(t, dsn)
	var tables []string
	s := &sweeper{code: code, kill: mode == "kill", bubble: e == patratest.SQLite, packs: map[string]registry.Pack{code: patratest.ShippedPack(t, code, smallPages)}}
	every := 1
	if os.Getenv("PATRA_SOAK") == "" && (!s.bubble || storetest.Race || testing.Short()) {
		every = 19
	}
	if mode == "cut" {
		s.proxy, dsn = patratest.NewProxy(t, dsn)
	}
	// A clean run tells how many points and requests there are.
	if s.bubble {
		patratest.Open(t, dsn, sqlstore.Options{}) // makes the schema outside the bubble
	}
	tables = storetest.Tables(t, db)
	clean := s.run(t, dsn, 0)
	if len(clean.points) < 60 {
		t.Fatalf("only %d points", len(clean.points))
	}
	ran := 0
	for k := 1; ; k++ {
		if k <= len(clean.points) && k%every != 0 && (storetest.Race || !strings.HasSuffix(clean.points[k-1], "commit")) {
			continue
		}
		ran++
		storetest.Clear(t, db, tables)
		out := s.run(t, dsn, k)
		if t.Failed() {
			t.Fatalf("at point %d of %d, %q (first run: %v)", k, len(clean.points), out.at, out.first)
		}
		if over := out.requests - clean.requests; over > s.mayRepeat(clean) {
			t.Fatalf("at point %d, %q: %d requests more than a clean run's %d", k, out.at, over, clean.requests)
		}
		if out.at == "" {
			break // untouched
		}
	}
	t.Logf("%d of %d points, %d requests", ran, len(clean.points), clean.requests)
}

// sweeper runs one harvest and its recovery.
type sweeper struct {
	code   string
	kill   bool
	bubble bool
	proxy  *patratest.Proxy // cuts connections instead of failing; nil unless it is that
	packs  map[string]registry.Pack
}

type outcome struct {
	points   []string // of the first process
	at       string   // where it failed, empty if nowhere
	first    error
	requests int
}

// mayRepeat is how many requests one crash may cost: the count of the new plan,
// and the page in flight with the one asked for while it was committed. Where
// the server holds the position the walk begins again.
func (s *sweeper) mayRepeat(clean outcome) int {
	if s.code == "crossref" {
		return 1 + clean.requests
	}
	return 1 + 2
}

func (s *sweeper) run(t *testing.T, dsn string, k int) (out outcome) {
	if !s.bubble {
		return s.once(t, dsn, k, 150*time.Millisecond)
	}
	synctest.Test(t, func(t *testing.T) { out = s.once(t, dsn, k, time.Minute) })
	return out
}

func (s *sweeper) once(t *testing.T, dsn string, k int, ttl time.Duration) (out outcome) {
	var mu sync.Mutex
	hook := func(p string) error {
		mu.Lock()
		defer mu.Unlock()
		out.points = append(out.points, p)
		n := len(out.points)
		if k == 0 || n < k || n > k && !s.kill {
			return nil
		}
		out.at = cmp.Or(out.at, p)
		if s.proxy != nil {
			s.proxy.Cut()
			return nil
		}
		return errors.New("the store is gone")
	}
	cfg := patratest.RigConfig{
		DSN: dsn, Hook: hook, Sim: sim.Config{Records: 40, Seed: 11, Now: time.Now().Add(-60 * 24 * time.Hour).Truncate(24 * time.Hour).Add(16 * time.Hour), LimitRPS: -1, Span: 3 * 24 * time.Hour, Sources: []string{s.code}},
		Packs: s.packs,
		Node:  node.Config{LeaseTTL: ttl, Poll: ttl / 10, Workers: 1},
	}
	r := patratest.NewRig(t, cfg)
	rep, err := r.Harvest(t.Context(), s.code)
	out.first = err
	mu.Lock()
	k = 0 // from here on the hook is quiet
	mu.Unlock()
	if cerr := r.Node.Close(); cerr != nil {
		t.Errorf("close: %v", cerr)
	}
	if (out.at == "" || s.proxy != nil) && err != nil {
		t.Errorf("it did not end by itself: %v", err)
	}
	if out.at != "" && s.proxy == nil {
		// A new process, once the lease of the dead one has run out.
		time.Sleep(ttl + ttl/10)
		cfg.Hook, cfg.Oracle = nil, r.Sim
		r = patratest.NewRig(t, cfg)
		if rep, err = r.Harvest(t.Context(), s.code); err != nil {
			t.Errorf("recovery: %v", err)
		}
	} else {
		cfg.Hook, cfg.Oracle = nil, r.Sim
		r = patratest.NewRig(t, cfg)
	}
	if rep == nil || rep.Watermark == nil {
		t.Errorf("no watermark")
		return out
	}
	if rep.Slices.Open+rep.Slices.Failed > 0 {
		t.Errorf("slices left: %+v", rep.Slices)
	}
	r.MustBeExact(s.code, rep)
	out.requests = len(r.Sim.Requests())
	// Hundreds of points, each with its connections: none may outlive its own.
	if err := r.Node.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	return out
}

// smallPages makes several pages of few records: one slice with three pages of
// details, or one of several pages.
func smallPages(s *source.Spec) {
	patratest.Fast(s)
	s.Window.Baseline = source.Duration(4 * 24 * time.Hour)
	s.Batching.IDs = 8
	if s.Detail == nil {
		s.Paging.Size = 10
	}
}
