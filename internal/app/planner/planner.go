// Package planner turns a trigger into a plan: it freezes the source's
// description, works out the window from the frontier, counts before it cuts,
// and saves plan, slices, tasks and the answer to the trigger at once.
//
//	        planned before            this plan                 not yet
//	---|-------------------------|----------------------|------------------|---> time
//	   where the namespace    frontier              horizon               now
//	   began                                   now - safety lag, by the
//	                                           slower of the two clocks
//
// A plan may stop before the end of its window, when enough slices are open
// already; the next trigger goes on with it. What a plan would be can be seen
// before it is made, and made exactly so if nothing has moved since.
//
// It promises that a trigger is written down before anything is done for it, so that
// another planner can answer it if this one dies, that no instant of a namespace is
// planned twice or skipped, that the same trigger finds the plan it already has, and
// that nothing is asked of an upstream inside a transaction. It writes a cursor once, at its start, and
// never moves one.
package planner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/domain/trace"
)

// Planner makes plans.
type Planner struct {
	reg Registry
	up  Upstream
	log *slog.Logger
	// Observe, if set, is told what came of a trigger. It must be quick.
	Observe func(t harvest.Trigger, out harvest.TriggerOutcome)
	// Strained, if set, says why the database should be spared now, empty if it need not
	// be, and LagRaised is told of a plan that was made to reach less far for that.
	Strained  func() string
	LagRaised func()
	// Trace is told of plans while they are made.
	Trace trace.Tracer

	// All of these are the one store; each field sees only the part of it that
	// some step of planning needs.
	plans    Plans
	triggers Triggers
	clocks   Clocks
	backlog  Backlog
	records  Records
	sources  Sources
}

// New returns a planner.
func New(reg Registry, store Store, up Upstream, log *slog.Logger) *Planner {
	return &Planner{
		reg: reg, up: up, log: log.With("component", "planner"), Trace: trace.Off,
		plans: store, triggers: store, clocks: store, backlog: store, records: store, sources: store,
	}
}

// frontierTries is how often a plan is made anew because another was saved first.
const frontierTries = 20

// Plan makes the plan a trigger asks for, finds the one it already has, goes on
// with one that is not whole yet, or records that there is nothing to do.
func (p *Planner) Plan(ctx context.Context, t harvest.Trigger) (Planned, error) {
	return p.plan(ctx, t, nil)
}

func (p *Planner) plan(ctx context.Context, t harvest.Trigger, pin *pin) (Planned, error) {
	t, err := p.Receive(ctx, t)
	if err != nil {
		return Planned{}, err
	}
	ctx, release := p.keepClaim(ctx, t.Receipt)
	defer release()
	ctx, span := p.beginSpan(ctx, t)
	defer span.End()
	compiling := span.Child(trace.CompileSpec)
	pl, err := p.begin(ctx, t)
	compiling.Fail(err)
	compiling.End()
	if err != nil {
		span.Fail(err)
		return Planned{}, p.Refuse(ctx, t, err)
	}
	span.Number(trace.Priority, int64(pl.budget().Priority))
	pl.pin = pin
	for range frontierTries {
		err = pl.makePlan(ctx)
		if !errors.Is(err, harvest.ErrFrontierMoved) && !errors.Is(err, harvest.ErrAnswered) {
			break
		}
		// Another planner saved its plan, or answered the trigger, first: what this
		// one was made from has moved, so it is made anew.
	}
	p.observe(t, pl.result, err)
	endSpan(span, pl.result, err)
	if err != nil {
		return pl.result, p.recordFailure(ctx, t, err)
	}
	return pl.result, nil
}

// observe tells who looks on what came of a trigger of a source that is known.
func (p *Planner) observe(t harvest.Trigger, out Planned, err error) {
	if p.Observe != nil {
		p.Observe(t, out.outcome(err))
	}
}

// begin prepares the planning that a trigger asks for, with the description of the
// source as it is in force now. Nothing later looks at the registry again.
func (p *Planner) begin(ctx context.Context, t harvest.Trigger) (*planning, error) {
	con, err := p.contract(ctx, t)
	if err != nil {
		return nil, err
	}
	if t.Operation != harvest.Harvest && t.Activity == "" {
		return nil, fmt.Errorf("plan %s: %s needs an activity", t.Provenance, t.Operation)
	}
	pl := &planning{Planner: p, t: t, spec: con.Spec, contract: con, counted: map[harvest.Part]harvest.Estimate{}}
	pl.cal, err = con.Spec.Window.Calendar()
	if err != nil && t.Operation != harvest.Update {
		return nil, err
	}
	pl.result.Trigger = t
	pl.result.Namespace = Namespace(con.Spec, t)
	for _, w := range con.Warnings {
		pl.result.Warnings = append(pl.result.Warnings, w.String())
	}
	pl.specWarnings = len(pl.result.Warnings)
	return pl, nil
}

