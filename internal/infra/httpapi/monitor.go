package httpapi

import (
	"context"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// Narrowed asks for one source or operation only.
type Narrowed struct {
	Source    string `query:"source" maxLength:"64" doc:"Of this source only"`
	Operation string `query:"operation" enum:"HARVEST,BACKFILL,UPDATE" doc:"Of this operation only"`
}

// Within bounds a time.
type Within struct {
	From time.Time `query:"from" doc:"Not before this instant, RFC 3339"`
	To   time.Time `query:"to" doc:"Before this instant, RFC 3339"`
}

type lineageInput struct {
	OfNumber
	Limit int    `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"At most so many slices"`
	After string `query:"after" maxLength:"512" doc:"What next said in the answer before"`
}

type timelineInput struct {
	Source    string `query:"source" required:"true" minLength:"1" maxLength:"64" doc:"Code of the source"`
	Operation string `query:"operation" enum:"HARVEST,BACKFILL,UPDATE" doc:"Of this operation only"`
	Namespace string `query:"namespace" maxLength:"512" doc:"Of this namespace only, as /cursors shows it"`
	Within
	Page
}

type topErrorsInput struct {
	Narrowed
	Level string `query:"level" enum:"L1,L2,L3,L4" doc:"Of this level only"`
	Within
	Limit int `query:"limit" minimum:"1" maximum:"1000" default:"20" doc:"At most so many kinds"`
}

// statusInput says of which sources, and over which time it is told what came of them.
type statusInput struct {
	Source string `query:"source" maxLength:"64" doc:"Of this source only"`
	Range  string `query:"range" maxLength:"16" doc:"Tell also what came of each source in this time, such as 1h, 24h or 7d"`
}

// declareMonitor adds how the sources and this process fare, and the four questions that
// a dashboard asks.
func (d *Door) declareMonitor() {
	declare(d, look("/status", "work", "What is late, since when, why, and what to do"),
		func(ctx context.Context, in *statusInput) (control.Status, error) {
			if in.Range != "" {
				return d.control.StatusOver(ctx, in.Source, in.Range)
			}
			return d.control.Status(ctx, in.Source)
		})
	doctor := look("/doctor", "process", "Whether this patra and its surroundings are well, and how to mend what is not")
	doctor.needs = control.Operator
	declare(d, doctor, func(ctx context.Context, _ *nothing) (control.Doctor, error) {
		return d.control.Doctor(ctx, d.board)
	})
	declare(d, look("/queue", "work", "What waits and runs, by source, endpoint and operation, and why it waits"),
		func(ctx context.Context, in *Narrowed) (control.Queue, error) {
			return d.control.Queue(ctx, in.Source, harvest.Operation(in.Operation))
		})
	declare(d, orGone(look("/plans/{id}/lineage", "plans", "A plan down to its pages: slices, tasks, runs, batches")),
		func(ctx context.Context, in *lineageInput) (control.Lineage, error) {
			return d.control.Lineage(ctx, harvest.PlanID(in.ID), control.Page{After: in.After, Limit: in.Limit})
		})
	declare(d, look("/cursors/timeline", "cursors", "How the cursors of a source moved, in order"),
		func(ctx context.Context, in *timelineInput) (control.Timeline, error) {
			return d.control.Timeline(ctx, control.TimelineQuery{
				Source: in.Source, Operation: harvest.Operation(in.Operation), Namespace: in.Namespace, From: in.From, To: in.To, Page: in.Page.page(),
			})
		})
	declare(d, look("/errors/top", "errors", "What went wrong most often, by the hour; of the last day unless times are given, and known for a month"),
		func(ctx context.Context, in *topErrorsInput) (control.TopErrors, error) {
			return d.control.TopErrors(ctx, control.TopQuery{
				Source: in.Source, Operation: harvest.Operation(in.Operation), Level: harvest.Level(in.Level), From: in.From, To: in.To, Limit: in.Limit,
			})
		})
}
