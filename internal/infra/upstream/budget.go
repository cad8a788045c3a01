package upstream

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Limits on the bodies of all requests together.
const (
	// freeBody is how much of every body counts for nothing: small replies never
	// wait for large ones.
	freeBody = 1 << 20
	// sharedBodies is what all bodies may take together.
	sharedBodies = 24 << 20
)

// budget is the memory that the bodies of all requests share. Who wants more than
// is left waits until others are done with their pages.
//
// One body at a time may go beyond what is left, up to the limit of its source.
// Without that two that have grown half way could wait for each other for ever; so
// of all who wait the first can always go on. Nobody who waits is needed by the
// others to be done with theirs: pages are committed, leases renewed and seats at
// the gate given back without memory for another body.
type budget struct {
	mu      sync.Mutex
	used    int64
	over    *room   // who is beyond what is left, if anyone
	waiting []*want // in order of arrival
}

// want is a wish for n bytes more. granted is closed when it is fulfilled.
type want struct {
	room    *room
	n       int64
	granted chan struct{}
}

// room is what one body has taken.
type room struct {
	of *budget
	n  int64 // guarded by the mutex of the budget
}

// grow takes what is missing for a body of n bytes. tick is called while that
// takes long, as for any progress: the upstream is not at fault.
func (r *room) grow(ctx context.Context, n int64, tick func()) error {
	b := r.of
	b.mu.Lock()
	missing := n - freeBody - r.n
	if missing <= 0 {
		b.mu.Unlock()
		return nil
	}
	w := &want{room: r, n: missing, granted: make(chan struct{})}
	b.waiting = append(b.waiting, w)
	b.grant()
	b.mu.Unlock()
	for {
		select {
		case <-w.granted:
			return nil
		case <-time.After(time.Second):
			tick()
		case <-ctx.Done():
			b.mu.Lock()
			b.waiting = slices.DeleteFunc(b.waiting, func(x *want) bool { return x == w })
			b.grant()
			b.mu.Unlock()
			return context.Cause(ctx)
		}
	}
}

// free gives back what the body has taken. It may be called more than once.
func (r *room) free() {
	b := r.of
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= r.n
	r.n = 0
	if b.over == r {
		b.over = nil
	}
	b.grant()
}

// grant fulfils wishes in their order, as far as it goes. The caller holds mu.
func (b *budget) grant() {
	left := b.waiting[:0]
	for _, w := range b.waiting {
		fits := b.used+w.n <= sharedBodies && len(left) == 0
		if !fits && b.over == nil {
			b.over = w.room
		}
		if !fits && b.over != w.room {
			left = append(left, w)
			continue
		}
		b.used += w.n
		w.room.n += w.n
		close(w.granted)
	}
	clear(b.waiting[len(left):])
	b.waiting = left
}
