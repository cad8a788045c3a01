package executor_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/app/executor"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// TestHealing_HowSlowCommitsMayBeIsASetting: just as slow as they may be, and slower, by the
// platform's limit and by the process's own.
func TestHealing_HowSlowCommitsMayBeIsASetting(t *testing.T) {
	for _, c := range []struct {
		own, took time.Duration
		want      int
	}{
		{0, 3 * time.Second, 4},
		{0, 3*time.Second + 1, 2},
		{10 * time.Second, 10 * time.Second, 4},
		{10 * time.Second, 10*time.Second + 1, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := executor.NewHealth(4, harvest.DatabaseLimits{Write: c.own})
			var now int
			for range 9 { // as many as are looked at
				now, _ = h.NoteCommit(c.took)
			}
			if now != c.want {
				t.Errorf("commits of %s, by a limit of %s: %d slices at once, want %d", c.took, c.own, now, c.want)
			}
		})
	}
}
