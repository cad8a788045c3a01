package control

import "context"

// Pulse is how far the store has come: numbers that only grow. Whoever shows
// something looks again when one of them moved.
type Pulse struct {
	Batches, Runs, Plans, Moves, Messages, Changes int64
}

// Topics are the numbers by the words for what they are about.
func (p Pulse) Topics() map[string]int64 {
	return map[string]int64{"work": p.Batches + p.Runs, "plans": p.Plans, "cursors": p.Moves, "alerts": p.Messages, "audit": p.Changes}
}

// PulseStore tells how far it has come.
type PulseStore interface {
	Pulse(ctx context.Context) (Pulse, error)
}

// Pulse looks how far the store has come: one statement that reads the end of a few
// indexes.
func (c *Control) Pulse(ctx context.Context) (Pulse, error) {
	return c.store.Pulse(c.leaveNoTrace(ctx))
}
