package planner

import (
	"context"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// Planned is what came of a trigger.
type Planned struct {
	Namespace harvest.Namespace
	Trigger   harvest.Trigger
	// Plan is the plan saved or found; its ID is 0 if there was nothing to plan.
	Plan harvest.PlanHead
	// Noop: no plan was made or extended. Reason says why.
	Noop bool
	// Waits: there is something to plan, and no room for it now.
	Waits bool
	// Reason says why there was nothing to plan, or why the plan is not whole yet.
	Reason   string
	Span     harvest.Span
	Warnings []string
	Traffic  source.Traffic
	Expected int64
	// Answered: the same trigger has its answer already, perhaps by another process.
	Answered bool
	// Deferred: the trigger was left without an answer, and its scheduler is to ask
	// again soon.
	Deferred bool
}

// outcome is what came of a trigger in one word.
func (out Planned) outcome(err error) harvest.TriggerOutcome {
	switch {
	case err != nil:
		return harvest.TriggerFailed
	case out.Answered, out.Plan.Existing:
		return harvest.TriggerExisting
	case out.Noop:
		return harvest.TriggerNoop
	}
	return harvest.TriggerPlanned
}

// Answer is Plan for those who ask by themselves: they need to know whether there is
// a plan, and whether to ask again.
func (p *Planner) Answer(ctx context.Context, t harvest.Trigger) (harvest.TriggerAnswer, error) {
	out, err := p.Plan(ctx, t)
	return harvest.TriggerAnswer{Plan: out.Plan.ID, Before: out.Answered, Waits: out.Deferred, Reason: out.Reason}, err
}
