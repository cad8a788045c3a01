package executor

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

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

// question asks the upstream while the lease can be trusted. Every request of a run
// goes this way.
func (s *session) question(ctx context.Context, call source.Call) (source.Answer, error) {
	if s.trust.left() <= 0 {
		return source.Answer{}, unrenewed()
	}
	held, release := s.trust.during(ctx)
	defer release()
	if s.died.Load() {
		call.InHand = s.mark
	}
	ans, err := s.e.up.Ask(held, s.spec, call)
	if cause := context.Cause(held); err != nil && errors.Is(cause, unrenewed()) {
		return ans, cause
	}
	return ans, err
}

// mark notes that the reply of a page is in hand, which a task that nobody died with
// has no need of: a reply that kills who takes it apart is known by its marks (R16).
func (s *session) mark(ctx context.Context) error {
	begun := time.Now()
	marked, err := s.e.store.MarkReply(ctx, s.job.Lease)
	if err != nil {
		return err
	}
	s.trust.renewed(begun)
	s.died.Store(marked)
	return nil
}
