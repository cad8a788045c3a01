package harvest

import (
	"fmt"
	"time"
)

// Bounds of walks that are the same for every source.
const (
	// MaxStretch bounds a walk on tokens or links that is longer than its source
	// declares and cannot be cut: it goes on up to so many times the declared
	// length. That is enough for a day on which a source indexed everything anew
	// in one instant, and an end for one that makes up records without end.
	MaxStretch = 20
	// MaxOldPages is how many pages in a row may bring nothing new before a walk is
	// left, by whatever paging.
	MaxOldPages = 50
)

// CutAdvised reports whether a cut for a code is only advised, so that the walk may
// go on where the slice cannot be cut.
func CutAdvised(code Code) bool {
	switch code {
	case CutDepth, CutThrottled, CutHeavy, CutErrors, CutBudget, CutEstimate, CutSlow:
		return true
	}
	return false
}

// CutForSize reports whether slices are cut for a code because they are too large, which
// says nothing against the source.
func CutForSize(code Code) bool {
	switch code {
	case CodeOverWall, CodeMaxPages, CodeNothingNew, CodeOneReply, CodeTooLarge:
		return true
	}
	return CutAdvised(code)
}

// Spent reports whether a slice has cost as much as it may.
func (b *BudgetSpec) Spent(requests int, records int64, d time.Duration) bool {
	if b == nil {
		return false
	}
	return b.MaxRequests > 0 && requests >= b.MaxRequests ||
		b.MaxRecords > 0 && records >= b.MaxRecords ||
		b.MaxDurationSec > 0 && d >= time.Duration(b.MaxDurationSec)*time.Second
}

// Recut is a slice that is to be cut again, with what is known of its walk.
type Recut struct {
	Slice SliceSpec
	// Paging by which the slice is walked, and where the walk stood after its
	// last committed page: zero if nothing of it counts.
	Paging Paging
	At     Position
	// TwoPhase: the pages hold ids whose details were not asked for, so that
	// nothing of the walk counts.
	TwoPhase bool
	Calendar Calendar
	MinStep  time.Duration
	// Split is the second dimension, nil if ids are not to be cut; of HASH it is
	// the only one.
	Split *Split
	// Sized: the source gives pages of the size it is asked for.
	Sized  bool
	Limits CutLimits
}

// Excess measures what a slice is to be cut for: the bytes of a reply that was too
// large, the records that a total promised and no page brought, the ids that came
// again and again. If cutting helps, a smaller slice has less of it.
type Excess struct {
	Size  int64
	Known bool
	// Volume: it is measured in what the window holds, all of which may lie in one
	// half of it. That half has no less of it then, and yet cutting helps.
	Volume bool
}

// CutTrail remembers over the generations of a slice why they were cut, so that
// cutting ends where it does not help:
//
//	slice           excess 900    the first cut
//	 '- child       excess 400    less: that cut has helped
//	     '- child   excess 400    no less: VainCuts 1
//	         '- ...               VainCuts 3: it is not cut again, and becomes a gap
type CutTrail struct {
	Cause Code `json:"cause"`
	// Size is the least excess of the generations so far, where it was known.
	Size int64 `json:"size"`
	// VainCuts counts the generations in a row in which the excess grew no smaller.
	VainCuts int `json:"same,omitzero"`
	// Of is the window of the first of these generations.
	Of Window `json:"of"`
}

// MaxVainCuts is how many generations in a row may be cut for one cause without
// having less of it. Further cuts will not help then (R82).
const MaxVainCuts = 3

// NextTrail is the trail of the slices that this one is cut into. It is nil where
// cuts need no end: those that are only advised, and those for what nobody measures.
func (r Recut) NextTrail(code Code, e Excess) *CutTrail {
	w := r.Slice.NominalWindow()
	was := r.Slice.Cut
	switch {
	case CutAdvised(code) || !e.Known:
		return nil
	case was == nil || was.Cause != code || e.Size < was.Size:
		return &CutTrail{Cause: code, Size: e.Size, Of: w}
	}
	return &CutTrail{Cause: code, Size: was.Size, VainCuts: was.VainCuts + 1, Of: was.Of}
}

// Hopeless reports whether so many cuts for the cause were in vain that no further
// one will help.
func (t *CutTrail) Hopeless() bool { return t != nil && t.VainCuts >= MaxVainCuts }

// Vain reports whether the cut before has not helped.
func (t *CutTrail) Vain() bool { return t != nil && t.VainCuts > 0 }

// PlanCost is what a plan has cost so far, for whoever wants to cut it further.
type PlanCost struct {
	// Cuts counts the slices that were cut since one was last proven.
	Cuts int64
	// Done counts the slices that are proven, DoneWithin those of them that lie in
	// the window that was asked about.
	Done, DoneWithin int64
	// Sent counts the requests for the plan's pages.
	Sent int64
	// Slices counts those the plan began with, Records what they were counted to
	// hold. Both are 0 where nothing was counted.
	Slices, Records int64
}

