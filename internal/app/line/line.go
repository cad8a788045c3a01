// Package line asks a source a question that belongs to no task: a planner counts,
// a reconciler compares.
//
// It promises that such a question is held back by the same rules as a task is. Tasks
// are held back by the store, when they are leased and with every write; these
// questions are held back here. A source that is paused or stopped is asked nothing,
// nor is a partition that rests. A failure counts for the breaker of the partition,
// and a fatal fault stops the source, as in an executor (R65, R70).
package line

import (
	"context"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/pace"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/domain/trace"
)

// Upstream asks a source, within its limits.
type Upstream interface {
	Ask(ctx context.Context, s *source.Spec, c source.Call) (source.Answer, error)
	// Allowed is what the provider allows requests for a purpose, as they would be
	// sent now: with a key or without.
	Allowed(ctx context.Context, s *source.Spec, c source.Call) source.Rate
	// Estimate is how many such requests may go out within a horizon.
	Estimate(ctx context.Context, s *source.Spec, c source.Call, horizon time.Duration) (pace.Advice, error)
}

// Store remembers which sources are held, and the breakers of partitions.
type Store interface {
	SourceState(ctx context.Context, provenance string) (harvest.SourceState, error)
	EndpointState(ctx context.Context, at harvest.EndpointOf) (harvest.SourceState, error)
	StopSource(ctx context.Context, p harvest.Partition, code harvest.Code, text string) error
	// PassBreaker lets one question pass, or tells until when the partition rests.
	// What came of a question that passed is told by one of the three below.
	PassBreaker(ctx context.Context, p harvest.Partition) (until time.Time, rests bool, err error)
	GiveBackTry(ctx context.Context, p harvest.Partition) error
	CountFailure(ctx context.Context, p harvest.Partition, limits harvest.BreakerLimits, code harvest.Code, text string) error
	CountAnswer(ctx context.Context, p harvest.Partition) error
	// CountRefusal is told of an upstream that is there and gave no answer.
	CountRefusal(ctx context.Context, p harvest.Partition, code harvest.Code, text string) error
}

// Line is an upstream for whoever asks outside of a task.
type Line struct {
	Upstream
	store Store
	// Observe, if set, is told of faults. It must be quick.
	Observe func(p harvest.Partition, f harvest.Fault)
}

// New returns a Line.
func New(up Upstream, store Store) *Line { return &Line{Upstream: up, store: store} }

// Ask asks, if the source may be asked now.
func (l *Line) Ask(ctx context.Context, spec *source.Spec, call source.Call) (source.Answer, error) {
	st, err := l.store.SourceState(ctx, spec.Source)
	if err != nil {
		return source.Answer{}, err
	}
	if st.Held() {
		return source.Answer{}, heldFault(spec.Source, st)
	}
	p := harvest.Partition{Provenance: spec.Source, Endpoint: spec.Search.Name, Operation: harvest.Operation(spec.Operation)}
	st, err = l.store.EndpointState(ctx, p.EndpointOf())
	if err != nil {
		return source.Answer{}, err
	}
	if st.Held() {
		return source.Answer{}, heldFault(p.EndpointOf().String(), st)
	}
	until, rests, err := l.store.PassBreaker(ctx, p)
	if err != nil {
		return source.Answer{}, err
	}
	if rests {
		f := harvest.Fault{Level: harvest.Transient, Reaction: harvest.GiveUp, Code: harvest.CodeBroken, RetryAfter: time.Until(until)}
		return source.Answer{}, fmt.Errorf("%s failed again and again and rests until %s: %w", p, harvest.FormatInstant(until), f)
	}
	ans, err := l.Upstream.Ask(ctx, spec, call)
	// What came of it is written down also when the caller is told to stop.
	werr := l.settle(trace.WithCorrelation(context.WithoutCancel(ctx), call.Correlation), p, spec.Retry.Breaker(), ans, err)
	if werr != nil && err == nil {
		return ans, werr
	}
	return ans, err
}

// heldFault says that a source, or an endpoint of it, is not to be asked.
func heldFault(what string, st harvest.SourceState) error {
	held := harvest.Fault{Level: harvest.Fatal, Reaction: harvest.GiveUp, Code: harvest.CodeSourceHeld}
	return fmt.Errorf("%w: %w", &harvest.HeldError{Source: what, State: st}, held)
}

// settle tells the store what came of a question: a fatal fault stops the source; a
// question that was never sent gives back its leave to pass; a fault that should have
// passed counts against the partition. Anything else shows that the source answers.
func (l *Line) settle(ctx context.Context, p harvest.Partition, limits harvest.BreakerLimits, ans source.Answer, err error) error {
	f, failed := harvest.FaultOf(err)
	if failed && !f.Waits() && l.Observe != nil {
		l.Observe(p, f)
	}
	switch {
	case failed && f.Level == harvest.Fatal:
		return l.store.StopSource(ctx, p, f.Code, err.Error())
	case failed && (!ans.Asked || f.Waits()):
		return l.store.GiveBackTry(ctx, p)
	case failed && f.Level == harvest.Transient && !f.Throttled():
		return l.store.CountFailure(ctx, p, limits, f.Code, err.Error())
	case failed:
		return l.store.CountRefusal(ctx, p, f.Code, err.Error())
	}
	return l.store.CountAnswer(ctx, p)
}
