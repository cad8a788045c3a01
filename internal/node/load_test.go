package node_test

import (
	"database/sql"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// load is a harvest of a source under a load, in virtual time: the source takes ten requests
// a second, of which patra is told to use seven, with pages of seven of the ten that it
// could ask for.
type load struct {
	t   *testing.T
	rig *patratest.Rig
	db  *sql.DB
}

// loadPerSecond is what the source allows, and what patra is told to use.
const (
	vendorPerSecond = 10
	loadPerSecond   = 7
)

// newLoad sets a harvest up.
func newLoad(t *testing.T, records int, tweak func(*source.Spec)) *load {
	t.Helper()
	pack := patratest.ShippedPack(t, "crossref", func(s *source.Spec) {
		patratest.Fast(s)
		s.Rate.QPS = loadPerSecond
		s.Paging.Size = 7
		s.Window.Target = 70
		if tweak != nil {
			tweak(s)
		}
	})
	dsn := patratest.SQLite.SpareDSN(t)
	l := &load{t: t, db: patratest.Raw(t, dsn)}
	l.rig = patratest.NewRig(t, patratest.RigConfig{
		DSN:   dsn,
		Sim:   sim.Config{Sources: []string{"crossref"}, Records: records, Seed: 5, LimitRPS: vendorPerSecond, Latency: 200 * time.Millisecond},
		Packs: map[string]registry.Pack{"crossref": pack},
		Node:  node.Config{Workers: 4},
	})
	return l
}

// harvest reads all of the source, exactly, and returns how long that took.
func (l *load) harvest() time.Duration {
	l.t.Helper()
	began := time.Now()
	rep := l.rig.MustHarvest("crossref")
	took := time.Since(began)
	l.rig.MustBeExact("crossref", rep)
	if n := l.rig.Sim.Stats().Sources["crossref"].Breaches; n.Rate+n.Concurrency != 0 {
		l.t.Errorf("the limit was broken: %+v", n)
	}
	return took
}

// ask reads a number of what is stored.
func (l *load) ask(query string) (n float64) {
	l.t.Helper()
	if err := l.db.QueryRow(query).Scan(&n); err != nil {
		l.t.Fatalf("%s: %v", query, err)
	}
	return n
}

const (
	pagesStored   = `SELECT COUNT(*) FROM ing_task_run_batch WHERE status_code='SUCCEEDED'`
	requestsSent  = `SELECT SUM(sent) FROM ing_task_run_batch`
	repliesOf429  = `SELECT SUM(http_429) FROM ing_task_run_batch`
	repliesOf5xx  = `SELECT SUM(http_5xx) FROM ing_task_run_batch`
	pagesThatFail = `SELECT COUNT(*) FROM ing_task_run_batch WHERE status_code='FAILED'`
	meanLatency   = `SELECT AVG(JSON_EXTRACT(stats, '$.latencyMs')) FROM ing_task_run_batch WHERE status_code='SUCCEEDED'`
	slicesCut     = `SELECT COUNT(*) FROM ing_plan_slice WHERE status_code='RESLICED'`
)

// TestFigures_BaselineAtSevenTenths: at seven tenths of what a source allows, with pages of
// seven tenths of the largest, no reply is a complaint, none fails, a page takes what the
// source takes for it, and the rate is used.
func TestFigures_BaselineAtSevenTenths(t *testing.T) {
	t.Parallel()
	servedBubble(t, func(t *testing.T) {
		l := newLoad(t, 700, nil)
		took := l.harvest()
		requests := l.rig.Sim.Stats().Sources["crossref"].Requests // those of the planner too
		rate := float64(requests) / took.Seconds()
		latency := l.ask(meanLatency)
		t.Logf("%.0f pages, %d requests in %s: %.2f a second; %.0f ms a page, %.0f replies 429, %.0f 5xx, %.0f pages failed",
			l.ask(pagesStored), requests, took, rate, latency, l.ask(repliesOf429), l.ask(repliesOf5xx), l.ask(pagesThatFail))
		if l.ask(repliesOf429)+l.ask(repliesOf5xx)+l.ask(pagesThatFail) != 0 {
			t.Error("something failed, though the limit was kept")
		}
		if latency < 200 || latency > 220 {
			t.Errorf("a page takes %.0f ms where the source takes 200", latency)
		}
		if rate < 0.9*loadPerSecond || rate > 1.01*loadPerSecond {
			t.Errorf("%.2f requests a second of %d", rate, loadPerSecond)
		}
	})
}

// TestFigures_TheLimitFalls: a source that suddenly takes one request a second for five minutes
// is asked less at once and is not hammered; nothing is lost, and the rate comes back.
func TestFigures_TheLimitFalls(t *testing.T) {
	t.Parallel()
	servedBubble(t, func(t *testing.T) {
		l := newLoad(t, 2500, nil)
		from, to := time.Now().Add(10*time.Second), time.Now().Add(5*time.Minute)
		var mu sync.Mutex
		var last time.Time
		asked, refused := 0, 0
		l.rig.Sim.Script(sim.Script{Fault: sim.HTTP429, Source: "crossref", Times: -1, When: func(*http.Request) bool {
			mu.Lock()
			defer mu.Unlock()
			now := time.Now()
			if now.Before(from) || now.After(to) {
				return false
			}
			asked++
			if now.Sub(last) < time.Second {
				refused++
				return true
			}
			last = now
			return false
		}})
		took := l.harvest()
		t.Logf("%.0f requests in %s, %d of them while one a second was allowed, %d refused", l.ask(requestsSent), took, asked, refused)
		if refused == 0 || refused > asked/20 {
			t.Errorf("%d of %d requests were refused", refused, asked)
		}
		if used := float64(asked-refused) / to.Sub(from).Seconds(); used < 0.6 {
			t.Errorf("%.2f a second were used of one", used)
		}
	})
}

// TestFigures_TheNetworkIsUnsteady: replies of which one in five takes five seconds, and six of
// a hundred break off or never come, are asked for again, or their walk is, where the source
// holds its place: nothing is lost, no slice is given up, and it costs less than half as many
// requests again.
func TestFigures_TheNetworkIsUnsteady(t *testing.T) {
	t.Parallel()
	servedBubble(t, func(t *testing.T) {
		l := newLoad(t, 1000, nil)
		rates := map[sim.Fault]float64{sim.ResetBeforeHeader: .02, sim.ResetMidBody: .02, sim.TruncatedBody: .02, sim.Slow: .2}
		if err := l.rig.Sim.SetFaults(sim.Faults{Rates: rates, DelayMS: 5000}); err != nil {
			t.Fatal(err)
		}
		took := l.harvest()
		pages, failed := l.ask(pagesStored), l.ask(pagesThatFail)
		t.Logf("%.0f pages and %.0f requests in %s, %.0f pages failed, %.0f slices cut", pages, l.ask(requestsSent), took, failed, l.ask(slicesCut))
		if n := l.ask(`SELECT COUNT(*) FROM ing_plan_slice WHERE status_code='FAILED'`); n != 0 {
			t.Errorf("%.0f slices were given up", n)
		}
		steady := newLoad(t, 1000, nil)
		steady.harvest()
		if sent, usual := l.ask(requestsSent), steady.ask(requestsSent); sent > 1.5*usual {
			t.Errorf("%.0f requests where %.0f are usual", sent, usual)
		}
	})
}

// TestFigures_RepliesAreLarge: where pages are heavier than the source's own bound, slices are
// cut while they are read and the pages of their parts are smaller: nothing is lost, and it takes
// less than two and a half times the requests, of which twice are for pages of half the size.
func TestFigures_RepliesAreLarge(t *testing.T) {
	t.Parallel()
	servedBubble(t, func(t *testing.T) {
		plain := newLoad(t, 700, nil)
		plain.harvest()
		heaviest := plain.ask(`SELECT MAX(bytes) FROM ing_task_run_batch`)
		usual := plain.ask(requestsSent)
		l := newLoad(t, 700, func(s *source.Spec) { s.Cuts.PageBytes = source.Size(0.7 * heaviest) })
		took := l.harvest()
		t.Logf("%.0f requests in %s where %.0f are usual, %.0f slices cut", l.ask(requestsSent), took, usual, l.ask(slicesCut))
		if l.ask(slicesCut) == 0 {
			t.Error("nothing was cut")
		}
		if sent := l.ask(requestsSent); sent > 2.5*usual {
			t.Errorf("%.0f requests where %.0f are usual", sent, usual)
		}
	})
}
