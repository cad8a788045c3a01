package gate

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/domain/source"
)

// pubmed is what NCBI allows without a key, and our share of it.
var pubmed = source.Rate{Key: "x", Limit: 3, Window: source.Duration(time.Second), QPS: 2.7, Burst: 1, Concurrency: 3}

// TestR86_AStoppedDatabaseReleasesNobodyInABunch: three processes over a database
// that stands still for three seconds in every twelve.
func TestR86_AStoppedDatabaseReleasesNobodyInABunch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lasts = 20 * time.Minute
		store := newDatabase(time.Millisecond)
		store.round = 12 * time.Second
		store.still = 3 * time.Second
		o := newOracle(pubmed, 100*time.Millisecond)
		crowd(t, store, pubmed, o, 3, 4, lasts)
		o.keptWithin(t)
		share := o.rate(lasts) / pubmed.QPS
		t.Logf("%d requests, %.3f of the rate", len(o.arrived), share)
		if share < 0.8 {
			t.Errorf("%.3f of the rate is used, want 0.8", share)
		}
	})
}

// TestR86_SixProcessesShareTheSeats: the upstream takes three at once, and
// replies are slow, so that more processes than seats are always in want.
// PATRA_SOAK=1 does it for longer.
func TestR86_SixProcessesShareTheSeats(t *testing.T) {
	lasts := 8 * time.Minute
	if os.Getenv("PATRA_SOAK") != "" {
		lasts = 20 * time.Minute
	}
	if testing.Short() {
		lasts = 4 * time.Minute
	}
	for _, replies := range []time.Duration{900 * time.Millisecond, 3 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			o := newOracle(pubmed, replies)
			o.atOnce = 3
			crowd(t, newDatabase(time.Millisecond), pubmed, o, 6, 2, lasts)
			o.keptWithin(t)
			// A request holds its seat on its way, too.
			can := min(pubmed.QPS, 3/(replies+o.way/2).Seconds())
			share := o.rate(lasts) / can
			t.Logf("replies after %v: %d requests, %.3f of what can be", replies, len(o.arrived), share)
			if share < 0.8 {
				t.Errorf("%.3f of what can be is used, want 0.8", share)
			}
		})
	}
}

// TestR86_SlowRepliesAndAStoppedDatabase: both at once.
func TestR86_SlowRepliesAndAStoppedDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newDatabase(2 * time.Millisecond)
		store.round = 40 * time.Second
		store.still = 12 * time.Second // seats run out meanwhile
		o := newOracle(pubmed, 8*time.Second)
		o.atOnce = 3
		crowd(t, store, pubmed, o, 6, 2, 10*time.Minute)
		o.keptWithin(t)
	})
}

// muffled is a database that does its work and whose replies are held up
// together for the last part of each round.
type muffled struct{ *database }

func (m muffled) UpdateGate(ctx context.Context, key string, f func(s []byte, now, asked time.Time) []byte) error {
	quick := *m.database
	quick.round = 0
	err := quick.UpdateGate(ctx, key, f)
	time.Sleep(m.stillFor())
	return err
}

// TestR86_ALatePermitIsTakenAnew: six processes are told of their slots when these
// are past, all at the same time.
func TestR86_ALatePermitIsTakenAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newDatabase(time.Millisecond)
		store.round = 12 * time.Second
		store.still = 3 * time.Second
		o := newOracle(pubmed, 100*time.Millisecond)
		r := pubmed
		r.Concurrency = 0
		crowd(t, muffled{store}, r, o, 6, 2, 10*time.Minute)
		o.keptWithin(t)
		if share := o.rate(10*time.Minute) / r.QPS; share < 0.7 {
			t.Errorf("%.3f of the rate is used", share)
		}
	})
}

// TestR86_ASlowStoreLowersTheRateAndSaysWhy: each step of a visit takes longer than
// a permit may be late. Requests still go out, fewer of them and never too many, and
// the log tells the reason, not again and again.
func TestR86_ASlowStoreLowersTheRateAndSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lasts = 10 * time.Minute
		var log bytes.Buffer
		g := New(Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}, newDatabase(150*time.Millisecond))
		o := newOracle(pubmed, 100*time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), lasts)
		defer cancel()
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				for ctx.Err() == nil {
					_, release, _, err := g.Acquire(ctx, pubmed, 1, 20*time.Second)
					if err != nil {
						continue
					}
					g.Report(ctx, pubmed, o.ask())
					release(true)
				}
			})
		}
		wg.Wait()
		time.Sleep(time.Minute) // visits beside the callers come to their ends
		o.keptWithin(t)
		rate := o.rate(lasts)
		said := strings.Count(log.String(), "slower than the source")
		t.Logf("%.2f a second, told %d times", rate, said)
		if rate < 0.5 || rate > 2 {
			t.Errorf("%.2f requests a second", rate)
		}
		if said < 1 || said > 11 {
			t.Errorf("told %d times in ten minutes", said)
		}
	})
}

// TestR86_ASlowStoreDoesNotSilenceOneAlone: from the reading of the store's clock to the
// hearing of a slot it is longer than a permit may be late. Who asks alone has slots that
// are ahead, and not one after the other that is past.
func TestR86_ASlowStoreDoesNotSilenceOneAlone(t *testing.T) {
	for _, step := range []time.Duration{10, 17, 20, 24, 26, 40} {
		synctest.Test(t, func(t *testing.T) {
			const lasts = 10 * time.Minute
			o := newOracle(quick, 10*time.Millisecond)
			crowd(t, newDatabase(step*time.Millisecond), quick, o, 1, 1, lasts)
			o.keptWithin(t)
			if rate := o.rate(lasts); rate < 1 {
				t.Errorf("with %d ms a step: %.2f requests a second", step, rate)
			}
		})
	}
}

// TestR86_AnUnrenewedSeatIsLost: who cannot reach the store for as long as a seat
// lasts gives its request up before another may take the seat.
func TestR86_AnUnrenewedSeatIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := NewLocal()
		store := &cuttable{Local: shared}
		r := source.Rate{Key: "x", Concurrency: 1}
		g := New(Config{}, store)
		sending, release, _, err := g.Acquire(t.Context(), r, 1, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // it is renewed meanwhile
		if sending.Err() != nil {
			t.Fatalf("a seat that is renewed was lost: %v", context.Cause(sending))
		}
		store.set(true)
		cut := time.Now()
		_, other, _, err := New(Config{}, shared).Acquire(t.Context(), r, 1, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if codeOf(context.Cause(sending)) != "seat_lost" {
			t.Errorf("another has the seat after %v, and the request goes on: %v", time.Since(cut), context.Cause(sending))
		}
		store.set(false)
		release(true)
		if n := len(parseState(shared.kept["x"]).Seats); n != 1 {
			t.Errorf("%d seats are taken after the first was given back late, want the other's", n)
		}
		other(true)
	})
}
