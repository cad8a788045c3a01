package executor

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// leaseKeeper keeps the lease of a run: it renews it beside the work, and lets the
// upstream be asked only while the lease can be trusted.
type leaseKeeper struct {
	store Store
	lease harvest.Lease
	ttl   time.Duration
	log   *slog.Logger
	trust *trust
	// ownerDied: an owner of the task has died, and no page was stored since. So each
	// reply is marked before it is taken apart: it may be what kills its owners.
	ownerDied atomic.Bool
}

// keepLease returns the keeper of a lease that was taken or renewed by a write which
// was begun at an instant.
func keepLease(store Store, lease harvest.Lease, ttl time.Duration, begun time.Time, log *slog.Logger) *leaseKeeper {
	return &leaseKeeper{store: store, lease: lease, ttl: ttl, log: log, trust: newTrust(ttl, begun)}
}

// keepRenewing renews the lease until ctx ends, and cancels the work if that is
// refused. While the store cannot be reached the work goes on as long as the lease
// is trusted.
func (k *leaseKeeper) keepRenewing(ctx context.Context, cancel context.CancelCauseFunc) {
	t := time.NewTicker(k.ttl / 3)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		begun := time.Now()
		err := k.store.RenewLease(ctx, k.lease)
		if err == nil {
			k.noteRenewal(begun)
			continue
		}
		if errors.Is(err, harvest.ErrLeaseLost) || errors.Is(err, harvest.ErrHeld) || errors.Is(err, harvest.ErrStoreGone) {
			cancel(err)
			return
		}
		if ctx.Err() == nil {
			k.log.Warn("lease not renewed", "trusted_for", max(0, k.trust.left()), "err", err)
		}
	}
}

// noteRenewal notes a write under the lease that was begun at an instant. Every write
// that the store accepts renews the lease.
func (k *leaseKeeper) noteRenewal(begun time.Time) { k.trust.extend(begun) }

// askWhileTrusted asks the upstream under a context that ends when the lease can be
// trusted no more. That is the error then.
func (k *leaseKeeper) askWhileTrusted(ctx context.Context, ask func(context.Context) (source.Answer, error)) (source.Answer, error) {
	if k.trust.left() <= 0 {
		return source.Answer{}, unrenewed()
	}
	trusted, release := k.trust.whileTrusted(ctx)
	defer release()
	ans, err := ask(trusted)
	if cause := context.Cause(trusted); err != nil && errors.Is(cause, unrenewed()) {
		return ans, cause
	}
	return ans, err
}

// markReply notes in the store that a reply is about to be taken apart. A reply that
// kills whoever does so is known by its marks (R16).
func (k *leaseKeeper) markReply(ctx context.Context) error {
	begun := time.Now()
	marked, err := k.store.MarkReply(ctx, k.lease)
	if err != nil {
		return err
	}
	k.noteRenewal(begun)
	k.ownerDied.Store(marked)
	return nil
}

// trust is how long a lease is relied on without a word from the store. The store
// alone decides who holds a task, but it may be out of reach, and then the task may
// be another worker's as soon as the lease has run out. So the lease is trusted
// from the moment at which its last renewal was begun, for its time to live less a
// margin, by this process's own clock: the store counted from a later moment. After
// that nothing more is asked of the upstream for the task. Writes need no such care,
// since each of them is refused by the store if the lease is lost.
//
//	 renewal    accepted by                      trusted   lease ends
//	 begun      the store                        until     in the store
//	---|------------|-------------------------------|---------|-------> time
//	   |------------ TTL less the margin -----------|
//	                |------------------- TTL -----------------|
type trust struct {
	span time.Duration

	mu    sync.Mutex
	until time.Time // guarded by mu
}

// trustMargin says how much of a lease's time is not made use of: one part in so many.
// What is sent at the last moment arrives before another worker may take the task.
const trustMargin = 10

func newTrust(ttl time.Duration, begun time.Time) *trust {
	span := ttl - ttl/trustMargin
	return &trust{span: span, until: begun.Add(span)}
}

// extend trusts the lease for longer, by a renewal that was begun at an instant.
func (t *trust) extend(begun time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if until := begun.Add(t.span); until.After(t.until) {
		t.until = until
	}
}

// left is for how long the lease can still be trusted.
func (t *trust) left() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return time.Until(t.until)
}

// whileTrusted returns a context that ends with ctx, with release, or with the trust
// in the lease, in which case its cause is the fault that ends the run.
func (t *trust) whileTrusted(ctx context.Context) (trusted context.Context, release func()) {
	trusted, cancel := context.WithCancelCause(ctx)
	go func() {
		for {
			left := t.left()
			if left <= 0 {
				cancel(unrenewed())
				return
			}
			select {
			case <-trusted.Done():
				return
			case <-time.After(left): // renewed since, or over
			}
		}
	}()
	return trusted, func() { cancel(nil) }
}

// unrenewed is the fault of a question whose worker may have lost its task. Nothing
// is wrong with the upstream, nor with the task: whoever has it next goes on.
func unrenewed() harvest.Fault {
	return harvest.Fault{Level: harvest.Transient, Reaction: harvest.GiveUp, Code: harvest.CodeUnrenewed}
}
