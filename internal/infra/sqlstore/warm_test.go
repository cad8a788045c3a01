package sqlstore

import (
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
)

// TestWarm_WaitsWithoutALock: one process plans twice at once. The first has the
// only writing connection and asks for a statement while the second waits for
// that connection to prepare one.
func TestWarm_WaitsWithoutALock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "patra.db"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		const query = "UPDATE ing_plan SET updated_at=updated_at WHERE id=?"
		var second sync.WaitGroup
		err = s.write(t.Context(), "test", func(*tx) error {
			second.Go(func() {
				if err := s.warm(t.Context(), query); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
			if !s.stmtMu.TryLock() {
				t.Fatal("who waits for the connection holds the lock that its owner needs")
			}
			s.stmtMu.Unlock()
			return nil
		})
		second.Wait()
		if err != nil || s.prepared(query) == nil {
			t.Errorf("%v, prepared: %t", err, s.prepared(query) != nil)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
