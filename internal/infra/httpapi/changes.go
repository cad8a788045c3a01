package httpapi

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// ChangeHeaders are those that every change takes. The door has looked at them before
// the route is asked.
type ChangeHeaders struct {
	IdempotencyKey string `header:"Idempotency-Key" maxLength:"255" doc:"The same key with the same body is done once, for a day"`
	IfMatch        string `header:"If-Match" maxLength:"512" doc:"ETag of what is changed: nothing is done if it is another now"`
}

// Why is in the body of every change.
type Why struct {
	Reason string `json:"reason" minLength:"1" maxLength:"2000" pattern:"\\S" doc:"Why, for the audit"`
}

// Seen is in the body of a change that is looked at before it is made.
type Seen struct {
	Why
	Token string `json:"token" minLength:"1" maxLength:"4096" doc:"Token of the preview: what it showed is done, or nothing"`
}

func (s Seen) by(ctx context.Context) control.By {
	return control.By{Actor: callerOf(ctx).Actor, Reason: s.Reason, Token: s.Token}
}

// Glanced is in the body of a change so small that it may be made at once.
type Glanced struct {
	Why
	Token string `json:"token,omitempty" maxLength:"4096" doc:"Token of a preview, if it is to be held to one"`
}

func (g Glanced) by(ctx context.Context) control.By { return Seen(g).by(ctx) }

// OneEndpoint narrows a change of a source to one endpoint of it.
type OneEndpoint struct {
	Endpoint string `json:"endpoint,omitempty" query:"endpoint" maxLength:"64" doc:"Only what goes through this endpoint; the whole source unless given"`
}

// of is the source, or the endpoint of it.
func (o OneEndpoint) of(code string) string {
	if o.Endpoint == "" {
		return code
	}
	return harvest.EndpointOf{Provenance: code, Endpoint: o.Endpoint}.String()
}

type pauseLook struct {
	OfSource
	OneEndpoint
}

type pauseInput struct {
	OfSource
	ChangeHeaders
	Body struct {
		Glanced
		OneEndpoint
	}
}

type resumeLook struct {
	OfSource
	OneEndpoint
	Force bool `query:"force" doc:"Of a stopped source: without a check"`
}

type resumeInput struct {
	OfSource
	ChangeHeaders
	Body struct {
		Glanced
		OneEndpoint
		Force bool `json:"force,omitempty" doc:"Resume a stopped source without a check"`
	}
}

type retryLook struct {
	OfSource
	Cancelled bool `query:"cancelled" doc:"Also slices that were given up one by one"`
}

type retryInput struct {
	OfSource
	ChangeHeaders
	Body struct {
		Seen
		Cancelled bool `json:"cancelled,omitempty" doc:"Also slices that were given up one by one"`
	}
}

func (d *Door) declareSourceChanges() {
	const tag = "sources"
	declare(d, preview("/sources/{code}/pause", tag, control.Operator, "What pausing a source would change"),
		func(ctx context.Context, in *pauseLook) (control.SourceHold, error) {
			return d.control.PauseSource(ctx, control.HoldOrder{Source: in.of(in.Code), DryRun: true})
		})
	declare(d, act("/sources/{code}/pause", tag, control.Operator, "Take no more work of a source"),
		func(ctx context.Context, in *pauseInput) (control.SourceHold, error) {
			return d.control.PauseSource(ctx, control.HoldOrder{By: in.Body.by(ctx), Source: in.Body.of(in.Code)})
		})
	declare(d, preview("/sources/{code}/resume", tag, control.Operator, "What resuming a source would change"),
		func(ctx context.Context, in *resumeLook) (control.SourceHold, error) {
			return d.control.ResumeSource(ctx, control.HoldOrder{Source: in.of(in.Code), DryRun: true}, control.Resumption{Force: in.Force})
		})
	resume := act("/sources/{code}/resume", tag, control.Operator, "Work on a source again; one that was stopped only if its check passes, and by an admin")
	resume.asks = true
	declare(d, resume, d.resume)
	declare(d, preview("/sources/{code}/retry", tag, control.Operator, "The gaps that would be queued again"),
		func(ctx context.Context, in *retryLook) (control.RetryPreview, error) {
			return d.control.PreviewRetry(ctx, in.Code, in.Cancelled)
		})
	declare(d, act("/sources/{code}/retry", tag, control.Operator, "Queue the failed slices of a source again at once"),
		func(ctx context.Context, in *retryInput) (control.Retried, error) {
			return d.control.Retry(ctx, in.Code, in.Body.Cancelled, in.Body.by(ctx))
		})
}

