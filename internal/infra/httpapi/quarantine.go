package httpapi

import (
	"context"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

type quarantineInput struct {
	Source    string `query:"source" maxLength:"64" doc:"Of this source only"`
	Code      string `query:"code" maxLength:"64" doc:"With this cause only"`
	Record    string `query:"record" maxLength:"512" doc:"Of the record with this id only"`
	Discarded bool   `query:"discarded" doc:"Those that somebody discarded, in place of those that wait"`
	Page
}

// declareQuarantine adds items that could not be stored as records.
func (d *Door) declareQuarantine() {
	const tag = "quarantine"
	declare(d, look("/quarantine", tag, "Items that could not be stored as records, by name and cause, the newest first"),
		func(ctx context.Context, in *quarantineInput) (control.QuarantineList, error) {
			before, err := in.Page.page().Number()
			if err != nil {
				return control.QuarantineList{}, err
			}
			return d.control.Quarantine(ctx, control.QuarantineQuery{
				Source: in.Source, Code: harvest.Code(in.Code), Record: in.Record, Discarded: in.Discarded, Before: before, Limit: in.Limit,
			})
		})
	declare(d, lookAtOne("/quarantine/{id}", tag, "An item in quarantine with its beginning, where it fails, and the page that brought it"),
		func(ctx context.Context, in *OfNumber) (control.QuarantineView, error) {
			return d.control.QuarantineItem(ctx, in.ID)
		})
	declare(d, preview("/quarantine/{id}/discard", tag, control.Operator, "The item that would be thrown away"),
		func(ctx context.Context, in *OfNumber) (control.Discarded, error) {
			return d.control.Discard(ctx, control.DiscardOrder{ID: in.ID, DryRun: true})
		})
	declare(d, act("/quarantine/{id}/discard", tag, control.Operator, "Throw an item in quarantine away; its bytes cannot be had back"),
		func(ctx context.Context, in *discardInput) (control.Discarded, error) {
			return d.control.Discard(ctx, control.DiscardOrder{By: in.Body.by(ctx), ID: in.ID, Name: in.Body.Name})
		})
	declare(d, act("/quarantine/reparse/preview", tag, control.Operator, "Which items could be stored as the source is described now; nobody is asked"),
		func(ctx context.Context, in *choiceLook) (control.ReparsePreview, error) {
			return d.control.PreviewReparse(ctx, control.ReparseOrder{QuarantineChoice: in.Body.choice()})
		})
	declare(d, act("/quarantine/reparse", tag, control.Operator, "Plan to store the items that can be read now; nobody is asked"),
		func(ctx context.Context, in *choiceInput) (control.RefreshPlanned, error) {
			return d.control.PlanReparse(ctx, control.ReparseOrder{By: in.Body.by(ctx), QuarantineChoice: in.Body.choice()})
		})
	declare(d, act("/quarantine/refetch/preview", tag, control.Operator, "What asking for the records of items again would take"),
		func(ctx context.Context, in *choiceLook) (control.RefetchPreview, error) {
			return d.control.PreviewRefetch(ctx, control.RefetchOrder{QuarantineChoice: in.Body.choice()})
		})
	declare(d, act("/quarantine/refetch", tag, control.Operator, "Plan to ask the source again for the records of items in quarantine"),
		func(ctx context.Context, in *choiceInput) (control.RefreshPlanned, error) {
			return d.control.PlanRefetch(ctx, control.RefetchOrder{By: in.Body.by(ctx), QuarantineChoice: in.Body.choice()})
		})
}

type discardInput struct {
	OfNumber
	ChangeHeaders
	Body struct {
		Seen
		Name string `json:"name" minLength:"1" maxLength:"512" doc:"The name of the item, as the preview shows it"`
	}
}

// ItemChoice says which items something is done with.
type ItemChoice struct {
	Source string  `json:"source,omitempty" maxLength:"64" doc:"Items of this source"`
	Code   string  `json:"code,omitempty" maxLength:"64" doc:"With this cause only"`
	Items  []int64 `json:"items,omitempty" maxItems:"1000" doc:"Numbers of the items"`
}

func (c ItemChoice) choice() control.QuarantineChoice {
	return control.QuarantineChoice{Source: c.Source, Code: harvest.Code(c.Code), Items: c.Items}
}

type choiceLook struct {
	Body ItemChoice
}

func (in choiceLook) sourceCode() string { return in.Body.Source }

type choiceInput struct {
	ChangeHeaders
	Body struct {
		Seen
		ItemChoice
	}
}

func (in choiceInput) sourceCode() string { return in.Body.Source }
