package harvest

import (
	"errors"
	"time"
)

// ErrAnswered: a trigger with the same scheduler, job and log id was answered
// already. Nothing was changed.
var ErrAnswered = errors.New("trigger was answered already")

// TriggerKind is what set a plan off.
type TriggerKind string

// The kinds of triggers.
const (
	TriggerManual    TriggerKind = "MANUAL"    // a person
	TriggerScheduled TriggerKind = "SCHEDULED" // the scheduler, or what patra does by itself
	TriggerAPI       TriggerKind = "API"       // an outside scheduler
)

// TriggerOutcome is what came of a trigger.
type TriggerOutcome string

// The outcomes of a trigger. It is RECEIVED before anything is done for it, and ends as
// one of the others.
const (
	TriggerReceived TriggerOutcome = "RECEIVED" // not answered yet
	TriggerPlanned  TriggerOutcome = "PLANNED"  // a plan
	TriggerExisting TriggerOutcome = "EXISTING" // a plan that was there
	TriggerNoop     TriggerOutcome = "NOOP"     // nothing to do
	TriggerRefused  TriggerOutcome = "REFUSED"  // no plan: what was asked for cannot be done, or not now
	TriggerFailed   TriggerOutcome = "FAILED"   // no plan: the source or the store did not do its part
)

// Triggered is what came of a trigger.
type Triggered struct {
	LogID   string
	Outcome TriggerOutcome
	Plan    PlanID // 0 if it made none
	Remarks string
	// At is when it was answered, or received if it was not.
	At time.Time
}

// TriggerAnswer is what a planner says to a trigger that somebody sends by itself.
type TriggerAnswer struct {
	Plan   PlanID // 0: there was nothing to plan
	Before bool   // the same trigger had its answer already
	// Waits: it was not answered, and is to be asked for again.
	Waits  bool
	Reason string
}

// Answered reports whether the trigger needs no second try. One that failed, was
// refused or was never answered does.
func (t Triggered) Answered() bool {
	switch t.Outcome {
	case TriggerPlanned, TriggerExisting, TriggerNoop:
		return true
	default:
		return false
	}
}

// CameToNothing reports whether the trigger ended without a plan that there should be.
func (t Triggered) CameToNothing() bool {
	return t.Outcome == TriggerFailed || t.Outcome == TriggerRefused
}