// resume works on a source again. One that a fatal fault stopped is not for everybody
// who may pause it.
func (d *Door) resume(ctx context.Context, in *resumeInput) (control.SourceHold, error) {
	row, err := d.control.Source(ctx, in.Code)
	if err != nil {
		return control.SourceHold{}, err
	}
	who := callerOf(ctx)
	stopped := row.State == control.SourceStopped || slices.Contains(row.StoppedEndpoints, in.Body.Endpoint)
	if (stopped || in.Body.Force) && !who.Role.Covers(control.Admin) {
		return control.SourceHold{}, tooLow(who, control.Admin)
	}
	return d.control.ResumeSource(ctx, control.HoldOrder{By: in.Body.by(ctx), Source: in.Body.of(in.Code)}, control.Resumption{Force: in.Body.Force})
}

type cancelInput struct {
	OfNumber
	ChangeHeaders
	Body struct{ Seen }
}

// Wish is a plan that is asked for.
type Wish struct {
	Source    string    `json:"source" minLength:"1" maxLength:"64" doc:"Code of the source"`
	Operation string    `json:"operation,omitempty" enum:"HARVEST,BACKFILL" default:"HARVEST"`
	Query     string    `json:"query,omitempty" maxLength:"20000" doc:"Only what matches"`
	From      time.Time `json:"from,omitzero" doc:"Start of the window"`
	To        time.Time `json:"to,omitzero" doc:"End of the window, not part of it"`
	Activity  string    `json:"activity,omitempty" maxLength:"255" doc:"Name of the activity of a BACKFILL"`
	HowWish
}

// HowWish is how what is asked for is done.
type HowWish struct {
	NotBefore time.Time `json:"not_before,omitzero" doc:"The first task is begun then, and not at once"`
	HowStanding
}

// manner is the same as control takes it.
func (w HowWish) manner() (control.Manner, error) {
	out, err := w.HowStanding.manner()
	out.Pacing.NotBefore = w.NotBefore
	return out, err
}

// HowStanding is what of it can be said of what is done again and again.
type HowStanding struct {
	Endpoint    string  `json:"endpoint,omitempty" maxLength:"64" doc:"Name of the endpoint it goes through, unless the source's own choice"`
	Priority    string  `json:"priority,omitempty" enum:"high,normal,medium,low" doc:"Its place in the queue, unless its own; medium is an older word for normal"`
	Spread      string  `json:"spread,omitempty" maxLength:"64" doc:"The tasks are begun over this time, evenly, such as 6h"`
	Rate        float64 `json:"rate,omitempty" minimum:"0" doc:"Requests a second of this plan, at most the source's"`
	PageSize    int     `json:"page_size,omitempty" minimum:"0" maximum:"1000000" doc:"Items of a page, or ids of a request, at most the source's"`
	Concurrency int     `json:"concurrency,omitempty" minimum:"0" maximum:"1000000" doc:"Requests of this plan in flight, at most the source's"`
}

func (w HowStanding) manner() (control.Manner, error) {
	out := control.Manner{Endpoint: w.Endpoint}
	out.Priority, _ = harvest.ParsePriority(w.Priority) // one of the list, or its own
	out.Pacing.Bounds = harvest.Bounds{Rate: w.Rate, PageSize: w.PageSize, Concurrency: w.Concurrency}
	if w.Spread == "" {
		return out, nil
	}
	spread, err := source.ParseDuration(w.Spread)
	if err != nil || spread < 0 {
		return out, refusal(422, "usage", "spread is a length of time, such as 6h, 2d or PT6H", "")
	}
	out.Pacing.Spread = spread
	return out, nil
}

