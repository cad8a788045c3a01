package harvest

import "time"

// Covered is a leaf slice as the watermark sees it: its nominal bounds, and
// whether it counts (DONE, or a gap that an operator accepted).
type Covered struct {
	Span
	Counts bool
}

// LowWatermark returns how far a cursor at w may move: the furthest t such that
// everything between w and t counts (R1). next yields the leaf slices of the
// namespace in the cursor's direction, beginning with the first one that
// touches w; what it yields after the first hole or open slice is not read.
// Several slices may share a window, each with a part of what lies in it: then
// all of them must count.
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
			if dir.Further(near, reached) { // another part of its window counts
				reached = near
			}
			return false
		case dir.Further(reached, far):
			reached = far
		}
		return true
	})
	if dir.Further(reached, w) { // never back
		return w
	}
	return reached
}

// Further reports whether a cursor moving in dir may go from w to n.
func (d Direction) Further(w, n Mark) bool {
	if d == Backward {
		return n.Before(w)
	}
	return n.After(w)
}

// Unstored is what a store knows of the records of a window that are counted
// upstream and not here, or here and not there.
type Unstored struct {
	Quarantined int64     // items that came with the window and could not be stored
	BadIDs      int64     // ids of the window whose details the source does not give
	Missing     int64     // records that were not found when last asked for
	ReadAt      time.Time // when the window was last walked to its end
}
