package upstream

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Limits on the bodies of all requests together.
const (
	// smallBody is how much every body may have without asking: small replies never
	// wait for large ones.
	smallBody = 1 << 20
	// mediumBody is how far a body may grow beside others.
	mediumBody = 4 << 20
	// sharedBodies is what all bodies may have together beyond the first part of each,
	// the large one not counted.
	sharedBodies = 4 << 20
)

// budget is the memory that the bodies of all requests share, until their pages are
// stored: any number of small ones, with a few medium ones or a single large one.
//
// A large page takes more than its bytes while it is decoded and stored, so nothing
// but small pages goes on beside it. Nobody who waits is needed by the others to be
// done with theirs: pages are committed, leases renewed and seats at the gate given
// back without memory for another body. A body that waits keeps what it has; those
// who wait so do not keep each other waiting, or none could ever go on.
type budget struct {
	mu      sync.Mutex
	used    int64
	holders int     // bodies that have some of it
	large   *room   // the one that may grow up to the limit of its source
	waiting []*want // in order of arrival
}

// want is a wish for n bytes more, or for all that a source may send. granted is
// closed when it is fulfilled.
type want struct {
	room    *room
	n       int64
	large   bool
	granted chan struct{}
}

// room is what one body has taken.
type room struct {
	of    *budget
	n     int64 // both guarded by the mutex of the budget
	large bool
}

// grow takes what is missing for a body of so many bytes. tick is called while that
// takes long, as for any progress: the upstream is not at fault.
func (r *room) grow(ctx context.Context, size int64, tick func()) error {
	b := r.of
	b.mu.Lock()
	w := &want{room: r, n: size - smallBody - r.n, large: size > mediumBody, granted: make(chan struct{})}
	if r.large || w.n <= 0 {
		b.mu.Unlock()
		return nil
	}
	b.waiting = append(b.waiting, w)
	b.grant()
	b.mu.Unlock()
	for {
		select {
		case <-w.granted:
			if w.large {
				frugality.collect()
			}
			return nil
		case <-time.After(time.Second):
			tick()
		case <-ctx.Done():
			if b.withdraw(w) {
				return context.Cause(ctx)
			}
		}
	}
}

// isLarge reports whether the body may grow up to the limit of its source. A small
// one has no room at all.
func (r *room) isLarge() bool {
	if r == nil {
		return false
	}
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	return r.large
}

// withdraw takes back a wish and reports whether it had not been fulfilled.
func (b *budget) withdraw(w *want) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.waiting, w)
	if i < 0 {
		return false
	}
	b.waiting = slices.Delete(b.waiting, i, i+1)
	b.grant()
	return true
}

// free gives back what the body has taken. It may be called more than once. A large body is
// gone from memory before the next one is let in.
func (r *room) free() {
	if r.isLarge() {
		frugality.collect()
	}
	b := r.of
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.n > 0 {
		b.holders--
		b.used -= r.n
		r.n = 0
	}
	large := r.large
	if large {
		b.large = nil
		r.large = false
	}
	b.grant()
	// After the next one was let in: between two large bodies the collector does not rest.
	if large {
		frugality.end()
	}
}

// grant fulfils wishes as far as it goes. The caller holds mu.
func (b *budget) grant() {
	for {
		w := b.next()
		if w == nil {
			return
		}
		b.waiting = slices.DeleteFunc(b.waiting, func(o *want) bool { return o == w })
		if w.large {
			b.large = w.room
			w.room.large = true
			frugality.begin()
		} else {
			if w.room.n == 0 {
				b.holders++
			}
			b.used += w.n
			w.room.n += w.n
		}
		close(w.granted)
	}
}

// next is the wish to be fulfilled now, nil if none can be: the first, for a stream of
// medium bodies must not keep a large one waiting for ever. Only if all who have
// something wait, and the first has nothing or cannot have what it wants, the first
// of those goes on, as the large one.
func (b *budget) next() *want {
	if len(b.waiting) == 0 || b.large != nil {
		return nil
	}
	first := b.waiting[0]
	if !first.large && b.used+first.n <= sharedBodies {
		return first
	}
	var stuck []*want
	for _, w := range b.waiting {
		if w.room.n > 0 {
			stuck = append(stuck, w)
		}
	}
	if b.holders > len(stuck) { // the others will be done
		return nil
	}
	if first.large || len(stuck) == 0 {
		first.large = true
		return first
	}
	stuck[0].large = true
	return stuck[0]
}
