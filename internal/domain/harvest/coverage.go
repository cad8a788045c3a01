package harvest

import "time"

// Covered is a leaf slice as the watermark sees it: its nominal bounds, and
// whether it counts (DONE, or a gap that an operator accepted).
type Covered struct {
	Span
	Counts bool
}

// LowWatermark returns how far a cursor at w may move: to the end of the unbroken
// run of slices that count (R1).
//
//	        w                      moves to here
//	        |                      |
//	--------|----DONE----|--DONE---|---open---|---DONE---|     a slice that does not count
//	--------|----DONE----|--DONE---|          |---DONE---|     a hole
//	--------|----DONE----|-ids to 500: DONE---|---DONE---|     two slices of one window:
//	                     |-ids from 500: open-|                to where that window begins
//
// next yields the leaf slices of the namespace in the cursor's direction, beginning
// with the first one that touches w; what it yields after the first hole or open
// slice is not read. The cursor never moves back.
func LowWatermark(w Mark, dir Direction, next func(yield func(Covered) bool)) Mark {
	reached := w
	next(func(c Covered) bool {
		near, far := c.From, c.To
		if dir == Backward {
			near, far = c.To, c.From
		}
		switch {
		case dir.Further(reached, near): // a hole
			return false
		case !c.Counts:
			if dir.Further(near, reached) {
				reached = near // another slice of its window counts, but not alone
			}
			return false
		case dir.Further(reached, far):
			reached = far
		}
		return true
	})
	if dir.Further(reached, w) {
		return w
	}
	return reached
}

// Further reports whether a cursor that moves in this direction comes to mark b
// after it has passed a.
func (d Direction) Further(a, b Mark) bool {
	if d == Backward {
		return b.Before(a)
	}
	return b.After(a)
}

// Unstored is what a store knows of the records of a window that are counted
// upstream and not here, or here and not there.
type Unstored struct {
	Quarantined int64     // items that came with the window and could not be stored
	BadIDs      int64     // ids of the window whose details the source does not give
	Missing     int64     // records that were not found when last asked for
	ReadAt      time.Time // when the window was last walked to its end
}
