package node_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/app/role"
	"github.com/papertrace/patra/internal/app/scheduler"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sourcefile"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

const servedPack = `source: generic
name: Generic
baseUrl: http://oracle/generic
recordType: item
identity: TEXT
http: {allowHttp: true, allowPrivate: true}
rateLimit: {limit: 10, window: 1s, qps: %s, burst: 1}
window: {key: updated, filters: {from: updated, to: updated}, precision: SECOND, bound: OPEN, updatedAt: PATH, safetyLag: 10m, baseline: 60d, step: 60d, minStep: 1h, overlap: 1h}
pagination: {type: TOKEN, pageSize: 10, total: ROUGH, end: NO_TOKEN}
endpoints:
  items:
    usage: SEARCH
    path: /items
    format: JSON
    query: {from: "${iso(window.from)}", to: "${iso(window.to)}", style: token, size: "${page.size}", token: "${page.token}"}
    response: {items: items, total: total, id: id, updatedAt: {path: updated, format: RFC3339, key: updated}, version: v, nextToken: next_token, signals: {error: error}}
  count:
    usage: COUNT
    path: /items
    format: JSON
    query: {from: "${iso(window.from)}", to: "${iso(window.to)}", style: offset, size: "1", only: count}
    response: {root: total, total: total}
mapping: {fields: {title: title, url: id}, volatile: [updated, v, reads]}
schedule: %s
`

// served is a node that serves a scheduled source of the oracle, in a bubble.
type served struct {
	*node.Node
	t      *testing.T
	dsn    string
	oracle *sim.Sim
	packs  map[string]registry.Described
	poll   time.Duration
	// healing, if set, keeps the log.
	healing *healingLog

	mu       sync.Mutex
	requests []time.Time      // guarded by mu
	refuse   int              // the request that is refused, if not 0
	date     func() time.Time // what replies say the time is; nil: what it is
	// instead, if it returns a reply, is heard in place of the oracle.
	instead func(*http.Request) *http.Response
	events  []scheduler.Event
}

func newServed(t *testing.T, qps, schedule string, cfg sim.Config) *served {
	t.Helper()
	cfg.Sources = []string{sim.Generic}
	cfg.Seed = 7
	cfg.LimitRPS = -1
	cfg.KeepLog = -1
	cfg.Now = time.Now()
	o, err := sim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	p, err := sourcefile.Parse("generic.yaml", fmt.Appendf(nil, servedPack, qps, schedule))
	if err != nil {
		t.Fatal(err)
	}
	s := &served{t: t, oracle: o, poll: 20 * time.Second, packs: map[string]registry.Described{"generic": {Definition: p.Definition, Hash: p.Hash(), Origin: registry.File}}}
	s.dsn = patratest.SQLite.SpareDSN(t)
	store := patratest.Open(t, s.dsn, sqlstore.Options{})
	s.assemble(store)
	return s
}

func (s *served) assemble(store *sqlstore.Store) {
	s.Node = node.Assemble(node.Config{Workers: 2, Poll: s.poll, Logger: patratest.Logger(s.t)}, store, registry.New(store, registry.Read(s.packs), nil, node.CheckSpec, patratest.Logger(s.t)), s)
}

// RoundTrip implements http.RoundTripper: the oracle's clock is the bubble's.
func (s *served) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.requests = append(s.requests, time.Now())
	refused := s.refuse == len(s.requests)
	s.mu.Unlock()
	if refused {
		return &http.Response{StatusCode: http.StatusBadRequest, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
	}
	if s.instead != nil {
		if resp := s.instead(r); resp != nil {
			return resp, nil
		}
	}
	s.oracle.Advance(time.Since(s.oracle.Now()))
	resp, err := patratest.Direct{Handler: s.oracle}.RoundTrip(r)
	if err == nil && s.date != nil {
		resp.Header.Set("Date", s.date().UTC().Format(http.TimeFormat))
	}
	return resp, err
}

