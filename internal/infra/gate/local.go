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
func (l *Local) UpdateGate(ctx context.Context, key string, f func([]byte, time.Time) []byte) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept[key] = f(l.kept[key], time.Now().UTC().Truncate(time.Microsecond))
	return nil
}
