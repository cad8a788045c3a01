package httpapi

import (
	"context"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// OfNumber names something by its number.
type OfNumber struct {
	ID int64 `path:"id" minimum:"1" doc:"Its number"`
}

type plansInput struct {
	Source string `query:"source" maxLength:"64" doc:"Of this source only"`
	Page
}

type planListInput struct {
	Source    string `query:"source" maxLength:"64" doc:"Of this source only"`
	Operation string `query:"operation" enum:"HARVEST,BACKFILL,UPDATE" doc:"Of this operation only"`
	State     string `query:"state" enum:"DRAFT,SLICING,READY,PARTIAL,FAILED,COMPLETED,CANCELLED" doc:"In this state only; one that is READY and has gaps is shown as PARTIAL"`
	Open      bool   `query:"open" doc:"Only those of which work is left"`
	Page
}

type slicesInput struct {
	OfNumber
	State string `query:"state" enum:"PENDING,READY,FAILED,DONE,RESLICED,CANCELLED" doc:"In this state only"`
	// Places are texts: of an UPDATE they are numbers.
	From string `query:"from" maxLength:"64" doc:"Only those whose windows begin here or later, RFC 3339, or a number of an UPDATE"`
	To   string `query:"to" maxLength:"64" doc:"Only those whose windows begin before"`
	Page
}

type matrixInput struct {
	OfNumber
	From string `query:"from" maxLength:"64" doc:"Only slices whose windows begin here or later, RFC 3339, or a number of an UPDATE"`
	To   string `query:"to" maxLength:"64" doc:"Only slices whose windows begin before"`
	Zoom string `query:"zoom" maxLength:"16" doc:"How much a group covers: year, month, day, hour, minute, second, of an UPDATE a power of ten; without it the one that fits"`
}

type numberPage struct {
	OfNumber
	Page
}

func (d *Door) declarePlans() {
	const tag = "plans"
	declare(d, look("/plans", tag, "Plans, the newest first"), func(ctx context.Context, in *planListInput) (control.PlanList, error) {
		before, err := in.Page.page().Number()
		if err != nil {
			return control.PlanList{}, err
		}
		return d.control.Plans(ctx, control.PlanQuery{
			Source: in.Source, Operation: harvest.Operation(in.Operation), State: harvest.PlanState(in.State), Open: in.Open,
			Before: harvest.PlanID(before), Limit: in.Limit,
		})
	})
	declare(d, orGone(lookAtOne("/plans/{id}", tag, "A plan, what it came to, and a page of its slices")),
		func(ctx context.Context, in *numberPage) (control.PlanView, error) {
			after, err := in.Page.page().Number()
			if err != nil {
				return control.PlanView{}, err
			}
			return d.control.Plan(ctx, harvest.PlanID(in.ID), harvest.SliceID(after), in.Limit)
		})
	declare(d, orGone(look("/plans/{id}/slices", tag, "The slices of a plan, in the order they were cut; of a part of its window in the order of theirs")),
		func(ctx context.Context, in *slicesInput) (control.SliceList, error) {
			return d.control.Slices(ctx, control.SliceQuery{
				Plan: harvest.PlanID(in.ID), State: harvest.SliceState(in.State), From: in.From, To: in.To, Page: in.Page.page(),
			})
		})
	declare(d, orGone(lookAtOne("/plans/{id}/spec", tag, "The description of its source that a plan froze, and what of it is otherwise now")),
		func(ctx context.Context, in *OfNumber) (control.PlanSpec, error) {
			return d.control.PlanSpec(ctx, harvest.PlanID(in.ID))
		})
	declare(d, orGone(look("/plans/{id}/matrix", tag, "The slices of a plan summed up by time, in so few groups that they can be drawn")),
		func(ctx context.Context, in *matrixInput) (control.SliceMatrix, error) {
			return d.control.SliceMatrix(ctx, control.GroupQuery{Plan: harvest.PlanID(in.ID), From: in.From, To: in.To, Zoom: control.Zoom(in.Zoom)})
		})
}

func (d *Door) declareSlices() {
	declare(d, orGone(lookAtOne("/slices/{id}", "slices", "A slice")),
		func(ctx context.Context, in *OfNumber) (control.SliceRow, error) {
			return d.control.Slice(ctx, harvest.SliceID(in.ID))
		})
}

type cursorInput struct {
	OfNumber
	Within
	Moves int `query:"moves" minimum:"1" maximum:"1000" default:"20" doc:"At most so many of its moves"`
}

// Place is a place on the axis of a cursor.
type Place struct {
	To string `query:"to" required:"true" minLength:"1" maxLength:"64" doc:"Accept gaps up to this instant, RFC 3339; of a BACKFILL back to it, of an UPDATE up to this number"`
}

type skipLook struct {
	OfNumber
	Place
}

type skipInput struct {
	OfNumber
	ChangeHeaders
	Body struct {
		Seen
		To string `json:"to" minLength:"1" maxLength:"64" doc:"As the preview was asked for"`
	}
}

func (d *Door) declareCursors() {
	const tag = "cursors"
	declare(d, preview("/cursors/{id}/skip", tag, control.Operator, "The gaps that a cursor would pass up to a place"),
		func(ctx context.Context, in *skipLook) (control.Skipped, error) {
			until, err := d.control.CursorPlace(ctx, harvest.CursorID(in.ID), in.To)
			if err != nil {
				return control.Skipped{}, err
			}
			return d.control.PreviewSkip(ctx, harvest.CursorID(in.ID), until)
		})
	declare(d, act("/cursors/{id}/skip", tag, control.Operator, "Let a cursor pass its gaps up to a place: that window will not be read"),
		func(ctx context.Context, in *skipInput) (control.Skipped, error) {
			until, err := d.control.CursorPlace(ctx, harvest.CursorID(in.ID), in.Body.To)
			if err != nil {
				return control.Skipped{}, err
			}
			return d.control.Skip(ctx, harvest.CursorID(in.ID), until, in.Body.by(ctx))
		})
	declare(d, look("/cursors", tag, "Cursors by source and operation"), func(ctx context.Context, in *plansInput) (control.CursorList, error) {
		return d.control.Cursors(ctx, control.CursorQuery{Source: in.Source, Page: in.Page.page()})
	})
	declare(d, orGone(lookAtOne("/cursors/{id}", tag, "A cursor, its last moves and what holds it")),
		func(ctx context.Context, in *cursorInput) (control.CursorView, error) {
			return d.control.Cursor(ctx, harvest.CursorID(in.ID), control.Moves{From: in.From, To: in.To, Limit: in.Moves})
		})
}