// begin serves until the returned function is called, which reports how long
// the end took.
func (s *served) begin(roles ...role.Role) (stop func() time.Duration) {
	ctx, cancel := context.WithCancel(s.t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- s.Serve(ctx, node.ServeConfig{Roles: roles, Poll: s.poll, Triggers: func(ev scheduler.Event) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.events = append(s.events, ev)
		}})
	}()
	return func() time.Duration {
		began := time.Now()
		cancel()
		if err := <-ended; err != nil {
			s.t.Error(err)
		}
		return time.Since(began)
	}
}

func (s *served) watermark() time.Time {
	s.t.Helper()
	all, err := s.Store.Coverage(s.t.Context(), "generic")
	if err != nil || len(all) != 1 {
		s.t.Fatalf("%d namespaces, %v", len(all), err)
	}
	return all[0].Watermark.Time()
}

// TestServe_HarvestsEveryHour: every hour is planned and harvested,
// and what the store holds then is what the oracle has.
func TestServe_HarvestsEveryHour(t *testing.T) {
	t.Parallel()
	servedBubble(t, func(t *testing.T) {
		s := newServed(t, "5", `{harvest: "@hourly"}`, sim.Config{Records: 100, Churn: &sim.Churn{New: 200, Changed: 100}})
		stop := s.begin(role.All...)
		time.Sleep(8*time.Hour + 30*time.Minute)
		if took := stop(); took > 10*time.Second {
			t.Errorf("took %s to stop", took)
		}
		planned := 0
		for _, ev := range s.events {
			if ev.Kind != scheduler.Triggered {
				t.Errorf("%+v", ev)
			} else if ev.Plan != 0 {
				planned++
			}
		}
		if len(s.events) != 8 || planned != 8 {
			t.Errorf("%d triggers, %d plans", len(s.events), planned)
		}
		want, w := time.Date(2000, 1, 1, 7, 50, 0, 0, time.UTC), s.watermark()
		if w.Before(want) || w.After(want.Add(5*time.Minute)) { // the safety lag is tuned down meanwhile (M19)
			t.Errorf("watermark %s, want %s", w, want)
		}
		patratest.MustEqual(t, s.Store, s.oracle, "generic", w)
		patratest.MustVerify(t, s.Store)
	})
}

// TestP20_NothingIsAskedInQuietHours: quiet hours begin while a slice is walked.
// No request is made in them, what waits says why and until when, and the walk
// goes on after them.
func TestP20_NothingIsAskedInQuietHours(t *testing.T) {
	t.Parallel()
	patratest.Long(t, "a matrix of cases without concurrency")
	servedBubble(t, func(t *testing.T) {
		s := newServed(t, "0.1", `{harvest: "@hourly", zone: America/New_York, quiet: [{from: "20:02", to: "23:30"}]}`, sim.Config{Records: 300, Churn: &sim.Churn{}})
		quietFrom, quietTo := time.Date(2000, 1, 1, 1, 2, 0, 0, time.UTC), time.Date(2000, 1, 1, 4, 30, 0, 0, time.UTC)
		stop := s.begin(role.All...)
		time.Sleep(2 * time.Hour)
		w, err := s.Control.Work(t.Context(), "generic", harvest.Harvest)
		if err != nil || w.Ready != 0 || w.Leased != 0 || w.Later == 0 || w.NextCode != "quiet_hours" || !w.NextAt.Equal(quietTo) {
			t.Errorf("what waits says %+v, %v", w, err)
		}
		if _, err := s.Control.Harvest(t.Context(), control.HarvestRequest{Source: "generic"}); err == nil || !strings.Contains(err.Error(), "left alone until 2000-01-01T04:30:00") {
			t.Errorf("by hand: %v", err)
		}
		time.Sleep(3 * time.Hour)
		stop()
		before, after := 0, 0
		for _, at := range s.requests {
			switch {
			case at.Before(quietFrom):
				before++
			case at.Before(quietTo):
				t.Errorf("asked at %s", at.UTC().Format(time.TimeOnly))
			default:
				after++
			}
		}
		if before < 5 || after < 20 {
			t.Errorf("%d requests before, %d after: the border was not in the middle of a walk", before, after)
		}
		var leases int
		if err := patratest.Raw(t, s.dsn).QueryRow(`SELECT MAX(attempts) FROM ing_task`).Scan(&leases); err != nil || leases != 2 {
			t.Errorf("a task was taken %d times, %v: want once before and once after", leases, err)
		}
		patratest.MustEqual(t, s.Store, s.oracle, "generic", s.watermark())
		patratest.MustVerify(t, s.Store)
	})
}

