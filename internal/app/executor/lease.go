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
	// died: an owner of the task has died and nothing was brought since, so that
	// the reply in hand is marked before it is taken apart.
	died atomic.Bool
}

// keepLease returns the keeper of a lease by a write that was begun at an instant.
func keepLease(store Store, lease harvest.Lease, ttl time.Duration, begun time.Time, log *slog.Logger) *leaseKeeper {
	return &leaseKeeper{store: store, lease: lease, ttl: ttl, log: log, trust: newTrust(ttl, begun)}
}

// renew renews the lease while the work goes on, and cancels the work if that is
// refused. While the store cannot be reached the work goes on as long as the
// lease is trusted.
func (k *leaseKeeper) renew(ctx context.Context, cancel context.CancelCauseFunc) {
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
			k.renewedBy(begun)
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

// renewedBy notes a write under the lease that was begun at an instant: each one
// that the store takes renews the lease.
func (k *leaseKeeper) renewedBy(begun time.Time) { k.trust.renewed(begun) }

// whileTrusted asks a question of the upstream under a context that ends when the
// lease can be trusted no more; that is then why there is no answer.
func (k *leaseKeeper) whileTrusted(ctx context.Context, ask func(context.Context) (source.Answer, error)) (source.Answer, error) {
	if k.trust.left() <= 0 {
		return source.Answer{}, unrenewed()
	}
	held, release := k.trust.during(ctx)
	defer release()
	ans, err := ask(held)
	if cause := context.Cause(held); err != nil && errors.Is(cause, unrenewed()) {
		return ans, cause
	}
	return ans, err
}

// markReply notes that the reply of a page is in hand, which a task that nobody
// died with has no need of: a reply that kills who takes it apart is known by its
// marks (R16).
func (k *leaseKeeper) markReply(ctx context.Context) error {
	begun := time.Now()
	marked, err := k.store.MarkReply(ctx, k.lease)
	if err != nil {
		return err
	}
	k.renewedBy(begun)
	k.died.Store(marked)
	return nil
}

// trust is how long a lease is relied on without a word from the store. The store
// alone decides who holds a task, but it may be out of reach, and then the task may
// be another worker's as soon as the lease has run out. So the lease is trusted
// from the moment at which its last renewal was begun, for its time to live less a
// margin, by this process's own clock: the store counted from a later moment. After
// that nothing more is asked of the upstream for the task. Writes need no such care,
// since each of them is refused by the store if the lease is lost.
type trust struct {
	span time.Duration

	mu    sync.Mutex
	until time.Time // guarded by mu
}

// trustMargin is the part of a lease's time that is not made use of: what is sent
// at the last moment arrives before another worker may take the task.
const trustMargin = 10

func newTrust(ttl time.Duration, begun time.Time) *trust {
	span := ttl - ttl/trustMargin
	return &trust{span: span, until: begun.Add(span)}
}

// renewed notes a write that renewed the lease and was begun at an instant.
func (t *trust) renewed(begun time.Time) {
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

// during returns a context that ends with ctx, with release, or with the trust in
// the lease, in which case its cause is the fault that ends the run.
func (t *trust) during(ctx context.Context) (held context.Context, release func()) {
	held, cancel := context.WithCancelCause(ctx)
	go func() {
		for {
			left := t.left()
			if left <= 0 {
				cancel(unrenewed())
				return
			}
			select {
			case <-held.Done():
				return
			case <-time.After(left): // renewed since, or over
			}
		}
	}()
	return held, func() { cancel(nil) }
}

// unrenewed is the fault of a question whose worker may have lost its task. Nothing
// is wrong with the upstream, nor with the task: whoever has it next goes on.
func unrenewed() harvest.Fault {
	return harvest.Fault{Level: harvest.Transient, Reaction: harvest.GiveUp, Code: harvest.CodeUnrenewed}
}
