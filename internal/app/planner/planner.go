// Package planner turns a trigger into a plan: it freezes the source's
// description, works out the window from the frontier, counts before it cuts,
// and saves trigger, plan, slices and tasks at once.
//
// A plan may stop before the end of its window, when enough is open already; the
// next trigger goes on with it. What a plan would be can be seen before it is
// made, and made exactly so if nothing has moved since.
//
// It promises that no instant of a namespace is planned twice or skipped, that
// the same trigger finds the plan it already has, and that nothing is asked of
// an upstream inside a transaction. It writes a cursor once, at its start, and
// never moves one.
package planner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// Planner makes plans.
type Planner struct {
	reg Registry
	up  Upstream
	log *slog.Logger

	// The store, by what of it is used.
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
		reg: reg, up: up, log: log.With("component", "planner"),
		plans: store, triggers: store, clocks: store, backlog: store, records: store, sources: store,
	}
}

// Planned is what came of a trigger.
type Planned struct {
	Namespace harvest.Namespace
	Trigger   harvest.Trigger
	// Plan is the plan saved or found; its ID is 0 if there was nothing to plan.
	Plan harvest.PlanHead
	Noop bool
	// Waits: there is something to plan, and no room for it now.
	Waits bool
	// Reason says why there was nothing to plan, or why the plan is not whole yet.
	Reason   string
	Span     harvest.Span
	Warnings []string
	Traffic  source.Traffic
	Expected int64
	// Answered reports that the same trigger was answered before, by whomever.
	Answered bool
	// Deferred: the trigger was not answered; its scheduler is to ask again soon.
	Deferred bool
}

// frontierTries is how often a plan is made anew because another was saved first.
const frontierTries = 20

// Plan makes the plan a trigger asks for, finds the one it already has, goes on
// with one that is not whole yet, or records that there is nothing to do.
func (p *Planner) Plan(ctx context.Context, t harvest.Trigger) (Planned, error) {
	return p.plan(ctx, t, nil)
}

func (p *Planner) plan(ctx context.Context, t harvest.Trigger, pin *pin) (Planned, error) {
	j, err := p.begin(ctx, t)
	if err != nil {
		return Planned{}, p.failed(ctx, t, err)
	}
	j.pin = pin
	for range frontierTries {
		err = j.run(ctx)
		if !errors.Is(err, harvest.ErrFrontierMoved) && !errors.Is(err, harvest.ErrAnswered) {
			break // else somebody was faster
		}
	}
	if err != nil {
		return j.out, p.failed(ctx, t, err)
	}
	return j.out, nil
}

// begin freezes the source's description for a trigger.
func (p *Planner) begin(ctx context.Context, t harvest.Trigger) (*job, error) {
	con, err := p.reg.Select(ctx, t.Provenance, t.Operation, t.Query)
	if err != nil {
		return nil, err
	}
	if t.Operation != harvest.Harvest && t.Activity == "" {
		return nil, fmt.Errorf("plan %s: %s needs an activity", t.Provenance, t.Operation)
	}
	j := &job{Planner: p, t: t, spec: con.Spec, con: con, counted: map[harvest.Part]harvest.Estimate{}}
	j.cal, err = con.Spec.Window.Calendar()
	if err != nil && t.Operation != harvest.Update {
		return nil, err
	}
	j.out.Trigger = t
	j.out.Namespace = Namespace(con.Spec, t)
	for _, w := range con.Warnings {
		j.out.Warnings = append(j.out.Warnings, w.String())
	}
	j.notes = len(j.out.Warnings)
	return j, nil
}

// Namespace is where the progress of what a trigger asks for is kept: by what it
// selects, or by its activity (R7, R8).
func Namespace(spec *source.Spec, t harvest.Trigger) harvest.Namespace {
	switch t.Operation {
	case harvest.Harvest:
		_, selHash := spec.Selected()
		return harvest.HarvestNamespace(t.Provenance, spec.Search.Name, spec.Window.Key, selHash)
	case harvest.Update:
		return harvest.ActivityNamespace(t.Provenance, t.Operation, harvest.RangeOrdinal, t.Activity)
	default:
		return harvest.ActivityNamespace(t.Provenance, t.Operation, spec.Window.Key, t.Activity)
	}
}

// answered finds out whether the trigger of an outside scheduler has its answer
// already, before anything is asked of the upstream (R5).
func (j *job) answered(ctx context.Context) (bool, error) {
	old, err := j.triggers.Triggered(ctx, j.t)
	if err != nil || !old.Answered() {
		return false, err
	}
	j.out.Answered = true
	j.out.Noop = old.Plan == 0
	j.out.Plan = harvest.PlanHead{ID: old.Plan, Operation: j.t.Operation, Existing: old.Plan != 0}
	j.out.Reason = fmt.Sprintf("answered at %s already: %s", harvest.FormatInstant(old.At), old.Outcome)
	return true, nil
}

