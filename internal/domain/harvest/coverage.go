package harvest

import "time"

// Covered is a leaf slice as the watermark sees it: its nominal bounds, and
// whether it counts (DONE, or a gap that an operator accepted).
type Covered struct {
	Window
	Counts bool
}

// LowWatermark returns how far a cursor at w may move: the furthest t such that
// everything between w and t counts (R1). next yields the leaf slices of the
// namespace in the cursor's direction, beginning with the first one that
// touches w; what it yields after the first hole or open slice is not read.
func LowWatermark(w time.Time, dir Direction, next func(yield func(Covered) bool)) time.Time {
	next(func(c Covered) bool {
		if !c.Counts {
			return false
		}
		if dir == Backward {
			switch {
			case c.To.Before(w): // a hole
				return false
			case c.From.Before(w):
				w = c.From
			}
			return true
		}
		switch {
		case c.From.After(w): // a hole
			return false
		case c.To.After(w):
			w = c.To
		}
		return true
	})
	return w
}

// Further reports whether a cursor moving in dir may go from w to n.
func (d Direction) Further(w, n time.Time) bool {
	if d == Backward {
		return n.Before(w)
	}
	return n.After(w)
}
