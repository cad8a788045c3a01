package harvest

import (
	"iter"
	"time"
)

// Cuts are the slices that a window was cut into, in their order. A plan may have a million of
// them, and nearly all that they say is the same for each. So that is kept once, and of a slice
// only what it has for itself; it is put together again when it is looked at. The zero value has
// none.
type Cuts struct {
	// blocks are of cutsPerBlock cuts each but for the last: one that is full never moves.
	blocks [][]cut
	// kinds are what cuts have in common, numbers tells where each of them is, and last is that
	// of the slice that came last.
	kinds   []cutKind
	numbers map[cutKind]int32
	last    int32
	// The cuts that count are those from a first one to before an end: others were left out.
	from, to int
}

const cutsPerBlock = 4096

// cut is what a slice has for itself. Instants are in microseconds of 1970.
type cut struct {
	windowFrom, windowTo int64
	rangeFrom, rangeTo   int64
	records, requests    int64
	kind                 int32
}

// cutKind is what slices have in common, and whether they have hints.
type cutKind struct {
	spec   SliceSpec // without hints
	hints  SliceHints
	hinted bool
}

// Add adds a slice behind the others.
func (c *Cuts) Add(s SliceSpec) {
	one := cut{
		windowFrom: s.Window.From.UnixMicro(), windowTo: s.Window.To.UnixMicro(),
		rangeFrom: s.Range.From, rangeTo: s.Range.To,
	}
	kind := cutKind{spec: s}
	if s.Hints != nil {
		kind.hinted = true
		kind.hints = *s.Hints
		one.records = s.Hints.ExpectedRecords
		one.requests = s.Hints.ExpectedRequests
	}
	kind.spec.Hints = nil
	kind.spec.Window.From, kind.spec.Window.To = time.Time{}, time.Time{}
	kind.spec.Range.From, kind.spec.Range.To = 0, 0
	kind.hints.ExpectedRecords, kind.hints.ExpectedRequests = 0, 0
	one.kind = c.numberOf(kind)
	if c.to%cutsPerBlock == 0 {
		c.blocks = append(c.blocks, make([]cut, 0, cutsPerBlock))
	}
	block := &c.blocks[len(c.blocks)-1]
	*block = append(*block, one)
	c.to++
}

// numberOf is where a kind is kept.
func (c *Cuts) numberOf(kind cutKind) int32 {
	if len(c.kinds) > 0 && c.kinds[c.last] == kind {
		return c.last
	}
	n, known := c.numbers[kind]
	if !known {
		n = int32(len(c.kinds))
		c.kinds = append(c.kinds, kind)
		if c.numbers == nil {
			c.numbers = map[cutKind]int32{}
		}
		c.numbers[kind] = n
	}
	c.last = n
	return n
}

// Len is how many slices there are.
func (c *Cuts) Len() int { return c.to - c.from }

// At is the slice number i, from 0.
func (c *Cuts) At(i int) SliceSpec {
	i += c.from
	one := c.blocks[i/cutsPerBlock][i%cutsPerBlock]
	kind := &c.kinds[one.kind]
	s := kind.spec
	s.Window.From, s.Window.To = time.UnixMicro(one.windowFrom).UTC(), time.UnixMicro(one.windowTo).UTC()
	s.Range.From, s.Range.To = one.rangeFrom, one.rangeTo
	if kind.hinted {
		s.Hints = new(kind.hints)
		s.Hints.ExpectedRecords = one.records
		s.Hints.ExpectedRequests = one.requests
	}
	return s
}

// All are the slices one by one.
func (c *Cuts) All() iter.Seq[SliceSpec] {
	return func(yield func(SliceSpec) bool) {
		for i := range c.Len() {
			if !yield(c.At(i)) {
				return
			}
		}
	}
}

// KeepFirst keeps the first n slices, and those after them that share a window with the last one
// kept: the slices of one window count for the watermark only together. Nothing may be added
// afterwards.
func (c *Cuts) KeepFirst(n int) {
	for n < c.Len() && c.At(n).Span().From == c.At(n-1).Span().From {
		n++
	}
	c.to = c.from + n
}

// DropFirst leaves out the first n slices, but keeps those of them that share a window with the
// first one that is kept.
func (c *Cuts) DropFirst(n int) {
	for n > 0 && c.At(n).Window.From.Equal(c.At(n-1).Window.From) {
		n--
	}
	c.from += n
}
