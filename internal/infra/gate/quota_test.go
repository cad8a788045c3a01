package gate

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/pace"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sqlstore"
)

// withinWindow fails if any span as long as the window holds more than limit.
func (s *sent) withinWindow(t *testing.T, limit int64, window time.Duration) {
	t.Helper()
	slices.SortFunc(s.at, time.Time.Compare)
	first := 0
	for i, at := range s.at {
		for at.Sub(s.at[first]) >= window {
			first++
		}
		if n := i - first + 1; int64(n) > limit {
			t.Fatalf("%d requests within %v, up to %v: more than %d", n, window, at, limit)
		}
	}
}

func per(limit int64, window time.Duration) source.QuotaConfig {
	return source.QuotaConfig{Limit: limit, Window: source.Duration(window)}
}

func codeOf(err error) string {
	f, _ := harvest.FaultOf(err)
	return string(f.Code)
}

// TestR38_SeveralWindowsAtOnce: four processes, each restarted now and then,
// half of whose requests fail and some of which find no connection, ask for a
// day and more. No window ever holds more than its limit, and nearly all is used.
func TestR38_SeveralWindowsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewLocal()
		r := source.Rate{Key: "plos", QPS: 2, Burst: 2, Concurrency: 2, Quotas: []source.QuotaConfig{per(10, time.Minute), per(100, time.Hour), per(1000, 24*time.Hour)}}
		var seen sent
		var mu sync.Mutex
		codes := map[string]int{}
		ctx, cancel := context.WithTimeout(t.Context(), 26*time.Hour)
		defer cancel()
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					life, end := context.WithTimeout(ctx, time.Duration(31+7*i)*time.Minute)
					for g := New(Config{}, store); life.Err() == nil; n++ {
						_, release, _, err := g.Acquire(life, r, 1, 20*time.Second)
						if err != nil {
							f, ok := harvest.FaultOf(err)
							if ok {
								mu.Lock()
								codes[string(f.Code)]++
								mu.Unlock()
							}
							time.Sleep(f.RetryAfter)
							continue
						}
						if n%9 == 0 {
							release(false) // no connection: nobody counted it
							continue
						}
						seen.hit()
						if n%2 == 0 {
							g.Report(life, r, pace.Outcome{Kind: pace.Unwell})
						}
						time.Sleep(200 * time.Millisecond)
						release(true)
						release(false) // too late
					}
					end()
				}
			})
		}
		wg.Wait()
		for _, q := range r.Quotas {
			seen.withinWindow(t, q.Limit, q.Window.D())
		}
		if n := len(seen.at); n < 1000 {
			t.Errorf("%d requests in a day of 1000", n)
		}
		if codes["quota_wait"] == 0 {
			t.Errorf("refusals: %v", codes)
		}
	})
}

// TestR38_TwoProcessesShareTheQuota over one SQLite file; one of them starts
// when the other has used some of it, and both start again.
func TestR38_TwoProcessesShareTheQuota(t *testing.T) {
	dsn := "sqlite:" + filepath.Join(t.TempDir(), "patra.db")
	open := func() *sqlstore.Store {
		s, err := sqlstore.Open(t.Context(), dsn, sqlstore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	}
	r := source.Rate{Key: "x", QPS: 1e4, Burst: 1, Quotas: []source.QuotaConfig{per(100, time.Hour)}}
	var seen sent
	stores := []*sqlstore.Store{open(), open()}
	for round := range 2 { // the second finds nothing left
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				g := New(Config{}, stores[i%2])
				for n := 0; ; n++ {
					_, release, _, err := g.Acquire(t.Context(), r, 1, 10*time.Second)
					if codeOf(err) == "quota_wait" {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
					if n%5 == 4 {
						release(false)
						continue
					}
					seen.hit()
					release(true)
				}
			})
		}
		wg.Wait()
		if len(seen.at) != 100 {
			t.Fatalf("round %d: %d requests of 100", round, len(seen.at))
		}
	}
}

