package harvest

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Part is a piece of what a plan answers for: a stretch of its cursor's axis, and
// where that is still too much a range within it.
type Part struct {
	Span
	Range Range
}

// PartOf is all of a window.
func PartOf(w Window) Part { return Part{Span: w.Span()} }

func (p Part) String() string {
	if p.Range.Whole() {
		return p.Span.String()
	}
	return p.Span.String() + " " + p.Range.String()
}

// Split is the second dimension by which a source can be cut: ids that are
// numbers, none of them above Max, or up to so many hash buckets of any ids.
type Split struct {
	Key     string `json:"key"`
	Max     int64  `json:"max,omitzero"`
	Buckets int64  `json:"buckets,omitzero"`
}

// Halve cuts a part in two: its window at a grain of the calendar, none shorter
// than minStep; if that cannot be, its ids. It reports false if neither can be.
func (p Part) Halve(c Calendar, minStep time.Duration, split *Split) (a, b Part, ok bool) {
	if p.Range.Whole() {
		if x, y, ok := Halve(p.Window(), c, minStep); ok {
			return PartOf(x), PartOf(y), true
		}
	}
	return split.Halve(p)
}

// Halve cuts the ids of a part in two, or reports false if they cannot be.
func (s *Split) Halve(p Part) (a, b Part, ok bool) {
	if s == nil || p.Range.Key != "" && p.Range.Key != s.Key {
		return Part{}, Part{}, false
	}
	if s.Buckets > 0 {
		return s.halveBucket(p)
	}
	from, to := p.Range.From, p.Range.To
	if to == 0 {
		to = s.Max + 1
	}
	if to-from < 2 {
		return Part{}, Part{}, false
	}
	mid := from + (to-from)/2
	a, b = p, p
	a.Range, b.Range = NewRange(s.Key, from, mid), NewRange(s.Key, mid, p.Range.To)
	return a, b, true
}

// Tile checks that parts cover the whole of of: their spans tile its span,
// and parts that share a span tile its range or its bucket. No hole, no overlap, no overrun.
func Tile(of Part, parts []Part) error {
	for _, p := range parts {
		if p.From.kind != of.From.kind {
			return fmt.Errorf("%s and %s are not of one kind", p, of)
		}
	}
	sorted := slices.Clone(parts)
	slices.SortStableFunc(sorted, func(a, b Part) int {
		return cmp.Or(a.From.Compare(b.From), a.To.Compare(b.To), cmp.Compare(a.Range.From, b.Range.From))
	})
	at := of.From
	for i := 0; i < len(sorted); {
		w := sorted[i].Span
		if w.From != at || w.Empty() {
			return fmt.Errorf("%s does not begin at %s", w, at)
		}
		n := i + 1
		for n < len(sorted) && sorted[n].Span == w {
			n++
		}
		if err := tileParts(of.Range, sorted[i:n]); err != nil {
			return fmt.Errorf("%s: %w", w, err)
		}
		at, i = w.To, n
	}
	if at != of.To {
		return fmt.Errorf("the parts end at %s, not at %s", at, of.To)
	}
	return nil
}

// tileParts checks the parts of one span.
func tileParts(of Range, parts []Part) error {
	buckets := 0
	for _, p := range parts {
		if p.Range.Of != 0 {
			if err := p.Range.checkBucket(); err != nil {
				return err
			}
			buckets++
		}
	}
	switch {
	case buckets == 0 && of.Of == 0:
		return tileRange(of, parts)
	case buckets < len(parts) || of.Of == 0 && !of.Whole():
		return fmt.Errorf("%s and others are not of one kind", parts[0].Range)
	}
	no, n := of.Bucket()
	return tileBuckets(no, n, parts)
}

// tileRange checks ranges.
func tileRange(of Range, parts []Part) error {
	at, key := of.From, parts[0].Range.Key
	for i, p := range parts {
		r := p.Range
		if r.From != at || r.Key != key || (r.To == 0) != (i == len(parts)-1 && of.To == 0) || r.To != 0 && r.To <= r.From {
			return fmt.Errorf("%s does not go on from %d", r, at)
		}
		at = r.To
	}
	if at != of.To {
		return fmt.Errorf("the ranges end at %d, not at %d", at, of.To)
	}
	return nil
}
