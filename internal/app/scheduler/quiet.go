package scheduler

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// Quiet knows which operations are in the quiet hours of their source (P20). It
// is asked for every lease and every request, so it reads the registry and the
// store's clock (R17) only now and then.
type Quiet struct {
	sources Sources // nil: nobody has quiet hours
	store   QuietStore
	log     *slog.Logger

	mu     sync.Mutex
	readAt time.Time          // guarded by mu; by this process's clock
	ahead  time.Duration      // guarded by mu; how far the store's clock is ahead of it
	all    []source.Scheduled // guarded by mu
}

// NewQuiet returns a Quiet. Without sources nobody has quiet hours.
func NewQuiet(sources Sources, store QuietStore, log *slog.Logger) *Quiet {
	return &Quiet{sources: sources, store: store, log: log}
}

// quietFor is how long a reading is good for, which is also how late a change of
// the quiet hours is felt.
const quietFor = 5 * time.Second

// Resting lists what is to be left alone now.
func (q *Quiet) Resting(ctx context.Context) []harvest.Rest {
	if q.sources == nil {
		return nil
	}
	return q.restingBy(q.schedules(ctx, false))
}

func (q *Quiet) restingBy(all []source.Scheduled, now time.Time) []harvest.Rest {
	var out []harvest.Rest
	for _, s := range all {
		if until, is := s.Schedule.QuietUntil(now); is {
			out = append(out, harvest.Rest{Provenance: s.Source, Operation: s.Operation, Until: until})
		}
	}
	return out
}

// Rest tells until when an operation of a source is to be left alone, if it is.
func (q *Quiet) Rest(ctx context.Context, code string, op harvest.Operation) (harvest.Rest, bool) {
	return q.RestOf(ctx, code, op, false)
}

// RestOf is [Quiet.Rest]; if need be at once, by what was read last.
func (q *Quiet) RestOf(ctx context.Context, code string, op harvest.Operation, atOnce bool) (harvest.Rest, bool) {
	if q.sources == nil {
		return harvest.Rest{}, false
	}
	for _, r := range q.restingBy(q.schedules(ctx, atOnce)) {
		if r.Provenance == code && r.Operation == op {
			return r, true
		}
	}
	return harvest.Rest{}, false
}

// schedules are those read last, and the store's time. If they cannot be read
// anew they stay as they were; so they do if they are wanted at once.
func (q *Quiet) schedules(ctx context.Context, atOnce bool) ([]source.Scheduled, time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !atOnce && (q.readAt.IsZero() || time.Since(q.readAt) >= quietFor) {
		all, now, err := q.read(ctx)
		here := time.Now()
		if err != nil && ctx.Err() == nil {
			q.log.Warn("quiet hours not read", "err", err)
			q.readAt = here
		}
		if err == nil || all != nil {
			q.all = all
			q.ahead = now.Sub(here)
			q.readAt = here
		}
	}
	return q.all, time.Now().Add(q.ahead)
}

func (q *Quiet) read(ctx context.Context) ([]source.Scheduled, time.Time, error) {
	all, err := q.sources.Schedules(ctx)
	if err != nil && all == nil {
		return nil, time.Time{}, err
	}
	now, nerr := q.store.Now(ctx)
	if nerr != nil {
		return nil, now, nerr
	}
	return all, now, err
}

// May reports whether an operation of a source may be begun now: it is neither held
// nor in quiet hours.
func (q *Quiet) May(ctx context.Context, code string, op harvest.Operation) bool {
	_, held, err := q.store.Held(ctx, code)
	_, resting := q.Rest(ctx, code, op)
	return err == nil && !held && !resting
}
