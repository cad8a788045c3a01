package gate

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/pace"
	"github.com/papertrace/patra/internal/domain/source"
)

// TestR69_TwoProcessesKeepTheShares: shares and what is kept back are of the key and not of
// a process, refusals say which it was, and the advice agrees with them.
func TestR69_TwoProcessesKeepTheShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewLocal()
		gates := []*Gate{New(Config{}, store), New(Config{}, store)}
		r := source.Rate{
			Key: "x", Quotas: []source.QuotaConfig{per(100, 24*time.Hour)}, QuotaReserve: new(10),
			QuotaShares: &source.QuotaShares{Harvest: 40, Backfill: 20},
		}
		sent := func(op harvest.Operation) (n int, code string) {
			for ; ; n++ {
				_, release, _, err := gates[n%2].Acquire(t.Context(), r.On(op, source.ForSearch), 1, time.Second)
				if err != nil {
					return n, codeOf(err)
				}
				release(true)
			}
		}
		advised := func(op harvest.Operation) int64 {
			a, err := gates[0].Estimate(t.Context(), r.On(op, source.ForSearch), 1, time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			return a.Requests
		}
		for _, c := range []struct {
			op      harvest.Operation
			advised int64
			sent    int
			code    string
		}{
			{harvest.Update, 36, 36, "quota_kept"},   // 90 without 36 of HARVEST and 18 of BACKFILL
			{harvest.Backfill, 18, 18, "quota_kept"}, // its least
			{harvest.Harvest, 36, 46, "quota_wait"},  // what is left, with the ten that nobody plans with
		} {
			if n := advised(c.op); n != c.advised {
				t.Errorf("%s: %d advised, want %d", c.op, n, c.advised)
			}
			if n, code := sent(c.op); n != c.sent || code != c.code {
				t.Errorf("%s: %d sent, then %s; want %d, then %s", c.op, n, code, c.sent, c.code)
			}
		}
	})
}

// TestR69_RemainingOfAReplyIsTold: what a reply says is left holds for every process.
func TestR69_RemainingOfAReplyIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewLocal()
		r := source.Rate{Key: "x", Budget: &source.BudgetConfig{}, Concurrency: 2}
		gates := []*Gate{New(Config{}, store), New(Config{}, store)}
		mustAcquire(t, gates[0], r, time.Second)()
		gates[0].Report(t.Context(), r, pace.Outcome{Kind: pace.Fine, Left: 3, ResetIn: time.Hour})
		mustAcquire(t, gates[0], r, time.Second)() // takes along what is left
		mustAcquire(t, gates[1], r, time.Second)()
		mustAcquire(t, gates[1], r, time.Second)()
		if _, _, _, err := gates[1].Acquire(t.Context(), r, 1, time.Second); codeOf(err) != "quota_wait" {
			t.Errorf("a fourth of three: %v", err)
		}
		mustAcquire(t, gates[1], r, 2*time.Hour)()
	})
}
