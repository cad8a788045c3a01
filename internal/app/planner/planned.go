package planner

import (
	"context"
	"fmt"

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
}

// outcome is what came of a trigger in one word.
func (out Planned) outcome(err error) harvest.TriggerOutcome {
	switch {
	case err != nil:
		return failureOf(err)
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
	why, err := p.waitsBehindPlan(ctx, t)
	if err != nil || why != "" {
		return harvest.TriggerAnswer{Waits: true, Reason: why}, err
	}
	out, err := p.Plan(ctx, t)
	return harvest.TriggerAnswer{Plan: out.Plan.ID, Before: out.Answered, Reason: out.Reason}, err
}

// waitsBehindPlan lets a HARVEST that a schedule asks for wait while nothing of the
// plan before it is stored, as when its source is out, and says so. Plans would pile up
// otherwise, one for every time at which the schedule is due. Such a trigger is not
// written down: its schedule asks again, and the window that is planned at last has grown
// by all the time that was waited. What is wrong with the trigger itself is told when it
// is planned.
func (p *Planner) waitsBehindPlan(ctx context.Context, t harvest.Trigger) (string, error) {
	if t.Operation != harvest.Harvest || t.Kind != harvest.TriggerScheduled {
		return "", nil
	}
	pl, err := p.begin(ctx, t)
	if err != nil {
		return "", nil //nolint:nilerr // the planning of it says the same, and keeps it
	}
	_, isPartial, err := p.plans.PartialPlan(ctx, pl.result.Namespace)
	if err != nil || isPartial {
		return "", err
	}
	plan, notBegun, err := p.backlog.NotBegun(ctx, pl.result.Namespace)
	if err != nil || !notBegun {
		return "", err
	}
	return fmt.Sprintf("nothing of plan %d is stored yet; what is new since is planned when it has begun", plan), nil
}
