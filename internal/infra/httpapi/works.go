package httpapi

import (
	"context"

	"github.com/papertrace/patra/internal/app/control"
)

type worksInput struct{ Page }

// WorkChoice names works that something is decided about.
type WorkChoice struct {
	Works   []int64  `json:"works" minItems:"1" maxItems:"25" doc:"Numbers of works"`
	Records []string `json:"records,omitempty" maxItems:"25" doc:"Of one work: the records that are cut off, SOURCE/ID each"`
}

type workLook struct {
	ChangeHeaders
	Body struct{ WorkChoice }
}

type workInput struct {
	ChangeHeaders
	Body struct {
		Glanced
		WorkChoice
	}
}

type revokeWorkInput struct {
	OfNumber
	ChangeHeaders
	Body struct{ Glanced }
}

func (w WorkChoice) order() control.WorkOrder {
	return control.WorkOrder{Works: w.Works, Records: w.Records}
}

// declareWorks adds which records are of one work, and what people decide about it.
func (d *Door) declareWorks() {
	const tag = "works"
	declare(d, look("/works", tag, "Works that several records are of"),
		func(ctx context.Context, in *worksInput) (control.WorkList, error) {
			return d.control.Works(ctx, in.page())
		})
	declare(d, look("/works/suggestions", tag, "Pairs of records that may be of one work, or preprint and article, each with its score"),
		func(ctx context.Context, in *worksInput) (control.SuggestionList, error) {
			return d.control.Suggestions(ctx, in.page())
		})
	declare(d, look("/works/identifiers", tag, "Identifiers that link nothing, because too many have them or those that do contradict each other"),
		func(ctx context.Context, in *worksInput) (control.BadIdentifierList, error) {
			return d.control.BadIdentifiers(ctx, in.page())
		})
	declare(d, lookAtOne("/works/{id}", tag, "A work: its records and how each came into it, the best of their fields, and what is related to it"),
		func(ctx context.Context, in *OfNumber) (control.WorkView, error) {
			return d.control.WorkShown(ctx, in.ID)
		})
	for _, v := range []struct {
		verb, summary string
		do            func(context.Context, control.WorkOrder) (control.WorkChange, error)
	}{
		{"join", "Make works one, whatever rules say", d.control.JoinWorks},
		{"split", "Cut records out of a work, or keep two works apart; no rule joins them again", d.control.SplitWork},
	} {
		declare(d, act("/works/"+v.verb+"/preview", tag, control.Operator, "What would come of it: "+v.summary),
			func(ctx context.Context, in *workLook) (control.WorkChange, error) {
				o := in.Body.order()
				o.DryRun = true
				return v.do(ctx, o)
			})
		declare(d, act("/works/"+v.verb, tag, control.Operator, v.summary),
			func(ctx context.Context, in *workInput) (control.WorkChange, error) {
				o := in.Body.order()
				o.By = in.Body.by(ctx)
				return v.do(ctx, o)
			})
	}
	declare(d, preview("/works/decisions/{id}/revoke", tag, control.Operator, "What taking a decision about works back would change"),
		func(ctx context.Context, in *OfNumber) (control.WorkChange, error) {
			return d.control.RevokeWork(ctx, control.WorkOrder{Decision: in.ID, DryRun: true})
		})
	declare(d, act("/works/decisions/{id}/revoke", tag, control.Operator, "Take a decision about works back: rules decide again"),
		func(ctx context.Context, in *revokeWorkInput) (control.WorkChange, error) {
			return d.control.RevokeWork(ctx, control.WorkOrder{By: in.Body.by(ctx), Decision: in.ID})
		})
}
