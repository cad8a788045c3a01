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

// The outcomes of a trigger.
const (
	TriggerPlanned  TriggerOutcome = "PLANNED"  // a plan
	TriggerExisting TriggerOutcome = "EXISTING" // a plan that was there
	TriggerNoop     TriggerOutcome = "NOOP"     // nothing to do
	TriggerFailed   TriggerOutcome = "FAILED"   // no plan
)

// Triggered is what came of a trigger.
type Triggered struct {
	LogID   string
	Outcome TriggerOutcome
	Plan    PlanID // 0 if it made none
	Remarks string
	At      time.Time
}

// TriggerAnswer is what a planner says to a trigger that somebody sends by itself.
type TriggerAnswer struct {
	Plan   PlanID // 0: there was nothing to plan
	Before bool   // the same trigger had its answer already
	// Waits: it was not answered, and is to be asked for again.
	Waits  bool
	Reason string
}

// Answered reports whether the trigger needs no second try. One that failed does.
func (t Triggered) Answered() bool { return t.Outcome != "" && t.Outcome != TriggerFailed }
