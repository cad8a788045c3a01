package harvest

import (
	"fmt"
	"iter"
	"time"

	"github.com/papertrace/patra/internal/domain/problem"
)

// Trigger is what asks for a plan, and for which one.
type Trigger struct {
	Provenance string
	Endpoint   string // the one it goes through, empty for the source's own choice
	Operation  Operation
	Kind       TriggerKind
	Scheduler  string // scheduler_code, job id and log id of an outside scheduler
	JobID      string
	LogID      string
	Activity   string // BACKFILL and UPDATE always have one
	From, To   time.Time
	Query      string // selection in the text form, empty for everything
	BaseURL    string
	Params     string        // the trigger as given, JSON
	Pick       CandidatePick // which records an UPDATE reads again
	Priority   int           // in place of the operation's own, if not 0
	Pacing     Pacing        // when its tasks are begun, and how much slower than the source allows
	Watches    CursorID      // of a sentinel: the HARVEST cursor whose window it walks again
	Trace      string        // where in a tree of spans who asked stands (W3C traceparent), if anywhere
	Shown      string        // the token of the preview that the plan is held to, if there was one
	Receipt    Receipt       // the row it was written down in; zero if it was not yet
	// Approve, if set, is shown what the first plan of a selection is going to read before
	// the plan is saved. An error of it is the answer of the trigger, and nothing is saved.
	Approve func(Forecast) error
}

// Forecast is what a plan is going to read.
type Forecast struct {
	Source  string
	Span    Span
	Slices  int
	Records int64 // as counted by the source, or estimated where it cannot count
	// Uncounted: it is for a query, and nobody can say how many records are going to be read.
	Uncounted bool
}

// CandidatePick says which records are to be read again: those that fulfil any of the
// conditions given.
type CandidatePick struct {
	// IDs as given.
	IDs []string
	// SeenBefore takes records that were last seen before an instant.
	SeenBefore time.Time
	// MappingChanged takes records made by another mapping (R30).
	MappingChanged bool
	// Signals takes what other records, quarantine and bad ids point to.
	Signals bool
	// Max bounds how many are taken, oldest first; 0 for all.
	Max int
}

// Draft is a plan not yet saved.
type Draft struct {
	Trigger     Trigger
	Namespace   Namespace
	Endpoint    string
	Span        Span
	SlicedTo    Mark // as far as it is cut, the way the operation goes
	Strategy    StrategyCode
	SliceParams string
	Selection   string // expression prototype, JSON
	SelHash     string
	Query       string // the selection as people write it, empty for everything
	ConfigHash  string
	SpecVersion int
	Fingerprint string
	Snapshot    []byte
	Remarks     string
	Slices      SliceDrafts
	PagingType  PagingType
	PageSize    int
	// Candidates are the ids an UPDATE freezes, by ordinal.
	Candidates []string
	// MaxWalks is how many tasks of the source may be in hand at a time from now
	// on, whatever plan they are of; 0 for no bound.
	MaxWalks int
}

// OpenPlan is a plan whose slicing is not over.
type OpenPlan struct {
	PlanHead
	SlicedTo   Mark
	Strategy   StrategyCode
	Snapshot   []byte
	BaseURL    string
	PagingType PagingType
	PageSize   int
	// Priority of what is added: that of the slices it has, unless a trigger
	// wants another.
	Priority int
	// Trace is where in a tree of spans it stands, if anywhere.
	Trace string
	// Pacing is what its trigger said of how it is worked on.
	Pacing Pacing
}

// PartialPlan names a namespace with a plan whose slicing is not over.
type PartialPlan struct {
	Namespace Namespace
	Activity  string
}

// SliceDraft is a slice not yet saved. A Reason makes it a gap from the start;
// one that is Done was proven by the slice it is split off (R13).
type SliceDraft struct {
	Spec SliceSpec
	Expr string
	// Params are how its task is to be done, JSON; Pool is whose credentials it is
	// asked with, empty for none.
	Params string
	Pool   string
	Reason string
	Done   bool
	// Delay is how long after the first task of its plan its own may begin.
	Delay time.Duration
}

// SliceDrafts are the slices that a plan is to get. There may be very many of them, so each is
// made when its turn comes, and is not kept. They can be gone through again: a transaction that
// the database has run once more begins with the first.
type SliceDrafts struct {
	Len int
	All iter.Seq2[SliceDraft, error]
}

// DraftsOf are slices that are made already.
func DraftsOf(list ...SliceDraft) SliceDrafts {
	return SliceDrafts{Len: len(list), All: func(yield func(SliceDraft, error) bool) {
		for _, s := range list {
			if !yield(s, nil) {
				return
			}
		}
	}}
}

// PlanKey makes a repeated trigger find the plan it already has (R5).
func (d Draft) PlanKey() string {
	return HashKey(d.Namespace.Provenance, d.Endpoint, string(d.Namespace.Operation), d.Namespace.String(),
		d.Span.From.hashed(), d.Span.To.hashed(), d.Trigger.Activity)
}

// Frontier is where the next window of a namespace begins.
type Frontier struct {
	// Known is false before the first plan.
	Known bool
	// At is the greatest window_to of the namespace's live plans, else the
	// watermark (R4).
	At        Mark
	Watermark Mark
	// Init is where the namespace began, and Since when.
	Init   Mark
	Since  time.Time
	Cursor CursorID
	// Live is false if every plan of the namespace was given up.
	Live bool
}

