package harvest_test

import (
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// slowLab tells of pages one after the other.
type slowLab struct {
	harvest.Slowness
	now     time.Time
	lowered bool
}

// tenPages took so long each. After fewer are allowed the first page only shows that they are.
func (l *slowLab) tenPages(took, limit time.Duration) {
	n := 10
	if l.lowered {
		n++
	}
	l.lowered = false
	for range n {
		l.now = l.now.Add(took)
		if l.Note(l.now, took, limit, l.Allowed()) {
			l.lowered = true
		}
	}
}

// TestR69_SlownessIsTheSources: how long pages may take in the mean, the platform's three
// seconds and a source's own, just below and just above.
func TestR69_SlownessIsTheSources(t *testing.T) {
	for _, c := range []struct {
		name       string
		own, limit time.Duration
	}{{"the platform's", 0, 3 * time.Second}, {"its own", time.Minute, time.Minute}} {
		s := slowLab{Slowness: harvest.Slowness{Most: 8}, now: t0}
		s.tenPages(c.limit, c.own)
		if s.Allowed() != 8 {
			t.Errorf("%s: %d at once, though pages take no longer than they may", c.name, s.Allowed())
		}
		s.tenPages(c.limit+1, c.own)
		if s.Allowed() != 4 {
			t.Errorf("%s: %d at once, though pages take longer than they may", c.name, s.Allowed())
		}
	}
}

// TestHealing_FewerAtOnceOnlyWhereItHelps: a source that answers sooner when it is asked for
// less is asked for less until it is quick, and for more again then; one that does not is
// asked for as much as before.
func TestHealing_FewerAtOnceOnlyWhereItHelps(t *testing.T) {
	s := slowLab{Slowness: harvest.Slowness{Most: 8}, now: t0}
	for i, step := range []struct {
		took time.Duration
		want int
	}{
		{20 * time.Second, 4},
		{10 * time.Second, 2}, // it helps, and is not enough
		{5 * time.Second, 1},
		{2 * time.Second, 2},
		{2 * time.Second, 3},
		{9 * time.Second, 8}, // as many as were bad before: but not for their number
	} {
		s.tenPages(step.took, 0)
		if s.Allowed() != step.want {
			t.Fatalf("step %d: %d at once, want %d", i, s.Allowed(), step.want)
		}
	}
	vain := s.now
	s.now = vain.Add(time.Hour - 91*time.Second)
	s.tenPages(9*time.Second, 0)
	if s.Allowed() != 8 {
		t.Errorf("%d at once, though it was in vain within the hour", s.Allowed())
	}
	s.now = vain.Add(time.Hour)
	s.tenPages(9*time.Second, 0)
	if s.Allowed() != 4 {
		t.Errorf("%d at once after the hour", s.Allowed())
	}
	s.tenPages(8*time.Second, 0)
	if s.Allowed() != 8 {
		t.Errorf("%d at once, though pages take as long as with more", s.Allowed())
	}
	alone := slowLab{Slowness: harvest.Slowness{Most: 1}, now: t0}
	alone.tenPages(time.Minute, 0)
	if alone.Allowed() != 1 {
		t.Error("none at all is worked on")
	}
	// Most is how many there could be; half of those that there are is fewer.
	some := slowLab{Slowness: harvest.Slowness{Most: 64}, now: t0}
	for range 10 {
		some.now = some.now.Add(9 * time.Second)
		some.Note(some.now, 9*time.Second, 0, 4)
	}
	if some.Allowed() != 2 {
		t.Errorf("%d at once, where there were four", some.Allowed())
	}
	// What was begun with more at once says nothing of fewer.
	busy := slowLab{Slowness: harvest.Slowness{Most: 8}, now: t0}
	busy.tenPages(9*time.Second, 0)
	for range 20 {
		busy.now = busy.now.Add(9 * time.Second)
		busy.Note(busy.now, 9*time.Second, 0, 5)
	}
	if busy.Allowed() != 4 {
		t.Errorf("%d at once, by pages of five at once", busy.Allowed())
	}
}
