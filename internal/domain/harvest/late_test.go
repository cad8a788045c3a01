package harvest_test

import (
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// TestC7_LagStaysWithinItsBounds: 5 minutes to 1 hour, whatever is seen, in the
// steps of M19; a declared lag outside the bounds is left alone.
func TestC7_LagStaysWithinItsBounds(t *testing.T) {
	const m = time.Minute
	for _, c := range []struct {
		lag  time.Duration
		rate float64
		want time.Duration
	}{
		{10 * m, 0.0051, 15 * m},
		{10 * m, 0.005, 10 * m},
		{10 * m, 0.001, 10 * m},
		{10 * m, 0.0009, 9 * m},
		{10 * m, 0, 9 * m},
		{57 * m, 0.1, 60 * m},
		{60 * m, 1, 60 * m},
		{60 * m, 0, 59 * m},
		{5*m + 30*time.Second, 0, 5 * m},
		{5 * m, 0, 5 * m},
		{5 * m, 0.006, 10 * m},
	} {
		if got := harvest.TuneLag(c.lag, c.rate); got != c.want {
			t.Errorf("lag %s at %g becomes %s, want %s", c.lag, c.rate, got, c.want)
		}
	}
	for lag, want := range map[time.Duration]bool{0: false, 5*m - 1: false, 5 * m: true, 10 * m: true, 60 * m: true, 60*m + 1: false, 24 * 60 * m: false} {
		if harvest.Tunable(lag) != want {
			t.Errorf("a declared lag of %s may be tuned: %v", lag, !want)
		}
	}
}

// TestR11_UnknownIsNotZero: the rate is known only where something looked back.
func TestR11_UnknownIsNotZero(t *testing.T) {
	for _, c := range []struct {
		name  string
		l     harvest.Lateness
		rate  float64
		known bool
	}{
		{"nobody looked", harvest.Lateness{}, 0, false},
		{"looked, nothing new", harvest.Lateness{LookedBack: true, SentinelWalked: true}, 0, false},
		{"looked, none late", harvest.Lateness{LookedBack: true, Fresh: 100}, 0, true},
		{"overlap", harvest.Lateness{LookedBack: true, Fresh: 200, Late: 2}, 0.01, true},
		{"sentinel alone", harvest.Lateness{SentinelWalked: true, Sampled: 50, Found: 1}, 0.02, true},
		{"both", harvest.Lateness{LookedBack: true, Fresh: 200, Late: 2, SentinelWalked: true, Sampled: 50, Found: 1}, 0.03, true},
	} {
		rate, known, why := c.l.Rate()
		if d := rate - c.rate; d > 1e-9 || d < -1e-9 || known != c.known || (why == "") != known {
			t.Errorf("%s: %g, known %v, %q", c.name, rate, known, why)
		}
	}
}

// TestR11_LateIsWhatWasProvenBeforeTheWalk: an instant counts only if every
// slice that answers for it was proven before the walk began.
func TestR11_LateIsWhatWasProvenBeforeTheWalk(t *testing.T) {
	t0 := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(h int) time.Time { return t0.Add(time.Duration(h) * time.Hour) }
	win := func(from, to int) harvest.Window { return harvest.Window{From: at(from), To: at(to)} }
	began := at(10)
	slices := []harvest.SliceProof{
		{win(0, 1), at(9)}, {win(1, 2), at(10)}, {win(2, 3), at(11)}, {win(3, 4), time.Time{}}, // proven before, then, after, not
		{win(4, 5), at(9)}, {win(4, 5), time.Time{}}, // one of two ranges of ids
		{win(5, 6), at(8)}, {win(5, 6), at(9)},
	}
	for h, want := range []int64{1, 0, 0, 0, 0, 1, 0} {
		if n := harvest.CountLate([]time.Time{at(h)}, slices, began); n != want {
			t.Errorf("hour %d: %d late, want %d", h, n, want)
		}
		if n := harvest.CountLate([]time.Time{at(h + 1).Add(-time.Microsecond)}, slices, began); n != want {
			t.Errorf("end of hour %d: %d late, want %d", h, n, want)
		}
	}
}
