package planner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/domain/source"
)

const (
	// lookSoon and lookAgain are how often it is looked whether another planner has answered:
	// soon at first, for most are answered at once, and ever more seldom then.
	lookSoon  = 50 * time.Millisecond
	lookAgain = time.Second
	// leaveWithin is how long a planner that is told to stop takes to give its claim back.
	leaveWithin = 5 * time.Second
)

// Receive writes a trigger down before anything is done for it, and returns it with the
// receipt under which [Planner.Plan] or [Planner.Refuse] answers it (R73). While another
// planner is at the same trigger it waits for the answer. One that has its answer gets
// no receipt, nor does one of a source that cannot be: no row could name it.
func (p *Planner) Receive(ctx context.Context, t harvest.Trigger) (harvest.Trigger, error) {
	if !t.Receipt.IsZero() || !source.IsCode(t.Provenance) {
		return t, nil
	}
	for wait := lookSoon; ; wait = min(2*wait, lookAgain) {
		r, err := p.triggers.ReceiveTrigger(ctx, t, harvest.ClaimTTL)
		t.Receipt = r
		claimed, isClaimed := errors.AsType[*harvest.ClaimedError](err)
		switch {
		case errors.Is(err, harvest.ErrAnswered):
			return t, nil
		case !isClaimed:
			return t, err
		}
		p.log.Debug("another planner is at a trigger", "source", t.Provenance, "job", t.JobID, "log", t.LogID, "until", claimed.Until)
		select {
		case <-ctx.Done():
			return t, ctx.Err()
		case <-time.After(wait):
		}
	}
}

// Refuse answers a trigger that may not be planned, and returns the reason. Who looks on
// is told of it if the source is known: what people misspell is no name for a figure.
func (p *Planner) Refuse(ctx context.Context, t harvest.Trigger, why error) error {
	known, _ := problem.Of(why)
	if known.Kind != problem.NotFound && !t.Receipt.IsZero() {
		p.observe(t, Planned{}, why)
	}
	return p.recordFailure(ctx, t, why)
}

// keepClaim renews the claim on a trigger until it is released. A planner whose claim is
// lost stops at once, since another is at the trigger; one that is told to stop gives
// its claim back, so that the next need not wait until it has run out.
func (p *Planner) keepClaim(ctx context.Context, r harvest.Receipt) (context.Context, func()) {
	if r.IsZero() {
		return ctx, func() {}
	}
	planning, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-planning.Done():
				return
			case <-time.After(harvest.ClaimTTL / 3):
			}
			err := p.triggers.RenewTrigger(planning, r, harvest.ClaimTTL)
			if errors.Is(err, harvest.ErrLeaseLost) {
				cancel(err)
			}
		}
	}()
	return planning, func() {
		stopped := ctx.Err() != nil
		cancel(nil)
		<-ended
		if !stopped {
			return
		}
		last, done := context.WithTimeout(context.WithoutCancel(ctx), leaveWithin)
		defer done()
		err := p.triggers.LeaveTrigger(last, r)
		if err != nil && !errors.Is(err, harvest.ErrLeaseLost) { // lost: it was answered
			p.log.Warn("a trigger was not given back", "trigger", r.Instance, "err", err)
		}
	}
}

// recordFailure keeps why a trigger came to nothing beside the trigger, and returns that
// reason. When the planner is told to stop, or another is at the trigger, there is none
// to keep: the trigger stays for the other.
func (p *Planner) recordFailure(ctx context.Context, t harvest.Trigger, err error) error {
	if ctx.Err() != nil {
		return errors.Join(err, lostClaim(ctx))
	}
	if t.Receipt.IsZero() {
		return err
	}
	rerr := p.triggers.RecordTrigger(ctx, t, failureOf(err), err.Error())
	if rerr != nil && !errors.Is(rerr, harvest.ErrAnswered) && !errors.Is(rerr, harvest.ErrLeaseLost) {
		return errors.Join(err, rerr)
	}
	return err
}

// lostClaim is the error of a planner that stopped because another is at its trigger.
func lostClaim(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, harvest.ErrLeaseLost) {
		return fmt.Errorf("another planner has taken the trigger over: %w", cause)
	}
	return nil
}

// failureOf is what a trigger is answered with that came to nothing: what was asked for
// cannot be done, or not now, or somebody did not do their part.
func failureOf(err error) harvest.TriggerOutcome {
	_, held := errors.AsType[*harvest.HeldError](err)
	fault, _ := harvest.FaultOf(err)
	switch {
	case held, fault.Code == harvest.CodeQuiet:
		return harvest.TriggerRefused
	case fault.Code == harvest.CodeQueryWidened: // the query is to blame, and the source answers
		return harvest.TriggerRefused
	}
	known, _ := problem.Of(err)
	switch known.Kind {
	case problem.Usage, problem.NotFound, problem.Conflict:
		return harvest.TriggerRefused
	default:
		return harvest.TriggerFailed
	}
}

// mostPickedUp bounds how many triggers are picked up in one look.
const mostPickedUp = 100

// PickUp answers the triggers that were received and never answered, because their
// planners died, where their sources may be asked now, and returns with how many it did.
// Each is answered once, however many planners look. One trigger's trouble does not keep
// the others: it is kept as its answer.
func (p *Planner) PickUp(
	ctx context.Context, may func(ctx context.Context, provenance string, op harvest.Operation) bool,
) (n int, err error) {
	left, err := p.triggers.LeftTriggers(ctx, mostPickedUp)
	if err != nil {
		return 0, err
	}
	for _, l := range left {
		t := l.Trigger
		if !may(ctx, t.Provenance, t.Operation) {
			continue
		}
		t.Receipt, err = p.triggers.ClaimTrigger(ctx, t.Receipt, harvest.ClaimTTL)
		if errors.Is(err, harvest.ErrLeaseLost) { // another planner was faster
			continue
		}
		if err != nil {
			return n, err
		}
		log := p.log.With("trigger", t.Receipt.Instance, "source", t.Provenance, "operation", t.Operation)
		if l.Claims >= harvest.MaxClaims {
			log.Error("a trigger is given up", "claims", l.Claims)
			err = p.triggers.RecordTrigger(ctx, t, harvest.TriggerFailed, fmt.Sprintf("%d planners in a row ended while they planned it", l.Claims))
			if err != nil {
				return n, err
			}
			continue
		}
		out, err := p.planLeft(ctx, t)
		if ctx.Err() != nil {
			return n, ctx.Err()
		}
		n++
		if err != nil {
			log.Warn("a trigger that was left came to nothing", "err", err)
			continue
		}
		log.Info("a trigger that was left is answered", "plan", out.Plan.ID, "reason", out.Reason)
	}
	return n, nil
}

// planLeft plans a trigger that was left, held to what its preview showed if it had one.
func (p *Planner) planLeft(ctx context.Context, t harvest.Trigger) (Planned, error) {
	if t.Shown == "" {
		return p.plan(ctx, t, nil)
	}
	shown, err := p.shown(ctx, t.Shown)
	if err != nil {
		return Planned{}, p.Refuse(ctx, t, err)
	}
	return p.plan(ctx, t, shown)
}
