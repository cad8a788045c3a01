package control

import (
	"cmp"
	"context"
	"slices"
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
	// PriorityWord is the best priority among those that wait.
	PriorityWord string `json:"priority_word,omitempty"`
	// Queued counts tasks that wait, up to [CountCap]; QueuedCapped: there are more.
	Queued       int64 `json:"queued"`
	QueuedCapped bool  `json:"queued_capped,omitzero"`
	// Due counts those of them that are due, up to the same cap.
	Due     int64 `json:"due"`
	Running int64 `json:"running"`
	// Oldest is since when the first of those that are due could have been taken.
	Oldest *Time `json:"oldest_due_at"`
	// LastMinute is how the pages of its source and operation fared.
	LastMinute PagesFared `json:"last_minute"`
	// Cause is what its upstream said last, while it has not answered since; Waiting
	// says why nothing is taken, and is absent where something may be.
	Cause   *Cause      `json:"cause,omitempty"`
	Waiting *WaitingFor `json:"waiting,omitempty"`
}

// PagesFared is how pages fared that ended within some time. Where they were many, the
// newest were counted and stand for all.
type PagesFared struct {
	Stored  int64 `json:"stored"`
	Failed  int64 `json:"failed"`
	Sent    int64 `json:"requests"`
	HTTP429 int64 `json:"http_429"`
}

// WorkerRow is somebody who has tasks in hand.
type WorkerRow struct {
	Owner string `json:"owner"`
	Tasks int64  `json:"tasks"`
	// Until is when the first of its leases runs out unless it is heard of before, and
	// Expired counts those that have.
	Until   Time  `json:"leased_until"`
	Expired int64 `json:"expired,omitzero"`
}

// Queue is what waits and runs, by partition: first what may be taken, the next in turn
// before the others, then what waits for something. Workers are who has tasks in hand.
type Queue struct {
	At         Time        `json:"at"`
	Partitions []QueueRow  `json:"partitions"`
	Workers    []WorkerRow `json:"workers"`
	// Reasons are what the queued tasks wait for, the most first.
	Reasons []WaitingShare `json:"reasons"`
}

// QueueStore reads the queue.
type QueueStore interface {
	Partitions(ctx context.Context, provenance string, op harvest.Operation, now time.Time, most int64) ([]PartitionState, error)
	// Workers lists who has tasks in hand, of at most so many tasks.
	Workers(ctx context.Context, provenance string, now time.Time, most int) ([]WorkerRow, error)
	// PagesSince sums up the pages of sources that ended since, by source and operation.
	PagesSince(ctx context.Context, codes []string, since time.Time) (map[harvest.Partition]PagesFared, error)
}

// PartitionState is what the store knows of a partition. Priority is the best of those
// queued; NextAt is when the first task that is not due yet will be.
type PartitionState struct {
	QueueRow
	Priority  int
	OldestDue time.Time
	NextAt    time.Time
}

// tasksOfWorkers bounds the tasks in hand that are looked at: there are as many as there
// are workers anywhere.
const tasksOfWorkers = 2000

// Queue shows what waits and runs, of one source and operation if they are named.
func (c *Control) Queue(ctx context.Context, code string, op harvest.Operation) (Queue, error) {
	out := Queue{Partitions: []QueueRow{}, Workers: []WorkerRow{}, Reasons: []WaitingShare{}}
	if err := c.known(ctx, code); err != nil {
		return out, err
	}
	b, err := c.barriers(ctx)
	if err != nil {
		return out, err
	}
	out.At = Time(b.now)
	states, err := c.store.Partitions(ctx, code, op, b.now, CountCap)
	if err != nil {
		return out, err
	}
	fared, err := c.store.PagesSince(ctx, sourcesOf(states), b.now.Add(-time.Minute))
	if err != nil {
		return out, err
	}
	for i := range states {
		s := &states[i]
		s.LastMinute = fared[harvest.Partition{Provenance: s.Source, Operation: s.Operation}]
		b.explainPartition(ctx, s)
	}
	slices.SortStableFunc(states, func(a, z PartitionState) int { return inTurn(a, z, b.now) })
	for _, s := range states {
		if s.Waiting == nil { // something may be taken, and yet waits for an answer
			s.Waiting = b.inHand(ctx, harvest.Partition{Provenance: s.Source, Endpoint: s.Endpoint, Operation: s.Operation})
		}
		out.Partitions = append(out.Partitions, s.QueueRow)
	}
	out.Reasons = reasonsOf(out.Partitions)
	out.Workers, err = c.store.Workers(ctx, code, b.now, tasksOfWorkers)
	return out, err
}

// sourcesOf are the sources of partitions, each once.
func sourcesOf(states []PartitionState) (codes []string) {
	for _, s := range states {
		if !slices.Contains(codes, s.Source) {
			codes = append(codes, s.Source)
		}
	}
	return codes
}

// explainPartition fills in what is wrong with a partition and why it waits.
func (b *barriers) explainPartition(ctx context.Context, s *PartitionState) {
	p := harvest.Partition{Provenance: s.Source, Endpoint: s.Endpoint, Operation: s.Operation}
	s.Oldest = optional(s.OldestDue)
	s.Cause = b.cause(p)
	if s.Queued == 0 {
		return
	}
	s.PriorityWord = harvest.PriorityWord(s.Priority)
	s.Waiting = b.bar(ctx, p)
	switch {
	case s.Waiting != nil:
	case s.Due == 0:
		s.Waiting = waitFor(ReasonScheduledLater, s.NextAt, "nobody's doing: it is tried again then")
	case s.Running == 0:
		s.Waiting = b.ready(p, s.OldestDue)
	}
}

// inTurn orders partitions as they are taken from.
func inTurn(a, z PartitionState, now time.Time) int {
	class := func(s PartitionState) int {
		switch {
		case s.Queued > 0 && s.Waiting == nil:
			return 0
		case s.Queued > 0:
			return 1
		}
		return 2
	}
	best := func(s PartitionState) int { return harvest.EffectivePriority(s.Priority, now.Sub(s.OldestDue)) }
	return cmp.Or(cmp.Compare(class(a), class(z)), cmp.Compare(best(a), best(z)), a.OldestDue.Compare(z.OldestDue))
}
