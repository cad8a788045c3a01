package harvest

import (
	"context"
	"fmt"
)

// A source may part its ids into hash buckets: bucket b of n holds those whose
// hash leaves the remainder b when divided by n. Every id is in one bucket of
// n, and bucket b of n holds what the buckets b and b+n of 2n hold together.
// That is how they are cut, from the one bucket that is all, so that n is a
// power of two.

// MaxBuckets is the most buckets a source may declare.
const MaxBuckets = 1 << 20

// NewBucket is bucket no of so many.
func NewBucket(no, of int64) Range {
	r := NewRange(RangeBucket, no, no+1)
	r.Of = of
	return r
}

// Bucket is the bucket that a range is, 0 of 1 if it is none.
func (r Range) Bucket() (no, of int64) {
	if r.Of == 0 {
		return 0, 1
	}
	return r.From, r.Of
}

// checkBucket checks what is stored as a bucket.
func (r Range) checkBucket() error {
	switch {
	case r.Key != RangeBucket || r.From < 0 || r.From >= r.Of || r.To != r.From+1:
		return fmt.Errorf("%s is not a bucket", r)
	case r.Of < 2 || r.Of > MaxBuckets || r.Of&(r.Of-1) != 0:
		return fmt.Errorf("%s: the number of buckets is not a power of two from 2 to %d", r, MaxBuckets)
	}
	return nil
}

// halveBucket cuts a bucket in two, unless there would be more than the source has.
func (s *Split) halveBucket(p Part) (a, b Part, ok bool) {
	no, of := p.Range.Bucket()
	if 2*of > s.Buckets {
		return Part{}, Part{}, false
	}
	a, b = p, p
	a.Range, b.Range = NewBucket(no, 2*of), NewBucket(no+of, 2*of)
	return a, b, true
}

// tileBuckets checks that the parts of one window hold each id of bucket no of
// so many once: they are that bucket, or they tile its two halves.
func tileBuckets(no, of int64, parts []Part) error {
	if len(parts) == 0 {
		return fmt.Errorf("nothing holds %s", NewBucket(no, of))
	}
	if b, n := parts[0].Range.Bucket(); len(parts) == 1 && b == no && n == of {
		return nil
	}
	var lower, upper []Part
	for _, p := range parts {
		switch b, n := p.Range.Bucket(); {
		case b%of != no || n < of:
			return fmt.Errorf("%s lies outside %s", p.Range, NewBucket(no, of))
		case n == of:
			return fmt.Errorf("%s overlaps others", p.Range)
		case b%(2*of) == no:
			lower = append(lower, p)
		default:
			upper = append(upper, p)
		}
	}
	if err := tileBuckets(no, 2*of, lower); err != nil {
		return err
	}
	return tileBuckets(no+of, 2*of, upper)
}

// HashStrategy cuts by hash buckets alone, for a source whose dates are no help:
// every slice is over the whole window and holds the ids of one bucket.
type HashStrategy struct{}

// Code of the strategy.
func (HashStrategy) Code() StrategyCode { return StrategyHash }

// Slice cuts r.Span into as many buckets as it takes. The slices of one window
// stay together: MaxSlices is no bound here, [Split.Buckets] is.
func (HashStrategy) Slice(ctx context.Context, r SliceRequest, take func(SliceSpec)) error {
	if err := r.check(); err != nil {
		return err
	}
	if r.Split == nil || r.Split.Buckets == 0 {
		return fmt.Errorf("strategy %s needs a source that has hash buckets", StrategyHash)
	}
	c := cutter{SliceRequest: r, take: take, strategy: StrategyHash}
	all := Part{Span: r.Span}
	e, err := c.estimateOf(ctx, all)
	if err != nil {
		return err
	}
	if err := c.cutRange(ctx, all, e, c.limit()); err != nil {
		return err
	}
	c.flush()
	return nil
}
