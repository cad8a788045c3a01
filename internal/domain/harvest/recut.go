package harvest

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// The thresholds at which a slice is cut while it is walked, to spare its source
// (C17). They are advice: where a slice cannot be cut the walk goes on.
const (
	// MaxPagesSoft is how long a walk may be where cutting it costs nothing,
	// MaxPagesHard where what was walked must be walked again.
	MaxPagesSoft = 1000
	MaxPagesHard = 2000
	// MaxStretch is how many times as long as its source declares a walk on
	// tokens or links may become that can be neither cut nor left: a day on
	// which everything was indexed anew in one instant is harvested, a source
	// that makes up records without end is left.
	MaxStretch = 20
	// MaxOldPages is after how many pages in a row that bring nothing new a walk
	// is left, however pages follow each other.
	MaxOldPages = 50
	// MaxThrottled replies 429 within ThrottledSpan are too many.
	MaxThrottled  = 5
	ThrottledSpan = 300 * time.Second
	// MaxPageBytes is the greatest body of a page, 5 MB, of a source that does not
	// have larger ones.
	MaxPageBytes = 5_000_000
	// MaxErrorPercent is what failed tries may not reach of the last ErrorSpan
	// pages; fewer pages are no measure.
	MaxErrorPercent = 5
	ErrorSpan       = 50
)

// CutAdvised reports whether a cut for a code is advice, and not forced.
func CutAdvised(code Code) bool {
	switch code {
	case CutDepth, CutThrottled, CutHeavy, CutErrors, CutBudget:
		return true
	}
	return false
}

// PageCost is what a page cost.
type PageCost struct {
	At        time.Time // when its reply came
	Bytes     int64     // of its body
	Failed    int       // tries before the one that brought it
	Throttled int       // replies 429 among them
}

// Gauge watches the pages of a run for signs that the slice strains its source.
// The zero gauge is ready.
type Gauge struct {
	// MaxBytes is the greatest body of a page, [MaxPageBytes] if 0.
	MaxBytes int64

	bytes     int64 // of the last page
	throttled []time.Time
	failed    []int // by page, the last ErrorSpan of them
}

// Note takes a page into account.
func (g *Gauge) Note(c PageCost) {
	g.bytes = c.Bytes
	for range c.Throttled {
		g.throttled = append(g.throttled, c.At)
	}
	g.throttled = slices.DeleteFunc(g.throttled, func(t time.Time) bool { return c.At.Sub(t) >= ThrottledSpan })
	g.failed = append(g.failed, c.Failed)
	g.failed = g.failed[max(0, len(g.failed)-ErrorSpan):]
}

// Strain is why the slice should be cut, empty if nothing speaks for it.
func (g *Gauge) Strain() Code {
	failed := 0
	for _, n := range g.failed {
		failed += n
	}
	switch {
	case g.bytes > cmp.Or(g.MaxBytes, MaxPageBytes):
		return CutHeavy
	case len(g.throttled) >= MaxThrottled:
		return CutThrottled
	case len(g.failed) == ErrorSpan && failed*100 >= MaxErrorPercent*ErrorSpan:
		return CutErrors
	}
	return ""
}

// Spent reports whether what a slice has cost is what it may cost.
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
	Sized bool
}

// Excess is how much of it came, or did not, that a slice is to be cut for: bytes
// of a reply that was too large, records that a total promised and no page brought,
// ids that came again and again. A smaller slice has less of it, if cutting helps.
type Excess struct {
	Size  int64
	Known bool
	// Volume: it is the bulk of what the window holds, all of which may lie in one
	// half of it.
	Volume bool
}

// CutTrail remembers over the generations of a slice why they were cut.
type CutTrail struct {
	Cause Code `json:"cause"`
	// Size is the least excess of the generations before, where it was known.
	Size int64 `json:"size"`
	// Same counts the generations in a row in which it grew no smaller.
	Same int `json:"same,omitzero"`
	// Of is the window of the first of these.
	Of Window `json:"of"`
}

// MaxSameCuts is how many generations in a row may be cut for one cause without
// having less of it: more cuts do not help then (R82).
const MaxSameCuts = 3

// Trail is what the slices remember that this one is cut into, nil if nothing:
// cuts that are advice lead on, and so does what nobody can measure.
func (r Recut) Trail(code Code, e Excess) *CutTrail {
	w := r.Slice.NominalWindow()
	was := r.Slice.Cut
	switch {
	case CutAdvised(code) || !e.Known:
		return nil
	case was == nil || was.Cause != code || e.Size < was.Size:
		return &CutTrail{Cause: code, Size: e.Size, Of: w}
	}
	return &CutTrail{Cause: code, Size: was.Size, Same: was.Same + 1, Of: was.Of}
}

// Helpless reports whether cutting for the cause has not helped so often that it
// will not.
func (t *CutTrail) Helpless() bool { return t != nil && t.Same >= MaxSameCuts }

// Idle reports whether the cut before has not helped.
func (t *CutTrail) Idle() bool { return t != nil && t.Same > 0 }

// PlanCost is what a plan has cost so far, for whoever wants to cut it further.
type PlanCost struct {
	// Cuts counts the slices that were cut since one was last proven, Done those
	// that ever were, DoneWithin those of them in the window that was asked about.
	Cuts, Done, DoneWithin int64
	// Sent counts the requests for its pages.
	Sent int64
	// Slices counts those it began with, Records what they were counted to hold;
	// both are 0 where nothing was counted.
	Slices, Records int64
}

