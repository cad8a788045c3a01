package harvest

import (
	"context"
	"fmt"
	"math"
	"time"
)

// Estimate is what is known of a part before it is walked.
type Estimate struct {
	Records int64
	Known   bool
	// By says how it was got; only a count is sure.
	By Estimation
}

// Estimation is how an estimate was got.
type Estimation string

// The ways to an estimate.
const (
	ByCount     Estimation = "COUNT"      // the upstream counted
	ByHistory   Estimation = "HISTORY"    // from what was harvested before
	ByFirstPage Estimation = "FIRST_PAGE" // from the total of a first page over a larger window
	ByConstant  Estimation = "CONSTANT"   // from what the source declares for a day
)

// half is about what each of two hash buckets holds of what they hold together.
func (e Estimate) half() Estimate {
	e.Records -= e.Records / 2
	if e.By == ByCount {
		e.By = ByFirstPage
	}
	return e
}

// Estimator tells how many records a part holds. It may ask the upstream; not
// knowing is an answer, not an error.
type Estimator func(ctx context.Context, p Part) (Estimate, error)

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

// StrategyCode names a [Strategy], as stored in slice_spec and on the plan.
type StrategyCode string

// The strategies by which a plan is cut.
const (
	StrategyTime     StrategyCode = "TIME"            // by time
	StrategyID       StrategyCode = "ID_RANGE"        // by ordinals of frozen candidates (R9)
	StrategyHybrid   StrategyCode = "HYBRID"          // by time, and by ids or buckets where a window cannot be cut further
	StrategyVolume   StrategyCode = "VOLUME_BUDGET"   // as one, cut again when its budget is spent
	StrategyLandmark StrategyCode = "CURSOR_LANDMARK" // as one long walk, parted where a budget was spent
	StrategyPage     StrategyCode = "PAGE"            // by numbers of pages
	StrategyHash     StrategyCode = "HASH"            // by hash buckets of the ids
)

