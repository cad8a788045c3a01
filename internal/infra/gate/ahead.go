package gate

import (
	"context"
	"slices"
	"time"

	"github.com/papertrace/patra/internal/domain/pace"
	"github.com/papertrace/patra/internal/domain/source"
)

// aheadMost is how many permits one visit takes at most: one for the caller that visits,
// the others for callers of this process that stand behind it. It is small so that the
// slots of a key go round among processes.
const aheadMost = 4

// aheadFor is how far ahead the slot of a permit may be that is taken for another
// caller: so much of the rate is lost at most if this process dies.
const aheadFor = seatAhead

// terms are what two requests of a key have in common if a permit for one is as good for
// the other.
type terms struct {
	claim       pace.Claim
	cost        int
	perSecond   float64
	burst       int
	concurrency int
	jitter      time.Duration
}

// termsOf are the terms of a request.
func termsOf(r source.Rate, cost int) terms {
	return terms{
		claim: r.Claim, cost: max(cost, 1),
		perSecond: r.QPS, burst: r.Burst, concurrency: r.Concurrency, jitter: r.Jitter.D(),
	}
}

// joinQueue counts a caller that waits for its turn to ask for a permit.
func (k *key) joinQueue(t terms) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.queued[t]++
}

// leaveQueue counts it no more.
func (k *key) leaveQueue(t terms) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.queued[t]--
	if k.queued[t] == 0 {
		delete(k.queued, t)
	}
}

// wantedAhead is for how many callers behind the one that visits a permit may be taken.
func (k *key) wantedAhead(t terms) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return min(k.queued[t], aheadMost-1)
}

// keepAhead keeps permits for the callers that wait.
func (k *key) keepAhead(all []*permit) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ahead = append(k.ahead, all...)
}

// takeAhead takes the first permit that was taken ahead on these terms, nil if there is
// none. One that begins after the caller's patience is left to the others, and its wait is
// told.
func (k *key) takeAhead(t terms, patience time.Duration) (_ *permit, tooFar time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.IndexFunc(k.ahead, func(p *permit) bool { return p.terms == t })
	if i < 0 {
		return nil, 0
	}
	p := k.ahead[i]
	if wait := time.Until(p.from); wait > patience {
		return nil, wait
	}
	k.ahead = slices.Delete(k.ahead, i, i+1)
	return p, 0
}

// takeSurplus takes out a permit for which no caller is left, the last one first, nil if
// there is none.
func (k *key) takeSurplus(t terms) *permit {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := 0
	last := -1
	for i, p := range k.ahead {
		if p.terms == t {
			n++
			last = i
		}
	}
	if n <= k.queued[t] {
		return nil
	}
	p := k.ahead[last]
	k.ahead = slices.Delete(k.ahead, last, last+1)
	return p
}

// giveSurplusBack gives back the permits of callers that have left since.
func (g *Gate) giveSurplusBack(ctx context.Context, r source.Rate, k *key, t terms) {
	for p := k.takeSurplus(t); p != nil; p = k.takeSurplus(t) {
		g.giveBack(ctx, r, p, false)
	}
}

// adopt makes the permit, which was taken by another caller's visit, that of the caller
// whose context this is.
func (p *permit) adopt(ctx context.Context) {
	taken := p.sending
	endTaken := p.end
	sending, end := context.WithCancelCause(ctx)
	stop := context.AfterFunc(taken, func() { end(context.Cause(taken)) })
	p.sending = sending
	p.end = func(cause error) {
		stop()
		end(cause)
		endTaken(cause)
	}
}
