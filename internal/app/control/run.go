package control

import (
	"context"
	"errors"
	"time"

	"github.com/papertrace/patra/internal/app/executor"
	"github.com/papertrace/patra/internal/app/planner"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// run is one harvest in the foreground: planned, worked on, planned further where
// there was no room for all of it, until nothing is left.
type run struct {
	*Control
	trigger harvest.Trigger
	watch   *Watch
	planned planner.Planned    // what was planned last
	plans   []harvest.PlanHead // those that are worked on
}

// plan plans what was asked for.
func (r *run) plan(ctx context.Context) (err error) {
	r.watch.set("planning")
	r.planned, err = settled(func() (planner.Planned, error) {
		p, err := r.planWhenRested(ctx)
		r.watch.traffic(p.Traffic)
		return p, err
	})
	return err
}

// takeUp makes ready what is left from before, and counts what there is to do.
func (r *run) takeUp(ctx context.Context) error {
	ns := r.planned.Namespace
	code, op := r.trigger.Provenance, r.trigger.Operation
	if base := r.trigger.BaseURL; base != "" {
		_, err := settled(func() (struct{}, error) { return struct{}{}, r.store.SetBaseURL(ctx, ns, base) })
		if err != nil {
			return err
		}
	}
	_, err := settled(func() (int64, error) { return r.store.RequeueFailed(ctx, code, op) })
	if err != nil {
		return err
	}
	r.plans, err = r.store.OpenPlans(ctx, ns)
	if err != nil {
		return err
	}
	left, err := r.store.Left(ctx, code, op)
	if err != nil {
		return err
	}
	r.watch.expect(left)
	return nil
}

// toTheEnd works until nothing is left, or ctx ends.
func (r *run) toTheEnd(ctx context.Context) error {
	err := r.work(ctx)
	for err == nil && ctx.Err() == nil {
		var more bool
		more, err = r.planMore(ctx)
		if err != nil || !more {
			break
		}
		err = r.work(ctx)
	}
	return err
}

// planMore plans what there was no room for, since enough was open; now there is.
// It reports whether there was anything.
func (r *run) planMore(ctx context.Context) (bool, error) {
	next, err := settled(func() (planner.Planned, error) { return r.planRemainder(ctx) })
	if err != nil || next.Noop {
		if r.planned.Waits || !r.planned.Noop || next.Waits {
			r.planned.Waits = next.Waits
			r.planned.Reason = next.Reason
		}
		return false, err
	}
	r.watch.traffic(next.Traffic)
	r.watch.expect(next.Expected)
	r.plans = append(r.plans, next.Plan)
	r.planned = next
	return true, nil
}

// planRemainder plans what is left of what was asked for: of a plan that is not whole,
// or of a BACKFILL that goes back in parts. Noop if nothing is.
func (r *run) planRemainder(ctx context.Context) (planner.Planned, error) {
	last := r.planned
	_, partial, err := r.store.PartialPlan(ctx, last.Namespace)
	if err != nil {
		return last, err
	}
	goesBack := r.trigger.Operation == harvest.Backfill && !last.Noop && last.Span.From.After(harvest.TimeMark(r.trigger.From))
	if !partial && !last.Waits && !goesBack {
		return planner.Planned{Noop: true}, nil
	}
	return r.planWhenRested(ctx)
}

// planWhenRested plans when the source may be asked: where it rests because it failed
// again and again, the rest is sat out, as its tasks do.
func (r *run) planWhenRested(ctx context.Context) (planner.Planned, error) {
	for {
		planned, err := r.planner.Plan(ctx, r.trigger)
		r.trigger.Receipt = harvest.Receipt{} // it is answered: what is planned next is a trigger of its own
		f, _ := harvest.FaultOf(err)
		if f.Code != harvest.CodeBroken {
			return planned, err
		}
		r.watch.waiting(Work{Later: 1, NextAt: time.Now().Add(f.RetryAfter), NextCode: f.Code}, 0)
		select {
		case <-ctx.Done():
			return planned, ctx.Err()
		case <-time.After(max(f.RetryAfter, time.Second)):
		}
	}
}

// work runs tasks of the source until none is left.
func (r *run) work(ctx context.Context) error {
	code, op := r.trigger.Provenance, r.trigger.Operation
	var countAgain time.Time // to count what is left takes long where that is much
	idle := func(ctx context.Context, working int) (end bool, err error) {
		began := time.Now()
		if began.Before(countAgain) {
			return false, nil
		}
		w, err := r.Work(ctx, code, op)
		if err != nil {
			return false, err
		}
		countAgain = time.Now().Add(20 * time.Since(began))
		r.watch.waiting(w, working)
		if w.Ready+w.Leased+w.Later == 0 {
			return true, nil
		}
		st, err := r.store.SourceState(ctx, code)
		if err != nil || st.Held() {
			return st.Held(), err
		}
		_, st, err = r.heldEndpoint(ctx)
		return st.Held(), err
	}
	ex := r.executor(executor.Config{Provenance: code, Operation: op, Observe: r.watch.observe, Idle: idle})
	return ex.Run(ctx)
}

// heldEndpoint finds the endpoint that is paused or stopped by itself where every plan that
// is worked on goes through such a one; its state is not held if there is none.
func (r *run) heldEndpoint(ctx context.Context) (at harvest.EndpointOf, st harvest.SourceState, err error) {
	held, err := r.store.HeldEndpoints(ctx)
	if err != nil || len(held) == 0 {
		return at, st, err
	}
	for _, head := range r.plans {
		p, err := r.store.Plan(ctx, head.ID)
		if err != nil {
			return at, st, err
		}
		at = harvest.EndpointOf{Provenance: p.Source, Endpoint: p.Endpoint}
		st = held[at]
		if !st.Held() {
			return at, st, nil
		}
	}
	return at, st, nil
}

// fill reads from the store what the plans have come to.
func (r *run) fill(ctx context.Context, rep *Report) (err error) {
	rep.State, err = r.store.SourceState(ctx, rep.Source)
	if err != nil {
		return err
	}
	rep.Held = rep.Source
	if !rep.State.Held() {
		at, st, err := r.heldEndpoint(ctx)
		if err != nil {
			return err
		}
		if st.Held() {
			rep.State = st
			rep.Held = at.String()
		}
	}
	var ids []harvest.PlanID
	for _, p := range r.plans {
		ids = append(ids, p.ID)
	}
	if len(ids) == 0 && r.planned.Plan.ID != 0 {
		ids = append(ids, r.planned.Plan.ID)
	}
	if len(ids) == 0 {
		f, err := r.store.Frontier(ctx, r.planned.Namespace)
		if err == nil && f.Known {
			rep.Watermark = new(f.Watermark)
		}
		return err
	}
	s, err := r.store.Summary(ctx, ids...)
	if err == nil {
		rep.add(s)
	}
	return err
}

// settled calls f again while the outcome of its commit is unknown: f looks at
// what is there, and does only what is not done yet.
func settled[T any](f func() (T, error)) (out T, err error) {
	for range 5 {
		out, err = f()
		if !errors.Is(err, harvest.ErrUnknownOutcome) {
			break
		}
	}
	return out, err
}
