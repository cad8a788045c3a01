package planner

import (
	"context"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/trace"
)

// beginSpan begins the span of a trigger, beneath that of who sent it, if it has one.
func (p *Planner) beginSpan(ctx context.Context, t harvest.Trigger) (context.Context, trace.Span) {
	ctx, span := p.Trace.Begin(p.Trace.Within(ctx, t.Trace, ""), trace.PlannerTrigger)
	span.Text(trace.Source, t.Provenance)
	span.Text(trace.Operation, string(t.Operation))
	span.Text(trace.Trigger, string(t.Kind))
	return ctx, span
}

// endSpan says what came of a trigger. Its end is that of the making of the plan; the
// work on the plan goes on beneath it.
func endSpan(span trace.Span, out Planned, err error) {
	span.Text(trace.Outcome, string(out.outcome(err)))
	if out.Plan.ID != 0 {
		span.Number(trace.Plan, int64(out.Plan.ID))
		span.Number(trace.Expected, out.Expected)
	}
	span.Fail(err)
}

// traceSlices tells of the slices that a plan has got, in the tree in which the plan
// stands: whoever works on one of them finds its span by what it answers for.
func (pl *planning) traceSlices(ctx context.Context, place string, plan harvest.PlanID, cuts *harvest.Cuts) {
	if place == "" {
		return
	}
	ctx = pl.Trace.Within(ctx, place, "")
	for _, spec := range pl.taskOrder(cuts) {
		part := spec.Part().String()
		span := pl.Trace.BeginPart(ctx, trace.Slice, part)
		span.Number(trace.Plan, int64(plan))
		span.Number(trace.Priority, int64(spec.Priority(pl.t.Operation)))
		span.Text(trace.Window, part)
		if spec.Hints != nil {
			span.Number(trace.Expected, spec.Hints.ExpectedRecords)
		}
		span.End()
	}
}
