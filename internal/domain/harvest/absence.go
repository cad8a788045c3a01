package harvest

import "time"

// GoneAfter is how far apart two checks must lie before both not finding a
// record mean that it is gone (R31).
const GoneAfter = 24 * time.Hour

// Absence is what it means for a stored record that an UPDATE did not find it.
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

// JudgeAbsence decides what it means that a check did not find the stored record.
// firstMissedAt is when a check first did not find it, zero if the last one did.
// A record that only a search leaves out was not checked and must not come here.
func JudgeAbsence(stored StoredRecord, firstMissedAt, checkedAt time.Time) Absence {
	switch {
	case stored.Version.ObservedAt.After(checkedAt):
		return AbsentStale
	case stored.Status == RecordGone, stored.Status == RecordMerged:
		return AbsentKnown
	case firstMissedAt.IsZero(), checkedAt.Sub(firstMissedAt) < GoneAfter:
		return AbsentOnce
	default:
		return AbsentGone
	}
}