// contract is the description by which a trigger is planned, within the bounds that the
// trigger sets.
func (p *Planner) contract(ctx context.Context, t harvest.Trigger) (source.Contract, error) {
	con, err := p.selected(ctx, t)
	if err != nil {
		return con, err
	}
	if err := t.Pacing.Check(); err != nil {
		return con, &source.BoundError{Source: t.Provenance, Text: err.Error()}
	}
	con.Spec, err = con.Spec.Within(t.Pacing.Bounds)
	return con, err
}

// selected is what the source says of what is wanted. Items in quarantine are read by the
// description that a harvest has now, from where they are.
func (p *Planner) selected(ctx context.Context, t harvest.Trigger) (source.Contract, error) {
	if t.BaseURL != source.Kept {
		return p.reg.Through(ctx, t.Provenance, t.Operation, t.Endpoint, t.Query)
	}
	con, err := p.reg.Through(ctx, t.Provenance, harvest.Harvest, t.Endpoint, t.Query)
	if err != nil {
		return con, err
	}
	con.Spec = con.Spec.FromKept()
	return con, nil
}

// Namespace is where the progress of what a trigger asks for is kept: by what it
// selects, or by its activity (R7, R8). An activity that goes through an endpoint which
// is not the usual one has a place of its own there (R72).
func Namespace(spec *source.Spec, t harvest.Trigger) harvest.Namespace {
	activity := t.Activity
	if spec.Beside {
		activity += "/" + t.Endpoint
	}
	switch t.Operation {
	case harvest.Harvest:
		_, selHash := spec.Selected()
		return harvest.HarvestNamespace(t.Provenance, spec.Search.Name, spec.Window.Key, selHash)
	case harvest.Update:
		return harvest.ActivityNamespace(t.Provenance, t.Operation, harvest.RangeOrdinal, activity)
	default:
		return harvest.ActivityNamespace(t.Provenance, t.Operation, spec.Window.Key, activity)
	}
}

// findAnswer reports whether the trigger has its answer already, and then repeats it: it
// was sent twice, or another planner took it over. It comes first, so that it costs no
// request (R5).
func (pl *planning) findAnswer(ctx context.Context) (bool, error) {
	old, err := pl.triggers.Triggered(ctx, pl.t)
	if err != nil || !old.Answered() {
		return false, err
	}
	pl.result.Answered = true
	pl.result.Noop = old.Plan == 0
	pl.result.Plan = harvest.PlanHead{ID: old.Plan, Operation: pl.t.Operation, Existing: old.Plan != 0}
	pl.result.Reason = fmt.Sprintf("answered at %s already: %s", harvest.FormatInstant(old.At), old.Outcome)
	return true, nil
}

// planning is the making of one plan for one trigger. It may be run several times,
// if other planners are faster; what the upstream has told is kept from run to run.
type planning struct {
	*Planner
	t        harvest.Trigger
	spec     *source.Spec
	contract source.Contract
	cal      harvest.Calendar
	result   Planned
	counted  map[harvest.Part]harvest.Estimate
	// pin holds the plan to what a preview showed. It is nil for a plan that is made
	// as things are now.
	pin *pin
	// patient: nobody waits for this plan. So it is left until there is plenty of
	// room, and until a spent quota begins anew, instead of guessing what it could
	// have counted.
	patient bool
	// room is what may be added to the work that is open.
	room room
	// specWarnings is how many of the warnings are about the description; those
	// after them are of the run in hand, and dropped when it is run again.
	specWarnings int
	// firstOfSelection: nothing of what the plan selects was ever planned.
	firstOfSelection bool
	// lag is the safety lag in force: the source's, or the tuned one (R11), raised while
	// the database is slow. whyRaised is how slow it is, empty if the lag is not raised.
	lag       time.Duration
	whyRaised string
	// skew is how far the upstream's clock is ahead of the store's. It is 0 until
	// an answer has told, now or in an earlier planning.
	skew     time.Duration
	skewSeen bool
	// disbelieved: the upstream's clock is too far off, and this run has said so.
	disbelieved bool
	// answeredBefore: the source has answered some planning before this one. A fault
	// of one that never did is taken for a mistake in its description.
	answeredBefore bool
	// probed: a first page was asked for in place of a count, or is not to be. No
	// further count is asked for then.
	probed bool
	// whyUncounted is why the last count is not known, nil if it is.
	whyUncounted error
	// Where nothing can be counted, windows are guessed from these: from the total
	// that the first page of one window told, and from the records that a second of
	// the namespace's time held so far. Both are nil until they were asked for.
	firstPage *windowTotal
	density   *float64
}

