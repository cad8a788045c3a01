package harvest

import (
	"cmp"
	"time"
)

// SliceProof is a slice as lateness sees it: what it answers for, and when that was
// proven; zero if it is not.
type SliceProof struct {
	Window Window
	DoneAt time.Time
}

// CountLate counts the update times that lie in what was proven before a walk began
// (R11): the walk that proved it should have seen them. Where several slices answer
// for an instant, all of them must have been proven by then.
//
//	proven at 10:00      proven at 12:00      open
//	|--------x-----------|---------x----------|----x-----|
//	     late             not late             not late      for a walk begun at 11:00
func CountLate(updated []time.Time, slices []SliceProof, began time.Time) (n int64) {
	for _, at := range updated {
		late := false
		for _, s := range slices {
			if at.Before(s.Window.From) || !at.Before(s.Window.To) {
				continue
			}
			late = !s.DoneAt.IsZero() && s.DoneAt.Before(began)
			if !late {
				break
			}
		}
		if late {
			n++
		}
	}
	return n
}

// LateOver is the time over which lateness is measured.
const LateOver = 7 * 24 * time.Hour

// Lateness is what was seen of late versions over [LateOver].
type Lateness struct {
	// Fresh counts the new versions, with an update time, that harvests with an
	// overlap have stored, Late those of them that came late. LookedBack tells
	// whether there was any such harvest.
	Fresh, Late int64
	LookedBack  bool
	// Sampled counts the versions in the windows that sentinels walked again, Found
	// those of them that the harvest had missed. SentinelWalked tells whether there
	// was any such walk.
	Sampled, Found int64
	SentinelWalked bool
}

// Rate is the share of versions that come late. An overlap sees a share of all that
// is new; a sentinel finds what has escaped the overlap, as a share of its windows.
// So the two add up. Without either the rate is not known, which is not the same as
// none being late; why says so.
func (l Lateness) Rate() (rate float64, known bool, why string) {
	if l.Fresh > 0 && l.LookedBack {
		rate, known = float64(l.Late)/float64(l.Fresh), true
	}
	if l.Sampled > 0 && l.SentinelWalked {
		rate, known = rate+float64(l.Found)/float64(l.Sampled), true
	}
	switch {
	case known:
		return min(rate, 1), true, ""
	case !l.LookedBack && !l.SentinelWalked:
		return 0, false, "neither an overlap nor a sentinel has looked back in 7 days"
	default:
		return 0, false, "no new version with an update time has come in 7 days"
	}
}

// LagBounds are between what a safety lag is tuned. The zero value is the platform's: 5
// minutes to 1 hour (C7).
type LagBounds struct {
	Least, Most time.Duration
}

// Filled has the platform's bounds where a source has none of its own.
func (b LagBounds) Filled() LagBounds {
	return LagBounds{Least: cmp.Or(b.Least, 5*time.Minute), Most: cmp.Or(b.Most, time.Hour)}
}

// The late rates at which a safety lag is moved, and by how much (M19).
const (
	lateMuch   = 0.005
	lateLittle = 0.001
	lagUp      = 5 * time.Minute
	lagDown    = time.Minute
)

// Tunable reports whether a declared safety lag may be tuned. One outside the
// bounds was chosen for a reason that lateness does not know, and is left alone.
func (b LagBounds) Tunable(declared time.Duration) bool {
	b = b.Filled()
	return declared >= b.Least && declared <= b.Most
}

// Tune moves a safety lag by the late rate: up in large steps, since what comes
// late may be missed, and down in small ones.
func (b LagBounds) Tune(lag time.Duration, rate float64) time.Duration {
	b = b.Filled()
	switch {
	case rate > lateMuch:
		lag += lagUp
	case rate < lateLittle && lag > b.Least:
		lag -= lagDown
	}
	return min(max(lag, b.Least), b.Most)
}

// Raise is a safety lag, declared and as it was tuned, one step up within the bounds, for
// what is planned while the database is slow: less is asked for, and later. One that may
// not be tuned stays as it is.
func (b LagBounds) Raise(declared, lag time.Duration) time.Duration {
	if !b.Tunable(declared) {
		return lag
	}
	return max(lag, min(lag+lagUp, b.Filled().Most))
}

// Tuning is one move of a safety lag.
type Tuning struct {
	Namespace Namespace
	// Declared is what the source says. A lag that was tuned in its place counts no
	// more once the source declares another.
	Declared time.Duration
	From, To time.Duration
	Rate     float64
}

// Watched is a HARVEST namespace that has been planned recently, and so is watched
// for what comes late.
type Watched struct {
	Cursor    CursorID
	Namespace Namespace
	// Snapshot and BaseURL are those of its newest plan.
	Snapshot []byte
	BaseURL  string
	// TunedAt is when its safety lag was last tuned, SentinelAt when a sentinel was
	// last sent.
	TunedAt, SentinelAt time.Time
}

// SentinelPriority puts a sentinel's tasks at the end of the queue.
const SentinelPriority = 900
