package harvest

import (
	"errors"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/domain/problem"
)

// Level says how bad a fault is, and so who can mend it.
type Level string

// The fault levels.
const (
	// Transient faults pass: wait and ask again.
	Transient Level = "L1"
	// Rejected requests will be refused again as they are.
	Rejected Level = "L2"
	// Corrupt data spoils one item, not its page.
	Corrupt Level = "L3"
	// Fatal faults stop the source until a person has looked at it.
	Fatal Level = "L4"
)

// Reaction is what a fault asks for (R63).
type Reaction string

// The reactions.
const (
	// Retry the request.
	Retry Reaction = "RETRY"
	// RestartWalk throws the walk away and begins the slice again.
	RestartWalk Reaction = "RESTART"
	// CutSlice cuts the slice again, smaller.
	CutSlice Reaction = "CUT"
	// GiveUp ends the run.
	GiveUp Reaction = "STOP"
	// NoItems takes the reply for an empty page: no fault at all (R61).
	NoItems Reaction = "EMPTY"
)

// Fault is what a failed fetch means. It is wrapped beside its cause:
//
//	fmt.Errorf("fetch %s: %w: %w", url, Fault{...}, err)
type Fault struct {
	Level    Level
	Reaction Reaction
	// Code is a stable word for what happened, e.g. http_503, token_expired.
	Code Code
	// Status is the HTTP status, 0 if none came.
	Status int
	// RetryAfter is how long the upstream asked us to stay away.
	RetryAfter time.Duration
	// Lost reports that the request may have been served although no whole
	// answer came: a stateful cursor has perhaps moved on (R22).
	Lost bool
	// Once: transient the first time, fatal if the repetition ends the same
	// way (R42).
	Once bool
}

// Again is the fault when the repetition has shown it too.
func (f Fault) Escalated() Fault {
	if f.Once {
		f.Level, f.Reaction = Fatal, GiveUp
	}
	return f
}

func (f Fault) Error() string {
	if f.Status != 0 {
		return fmt.Sprintf("%s %s (HTTP %d)", f.Level, f.Code, f.Status)
	}
	return fmt.Sprintf("%s %s", f.Level, f.Code)
}

// Throttled reports whether the upstream asked for fewer requests.
func (f Fault) Throttled() bool { return f.Status == 429 || f.Code == CodeThrottled }

// OfQuota reports whether there is nothing left of a quota for this request.
func (f Fault) OfQuota() bool { return f.Code == CodeQuota || f.Code == CodeQuotaKept }

// Waits reports whether nothing is known against the upstream: the request was
// held back here, or broken off by whoever had asked for it.
func (f Fault) Waits() bool {
	switch f.Code {
	case CodeRate, CodeQuota, CodeQuotaKept, CodeQuiet, CodeBroken, CodeCancelled:
		return true
	}
	return false
}

// Next is what a person does about a fault of a source. Only what passes by itself
// is worth waiting for.
func (f Fault) Next(code string) string {
	switch f.Code {
	case CodeQueryWidened:
		return "the source does not know the words named and would have searched without them, for something else: mend --query. " +
			"Where such a word is one of several with OR between, it finds nothing there: without it the source finds the same. " +
			"Else write it as the source does, in another field, or without quotation marks; nothing was changed"
	case CodeAuthRefused, CodeNoCredential, CodeCredentialUnreadable:
		return fmt.Sprintf("`patra credential list` shows the keys there are; patra credential set %s NAME --env VARIABLE --reason TEXT, "+
			"then patra source resume %s --reason TEXT if it was stopped, and the same command again", code, code)
	case CodeCertificate:
		return "this does not mend itself: is the address right, is the clock of this machine, " +
			"and is the authority known here that signed the certificate (SSL_CERT_FILE names a file with more of them)?"
	}
	switch f.Level {
	case Fatal:
		return fmt.Sprintf("the source was stopped: `patra source check %s --show http` shows the request and the reply; "+
			"when it is mended, patra source resume %s --reason TEXT, then the same command again", code, code)
	case Transient:
		return "run the same command again later: it goes on where it stopped"
	default:
		return fmt.Sprintf("the same request would be refused again: `patra source check %s --show http` shows it and the reply", code)
	}
}

// FaultOf finds the fault in err.
func FaultOf(err error) (Fault, bool) { return errors.AsType[Fault](err) }

// Outcomes that a caller of the store branches on.
var (
	// ErrLeaseLost: another worker has taken the task over. Nothing was
	// changed; stop the run and write nothing more.
	ErrLeaseLost = errors.New("lease lost")
	// ErrHeld: the task was cancelled, or its source paused or stopped, while
	// the work was under way. Nothing was changed.
	ErrHeld = errors.New("task cancelled or source held")
	// ErrFrontierMoved: another plan was saved first. Plan again.
	ErrFrontierMoved = errors.New("frontier moved")
	// ErrUnknownOutcome: the connection was lost while committing. Nobody
	// knows what is stored; the next owner of the task reads it.
	ErrUnknownOutcome = errors.New("commit outcome unknown")
	// ErrStoreAway: the store takes nothing from anybody now: it cannot be
	// reached, is full, or may not be written. Any other error of the store
	// concerns what it was given.
	ErrStoreAway = errors.New("the store is away")
	// ErrStoreGone: what the store writes to is not there any more. Nothing was
	// written, and nothing will be: end, and let a person look.
	ErrStoreGone = errors.New("what is written now would be lost")
	// ErrCursorRegress: a cursor was asked to move back.
	ErrCursorRegress = errors.New("cursor may not move back")
	// ErrNotFound: no such object.
	ErrNotFound = problem.New("not found", problem.Problem{Code: "not_found", Kind: problem.NotFound})
)