// failed keeps the reasons on the schedule instance.
func (p *Planner) failed(ctx context.Context, t harvest.Trigger, err error) error {
	if ctx.Err() != nil {
		return err
	}
	if rerr := p.triggers.RecordTrigger(ctx, t, harvest.TriggerFailed, err.Error()); rerr != nil && !errors.Is(rerr, harvest.ErrAnswered) {
		return errors.Join(err, rerr)
	}
	return err
}

// job is the making of one plan.
type job struct {
	*Planner
	t       harvest.Trigger
	spec    *source.Spec
	con     source.Contract
	cal     harvest.Calendar
	out     Planned
	counted map[harvest.Part]harvest.Estimate
	// pin holds the plan to what a preview showed; nil: as things are now.
	pin *pin
	// patient: nobody waits for it, so it waits until there is plenty of room, and
	// for a quota that is spent instead of guessing what it could count.
	patient bool
	// free is what there is room for.
	free room
	// notes is how many warnings the description has, before any of a run; begun
	// that the plan is the first of its selection.
	notes int
	begun bool
	// lag is the safety lag in force: the source's, or the tuned one (R11).
	lag time.Duration
	// skew is the upstream's clock against the store's, once an answer told.
	skew     time.Duration
	skewSeen bool
	// disbelieved: the upstream's clock is too far off, and this run has said so.
	disbelieved bool
	heard       bool  // the upstream has answered before, or was planned for
	probed      bool  // a search page was asked for, or is not to be
	unknown     error // why a count is not known
	// first is what the first page of a window said of it, density what was
	// harvested a second before: what other windows are guessed from.
	first   *guess
	density *float64
}

// guess is a total and the window it is of.
type guess struct {
	window  harvest.Window
	records int64
}

// run makes the plan, once.
func (j *job) run(ctx context.Context) error {
	j.out.Warnings = j.out.Warnings[:j.notes]
	j.out.Expected = 0
	j.begun = false
	j.disbelieved = false
	if done, err := j.answered(ctx); err != nil || done {
		return err
	}
	if open, ok, err := j.plans.PartialPlan(ctx, j.out.Namespace); err != nil {
		return err
	} else if ok && j.pin != nil {
		return &MovedError{"another plan was saved"}
	} else if ok {
		went, err := j.extend(ctx, open)
		if err == nil && !went {
			j.out.Waits = true
			return j.noop(ctx, open.Span, j.out.Reason)
		}
		return err
	}
	if j.t.Operation == harvest.Update {
		return j.update(ctx)
	}
	if wait, err := j.deferred(ctx); err != nil || wait {
		return err
	}
	f, w, any, err := j.frame(ctx)
	if err != nil {
		return err
	}
	if !any {
		return j.noop(ctx, w.Span(), j.nothing(w))
	}
	d, err := j.draft(ctx, f, w)
	if err == nil {
		err = j.pin.runs(d)
	}
	if err != nil {
		return err
	}
	return j.save(ctx, d)
}

// deferred lets a HARVEST that a schedule asks for wait while nothing of the plan
// before it is stored, as when its source is out. Else plans would pile up, one for
// every time the line comes; so the window that is planned at last has grown by all
// of them. The trigger stays unanswered, so that it is not late when the plan begins.
func (j *job) deferred(ctx context.Context) (bool, error) {
	if j.t.Operation != harvest.Harvest || j.t.Kind != harvest.TriggerScheduled || j.pin != nil {
		return false, nil
	}
	plan, is, err := j.backlog.NotBegun(ctx, j.out.Namespace)
	if err != nil || !is {
		return false, err
	}
	j.out.Noop = true
	j.out.Waits = true
	j.out.Deferred = true
	j.out.Reason = fmt.Sprintf("nothing of plan %d is stored yet; what is new since is planned when it has begun", plan)
	return true, nil
}

// frame works out the window. The first count also tells the upstream's clock
// as it is now, past which no window may end (R17); what was seen of it before
// may be out of date.
func (j *job) frame(ctx context.Context) (f harvest.Frontier, w harvest.Window, any bool, err error) {
	if err := j.recall(ctx); err != nil {
		return f, w, false, err
	}
	f, err = j.plans.Frontier(ctx, j.out.Namespace)
	if err != nil {
		return f, w, false, err
	}
	// A source that tells no clock was heard of if it was planned for, but at its
	// own address only.
	j.heard = j.heard || f.Known && j.t.BaseURL == ""
	if err := j.pin.holds(f, j.spec); err != nil {
		return f, w, false, err
	}
	if err := j.reads(ctx, f); err != nil {
		return f, w, false, err
	}
	// Nothing new by the store's own clock: no need to ask anybody.
	most, any, err := j.window(ctx, f, 0)
	if err != nil || !any {
		return f, most, false, err
	}
	// No room for any of it: nothing is to be counted.
	j.free, err = j.room(ctx)
	if err != nil {
		return f, most, false, err
	}
	if j.free.none(false) {
		j.out.Waits, j.out.Reason = true, j.free.reason("")
		return f, most, false, nil
	}
	w, any, err = j.window(ctx, f, j.skew)
	if err != nil {
		return f, w, false, err
	}
	if !any {
		w = most
	}
	if _, err := j.estimate(ctx, harvest.PartOf(w)); err != nil && !j.heard {
		return f, w, false, j.firstContact(ctx, err)
	} else if err != nil {
		return f, w, false, err
	}
	if !j.skewSeen && j.unknown != nil {
		return f, w, false, fmt.Errorf("first contact with %s: %w", j.t.Provenance, j.unknown)
	}
	w, any, err = j.window(ctx, f, j.skew)
	return f, w, any, err
}

