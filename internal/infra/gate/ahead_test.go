package gate

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/domain/pace"
	"github.com/papertrace/patra/internal/domain/source"
)

// quick is a source that allows more requests than a database has time for visits.
var quick = source.Rate{Key: "x", Limit: 25, Window: source.Duration(time.Second), QPS: 20, Burst: 1}

// visited counts the visits to a database.
type visited struct {
	*database
	visits atomic.Int64
}

func (v *visited) UpdateGate(ctx context.Context, key string, f func(s []byte, now, asked time.Time) []byte) error {
	v.visits.Add(1)
	return v.database.UpdateGate(ctx, key, f)
}

// TestR92_OneVisitTakesPermitsForThoseBehind: a visit takes 120 ms, in which the source
// would allow two requests. Callers that wait meanwhile have their permits of one
// visit, so that most of the rate is used, evenly and never too fast.
func TestR92_OneVisitTakesPermitsForThoseBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lasts = 10 * time.Minute
		store := &visited{database: newDatabase(24 * time.Millisecond)}
		o := newOracle(quick, 100*time.Millisecond)
		crowd(t, store, quick, o, 1, 24, lasts)
		o.keptWithin(t)
		share := o.rate(lasts) / quick.QPS
		each := float64(store.visits.Load()) / float64(len(o.arrived))
		t.Logf("%.3f of the rate, %.2f visits a request", share, each)
		if share < 0.85 {
			t.Errorf("%.3f of the rate is used", share)
		}
		if each > 0.4 {
			t.Errorf("%.2f visits for each request", each)
		}
	})
}

// TestR92_A429VoidsWhatWasTakenAhead: three processes hold permits that were taken for
// callers behind, when one of them is told to stay away. None of these is used.
func TestR92_A429VoidsWhatWasTakenAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const away = 10 * time.Second
		store := newDatabase(20 * time.Millisecond)
		o := newOracle(quick, 50*time.Millisecond)
		var mu sync.Mutex
		var told []time.Time
		n := 0
		o.answer = func() pace.Outcome {
			mu.Lock()
			defer mu.Unlock()
			n++
			if n%100 != 0 {
				return pace.Outcome{Kind: pace.Fine}
			}
			told = append(told, time.Now())
			return pace.Outcome{Kind: pace.Throttled, RetryAfter: away}
		}
		crowd(t, store, quick, o, 3, 12, 5*time.Minute)
		o.keptWithin(t)
		if len(told) < 3 {
			t.Fatalf("only %d were told to stay away, in %d requests", len(told), len(o.arrived))
		}
		// A reply needs its time to come back and to be told in the store, and what is under
		// way by then is under way.
		const heard = time.Second
		for _, at := range told {
			for _, came := range o.arrived {
				if after := came.Sub(at); after > heard && after < away {
					t.Errorf("a request came %v after the source had asked for %v of silence", after, away)
				}
			}
		}
	})
}

// TestR92_WhoLeavesTheQueueLeavesNothing: callers go away while a visit takes permits for
// them. Seats and quota are there for the next at once.
func TestR92_WhoLeavesTheQueueLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newDatabase(100 * time.Millisecond)
		r := source.Rate{Key: "x", QPS: 1000, Burst: 1, Concurrency: 4, Jitter: source.Duration(5 * time.Second), Quotas: []source.QuotaConfig{per(8, 24*time.Hour)}}
		g := New(Config{}, store)
		ctx, leave := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				time.Sleep(100 * time.Millisecond) // behind the one below
				_, release, _, err := g.Acquire(ctx, r, 1, time.Hour)
				if err == nil {
					t.Error("a caller that had left has a permit")
					release(false)
				}
			})
		}
		wg.Go(func() {
			time.Sleep(450 * time.Millisecond) // the permits are taken, and not yet handed out
			leave()
		})
		mustAcquire(t, g, r, time.Hour)()
		wg.Wait()
		time.Sleep(time.Minute)
		b, err := store.ReadGate(t.Context(), r.Key)
		if err != nil {
			t.Fatal(err)
		}
		s := parseState(b)
		if len(s.Seats) != 0 {
			t.Errorf("%d seats are still held", len(s.Seats))
		}
		var used int64
		for _, c := range s.Ledgers[0].Used {
			used += c[1]
		}
		if used != 1 {
			t.Errorf("%d of the quota are used by one request", used)
		}
		k := g.key(r.Key)
		if len(k.ahead)+len(k.queued) != 0 {
			t.Errorf("%d permits and %d kinds of callers are kept", len(k.ahead), len(k.queued))
		}
	})
}

// TestR92_APermitTakenAheadIsItsCallers: the request of a permit that another caller's
// visit took ends with its own caller's context or its seat, and not with the visitor.
func TestR92_APermitTakenAheadIsItsCallers(t *testing.T) {
	t.Run("the caller leaves", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			endOfBorrowed(t, func(_ *key, leave context.CancelFunc) { leave() }, "")
		})
	})
	t.Run("the seat is lost", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			endOfBorrowed(t, func(k *key, _ context.CancelFunc) {
				k.mu.Lock()
				defer k.mu.Unlock()
				for _, seat := range k.seats {
					seat.expire.Reset(0)
				}
			}, "seat_lost")
		})
	})
}

// endOfBorrowed has a caller's permit taken by the visit of another, which leaves. The
// request then goes on until it is ended, for the cause that has this code.
func endOfBorrowed(t *testing.T, end func(k *key, leave context.CancelFunc), code string) {
	t.Helper()
	store := &visited{database: newDatabase(100 * time.Millisecond)}
	r := source.Rate{Key: "x", QPS: 1000, Burst: 1, Concurrency: 4, Jitter: source.Duration(5 * time.Second)}
	g := New(Config{}, store)
	visitor, leaveVisitor := context.WithCancel(t.Context())
	caller, leave := context.WithCancel(t.Context())
	defer leave()
	var wg sync.WaitGroup
	var sending context.Context
	var release func(bool)
	wg.Go(func() {
		time.Sleep(100 * time.Millisecond) // behind the visitor
		var err error
		sending, release, _, err = g.Acquire(caller, r, 1, time.Hour)
		if err != nil {
			t.Error(err)
		}
	})
	_, releaseVisitor, _, err := g.Acquire(visitor, r, 1, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	if n := store.visits.Load(); n != 1 {
		t.Fatalf("%d visits for two permits", n)
	}
	leaveVisitor()
	releaseVisitor(true)
	synctest.Wait()
	if sending.Err() != nil {
		t.Errorf("the request ended with the visitor: %v", context.Cause(sending))
	}
	end(g.key(r.Key), leave)
	time.Sleep(time.Second)
	if sending.Err() == nil {
		t.Error("the request goes on")
	}
	if got := codeOf(context.Cause(sending)); got != code {
		t.Errorf("it ended for %q, want %q", got, code)
	}
	release(true)
	time.Sleep(time.Minute)
	b, err := store.ReadGate(t.Context(), r.Key)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(parseState(b).Seats); n != 0 {
		t.Errorf("%d seats are still held", n)
	}
}
