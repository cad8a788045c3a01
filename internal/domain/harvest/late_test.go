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
		if got := (harvest.LagBounds{}).Tune(c.lag, c.rate); got != c.want {
			t.Errorf("lag %s at %g becomes %s, want %s", c.lag, c.rate, got, c.want)
		}
	}
	for lag, want := range map[time.Duration]bool{0: false, 5*m - 1: false, 5 * m: true, 10 * m: true, 60 * m: true, 60*m + 1: false, 24 * 60 * m: false} {
		if (harvest.LagBounds{}).Tunable(lag) != want {
			t.Errorf("a declared lag of %s may be tuned: %v", lag, !want)
		}
	}
}

// TestR69_LagBoundsAreTheSources: a source's own bounds are in the place of the platform's,
// each alone, just at it and just beyond.
func TestR69_LagBoundsAreTheSources(t *testing.T) {
	const m = time.Minute
	for name, c := range map[string]struct {
		own       harvest.LagBounds
		lag, want time.Duration
		rate      float64
		tunable   bool
	}{
		"down to the platform's":   {harvest.LagBounds{}, 5 * m, 5 * m, 0, true},
		"down to its own":          {harvest.LagBounds{Least: 4 * m}, 5 * m, 4 * m, 0, true},
		"not below its own":        {harvest.LagBounds{Least: 4 * m}, 4 * m, 4 * m, 0, true},
		"declared below its own":   {harvest.LagBounds{Least: 4 * m}, 4*m - 1, 4 * m, 0, false},
		"up to the platform's":     {harvest.LagBounds{}, 60 * m, 60 * m, 1, true},
		"up to its own":            {harvest.LagBounds{Most: 65 * m}, 60 * m, 65 * m, 1, true},
		"not above its own":        {harvest.LagBounds{Most: 65 * m}, 65 * m, 65 * m, 1, true},
		"declared above its own":   {harvest.LagBounds{Most: 65 * m}, 65*m + 1, 65 * m, 1, false},
		"beyond the platform's":    {harvest.LagBounds{}, 60*m + 1, 60 * m, 1, false},
		"its own, far from others": {harvest.LagBounds{Least: 24 * time.Hour, Most: 48 * time.Hour}, 47*time.Hour + 58*m, 48 * time.Hour, 1, true},
	} {
		if got := c.own.Tune(c.lag, c.rate); got != c.want || c.own.Tunable(c.lag) != c.tunable {
			t.Errorf("%s: %s, tunable %v; want %s, %v", name, got, c.own.Tunable(c.lag), c.want, c.tunable)
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

// TestHealing_ARaisedLagStaysWithinItsBounds: a step up, as far as the bounds go; never
// down, and not where the lag was chosen outside of them.
func TestHealing_ARaisedLagStaysWithinItsBounds(t *testing.T) {
	const m = time.Minute
	own := harvest.LagBounds{Least: m, Most: 12 * m}
	for _, c := range []struct {
		b                   harvest.LagBounds
		declared, lag, want time.Duration
	}{
		{harvest.LagBounds{}, 10 * m, 10 * m, 15 * m},
		{harvest.LagBounds{}, 10 * m, 20 * m, 25 * m}, // as it was tuned
		{harvest.LagBounds{}, 10 * m, 55 * m, 60 * m},
		{harvest.LagBounds{}, 10 * m, 57 * m, 60 * m},
		{harvest.LagBounds{}, 60 * m, 60 * m, 60 * m},
		{harvest.LagBounds{}, 24 * 60 * m, 24 * 60 * m, 24 * 60 * m},
		{harvest.LagBounds{}, m, m, m},
		{own, m, m, 6 * m},
		{own, 10 * m, 10 * m, 12 * m},
		{own, 10 * m, 20 * m, 20 * m}, // tuned within other bounds
	} {
		if got := c.b.Raise(c.declared, c.lag); got != c.want {
			t.Errorf("a lag of %s, declared %s, is raised to %s, want %s", c.lag, c.declared, got, c.want)
		}
	}
}
