package node

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/executor"
	"github.com/papertrace/patra/internal/app/planner"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/infra/sqlstore"
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
	BaseURL   string
	// Watch, if set, is shown how the work goes.
	Watch *Watch
}

// Report is what came of a run, in the form `--json` prints.
type Report struct {
	Operation harvest.Operation   `json:"operation"`
	Source    string              `json:"source"`
	Namespace string              `json:"namespace"`
	PlanKey   string              `json:"plan_key"`
	Status    string              `json:"status"`
	Window    ReportWindow        `json:"window"`
	Watermark *Time               `json:"watermark"`
	Noop      bool                `json:"noop"`
	Slices    control.SliceCounts `json:"slices"`
	Records   harvest.Counts      `json:"records"`
	Requests  ReportRequests      `json:"requests"`
	Bytes     int64               `json:"bytes"`
	Duration  int64               `json:"duration_ms"`
	Gaps      []ReportGap         `json:"gaps"`
	Unproven  bool                `json:"-"` // the watermark stands where it began
	BadIDs    int64               `json:"-"` // ids of which the source has no details
	Warnings  []string            `json:"-"`
	// Reason says why nothing was planned, or not all of it.
	Reason string `json:"reason,omitempty"`
	// Waits: there is something to plan, and no room for it now.
	Waits bool                 `json:"-"`
	State sqlstore.SourceState `json:"-"`
}

// ReportWindow is a window in the report's form.
type ReportWindow struct {
	From Time `json:"from"`
	To   Time `json:"to"`
}

// ReportRequests counts what this run sent.
type ReportRequests struct {
	Sent    int64 `json:"sent"`
	Retried int64 `json:"retried"`
	HTTP429 int64 `json:"http_429"`
	HTTP5xx int64 `json:"http_5xx"`
}

// ReportGap is a window that is not proven.
type ReportGap struct {
	From    Time   `json:"from"`
	To      Time   `json:"to"`
	Range   string `json:"range,omitempty"` // the part of the window it is
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	RetryAt *Time  `json:"retry_at,omitempty"`
}

// Time is how instants are printed.
type Time = control.Time

// HeldError says that a source may not be worked on now.
type HeldError struct {
	Source string
	State  sqlstore.SourceState
}

func (e *HeldError) Error() string {
	word := "paused"
	if e.State.Stopped {
		word = "stopped"
	}
	return fmt.Sprintf("source %s has been %s since %s: %s", e.Source, word, Time(e.State.Since), e.State.Reason)
}

// Problem implements problem.Error.
func (e *HeldError) Problem() problem.Problem {
	return problem.Problem{
		Code: "source_held", Kind: problem.Upstream, Title: e.Error(),
		Next: "when the reason is gone: patra source resume " + e.Source + " --reason TEXT",
	}
}

