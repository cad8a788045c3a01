package harvest

import "time"

// ErrorKey is what faults have in common that a person looks at as one: an outage
// that fails ten thousand pages is one thing to know of.
type ErrorKey struct {
	Level      Level
	Provenance string
	Endpoint   string
	Code       Code
	// Path is where in an item something is wrong; empty if it is not about an item.
	Path string
}

// Remedy is what was done by itself about a fault.
type Remedy string

// The remedies. What nothing was done about has none.
const (
	QueuedAgain   Remedy = "QUEUED_AGAIN"   // the task waits, then somebody tries again
	WalkedAgain   Remedy = "WALKED_AGAIN"   // the slice was begun again
	CutSmaller    Remedy = "CUT_SMALLER"    // smaller slices took the place of the slice
	LeftGap       Remedy = "LEFT_GAP"       // the slice was given up, and is tried again later
	PutAside      Remedy = "PUT_ASIDE"      // the item is in quarantine, or rests on the list of bad ids
	SourceStopped Remedy = "SOURCE_STOPPED" // nothing is asked until a person has looked
)

// ErrorState is what people have decided about an error group.
type ErrorState string

// The states of an error group.
const (
	ErrorOpen         ErrorState = "OPEN"
	ErrorAcknowledged ErrorState = "ACKNOWLEDGED"
	ErrorMuted        ErrorState = "MUTED"
	ErrorResolved     ErrorState = "RESOLVED"
	ErrorCameBack     ErrorState = "CAME_BACK" // a fault came after it was resolved
)

// At is the state at an instant: a mute that has run out ends by itself.
func (s ErrorState) At(now, mutedUntil time.Time) ErrorState {
	if s == ErrorMuted && !now.Before(mutedUntil) {
		return ErrorOpen
	}
	return s
}

// IsFault reports whether a code tells of a fault. Work that waits, was given back,
// or is cut since that is wise, met none.
func (c Code) IsFault() bool {
	switch c {
	case CodeHeld, CodeSourceHeld, CodeShutdown, CodeUnasked, CodeBeside, CodeUnconfirmed:
		return false
	}
	return c != "" && !(Fault{Code: c}).Waits() && !CutAdvised(c)
}
