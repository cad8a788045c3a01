package role_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/app/role"
)

// TestBoard_ShowsWhatRests: a job that failed is not shown as running until it is
// begun again, and none is when all have ended.
func TestBoard_ShowsWhatRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		board := new(role.Board)
		tries := 0
		jobs := []role.Loop{{Name: "fails once", Run: func(ctx context.Context) error {
			tries++
			if tries == 1 {
				return errors.New("no store")
			}
			<-ctx.Done()
			return nil
		}}}
		done := make(chan error, 1)
		go func() { done <- role.Keep(ctx, jobs, board, slog.New(slog.DiscardHandler), nil) }()
		synctest.Wait()
		if s := board.States(); len(s) != 1 || s[0].Runs {
			t.Errorf("while it rests: %v", s)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if s := board.States(); !s[0].Runs {
			t.Errorf("begun again: %v", s)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if s := board.States(); s[0].Runs {
			t.Errorf("ended: %v", s)
		}
	})
}
