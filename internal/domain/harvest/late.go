package harvest

import "time"

// Landed is a slice as lateness sees it: what it answers for, and since when
// that is proven; zero if it is not.
type Landed struct {
	Window Window
	DoneAt time.Time
}

// CountLate counts the update times that lie in an interval which was proven
// before a walk began (R11). Where several slices answer for an instant, all of
// them must be.
func CountLate(updated []time.Time, slices []Landed, began time.Time) (n int64) {
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

// LateOver is the time over which lateness is told.
const LateOver = 7 * 24 * time.Hour

// Lateness is what was seen of late versions over [LateOver].
type Lateness struct {
	// Fresh counts the new versions of harvests that looked back by an overlap,
	// Late those of them that came late; Looked tells whether there were any.
	Fresh, Late int64
	Looked      bool
	// Sampled counts the versions in the windows that sentinels walked again,
	// Found those of them that the harvest had missed; Walked likewise.
	Sampled, Found int64
	Walked         bool
}

// Rate is the share of versions that come late. What an overlap sees is a share
// of all that is new; what a sentinel finds has escaped the overlap, and is a
// share of its windows: the two add up. Without either the rate is not known,
// which is not the same as none being late; why says so.
func (l Lateness) Rate() (rate float64, known bool, why string) {
	if l.Fresh > 0 && l.Looked {
		rate, known = float64(l.Late)/float64(l.Fresh), true
	}
	if l.Sampled > 0 && l.Walked {
		rate, known = rate+float64(l.Found)/float64(l.Sampled), true
	}
	switch {
	case known:
		return min(rate, 1), true, ""
	case !l.Looked && !l.Walked:
		return 0, false, "neither an overlap nor a sentinel has looked back in 7 days"
	default:
		return 0, false, "no new version with an update time has come in 7 days"
	}
}

// Bounds of the tuned safety lag (C7), and the late rates at which it is moved
// (M19).
const (
	MinLag = 5 * time.Minute
	MaxLag = time.Hour

	lateMuch, lateLittle = 0.005, 0.001
	lagUp, lagDown       = 5 * time.Minute, time.Minute
)

// Tunable reports whether a declared safety lag may be tuned. One outside the
// bounds was chosen for a reason that lateness does not know, and is left alone.
func Tunable(declared time.Duration) bool { return declared >= MinLag && declared <= MaxLag }

// TuneLag is the safety lag that follows one, given the late rate.
func TuneLag(lag time.Duration, rate float64) time.Duration {
	switch {
	case rate > lateMuch:
		lag += lagUp
	case rate < lateLittle && lag > MinLag:
		lag -= lagDown
	}
	return min(max(lag, MinLag), MaxLag)
}

// Tuning is a safety lag moved.
type Tuning struct {
	Namespace Namespace
	// Declared is what the source says; a tuned lag stands for no other.
	Declared time.Duration
	From, To time.Duration
	Rate     float64
}

// Watched is a HARVEST namespace that has been planned of late.
type Watched struct {
	Cursor    CursorID
	Namespace Namespace
	// Snapshot and BaseURL are those of its newest plan.
	Snapshot []byte
	BaseURL  string
	// TunedAt and SentinelAt are when it was last tuned and looked after.
	TunedAt, SentinelAt time.Time
}

// SentinelPriority is the place of a sentinel's tasks in the queue: last.
const SentinelPriority = 900
