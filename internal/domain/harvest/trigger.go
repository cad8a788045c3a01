package harvest

import (
	"errors"
	"time"
)

// ErrAnswered: a trigger with the same scheduler, job and log id was answered
// already. Nothing was changed.
var ErrAnswered = errors.New("trigger was answered already")

// Outcomes of a trigger.
const (
	TriggerPlanned  = "PLANNED"
	TriggerExisting = "EXISTING"
	TriggerNoop     = "NOOP"
	TriggerFailed   = "FAILED"
)

// Triggered is what came of a trigger.
type Triggered struct {
	LogID   string
	Outcome string
	Plan    PlanID // 0 if it made none
	Remarks string
	At      time.Time
}

// Answered reports whether the trigger needs no second try. One that failed does.
func (t Triggered) Answered() bool { return t.Outcome != "" && t.Outcome != TriggerFailed }
