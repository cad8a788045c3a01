package harvest

import (
	"cmp"
	"slices"
	"time"
)

// CutLimits are the thresholds at which a slice is cut while it is walked, to spare
// its source (C17). They are advice: where a slice cannot be cut the walk goes on.
// What is 0 is as [DefaultCuts] has it: what is much for one source is nothing for
// another, so each may have its own (R69).
type CutLimits struct {
	// PagesSoft is how long a walk may be where cutting it costs nothing, PagesHard
	// where what was walked must be walked again.
	PagesSoft int
	PagesHard int
	// PageBytes is how large the body of a page may be.
	PageBytes int64
	// Throttled is how many replies with status 429 within ThrottledWithin are too
	// many.
	Throttled       int
	ThrottledWithin time.Duration
	// FailedPercent is how many failed tries for each hundred of the last FailedOver
	// pages are too many. Before there were as many pages nothing is judged.
	FailedPercent int
	FailedOver    int
	// RetryAfterSum is for how long, all in all, the source may ask to be left alone, and
	// WalkTime how long a run may walk. 0 means that nothing is cut for it.
	RetryAfterSum time.Duration
	WalkTime      time.Duration
	// OverEstimate is how many times as many records as were expected a walk may bring,
	// and SlowPage how long a page may take in the mean. 0 means that nothing is cut for it.
	OverEstimate int
	SlowPage     time.Duration
}

// DefaultCuts are the thresholds of a source that has none of its own.
func DefaultCuts() CutLimits {
	return CutLimits{
		PagesSoft: 1000, PagesHard: 2000, PageBytes: 5_000_000,
		Throttled: 5, ThrottledWithin: 300 * time.Second, FailedPercent: 5, FailedOver: 50,
		RetryAfterSum: 30 * time.Minute, WalkTime: 6 * time.Hour, OverEstimate: 10,
	}
}

// filled has the defaults where nothing is said.
func (l CutLimits) filled() CutLimits {
	d := DefaultCuts()
	return CutLimits{
		PagesSoft:       cmp.Or(l.PagesSoft, d.PagesSoft),
		PagesHard:       cmp.Or(l.PagesHard, d.PagesHard),
		PageBytes:       cmp.Or(l.PageBytes, d.PageBytes),
		Throttled:       cmp.Or(l.Throttled, d.Throttled),
		ThrottledWithin: cmp.Or(l.ThrottledWithin, d.ThrottledWithin),
		FailedPercent:   cmp.Or(l.FailedPercent, d.FailedPercent),
		FailedOver:      cmp.Or(l.FailedOver, d.FailedOver),
		RetryAfterSum:   l.RetryAfterSum,
		WalkTime:        l.WalkTime,
		OverEstimate:    l.OverEstimate,
		SlowPage:        l.SlowPage,
	}
}

// PageCost is what a page cost.
type PageCost struct {
	At        time.Time // when its reply came
	Bytes     int64     // of its body
	Failed    int       // tries before the one that brought it
	Throttled int       // replies 429 among them
	// RetryAfter is for how long the replies asked to be left alone, together.
	RetryAfter time.Duration
	// Took is how long the source took for it, 0 if that is not known.
	Took time.Duration
}

// slowOver is of how many pages the mean is taken.
const slowOver = 10

// Gauge watches the pages of a slice for signs that it strains its source. The zero gauge
// is ready; a run begins with what the pages of the runs before it cost.
type Gauge struct {
	Limits CutLimits
	// Begun is when the run began.
	Begun time.Time

	bytes     int64 // of the last page
	throttled []time.Time
	failed    []int // by page, the last FailedOver of them
	// retryAfter is the sum over all pages, newest is when the last of them came.
	retryAfter time.Duration
	newest     time.Time
	// took are those of the last pages of this run.
	took []time.Duration
}

// Note takes a page into account.
func (g *Gauge) Note(c PageCost) {
	limits := g.Limits.filled()
	g.bytes = c.Bytes
	g.retryAfter += c.RetryAfter
	g.newest = c.At
	if c.Took > 0 {
		g.took = append(g.took, c.Took)
		g.took = g.took[max(0, len(g.took)-slowOver):]
	}
	for range c.Throttled {
		g.throttled = append(g.throttled, c.At)
	}
	g.throttled = slices.DeleteFunc(g.throttled, func(t time.Time) bool { return c.At.Sub(t) >= limits.ThrottledWithin })
	g.failed = append(g.failed, c.Failed)
	g.failed = g.failed[max(0, len(g.failed)-limits.FailedOver):]
}

// Strain is the sign that the slice strains its source, empty if there is none.
func (g *Gauge) Strain() Code {
	limits := g.Limits.filled()
	failed := 0
	for _, n := range g.failed {
		failed += n
	}
	switch {
	case g.bytes > limits.PageBytes:
		return CutHeavy
	case len(g.throttled) >= limits.Throttled:
		return CutThrottled
	case len(g.failed) == limits.FailedOver && failed*100 >= limits.FailedPercent*limits.FailedOver:
		return CutErrors
	case limits.RetryAfterSum > 0 && g.retryAfter >= limits.RetryAfterSum:
		return CutThrottled
	case limits.WalkTime > 0 && !g.Begun.IsZero() && g.newest.Sub(g.Begun) >= limits.WalkTime:
		return CutBudget
	case limits.SlowPage > 0 && len(g.took) == slowOver && MeanOf(g.took) > limits.SlowPage:
		return CutSlow
	}
	return ""
}

// MeanOf is the mean of some times, 0 of none.
func MeanOf(took []time.Duration) time.Duration {
	if len(took) == 0 {
		return 0
	}
	var sum time.Duration
	for _, d := range took {
		sum += d
	}
	return sum / time.Duration(len(took))
}
