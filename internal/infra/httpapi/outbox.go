package httpapi

import (
	"context"

	"github.com/papertrace/patra/internal/app/control"
)

type outboxInput struct {
	Target string `query:"target" maxLength:"64" doc:"Of this target only"`
	Parked bool   `query:"parked" doc:"Only messages that are not tried any more"`
	Page
}

type outboxRetryLook struct {
	Target string `query:"target" maxLength:"64" doc:"All of this target; else all"`
}

type outboxRetryInput struct {
	ChangeHeaders
	Body struct {
		Glanced
		Target string `json:"target,omitempty" maxLength:"64" doc:"All of this target; else all"`
	}
}

type messageRetryInput struct {
	OfNumber
	ChangeHeaders
	Body struct{ Glanced }
}

// OfTarget names a target of events.
type OfTarget struct {
	Name string `path:"name" minLength:"1" maxLength:"64" doc:"Name of the target"`
}

type targetAddLook struct {
	OfTarget
	Everything bool `query:"everything" doc:"Send all that is held first"`
}

type targetAddInput struct {
	OfTarget
	ChangeHeaders
	Body struct {
		Glanced
		Everything bool `json:"everything,omitempty" doc:"Send all that is held first"`
	}
}

type targetRemoveInput struct {
	OfTarget
	ChangeHeaders
	Body struct{ Seen }
}

// declareOutbox adds who is told of revisions of records.
func (d *Door) declareOutbox() {
	const tag = "outbox"
	declare(d, look("/outbox", tag, "Who is told of revisions of records, and the messages that they did not take"),
		func(ctx context.Context, in *outboxInput) (control.OutboxList, error) {
			return d.control.Outbox(ctx, control.OutboxQuery{Target: in.Target, Parked: in.Parked, Page: in.Page.page()})
		})
	declare(d, look("/outbox/targets", tag, "Who is told of revisions of records, and how that goes"),
		func(ctx context.Context, _ *struct{}) (control.OutboxTargetList, error) {
			return d.control.OutboxTargets(ctx)
		})
	declare(d, lookAtOne("/outbox/messages/{id}", tag, "A message that was not taken"),
		func(ctx context.Context, in *OfNumber) (control.OutboxMessageView, error) {
			return d.control.OutboxMessage(ctx, in.ID)
		})
	declare(d, preview("/outbox/retry", tag, control.Operator, "How many messages would be tried again"),
		func(ctx context.Context, in *outboxRetryLook) (control.OutboxRetried, error) {
			return d.control.RetryOutbox(ctx, control.OutboxRetry{Target: in.Target}, control.By{}, true)
		})
	declare(d, act("/outbox/retry", tag, control.Operator, "Try messages again at once that were not taken"),
		func(ctx context.Context, in *outboxRetryInput) (control.OutboxRetried, error) {
			return d.control.RetryOutbox(ctx, control.OutboxRetry{Target: in.Body.Target}, in.Body.by(ctx), false)
		})
	declare(d, preview("/outbox/messages/{id}/retry", tag, control.Operator, "Whether a message would be tried again"),
		func(ctx context.Context, in *OfNumber) (control.OutboxRetried, error) {
			return d.control.RetryOutbox(ctx, control.OutboxRetry{ID: in.ID}, control.By{}, true)
		})
	declare(d, act("/outbox/messages/{id}/retry", tag, control.Operator, "Try a message again at once"),
		func(ctx context.Context, in *messageRetryInput) (control.OutboxRetried, error) {
			return d.control.RetryOutbox(ctx, control.OutboxRetry{ID: in.ID}, in.Body.by(ctx), false)
		})
	declare(d, preview("/outbox/targets/{name}/add", tag, control.Admin, "What adding a target would change"),
		func(ctx context.Context, in *targetAddLook) (control.TargetChange, error) {
			return d.control.AddTarget(ctx, control.TargetOrder{Name: in.Name, Everything: in.Everything, DryRun: true})
		})
	declare(d, act("/outbox/targets/{name}/add", tag, control.Admin, "Have a target told that this process was configured with"),
		func(ctx context.Context, in *targetAddInput) (control.TargetChange, error) {
			return d.control.AddTarget(ctx, control.TargetOrder{By: in.Body.by(ctx), Name: in.Name, Everything: in.Body.Everything})
		})
	declare(d, preview("/outbox/targets/{name}/remove", tag, control.Admin, "What a target would not get any more"),
		func(ctx context.Context, in *OfTarget) (control.TargetChange, error) {
			return d.control.RemoveTarget(ctx, control.TargetOrder{Name: in.Name, DryRun: true})
		})
	declare(d, act("/outbox/targets/{name}/remove", tag, control.Admin, "Forget a target, and what it has not got"),
		func(ctx context.Context, in *targetRemoveInput) (control.TargetChange, error) {
			return d.control.RemoveTarget(ctx, control.TargetOrder{By: in.Body.by(ctx), Name: in.Name})
		})
}