// Strategy cuts a window into slices that tile it: no gap, no overlap, no
// overrun. A slice over the cap that cannot be cut further is still returned,
// marked by its estimate; the planner decides what becomes of it. With
// MaxSlices the slices tile a beginning of the window.
type Strategy interface {
	Code() StrategyCode
	Slice(ctx context.Context, r SliceRequest) ([]SliceSpec, error)
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
func (TimeStrategy) Slice(ctx context.Context, r SliceRequest) ([]SliceSpec, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	c := cutter{SliceRequest: r}
	if err := c.cut(ctx, Part{Span: r.Span}); err != nil {
		return nil, err
	}
	return c.finish(), nil
}

func (r SliceRequest) check() error {
	if r.Span.Empty() {
		return fmt.Errorf("slice %s: %w", r.Span, ErrEmptyWindow)
	}
	return nil
}

// cutter is one cutting of a window, from its beginning to its end.
type cutter struct {
	SliceRequest
	out []SliceSpec
	// pending is the last part that was cut, nil before the first. It is no slice
	// yet, since it may still take in the next part. pendingHolds is what it holds.
	pending      *Part
	pendingHolds Estimate
	// partsAtOnce is into how many parts a window is cut at a time, 0 until that is
	// known.
	partsAtOnce int64
}

// full reports whether enough was cut, so that next is left out. The parts of one
// window stay together.
func (c *cutter) full(next Part) bool {
	n := len(c.out)
	if c.pending != nil {
		n++
	}
	return c.MaxSlices > 0 && n >= c.MaxSlices && next.Range.From == 0
}

// emit takes a part that is small enough to be a slice. It is put together with the
// pending one if both fit into one slice: a window with the next window, ids with the
// next ids. Buckets never are: they were halved because both together are too much.
func (c *cutter) emit(p Part, e Estimate) {
	if h := c.pending; h != nil {
		if c.pendingHolds.Known && e.Known && c.limit() > 0 && c.pendingHolds.Records+e.Records <= c.limit() {
			switch {
			case h.Range.Whole() && p.Range.Whole():
				h.To = p.To
				c.pendingHolds.Records += e.Records
				return
			case h.From == p.From && p.Range.Of == 0 && h.Range.To == p.Range.From && p.Range.From > 0:
				h.Range.To = p.Range.To
				c.pendingHolds.Records += e.Records
				return
			}
		}
		c.flush()
	}
	c.pending, c.pendingHolds = &p, e
}

// flush makes a slice of the pending part.
func (c *cutter) flush() {
	if c.pending == nil {
		return
	}
	s := NewSliceSpec(*c.pending, c.Calendar, c.PageSize, c.pendingHolds.Records, c.Lag)
	s.Hints.EstimatedBy, s.Budget = c.pendingHolds.By, c.Budget
	c.out, c.pending = append(c.out, s), nil
}

// finish ends the cutting, and returns its slices. An overlap widens the first one.
func (c *cutter) finish() []SliceSpec {
	c.flush()
	if len(c.out) > 0 && c.Overlap > 0 {
		c.out[0].Hints.OverlapSec = int(c.Overlap / time.Second)
		// The parts of one window are asked for alike.
		for i := 1; i < len(c.out) && c.out[i].Window.From.Equal(c.out[0].Window.From); i++ {
			c.out[i].Hints.OverlapSec = c.out[0].Hints.OverlapSec
		}
	}
	return c.out
}

// cut estimates p and emits it whole, or cuts it into smaller parts and these in turn.
// A window that nobody counted is cut by steps.
func (c *cutter) cut(ctx context.Context, p Part) error {
	if c.full(p) {
		return nil
	}
	e, err := c.estimateOf(ctx, p)
	if err != nil {
		return err
	}
	if !e.Known || e.By != ByCount {
		return c.cutBySteps(ctx, p)
	}
	limit := c.limit()
	if limit == 0 || e.Records <= max(limit, c.tolerated()) {
		c.emit(p, e)
		return nil
	}
	if p.Range.Whole() {
		if parts := c.parts(p.Window(), e.Records); len(parts) > 1 {
			for _, w := range parts {
				if err := c.cut(ctx, PartOf(w)); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return c.cutRange(ctx, p, e, c.Cap)
}

// tolerated is what a slice may hold though less is wanted.
func (c *cutter) tolerated() int64 {
	if c.Cap == 0 {
		return c.Most
	}
	return min(c.Cap, c.Most)
}

// fan is into how many parts a window is cut at a time, level by level, until each
// holds what is wanted, if records lie evenly. It is the same number at each level: to
// cut for 17 slices by 16 and then by 2 would leave 32. It follows from the count of
// the whole window alone, so that a record more or less does not move every bound.
func (c *cutter) fan(records int64) int64 {
	if c.Fan < 2 {
		return 2
	}
	wanted := max(c.limit(), (c.limit()+c.tolerated())/2)
	slices := float64((records + wanted - 1) / wanted)
	levels := max(1, math.Ceil(math.Log(slices)/math.Log(float64(c.Fan))-1e-9))
	return min(int64(c.Fan), int64(math.Ceil(math.Pow(slices, 1/levels)-1e-9)))
}

// parts are the windows that w is cut into because it holds too much: as many as
// every window is cut into, or a power of two where fewer are enough. There are none
// if w cannot be cut.
func (c *cutter) parts(w Window, records int64) []Window {
	if c.partsAtOnce == 0 {
		c.partsAtOnce = c.fan(records)
	}
	n := int64(2)
	for n < c.partsAtOnce && n*c.limit() < records {
		n *= 2
	}
	n = min(n, c.partsAtOnce)
	var out []Window
	from := w.From
	for i := int64(1); i < n && n > 2; i++ {
		at := c.Calendar.Floor(w.From.Add(w.Duration() / time.Duration(n) * time.Duration(i)))
		head, tail := Window{from, at}, Window{at, w.To}
		if c.longEnough(head) && c.longEnough(tail) {
			out = append(out, head)
			from = at
		}
	}
	if len(out) > 0 {
		return append(out, Window{from, w.To})
	}
	a, b, ok := Halve(w, c.Calendar, c.MinStep)
	if !ok {
		return nil
	}
	return []Window{a, b}
}

// longEnough reports whether a window is long enough for a slice. Of a source that
// counts in days every whole day is, though one may last 23 hours.
func (c *cutter) longEnough(w Window) bool {
	return !w.Empty() && (c.Calendar.Precision == PrecisionDay || w.Duration() >= c.MinStep)
}

// cutRange cuts a part by the second dimension, ids or buckets, until none holds more
// than most; 0 means no bound. It is the last resort: what can be walked stays whole.
func (c *cutter) cutRange(ctx context.Context, p Part, e Estimate, most int64) error {
	a, b, ok := c.Split.Halve(p)
	if !ok || !e.Known || most == 0 || e.Records <= most {
		c.emit(p, e)
		return nil
	}
	ea, err := c.estimateOf(ctx, a)
	if err != nil {
		return err
	}
	eb := Estimate{}
	switch {
	case ea.Known:
		// What is not in the one is in the other, so that one count is enough. If
		// it has changed since the count of both, the walk will find out.
		eb = Estimate{Records: max(0, e.Records-ea.Records), Known: true, By: e.By}
	case a.Range.Of != 0:
		ea = e.half()
		eb = ea
	}
	if err := c.cutRange(ctx, a, ea, most); err != nil {
		return err
	}
	return c.cutRange(ctx, b, eb, most)
}

// estimateOf is what the estimator says that a part holds. The zero estimate means
// that nothing is known.
func (c *cutter) estimateOf(ctx context.Context, p Part) (Estimate, error) {
	if c.Estimate == nil {
		return Estimate{}, nil
	}
	e, err := c.Estimate(ctx, p)
	if err != nil {
		return e, fmt.Errorf("estimate %s: %w", p, err)
	}
	return e, nil
}

// cutBySteps cuts a window that nobody counted: by the step that the source declares,
// and smaller where a guess from other windows says that a step holds too much.
func (c *cutter) cutBySteps(ctx context.Context, p Part) error {
	w := p.Window()
	for f := w.From; f.Before(w.To); {
		t := w.To
		if c.Step > 0 {
			if n := c.Calendar.Add(f, c.Step); n.Before(t) {
				t = n
			}
		}
		next := PartOf(Window{f, t})
		if c.full(next) {
			return nil
		}
		if err := c.emitGuessed(ctx, next); err != nil {
			return err
		}
		f = t
	}
	return nil
}

// emitGuessed emits a part of which there is only a guess, in halves where that is too
// much. A guess is not good enough to put parts together by.
func (c *cutter) emitGuessed(ctx context.Context, p Part) error {
	e, err := c.estimateOf(ctx, p)
	if err != nil {
		return err
	}
	if e.Known && c.limit() > 0 && e.Records > c.limit() {
		if a, b, ok := p.Halve(c.Calendar, c.MinStep, nil); ok {
			if err := c.emitGuessed(ctx, a); err != nil {
				return err
			}
			return c.emitGuessed(ctx, b)
		}
	}
	e.Known = false
	c.emit(p, e)
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

// VolumeStrategy makes one slice of the window, which is walked until its budget is
// spent. What is left of it is a slice of its own then, cut off at the last instant
// that is proven (VOLUME_BUDGET) or at the token the walk has reached
// (CURSOR_LANDMARK).
type VolumeStrategy struct{ code StrategyCode }

// Code of the strategy.
func (v VolumeStrategy) Code() StrategyCode { return v.code }

// Slice returns the one slice.
func (v VolumeStrategy) Slice(ctx context.Context, r SliceRequest) ([]SliceSpec, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	if r.Budget == nil || *r.Budget == (BudgetSpec{}) {
		return nil, fmt.Errorf("strategy %s needs a budget", v.code)
	}
	s := NewSliceSpec(Part{Span: r.Span}, r.Calendar, r.PageSize, 0, r.Lag)
	s.Strategy = v.code
	s.Budget = r.Budget
	s.Hints.Explore = true
	s.Hints.OverlapSec = int(r.Overlap / time.Second)
	if r.Estimate != nil {
		e, err := r.Estimate(ctx, Part{Span: r.Span})
		if err != nil {
			return nil, fmt.Errorf("estimate %s: %w", r.Span, err)
		}
		s.Hints.ExpectedRecords, s.Hints.EstimatedBy = e.Records, e.By
	}
	return []SliceSpec{s}, nil
}

// IDStrategy cuts frozen candidates by their ordinals (R9).
type IDStrategy struct{}

// Code of the strategy.
func (IDStrategy) Code() StrategyCode { return StrategyID }

// Slice cuts the ordinals of r.Span into slices of r.Target.
func (IDStrategy) Slice(_ context.Context, r SliceRequest) ([]SliceSpec, error) {
	if r.Span.Empty() {
		return nil, fmt.Errorf("slice candidates: %w", ErrEmptyWindow)
	}
	from, to := r.Span.From.Ordinal(), r.Span.To.Ordinal()
	size := r.Target
	if size < 1 {
		size = 1000
	}
	var out []SliceSpec
	for f := from; f < to && (r.MaxSlices == 0 || len(out) < r.MaxSlices); f += size {
		out = append(out, NewIDSlice(f, min(f+size, to), r.PageSize))
	}
	return out, nil
}

// PageStrategy cuts a result that does not change while it is walked into ranges of
// pages. The last range has no end: there may be more pages than were counted.
type PageStrategy struct{}

// Code of the strategy.
func (PageStrategy) Code() StrategyCode { return StrategyPage }

// Slice cuts the pages of r.Span into slices of r.Pages.
func (PageStrategy) Slice(ctx context.Context, r SliceRequest) ([]SliceSpec, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	if r.Pages < 1 || r.PageSize < 1 {
		return nil, fmt.Errorf("strategy %s needs pages per slice and a page size", StrategyPage)
	}
	var e Estimate
	if r.Estimate != nil {
		var err error
		e, err = r.Estimate(ctx, Part{Span: r.Span})
		if err != nil {
			return nil, fmt.Errorf("estimate %s: %w", r.Span, err)
		}
	}
	size := r.Pages * int64(r.PageSize)
	n := max(1, (e.Records+size-1)/size)
	var out []SliceSpec
	for i := range n {
		s := NewSliceSpec(Part{Span: r.Span}, r.Calendar, r.PageSize, min(size, max(0, e.Records-i*size)), r.Lag)
		s.Strategy, s.Budget = StrategyPage, r.Budget
		s.Hints.EstimatedBy, s.Hints.OverlapSec = e.By, int(r.Overlap/time.Second)
		if n > 1 {
			s.Range = NewRange(RangePage, i*r.Pages, (i+1)*r.Pages)
			if i == n-1 {
				s.Range.To = 0
			}
		}
		out = append(out, s)
	}
	return out, nil
}
