package gate

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/pace"
	"github.com/papertrace/patra/internal/domain/source"
)

// sent is the upstream's own count of when requests came.
type sent struct {
	mu sync.Mutex
	at []time.Time
}

func (s *sent) hit() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = append(s.at, time.Now())
	return len(s.at)
}

// within fails if any span holds more than rate x span + burst requests.
func (s *sent) within(t *testing.T, rate float64, burst int) {
	t.Helper()
	slices.SortFunc(s.at, time.Time.Compare)
	level := 0.0 // of a bucket that leaks at the rate
	for i, at := range s.at {
		if i > 0 {
			level = max(0, level-rate*at.Sub(s.at[i-1]).Seconds())
		}
		level++
		if level > float64(burst)+1e-6 {
			t.Fatalf("request %d of %d exceeds %v/s with burst %d", i, len(s.at), rate, burst)
		}
	}
}

func mustAcquire(t *testing.T, g *Gate, r source.Rate, maxWait time.Duration) func() {
	t.Helper()
	_, release, _, err := g.Acquire(t.Context(), r, 1, maxWait)
	if err != nil {
		t.Fatal(err)
	}
	return func() { release(true) }
}

func TestR39_NobodyGoesBeforeRetryAfterIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewLocal()
		r := source.Rate{Key: "x", QPS: 4, Burst: 2}
		gates := []*Gate{New(Config{}, store), New(Config{}, store), New(Config{}, store), New(Config{}, store)} // four processes
		mustAcquire(t, gates[0], r, time.Hour)()

		var seen sent
		var wg sync.WaitGroup
		for i := range 32 {
			wg.Go(func() {
				_, release, _, err := gates[i%4].Acquire(t.Context(), r, 1, time.Hour)
				if err != nil {
					t.Error(err)
					return
				}
				seen.hit()
				release(true)
			})
		}
		synctest.Wait() // all have their slots
		start := time.Now()
		gates[0].Report(t.Context(), r, pace.Outcome{Kind: pace.Throttled, RetryAfter: time.Minute})
		wg.Wait()

		if len(seen.at) != 32 {
			t.Fatalf("%d of 32 got through", len(seen.at))
		}
		if first := slices.MinFunc(seen.at, time.Time.Compare); first.Sub(start) < time.Minute {
			t.Errorf("first request %v after the 429, want 1m", first.Sub(start))
		}
		seen.within(t, 4, 1)
		if took := time.Since(start); took > 2*time.Minute {
			t.Errorf("32 requests took %v", took)
		}
	})
}

func TestR36_RestartsNeverBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewLocal()
		r := source.Rate{Key: "x", QPS: 0.5, Burst: 3}
		var seen sent
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		var wg sync.WaitGroup
		for i := range 8 { // executors, each restarted every minute
			wg.Go(func() {
				time.Sleep(time.Duration(i) * time.Second)
				for ctx.Err() == nil {
					life, end := context.WithTimeout(ctx, time.Minute)
					for g := New(Config{}, store); life.Err() == nil; {
						_, release, _, err := g.Acquire(life, r, 1, time.Minute)
						if err != nil { // too far away, or restarted
							time.Sleep(time.Second)
							continue
						}
						if seen.hit()%997 == 0 {
							g.Report(life, r, pace.Outcome{Kind: pace.Throttled, RetryAfter: 5 * time.Second})
						}
						release(true)
					}
					end()
				}
			})
		}
		wg.Wait()
		seen.within(t, 0.5, 3)
		if n := len(seen.at); n < 6*3600 { // restarts waste slots, complaints halve the rate
			t.Errorf("only %d requests in a day at 0.5/s", n)
		}
	})
}

func TestAcquire_TooFarAwayTakesNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Config{}, nil)
		r := source.Rate{Key: "x", QPS: 0.1, Burst: 1}
		mustAcquire(t, g, r, 0)()
		for range 5 {
			_, _, _, err := g.Acquire(t.Context(), r, 1, 9*time.Second)
			f, ok := harvest.FaultOf(err)
			if !ok || f.Code != "rate_wait" || f.Level != harvest.Transient || f.RetryAfter != 10*time.Second {
				t.Fatalf("got %+v, %v", f, err)
			}
		}
		start := time.Now()
		mustAcquire(t, g, r, 10*time.Second)()
		if d := time.Since(start); d != 10*time.Second {
			t.Errorf("waited %v for the next slot, want 10s", d)
		}
	})
}

func TestAcquire_CancelReturnsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewLocal()
		g := New(Config{}, store)
		r := source.Rate{Key: "x", QPS: 0.01, Burst: 1, Concurrency: 2}
		mustAcquire(t, g, r, 0)()
		stop := errors.New("stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(stop) })
		start := time.Now()
		_, _, waited, err := g.Acquire(ctx, r, 1, time.Hour)
		if !errors.Is(err, stop) || waited.Waited != time.Second || time.Since(start) != time.Second {
			t.Errorf("waited %v: %v", waited, err)
		}
		// The seat was given back.
		if n := len(parseState(store.kept["x"]).Seats); n != 0 {
			t.Errorf("%d seats still taken", n)
		}
	})
}

