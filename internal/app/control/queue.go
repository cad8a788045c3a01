package control

import (
	"context"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// CountCap is how far counts of what waits or failed go: beyond it they say only
// that there is more, so that no answer costs more the longer the queue is.
const CountCap = 10_000

// QueueRow is what waits and runs in a partition: one source, endpoint and operation.
type QueueRow struct {
	Source    string            `json:"source"`
	Endpoint  string            `json:"endpoint"`
	Operation harvest.Operation `json:"operation"`
	// Queued counts tasks that wait, up to [CountCap]; QueuedCapped: there are more.
	Queued       int64 `json:"queued"`
	QueuedCapped bool  `json:"queued_capped,omitzero"`
	// Due counts those of them that are due, up to the same cap.
	Due     int64 `json:"due"`
	Running int64 `json:"running"`
	// Oldest is since when the first of those that are due could have been taken.
	Oldest *Time `json:"oldest_due_at"`
	// Waiting says why nothing is taken; absent where something may be.
	Waiting *Waits `json:"waiting,omitempty"`
}

// Waits is why something waits, and until when if that is known.
type Waits struct {
	Reason Reason `json:"reason"`
	Until  *Time  `json:"until,omitempty"`
}

// Queue is what waits and runs, by partition.
type Queue struct {
	At         Time       `json:"at"`
	Partitions []QueueRow `json:"partitions"`
}

// QueueStore reads the queue by partition. NextAt is when the first task that is
// not due yet will be, Rests until when the partition's breaker bars it.
type QueueStore interface {
	Partitions(ctx context.Context, provenance string, op harvest.Operation, now time.Time, most int64) ([]PartitionState, error)
}

// PartitionState is what the store knows of a partition.
type PartitionState struct {
	QueueRow
	OldestDue time.Time
	NextAt    time.Time
	Rests     time.Time
}

// Queue shows what waits and runs, of one source and operation if they are named.
func (c *Control) Queue(ctx context.Context, code string, op harvest.Operation) (Queue, error) {
	out := Queue{Partitions: []QueueRow{}}
	if err := c.known(ctx, code); err != nil {
		return out, err
	}
	now, err := c.store.Now(ctx)
	if err != nil {
		return out, err
	}
	out.At = Time(now)
	states, err := c.store.Partitions(ctx, code, op, now, CountCap)
	if err != nil {
		return out, err
	}
	for _, s := range states {
		s.Oldest = optional(s.OldestDue)
		s.Waiting, err = c.waits(ctx, s, now)
		if err != nil {
			return out, err
		}
		out.Partitions = append(out.Partitions, s.QueueRow)
	}
	return out, nil
}

// waits says why nothing of a partition is taken; nil if something may be.
func (c *Control) waits(ctx context.Context, s PartitionState, now time.Time) (*Waits, error) {
	st, err := c.store.SourceState(ctx, s.Source)
	if err != nil {
		return nil, err
	}
	rest, quiet := c.quiet.Rest(ctx, s.Source, s.Operation)
	switch {
	case s.Queued == 0:
		return nil, nil
	case st.Stopped:
		return &Waits{Reason: ReasonLineStopped}, nil
	case st.Paused:
		return &Waits{Reason: ReasonSourcePaused}, nil
	case quiet:
		return &Waits{Reason: ReasonQuietHours, Until: optional(rest.Until)}, nil
	case s.Rests.After(now):
		return &Waits{Reason: ReasonCircuitOpen, Until: optional(s.Rests)}, nil
	case s.Due == 0:
		return &Waits{Reason: ReasonScheduledLater, Until: optional(s.NextAt)}, nil
	}
	return nil, nil
}
