package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/pace"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/domain/trace"
)

// fallbackAfter is how long the store is waited for where there is a fallback.
const fallbackAfter = 10 * time.Second

// tellStore makes a visit for nothing but to tell the store what it is owed: a 429 must
// stop the others even if our own caller is leaving. It reports whether the rate was
// lowered by it.
func (g *Gate) tellStore(ctx context.Context, r source.Rate, k *key) (lowered bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	v, err := g.visit(ctx, r, k, 1, func(s pace.State, _ pace.Limit, _, _ time.Time, _ bool) pace.State { return s })
	return err == nil && v.lowered
}

// view is what a visit saw.
type view struct {
	epoch int64
	// voided is closed when the epoch grows past the one seen.
	voided <-chan struct{}
	// lowered: what was owed to the store has lowered the rate.
	lowered bool
}

// change makes a new state, under the limit that holds. lost says that the state is that
// of the fallback, because the store could not be reached.
type change func(s pace.State, l pace.Limit, now, asked time.Time, lost bool) pace.State

// visit updates the state of k in the store: first with what is owed, then by f, which
// may run more than once. If the store is lost, the state of the fallback is updated
// instead, where there may be one.
func (g *Gate) visit(ctx context.Context, r source.Rate, k *key, cost int, f change) (v view, err error) {
	if err := k.lockVisits(ctx); err != nil {
		return view{}, err
	}
	defer k.unlockVisits()
	asking := ctx
	ownLimit, mayGoOn := g.shareWithoutStore(r, cost)
	if mayGoOn { // else there is nothing to do but wait for the store
		var cancel context.CancelFunc
		asking, cancel = context.WithTimeout(ctx, fallbackAfter)
		defer cancel()
	}
	owed := k.takeOwed()
	fences := k.heldFences()
	var here, heard time.Time
	var quiet time.Duration
	var left map[int64]time.Duration
	var stands Standing
	var ceiling pace.Ceiling
	var pass pace.Pass
	err = g.store.UpdateGate(asking, r.Key, func(b []byte, now, asked time.Time) []byte {
		l := g.limit(r)
		s := parseState(b)
		before := pace.Stands(s, l, now).PerSecond
		cutBefore := s.CutAt
		// Requests that are over are not in flight when a reply tells what is left.
		for _, fence := range owed.seats {
			s = pace.GiveSeatBack(s, fence)
		}
		for _, o := range owed.outcomes {
			s = pace.Apply(s, l, now, o)
		}
		// At the least rate there is, a complaint lowers nothing any more.
		stands.Lowered = s.CutAt.After(cutBefore) && pace.Stands(s, l, now).PerSecond < before
		for _, slot := range owed.slots {
			s = pace.Refund(s, slot)
		}
		if owed.leftQueue {
			s = pace.LeaveQueue(s, g.who)
		}
		left = map[int64]time.Duration{}
		for _, fence := range fences {
			s, left[fence] = pace.RenewSeat(s, l, fence, now)
		}
		s = f(s, l, now, asked, false)
		stands.Standing = pace.Stands(s, l, now)
		v.epoch = s.Epoch
		here = time.Now()
		heard = asked
		quiet = max(s.CooldownUntil.Sub(now), s.EmptyUntil.Sub(now), 0)
		ceiling = s.Ceiling
		pass = pace.PassOf(s, l, now)
		return formatState(s)
	})
	if err == nil {
		k.visitTook(time.Since(heard))
		k.setExpiries(heard, left)
		k.mu.Lock()
		k.untoldFallback = nil
		k.silentUntil = here.Add(quiet)
		k.ceiling = ceiling
		k.pass = pass
		k.mu.Unlock()
		v.voided = k.learnEpoch(v.epoch, heard)
		v.lowered = stands.Lowered
		if stands.Lowered {
			g.cfg.Logger.Info("rate lowered", "key", r.Key, "correlation", trace.CorrelationOf(ctx), "per_second", stands.PerSecond, "allowed", r.QPS)
		}
		if g.cfg.Observe != nil {
			stands.Key = r.Key
			g.cfg.Observe(stands)
		}
		return v, nil
	}
	if !here.IsZero() {
		// The store had called us, so it may have kept the change although it
		// then failed. Slots are not given back again: the second time it would
		// be another's. Seats may be, since each has a number of its own.
		owed.slots = nil
	}
	k.putOwedBack(owed)
	if ctx.Err() != nil {
		return v, context.Cause(ctx)
	}
	if !mayGoOn {
		return v, fmt.Errorf("%w: %w", harvest.Fault{Level: harvest.Transient, Reaction: harvest.Retry, Code: harvest.CodeGateLost}, err)
	}
	return g.visitFallback(ctx, r, k, cost, ownLimit, f)
}

