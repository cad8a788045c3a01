package harvest

import (
	"context"
	"fmt"
	"time"
)

// SliceRequest is what a strategy cuts by.
type SliceRequest struct {
	Span     Span
	Calendar Calendar
	Step     time.Duration // slice length where the count is not known, 0 for no bound
	MinStep  time.Duration // shortest slice
	Target   int64         // wanted records per slice at most, 0 for no target
	Cap      int64         // records a walk can reach at all, 0 for no cap
	Split    *Split        // second dimension, for windows that cannot be cut further
	Overlap  time.Duration // widens the request of the first slice
	Budget   *BudgetSpec   // what a slice may cost, nil for no bound
	PageSize int
	Lag      time.Duration
	// Key is what the ids of a source are called that is harvested by them.
	Key      string
	Estimate Estimator // nil: never known
	// MaxSlices ends the cutting early: the plan is then PARTIAL. 0 for no bound.
	MaxSlices int
	// Pages per slice, of PAGE.
	Pages int64
	// Fan is into how many parts at most a window is cut at once that holds too
	// much; fewer than 2: into halves. Each part is counted, so that a large fan
	// saves the counts in between where records lie evenly.
	Fan int
	// Most is what a slice may hold though Target is wanted, so that one that is a
	// little over is not cut into two that are far below; 0: no more than Target.
	Most int64
}

func (r SliceRequest) check() error {
	if r.Span.Empty() {
		return fmt.Errorf("slice %s: %w", r.Span, ErrEmptyWindow)
	}
	return nil
}

// limit is how many records a slice is wanted to hold at most, 0 for no limit: no more
// than the target, and no more than a walk can reach.
func (r SliceRequest) limit() int64 {
	switch {
	case r.Cap == 0:
		return r.Target
	case r.Target == 0:
		return r.Cap
	}
	return min(r.Cap, r.Target)
}

// StrategyCode names a [Strategy], as stored in slice_spec and on the plan.
type StrategyCode string

// The strategies by which a plan is cut.
const (
	StrategyTime     StrategyCode = "TIME"            // by time
	StrategyID       StrategyCode = "ID_RANGE"        // by ordinals of frozen candidates (R9), or by ids that grow (R75)
	StrategyHybrid   StrategyCode = "HYBRID"          // by time, and by ids or buckets where a window cannot be cut further
	StrategyVolume   StrategyCode = "VOLUME_BUDGET"   // as one, cut again when its budget is spent
	StrategyLandmark StrategyCode = "CURSOR_LANDMARK" // as one long walk, parted where a budget was spent
	StrategyPage     StrategyCode = "PAGE"            // by numbers of pages
	StrategyHash     StrategyCode = "HASH"            // by hash buckets of the ids
)

// Strategy cuts a window into slices that tile it: no gap, no overlap, no
// overrun. A slice over the cap that cannot be cut further is still returned,
// marked by its estimate; the planner decides what becomes of it. With
// MaxSlices the slices tile a beginning of the window. Each slice is given away, in
// their order, as soon as it is cut: none is kept here.
type Strategy interface {
	Code() StrategyCode
	Slice(ctx context.Context, r SliceRequest, take func(SliceSpec)) error
}

// Strategies are the known strategies by code.
func Strategies() map[StrategyCode]Strategy {
	m := make(map[StrategyCode]Strategy)
	for _, s := range []Strategy{
		TimeStrategy{},
		VolumeStrategy{StrategyVolume},
		VolumeStrategy{StrategyLandmark},
		IDStrategy{},
		PageStrategy{},
		hybrid{},
		HashStrategy{},
	} {
		m[s.Code()] = s
	}
	return m
}

// TimeStrategy cuts by time: it counts a window first, cuts what is too much, by ids or
// hash buckets where the finest window is still beyond reach, and puts small
// neighbours together:
//
//	the window, target 1000    |----------------------2600----------------------|
//	halved and counted         |----------700-----------|----------1900---------|
//	halved again where needed  |----------700-----------|---250-----|---1650----|
//	                           |----------700-----------|---250-----|-800-|-850-|
//	small neighbours together  |----------------950-----------------|-800-|-850-|
type TimeStrategy struct{}

// Code of the strategy.
func (TimeStrategy) Code() StrategyCode { return StrategyTime }

// hybrid is TIME with a second dimension; only its name differs.
type hybrid struct{ TimeStrategy }

func (hybrid) Code() StrategyCode { return StrategyHybrid }

