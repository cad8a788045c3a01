package sourcecheck

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/papertrace/patra/internal/domain/source"
)

// Client is an upstream that is closed after the check.
type Client interface {
	Upstream
	Close()
}

// Asker asks through a client for one check. Where a reply had another shape, its
// error says at which path.
type Asker struct {
	Client
	// Instead, if set, is the spec by which everything is asked.
	Instead *source.Spec

	drift atomic.Pointer[Shape] // of the last reply; nil: none
}

// Drifted is told by whoever reads the replies where one has another shape.
func (a *Asker) Drifted(path, detail string) { a.drift.Store(&Shape{Path: path, Detail: detail}) }

// Ask implements [Upstream].
func (a *Asker) Ask(ctx context.Context, s *source.Spec, c source.Call) (source.Answer, error) {
	if a.Instead != nil {
		s = a.Instead
	}
	a.drift.Store(nil)
	answer, err := a.Client.Ask(ctx, s, c)
	if drift := a.drift.Load(); err != nil && drift != nil {
		err = fmt.Errorf("%w: %w", err, drift)
	}
	return answer, err
}

// OfflineSpec is the subject's spec for replies that were saved: it needs neither key
// nor permit, and asks once. It is nil if the subject has none.
func (s *Subject) OfflineSpec() *source.Spec {
	if s.Spec == nil {
		return nil
	}
	spec := *s.Spec
	spec.Auth = nil
	spec.Rate = source.Rate{Key: s.Source}
	spec.Retry.Attempts = 1
	return &spec
}