func TestAcquire_BoundsRequestsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Config{}, nil)
		r := source.Rate{Key: "x", Concurrency: 3}
		var mu sync.Mutex
		var now, most int
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				release := mustAcquire(t, g, r, time.Minute)
				mu.Lock()
				now++
				most = max(most, now)
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				now--
				mu.Unlock()
				release()
				release() // twice does no harm
			})
		}
		wg.Wait()
		if most != 3 {
			t.Errorf("%d in flight at once, want 3", most)
		}
		g.Report(t.Context(), r, pace.Outcome{Kind: pace.Throttled})
	})
}

func TestAcquire_UnlimitedKeepsToRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Config{}, failing{})
		r := source.Rate{Key: "x"}
		start := time.Now()
		mustAcquire(t, g, r, 0)()
		g.Report(t.Context(), r, pace.Outcome{Kind: pace.Throttled, RetryAfter: 10 * time.Second})
		g.Report(t.Context(), r, pace.Outcome{Kind: pace.Unwell, RetryAfter: 5 * time.Second})
		if _, _, _, err := g.Acquire(t.Context(), r, 1, 9*time.Second); err == nil {
			t.Error("a permit within the cooldown")
		}
		mustAcquire(t, g, r, 10*time.Second)()
		if d := time.Since(start); d != 10*time.Second {
			t.Errorf("waited %v, want 10s", d)
		}
	})
}

// TestReport_ALoweredRateIsToldWhileItFalls: each complaint lowers the rate, down to the
// least there is; from then on nothing is lowered, and nothing of the kind is told.
func TestReport_ALoweredRateIsToldWhileItFalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lowered []float64
		g := New(Config{Observe: func(s Standing) {
			if s.Lowered {
				lowered = append(lowered, s.PerSecond)
			}
		}}, NewLocal())
		r := source.Rate{Key: "x", QPS: 0.8}
		for range 8 {
			g.Report(t.Context(), r, pace.Outcome{Kind: pace.Throttled})
			time.Sleep(20 * time.Second) // too short for the rate to rise again
		}
		if want := []float64{0.4, 0.2, 0.1}; !slices.Equal(lowered, want) {
			t.Errorf("told of %v, not %v", lowered, want)
		}
	})
}

type failing struct{}

func (failing) UpdateGate(context.Context, string, func([]byte, time.Time, time.Time) []byte) error {
	return errors.New("disk on fire")
}

func (failing) ReadGate(context.Context, string) ([]byte, error) {
	return nil, errors.New("disk on fire")
}

func TestR40_NoStoreNoPermit(t *testing.T) {
	_, _, _, err := New(Config{}, failing{}).Acquire(t.Context(), source.Rate{Key: "x", QPS: 1}, 1, time.Second)
	if f, ok := harvest.FaultOf(err); !ok || f.Code != "gate_lost" || f.Level != harvest.Transient {
		t.Errorf("got %v", err)
	}
}

// flaky fails every call until told otherwise.
type flaky struct {
	*Local
	broken bool
}

func (f *flaky) UpdateGate(ctx context.Context, key string, g func([]byte, time.Time, time.Time) []byte) error {
	if f.broken {
		return errors.New("gone")
	}
	return f.Local.UpdateGate(ctx, key, g)
}

func (f *flaky) ReadGate(ctx context.Context, key string) ([]byte, error) {
	if f.broken {
		return nil, errors.New("gone")
	}
	return f.Local.ReadGate(ctx, key)
}

func TestReport_WhatTheStoreMissedIsToldBeforeTheNextPermit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &flaky{Local: NewLocal()}
		g, r := New(Config{}, store), source.Rate{Key: "x", QPS: 5, Burst: 1}
		mustAcquire(t, g, r, time.Second)()
		store.broken = true
		g.Report(t.Context(), r, pace.Outcome{Kind: pace.Throttled, RetryAfter: 30 * time.Second})
		store.broken = false
		_, _, _, err := g.Acquire(t.Context(), r, 1, time.Second)
		if f, _ := harvest.FaultOf(err); f.Code != "rate_wait" || f.RetryAfter != 30*time.Second {
			t.Errorf("after a missed 429: %+v, %v", f, err)
		}
	})
}

func TestReport_HeadersLowerOnceAndSuccessCostsNothing(t *testing.T) {
	store := &counting{Local: NewLocal()}
	g, r := New(Config{}, store), source.Rate{Key: "x", QPS: 5, Burst: 1}
	for range 10 {
		g.Report(t.Context(), r, pace.Outcome{Kind: pace.Fine})
		g.Report(t.Context(), r, pace.Outcome{Kind: pace.Fine, Allowed: 3, Per: time.Second})
	}
	if store.n != 1 {
		t.Errorf("%d visits to the store, want 1", store.n)
	}
	var s pace.State
	if err := json.Unmarshal(store.kept["x"], &s); err != nil || math.Abs(s.Header-2.7) > 1e-9 {
		t.Errorf("state %+v, %v; want 2.7/s", s, err)
	}
}

type counting struct {
	*Local
	n int
}

func (c *counting) UpdateGate(ctx context.Context, key string, f func([]byte, time.Time, time.Time) []byte) error {
	c.n++
	return c.Local.UpdateGate(ctx, key, f)
}
