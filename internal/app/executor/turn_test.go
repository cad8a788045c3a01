package executor_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/papertrace/patra/internal/app/executor"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// leasing is a store that has nothing and remembers who asked.
type leasing struct {
	executor.Store
	turns []*harvest.Turns
}

func (l *leasing) LeaseTasks(_ context.Context, r harvest.LeaseRequest) ([]harvest.Job, error) {
	l.turns = append(l.turns, r.Turns)
	return nil, nil
}

// TestR19_TurnsAreKept: partitions take turns over all requests of a process, so
// they all carry the same turns.
func TestR19_TurnsAreKept(t *testing.T) {
	t.Parallel()
	st := &leasing{}
	e := executor.New(executor.Config{Poll: 1, Idle: func(context.Context, int) (bool, error) { return len(st.turns) > 3, nil }}, st, nil, slog.New(slog.DiscardHandler))
	if err := e.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, turns := range st.turns {
		if turns == nil || turns != st.turns[0] {
			t.Fatalf("turns %v", st.turns)
		}
	}
}
