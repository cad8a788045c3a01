package httpapi

import (
	"context"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/source"
)

type alertsInput struct {
	Source string `query:"source" maxLength:"64" doc:"Of this source only"`
	All    bool   `query:"all" doc:"Also those that are over, or do not hold for long enough yet"`
	Page
}

type ackInput struct {
	OfNumber
	ChangeHeaders
	Body struct{ Glanced }
}

type snoozeLook struct {
	OfNumber
	For string `query:"for" required:"true" maxLength:"64" doc:"How long nothing is sent about it, such as 2h or 1d; 0s ends it"`
}

type snoozeInput struct {
	OfNumber
	ChangeHeaders
	Body struct {
		Glanced
		For string `json:"for" minLength:"1" maxLength:"64" doc:"How long nothing is sent about it, such as 2h or 1d; 0s ends it"`
	}
}

type alertTestInput struct {
	ChangeHeaders
	Body struct {
		Why
		Target string `json:"target,omitempty" maxLength:"64" doc:"To this target only"`
	}
}

// declareAlerts adds what people are told of without asking.
func (d *Door) declareAlerts() {
	const tag = "alerts"
	declare(d, look("/alerts", tag, "What fires, the worst first, and how messages about it fare"),
		func(ctx context.Context, in *alertsInput) (control.AlertList, error) {
			return d.control.Alerts(ctx, control.AlertQuery{Source: in.Source, All: in.All, Page: in.Page.page()})
		})
	declare(d, lookAtOne("/alerts/{id}", tag, "An alert, its rule, and what was sent about it"),
		func(ctx context.Context, in *OfNumber) (control.AlertView, error) { return d.control.Alert(ctx, in.ID) })
	declare(d, preview("/alerts/{id}/ack", tag, control.Operator, "What acknowledging an alert would change"),
		func(ctx context.Context, in *OfNumber) (control.AlertChange, error) {
			return d.control.AckAlert(ctx, control.AlertOrder{ID: in.ID, DryRun: true})
		})
	declare(d, act("/alerts/{id}/ack", tag, control.Operator, "Note that somebody knows of an alert, until it is over"),
		func(ctx context.Context, in *ackInput) (control.AlertChange, error) {
			return d.control.AckAlert(ctx, control.AlertOrder{By: in.Body.by(ctx), ID: in.ID})
		})
	declare(d, preview("/alerts/{id}/snooze", tag, control.Operator, "What snoozing an alert would change"),
		func(ctx context.Context, in *snoozeLook) (control.AlertChange, error) {
			return d.snooze(ctx, control.AlertOrder{ID: in.ID, DryRun: true}, in.For)
		})
	declare(d, act("/alerts/{id}/snooze", tag, control.Operator, "Send nothing about an alert for a while"),
		func(ctx context.Context, in *snoozeInput) (control.AlertChange, error) {
			return d.snooze(ctx, control.AlertOrder{By: in.Body.by(ctx), ID: in.ID}, in.Body.For)
		})
	declare(d, act("/alerts/test", tag, control.Operator, "Send a message that says it is a test, to see whether it arrives"),
		func(ctx context.Context, in *alertTestInput) (control.AlertTest, error) {
			by := control.By{Actor: callerOf(ctx).Actor, Reason: in.Body.Reason}
			return d.control.TestAlerts(ctx, by, in.Body.Target, false)
		})
}

func (d *Door) snooze(ctx context.Context, o control.AlertOrder, text string) (control.AlertChange, error) {
	during, err := source.ParseDuration(text)
	if err != nil {
		return control.AlertChange{}, refusal(422, "usage", "for is no length of time", "write 2h, 1d or 0s")
	}
	return d.control.SnoozeAlert(ctx, o, during)
}
