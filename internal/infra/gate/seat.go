package gate

import (
	"context"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/pace"
	"github.com/papertrace/patra/internal/domain/source"
)

// seatLost is why a request is given up whose seat could not be renewed in time:
// another may have a request in flight in its place by now.
func seatLost() error {
	return harvest.Fault{Level: harvest.Transient, Reaction: harvest.Retry, Code: harvest.CodeSeatLost}
}

// keptSeat is a seat that is kept until it is given back: it is renewed now and then,
// and its request is ended if that does not succeed in time.
type keptSeat struct {
	fence int64
	lost  bool // it is a seat of the fallback's
	// expire is the timer that ends the request when the seat runs out, renew the
	// one of the next visit that renews it.
	expire, renew *time.Timer
}

// keepSeat begins to keep a seat that was just taken.
func (g *Gate) keepSeat(ctx context.Context, r source.Rate, k *key, p *permit, fence int64) *keptSeat {
	h := &keptSeat{fence: fence, lost: p.lost}
	k.mu.Lock()
	defer k.mu.Unlock()
	end := p.end // as it is now: whoever adopts the permit wraps it
	h.expire = time.AfterFunc(pace.SeatFor, func() { end(seatLost()) })
	h.renew = time.AfterFunc(pace.SeatFor/3, func() { g.renewSeat(ctx, r, k, h) })
	if !h.lost {
		k.seats[fence] = h
	}
	return h
}

// renewSeat visits the store, which renews all seats of the key that this process holds,
// and has itself called again.
func (g *Gate) renewSeat(ctx context.Context, r source.Rate, k *key, h *keptSeat) {
	if h.lost {
		_ = g.fallback.UpdateGate(context.WithoutCancel(ctx), r.Key, func(b []byte, now, _ time.Time) []byte {
			s, _ := pace.RenewSeat(parseState(b), pace.Limit{Seats: r.Concurrency}, h.fence, now)
			return formatState(s)
		})
		h.expire.Reset(pace.SeatFor)
	} else {
		g.tellStore(ctx, r, k)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if h.fence != 0 {
		h.renew.Reset(pace.SeatFor / 3)
	}
}

// releaseSeat stops keeping a seat, and returns its number, 0 if there is none to be
// given back.
func (k *key) releaseSeat(h *keptSeat) (fence int64) {
	if h == nil {
		return 0
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	fence = h.fence
	h.fence = 0
	h.expire.Stop()
	h.renew.Stop()
	delete(k.seats, fence)
	return fence
}
