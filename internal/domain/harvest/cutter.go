package harvest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"
)

// cutter is one cutting of a window, from its beginning to its end.
type cutter struct {
	SliceRequest
	// take is given each slice as soon as nothing can change it any more. taken counts them,
	// first is the window of the first one, and strategy what they are cut by, if that is
	// not by time.
	take     func(SliceSpec)
	taken    int
	first    Window
	strategy StrategyCode
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
	n := c.taken
	if c.pending != nil {
		n++
	}
	return c.MaxSlices > 0 && n >= c.MaxSlices && next.Range.From == 0
}

// emit takes a part that is small enough to be a slice. It is put together with the
// pending one if both fit into one slice: a window with the next window, ids with the
// next ids. Buckets never are: they were halved because both together are too much.
func (c *cutter) emit(p Part, e Estimate) {
	if last := c.pending; last != nil {
		if c.pendingHolds.Known && e.Known && c.limit() > 0 && c.pendingHolds.Records+e.Records <= c.limit() {
			switch {
			case last.Range.Whole() && p.Range.Whole():
				last.To = p.To
				c.pendingHolds.Records += e.Records
				return
			case last.From == p.From && p.Range.Of == 0 && last.Range.To == p.Range.From && p.Range.From > 0:
				last.Range.To = p.Range.To
				c.pendingHolds.Records += e.Records
				return
			}
		}
		c.flush()
	}
	c.pending = &p
	c.pendingHolds = e
}

// flush makes a slice of the pending part. An overlap widens the first one, and the parts of
// its window: those are asked for alike.
func (c *cutter) flush() {
	if c.pending == nil {
		return
	}
	s := NewSliceSpec(*c.pending, c.Calendar, c.PageSize, c.pendingHolds.Records, c.Lag)
	s.Hints.EstimatedBy = c.pendingHolds.By
	s.Budget = c.Budget
	s.Strategy = cmp.Or(c.strategy, s.Strategy)
	if c.taken == 0 {
		c.first = s.NominalWindow()
	}
	if s.Window.From.Equal(c.first.From) && c.Overlap > 0 {
		s.Hints.OverlapSec = int(c.Overlap / time.Second)
	}
	c.take(s)
	c.taken++
	c.pending = nil
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
