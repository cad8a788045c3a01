package node_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/reconcile"
	"github.com/papertrace/patra/internal/app/role"
	"github.com/papertrace/patra/internal/app/scheduler"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// during answers with a status in place of the oracle from one instant to another.
func during(from, to time.Time, status int) func(*http.Request) *http.Response {
	return func(r *http.Request) *http.Response {
		if now := time.Now(); now.Before(from) || !now.Before(to) {
			return nil
		}
		return &http.Response{StatusCode: status, Header: http.Header{"Date": {time.Now().UTC().Format(http.TimeFormat)}}, Body: http.NoBody, Request: r}
	}
}

// within lists the requests from one instant to another.
func (s *served) within(from, to time.Time) (out []time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range s.requests {
		if !at.Before(from) && at.Before(to) {
			out = append(out, at)
		}
	}
	return out
}

// TestR70_TenDeadMinutes: a whole node, planner and executor, while its upstream
// answers nothing but 503 for ten minutes, from some search on or before anything
// is planned. After three failures, each after its repetitions, there is silence
// for one minute, two, four, each ended by one question. What waits says
// circuit_open, and all is there in the end.
func TestR70_TenDeadMinutes(t *testing.T) {
	t.Parallel()
	for name, search := range map[string]int{"in the middle of walks": 5, "before the plan": 0} {
		t.Run(name, func(t *testing.T) {
			servedBubble(t, func(t *testing.T) {
				s := newServed(t, "2", `{harvest: "@hourly"}`, sim.Config{Records: 400, Churn: &sim.Churn{}})
				d := s.packs["generic"]
				win := *d.Definition.Window
				win.Target = 40
				d.Definition.Window = &win
				s.packs["generic"] = d
				var dead time.Time // guarded by the bubble: one request at a time
				searches := 0
				s.instead = func(r *http.Request) *http.Response {
					if r.URL.Query().Get("only") != "count" {
						searches++
					}
					if dead.IsZero() && searches >= search {
						dead = time.Now()
					}
					return during(dead, dead.Add(10*time.Minute), http.StatusServiceUnavailable)(r)
				}
				stop := s.begin(role.All...)
				time.Sleep(time.Hour + 8*time.Minute)
				w, err := s.Control.Work(t.Context(), "generic", harvest.Harvest)
				if err != nil || search > 0 && (w.Later == 0 || w.NextCode != harvest.CodeBroken) {
					t.Errorf("what waits says %+v, %v", w, err)
				}
				time.Sleep(45 * time.Minute)
				stop()
				asked := s.within(dead, dead.Add(10*time.Minute))
				if len(asked) >= 120 || len(asked) < 15 {
					t.Errorf("%d requests in ten dead minutes", len(asked))
				}
				var silences []time.Duration
				for i, at := range asked[1:] {
					if d := at.Sub(asked[i]); d >= 50*time.Second {
						silences = append(silences, d.Round(time.Minute))
					}
				}
				t.Logf("%d requests, silences of %v", len(asked), silences)
				// Who was asking when the rest began may end its repetitions in it.
				if n := len(silences); search > 0 && (n < 2 || silences[n-2] != 2*time.Minute || silences[n-1] != 4*time.Minute) {
					t.Errorf("silences of %v", silences)
				}
				patratest.MustEqual(t, s.Store, s.oracle, "generic", s.watermark())
				patratest.MustVerify(t, s.Store)
			})
		})
	}
}

// TestR70_PlannersRequestsCount: a planner that is alone opens the breaker, too,
// and is told to wait by an open one without a request.
func TestR70_PlannersRequestsCount(t *testing.T) {
	t.Parallel()
	servedBubble(t, func(t *testing.T) {
		s := newServed(t, "5", `{harvest: "@hourly"}`, sim.Config{Records: 50, Churn: &sim.Churn{}})
		began := time.Now()
		s.instead = during(began, began.Add(time.Hour), http.StatusBadGateway)
		plan := func() harvest.Code {
			_, err := s.Planner.Plan(t.Context(), harvest.Trigger{Provenance: "generic", Operation: harvest.Harvest, Kind: "MANUAL"})
			f, _ := harvest.FaultOf(err)
			return f.Code
		}
		for i := range 2 { // a count and a first page; then the count that is the third
			if code := plan(); code != "http_502" {
				t.Errorf("plan %d ends with %q", i+1, code)
			}
		}
		sent := len(s.requests)
		if code := plan(); code != harvest.CodeBroken || len(s.requests) != sent {
			t.Errorf("%q and %d requests while the partition rests", code, len(s.requests)-sent)
		}
		time.Sleep(time.Minute)
		if code := plan(); code != "http_502" || len(s.requests) == sent {
			t.Errorf("%q instead of a try after a minute", code)
		}
		sent = len(s.requests)
		time.Sleep(time.Minute)
		if code := plan(); code != harvest.CodeBroken || len(s.requests) != sent {
			t.Errorf("%q and %d requests a minute after the try", code, len(s.requests)-sent)
		}
		time.Sleep(time.Hour)
		if code := plan(); code != "" {
			t.Errorf("%q when all is well again", code)
		}
	})
}

