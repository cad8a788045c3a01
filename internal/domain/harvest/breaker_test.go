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
	for range harvest.BreakAfter - 1 {
		b = b.Fail(now)
		if b.Bars(now) {
			t.Fatalf("rests after %d spent runs", b.Spent)
		}
	}
	for _, minutes := range []time.Duration{1, 2, 4, 8, 16, 30, 30, 30} {
		b = b.Fail(now)
		if again := b.Fail(now.Add(time.Second)); again != b {
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
