package harvest

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Strategy codes of a slice.
const StrategyTime = "TIME"

// SliceSpec is the boundary of one slice, as stored in slice_spec.
type SliceSpec struct {
	Strategy string      `json:"strategy"`
	Window   WindowSpec  `json:"window"`
	Budget   *BudgetSpec `json:"budget,omitempty"`
	Hints    *SliceHints `json:"hints,omitempty"`
}

// WindowSpec is the time boundary of a slice. Bounds are nominal: an overlap
// widens only the request (R10).
type WindowSpec struct {
	From      time.Time `json:"from"`
	To        time.Time `json:"to"`
	Boundary  Boundary  `json:"boundary"`
	Timezone  string    `json:"timezone"`
	Precision Precision `json:"precision"`
}

// Boundary is always CLOSED/OPEN (C8).
type Boundary struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// BudgetSpec bounds what a slice may cost.
type BudgetSpec struct {
	MaxRequests int `json:"maxRequests,omitzero"`
	MaxRecords  int `json:"maxRecords,omitzero"`
}

// SliceHints are facts that decide nothing.
type SliceHints struct {
	ExpectedPageSize int   `json:"expectedPageSize,omitzero"`
	ExpectedRecords  int64 `json:"expectedRecords,omitzero"`
	SafetyLagSec     int   `json:"safetyLagSec,omitzero"`
	OverlapSec       int   `json:"overlapSec,omitzero"`
}

// NominalWindow returns the window the slice answers for.
func (s SliceSpec) NominalWindow() Window { return Window{From: s.Window.From, To: s.Window.To} }

// RequestWindow returns the window the slice asks for: the nominal one, begun
// earlier by the overlap.
func (s SliceSpec) RequestWindow() Window {
	w := s.NominalWindow()
	if s.Hints != nil {
		w.From = w.From.Add(-time.Duration(s.Hints.OverlapSec) * time.Second)
	}
	return w
}

// Signature identifies the slice within its plan: strategy, nominal bounds and
// paging, without budgets, estimates or provenance (R6, C15).
func (s SliceSpec) Signature(pagingType string, pageSize int) string {
	return HashKey(s.Strategy, FormatInstant(s.Window.From), FormatInstant(s.Window.To),
		pagingType, fmt.Sprint(pageSize))
}

// Validate checks one slice before it is stored.
func (s SliceSpec) Validate() error {
	var errs []error
	if s.Strategy != StrategyTime {
		errs = append(errs, fmt.Errorf("strategy %q is not known", s.Strategy))
	}
	if !s.Window.From.Before(s.Window.To) {
		errs = append(errs, fmt.Errorf("%s: %w", s.NominalWindow(), ErrEmptyWindow))
	}
	if s.Window.Boundary != (Boundary{From: "CLOSED", To: "OPEN"}) {
		errs = append(errs, fmt.Errorf("boundary %v is not CLOSED/OPEN", s.Window.Boundary))
	}
	if !s.Window.Precision.Valid() {
		errs = append(errs, fmt.Errorf("precision %q is not known", s.Window.Precision))
	}
	return errors.Join(errs...)
}

// Estimate is what is known of a window before it is walked.
type Estimate struct {
	Records int64
	Known   bool
}

// Estimator tells how many records a window holds. It may ask the upstream;
// not knowing is an answer, not an error.
type Estimator func(ctx context.Context, w Window) (Estimate, error)

// SliceRequest is what a strategy cuts by.
type SliceRequest struct {
	Window   Window
	Calendar Calendar
	Step     time.Duration // slice length where the count is not known, 0 for no bound
	MinStep  time.Duration // shortest slice
	Target   int64         // wanted records per slice at most, 0 for no target
	Cap      int64         // records a walk can reach at all, 0 for no cap
	Overlap  time.Duration // widens the request of the first slice
	PageSize int
	Lag      time.Duration
	Estimate Estimator // nil: never known
}

