package node

import (
	"context"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/infra/upstream"
)

// line is the upstream for whoever asks outside of a task: a planner that counts,
// a reconciler. Tasks are held back by the store, when they are leased and with
// every write; a question that belongs to no task is held back here, by the same
// rules. A source that is held is asked nothing, nor is a partition that rests; a
// failure counts for the breaker of the partition, and a fatal fault stops the
// source, as in an executor (R65, R70).
type line struct {
	*upstream.Client
	store *sqlstore.Store
}

// CodeHeld is why a source that is paused or stopped was not asked.
const CodeHeld = "source_held"

// Ask implements planner.Upstream.
func (l *line) Ask(ctx context.Context, spec *source.Spec, call source.Call) (source.Answer, error) {
	st, err := l.store.SourceState(ctx, spec.Source)
	if err != nil {
		return source.Answer{}, err
	}
	if st.Paused || st.Stopped {
		held := harvest.Fault{Level: harvest.Fatal, Reaction: harvest.GiveUp, Code: CodeHeld}
		return source.Answer{}, fmt.Errorf("%w: %w", &HeldError{Source: spec.Source, State: st}, held)
	}
	p := harvest.Partition{Provenance: spec.Source, Endpoint: spec.Search.Name, Operation: harvest.Operation(spec.Operation)}
	until, rests, err := l.store.PassBreaker(ctx, p)
	if err != nil {
		return source.Answer{}, err
	}
	if rests {
		f := harvest.Fault{Level: harvest.Transient, Reaction: harvest.GiveUp, Code: harvest.CodeBroken, RetryAfter: time.Until(until)}
		return source.Answer{}, fmt.Errorf("%s failed again and again and rests until %s: %w", p, harvest.FormatInstant(until), f)
	}
	ans, err := l.Client.Ask(ctx, spec, call)
	// What came of it is written down also when the caller is told to stop.
	if werr := l.settle(context.WithoutCancel(ctx), p, ans, err); werr != nil && err == nil {
		return ans, werr
	}
	return ans, err
}

// settle tells the store what came of a question.
func (l *line) settle(ctx context.Context, p harvest.Partition, ans source.Answer, err error) error {
	f, failed := harvest.FaultOf(err)
	switch {
	case failed && f.Level == harvest.Fatal:
		return l.store.StopSource(ctx, p.Provenance, f.Code+": "+err.Error())
	case failed && (!ans.Asked || f.Waits()):
		return l.store.GiveBackTry(ctx, p)
	case failed && f.Level == harvest.Transient && !f.Throttled():
		return l.store.CountFailure(ctx, p, f.Code, err.Error())
	}
	return l.store.CountAnswer(ctx, p)
}
