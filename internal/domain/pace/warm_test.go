package pace

import (
	"testing"
	"time"
)

// TestR69_AKeyWarmsUpAsTheSourceSays: the rate of a key that nothing is known of rises from
// a tenth to the whole of it in the time that the source names, and at once if it names
// none; a complaint ends that, and the rate comes back as after any other.
func TestR69_AKeyWarmsUpAsTheSourceSays(t *testing.T) {
	sent := func(l Limit, s State, from, to time.Duration) (n int) {
		for {
			next, slot := Reserve(s, l, 1, start.Add(from), 0)
			if !slot.At.Before(start.Add(to)) {
				return n
			}
			s = next
			from = slot.At.Sub(start)
			n++
		}
	}
	warm := Limit{QPS: 10, Burst: 1, Adapt: Adapt{WarmUp: 10 * time.Minute}}
	for _, c := range []struct {
		name       string
		l          Limit
		to         time.Duration
		least, max int
	}{
		{"the platform's, at once", Limit{QPS: 10, Burst: 1}, time.Minute, 600, 600},
		{"the first minute of ten", warm, time.Minute, 80, 90},
		{"all ten of them: the mean of a tenth and the whole", warm, 10 * time.Minute, 3270, 3300},
	} {
		if n := sent(c.l, State{}, 0, c.to); n < c.least || n > c.max {
			t.Errorf("%s: %d requests, want %d to %d", c.name, n, c.least, c.max)
		}
	}
	s, _ := Reserve(State{}, warm, 1, start, 0)
	if just := Relax(s, warm, start.Add(10*time.Minute-time.Second)); just.Rate == 0 || just.Rate > 10 {
		t.Errorf("a second before it is warm: %v a second", just.Rate)
	}
	if whole := Relax(s, warm, start.Add(10*time.Minute)); whole.Rate != 0 || !whole.WarmSince.IsZero() {
		t.Errorf("after the warm-up %v a second, warm since %v", whole.Rate, whole.WarmSince)
	}
	cut := Throttle(s, warm, start.Add(5*time.Minute), 0)
	if !cut.WarmSince.IsZero() || cut.Rate < 2.7 || cut.Rate > 2.8 { // half of 5.5
		t.Errorf("after a complaint %v a second, warm since %v", cut.Rate, cut.WarmSince)
	}
	again, _ := Reserve(cut, warm, 1, start.Add(6*time.Minute), 0)
	if !again.WarmSince.IsZero() {
		t.Error("a key that has been throttled warms up anew")
	}
}
