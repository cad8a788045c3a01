package control

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
)

// HarvestRequest is what a person asks for.
type HarvestRequest struct {
	Source string
	// Operation is HARVEST unless said otherwise; Activity names a BACKFILL or
	// an UPDATE, and Pick says which records an UPDATE reads again.
	Operation harvest.Operation
	Activity  string
	Pick      harvest.CandidatePick
	Query     string // selection in the text form, empty for everything
	From, To  time.Time
	// Spoken, if it is given, is in place of From and To.
	Spoken  Spoken
	BaseURL string
	Manner
	// Approve, if set, is asked before the first plan of a selection is saved.
	Approve func(harvest.Forecast) error
	// Watch, if set, is shown how the work goes.
	// Detach leaves the work to the executors of patra serve.
	Detach bool
	Watch  *Watch
	// By is who asked for it and why; nobody is named where a program does.
	By By
	// notes are what there is to say of how it was understood.
	notes []string
}

// DeclinedError is the answer of a person who was asked whether to read so much.
type DeclinedError struct{}

func (*DeclinedError) Error() string {
	return "a person said no: nothing was planned, and no record was read"
}

// Problem implements problem.Error.
func (e *DeclinedError) Problem() problem.Problem {
	return problem.Problem{
		Code: "declined", Kind: problem.Usage, Title: e.Error(),
		Next: "narrow it with --query or --from, or run it again and answer y, or give --yes",
	}
}

// trigger is the request as the planner takes it.
func (r HarvestRequest) trigger() (harvest.Trigger, error) {
	params, err := r.params()
	if err != nil {
		return harvest.Trigger{}, fmt.Errorf("marshal trigger: %w", err)
	}
	t := harvest.Trigger{
		Provenance: r.Source, Operation: r.Operation, Activity: r.Activity, Kind: harvest.TriggerManual,
		From: r.From, To: r.To, Query: r.Query, BaseURL: r.BaseURL, Pick: r.Pick, Params: string(params), Approve: r.Approve,
	}
	r.applyTo(&t)
	return t, nil
}

// params are the wish as it was given, kept with the trigger.
func (r HarvestRequest) params() ([]byte, error) {
	if r.Operation != harvest.Update {
		p := map[string]any{"from": Time(r.From), "to": Time(r.To), "baseUrl": r.BaseURL, "query": r.Query}
		r.addTo(p)
		return json.Marshal(p)
	}
	p := map[string]any{
		"baseUrl": r.BaseURL, "ids": len(r.Pick.IDs), "mappingChanged": r.Pick.MappingChanged, "signals": r.Pick.Signals, "max": r.Pick.Max,
	}
	if !r.Pick.SeenBefore.IsZero() {
		p["seenBefore"] = Time(r.Pick.SeenBefore)
	}
	r.addTo(p)
	return json.Marshal(p)
}

// BackfillActivity names the activity of a BACKFILL that was not given a name: the
// same window and query again are the same activity.
func BackfillActivity(from, to, query string) string {
	return "backfill-" + harvest.HashKey(from, to, query)[:16]
}

