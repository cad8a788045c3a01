package httpapi

import (
	"context"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

type schedulesInput struct {
	Source string `query:"source" maxLength:"64" doc:"Of this source only"`
}

// OfSchedule names a schedule in the path.
type OfSchedule struct {
	Name string `path:"name" maxLength:"255" doc:"Name of the schedule; a slash in it is written %2F"`
}

// ScheduleWish is a schedule that is asked for, whole: what is not said is as it is by
// default.
type ScheduleWish struct {
	Name           string `json:"name" minLength:"1" maxLength:"255" doc:"Its name"`
	Source         string `json:"source" minLength:"1" maxLength:"64" doc:"Code of the source"`
	Operation      string `json:"operation,omitempty" enum:"HARVEST,BACKFILL,UPDATE" default:"HARVEST"`
	Query          string `json:"query,omitempty" maxLength:"20000" doc:"Only what matches"`
	Cron           string `json:"cron" minLength:"1" maxLength:"255" doc:"When it begins: five fields, or @hourly, @daily, @weekly, @monthly"`
	Zone           string `json:"zone,omitempty" maxLength:"64" doc:"Time zone of the line; UTC unless given"`
	From           string `json:"from,omitempty" maxLength:"64" doc:"Of a BACKFILL: start of the window, an instant, a date or an age such as -30d"`
	To             string `json:"to,omitempty" maxLength:"64" doc:"Of a BACKFILL: end of the window, not part of it; also an age, or now"`
	OlderThan      string `json:"older_than,omitempty" maxLength:"64" doc:"Of an UPDATE: records last seen longer ago, such as 180d"`
	MappingChanged bool   `json:"mapping_changed,omitempty" doc:"Of an UPDATE: records made by another mapping than the one in force"`
	Signals        bool   `json:"signals,omitempty" doc:"Of an UPDATE: what notices, quarantine and ids without details point to"`
	Max            int    `json:"max,omitempty" minimum:"0" maximum:"10000000" doc:"Of an UPDATE: at most so many each time"`
	HowStanding
}

// order is the wish as control takes it.
func (w ScheduleWish) order(by control.By) (control.ScheduleOrder, error) {
	op, _ := harvest.ParseOperation(w.Operation) // one of the list, or the default
	how, err := w.manner()
	return control.ScheduleOrder{
		By: by, Name: w.Name, Source: w.Source, Operation: op, Query: w.Query, Cron: w.Cron, Zone: w.Zone, From: w.From, To: w.To,
		OlderThan: w.OlderThan, MappingChanged: w.MappingChanged, Signals: w.Signals, Max: w.Max,
		Endpoint: how.Endpoint, Priority: how.Priority, Pacing: how.Pacing,
	}, err
}

type schedulePreviewInput struct {
	Body ScheduleWish
}

func (in schedulePreviewInput) sourceCode() string { return in.Body.Source }

type scheduleInput struct {
	ChangeHeaders
	Body struct {
		Seen
		ScheduleWish
	}
}

func (in scheduleInput) sourceCode() string { return in.Body.Source }

type scheduleHoldInput struct {
	OfSchedule
	ChangeHeaders
	Body struct{ Glanced }
}

type scheduleRemoveInput struct {
	OfSchedule
	ChangeHeaders
	Body struct{ Seen }
}

// declareSchedules adds what is asked for by itself.
func (d *Door) declareSchedules() {
	const tag = "schedules"
	declare(d, look("/schedules", tag, "What is asked for by itself, when it was last and when it is next"),
		func(ctx context.Context, in *schedulesInput) (control.ScheduleList, error) {
			return d.control.Schedules(ctx, in.Source)
		})
	declare(d, lookAtOne("/schedules/{name}", tag, "A schedule and the cursor it moves"),
		func(ctx context.Context, in *OfSchedule) (control.ScheduleView, error) {
			return d.control.Schedule(ctx, in.Name)
		})
	declare(d, act("/schedules/preview", tag, control.Operator, "What a schedule would be, and what it would take the place of"),
		func(ctx context.Context, in *schedulePreviewInput) (control.ScheduleChange, error) {
			o, err := in.Body.order(control.By{})
			if err != nil {
				return control.ScheduleChange{}, err
			}
			o.DryRun = true
			return d.control.SetSchedule(ctx, o)
		})
	declare(d, act("/schedules", tag, control.Operator, "Make a schedule, or put another in place of one of that name"),
		func(ctx context.Context, in *scheduleInput) (control.ScheduleChange, error) {
			o, err := in.Body.order(in.Body.by(ctx))
			if err != nil {
				return control.ScheduleChange{}, err
			}
			return d.control.SetSchedule(ctx, o)
		})
	declare(d, preview("/schedules/{name}/remove", tag, control.Operator, "The schedule that would be ended"),
		func(ctx context.Context, in *OfSchedule) (control.ScheduleChange, error) {
			return d.control.RemoveSchedule(ctx, control.ScheduleHold{Name: in.Name, DryRun: true})
		})
	declare(d, act("/schedules/{name}/remove", tag, control.Operator, "End a schedule; its history and its cursor stay"),
		func(ctx context.Context, in *scheduleRemoveInput) (control.ScheduleChange, error) {
			return d.control.RemoveSchedule(ctx, control.ScheduleHold{By: in.Body.by(ctx), Name: in.Name})
		})
	d.declareScheduleHold("pause", "Let a schedule begin nothing more", d.control.PauseSchedule)
	d.declareScheduleHold("resume", "Let a schedule begin again, when its line comes next", d.control.ResumeSchedule)
}

// declareScheduleHold adds a way to pause or resume a schedule, and its preview.
func (d *Door) declareScheduleHold(verb, summary string, do func(context.Context, control.ScheduleHold) (control.ScheduleChange, error)) {
	const tag = "schedules"
	path := "/schedules/{name}/" + verb
	declare(d, preview(path, tag, control.Operator, "What it would change to "+verb+" a schedule"),
		func(ctx context.Context, in *OfSchedule) (control.ScheduleChange, error) {
			return do(ctx, control.ScheduleHold{Name: in.Name, DryRun: true})
		})
	declare(d, act(path, tag, control.Operator, summary),
		func(ctx context.Context, in *scheduleHoldInput) (control.ScheduleChange, error) {
			return do(ctx, control.ScheduleHold{By: in.Body.by(ctx), Name: in.Name})
		})
}
