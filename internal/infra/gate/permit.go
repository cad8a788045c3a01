package gate

import (
	"cmp"
	"context"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/pace"
	"github.com/papertrace/patra/internal/domain/source"
)

// permit is a slot and, where requests in flight are bounded, a seat.
type permit struct {
	slot pace.Slot
	// fence is the number of its seat, and seat that seat while it is kept; 0 and nil: no
	// seat is needed.
	fence int64
	seat  *keptSeat
	// sending is the context of the request; it ends when the permit is given
	// back or its seat is lost.
	sending context.Context
	end     context.CancelCauseFunc
	// epoch is the one under which it was taken, and voided is closed when this process
	// learns that it has grown. lost says that the store could not be reached, and the
	// permit was taken of the fallback's state.
	epoch  int64
	voided <-chan struct{}
	lost   bool
	// terms are those on which it was taken.
	terms terms
	// It may be used from the first of these times until the second, by this
	// process's clock.
	from, until time.Time
}

// leadMin and leadMax bound how long before its slot a permit is looked at once
// more. A look that takes longer is not waited for.
const (
	leadMin = 100 * time.Millisecond
	leadMax = time.Second
)

// knownFor is for how long a process may go by the epoch it knows, if the store
// does not answer the last look in time.
const knownFor = 10 * time.Second

// unsureMax bounds how long a visit may leave it open when the store read its
// clock. Up to this the doubt costs a longer pause behind the slot; with more
// doubt the permit is taken anew.
const unsureMax = time.Second

