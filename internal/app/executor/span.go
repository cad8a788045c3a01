package executor

import (
	"context"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/trace"
)

// beginRunSpan begins the span of a run, beneath that of the slice: the plan of the
// task says in which tree that is, and what the slice answers for which span of it.
func (e *Executor) beginRunSpan(ctx context.Context, job harvest.Job) (context.Context, trace.Span) {
	if job.Trace != "" {
		ctx = e.cfg.Trace.Within(ctx, job.Trace, job.Spec.Part().String())
	}
	ctx, span := e.cfg.Trace.Begin(ctx, trace.Run)
	span.Text(trace.Source, job.Provenance)
	span.Text(trace.Endpoint, job.Endpoint)
	span.Text(trace.Operation, string(job.Operation))
	span.Number(trace.Priority, int64(job.Spec.Priority(job.Operation)))
	span.Number(trace.Instance, int64(job.Instance))
	span.Number(trace.Plan, int64(job.Plan))
	span.Number(trace.SliceID, int64(job.Slice))
	span.Number(trace.Task, int64(job.Lease.Task))
	return ctx, span
}

// beginPageSpan begins the span of a page that is about to be asked for.
func (s *session) beginPageSpan(ctx context.Context, st step) (context.Context, trace.Span) {
	ctx, span := s.e.cfg.Trace.Begin(ctx, trace.Batch)
	if span == trace.None {
		return ctx, span
	}
	span.Number(trace.BatchID, int64(st.opened.ID))
	span.Text(trace.Correlation, harvest.Correlation(s.run, st.opened.BatchNo))
	span.Text(trace.Phase, string(st.phase))
	span.Number(trace.Page, int64(st.ordinal))
	return ctx, span
}

// endPageSpan ends the span of a page that was committed.
func endPageSpan(span trace.Span, c harvest.Committed, hasNext bool) {
	next := int64(0)
	if hasNext {
		next = 1
	}
	span.Number(trace.Items, c.Counts.Items())
	span.Number(trace.HasNext, next)
	span.End()
}

// traceCut tells of the slices that a cut has put in the place of one. They will be
// looked for by what they answer for.
func (s *session) traceCut(ctx context.Context, children []harvest.SliceDraft) {
	for _, c := range children {
		part := c.Spec.Part().String()
		child := s.e.cfg.Trace.BeginPart(ctx, trace.Slice, part)
		child.Text(trace.Window, part)
		child.End()
	}
}