// TestR38_ClockSetBack: the machine's clock is set back by hours, more than
// once, while a quota is being used. Real time decides.
func TestR38_ClockSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &stepping{kept: NewLocal()}
		r := source.Rate{Key: "x", QPS: 5, Burst: 1, Quotas: []source.QuotaConfig{per(20, time.Minute), per(100, time.Hour)}}
		var seen sent
		g := New(Config{}, store)
		for end, n := time.Now().Add(48*time.Hour), 0; time.Now().Before(end); n++ {
			if n%40 == 39 && store.back < 10*time.Hour {
				store.back += time.Duration(n) * time.Second
			}
			_, release, _, err := g.Acquire(t.Context(), r, 1, time.Minute)
			if err != nil {
				f, _ := harvest.FaultOf(err)
				time.Sleep(min(f.RetryAfter, time.Hour))
				continue
			}
			seen.hit()
			release(true)
		}
		for _, q := range r.Quotas {
			seen.withinWindow(t, q.Limit, q.Window.D())
		}
		if n := len(seen.at); n < 3000 { // of 4800; ten hours were lost
			t.Errorf("%d requests", n)
		}
	})
}

// stepping is a store whose clock is behind.
type stepping struct {
	kept *Local
	back time.Duration
}

func (s *stepping) UpdateGate(ctx context.Context, key string, f func([]byte, time.Time, time.Time) []byte) error {
	return s.kept.UpdateGate(ctx, key, func(b []byte, now, asked time.Time) []byte { return f(b, now.Add(-s.back), asked) })
}

func (s *stepping) ReadGate(ctx context.Context, key string) ([]byte, error) {
	return s.kept.ReadGate(ctx, key)
}

func TestR38_WhoLeavesTheQueueGivesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewLocal()
		r := source.Rate{Key: "x", QPS: 0.1, Burst: 1, Quotas: []source.QuotaConfig{per(3, 24*time.Hour)}}
		g := New(Config{}, store)
		mustAcquire(t, g, r, 0)()
		for range 10 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if _, _, _, err := g.Acquire(ctx, r, 1, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("got %v", err)
			}
			cancel()
		}
		// A 429 voids the slot of one who waits: it is taken anew, not twice.
		done := make(chan struct{})
		mustAcquire(t, g, r, time.Hour)()
		go func() {
			defer close(done)
			mustAcquire(t, New(Config{}, store), r, time.Hour)()
		}()
		synctest.Wait()
		g.Report(t.Context(), r, pace.Outcome{Kind: pace.Throttled, RetryAfter: time.Minute})
		<-done
		_, _, _, err := g.Acquire(t.Context(), r, 1, time.Hour)
		if f, _ := harvest.FaultOf(err); f.Code != "quota_wait" || f.RetryAfter < 23*time.Hour || f.RetryAfter > 25*time.Hour {
			t.Errorf("a fourth of three: %+v, %v", f, err)
		}
	})
}

