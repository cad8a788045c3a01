package httpapi

import (
	"context"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

type tasksInput struct {
	Source string `query:"source" maxLength:"64" doc:"Of this source only"`
	State  string `query:"state" enum:"QUEUED,DISPATCHED,EXECUTING,SUCCEEDED,FAILED,PARTIAL,CANCELLED" doc:"In this state only"`
	Plan   int64  `query:"plan" minimum:"1" doc:"Of this plan only"`
	Page
}

type runsInput struct {
	Source string    `query:"source" maxLength:"64" doc:"Of this source only"`
	State  string    `query:"state" enum:"RUNNING,SUCCEEDED,PARTIAL,FAILED,CANCELLED" doc:"In this state only"`
	Plan   int64     `query:"plan" minimum:"1" doc:"Of this plan only"`
	Task   int64     `query:"task" minimum:"1" doc:"Of this task only"`
	Since  time.Time `query:"since" doc:"Begun since this instant, RFC 3339"`
	Page
}

type batchInput struct {
	OfNumber
	No int64 `path:"no" minimum:"1" doc:"Number of the page within its run"`
}

type ratesInput struct {
	Source string `query:"source" maxLength:"64" doc:"Of this source only"`
}

// declareWork adds what is to be seen of the work in flight: tasks, their runs and
// pages.
func (d *Door) declareWork() {
	const tag = "work"
	declare(d, orGone(look("/tasks", tag, "Tasks: those in hand, then the queue in its order, then what ended")),
		func(ctx context.Context, in *tasksInput) (control.TaskList, error) {
			return d.control.Tasks(ctx, control.TaskQuery{
				Source: in.Source, State: harvest.TaskState(in.State), Plan: harvest.PlanID(in.Plan), Page: in.Page.page(),
			})
		})
	declare(d, orGone(look("/tasks/{id}", tag, "A task: its lease, its place in the queue, its runs, and why it waits")),
		func(ctx context.Context, in *OfNumber) (control.TaskView, error) {
			return d.control.Task(ctx, harvest.TaskID(in.ID))
		})
	declare(d, orGone(look("/tasks/{id}/why", tag, "What a task waits for or why it ended, and what to do next")),
		func(ctx context.Context, in *OfNumber) (control.WhyView, error) {
			return d.control.TaskWhy(ctx, harvest.TaskID(in.ID))
		})
	declare(d, look("/runs", tag, "Attempts at tasks, the newest first"),
		func(ctx context.Context, in *runsInput) (control.RunList, error) {
			return d.control.Runs(ctx, control.RunQuery{
				Source: in.Source, State: harvest.RunState(in.State), Plan: harvest.PlanID(in.Plan), Task: harvest.TaskID(in.Task), Since: in.Since, Page: in.Page.page(),
			})
		})
	declare(d, orGone(look("/runs/{id}", tag, "A run, why it stopped, and its pages with what their time went to")),
		func(ctx context.Context, in *numberPage) (control.RunView, error) {
			return d.control.Run(ctx, harvest.RunID(in.ID), in.Page.page())
		})
	declare(d, orGone(look("/runs/{id}/why", tag, "What a run waits for or why it ended, and what to do next")),
		func(ctx context.Context, in *OfNumber) (control.WhyView, error) {
			return d.control.RunWhy(ctx, harvest.RunID(in.ID))
		})
	declare(d, orGone(lookAtOne("/runs/{id}/batches/{no}", tag, "A page: what was asked, what came, what was done with it")),
		func(ctx context.Context, in *batchInput) (control.BatchView, error) {
			return d.control.Batch(ctx, harvest.RunID(in.ID), in.No)
		})
}

// LowerTo is to what a rate is lowered, and for how long.
type LowerTo struct {
	To   float64 `query:"to" json:"to,omitempty" minimum:"0" doc:"Requests a second, less than declared"`
	For  string  `query:"for" json:"for,omitempty" maxLength:"64" doc:"How long, such as 2h or 3d"`
	Lift bool    `query:"lift" json:"lift,omitempty" doc:"In place of both: the declared rate holds again at once"`
}

func (l LowerTo) order(code string, by control.By) (control.LowerOrder, error) {
	o := control.LowerOrder{By: by, Source: code, To: l.To, Lift: l.Lift}
	if l.For == "" {
		return o, nil
	}
	d, err := source.ParseDuration(l.For)
	if err != nil {
		return o, control.ErrLength
	}
	o.For = d
	return o, nil
}

type lowerLook struct {
	OfSource
	LowerTo
}

type lowerInput struct {
	OfSource
	ChangeHeaders
	Body struct {
		Seen
		LowerTo
	}
}

// declareRates adds how fast sources are asked, and the lowering of it.
func (d *Door) declareRates() {
	const tag = "rates"
	declare(d, look("/rates", tag, "How fast sources are asked and may be, and why that is less than declared"),
		func(ctx context.Context, in *ratesInput) (control.RateList, error) {
			return d.control.Rates(ctx, in.Source)
		})
	declare(d, look("/sources/{code}/requests", tag, "What was sent to a source in the last hour, minute by minute"),
		func(ctx context.Context, in *OfSource) (control.RateSeries, error) {
			return d.control.RateSeries(ctx, []string{in.Code})
		})
	declare(d, preview("/sources/{code}/lower", tag, control.Operator, "What lowering the rate of a source would change"),
		func(ctx context.Context, in *lowerLook) (control.RateChange, error) {
			o, err := in.order(in.Code, control.By{})
			if err != nil {
				return control.RateChange{}, err
			}
			o.DryRun = true
			return d.control.LowerRate(ctx, o)
		})
	declare(d, act("/sources/{code}/lower", tag, control.Operator, "Ask a source less for a time"),
		func(ctx context.Context, in *lowerInput) (control.RateChange, error) {
			o, err := in.Body.order(in.Code, in.Body.by(ctx))
			if err != nil {
				return control.RateChange{}, err
			}
			return d.control.LowerRate(ctx, o)
		})
}