// Admits refuses a HARVEST that would begin past the frontier (R3).
func (f Frontier) Admits(from time.Time) error {
	if f.Known && !from.IsZero() && from.After(f.At.Time()) {
		return &PastFrontierError{From: Instant(from), Frontier: f.At.Time(), Watermark: f.Watermark.Time()}
	}
	return nil
}

// PlanHead is a saved plan as callers see it.
type PlanHead struct {
	ID        PlanID
	Key       string
	Status    PlanState
	Operation Operation
	Span      Span
	Existing  bool
}

// HarvestWindow computes the window of a HARVEST, and reports whether it holds
// anything (R3, R4). It starts at the frontier; of the first plan, at from if that is
// given, else one baseline before its end. It ends at to if that is given, but never
// past the horizon, which is now less the safety lag. A frontier that another
// calendar left within a grain stays there: moved either way it would leave a hole,
// or have something read twice.
func HarvestWindow(f Frontier, from, to, horizon time.Time, baseline time.Duration, c Calendar) (Window, bool, error) {
	end := c.Floor(horizon)
	if !to.IsZero() && to.Before(end) {
		end = c.Floor(to)
	}
	if err := f.Admits(from); err != nil {
		return Window{}, false, err
	}
	var start time.Time
	switch {
	case f.Known:
		start = f.At.Time()
	case !from.IsZero():
		start = c.Floor(from)
	default:
		start = c.Floor(end.Add(-baseline))
	}
	if !start.Before(end) {
		return Window{From: start, To: start}, false, nil
	}
	return Window{From: start, To: end}, true, nil
}

// BackfillWindow computes the window of a BACKFILL, and reports whether it holds
// anything (R8): what was asked for, up to the horizon. If the activity has plans
// already it is only what lies before them, so that it goes on where it stopped.
func BackfillWindow(f Frontier, from, to, horizon time.Time, c Calendar) (Window, bool, error) {
	if from.IsZero() || to.IsZero() {
		return Window{}, false, fmt.Errorf("a BACKFILL needs both ends of its window: %w", ErrEmptyWindow)
	}
	start, end := c.Floor(from), c.Ceil(to)
	if f.Known {
		reached := f.At.Time()
		if end.Before(reached) {
			return Window{}, false, &BeyondActivityError{Wanted: end, Reached: reached}
		}
		end = reached
	} else if h := c.Floor(horizon); h.Before(end) {
		end = h
	}
	if !start.Before(end) {
		return Window{From: end, To: end}, false, nil
	}
	return Window{From: start, To: end}, true, nil
}

// BeyondActivityError refuses a window that would leave a hole between it and
// what the activity already covers.
type BeyondActivityError struct{ Wanted, Reached time.Time }

func (e *BeyondActivityError) Error() string {
	return fmt.Sprintf("this activity has reached back to %s; a window that ends at %s would skip what lies between",
		FormatInstant(e.Reached), FormatInstant(e.Wanted))
}

// Problem implements problem.Error.
func (e *BeyondActivityError) Problem() problem.Problem {
	return problem.Problem{
		Code: "beyond_activity", Kind: problem.Conflict, Title: e.Error(),
		Next: "choose --to at or after " + FormatInstant(e.Reached) + ", or another --activity; nothing was changed",
	}
}

// PastFrontierError refuses a window that would leave a hole behind it (R3).
type PastFrontierError struct {
	From, Frontier, Watermark time.Time
}

func (e *PastFrontierError) Error() string {
	return fmt.Sprintf("a harvest from %s would skip [%s, %s)", FormatInstant(e.From), FormatInstant(e.Frontier), FormatInstant(e.From))
}

// Problem implements problem.Error.
func (e *PastFrontierError) Problem() problem.Problem {
	return problem.Problem{
		Code: "past_watermark", Kind: problem.Conflict, Title: e.Error() + ", which nobody has read",
		Detail: "the watermark stands at " + FormatInstant(e.Watermark),
		Next: "leave --from out to go on at " + FormatInstant(e.Frontier) +
			", run a BACKFILL for the window, or accept the gap; nothing was changed",
	}
}

// NeverReadError refuses to plan a time that a namespace will never read, since it
// began elsewhere and only goes one way (R3, R8).
type NeverReadError struct {
	Source    string
	Operation Operation
	Window    Window
}

func (e *NeverReadError) Error() string {
	if e.Operation == Backfill {
		return fmt.Sprintf("this activity began at %s and goes back from there: %s is no part of it", FormatInstant(e.Window.From), e.Window)
	}
	return fmt.Sprintf("this harvest began at %s and goes on from there: %s is no part of it", FormatInstant(e.Window.To), e.Window)
}

// Problem implements problem.Error.
func (e *NeverReadError) Problem() problem.Problem {
	next := fmt.Sprintf("patra backfill %s --from %s --to %s", e.Source, FormatInstant(e.Window.From), FormatInstant(e.Window.To))
	if e.Operation == Backfill {
		next += " --activity ANOTHER reads it; nothing was changed"
	} else {
		next += " reads it, and without --from the harvest goes on; nothing was changed"
	}
	return problem.Problem{Code: "never_read", Kind: problem.Conflict, Title: e.Error(), Next: next}
}

// Start is the end of the span at which the cursor of the plan begins.
func (d Draft) Start() Mark {
	if d.Namespace.Operation.Direction() == Backward {
		return d.Span.To
	}
	return d.Span.From
}