// reserve takes the next slot, and a seat with it in the same visit. Of the
// callers of one process one at a time asks the store and waits for a seat; it takes
// permits for those behind it along.
func (g *Gate) reserve(
	ctx context.Context, r source.Rate, k *key, cost int, start time.Time, maxWait time.Duration,
) (p *permit, err error) {
	patience := time.NewTimer(max(maxWait-time.Since(start), 0))
	defer patience.Stop()
	t := termsOf(r, cost)
	if err := g.awaitTurn(ctx, r, k, t, patience); err != nil {
		return nil, err
	}
	defer func() { <-k.reserving }()
	p, tooFar := k.takeAhead(t, maxWait-time.Since(start))
	k.leaveQueue(t)
	g.giveSurplusBack(ctx, r, k, t)
	switch {
	case tooFar > 0:
		return nil, refuseFor(tooFar, harvest.CodeRate)
	case p != nil:
		p.adopt(ctx)
		return p, nil
	}
	k.countWaiting(+1)
	queued := false
	defer func() {
		k.countWaiting(-1)
		if err != nil && queued {
			k.noteLeftQueue()
		}
		switch { // others may have relied on our visit to tell the store, and come too late for it
		case !k.mustTell():
		case err != nil:
			g.tellStore(ctx, r, k)
		case p.seat != nil:
			p.seat.renew.Reset(0) // beside us: our slot may be near
		}
	}()
	for {
		var again time.Duration
		p, again, err = g.tryReserve(ctx, r, k, cost, start, maxWait)
		if p != nil || err != nil {
			return p, err
		}
		queued = true
		t := time.NewTimer(again)
		select {
		case <-t.C:
		case <-k.freed:
		case <-patience.C:
			err = refuseFor(time.Second, harvest.CodeRate)
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		t.Stop()
		if err != nil {
			return nil, err
		}
	}
}

// awaitTurn waits until no other caller of this process asks for a permit of the key. The
// caller stands in the queue from here on, and leaves it if there is an error.
func (g *Gate) awaitTurn(ctx context.Context, r source.Rate, k *key, t terms, patience *time.Timer) error {
	k.joinQueue(t)
	select {
	case k.reserving <- struct{}{}:
		return nil
	default:
	}
	var err error
	select {
	case k.reserving <- struct{}{}:
		return nil
	case <-patience.C:
		err = refuseFor(time.Second, harvest.CodeRate)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	k.leaveQueue(t)
	g.giveSurplusBack(ctx, r, k, t)
	return err
}

// pollEvery is how often a process that waits for a seat looks whether another
// has left one: a few times in the pause between two requests.
func pollEvery(r source.Rate) time.Duration {
	if r.QPS <= 0 {
		return 50 * time.Millisecond
	}
	return time.Duration(min(max(0.25/r.QPS, 0.02), 1) * float64(time.Second))
}

// seatAhead is how far a slot may be ahead for a seat to be held until then. For
// one that is further away nothing is taken yet.
const seatAhead = 5 * time.Second

// tryReserve is one visit for slot and seat. Without a permit it says in how long to
// try again: no seat is free, or the slot is far ahead.
func (g *Gate) tryReserve(
	ctx context.Context, r source.Rate, k *key, cost int, start time.Time, maxWait time.Duration,
) (_ *permit, again time.Duration, err error) {
	jitter := cmp.Or(r.Jitter.D(), pace.Jitter)
	least := k.leastAhead(jitter)
	t := termsOf(r, cost)
	var taken []*permit
	var wait, left time.Duration
	var seated bool
	var late harvest.Code
	began := time.Now()
	v, err := g.visit(ctx, r, k, cost, func(s pace.State, l pace.Limit, now, asked time.Time, lost bool) pace.State {
		here := time.Now()
		left = max(maxWait-time.Since(start), 0)
		taken = nil
		var withSeat pace.State
		var fence int64
		withSeat, fence, seated = pace.TakeSeat(s, l, g.who, now)
		next, slot := pace.Reserve(withSeat, l, cost, now, least)
		wait = slot.At.Sub(now)
		late = whyLate(slot)
		switch {
		case wait > left, fence != 0 && wait > seatAhead:
			seated = false
			return s
		case !seated:
			return withSeat // it has a place in the queue now
		}
		taken = append(taken, &permit{slot: slot, fence: fence, lost: lost, terms: t})
		next, taken = g.takeMore(next, l, now, least, taken, k.wantedAhead(t))
		if unsure := here.Sub(asked); unsure > jitter && unsure <= unsureMax {
			// The store read its clock at some time between asked and here, so
			// the slots may come that much later than reckoned from asked. They are
			// used as if they did, and the slots behind them are moved as far.
			next.NextAt = next.NextAt.Add(unsure)
			asked = here
		}
		for _, p := range taken {
			p.from = here.Add(p.slot.At.Sub(now))
			p.until = asked.Add(p.slot.At.Sub(now) + jitter)
		}
		return next
	})
	if took := time.Since(began); r.QPS > 0 && took.Seconds() > 1/r.QPS {
		g.saySlow(r, k, took)
	}
	switch {
	case err != nil:
		return nil, 0, err
	case wait > left:
		return nil, 0, refuseFor(wait, late)
	case !seated:
		return nil, max(pollEvery(r), wait-seatAhead/2), nil
	}
	for i, p := range taken {
		p.epoch = v.epoch
		p.voided = v.voided
		whose := ctx
		if i > 0 {
			whose = context.WithoutCancel(ctx) // nobody's yet
		}
		p.sending, p.end = context.WithCancelCause(whose)
		if p.fence != 0 {
			p.seat = g.keepSeat(ctx, r, k, p, p.fence)
		}
	}
	k.keepAhead(taken[1:])
	g.giveSurplusBack(ctx, r, k, t)
	return taken[0], 0, nil
}

// takeMore takes so many permits more on the terms of the last, as long as each has a seat
// now and a slot soon.
func (g *Gate) takeMore(
	s pace.State, l pace.Limit, now time.Time, least time.Duration, taken []*permit, more int,
) (pace.State, []*permit) {
	for range more {
		like := taken[len(taken)-1]
		withSeat, fence, seated := pace.TakeSeat(s, l, g.who, now)
		if !seated {
			break
		}
		next, slot := pace.Reserve(withSeat, l, like.terms.cost, now, least)
		if slot.Scarce || slot.At.Sub(now) > aheadFor {
			break
		}
		s = next
		taken = append(taken, &permit{slot: slot, fence: fence, lost: like.lost, terms: like.terms})
	}
	return s, taken
}

// await sleeps until the slot has come. Shortly before, the store is asked once
// more whether the permit still holds; after the slot nothing is asked, so a slow
// store makes nobody late. It reports false if the permit is void: the epoch has
// grown, or the slot is past.
func (g *Gate) await(ctx context.Context, r source.Rate, k *key, p *permit) (good bool, err error) {
	if early := time.Until(p.from) - k.lead(); early > 0 {
		if good, err := p.sleep(ctx, early); !good || err != nil {
			return false, err
		}
		if !g.stillValid(ctx, r, k, p) {
			return false, context.Cause(ctx)
		}
	}
	if good, err := p.sleep(ctx, time.Until(p.from)); !good || err != nil {
		return false, err
	}
	if err := context.Cause(p.sending); err != nil {
		return false, context.Cause(ctx)
	}
	late := time.Since(p.until)
	if late > 0 {
		g.saySlow(r, k, late)
	}
	return late <= 0, nil
}

// sleep waits for a while, unless the permit becomes void meanwhile.
func (p *permit) sleep(ctx context.Context, d time.Duration) (good bool, err error) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.voided:
		return false, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	default:
	}
	select {
	case <-t.C:
		return true, nil
	case <-p.voided:
		return false, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// stillValid takes the last look: whether the epoch is still that of the permit. If the
// store does not answer before the slot has come, what was known lately will do.
func (g *Gate) stillValid(ctx context.Context, r source.Rate, k *key, p *permit) bool {
	store := g.store
	if p.lost {
		store = g.fallback
	}
	ctx, cancel := context.WithDeadline(ctx, p.from)
	defer cancel()
	began := time.Now()
	b, err := store.ReadGate(ctx, r.Key)
	k.lookTook(time.Since(began))
	if err != nil {
		return time.Since(k.epochKnownAt()) < knownFor
	}
	epoch := parseState(b).Epoch
	if !p.lost {
		k.learnEpoch(epoch, began)
	}
	return epoch == p.epoch
}

// giveBack ends a permit. What the store cannot be told now it is told before
// the next permit; if there is none, the quota stays used and the seat runs out.
func (g *Gate) giveBack(ctx context.Context, r source.Rate, p *permit, sent bool) {
	k := g.key(r.Key)
	p.end(nil)
	fence := k.releaseSeat(p.seat)
	refund := !sent && p.slot.Charged()
	if fence == 0 && !refund {
		return
	}
	if p.lost {
		_ = g.fallback.UpdateGate(context.WithoutCancel(ctx), r.Key, func(b []byte, _, _ time.Time) []byte {
			return formatState(pace.GiveSeatBack(parseState(b), fence))
		})
		return
	}
	if k.noteGivenBack(p.slot, refund, fence) {
		return // one who waits takes it along
	}
	g.tellStore(ctx, r, k)
}

// saySlow tells why fewer requests are sent than the source allows, now and then:
// a permit is longer in coming from the store than the pause between two requests,
// or came too late to be used.
func (g *Gate) saySlow(r source.Rate, k *key, by time.Duration) {
	if !k.mayWarn() {
		return
	}
	g.cfg.Logger.Warn("the database or this machine is slower than the source, so fewer requests are sent than allowed",
		"key", r.Key, "permit_took", by, "allowed_per_second", r.QPS)
}
