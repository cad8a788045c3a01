//go:build unix

package bus

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/papertrace/patra/internal/app/relay"
)

// lockEvery is how often a lock is tried that another holds.
const lockEvery = 50 * time.Millisecond

// lockFile waits for the lock on a file, which ends with the file.
func lockFile(ctx context.Context, f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		select {
		case <-ctx.Done():
			return relay.ErrNotTried
		case <-time.After(lockEvery):
		}
	}
}