// Bounds on what a plan may cost that has no slice proven (R82). Fewer than
// leastOverSent requests say nothing against a source.
const (
	maxUnprovenCuts = 1000
	maxOverspent    = 10
	leastOverSent   = 100
)

// Drifted says why the source of a plan cannot be what its description says, empty
// if it can. Too many cuts in a row with no slice proven say so, and too many
// requests by what was counted, if a request brings perRequest records.
func (c PlanCost) Drifted(perRequest int64) string {
	expected := c.Slices + c.Records/max(1, perRequest)
	switch {
	case c.Cuts > maxUnprovenCuts:
		return fmt.Sprintf("%d slices were cut one after the other and none was complete", c.Cuts)
	case c.Done == 0 && c.Slices > 0 && c.Sent >= max(leastOverSent, maxOverspent*expected):
		return fmt.Sprintf("%d requests were sent where about %d were expected, and no slice was complete", c.Sent, expected)
	}
	return ""
}

// Child is a slice that takes the place of a part of another.
type Child struct {
	Spec SliceSpec
	// Done: the pages its parent has committed prove it complete.
	Done bool
}

// TooDeep reports whether the walk has become too long. Where a cut keeps what was
// walked the soft bound holds, else the hard one. A bound that the source declares
// lowers both.
func (r Recut) TooDeep() bool {
	limits := r.Limits.filled()
	soft, hard := limits.PagesSoft, limits.PagesHard
	if n := r.Paging.MaxPages; n > 0 {
		soft, hard = min(soft, n), min(hard, n)
	}
	if r.At.Pages < soft {
		return false
	}
	_, _, proven := r.provenPrefix()
	_, parted := r.partAtPage()
	return proven || parted || r.At.Pages >= hard
}

// leastOverEstimate is how many pages a walk has at least before it is held against what
// was expected: of a few an estimate may be wrong by any factor.
const leastOverEstimate = 50

// BeyondEstimate reports whether the walk has brought far more than the slice was
// expected to hold. What it reads of the time before it, for what came late, is taken to
// be as dense as the slice. Of slices cut off another nothing is expected, and what a first
// page says is too little to be held to: without a total it is that page alone.
func (r Recut) BeyondEstimate() bool {
	h := r.Slice.Hints
	if h == nil || h.EstimatedBy == "" || h.EstimatedBy == ByFirstPage || r.Limits.OverEstimate <= 0 || r.At.Pages < leastOverEstimate {
		return false
	}
	expected := float64(max(h.ExpectedRecords, int64(r.Paging.Size)))
	if nominal := r.Slice.NominalWindow().Duration(); nominal > 0 {
		expected *= r.Slice.RequestWindow().Duration().Seconds() / nominal.Seconds()
	}
	return float64(r.At.Seen) >= expected*float64(r.Limits.OverEstimate)
}

// Children are the slices that take the place of this one, and together answer for
// all that it answers for. It reports false if the slice cannot be cut. code says
// why it is cut.
//
//	the slice               |------------walked------------|------not walked yet-----|
//	a beginning is proven   |----------done----------|-------a-------|-------b-------|
//	   but only too long    |----------done----------|---------------a---------------|
//	nothing is proven       |-------------a-------------|-------------b--------------|
//	parted at its page      |------pages so far, done------|----pages from here on---|
//
// A beginning that the walk has proven is split off as done (R13), up to the grain
// of the last item, which may not be over. The remainder is halved, unless only the
// length of the walk was too much: then it goes on as one. No child that is to be
// walked is shorter than MinStep, and each is walked with the page size of its
// parent, or half of it if pages were too heavy (R26).
func (r Recut) Children(code Code) ([]Child, bool) {
	if r.Slice.ByID() {
		return r.halveIDs(code)
	}
	if r.Slice.Strategy == StrategyID {
		return nil, false // a list of ids has no walk that could be too long
	}
	if r.Paging.NewestFirst {
		return nil, false // a smaller window is read from the newest record as well
	}
	size := r.Paging.Size
	if code == CutHeavy || code == CutSlow {
		if !r.Sized || size < leastSize(code) {
			return nil, false
		}
		size /= 2
	}
	tooLong := code == CutDepth || code == CutBudget || code == CodeMaxPages
	if tooLong {
		if kids, ok := r.partAtPage(); ok {
			return kids, true
		}
	}
	done, remainder, proven := r.provenPrefix()
	if !proven {
		a, b, ok := r.halve(r.Slice.Part(), r.Split)
		if !ok {
			return nil, false
		}
		return []Child{{Spec: r.child(a, size)}, {Spec: r.child(b, size)}}, true
	}
	kids := []Child{{Spec: r.child(done, r.Paging.Size), Done: true}}
	if a, b, ok := r.halve(remainder, nil); ok && !tooLong {
		return append(kids, Child{Spec: r.child(a, size)}, Child{Spec: r.child(b, size)}), true
	}
	return append(kids, Child{Spec: r.child(remainder, size)}), true
}