// windowTotal is how many records a window was said to hold.
type windowTotal struct {
	window  harvest.Window
	records int64
}

// makePlan goes once through the making of the plan: it finds the answer the
// trigger already has, goes on with a plan that is not whole yet, or settles a new
// window, cuts it and saves it.
func (pl *planning) makePlan(ctx context.Context) error {
	pl.result.Warnings = pl.result.Warnings[:pl.specWarnings]
	pl.result.Expected = 0
	pl.firstOfSelection = false
	pl.disbelieved = false
	if done, err := pl.findAnswer(ctx); err != nil || done {
		return err
	}
	open, isPartial, err := pl.plans.PartialPlan(ctx, pl.result.Namespace)
	if err != nil {
		return err
	}
	if isPartial && pl.pin != nil {
		return &MovedError{"another plan was saved"}
	}
	if isPartial {
		extended, err := pl.extend(ctx, open)
		if err == nil && !extended {
			pl.result.Waits = true
			return pl.recordNoop(ctx, open.Span, pl.result.Reason)
		}
		return err
	}
	if pl.t.Operation == harvest.Update {
		return pl.update(ctx)
	}
	f, of, found, err := pl.settle(ctx)
	if err != nil {
		return err
	}
	if !found {
		return pl.recordNoop(ctx, of, pl.whyNothing(of))
	}
	d, cuts, err := pl.draft(ctx, f, of)
	if err == nil {
		err = pl.checkSlices(d, cuts)
	}
	if err == nil && !f.Known && pl.t.Approve != nil {
		err = pl.t.Approve(harvest.Forecast{
			Source: pl.t.Provenance, Span: d.Span, Slices: cuts.Len(), Records: pl.result.Expected,
			Uncounted: pl.t.Query != "" && len(pl.counted) == 0 && pl.firstPage == nil,
		})
	}
	if err != nil {
		return err
	}
	return pl.save(ctx, d, cuts)
}

// settleWindow works out the window, and reports whether there is one. It does so
// up to three times, since the end depends on the upstream's clock, past which no
// window may reach (R17), and only an answer tells that clock:
//
//  1. by the store's clock alone: if that leaves nothing, nobody need be asked;
//  2. by the upstream's clock as it was last seen, to have a window to count;
//  3. by the upstream's clock as the answer to that count tells it.
func (pl *planning) settleWindow(ctx context.Context) (f harvest.Frontier, w harvest.Window, found bool, err error) {
	if err := pl.recall(ctx); err != nil {
		return f, w, false, err
	}
	pl.raiseLag()
	f, err = pl.plans.Frontier(ctx, pl.result.Namespace)
	if err != nil {
		return f, w, false, err
	}
	// Of a source that tells no clock, an earlier plan shows that it has answered:
	// but that was at its own address, not at one that stands in for it.
	pl.answeredBefore = pl.answeredBefore || f.Known && pl.t.BaseURL == ""
	if err := pl.pin.checkUnmoved(f, pl.spec); err != nil {
		return f, w, false, err
	}
	if err := pl.refuseNeverRead(ctx, f); err != nil {
		return f, w, false, err
	}
	byStore, found, err := pl.windowNow(ctx, f, 0)
	if err != nil || !found {
		return f, byStore, false, err
	}
	pl.room, err = pl.findRoom(ctx)
	if err != nil {
		return f, byStore, false, err
	}
	if pl.room.exhausted(false) { // then counting would be a waste of requests
		pl.result.Waits = true
		pl.result.Reason = pl.room.reason("")
		return f, byStore, false, nil
	}
	w, found, err = pl.windowNow(ctx, f, pl.skew)
	if err != nil {
		return f, w, false, err
	}
	if !found { // that clock was behind, and may have been set right since
		w = byStore
	}
	_, err = pl.estimate(ctx, harvest.PartOf(w))
	if err != nil && !pl.answeredBefore {
		return f, w, false, pl.firstContact(ctx, err)
	}
	if err != nil {
		return f, w, false, err
	}
	if !pl.skewSeen && pl.whyUncounted != nil {
		return f, w, false, fmt.Errorf("first contact with %s: %w", pl.t.Provenance, pl.whyUncounted)
	}
	w, found, err = pl.windowNow(ctx, f, pl.skew)
	return f, w, found, err
}