// firstContact is what it means that a source which was never heard of does not
// answer as it should. One that refuses the very first question, neither for a
// query of somebody's nor at an address that stands in for its own, is not what
// its description says: it is stopped until a person has looked at it (R84).
func (j *job) firstContact(ctx context.Context, err error) error {
	f, _ := harvest.FaultOf(err)
	if f.Level == harvest.Rejected && j.t.Query == "" && j.t.BaseURL == "" && ctx.Err() == nil {
		if serr := j.sources.StopSource(ctx, j.t.Provenance, string(f.Code)+": "+err.Error()); serr != nil {
			return errors.Join(err, serr)
		}
		f.Level = harvest.Fatal
		err = fmt.Errorf("%w: %w", f, err)
	}
	return fmt.Errorf("first contact with %s: %w", j.t.Provenance, err)
}

// reads refuses a wish for what lies behind the place where the namespace began.
// A BACKFILL that was asked up to the future began at the horizon: there the same
// wish again cannot be told from one for more, and what is left out is only said.
func (j *job) reads(ctx context.Context, f harvest.Frontier) error {
	no := &harvest.NeverReadError{Source: j.t.Provenance, Operation: j.t.Operation}
	switch from := j.t.From; {
	case !f.Known || j.pin != nil || from.IsZero():
		return nil
	case j.t.Operation == harvest.Harvest:
		no.Window = harvest.Window{From: j.cal.Floor(from), To: f.Init.Time()}
		if !no.Window.Empty() {
			return no
		}
		return nil
	}
	now, err := j.clocks.Now(ctx)
	if err != nil {
		return err
	}
	behind := min(0, j.skew) - j.lag
	no.Window = harvest.Window{From: f.Init.Time(), To: j.cal.Ceil(j.t.To)}
	if h := j.cal.Floor(now.Add(behind)); h.Before(no.Window.To) {
		no.Window.To = h
	}
	if no.Window.Empty() {
		return nil
	}
	const planning = time.Hour // may lie between the horizon and the plan
	if no.Window.From.Before(j.cal.Floor(f.Since.Add(behind - planning))) {
		return no
	}
	if w := no.Error(); !slices.Contains(j.out.Warnings, w) {
		j.out.Warnings = append(j.out.Warnings, w)
	}
	return nil
}

// recall starts with what earlier runs told: the upstream's clock, and how long
// its records take to show up.
func (j *job) recall(ctx context.Context) (err error) {
	if !j.skewSeen {
		j.skew, j.skewSeen, err = j.clocks.ClockSkew(ctx, j.clock())
		if err != nil {
			return err
		}
		j.heard = j.skewSeen
		if !harvest.ClockBelieved(j.skew, j.spec.StandsIn(j.t.BaseURL)) {
			j.skew = 0
		}
	}
	j.lag = j.spec.Window.SafetyLag.D()
	if j.t.Operation == harvest.Harvest {
		tuned, ok, err := j.clocks.TunedLag(ctx, j.out.Namespace, j.lag)
		if err != nil {
			return err
		}
		if ok {
			j.lag = tuned
		}
	}
	return nil
}

func (j *job) window(ctx context.Context, f harvest.Frontier, skew time.Duration) (harvest.Window, bool, error) {
	now, err := j.clocks.Now(ctx)
	if err != nil {
		return harvest.Window{}, false, err
	}
	win := j.spec.Window
	horizon := now.Add(min(0, skew)).Add(-j.lag)
	if j.pin != nil {
		w, err := j.pin.window(horizon)
		return w, err == nil, err
	}
	if a := win.Align.D(); a > 0 && win.Precision != harvest.PrecisionDay {
		horizon = horizon.Truncate(a)
	}
	if j.t.Operation == harvest.Backfill {
		return harvest.BackfillWindow(f, j.t.From, j.t.To, horizon, j.cal)
	}
	return harvest.HarvestWindow(f, j.t.From, j.t.To, horizon, win.Baseline.D(), j.cal)
}

// nothing says why there is nothing to plan.
func (j *job) nothing(w harvest.Window) string {
	return cmp.Or(j.out.Reason, "nothing new before "+harvest.FormatInstant(w.To))
}

func (j *job) noop(ctx context.Context, of harvest.Span, why string) error {
	j.out.Noop = true
	j.out.Span = of
	j.out.Reason = why
	return j.triggers.RecordTrigger(ctx, j.t, harvest.TriggerNoop, why)
}
