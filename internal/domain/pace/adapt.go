package pace

import (
	"cmp"
	"math/bits"
	"slices"
	"time"
)

// Adapt says how the rate gives way when the upstream complains or fails, and
// how it comes back. A zero field stands for its default.
type Adapt struct {
	// Outcomes is how many of the last requests are looked at, at most 64;
	// default 20.
	Outcomes int
	// CutAt and HoldAt are shares of them that failed: from the first on the
	// rate is cut, from the second on it does not rise. Default 0.25 and 0.1.
	CutAt, HoldAt float64
	// Factor is what is left of the rate when it is cut; default a half.
	Factor float64
	// Step is the share of the configured rate that it rises by in a minute;
	// default 0.1.
	Step float64
	// Floor is the least rate, in requests a second; default 0.1.
	Floor float64
	// CoolDown is the least time between two cuts: many requests in flight
	// complain about one and the same excess. Default 10 s.
	CoolDown time.Duration
	// WarmUp is how long the rate of a key that nothing is known of takes to rise from a
	// tenth to the whole of it; default 0: the whole rate is in force at once.
	WarmUp time.Duration
}

// DefaultAdapt is how the rate of a source gives way that does not say it.
func DefaultAdapt() Adapt { return Adapt{}.withDefaults() }

func (a Adapt) withDefaults() Adapt {
	a.Outcomes = min(cmp.Or(a.Outcomes, 20), 64)
	a.CutAt = cmp.Or(a.CutAt, 0.25)
	a.Factor = cmp.Or(a.Factor, 0.5)
	a.HoldAt = cmp.Or(a.HoldAt, 0.1)
	a.Step = cmp.Or(a.Step, 0.1)
	a.Floor = cmp.Or(a.Floor, 0.1)
	a.CoolDown = cmp.Or(a.CoolDown, 10*time.Second)
	return a
}

// mask has a bit set for each outcome that is looked at.
func (a Adapt) mask() uint64 { return ^uint64(0) >> (64 - a.Outcomes) }

// share is how many of the last outcomes were failures, as a part of all that are looked
// at. Outcomes that have not come yet count as good.
func (a Adapt) share(failures uint64) float64 {
	return float64(bits.OnesCount64(failures&a.mask())) / float64(a.Outcomes)
}

// Failing reports whether all of the last requests failed: then one request at a
// time finds out whether the upstream is back.
func (s State) Failing(l Limit) bool {
	a := l.Adapt.withDefaults()
	return s.Failed&a.mask() == a.mask()
}

// noteOutcome enters an outcome, and cuts the rate if too many of the last ones were
// failures. A share of them that is usual for the upstream costs nothing (R87).
func noteOutcome(s State, l Limit, now time.Time, failed bool) State {
	a := l.Adapt.withDefaults()
	s = Relax(s, l, now)
	s.Failed = s.Failed << 1 & a.mask()
	s.FailedSinceCut = s.FailedSinceCut << 1 & a.mask()
	if failed {
		s.Failed |= 1
		s.FailedSinceCut |= 1
	}
	share := a.share(s.Failed)
	switch holdsRate := !s.HeldAt.IsZero(); {
	case share >= a.HoldAt && !holdsRate:
		s.HeldAt = now
	case share < a.HoldAt && holdsRate:
		// The time during which the rate was held does not count towards its rise, the
		// clean time before does.
		if d := now.Sub(later(s.HeldAt, s.RisenAt)); d > 0 {
			s.RisenAt = s.RisenAt.Add(d)
		}
		s.HeldAt = time.Time{}
	}
	if failed && a.share(s.FailedSinceCut) >= a.CutAt {
		s = cutRate(s, l, now)
	}
	return s
}

// Cut is one step down of the rate, in requests a second.
type Cut struct {
	At   time.Time `json:"t"`
	From float64   `json:"f"`
	To   float64   `json:"n"`
}

// cutsKept is how many cuts are remembered.
const cutsKept = 8

// noteCut remembers a cut, and forgets the oldest of too many.
func (s State) noteCut(c Cut) State {
	first := max(0, len(s.Cuts)+1-cutsKept)
	s.Cuts = append(slices.Clone(s.Cuts[first:]), c) // the slice of an older state is not touched
	return s
}

// cutRate lowers the rate, at most once per cool-down and not below the floor.
func cutRate(s State, l Limit, now time.Time) State {
	a := l.Adapt.withDefaults()
	s = Relax(s, l, now)
	s.RisenAt = later(s.RisenAt, now)
	if l.QPS <= 0 || (!s.CutAt.IsZero() && now.Before(s.CutAt.Add(a.CoolDown))) {
		return s
	}
	before := l.QPS
	for _, lower := range []float64{s.Rate, s.Ceiling.PerSecond} {
		if lower > 0 && lower < before {
			before = lower
		}
	}
	s.CutAt = now
	s.WarmSince = time.Time{} // from here on it rises as after any cut
	s.FailedSinceCut = 0      // no failure cuts the rate twice
	after := max(before*a.Factor, a.Floor)
	if after < l.QPS {
		s.Rate = after
	}
	if after < before {
		s = s.noteCut(Cut{At: now, From: before, To: after})
	}
	return s
}

// coldShare is the part of the rate with which a key begins that has to warm up.
const coldShare = 0.1

// beginCold gives a key that nothing is known of the part of its rate with which it
// begins, if it has to warm up.
func (s State) beginCold(l Limit, now time.Time) State {
	if l.Adapt.WarmUp <= 0 {
		return s
	}
	s.Rate = coldShare * l.QPS
	s.RisenAt = now
	s.WarmSince = now
	return s
}

// rise is by how much the rate rises in a minute.
func (s State) rise(l Limit, a Adapt) float64 {
	if s.WarmSince.IsZero() || a.WarmUp <= 0 {
		return a.Step * l.QPS
	}
	return (1 - coldShare) * l.QPS / a.WarmUp.Minutes()
}

// Relax raises a rate that was cut by a step for each minute that has passed without a
// complaint, and that of a key that warms up by as much as it takes to be there in time,
// never above the configured one. While too many of the last requests have failed it does
// not rise.
func Relax(s State, l Limit, now time.Time) State {
	s = s.dropCeiling(l, now)
	if s.Rate <= 0 {
		return s
	}
	a := l.Adapt.withDefaults()
	clean := now
	if !s.HeldAt.IsZero() && s.HeldAt.Before(now) {
		clean = s.HeldAt
	}
	// The first step after a cut takes a whole minute; after it the rate rises steadily,
	// by as much as the time that has passed is worth.
	d := clean.Sub(s.RisenAt)
	if d >= time.Minute || d > 0 && (s.RisenAt.Sub(s.CutAt) >= time.Minute || !s.WarmSince.IsZero()) {
		s.Rate += s.rise(l, a) * d.Minutes()
		s.RisenAt = clean
	}
	if s.Rate >= l.QPS && !now.Before(s.CooldownUntil) {
		// Whole again, but with one token: the burst must be saved up anew.
		s.Rate = 0
		s.WarmSince = time.Time{}
		s.NextAt = later(s.NextAt, now).Add(l.slack())
	}
	return s
}
