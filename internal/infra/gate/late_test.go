package gate

import (
	"context"
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
func TestR86_SixProcessesShareTheSeats(t *testing.T) {
	for _, replies := range []time.Duration{900 * time.Millisecond, 3 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			const lasts = 20 * time.Minute
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
