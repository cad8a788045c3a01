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

// hold keeps a seat until it is given back: it renews it now and then, and ends
// the request if that does not succeed in time.
type hold struct {
	fence int64
	lost  bool // a seat of the spare's
	// expire is the timer that ends the request when the seat runs out, renew the
	// one of the next visit that renews it.
	expire, renew *time.Timer
}

// hold begins to keep a seat that was just taken.
func (g *Gate) hold(ctx context.Context, r source.Rate, k *key, p *permit, fence int64) *hold {
	h := &hold{fence: fence, lost: p.lost}
	k.mu.Lock()
	defer k.mu.Unlock()
	h.expire = time.AfterFunc(pace.SeatFor, func() { p.end(seatLost()) })
	h.renew = time.AfterFunc(pace.SeatFor/3, func() { g.renew(ctx, r, k, h) })
	if !h.lost {
		k.held[fence] = h
	}
	return h
}

// renew visits the store, which renews all seats of the key that this process
// holds, and comes again.
func (g *Gate) renew(ctx context.Context, r source.Rate, k *key, h *hold) {
	if h.lost {
		_ = g.spare.UpdateGate(context.WithoutCancel(ctx), r.Key, func(b []byte, now, _ time.Time) []byte {
			s, _ := pace.RenewSeat(read(b), pace.Limit{Seats: r.Concurrency}, h.fence, now)
			return written(s)
		})
		h.expire.Reset(pace.SeatFor)
	} else {
		g.tell(ctx, r, k)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if h.fence != 0 {
		h.renew.Reset(pace.SeatFor / 3)
	}
}

// drop ends a hold, and returns the seat's number, 0 if there is none to be
// given back.
func (k *key) drop(h *hold) (fence int64) {
	if h == nil {
		return 0
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	fence = h.fence
	h.fence = 0
	h.expire.Stop()
	h.renew.Stop()
	delete(k.held, fence)
	return fence
}
