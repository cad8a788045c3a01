package executor_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/sim"
)

// healed counts what the metrics of a node say of a kind of healing.
func (b *bench) healed(kind string) (n int) {
	b.t.Helper()
	text, err := b.Node.Metrics(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	begins := fmt.Sprintf("patra_ingest_self_heal_events_total{type=%q} ", kind)
	for line := range strings.Lines(string(text)) {
		if rest, is := strings.CutPrefix(line, begins); is {
			if _, err := fmt.Sscan(rest, &n); err != nil {
				b.t.Fatal(err)
			}
		}
	}
	return n
}

// resume lets a stopped source go on, and its gaps be tried.
func (b *bench) resume() {
	b.t.Helper()
	by := control.By{Actor: "test", Reason: "mended"}
	if _, err := b.Node.Control.ResumeSource(b.t.Context(), control.HoldOrder{Source: "generic", By: by}, control.Resumption{Force: true}); err != nil {
		b.t.Fatal(err)
	}
	b.retryGaps()
}

func (b *bench) retryGaps() {
	b.t.Helper()
	audit := source.Audit{Actor: "test", Action: "retry", Object: "generic", Reason: "mended"}
	if n, err := b.Node.Store.RetryGaps(b.t.Context(), "generic", false, audit); err != nil || n == 0 {
		b.t.Fatalf("%d gaps to be tried, %v", n, err)
	}
}

// answerOnce answers the n-th try for a page with a status, and no other.
func answerOnce(n, code int) *meddler {
	return &meddler{answer: func(i int, r *http.Request) *http.Response {
		if i == n {
			return status(r, code, "{}")
		}
		return nil
	}}
}

// TestHealing_EveryRowOfTheTable: each row of docs/healing.md but that of the planner's pause: its trigger, what is
// done about it, the mark in the stats of a run, the count, and that it is over in the end.
func TestHealing_EveryRowOfTheTable(t *testing.T) {
	t.Parallel()
	changed := &meddler{bend: func(n int, body []byte) []byte { // another schema from the second page on
		if n < 2 {
			return body
		}
		return bytes.ReplaceAll(body, []byte(`"id":`), []byte(`"identifier":`))
	}}
	few := manners["token"]
	few.target = 20
	var slowWrites atomic.Bool
	for _, row := range []struct {
		name string
		m    manner
		s    setup
		// heal goes from the trouble to its end, and checks what is done about it.
		heal func(b *bench)
		// mark is a condition on the stats of runs, one of which must fulfil it.
		mark string
		kind string
	}{
		{
			name: "asked for fewer requests", m: ascending,
			s: setup{
				tweak: func(s *source.Spec) {
					s.Rate.QPS = 2
					s.Rate.Burst = 1
				},
				faults: []sim.Script{{Fault: sim.HTTP429RetryAfter, When: page, After: 1, Times: 1}},
			},
			heal: func(b *bench) {
				b.exact()
				allowed := func() float64 {
					rates, err := b.Node.Control.Rates(b.t.Context(), "generic")
					if err != nil || len(rates.Rates) != 1 {
						b.t.Fatalf("%+v, %v", rates, err)
					}
					return rates.Rates[0].Allowed
				}
				if got := allowed(); got >= 2 {
					b.t.Errorf("%v a second after a complaint", got)
				}
				time.Sleep(time.Hour)
				if got := allowed(); got != 2 {
					b.t.Errorf("%v a second an hour later", got)
				}
			},
			mark: `JSON_EXTRACT(stats, '$.demoteEvents') = 1 AND JSON_EXTRACT(stats, '$.retryAfterHits') = 1`, kind: "qpsDownshift",
		},
		{
			name: "pages take long", m: few,
			s:    setup{sim: sim.Config{Records: 6400}, node: node.Config{Workers: 4, LeaseTTL: time.Hour}, tweak: func(s *source.Spec) { s.Paging.Size = 10 }},
			heal: healSlowPages,
			mark: `JSON_EXTRACT(stats, '$.concurrencyDown') > 0`, kind: "concurrencyDown",
		},
		{
			name: "far more than was expected", m: ascending,
			s: setup{sim: sim.Config{Records: 700}, tweak: func(s *source.Spec) { s.Paging.MaxPages = 1000 }, wrap: countsOf(5)},
			heal: func(b *bench) {
				b.exact()
				if n := b.ask(resliced); n != 1 {
					b.t.Errorf("%d slices were cut", n)
				}
			},
			mark: `JSON_EXTRACT(stats, '$.resliced') = 'beyond_estimate' AND status_code = 'PARTIAL'`, kind: "reslice",
		},
		{
			name: "the source fails", m: few,
			s: setup{
				sim: sim.Config{Records: 200}, node: node.Config{Poll: 20 * time.Second},
				tweak:  func(s *source.Spec) { s.Retry.BreakAfter = 2 },
				faults: []sim.Script{{Fault: sim.HTTP500, When: page, Times: -1}},
			},
			heal: func(b *bench) {
				go func() {
					time.Sleep(10 * time.Minute)
					if n := b.ask(`SELECT COUNT(*) FROM ing_task_run`); n > 5 {
						b.t.Errorf("%d runs in ten minutes, with rests of 1, 2, 4 and 8 after the first two", n)
					}
					b.Sim.ClearScripts()
				}()
				b.exact()
				if n := b.ask(`SELECT COUNT(*) FROM ing_breaker`); n != 0 {
					b.t.Errorf("%d partitions rest in the end", n)
				}
			},
			mark: `JSON_EXTRACT(stats, '$.circuit_open') = true`, kind: "circuitOpen",
		},
		{
			name: "a request is refused", m: ascending,
			s: setup{wrap: answerOnce(2, http.StatusBadRequest).wrap},
			heal: func(b *bench) {
				if rep := b.MustHarvest("generic"); rep.Slices.Failed != 1 {
					b.t.Errorf("slices %+v", rep.Slices)
				}
				b.retryGaps()
				b.exact()
			},
			mark: `status_code = 'FAILED' AND JSON_EXTRACT(stats, '$.errors[0].pages') = 1`, kind: "taskStopped",
		},
		{
			name: "an item cannot be read", m: ascending,
			s: setup{wrap: (&meddler{bend: func(n int, body []byte) []byte {
				if n == 2 {
					return bytes.Replace(body, []byte(`"id":`), []byte(`"none":`), 1)
				}
				return body
			}}).wrap},
			heal: func(b *bench) {
				if rep := b.MustHarvest("generic"); rep.Slices.Failed != 0 || rep.Slices.Done != 1 {
					b.t.Errorf("slices %+v", rep.Slices)
				}
				if aside, stored := b.ask(`SELECT COUNT(*) FROM ing_quarantine`), b.ask(`SELECT COUNT(*) FROM ing_record`); aside != 1 || stored != 69 {
					b.t.Errorf("%d items aside, %d stored", aside, stored)
				}
			},
			mark: `JSON_EXTRACT(stats, '$.failed') = 1 AND status_code = 'SUCCEEDED'`, kind: "itemIsolated",
		},
		{
			name: "nothing will go well", m: ascending,
			s: setup{wrap: changed.wrap},
			heal: func(b *bench) {
				if _, err := b.Harvest(b.t.Context(), "generic"); err != nil {
					b.t.Logf("harvest: %v", err)
				}
				if state, err := b.Node.Store.SourceState(b.t.Context(), "generic"); err != nil || !state.Stopped {
					b.t.Errorf("the source goes on: %+v, %v", state, err)
				}
				before := b.pages()
				if _, err := b.Harvest(b.t.Context(), "generic"); err == nil || b.pages() != before {
					b.t.Errorf("a stopped source was asked, %v", err)
				}
				changed.bend = nil
				b.resume()
				b.exact()
			},
			mark: `status_code = 'FAILED' AND JSON_EXTRACT(stats, '$.sourceStopped') = error_code`, kind: "sourceStopped",
		},
		{
			name: "something is planned while the database is slow", m: ascending,
			s: setup{
				tweak: func(s *source.Spec) { s.Window.SafetyLag = source.Duration(10 * time.Minute) },
				hook: func(point string) error {
					if point == "before commit" && slowWrites.Load() {
						time.Sleep(4 * time.Second)
					}
					return nil
				},
			},
			heal: func(b *bench) { healSlowDatabase(b, &slowWrites) },
			mark: `task_id IN (SELECT t.id FROM ing_task t JOIN ing_plan p ON p.id = t.plan_id WHERE JSON_EXTRACT(p.record_remarks, '$.window.lagRaised') <> '')`,
			kind: "lagRaised",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				b := newBench(t, row.m, row.s)
				if n := b.healed(row.kind); n != 0 {
					t.Errorf("counted %d times before anything happened", n)
				}
				row.heal(b)
				if n := b.ask(`SELECT COUNT(*) FROM ing_task_run WHERE ` + row.mark); n == 0 {
					t.Errorf("no run is marked: %s", b.text(`SELECT GROUP_CONCAT(stats) FROM ing_task_run`))
				}
				if n := b.healed(row.kind); n == 0 {
					t.Errorf("%s was not counted", row.kind)
				}
			})
		})
	}
}