// Bounds on what a plan may cost that has nothing to show for it (R82). Below
// leastOverSent requests nothing is proven against a source.
const (
	maxVainCuts   = 1000
	maxOverspent  = 10
	leastOverSent = 100
)

// Drifted says why the source of a plan cannot be what its description says,
// empty if it can: so many cuts, or so many requests where a request brings so
// many records, and not one slice proven.
func (c PlanCost) Drifted(perRequest int64) string {
	expected := c.Slices + c.Records/max(1, perRequest)
	switch {
	case c.Cuts > maxVainCuts:
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

// TooDeep reports whether the walk has become too long. Where cutting keeps
// what was walked the soft bound holds, else the hard one; a bound that the
// source declares is both.
func (r Recut) TooDeep() bool {
	soft, hard := MaxPagesSoft, MaxPagesHard
	if n := r.Paging.MaxPages; n > 0 {
		soft, hard = min(soft, n), min(hard, n)
	}
	if r.At.Pages < soft {
		return false
	}
	_, _, proven := r.prefix()
	_, parted := r.atPage()
	return proven || parted || r.At.Pages >= hard
}

// Children are the slices that take the place of this one, which tile what it
// answers for; it reports false if it cannot be cut. code says why it is cut.
//
// A beginning that the walk has proven is split off as done (R13). What is left
// is halved, unless only the length of the walk was too much: then it goes on as
// one. Where nothing is proven all of the window is halved. No child that is to
// be walked is shorter than MinStep, and each is walked with the page size of
// its parent, or half of it if pages were too heavy (R26).
func (r Recut) Children(code Code) ([]Child, bool) {
	if r.Slice.Strategy == StrategyID {
		return nil, false // a list of ids has no walk that could be too long
	}
	size := r.Paging.Size
	if code == CutHeavy {
		if !r.Sized || size < 2 {
			return nil, false
		}
		size /= 2
	}
	long := code == CutDepth || code == CutBudget || code == CodeMaxPages
	if long {
		if kids, ok := r.atPage(); ok {
			return kids, true
		}
	}
	done, rest, proven := r.prefix()
	if !proven {
		a, b, ok := r.halve(r.Slice.Part(), r.Split)
		if !ok {
			return nil, false
		}
		return []Child{{Spec: r.child(a, size)}, {Spec: r.child(b, size)}}, true
	}
	kids := []Child{{Spec: r.child(done, r.Paging.Size), Done: true}}
	if a, b, ok := r.halve(rest, nil); ok && !long {
		return append(kids, Child{Spec: r.child(a, size)}, Child{Spec: r.child(b, size)}), true
	}
	return append(kids, Child{Spec: r.child(rest, size)}), true
}

// halve cuts a part as its slice was cut: by hash buckets alone (HASH), else by
// time and by the second dimension where that is not enough.
func (r Recut) halve(p Part, split *Split) (a, b Part, ok bool) {
	if r.Slice.Strategy == StrategyHash {
		return r.Split.Halve(p)
	}
	return p.Halve(r.Calendar, r.MinStep, split)
}

// prefix is the beginning of the window that the walk has proven: all of the
// grains before that of the last committed update time, since that one may not
// be over. It leaves at least MinStep to be walked.
func (r Recut) prefix() (done, rest Part, ok bool) {
	w := r.Slice.NominalWindow()
	last := r.At.At
	if r.TwoPhase || !r.Slice.Range.Whole() || last.IsZero() || r.At.Unsorted || !last.Before(w.To) {
		return done, rest, false
	}
	p := r.Calendar.Floor(last)
	if r.Calendar.Precision != PrecisionDay {
		if most := r.Calendar.Floor(w.To.Add(-r.MinStep)); p.After(most) {
			p = most
		}
	}
	return PartOf(Window{w.From, p}), PartOf(Window{p, w.To}), p.After(w.From)
}

// atPage parts a walk at the page it has reached, where the place of a page is
// the same for everybody who asks: at a token that is not the server's state, or
// at a number in a result that does not change.
func (r Recut) atPage() ([]Child, bool) {
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
	rest := r.child(p, r.Paging.Size)
	if rest.Strategy == StrategyLandmark {
		rest.Cursor = &CursorSpec{StartToken: r.At.Token, Held: r.At.Held, Seen: r.At.Seen}
	}
	return []Child{{Spec: done, Done: true}, {Spec: rest}}, true
}

// child is the slice over a part of this one.
func (r Recut) child(p Part, size int) SliceSpec {
	c := r.Slice
	w := p.Window()
	c.Window.From = w.From
	c.Window.To = w.To
	c.Range, c.Cursor = p.Range, nil
	if !p.Range.Whole() && (c.Strategy == StrategyTime || c.Strategy == StrategyVolume) {
		c.Strategy = StrategyHybrid
	}
	if size != r.Paging.Size {
		c.PageSize = size
	}
	h := SliceHints{ExpectedPageSize: size}
	if old := r.Slice.Hints; old != nil {
		h.SafetyLagSec, h.Explore = old.SafetyLagSec, old.Explore
		if w.From.Equal(r.Slice.Window.From) { // late records lie before the whole, not between its parts
			h.OverlapSec = old.OverlapSec
		}
	}
	c.Hints = &h
	return c
}