// TestR65_RefusedCountStopsTheSource: 401 on the count. One request, and the
// source is stopped: no role sends another for a day. When it was resumed it
// goes on.
func TestR65_RefusedCountStopsTheSource(t *testing.T) {
	t.Parallel()
	servedBubble(t, func(t *testing.T) {
		s := newServed(t, "5", `{harvest: "@hourly", sentinel: true}`, sim.Config{Records: 100, Churn: &sim.Churn{New: 200}})
		s.poll = 5 * time.Minute
		s.assemble(s.Store)
		began := time.Now()
		s.instead = during(began, began.Add(25*time.Hour), http.StatusUnauthorized)
		stop := s.begin(role.All...)
		time.Sleep(25 * time.Hour)
		if len(s.requests) != 1 {
			t.Errorf("%d requests", len(s.requests))
		}
		st, err := s.Store.SourceState(t.Context(), "generic")
		if err != nil || !st.Stopped || !strings.Contains(st.Reason, "auth_refused") {
			t.Errorf("%+v, %v", st, err)
		}
		if err := s.Store.HoldSource(t.Context(), "generic", false, false, ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		stop()
		failed := 0
		for _, ev := range s.events {
			if ev.Kind == scheduler.Failed {
				failed++
			}
		}
		if failed != 1 {
			t.Errorf("%d triggers failed", failed)
		}
		patratest.MustEqual(t, s.Store, s.oracle, "generic", s.watermark())
		patratest.MustVerify(t, s.Store)
	})
}

// TestR65_StopsWhereverItIsMet: what plans and what only looks, each by a fatal
// fault, stops the source, and then neither asks anything.
func TestR65_StopsWhereverItIsMet(t *testing.T) {
	t.Parallel()
	servedBubble(t, func(t *testing.T) {
		s := newServed(t, "5", `{harvest: "@hourly"}`, sim.Config{Records: 100, Churn: &sim.Churn{New: 200}})
		if _, err := s.Control.Harvest(t.Context(), control.HarvestRequest{Source: "generic"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		now := time.Now()
		s.instead = during(now, now.Add(time.Hour), http.StatusUnauthorized)
		for name, act := range map[string]func() error{
			"plan": func() error {
				_, err := s.Planner.Plan(t.Context(), harvest.Trigger{Provenance: "generic", Operation: harvest.Harvest, Kind: "MANUAL"})
				return err
			},
			"preview": func() error {
				_, err := s.Planner.Preview(t.Context(), harvest.Trigger{Provenance: "generic", Operation: harvest.Harvest, Kind: "MANUAL"})
				return err
			},
			"sentinel": func() error {
				_, err := s.Planner.Plan(t.Context(), harvest.Trigger{
					Provenance: "generic", Operation: harvest.Backfill, Activity: "sentinel", Kind: "SCHEDULED", From: now.Add(-48 * time.Hour), To: now.Add(-24 * time.Hour),
				})
				return err
			},
			"reconcile": func() error {
				_, err := s.Control.Differences(t.Context(), reconcile.Request{Source: "generic"})
				return err
			},
		} {
			sent := len(s.requests)
			if f, _ := harvest.FaultOf(act()); f.Level != harvest.Fatal || len(s.requests) != sent+1 {
				t.Errorf("%s: %v after %d requests", name, f, len(s.requests)-sent)
			}
			if st, err := s.Store.SourceState(t.Context(), "generic"); err != nil || !st.Stopped {
				t.Errorf("%s: %+v, %v", name, st, err)
			}
			sent = len(s.requests)
			if _, held := errors.AsType[*harvest.HeldError](act()); !held || len(s.requests) != sent {
				t.Errorf("%s asks a stopped source: held %v, %d requests", name, held, len(s.requests)-sent)
			}
			if err := s.Store.HoldSource(t.Context(), "generic", false, false, ""); err != nil {
				t.Fatal(err)
			}
		}
	})
}
