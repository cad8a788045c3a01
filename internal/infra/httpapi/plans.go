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

type numberPage struct {
	OfNumber
	Page
}

func (d *Door) declarePlans() {
	const tag = "plans"
	declare(d, look("/plans", tag, "Plans, the newest first"), func(ctx context.Context, in *plansInput) (control.PlanList, error) {
		before, err := in.Page.page().Number()
		if err != nil {
			return control.PlanList{}, err
		}
		return d.control.Plans(ctx, control.PlanQuery{Source: in.Source, Before: harvest.PlanID(before), Limit: in.Limit})
	})
	declare(d, orGone(lookAtOne("/plans/{id}", tag, "A plan, what it came to, and a page of its slices")),
		func(ctx context.Context, in *numberPage) (control.PlanView, error) {
			after, err := in.Page.page().Number()
			if err != nil {
				return control.PlanView{}, err
			}
			return d.control.Plan(ctx, harvest.PlanID(in.ID), harvest.SliceID(after), in.Limit)
		})
	declare(d, orGone(look("/plans/{id}/slices", tag, "The slices of a plan, in the order they were cut")),
		func(ctx context.Context, in *numberPage) (control.SliceList, error) {
			return d.control.Slices(ctx, harvest.PlanID(in.ID), in.Page.page())
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
	Moves int `query:"moves" minimum:"1" maximum:"1000" default:"20" doc:"At most so many of its moves"`
}

func (d *Door) declareCursors() {
	const tag = "cursors"
	declare(d, look("/cursors", tag, "Cursors by source and operation"), func(ctx context.Context, in *plansInput) (control.CursorList, error) {
		return d.control.Cursors(ctx, in.Source, in.Page.page())
	})
	declare(d, orGone(lookAtOne("/cursors/{id}", tag, "A cursor, its last moves and what holds it")),
		func(ctx context.Context, in *cursorInput) (control.CursorView, error) {
			return d.control.Cursor(ctx, harvest.CursorID(in.ID), in.Moves)
		})
}
