package gate

import (
	"context"
	"sync"
	"time"
)

// Local keeps gate state in memory: for tests, and for one process alone.
type Local struct {
	mu   sync.Mutex
	kept map[string][]byte
}

var _ StateStore = (*Local)(nil)

// NewLocal returns an empty store.
func NewLocal() *Local { return &Local{kept: map[string][]byte{}} }

// UpdateGate implements [StateStore] by the process's clock.
func (l *Local) UpdateGate(ctx context.Context, key string, f func(s []byte, now, asked time.Time) []byte) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	here := time.Now()
	l.kept[key] = f(l.kept[key], here.UTC().Truncate(time.Microsecond), here)
	return nil
}

// ReadGate implements [StateStore].
func (l *Local) ReadGate(ctx context.Context, key string) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.kept[key], context.Cause(ctx)
}
