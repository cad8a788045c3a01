package harvest

import "time"

// GoneAfter is how far apart two checks must lie before both not finding a
// record mean that it is gone (R31).
const GoneAfter = 24 * time.Hour

// Absence is what not finding a record in an UPDATE leads to.
type Absence string

// The absences.
const (
	// AbsentStale: the record was seen after the check was made.
	AbsentStale Absence = "stale"
	// AbsentKnown: the record is known to be gone, or to go on as another one.
	AbsentKnown Absence = "known"
	// AbsentOnce: it may come back; the check is remembered.
	AbsentOnce Absence = "once"
	// AbsentGone: it was not found before either, long enough ago.
	AbsentGone Absence = "gone"
)

// Miss decides what it means that a check made at an instant did not find the
// record held, which was not found since an instant before, zero if it was.
// Absence from a search is no check and must not come here.
func Miss(held Held, since, at time.Time) Absence {
	switch {
	case held.Version.ObservedAt.After(at):
		return AbsentStale
	case held.Status == RecordGone, held.Status == RecordMerged:
		return AbsentKnown
	case since.IsZero(), at.Sub(since) < GoneAfter:
		return AbsentOnce
	default:
		return AbsentGone
	}
}
