package steward

import (
	"context"
	"log/slog"
)

// DueStore makes failed slices ready again whose rest is over, and says how many there
// were. It also looks whether the file of the store is still there: while nothing is
// due, nobody else does.
type DueStore interface {
	RequeueDue(ctx context.Context) (int64, error)
}

// Requeue queues failed slices again whose rest is over (R4).
func Requeue(store DueStore, log *slog.Logger) func(context.Context) error {
	return func(ctx context.Context) error {
		n, err := store.RequeueDue(ctx)
		if n > 0 {
			log.Info("failed slices queued again", "slices", n)
		}
		return err
	}
}