func (w Wish) operation() harvest.Operation {
	op, _ := harvest.ParseOperation(w.Operation) // one of the list, or the default
	return op
}

type planPreviewInput struct {
	Body Wish
}

func (in planPreviewInput) sourceCode() string { return in.Body.Source }

type planInput struct {
	ChangeHeaders
	Body struct{ Seen }
}

// RecordsWish is which records are to be read again.
type RecordsWish struct {
	Source         string   `json:"source" minLength:"1" maxLength:"64" doc:"Code of the source"`
	IDs            []string `json:"ids,omitempty" maxItems:"10000" doc:"Ids of the records"`
	OlderThan      string   `json:"older_than,omitempty" maxLength:"64" doc:"Records last seen longer ago, such as 90d"`
	MappingChanged bool     `json:"mapping_changed,omitempty" doc:"Records made by another mapping than the one in force"`
	Signals        bool     `json:"signals,omitempty" doc:"What notices, quarantine and ids without details point to"`
	Max            int      `json:"max,omitempty" minimum:"0" maximum:"10000000" doc:"At most so many, those longest not seen first"`
	Activity       string   `json:"activity,omitempty" maxLength:"255" doc:"Name of the activity"`
	HowWish
}

// request is the wish as control takes it.
func (w RecordsWish) request() (control.RefreshRequest, error) {
	req := control.RefreshRequest{
		Source: w.Source, OlderThan: w.OlderThan, MappingChanged: w.MappingChanged, Signals: w.Signals, Max: w.Max, Activity: w.Activity,
	}
	given := 0
	for _, is := range []bool{len(w.IDs) > 0, w.OlderThan != "", w.MappingChanged, w.Signals} {
		if is {
			given++
		}
	}
	if given != 1 {
		return req, refusal(422, "usage", "say which records: one of ids, older_than, mapping_changed and signals", "")
	}
	how, err := w.manner()
	if err != nil {
		return req, err
	}
	req.Manner = how
	if len(w.IDs) > 0 {
		req.IDs = strings.NewReader(strings.Join(w.IDs, "\n"))
	}
	return req, nil
}

type refreshPreviewInput struct {
	Body RecordsWish
}

func (in refreshPreviewInput) sourceCode() string { return in.Body.Source }

type refreshInput struct {
	ChangeHeaders
	Body struct {
		Seen
		RecordsWish
	}
}

func (in refreshInput) sourceCode() string { return in.Body.Source }

func (d *Door) declarePlanChanges() {
	const tag = "plans"
	look := act("/plans/preview", tag, control.Operator, "What would be planned, and what it would cost; counting asks the source")
	look.asks = true
	declare(d, look, func(ctx context.Context, in *planPreviewInput) (control.PlanPreview, error) {
		w := in.Body
		how, err := w.manner()
		if err != nil {
			return control.PlanPreview{}, err
		}
		t := harvest.Trigger{
			Provenance: w.Source, Operation: w.operation(), Kind: harvest.TriggerManual, Query: w.Query, From: w.From, To: w.To,
			Activity: w.Activity, Endpoint: how.Endpoint, Priority: how.Priority, Pacing: how.Pacing,
		}
		if t.Operation == harvest.Backfill && t.Activity == "" {
			t.Activity = control.BackfillActivity(control.Time(w.From).String(), control.Time(w.To).String(), w.Query)
		}
		return d.control.PreviewPlan(ctx, t)
	})
	create := act("/plans", tag, control.Operator, "Make the plan that a preview showed")
	create.asks = true
	declare(d, create, func(ctx context.Context, in *planInput) (control.Planned, error) {
		by := in.Body.by(ctx)
		return d.control.ApplyPlan(ctx, in.Body.Token, by)
	})
	declare(d, preview("/plans/{id}/cancel", tag, control.Admin, "What of a plan would be given up"),
		func(ctx context.Context, in *OfNumber) (control.CancelPreview, error) {
			return d.control.PreviewCancel(ctx, control.CancelScope{Plan: harvest.PlanID(in.ID)})
		})
	declare(d, act("/plans/{id}/cancel", tag, control.Admin, "Give up what a plan has not done yet"),
		func(ctx context.Context, in *cancelInput) (control.Cancelled, error) {
			return d.control.Cancel(ctx, control.CancelScope{Plan: harvest.PlanID(in.ID)}, in.Body.by(ctx))
		})
	declare(d, act("/refreshes/preview", tag, control.Operator, "How many records would be read again; nothing is asked"),
		func(ctx context.Context, in *refreshPreviewInput) (control.RefreshPreview, error) {
			req, err := in.Body.request()
			if err != nil {
				return control.RefreshPreview{}, err
			}
			return d.control.PreviewRefresh(ctx, req)
		})
	declare(d, act("/refreshes", tag, control.Operator, "Plan to read records again"),
		func(ctx context.Context, in *refreshInput) (control.RefreshPlanned, error) {
			req, err := in.Body.request()
			if err != nil {
				return control.RefreshPlanned{}, err
			}
			return d.control.PlanRefresh(ctx, req, in.Body.by(ctx))
		})
}

