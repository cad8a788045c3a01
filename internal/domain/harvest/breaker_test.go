package harvest_test

import (
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// TestM14_RestDoublesUpToHalfAnHour, one try at a time.
func TestM14_RestDoublesUpToHalfAnHour(t *testing.T) {
	var b harvest.Breaker
	now := t0
	for range harvest.DefaultBreaker().After - 1 {
		b = b.Fail(now, harvest.BreakerLimits{})
		if b.Bars(now) {
			t.Fatalf("rests after %d spent runs", b.Spent)
		}
	}
	for _, minutes := range []time.Duration{1, 2, 4, 8, 16, 30, 30, 30} {
		b = b.Fail(now, harvest.BreakerLimits{})
		if again := b.Fail(now.Add(time.Second), harvest.BreakerLimits{}); again != b {
			t.Error("a run from before the rest made it longer")
		}
		if end := now.Add(minutes * time.Minute); !b.Bars(end.Add(-1)) || b.Bars(end) {
			t.Fatalf("rests until %s, want %s", b.Until.Sub(now), minutes*time.Minute)
		}
		now = b.Until
		b = b.Try(now)
		if !b.Bars(now) || !b.Bars(now.Add(9*time.Minute)) {
			t.Fatal("two tries at once")
		}
		if b.Bars(now.Add(time.Hour)) {
			t.Fatal("a try that never ends bars the partition for ever")
		}
		if back := b.GiveBack(now); back.Bars(now) || !back.Open() {
			t.Fatal("a try given back cannot be made by another")
		}
		now = now.Add(time.Second)
	}
}

// TestR69_TheBreakerIsTheSources: how many failures it takes, how long it rests first and at
// most, with the platform's values and with a source's own, just below and just above.
func TestR69_TheBreakerIsTheSources(t *testing.T) {
	for _, c := range []struct {
		name  string
		own   harvest.BreakerLimits
		after int
		rests []time.Duration
	}{
		{"the platform's", harvest.BreakerLimits{}, 3, []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute}},
		{"failures", harvest.BreakerLimits{After: 5}, 5, []time.Duration{time.Minute, 2 * time.Minute}},
		{"one failure", harvest.BreakerLimits{After: 1}, 1, []time.Duration{time.Minute, 2 * time.Minute}},
		{"first rest", harvest.BreakerLimits{Rest: 2 * time.Second}, 3, []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second}},
		{"longest rest", harvest.BreakerLimits{Most: 3 * time.Minute}, 3, []time.Duration{time.Minute, 2 * time.Minute, 3 * time.Minute, 3 * time.Minute}},
		{"longest below the platform's first", harvest.BreakerLimits{Most: 30 * time.Second}, 3, []time.Duration{30 * time.Second, 30 * time.Second}},
		{"first above the platform's longest", harvest.BreakerLimits{Rest: time.Hour}, 3, []time.Duration{time.Hour, time.Hour}},
	} {
		var b harvest.Breaker
		now := t0
		for n := 1; n < c.after; n++ {
			b = b.Fail(now, c.own)
			if b.Open() || b.Bars(now) {
				t.Errorf("%s: rests after %d failures", c.name, n)
			}
		}
		for i, want := range c.rests {
			b = b.Fail(now, c.own)
			if !b.Open() || !b.Bars(now.Add(want-1)) || b.Bars(now.Add(want)) {
				t.Errorf("%s: rest %d is %s, want %s", c.name, i+1, b.Until.Sub(now), want)
			}
			now = now.Add(want)
		}
	}
}