// Slice cuts r.Span.
func (TimeStrategy) Slice(ctx context.Context, r SliceRequest, take func(SliceSpec)) error {
	if err := r.check(); err != nil {
		return err
	}
	c := cutter{SliceRequest: r, take: take}
	if err := c.cut(ctx, Part{Span: r.Span}); err != nil {
		return err
	}
	c.flush()
	return nil
}

// VolumeStrategy makes one slice of the window, which is walked until its budget is
// spent. What is left of it is a slice of its own then, cut off at the last instant
// that is proven (VOLUME_BUDGET) or at the token the walk has reached
// (CURSOR_LANDMARK).
type VolumeStrategy struct{ code StrategyCode }

// Code of the strategy.
func (v VolumeStrategy) Code() StrategyCode { return v.code }

// Slice gives the one slice.
func (v VolumeStrategy) Slice(ctx context.Context, r SliceRequest, take func(SliceSpec)) error {
	if err := r.check(); err != nil {
		return err
	}
	if r.Budget == nil || *r.Budget == (BudgetSpec{}) {
		return fmt.Errorf("strategy %s needs a budget", v.code)
	}
	s := NewSliceSpec(Part{Span: r.Span}, r.Calendar, r.PageSize, 0, r.Lag)
	s.Strategy = v.code
	s.Budget = r.Budget
	s.Hints.Explore = true
	s.Hints.OverlapSec = int(r.Overlap / time.Second)
	if r.Estimate != nil {
		e, err := r.Estimate(ctx, Part{Span: r.Span})
		if err != nil {
			return fmt.Errorf("estimate %s: %w", r.Span, err)
		}
		s.Hints.ExpectedRecords = e.Records
		s.Hints.EstimatedBy = e.By
	}
	take(s)
	return nil
}

// IDStrategy cuts frozen candidates by their ordinals (R9), and the ids of a source that
// is harvested by them (R75). No more records than ids lie in a range, so that nothing
// has to be counted.
type IDStrategy struct{}

// Code of the strategy.
func (IDStrategy) Code() StrategyCode { return StrategyID }

// Slice cuts the numbers of r.Span into slices of r.Target.
func (IDStrategy) Slice(_ context.Context, r SliceRequest, take func(SliceSpec)) error {
	if r.Span.Empty() {
		return fmt.Errorf("slice candidates: %w", ErrEmptyWindow)
	}
	from, to := r.Span.From.Number(), r.Span.To.Number()
	key := RangeOrdinal
	if r.Span.From.Kind() == KindID {
		key = r.Key
	}
	size := r.Target
	if size < 1 {
		size = 1000
	}
	n := 0
	for f := from; f < to && (r.MaxSlices == 0 || n < r.MaxSlices); f += size {
		take(NewIDSlice(key, f, min(f+size, to), r.PageSize))
		n++
	}
	return nil
}

// PageStrategy cuts a result that does not change while it is walked into ranges of
// pages. The last range has no end: there may be more pages than were counted.
type PageStrategy struct{}

// Code of the strategy.
func (PageStrategy) Code() StrategyCode { return StrategyPage }

// Slice cuts the pages of r.Span into slices of r.Pages.
func (PageStrategy) Slice(ctx context.Context, r SliceRequest, take func(SliceSpec)) error {
	if err := r.check(); err != nil {
		return err
	}
	if r.Pages < 1 || r.PageSize < 1 {
		return fmt.Errorf("strategy %s needs pages per slice and a page size", StrategyPage)
	}
	var e Estimate
	if r.Estimate != nil {
		var err error
		e, err = r.Estimate(ctx, Part{Span: r.Span})
		if err != nil {
			return fmt.Errorf("estimate %s: %w", r.Span, err)
		}
	}
	size := r.Pages * int64(r.PageSize)
	n := max(1, (e.Records+size-1)/size)
	for i := range n {
		s := NewSliceSpec(Part{Span: r.Span}, r.Calendar, r.PageSize, min(size, max(0, e.Records-i*size)), r.Lag)
		s.Strategy = StrategyPage
		s.Budget = r.Budget
		s.Hints.EstimatedBy = e.By
		s.Hints.OverlapSec = int(r.Overlap / time.Second)
		if n > 1 {
			s.Range = NewRange(RangePage, i*r.Pages, (i+1)*r.Pages)
			if i == n-1 {
				s.Range.To = 0
			}
		}
		take(s)
	}
	return nil
}