// TestServe_QueuesFailedSlicesAgain: a slice that was refused is tried again
// when its rest is over, though nobody triggers anything (R4).
func TestServe_QueuesFailedSlicesAgain(t *testing.T) {
	t.Parallel()
	servedBubble(t, func(t *testing.T) {
		s := newServed(t, "5", `{harvest: "@hourly"}`, sim.Config{Records: 100, Churn: &sim.Churn{}})
		s.refuse = 3
		stop := s.begin(role.All...)
		time.Sleep(time.Hour + 50*time.Second)
		gaps, _, err := s.Store.Gaps(t.Context(), control.GapQuery{Source: "generic"})
		if err != nil || len(gaps) != 1 {
			t.Errorf("%d gaps, %v", len(gaps), err)
		}
		time.Sleep(5 * time.Minute)
		stop()
		if gaps, _, err := s.Store.Gaps(t.Context(), control.GapQuery{Source: "generic"}); err != nil || len(gaps) != 0 {
			t.Errorf("%d gaps left, %v", len(gaps), err)
		}
		patratest.MustEqual(t, s.Store, s.oracle, "generic", s.watermark())
	})
}

// TestServe_GoesOnWithPartialPlans: a plan that stopped because enough was open
// is planned to its end without another trigger.
func TestServe_GoesOnWithPartialPlans(t *testing.T) {
	t.Parallel()
	servedBubble(t, func(t *testing.T) {
		s := newServed(t, "5", `{harvest: "@hourly"}`, sim.Config{Records: 300, Churn: &sim.Churn{}})
		d := s.packs["generic"]
		win := *d.Definition.Window
		win.MaxOpen = 4
		win.Target = 10
		win.Step = source.Duration(24 * time.Hour)
		d.Definition.Window = &win
		s.packs["generic"] = d
		stop := s.begin(role.All...)
		time.Sleep(time.Hour + 55*time.Minute)
		stop()
		if len(s.events) != 1 {
			t.Errorf("%d triggers", len(s.events))
		}
		if w, want := s.watermark(), time.Date(2000, 1, 1, 0, 50, 0, 0, time.UTC); !w.Equal(want) {
			t.Errorf("watermark %s, want %s", w, want)
		}
		patratest.MustEqual(t, s.Store, s.oracle, "generic", s.watermark())
		patratest.MustVerify(t, s.Store)
	})
}

func TestParseRoles(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "[scheduler planner executor relay console]", "all": "[scheduler planner executor relay console]", "executor scheduler": "[scheduler executor]", "Planner": "[planner]",
		"relay": "[relay]", "console executor": "[executor console]", "sheduler": "not a role",
	} {
		roles, err := node.ParseRoles(strings.Fields(in))
		if got := fmt.Sprint(roles, err); !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

var servedWarm sync.Once

func servedBubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	servedWarm.Do(func() {
		patratest.NewRig(t, patratest.RigConfig{DSN: "sqlite:" + filepath.Join(t.TempDir(), "warm.db"), Sim: sim.Config{Records: 5, LimitRPS: -1}}).MustHarvest("crossref")
	})
	synctest.Test(t, f)
}