// visitFallback updates the state that this process keeps while the store is lost.
func (g *Gate) visitFallback(ctx context.Context, r source.Rate, k *key, cost int, l pace.Limit, f change) (v view, err error) {
	k.mu.Lock()
	untold := k.untoldFallback
	k.untoldFallback = nil
	quiet := k.silentUntil
	v.voided = k.voided
	ceiling := k.ceiling
	k.mu.Unlock()
	err = g.fallback.UpdateGate(ctx, r.Key, func(b []byte, now, asked time.Time) []byte {
		s := parseState(b)
		if share := ceiling.PerSecond / float64(g.cfg.Instances); ceiling.Holds(now) && share < l.QPS {
			l.QPS = share
		}
		if len(b) == 0 && l.QPS > 0 {
			// A fallback without state begins without a token, unlike the store:
			// a process that is started again and again gains nothing by it.
			s.NextAt = now.Add(time.Duration(float64(max(cost, 1)) / l.QPS * float64(time.Second)))
		}
		for _, o := range untold {
			s = pace.Apply(s, l, now, o)
		}
		if quiet.After(s.CooldownUntil) {
			s.CooldownUntil = quiet.UTC()
		}
		s = f(s, l, now, asked, true)
		v.epoch = s.Epoch
		return formatState(s)
	})
	return v, err
}

// parseState reads a state. What cannot be read is as no state: one slot, no burst.
func parseState(b []byte) pace.State {
	var s pace.State
	if len(b) > 0 && json.Unmarshal(b, &s) != nil {
		return pace.State{}
	}
	return s
}

// formatState writes a state down.
func formatState(s pace.State) []byte {
	b, err := json.Marshal(s)
	if err != nil { // numbers and instants only
		panic(fmt.Sprintf("marshal gate state: %v", err))
	}
	return b
}

// shareWithoutStore is what this process may send on its own when the store is lost (R40).
// The store may have handed out, and may still hand out to processes that reach
// it, all that is configured. What the provider allows beyond that is divided by
// the number of processes, so it does not matter which of them have lost the store,
// when, or for how long. Requests in flight are divided likewise. It reports false,
// and nothing may be sent, where the provider's limit is not known, where quotas
// hold, since their state is in the store, and where nothing is left to divide.
func (g *Gate) shareWithoutStore(r source.Rate, cost int) (pace.Limit, bool) {
	n := g.cfg.Instances
	if n < 1 || len(r.Quotas) > 0 || r.Concurrency > 0 && r.Concurrency < n {
		return pace.Limit{}, false
	}
	l := pace.Limit{Burst: 1, Jitter: r.Jitter.D(), Seats: r.Concurrency / n, Adapt: r.Adapt.Over(g.cfg.Adapt)}
	if r.QPS <= 0 && r.Budget == nil {
		return l, true // only requests in flight are bounded
	}
	if r.Limit <= 0 || r.QPS <= 0 || r.Window <= 0 {
		return pace.Limit{}, false
	}
	units := float64(max(cost, 1))
	burst := max(r.Burst, 1, cost)
	leftOver := float64(r.Limit) - pace.Most(r.QPS, burst, r.Window.D(), l.Jitter)
	mine := math.Floor((leftOver + 1e-9) / float64(n))
	if mine < units {
		return pace.Limit{}, false
	}
	mine = math.Floor(mine/units) * units
	l.QPS = min(r.QPS/float64(n), pace.Share(mine, 1, r.Window.D(), l.Jitter))
	return l, true
}
