package pace_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/pace"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// lastOf reserves n slots, each when the one before is used, and returns the time of the
// last.
func lastOf(s pace.State, l pace.Limit, now time.Time, n int) (pace.State, time.Time) {
	for range n {
		var slot pace.Slot
		s, slot = pace.Reserve(s, l, 1, now, 0)
		now = slot.At
	}
	return s, now
}

// TestCeiling_HoldsForItsTime: a ceiling lowers the rate until its time is over, never
// raises it, can be lifted before, and leaves the silence that an upstream asked for.
func TestCeiling_HoldsForItsTime(t *testing.T) {
	l := pace.Limit{QPS: 10, Burst: 1}
	s, at := lastOf(pace.State{}, l, noon, 11)
	if d := at.Sub(noon); d != time.Second {
		t.Fatalf("ten slots at ten a second took %s", d)
	}
	low := pace.SetCeiling(s, l, pace.Ceiling{PerSecond: 2, Until: at.Add(time.Minute)}, at)
	if got := low.Allowed(l, at); got != 2 {
		t.Errorf("allowed are %g a second", got)
	}
	low, then := lastOf(low, l, at, 10)
	if d := then.Sub(at); d != 5*time.Second {
		t.Errorf("ten slots at two a second took %s", d)
	}
	_, then = lastOf(low, l, at.Add(2*time.Minute), 11)
	if d := then.Sub(at.Add(2 * time.Minute)); d != time.Second {
		t.Errorf("after its time ten slots took %s", d)
	}
	if got := pace.SetCeiling(low, l, pace.Ceiling{}, then).Allowed(l, then); got != 10 {
		t.Errorf("lifted, allowed are %g a second", got)
	}
	if got := pace.SetCeiling(s, l, pace.Ceiling{PerSecond: 99, Until: at.Add(time.Minute)}, at).Allowed(l, at); got != 10 {
		t.Errorf("raised to %g a second", got)
	}
	cooling := pace.Throttle(s, l, at, time.Hour)
	for _, c := range []pace.Ceiling{{PerSecond: 5, Until: at.Add(time.Minute)}, {}} {
		if after := pace.SetCeiling(cooling, l, c, at); !after.CooldownUntil.Equal(at.Add(time.Hour)) || after.Epoch != cooling.Epoch {
			t.Errorf("the silence asked for ends at %s", after.CooldownUntil)
		}
	}
	if got := pace.Throttle(pace.SetCeiling(s, l, pace.Ceiling{PerSecond: 2, Until: at.Add(time.Hour)}, at), l, at, 0).Allowed(l, at); got != 1 {
		t.Errorf("a complaint under a ceiling of 2 leaves %g a second", got)
	}
}

// TestCeiling_NeverMoreThanTheLimit: however ceilings come and go, no span of time has
// more slots than the configured rate and burst allow.
func TestCeiling_NeverMoreThanTheLimit(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		l := pace.Limit{QPS: 5, Burst: 1 + r.IntN(10)}
		var s pace.State
		now := noon
		var slots []time.Time
		for range 400 {
			now = now.Add(time.Duration(r.IntN(400)) * time.Millisecond)
			switch r.IntN(8) {
			case 0:
				s = pace.SetCeiling(s, l, pace.Ceiling{PerSecond: 0.5 + r.Float64()*6, Until: now.Add(time.Duration(r.IntN(9000)) * time.Millisecond)}, now)
			case 1:
				s = pace.SetCeiling(s, l, pace.Ceiling{}, now)
			}
			var slot pace.Slot
			s, slot = pace.Reserve(s, l, 1, now, 0)
			slots = append(slots, slot.At)
		}
		for i := range slots {
			for k := i + 1; k < len(slots); k++ {
				span := slots[k].Sub(slots[i])
				if n := float64(k - i + 1); n > l.QPS*span.Seconds()+float64(l.Burst)+1e-6 {
					t.Fatalf("seed %d: %g slots in %s with a burst of %d", seed, n, span, l.Burst)
				}
			}
		}
	}
}
