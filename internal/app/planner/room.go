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

// room is what may be added to the work that is open.
type room struct {
	// slices is how many may be added, most how many may be open at all.
	slices, most int
	// requests are what the quotas of a day and longer leave beside what open
	// tasks will take. It only keeps plans from being made too early: that no quota
	// is overdrawn is the rate gate's doing (R38).
	requests int64
	// scarce: some quota has less than half of its requests left.
	scarce bool
	// quotaReason says which quota bounds the requests; empty if none does.
	quotaReason string
	// hint is how many requests the rate gate could let out within the horizon, 0 if
	// nothing bounds them.
	hint int64
}

// planHorizon is how far ahead a plan reckons with what the rate gate lets out.
const planHorizon = 24 * time.Hour

// findRoom looks at what is open: at the slices of the operation, and at how much of
// the quotas is taken by tasks that go before this plan or with it. Tasks of a lower
// priority take nothing away: they will wait for this plan (C1). Nor does any task take
// away what is the operation's own share.
func (pl *planning) findRoom(ctx context.Context) (room, error) {
	r := room{most: cmp.Or(pl.spec.Window.MaxOpen, 10_000), requests: math.MaxInt64}
	open, err := pl.backlog.OpenSlices(ctx, pl.t.Provenance, pl.t.Operation)
	if err != nil {
		return r, err
	}
	r.slices = max(0, r.most-int(open))
	advice, err := pl.up.Estimate(ctx, pl.spec, pl.firstCall(), planHorizon)
	if err != nil {
		return r, err
	}
	if advice.Requests < math.MaxInt64 {
		r.hint = advice.Requests
	}
	if advice.OfQuotas == math.MaxInt64 {
		return r, nil
	}
	taken, err := pl.backlog.Reserved(ctx, pl.t.Provenance, pl.t.Operation, pl.budget().Priority)
	if err != nil {
		return r, err
	}
	all := max(1, advice.OfQuotas)
	enough := all
	if advice.Least > 0 {
		enough = min(all, advice.Least)
	}
	r.requests = max(0, all-pl.requestsOf(taken.OpenWork), advice.Least-pl.requestsOf(taken.Own))
	r.scarce = 2*r.requests < enough
	r.quotaReason = fmt.Sprintf("the quota of %d per %s is spoken for by open tasks", advice.Tightest.Limit, advice.Tightest.Window)
	if taken.WaitsUntil.After(taken.Now) {
		r.quotaReason += " that wait until " + harvest.FormatInstant(taken.WaitsUntil)
	}
	return r, nil
}

// requestsOf is how many requests open work takes.
func (pl *planning) requestsOf(w harvest.OpenWork) int64 {
	if pl.spec.TwoPhase() && pl.t.Operation != harvest.Update {
		return w.Pages + divideUp(w.Records, pl.idsPerRequest()) // the details of what is found
	}
	return w.Pages
}

// exhausted reports whether nothing may be added. A plan that was begun waits until
// half of each quota is left: else it would be extended, and counted for, each time
// that one of its slices is done.
func (r room) exhausted(begun bool) bool {
	return r.slices == 0 || r.requests == 0 || begun && r.scarce
}

// less is the room that is left when so many slices were added.
func (r room) less(n int) room {
	r.slices = max(0, r.slices-n)
	return r
}

// reason says what planning waits for. from, if not empty, names the mark from which
// it will go on.
func (r room) reason(from string) string {
	if r.slices > 0 && r.quotaReason != "" {
		return r.quotaReason + "; planning goes on" + from + " when some of them are done"
	}
	return fmt.Sprintf("%d slices are open, the bound is %d; planning goes on%s when there are fewer", r.most-r.slices, r.most, from)
}

// countFitting counts the slices that there is room for, in the order in which they
// are read. One always fits, however many requests it takes: it would never be
// planned otherwise.
func (pl *planning) countFitting(r room, cuts *harvest.Cuts) int {
	n := 0
	for left := r.requests; n < cuts.Len(); n++ {
		at := n
		if pl.backward() {
			at = cuts.Len() - 1 - n
		}
		left -= cuts.At(at).Hints.ExpectedRequests
		if left < 0 && n > 0 {
			break
		}
	}
	return min(n, r.slices)
}

// requestsFor is how many requests a slice takes. What it reads of the time before it,
// for what came late, is taken to be as dense as the slice.
func (pl *planning) requestsFor(s harvest.SliceSpec) int64 {
	if pl.t.Operation == harvest.Update {
		return divideUp(s.Hints.ExpectedRecords, pl.idsPerRequest())
	}
	records := s.Hints.ExpectedRecords
	if nominal := s.NominalWindow().Duration(); nominal > 0 {
		records = int64(math.Ceil(float64(records) * s.RequestWindow().Duration().Seconds() / nominal.Seconds()))
	}
	return pl.spec.Requests(records)
}

// expectRequests writes into a slice how many requests it takes, and how many could go out
// when it was planned; beside it, in which order pages are declared to come.
func (pl *planning) expectRequests(s harvest.SliceSpec, r room) {
	s.Hints.ExpectedRequests = pl.requestsFor(s)
	s.Hints.BudgetHint = r.hint
	if pl.t.Operation != harvest.Update {
		s.Hints.Order = pl.spec.Paging.Order
	}
}

// firstCall is one of the requests that the plan asks for.
func (pl *planning) firstCall() source.Call {
	if pl.t.Operation == harvest.Update {
		return source.Call{Purpose: source.ForDetail, BaseURL: pl.t.BaseURL}
	}
	return source.Call{Purpose: source.ForSearch, BaseURL: pl.t.BaseURL}
}

// allowedRate is how often the source may be asked what the plan asks for.
func (pl *planning) allowedRate(ctx context.Context) source.Rate {
	return pl.up.Allowed(ctx, pl.spec, pl.firstCall())
}

// requestCost is what one request of the plan costs, in units of the quotas.
func (pl *planning) requestCost() int64 {
	if pl.t.Operation == harvest.Update {
		return int64(max(1, pl.spec.Detail.Cost))
	}
	return int64(max(1, pl.spec.Search.Cost))
}

// idsPerRequest is how many ids one request for details may name.
func (pl *planning) idsPerRequest() int64 { return int64(max(1, pl.spec.Batching.IDs)) }

// backward reports whether the operation reads its newest slices first.
func (pl *planning) backward() bool { return pl.t.Operation.Direction() == harvest.Backward }

// divideUp is n divided by of, rounded up.
func divideUp(n, of int64) int64 { return (n + of - 1) / of }
