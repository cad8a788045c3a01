package gate

import (
	"cmp"
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/domain/source"
)

// TestR36_RestartsOverAStoreThatStops: executors of two workers, each begun anew every
// minute, over a store that stands still for five seconds of every minute. The oracle, which
// counts what arrives in any second and what is under way at once, sees no breach, and while
// the store answers nearly all that is allowed is used. It goes on for five lives of each
// executor, or for the longest window if that is more. PATRA_SOAK=1 does it for a virtual day.
func TestR36_RestartsOverAStoreThatStops(t *testing.T) {
	for _, x := range []struct {
		name      string
		executors int
		keys      string // a letter for each, which the executors ask for in turn
		replies   time.Duration
		quotas    []source.QuotaConfig
		// answered is how many requests of a key can be answered in a second, if that is less than its rate.
		answered float64
	}{
		{name: "eight executors", executors: 8, keys: "x", replies: 300 * time.Millisecond},
		{
			name: "several windows", executors: 8, keys: "x", replies: 300 * time.Millisecond,
			quotas: []source.QuotaConfig{per(90, time.Minute), per(800, 10*time.Minute)},
		},
		{name: "two keys", executors: 8, keys: "xy", replies: 300 * time.Millisecond},
		{name: "six executors, slow replies", executors: 6, keys: "x", replies: 3 * time.Second, answered: 3 / 3.025},
	} {
		t.Run(x.name, func(t *testing.T) {
			lasts := 5 * time.Minute
			for _, q := range x.quotas {
				lasts = max(lasts, q.Window.D())
			}
			if os.Getenv("PATRA_SOAK") != "" {
				lasts = 24 * time.Hour
			}
			synctest.Test(t, func(t *testing.T) {
				store := newDatabase(time.Millisecond)
				store.round = time.Minute
				store.still = 5 * time.Second
				var rates []source.Rate
				var oracles []*oracle
				for key := range strings.SplitSeq(x.keys, "") {
					r := source.Rate{Key: key, Limit: 3, Window: source.Duration(time.Second), QPS: 2.7, Burst: 1, Concurrency: 3, Quotas: x.quotas}
					o := newOracle(r, x.replies)
					o.atOnce = r.Concurrency
					rates = append(rates, r)
					oracles = append(oracles, o)
				}
				ctx, cancel := context.WithTimeout(t.Context(), lasts)
				defer cancel()
				var executors sync.WaitGroup
				for i := range x.executors {
					key := i % len(rates)
					executors.Go(func() {
						time.Sleep(time.Duration(i) * 7 * time.Second)
						for ctx.Err() == nil {
							executorOfAMinute(ctx, store, rates[key], oracles[key])
						}
					})
				}
				executors.Wait()
				time.Sleep(time.Minute) // what is still under way arrives
				for i, o := range oracles {
					o.keptWithin(t)
					for _, q := range x.quotas {
						(&sent{at: o.arrived}).withinWindow(t, q.Limit, q.Window.D())
					}
					undisturbed := 0
					for _, at := range o.arrived {
						if at.Sub(store.began)%store.round < store.round-store.still {
							undisturbed++
						}
					}
					answers := lasts.Seconds() * (store.round - store.still).Seconds() / store.round.Seconds()
					allowed := answers * cmp.Or(x.answered, rates[i].QPS)
					for _, q := range x.quotas {
						allowed = min(allowed, lasts.Seconds()*float64(q.Limit)/q.Window.D().Seconds())
					}
					used := float64(undisturbed) / allowed
					if used < 0.9 {
						t.Errorf("%.3f of what is allowed was used while the store answered", used)
					}
					t.Logf("%d requests, %.3f of what is allowed while the store answered", len(o.arrived), used)
				}
			})
		})
	}
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