// leastSize is how large a page is at least that is made smaller for a code. What takes
// long takes no less long in crumbs.
func leastSize(code Code) int {
	if code == CutSlow {
		return 20
	}
	return 2
}

// halveIDs are the halves of a slice that is a range of a source's ids.
func (r Recut) halveIDs(code Code) ([]Child, bool) {
	of := r.Slice.Range
	if of.To-of.From < 2 {
		return nil, false
	}
	size := r.Paging.Size
	if code == CutHeavy || code == CutSlow {
		if !r.Sized || size < leastSize(code) {
			return nil, false
		}
		size /= 2
	}
	mid := of.From + (of.To-of.From)/2
	var kids []Child
	for _, half := range []Range{NewRange(of.Key, of.From, mid), NewRange(of.Key, mid, of.To)} {
		c := NewIDSlice(half.Key, half.From, half.To, size)
		c.Budget = r.Slice.Budget
		c.Cut = r.Slice.Cut
		c.PageSize = r.Slice.PageSize
		if size != r.Paging.Size {
			c.PageSize = size
		}
		c.Hints.ExpectedRecords = 0
		kids = append(kids, Child{Spec: c})
	}
	return kids, true
}

// halve cuts a part as its slice was cut: by hash buckets alone (HASH), else by
// time and by the second dimension where that is not enough.
func (r Recut) halve(p Part, split *Split) (a, b Part, ok bool) {
	if r.Slice.Strategy == StrategyHash {
		return r.Split.Halve(p)
	}
	return p.Halve(r.Calendar, r.MinStep, split)
}

// provenPrefix parts the window at what the walk has proven: all grains before that
// of the last committed update time, since that one may not be over. The remainder
// is at least MinStep long. It reports false if nothing is proven.
func (r Recut) provenPrefix() (done, remainder Part, ok bool) {
	w := r.Slice.NominalWindow()
	last := r.At.At
	if r.TwoPhase || !r.Slice.Range.Whole() || last.IsZero() || r.At.Unsorted || !last.Before(w.To) {
		return done, remainder, false
	}
	cut := r.Calendar.Floor(last)
	if r.Calendar.Precision != PrecisionDay {
		if latest := r.Calendar.Floor(w.To.Add(-r.MinStep)); cut.After(latest) {
			cut = latest
		}
	}
	return PartOf(Window{w.From, cut}), PartOf(Window{cut, w.To}), cut.After(w.From)
}

// partAtPage parts a walk at the page it has reached: what was walked is done, and
// the pages from there on are a slice of their own. That needs pages which are the
// same for everybody who asks: at a token that is not the server's state, or at a
// number in a result that does not change.
func (r Recut) partAtPage() ([]Child, bool) {
	var at int64
	switch s := r.Slice.Strategy; {
	case s == StrategyLandmark && r.Paging.Type == PageToken && !r.Paging.Stateful && r.At.Token != "":
		at = r.At.Before + int64(r.At.Pages)
	case s == StrategyPage && r.Paging.Type == PageNumber && r.Paging.Snapshot && len(r.At.Held) == 0:
		at = int64(r.At.Page)
	}
	of := r.Slice.Range
	if r.TwoPhase || r.At.Pages == 0 || at <= of.From || of.To > 0 && at >= of.To {
		return nil, false
	}
	p := r.Slice.Part()
	p.Range = NewRange(RangePage, of.From, at)
	done := r.child(p, r.Paging.Size)
	done.Cursor = r.Slice.Cursor
	p.Range = NewRange(RangePage, at, of.To)
	remainder := r.child(p, r.Paging.Size)
	if remainder.Strategy == StrategyLandmark {
		remainder.Cursor = &CursorSpec{StartToken: r.At.Token, Held: r.At.Held, Seen: r.At.Seen}
	}
	return []Child{{Spec: done, Done: true}, {Spec: remainder}}, true
}

// child is the slice over a part of this one.
func (r Recut) child(p Part, size int) SliceSpec {
	c := r.Slice
	w := p.Window()
	c.Window.From = w.From
	c.Window.To = w.To
	if c.Window != (WindowSpec{}) {
		c.Window.Timezone = boundsZone
	}
	c.Range, c.Cursor = p.Range, nil
	if !p.Range.Whole() && (c.Strategy == StrategyTime || c.Strategy == StrategyVolume) {
		c.Strategy = StrategyHybrid
	}
	if size != r.Paging.Size {
		c.PageSize = size
	}
	h := SliceHints{ExpectedPageSize: size, Timezone: hintedZone(r.Slice.zone())}
	if old := r.Slice.Hints; old != nil {
		h.SafetyLagSec, h.Explore, h.Order = old.SafetyLagSec, old.Explore, old.Order
		if w.From.Equal(r.Slice.Window.From) { // late records lie before the whole, not between its parts
			h.OverlapSec = old.OverlapSec
		}
	}
	c.Hints = &h
	return c
}