// Harvest triggers an operation, plans it and works in the foreground until nothing
// of it is left to do. Run again it goes on where it stopped. Once the source may be
// worked on there is a report, whatever comes of the rest.
func (c *Control) Harvest(ctx context.Context, req HarvestRequest) (*Report, error) {
	began := time.Now()
	req.Operation = cmp.Or(req.Operation, harvest.Harvest)
	if err := req.settle(ctx, c); err != nil {
		return nil, err
	}
	trigger, err := req.trigger()
	if err != nil {
		return nil, err
	}
	trigger, err = c.receive(ctx, req, trigger)
	if err != nil {
		return nil, err
	}
	r := &run{Control: c, trigger: trigger, watch: req.Watch}
	if r.watch == nil {
		r.watch = new(Watch)
	}
	defer c.watches.add(req.Source, r.watch)()
	// A search shows several runs of a source to one watch: each tells of its own requests.
	sentBefore, bytesBefore := r.watch.sentSoFar()
	rep := &Report{Operation: req.Operation, Source: req.Source, Status: "NOOP", Gaps: []ReportGap{}, Warnings: []string{}, Notes: req.notes}
	err = r.plan(ctx)
	rep.Namespace = r.planned.Namespace.String()
	rep.Noop = r.planned.Noop
	rep.Warnings = append(rep.Warnings, r.planned.Warnings...)
	if err == nil && req.By.Actor != "" {
		_, err = c.created(ctx, r.planned, req.By)
	}
	if err != nil {
		return rep, err
	}
	rep.Window = r.planned.Span
	if err := r.takeUp(ctx); err != nil {
		return rep, err
	}
	var runErr error
	if req.Detach {
		rep.Detached = true
	} else {
		runErr = r.toTheEnd(ctx)
	}
	rep.Waits = r.planned.Waits
	rep.Reason = r.planned.Reason
	// Where the file is gone, what is still read from it says nothing of what is kept.
	if gone := c.store.CheckFile(); gone != nil {
		return rep, gone
	}
	// The report is read also when the run was interrupted.
	if err := r.fill(context.WithoutCancel(ctx), rep); err != nil {
		return rep, errors.Join(runErr, err)
	}
	if !rep.Noop && r.planned.Noop && !r.planned.Waits {
		rep.Reason = "" // nothing new, but something was left to do
	}
	rep.Requests, rep.Bytes = r.watch.sentSince(sentBefore, bytesBefore)
	rep.Duration = time.Since(began).Milliseconds()
	return rep, runErr
}

// receive writes a trigger down, and then refuses what may not be begun now. What it
// refuses is kept with the trigger.
func (c *Control) receive(ctx context.Context, req HarvestRequest, t harvest.Trigger) (harvest.Trigger, error) {
	t, err := settled(func() (harvest.Trigger, error) { return c.planner.Receive(ctx, t) })
	if err != nil {
		return t, err
	}
	err = c.admit(ctx, req)
	if err != nil {
		return t, c.planner.Refuse(ctx, t, err)
	}
	return t, nil
}

// admit refuses what may not be begun now.
func (c *Control) admit(ctx context.Context, req HarvestRequest) error {
	con, err := c.contracts.Through(ctx, req.Source, req.Operation, req.Endpoint, req.Query)
	if err != nil {
		return err
	}
	if err := c.admitEndpoint(ctx, con.Spec.At(req.Operation)); err != nil {
		return err
	}
	st, err := c.store.SourceState(ctx, req.Source)
	if err != nil {
		return err
	}
	if st.Held() {
		return &harvest.HeldError{Source: req.Source, State: st}
	}
	rest, resting := c.quiet.Rest(ctx, req.Source, req.Operation)
	if resting {
		return rest.Fault()
	}
	return nil
}

// admitEndpoint refuses an endpoint that is paused by itself.
func (c *Control) admitEndpoint(ctx context.Context, at harvest.EndpointOf) error {
	st, err := c.store.EndpointState(ctx, at)
	if err == nil && st.Held() {
		return &harvest.HeldError{Source: at.String(), State: st}
	}
	return err
}

// Work tells what is left to do for a source and operation, and in quiet hours
// that it waits for their end.
func (c *Control) Work(ctx context.Context, code string, op harvest.Operation) (Work, error) {
	w, err := c.store.Work(ctx, code, op)
	if err != nil {
		return w, err
	}
	rest, resting := c.quiet.Rest(ctx, code, op)
	if resting && w.Ready > 0 {
		w.Later += w.Ready
		w.Ready = 0
		w.NextAt = rest.Until
		w.NextCode = harvest.CodeQuiet
	}
	return w, nil
}

// Work is what is left to do for a source and operation.
type Work struct {
	Ready    int64        // could be leased now
	Leased   int64        // in somebody's hands
	Later    int64        // queued for later
	NextAt   time.Time    // when the first of those is due, or of those in hand was to be heard of
	NextCode harvest.Code // why what is queued for later waits, where nothing is in hand
}