func (d *Door) declareSliceChanges() {
	const tag = "slices"
	declare(d, preview("/slices/{id}/cancel", tag, control.Operator, "What giving up a slice would change"),
		func(ctx context.Context, in *OfNumber) (control.CancelPreview, error) {
			return d.control.PreviewCancel(ctx, control.CancelScope{Slice: harvest.SliceID(in.ID)})
		})
	declare(d, act("/slices/{id}/cancel", tag, control.Operator, "Give up a slice: it stays a gap until somebody decides on it"),
		func(ctx context.Context, in *cancelInput) (control.Cancelled, error) {
			return d.control.Cancel(ctx, control.CancelScope{Slice: harvest.SliceID(in.ID)}, in.Body.by(ctx))
		})
	declare(d, preview("/slices/{id}/accept", tag, control.Operator, "Where the watermark would stand if a gap counted as read"),
		func(ctx context.Context, in *OfNumber) (control.AcceptPreview, error) {
			return d.control.PreviewAccept(ctx, harvest.SliceID(in.ID))
		})
	declare(d, act("/slices/{id}/accept", tag, control.Operator, "Let the watermark pass a gap that will not be read"),
		func(ctx context.Context, in *cancelInput) (control.Accepted, error) {
			return d.control.AcceptGap(ctx, harvest.SliceID(in.ID), in.Body.by(ctx))
		})
}

type triggerInput struct {
	ChangeHeaders
	Trace string `header:"traceparent" maxLength:"128" doc:"Where in a trace the caller stands (W3C Trace Context): the spans of the plan and of the work on it go beneath"`
	Body  struct {
		Wish
		Scheduler string `json:"scheduler" minLength:"1" maxLength:"64" doc:"Which scheduler calls, such as airflow"`
		Job       string `json:"job" minLength:"1" maxLength:"255" doc:"Its job"`
		LogID     string `json:"log_id" minLength:"1" maxLength:"255" doc:"What it calls this run of the job: the same again is the same call"`
		Reason    string `json:"reason,omitempty" maxLength:"2000" doc:"Why, for the audit"`
	}
}

func (in triggerInput) sourceCode() string { return in.Body.Source }

func (d *Door) declareTriggers() {
	rt := act("/triggers", "plans", control.Operator, "Plan at the call of an outside scheduler; the same scheduler, job and log id twice is one call")
	rt.asks = true
	declare(d, rt, func(ctx context.Context, in *triggerInput) (control.Planned, error) {
		b := in.Body
		reason := b.Reason
		if reason == "" {
			reason = "called by " + b.Scheduler + ", job " + b.Job + ", log " + b.LogID
		}
		how, err := b.manner()
		if err != nil {
			return control.Planned{}, err
		}
		return d.control.Trigger(ctx, control.TriggerOrder{
			By: control.By{Actor: callerOf(ctx).Actor, Reason: reason}, Scheduler: b.Scheduler, Job: b.Job, LogID: b.LogID,
			Source: b.Source, Operation: b.operation(), Query: b.Query, From: b.From, To: b.To, Activity: b.Activity, Manner: how,
			Trace: in.Trace,
		})
	})
}