// TestR38_WhatIsGivenBackIsNotGivenBackTwice: the store took it and lost the
// connection before saying so.
func TestR38_WhatIsGivenBackIsNotGivenBackTwice(t *testing.T) {
	store := &mute{Local: NewLocal()}
	r := source.Rate{Key: "x", QPS: 1e6, Burst: 1, Quotas: []source.QuotaConfig{per(3, time.Hour)}}
	g := New(Config{}, store)
	_, release, _, err := g.Acquire(t.Context(), r, 1, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	mustAcquire(t, g, r, time.Second)()
	store.muted = true
	release(false)
	store.muted = false
	mustAcquire(t, g, r, time.Second)()
	mustAcquire(t, g, r, time.Second)()
	if _, _, _, err := g.Acquire(t.Context(), r, 1, time.Second); codeOf(err) != "quota_wait" {
		t.Errorf("a fourth of three: %v", err)
	}
}

// mute does what it is asked and says that it failed.
type mute struct {
	*Local
	muted bool
}

func (m *mute) UpdateGate(ctx context.Context, key string, f func([]byte, time.Time, time.Time) []byte) error {
	err := m.Local.UpdateGate(ctx, key, f)
	if m.muted {
		return errors.New("connection lost")
	}
	return err
}

func TestR38_CostIsTaken(t *testing.T) {
	g := New(Config{}, nil)
	r := source.Rate{Key: "x", Quotas: []source.QuotaConfig{per(10, time.Hour)}} // unlimited but for the quota
	for range 3 {
		if _, _, _, err := g.Acquire(t.Context(), r, 3, time.Second); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, _, err := g.Acquire(t.Context(), r, 3, time.Second); codeOf(err) != "quota_wait" {
		t.Errorf("twelve units of ten: %v", err)
	}
	if _, _, _, err := g.Acquire(t.Context(), r, 0, time.Second); err != nil {
		t.Errorf("the tenth unit: %v", err)
	}
}

func TestR60_EmptyBudgetStopsEveryoneUntilReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewLocal()
		r := source.Rate{Key: "x", QPS: 1, Burst: 1, Budget: &source.BudgetConfig{}}
		gates := []*Gate{New(Config{}, store), New(Config{}, store)}
		mustAcquire(t, gates[0], r, time.Second)()
		var seen sent
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				mustAcquire(t, gates[i%2], r, time.Hour)()
				seen.hit()
			})
		}
		synctest.Wait()
		start := time.Now()
		gates[0].Report(t.Context(), r, pace.Outcome{Kind: pace.Fine, Empty: 10 * time.Minute})
		if _, _, _, err := gates[1].Acquire(t.Context(), r, 1, time.Minute); codeOf(err) != "quota_wait" {
			t.Errorf("got %v", err)
		}
		wg.Wait()
		slices.SortFunc(seen.at, time.Time.Compare)
		if first := seen.at[0].Sub(start); first < 10*time.Minute {
			t.Errorf("first request after %v", first)
		}
		if last := seen.at[7].Sub(start); last > 11*time.Minute {
			t.Errorf("last request after %v: the rate was cut", last)
		}
	})
}

// cuttable is a store some processes cannot reach for a while.
type cuttable struct {
	*Local
	mu  sync.Mutex
	cut bool
}

func (c *cuttable) set(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = cut
}

func (c *cuttable) is() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cut
}

func (c *cuttable) UpdateGate(ctx context.Context, key string, f func([]byte, time.Time, time.Time) []byte) error {
	if c.is() {
		return errors.New("unreachable")
	}
	return c.Local.UpdateGate(ctx, key, f)
}

func (c *cuttable) ReadGate(ctx context.Context, key string) ([]byte, error) {
	if c.is() {
		return nil, errors.New("unreachable")
	}
	return c.Local.ReadGate(ctx, key)
}

// TestR40_CutOffExecutorsStayWithinTheLimit: four executors lose the gate and
// find it again, all at once, one by one, and for as long as others still reach
// it; they are restarted meanwhile. The upstream never sees more than it allows,
// and they do not stand still.
func TestR40_CutOffExecutorsStayWithinTheLimit(t *testing.T) {
	for _, r := range []source.Rate{
		{Key: "x", Limit: 10, Window: source.Duration(10 * time.Second), QPS: 0.2, Burst: 2},
		{Key: "x", Limit: 10, Window: source.Duration(time.Minute), QPS: 0.08, Burst: 1},
		{Key: "x", Limit: 26, Window: source.Duration(time.Minute), QPS: 1.0 / 3, Burst: 2},
		{Key: "x", Limit: 200, Window: source.Duration(5 * time.Minute), QPS: 0.3, Burst: 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			shared := NewLocal()
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Hour)
			defer cancel()
			var seen, alone sent
			var wg sync.WaitGroup
			for i := range 4 {
				store := &cuttable{Local: shared}
				wg.Go(func() { // cut: all together in the first hour, then one by one
					for n := 0; ctx.Err() == nil; n++ {
						wait := 7 * time.Minute
						if n > 8 {
							wait = time.Duration(5+3*i) * time.Minute
						}
						time.Sleep(wait)
						store.set(n%2 == 0)
					}
				})
				wg.Go(func() {
					for n := 0; ctx.Err() == nil; n++ {
						life, end := context.WithTimeout(ctx, time.Duration(3+i*11)*time.Minute)
						for g := New(Config{Instances: 4}, store); life.Err() == nil; {
							_, release, _, err := g.Acquire(life, r, 1, time.Minute)
							if err != nil {
								time.Sleep(time.Second)
								continue
							}
							seen.hit()
							if store.is() {
								alone.hit()
							}
							release(true)
						}
						end()
					}
				})
			}
			wg.Wait()
			seen.withinWindow(t, int64(r.Limit), r.Window.D())
			if len(alone.at) == 0 {
				t.Error("nothing was sent without the store")
			}
			t.Logf("%d requests, %d of them without the store", len(seen.at), len(alone.at))
		})
	}
}

