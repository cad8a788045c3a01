package planner

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// room is what may be added to what is open.
type room struct {
	// slices that may be added, of the most that may be open.
	slices, most int
	// requests are what the quotas of a day and longer leave beside what open
	// tasks will take. That is advice (R38): it is the gate that keeps to them.
	requests int64
	// scarce: that is less than half of a quota.
	scarce bool
	// spoken says which quota bounds the requests; empty if none does.
	spoken string
}

// room looks at what is open: at the slices of the operation, and at what of the
// quotas the tasks will take that go before this plan or with it (C1). Those
// after it will wait for it.
func (j *job) room(ctx context.Context) (room, error) {
	r := room{most: cmp.Or(j.spec.Window.MaxOpen, 10_000), requests: math.MaxInt64}
	open, err := j.backlog.OpenSlices(ctx, j.t.Provenance, j.t.Operation)
	if err != nil {
		return r, err
	}
	r.slices = max(0, r.most-int(open))
	for _, q := range j.allowed(ctx).Quotas {
		if q.Window.D() < 24*time.Hour {
			continue
		}
		taken, err := j.backlog.Reserved(ctx, j.t.Provenance, cmp.Or(j.t.Priority, j.t.Operation.Priority()))
		if err != nil {
			return r, err
		}
		all := max(1, q.Limit/j.cost())
		left := all - taken.Pages
		if j.spec.TwoPhase() && j.t.Operation != harvest.Update {
			left -= ceil(taken.Records, j.ids())
		}
		left = max(0, left)
		r.scarce = r.scarce || 2*left < all
		if left < r.requests {
			r.requests, r.spoken = left, fmt.Sprintf("the quota of %d per %s is spoken for by open tasks", q.Limit, q.Window.D())
			if taken.WaitsUntil.After(taken.Now) {
				r.spoken += " that wait until " + harvest.FormatInstant(taken.WaitsUntil)
			}
		}
	}
	return r, nil
}

// none reports whether nothing may be added to a new plan. One that was begun
// waits for half of the quotas: else each of its slices that is done would be
// counted for anew.
func (r room) none(begun bool) bool { return r.slices == 0 || r.requests == 0 || begun && r.scarce }

// after is the room that is left when so many slices were added.
func (r room) after(n int) room {
	r.slices = max(0, r.slices-n)
	return r
}

// reason says what planning waits for: it goes on from there, or with what there is.
func (r room) reason(from string) string {
	if r.slices > 0 && r.spoken != "" {
		return r.spoken + "; planning goes on" + from + " when some of them are done"
	}
	return fmt.Sprintf("%d slices are open, the bound is %d; planning goes on%s when there are fewer", r.most-r.slices, r.most, from)
}

// fits is how many of the slices the requests are enough for, first to last or
// last to first. One always is: nobody else is asked for it before.
func (j *job) fits(r room, specs []harvest.SliceSpec) int {
	n := 0
	for left := r.requests; n < len(specs); n++ {
		at := n
		if j.backward() {
			at = len(specs) - 1 - n
		}
		left -= j.requests(specs[at])
		if left < 0 && n > 0 {
			break
		}
	}
	return min(n, r.slices)
}

// requests that a slice takes at least.
func (j *job) requests(s harvest.SliceSpec) int64 {
	if j.t.Operation == harvest.Update {
		return ceil(s.Hints.ExpectedRecords, j.ids())
	}
	return j.spec.Requests(s.Hints.ExpectedRecords)
}

// allowed is what its requests may be.
func (j *job) allowed(ctx context.Context) source.Rate {
	if j.t.Operation == harvest.Update {
		return j.up.Allowed(ctx, j.spec, source.Call{Purpose: source.ForDetail, BaseURL: j.t.BaseURL})
	}
	return j.up.Allowed(ctx, j.spec, source.Call{Purpose: source.ForSearch, BaseURL: j.t.BaseURL})
}

// cost of one of them in units of the quotas.
func (j *job) cost() int64 {
	if j.t.Operation == harvest.Update {
		return int64(max(1, j.spec.Detail.Cost))
	}
	return int64(max(1, j.spec.Search.Cost))
}

// ids that are asked for at once.
func (j *job) ids() int64 { return int64(max(1, j.spec.Batching.IDs)) }

func (j *job) backward() bool { return j.t.Operation.Direction() == harvest.Backward }

func ceil(n, of int64) int64 { return (n + of - 1) / of }