// Harvest triggers a HARVEST, plans it and works in the foreground until
// nothing of it is left to do. Run again it goes on where it stopped.
func (n *Node) Harvest(ctx context.Context, req HarvestRequest) (*Report, error) {
	began := time.Now()
	watch := req.Watch
	if watch == nil {
		watch = new(Watch)
	}
	op := cmp.Or(req.Operation, harvest.Harvest)
	rep := &Report{Operation: op, Source: req.Source, Status: "NOOP", Gaps: []ReportGap{}}
	_, err := n.contracts.Select(ctx, req.Source, op, req.Query)
	if err != nil {
		return nil, err
	}
	st, err := n.Store.SourceState(ctx, req.Source)
	if err != nil {
		return nil, err
	}
	if st.Paused || st.Stopped {
		return nil, &HeldError{Source: req.Source, State: st}
	}
	if r, resting := n.quiet.Rest(ctx, req.Source, op); resting {
		return nil, r.Fault()
	}
	params, err := req.params()
	if err != nil {
		return nil, fmt.Errorf("marshal trigger: %w", err)
	}
	defer n.watched(req.Source, watch)()
	watch.set("planning")
	trigger := harvest.Trigger{
		Provenance: req.Source, Operation: op, Activity: req.Activity, Kind: "MANUAL", From: req.From, To: req.To, Query: req.Query, BaseURL: req.BaseURL, Pick: req.Pick, Params: string(params),
	}
	planned, err := settled(func() (planner.Planned, error) {
		p, err := n.planRested(ctx, trigger, watch)
		watch.traffic(p.Traffic)
		return p, err
	})
	rep.Namespace, rep.Noop, rep.Warnings = planned.Namespace.String(), planned.Noop, planned.Warnings
	if err != nil {
		return rep, err
	}
	rep.Window = ReportWindow{Time(planned.Window.From), Time(planned.Window.To)}
	if req.BaseURL != "" {
		_, err := settled(func() (struct{}, error) {
			return struct{}{}, n.Store.SetBaseURL(ctx, planned.Namespace, req.BaseURL)
		})
		if err != nil {
			return rep, err
		}
	}
	if _, err := settled(func() (int64, error) { return n.Store.RequeueFailed(ctx, req.Source, op) }); err != nil {
		return rep, err
	}
	plans, err := n.Store.OpenPlans(ctx, planned.Namespace)
	if err != nil {
		return rep, err
	}
	left, err := n.Store.Left(ctx, req.Source, op)
	if err != nil {
		return rep, err
	}
	watch.expect(left)
	runErr := n.work(ctx, req.Source, op, watch)
	for runErr == nil && ctx.Err() == nil {
		// Planning stopped where enough was open; now there is room.
		next, err := settled(func() (planner.Planned, error) { return n.rest(ctx, trigger, planned, watch) })
		if err != nil || next.Noop {
			if runErr = err; planned.Waits || !planned.Noop || next.Waits {
				planned.Waits, planned.Reason = next.Waits, next.Reason
			}
			break
		}
		watch.traffic(next.Traffic)
		watch.expect(next.Expected)
		plans, planned = append(plans, next.Plan), next
		runErr = n.work(ctx, req.Source, op, watch)
	}
	rep.Waits, rep.Reason = planned.Waits, planned.Reason
	// The report is read also when the run was interrupted.
	ctx = context.WithoutCancel(ctx)
	// Where the file is gone, what is still read from it says nothing of what is kept.
	if gone := n.Store.CheckFile(); gone != nil {
		return rep, gone
	}
	if err := n.fill(ctx, rep, planned.Plan.ID, planned.Namespace, plans); err != nil {
		return rep, errors.Join(runErr, err)
	}
	if !rep.Noop && planned.Noop && !planned.Waits {
		rep.Reason = "" // nothing new, but something was left to do
	}
	rep.Requests, rep.Bytes = watch.requests()
	rep.Duration = time.Since(began).Milliseconds()
	return rep, runErr
}

// settled calls f again while the outcome of its commit is unknown: f looks at
// what is there, and does only what is not done yet.
func settled[T any](f func() (T, error)) (out T, err error) {
	for range 5 {
		if out, err = f(); !errors.Is(err, harvest.ErrUnknownOutcome) {
			break
		}
	}
	return out, err
}

// rest plans what is left of what was asked for: the rest of a plan that is not
// whole, or of a BACKFILL that goes back in parts. Noop if nothing is.
func (n *Node) rest(ctx context.Context, t harvest.Trigger, last planner.Planned, watch *Watch) (planner.Planned, error) {
	_, partial, err := n.Store.PartialPlan(ctx, last.Namespace)
	if err != nil {
		return last, err
	}
	if !partial && !last.Waits && (t.Operation != harvest.Backfill || last.Noop || !last.Window.From.After(t.From)) {
		return planner.Planned{Noop: true}, nil
	}
	return n.planRested(ctx, t, watch)
}

// planRested plans when the source may be asked: where it rests because it failed
// again and again, the rest is sat out, as its tasks do.
func (n *Node) planRested(ctx context.Context, t harvest.Trigger, watch *Watch) (planner.Planned, error) {
	for {
		planned, err := n.Planner.Plan(ctx, t)
		f, _ := harvest.FaultOf(err)
		if f.Code != harvest.CodeBroken {
			return planned, err
		}
		watch.waiting(sqlstore.Work{Later: 1, NextAt: time.Now().Add(f.RetryAfter), NextCode: f.Code})
		select {
		case <-ctx.Done():
			return planned, ctx.Err()
		case <-time.After(max(f.RetryAfter, time.Second)):
		}
	}
}