// healSlowDatabase: what is planned while writes take long leaves out five minutes more, and
// the next plan has them.
func healSlowDatabase(b *bench, slow *atomic.Bool) {
	harvestAfter := func(isSlow bool, lag time.Duration) {
		b.t.Helper()
		slow.Store(isSlow)
		for range 20 { // by which it is known how the database fares
			if err := b.Node.Store.NoteSkew(b.t.Context(), "another", 0); err != nil {
				b.t.Fatal(err)
			}
		}
		b.MustHarvest("generic")
		slow.Store(false)
		got := b.ask(`SELECT JSON_EXTRACT(slice_spec, '$.hints.safetyLagSec') FROM ing_plan_slice ORDER BY id DESC LIMIT 1`)
		if time.Duration(got)*time.Second != lag {
			b.t.Errorf("a lag of %d s, want %s; the database is slow: %v", got, lag, isSlow)
		}
		b.Sim.Advance(48 * time.Hour)
	}
	harvestAfter(false, 10*time.Minute)
	harvestAfter(true, 15*time.Minute)
	harvestAfter(false, 10*time.Minute)
}

// healSlowPages: a source that answers the later the more it is asked at once.
func healSlowPages(b *bench) {
	var strained atomic.Bool
	var inFlight atomic.Int64
	strained.Store(true)
	m := &meddler{answer: func(int, *http.Request) *http.Response {
		n := inFlight.Add(1)
		defer inFlight.Add(-1)
		took := time.Second
		if strained.Load() {
			took = time.Duration(n) * 4 * time.Second
		}
		time.Sleep(took)
		return nil
	}}
	b.wrap = m.wrap
	b.again()
	inHand := func() int { return b.ask(`SELECT COUNT(*) FROM ing_task WHERE status_code='EXECUTING'`) }
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.exact()
	}()
	time.Sleep(4 * time.Minute)
	if n := inHand(); n > 2 {
		b.t.Errorf("%d slices at once of a source that is the slower for it", n)
	}
	strained.Store(false)
	time.Sleep(time.Minute)
	most := 0
	for range 50 { // one of them may just be done, and the next not begun
		most = max(most, inHand())
		time.Sleep(time.Second / 5)
	}
	if most != 4 {
		b.t.Errorf("%d slices at once when it is quick again", most)
	}
	<-done
}

// countsOf answers every count with a number.
func countsOf(n int) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper { return counter{next, n} }
}

type counter struct {
	http.RoundTripper
	n int
}

func (c counter) RoundTrip(r *http.Request) (*http.Response, error) {
	told, err := c.RoundTripper.RoundTrip(r)
	if err == nil && r.URL.Query().Get("only") == "count" {
		resp := status(r, http.StatusOK, fmt.Sprintf(`{"total": %d}`, c.n))
		resp.Header.Set("Date", told.Header.Get("Date"))
		return resp, nil
	}
	return told, err
}
