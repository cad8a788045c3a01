package httpapi

import (
	"context"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

type errorsInput struct {
	Source string    `query:"source" maxLength:"64" doc:"Of this source only"`
	Level  string    `query:"level" enum:"L1,L2,L3,L4" doc:"Of this level only"`
	Code   string    `query:"code" maxLength:"64" doc:"With this code only"`
	State  string    `query:"state" enum:"OPEN,ACKNOWLEDGED,MUTED,RESOLVED,CAME_BACK" doc:"In this state only"`
	All    bool      `query:"all" doc:"Also what is muted or resolved"`
	Since  time.Time `query:"since" doc:"Seen since this instant, RFC 3339"`
	Page
}

// declareErrors adds error groups.
func (d *Door) declareErrors() {
	const tag = "errors"
	declare(d, look("/errors", tag, "What went wrong, alike things as one, the last seen first; those that nobody has muted or resolved"),
		func(ctx context.Context, in *errorsInput) (control.ErrorList, error) {
			return d.control.Errors(ctx, control.ErrorQuery{
				Source: in.Source, Level: harvest.Level(in.Level), Code: harvest.Code(in.Code), State: harvest.ErrorState(in.State), All: in.All,
				Since: in.Since, Page: in.Page.page(),
			})
		})
	declare(d, lookAtOne("/errors/{id}", tag, "An error group: how often, since when, a sample, what patra did about it, what to do"),
		func(ctx context.Context, in *OfNumber) (control.ErrorView, error) {
			return d.control.Error(ctx, in.ID)
		})
	d.declareErrorChange("ack", "acknowledged", "Note that somebody knows of an error group and looks after it", d.control.AckError)
	d.declareErrorChange("resolve", "resolved", "Say that the cause of an error group is mended; if it is seen again it has come back", d.control.ResolveError)
	declare(d, preview("/errors/{id}/mute", tag, control.Operator, "What muting an error group would change"),
		func(ctx context.Context, in *muteLook) (control.ErrorChange, error) {
			return d.control.MuteError(ctx, control.ErrorOrder{ID: in.ID, For: time.Duration(in.Seconds) * time.Second, DryRun: true})
		})
	declare(d, act("/errors/{id}/mute", tag, control.Operator, "Keep an error group out of the list for a while; the mute ends by itself"),
		func(ctx context.Context, in *muteInput) (control.ErrorChange, error) {
			return d.control.MuteError(ctx, control.ErrorOrder{By: in.Body.by(ctx), ID: in.ID, For: time.Duration(in.Body.Seconds) * time.Second})
		})
}

type errorInput struct {
	OfNumber
	ChangeHeaders
	Body struct{ Glanced }
}

type muteLook struct {
	OfNumber
	Seconds int64 `query:"seconds" minimum:"60" maximum:"7776000" default:"28800" doc:"For how long"`
}

type muteInput struct {
	OfNumber
	ChangeHeaders
	Body struct {
		Glanced
		Seconds int64 `json:"seconds" minimum:"60" maximum:"7776000" doc:"For how long"`
	}
}

// declareErrorChange adds a decision about an error group.
func (d *Door) declareErrorChange(
	verb, becomes, summary string, decide func(context.Context, control.ErrorOrder) (control.ErrorChange, error),
) {
	path := "/errors/{id}/" + verb
	declare(d, preview(path, "errors", control.Operator, "What would change if an error group were "+becomes),
		func(ctx context.Context, in *OfNumber) (control.ErrorChange, error) {
			return decide(ctx, control.ErrorOrder{ID: in.ID, DryRun: true})
		})
	declare(d, act(path, "errors", control.Operator, summary),
		func(ctx context.Context, in *errorInput) (control.ErrorChange, error) {
			return decide(ctx, control.ErrorOrder{By: in.Body.by(ctx), ID: in.ID})
		})
}