// params are the wish as it was given, kept with the trigger.
func (r HarvestRequest) params() ([]byte, error) {
	if r.Operation != harvest.Update {
		return json.Marshal(map[string]any{"from": Time(r.From), "to": Time(r.To), "baseUrl": r.BaseURL, "query": r.Query})
	}
	p := map[string]any{"baseUrl": r.BaseURL, "ids": len(r.Pick.IDs), "mappingChanged": r.Pick.MappingChanged, "signals": r.Pick.Signals, "max": r.Pick.Max}
	if !r.Pick.SeenBefore.IsZero() {
		p["seenBefore"] = Time(r.Pick.SeenBefore)
	}
	return json.Marshal(p)
}

// Work tells what is left to do for a source and operation, and in quiet hours
// that it waits for their end.
func (n *Node) Work(ctx context.Context, code string, op harvest.Operation) (sqlstore.Work, error) {
	w, err := n.Store.Work(ctx, code, op)
	if err != nil {
		return w, err
	}
	if r, resting := n.quiet.Rest(ctx, code, op); resting && w.Ready > 0 {
		w.Later, w.Ready, w.NextAt, w.NextCode = w.Later+w.Ready, 0, r.Until, harvest.CodeQuiet
	}
	return w, nil
}

// work runs tasks of the source until none is left.
func (n *Node) work(ctx context.Context, code string, op harvest.Operation, watch *Watch) error {
	var countAgain time.Time // to count what is left takes long where that is much
	ex := n.Executor(executor.Config{
		Provenance: code, Operation: op,
		Observe: watch.observe,
		Idle: func(ctx context.Context) (bool, error) {
			began := time.Now()
			if began.Before(countAgain) {
				return false, nil
			}
			w, err := n.Work(ctx, code, op)
			if err != nil {
				return false, err
			}
			countAgain = time.Now().Add(20 * time.Since(began))
			watch.waiting(w)
			if w.Ready+w.Leased+w.Later == 0 {
				return true, nil
			}
			st, err := n.Store.SourceState(ctx, code)
			return st.Paused || st.Stopped, err
		},
	})
	return ex.Run(ctx)
}

// fill reads from the store what the plans have come to.
func (n *Node) fill(ctx context.Context, rep *Report, id harvest.PlanID, ns harvest.Namespace, plans []harvest.PlanHead) error {
	ids := make([]harvest.PlanID, 0, len(plans)+1)
	for _, p := range plans {
		ids = append(ids, p.ID)
	}
	if len(ids) == 0 && id != 0 {
		ids = append(ids, id)
	}
	st, err := n.Store.SourceState(ctx, rep.Source)
	if err != nil {
		return err
	}
	rep.State = st
	if len(ids) == 0 {
		f, err := n.Store.Frontier(ctx, ns)
		if err != nil {
			return err
		}
		if f.Known {
			w := Time(f.Watermark)
			rep.Watermark = &w
		}
		return nil
	}
	s, err := n.Store.Summary(ctx, ids...)
	if err != nil {
		return err
	}
	rep.PlanKey, rep.Status, rep.Slices, rep.Records = s.Key, string(s.Status), s.Slices, s.Records
	rep.Window = ReportWindow{Time(s.Window.From), Time(s.Window.To)}
	w := Time(s.Watermark)
	rep.Watermark = &w
	if rep.Slices.Failed > 0 { // perhaps of an older plan
		rep.Status = string(harvest.PlanPartial)
	}
	rep.Noop, rep.BadIDs, rep.Unproven = false, s.BadIDs, s.Unproven
	for _, g := range s.Gaps {
		rg := ReportGap{From: Time(g.From.Time), To: Time(g.To.Time), Range: g.Range, Status: g.Status, Reason: g.Reason}
		if !g.RetryAt.IsZero() {
			at := Time(g.RetryAt)
			rg.RetryAt = &at
		}
		rep.Gaps = append(rep.Gaps, rg)
	}
	return nil
}