// TestR40_NoSafeShareNoPermit: without the count of instances, without a limit
// that is known, beside quotas, or where the store may hand out all there is.
func TestR40_NoSafeShareNoPermit(t *testing.T) {
	ok := source.Rate{Key: "x", Limit: 10, Window: source.Duration(time.Second), QPS: 2, Burst: 1}
	for name, c := range map[string]struct {
		n     int
		cost  int
		tweak func(*source.Rate)
		want  float64
	}{
		"share":        {4, 1, func(*source.Rate) {}, 0.5},
		"not declared": {0, 1, func(*source.Rate) {}, 0},
		"alone":        {1, 1, func(*source.Rate) {}, 2},
		"too many":     {8, 1, func(*source.Rate) {}, 0},
		"dear":         {4, 2, func(*source.Rate) {}, 0},
		"no limit":     {4, 1, func(r *source.Rate) { r.Limit = 0 }, 0},
		"quota":        {4, 1, func(r *source.Rate) { r.Quotas = []source.QuotaConfig{per(1000, time.Hour)} }, 0},
		"all used":     {1, 1, func(r *source.Rate) { r.QPS = 9 }, 0},
	} {
		r := ok
		c.tweak(&r)
		if l, ok := New(Config{Instances: c.n}, nil).shareWithoutStore(r, c.cost); l.QPS != c.want || ok != (c.want > 0) {
			t.Errorf("%s: %v, %v; want %v", name, l, ok, c.want)
		}
		if c.want > 0 {
			continue
		}
		if _, _, _, err := New(Config{Instances: c.n}, failing{}).Acquire(t.Context(), r, c.cost, time.Second); codeOf(err) != "gate_lost" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestR40_RestartsWithoutTheStoreGetNothing: a process has no token to begin
// with, else one that is started every second would send every second.
func TestR40_RestartsWithoutTheStoreGetNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := source.Rate{Key: "x", Limit: 10, Window: source.Duration(time.Minute), QPS: 0.1, Burst: 1}
		for range 100 {
			_, _, _, err := New(Config{Instances: 1}, failing{}).Acquire(t.Context(), r, 1, 5*time.Second)
			if codeOf(err) != "rate_wait" {
				t.Fatalf("got %v", err)
			}
		}
		if _, _, _, err := New(Config{Instances: 1}, failing{}).Acquire(t.Context(), r, 1, time.Hour); err != nil {
			t.Error(err)
		}
	})
}

// TestR40_CooldownHoldsWithoutTheStore: what was known before the store was
// lost, and what is met without it.
func TestR40_CooldownHoldsWithoutTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &cuttable{Local: NewLocal()}
		g := New(Config{Instances: 2}, store)
		r := source.Rate{Key: "x", Limit: 10, Window: source.Duration(time.Second), QPS: 2, Burst: 1}
		mustAcquire(t, g, r, time.Second)()
		start := time.Now()
		g.Report(t.Context(), r, pace.Outcome{Kind: pace.Throttled, RetryAfter: 10 * time.Minute})
		store.set(true)
		mustAcquire(t, g, r, time.Hour)()
		if d := time.Since(start); d < 10*time.Minute {
			t.Errorf("a permit %v after a 429 of 10 minutes", d)
		}
		start = time.Now()
		g.Report(t.Context(), r, pace.Outcome{Kind: pace.Throttled, RetryAfter: 5 * time.Minute})
		mustAcquire(t, g, r, time.Hour)()
		if d := time.Since(start); d < 5*time.Minute {
			t.Errorf("a permit %v after a 429 of 5 minutes", d)
		}
		// The store hears of it when it is back.
		g.Report(t.Context(), r, pace.Outcome{Kind: pace.Throttled, RetryAfter: 5 * time.Minute})
		store.set(false)
		if _, _, _, err := g.Acquire(t.Context(), r, 1, time.Minute); codeOf(err) != "rate_wait" {
			t.Errorf("got %v", err)
		}
	})
}