// Strategy cuts a window into slices that tile it: no gap, no overlap, no
// overrun. A slice over the cap that cannot be cut further is still returned,
// marked by its estimate; the planner decides what becomes of it.
type Strategy interface {
	Code() string
	Slice(ctx context.Context, r SliceRequest) ([]SliceSpec, error)
}

// Strategies are the known strategies by code.
func Strategies() map[string]Strategy {
	return map[string]Strategy{StrategyTime: TimeStrategy{}}
}

// TimeStrategy cuts by time: count first, halve what is too much, merge
// nothing that was not counted together.
type TimeStrategy struct{}

// Code of the strategy.
func (TimeStrategy) Code() string { return StrategyTime }

// Slice cuts r.Window.
func (TimeStrategy) Slice(ctx context.Context, r SliceRequest) ([]SliceSpec, error) {
	if r.Window.Empty() {
		return nil, fmt.Errorf("slice %s: %w", r.Window, ErrEmptyWindow)
	}
	if err := r.Calendar.Aligned(r.Window); err != nil {
		return nil, err
	}
	var out []SliceSpec
	err := r.cut(ctx, r.Window, func(w Window, e Estimate) {
		s := r.spec(w, e)
		if len(out) == 0 && r.Overlap > 0 {
			s.Hints.OverlapSec = int(r.Overlap / time.Second)
		}
		out = append(out, s)
	})
	return out, err
}

// cut counts w and emits it whole, or halves it. A window whose count is not
// known is cut by the step alone.
func (r SliceRequest) cut(ctx context.Context, w Window, emit func(Window, Estimate)) error {
	var e Estimate
	if r.Estimate != nil {
		var err error
		if e, err = r.Estimate(ctx, w); err != nil {
			return fmt.Errorf("estimate %s: %w", w, err)
		}
	}
	if !e.Known {
		for f := w.From; f.Before(w.To); {
			t := w.To
			if r.Step > 0 {
				if n := r.Calendar.Add(f, r.Step); n.Before(t) {
					t = n
				}
			}
			emit(Window{f, t}, Estimate{})
			f = t
		}
		return nil
	}
	limit := r.limit()
	fits := limit == 0 || e.Records <= limit
	a, b, ok := Halve(w, r.Calendar, r.MinStep)
	if fits || !ok {
		emit(w, e)
		return nil
	}
	if err := r.cut(ctx, a, emit); err != nil {
		return err
	}
	return r.cut(ctx, b, emit)
}

func (r SliceRequest) limit() int64 {
	switch {
	case r.Cap == 0:
		return r.Target
	case r.Target == 0:
		return r.Cap
	}
	return min(r.Cap, r.Target)
}

// Halve cuts w in two at a grain of the calendar, or reports false if a half
// would be shorter than minStep.
func Halve(w Window, c Calendar, minStep time.Duration) (a, b Window, ok bool) {
	m, ok := c.Mid(w)
	if !ok {
		return Window{}, Window{}, false
	}
	a, b = Window{w.From, m}, Window{m, w.To}
	// A calendar day may last 23 hours; it is still a whole step of one day.
	if c.Precision != PrecisionDay && (a.Duration() < minStep || b.Duration() < minStep) {
		return Window{}, Window{}, false
	}
	return a, b, true
}

func (r SliceRequest) spec(w Window, e Estimate) SliceSpec {
	return NewSliceSpec(w, r.Calendar, r.PageSize, e.Records, r.Lag)
}

// NewSliceSpec is a TIME slice over w.
func NewSliceSpec(w Window, c Calendar, pageSize int, expected int64, lag time.Duration) SliceSpec {
	return SliceSpec{
		Strategy: StrategyTime,
		Window: WindowSpec{
			From: w.From, To: w.To,
			Boundary:  Boundary{From: "CLOSED", To: "OPEN"},
			Timezone:  c.zone().String(),
			Precision: c.Precision,
		},
		Hints: &SliceHints{
			ExpectedPageSize: pageSize,
			ExpectedRecords:  expected,
			SafetyLagSec:     int(lag / time.Second),
		},
	}
}
