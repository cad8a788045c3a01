package gate

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/domain/pace"
	"github.com/papertrace/patra/internal/domain/source"
)

// TestR91_EvenSpacingUsesNearlyAllOfTheLimit: the rate that is taken of a limit,
// from several processes over a database that takes its time, with requests that
// leave 0 to 50 ms late and are 0 to 50 ms on their way. The oracle counts in
// sliding and in fixed windows.
func TestR91_EvenSpacingUsesNearlyAllOfTheLimit(t *testing.T) {
	for _, c := range []struct {
		limit  int
		window time.Duration
		lasts  time.Duration
	}{
		{3, time.Second, 10 * time.Minute},
		{10, time.Second, 3 * time.Minute},
		{20, time.Second, 90 * time.Second},
		{1, 3 * time.Second, 30 * time.Minute},
		{10, 5 * time.Second, 10 * time.Minute},
		{30, time.Minute, time.Hour},
	} {
		t.Run(fmt.Sprintf("%d in %s", c.limit, c.window), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := source.Rate{Key: "x", Limit: c.limit, Window: source.Duration(c.window), Burst: 1}
				r.QPS = pace.Share(float64(c.limit), 1, c.window, 0)
				o := newOracle(r, 100*time.Millisecond)
				o.way = 2 * pace.Jitter
				crowd(t, newDatabase(time.Millisecond), r, o, 3, 3, c.lasts)
				o.keptWithin(t)
				share := o.rate(c.lasts) * c.window.Seconds() / float64(c.limit)
				t.Logf("%.3g a second: %.3f of what is allowed", r.QPS, share)
				if share < 0.88 {
					t.Errorf("%.3f of what is allowed is used, want 0.88", share)
				}
			})
		})
	}
}

// TestR91_TooFastAtTheOracle: what compile refuses does break the limit.
func TestR91_TooFastAtTheOracle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := source.Rate{Key: "x", Limit: 20, Window: source.Duration(time.Second), QPS: 19, Burst: 1}
		if pace.Fits(r.QPS, r.Burst, float64(r.Limit), r.Window.D(), 0) {
			t.Error("19 of 20 a second with a way of 50 ms are taken for safe")
		}
		o := newOracle(r, 100*time.Millisecond)
		o.way = 2 * pace.Jitter
		crowd(t, newDatabase(time.Millisecond), r, o, 3, 3, time.Minute)
		if o.tooFast == 0 {
			t.Error("the oracle does not see it")
		}
	})
}
