package gate

import (
	"context"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/domain/source"
)

// TestR36_RestartsOverAStoreThatStops: eight executors, each begun anew every minute, over a
// store that stands still for five seconds of every minute. The oracle, which counts what
// arrives in any second and what is under way at once, sees no breach, and while the store
// answers nearly all of the rate is used. PATRA_SOAK=1 does it for a virtual day.
func TestR36_RestartsOverAStoreThatStops(t *testing.T) {
	lasts := 10 * time.Minute
	if os.Getenv("PATRA_SOAK") != "" {
		lasts = 24 * time.Hour
	}
	synctest.Test(t, func(t *testing.T) {
		r := source.Rate{Key: "x", Limit: 3, Window: source.Duration(time.Second), QPS: 2.7, Burst: 1, Concurrency: 3}
		store := newDatabase(time.Millisecond)
		store.round = time.Minute
		store.still = 5 * time.Second
		o := newOracle(r, 300*time.Millisecond)
		o.atOnce = 3
		ctx, cancel := context.WithTimeout(t.Context(), lasts)
		defer cancel()
		var executors sync.WaitGroup
		for i := range 8 {
			executors.Go(func() {
				time.Sleep(time.Duration(i) * 7 * time.Second)
				for ctx.Err() == nil {
					executorOfAMinute(ctx, store, r, o)
				}
			})
		}
		executors.Wait()
		time.Sleep(time.Minute) // what is still under way arrives
		o.keptWithin(t)
		undisturbed := 0
		for _, at := range o.arrived {
			if at.Sub(store.began)%store.round < store.round-store.still {
				undisturbed++
			}
		}
		answers := lasts.Seconds() * (store.round - store.still).Seconds() / store.round.Seconds()
		used := float64(undisturbed) / answers / r.QPS
		if used < 0.9 {
			t.Errorf("%.3f of the rate was used while the store answered", used)
		}
		t.Logf("%d requests, %.3f of the rate while the store answered", len(o.arrived), used)
	})
}

// executorOfAMinute is one life of an executor with two workers.
func executorOfAMinute(ctx context.Context, store *database, r source.Rate, o *oracle) {
	life, end := context.WithTimeout(ctx, time.Minute)
	defer end()
	g := New(Config{}, store)
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() { o.keepAsking(life, g, r) })
	}
	workers.Wait()
}