// firstContact is the error of a source that has never answered, and does not now.
// If it refuses the very first question, it is not what its description says, and
// is stopped until a person has looked at it (R84). But a refusal may also be meant
// for a person's query, or come from an address that stands in for the source's
// own: then the source is not to blame.
func (pl *planning) firstContact(ctx context.Context, err error) error {
	f, _ := harvest.FaultOf(err)
	if f.Level == harvest.Rejected && pl.t.Query == "" && pl.t.BaseURL == "" && ctx.Err() == nil {
		p := harvest.Partition{Provenance: pl.t.Provenance, Endpoint: pl.spec.Search.Name, Operation: pl.t.Operation}
		if serr := pl.sources.StopSource(ctx, p, f.Code, err.Error()); serr != nil {
			return errors.Join(err, serr)
		}
		f.Level = harvest.Fatal
		err = fmt.Errorf("%w: %w", f, err)
	}
	return fmt.Errorf("first contact with %s: %w", pl.t.Provenance, err)
}

// refuseNeverRead refuses a trigger for a time that its namespace will never reach:
// what lies behind its beginning, since its cursor only moves away from there. A
// HARVEST moves on in time from where it began, a BACKFILL moves back.
//
// A BACKFILL that was asked for a time still to come began at the horizon of that
// day. The same trigger today cannot be told from one that wants more than that
// day had, so what is left out is a warning and no error.
func (pl *planning) refuseNeverRead(ctx context.Context, f harvest.Frontier) error {
	refusal := &harvest.NeverReadError{Source: pl.t.Provenance, Operation: pl.t.Operation}
	switch from := pl.t.From; {
	case !f.Known || pl.pin != nil || from.IsZero():
		return nil
	case pl.t.Operation == harvest.Harvest:
		refusal.Window = harvest.Window{From: pl.cal.Floor(from), To: f.Init.Time()}
		if !refusal.Window.Empty() {
			return refusal
		}
		return nil
	}
	now, err := pl.clocks.Now(ctx)
	if err != nil {
		return err
	}
	behind := min(0, pl.skew) - pl.lag
	refusal.Window = harvest.Window{From: f.Init.Time(), To: pl.cal.Ceil(pl.t.To)}
	if h := pl.cal.Floor(now.Add(behind)); h.Before(refusal.Window.To) {
		refusal.Window.To = h
	}
	if refusal.Window.Empty() {
		return nil
	}
	const slack = time.Hour // may have passed between the horizon and the saved plan
	if refusal.Window.From.Before(pl.cal.Floor(f.Since.Add(behind - slack))) {
		return refusal
	}
	if w := refusal.Error(); !slices.Contains(pl.result.Warnings, w) {
		pl.result.Warnings = append(pl.result.Warnings, w)
	}
	return nil
}

// windowNow is the window as of now, if the upstream's clock is ahead of the
// store's by skew, and whether it holds anything. It ends at the horizon: now by
// the slower of the two clocks, less the safety lag.
func (pl *planning) windowNow(ctx context.Context, f harvest.Frontier, skew time.Duration) (harvest.Window, bool, error) {
	now, err := pl.clocks.Now(ctx)
	if err != nil {
		return harvest.Window{}, false, err
	}
	win := pl.spec.Window
	horizon := now.Add(min(0, skew)).Add(-pl.lag)
	if pl.pin != nil {
		w, err := pl.pin.window(horizon)
		return w, err == nil, err
	}
	if a := win.Align.D(); a > 0 && win.Precision != harvest.PrecisionDay {
		horizon = horizon.Truncate(a)
	}
	if pl.t.Operation == harvest.Backfill {
		return harvest.BackfillWindow(f, pl.t.From, pl.t.To, horizon, pl.cal)
	}
	return harvest.HarvestWindow(f, pl.first(), pl.t.To, horizon, win.Baseline.D(), pl.cal)
}

// first is where a HARVEST is to begin if nothing was harvested before, zero for the
// source's baseline. Who asks a question wants all that answers it, however old, so
// that a query begins where the source does.
func (pl *planning) first() time.Time {
	if pl.t.From.IsZero() && pl.t.Query != "" {
		return pl.spec.Window.Begins(pl.cal)
	}
	return pl.t.From
}

// recordNoop answers the trigger without a plan, and keeps why.
func (pl *planning) recordNoop(ctx context.Context, of harvest.Span, why string) error {
	pl.result.Noop = true
	pl.result.Span = of
	pl.result.Reason = why
	return pl.triggers.RecordTrigger(ctx, pl.t, harvest.TriggerNoop, why)
}
