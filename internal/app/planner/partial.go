package planner

import (
	"context"
	"errors"
	"fmt"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// GoOn goes on with the plans that stopped before the end of their window, where
// there is room again and the source may be asked now, and returns with how many it did. One
// plan's trouble does not keep the others from going on.
func (p *Planner) GoOn(
	ctx context.Context, may func(ctx context.Context, provenance string, op harvest.Operation) bool,
) (n int, err error) {
	all, err := p.plans.PartialPlans(ctx)
	if err != nil {
		return 0, err
	}
	var errs []error
	for _, part := range all {
		if !may(ctx, part.Namespace.Provenance, part.Namespace.Operation) {
			continue
		}
		extended, err := p.goOn(ctx, part)
		if err != nil {
			errs = append(errs, fmt.Errorf("go on with the plan of %s %s: %w", part.Namespace.Provenance, part.Namespace, err))
		}
		if extended {
			n++
		}
	}
	return n, errors.Join(errs...)
}

// GoingOn is PickUp and GoOn for who does both again and again.
func (p *Planner) GoingOn(may func(context.Context, string, harvest.Operation) bool) func(context.Context) error {
	return func(ctx context.Context) error {
		_, pickErr := p.PickUp(ctx, may)
		_, err := p.GoOn(ctx, may)
		return errors.Join(pickErr, err)
	}
}

// goOn goes on with one such plan, and reports whether it has got more slices.
func (p *Planner) goOn(ctx context.Context, part harvest.PartialPlan) (bool, error) {
	ns := part.Namespace
	open, ok, err := p.plans.PartialPlan(ctx, ns)
	if err != nil || !ok {
		return false, err
	}
	t := harvest.Trigger{Provenance: ns.Provenance, Operation: ns.Operation, Activity: part.Activity, Kind: "CONTINUED"}
	t.Trace = open.Trace
	ctx, span := p.beginSpan(ctx, t)
	defer span.End()
	pl := &planning{Planner: p, t: t, counted: map[harvest.Part]harvest.Estimate{}, result: Planned{Namespace: ns}, patient: true}
	extended, err := pl.extend(ctx, open)
	switch f, _ := harvest.FaultOf(err); {
	case errors.Is(err, harvest.ErrFrontierMoved): // another planner was faster
		return false, nil
	case f.OfQuota(), f.Code == harvest.CodeBroken:
		p.log.Debug("not gone on yet", "source", ns.Provenance, "plan", open.ID, "code", f.Code, "err", err)
		return false, nil
	}
	return extended, err
}
