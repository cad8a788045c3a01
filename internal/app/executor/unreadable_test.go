package executor_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/executor"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/sim"
)

// keyless is the upstream of a process that cannot read the credential of its source.
type keyless struct{ asked atomic.Int64 }

func (k *keyless) Ask(context.Context, *source.Spec, source.Call) (source.Answer, error) {
	k.asked.Add(1)
	f := harvest.Fault{Level: harvest.Fatal, Reaction: harvest.GiveUp, Code: harvest.CodeCredentialUnreadable}
	return source.Answer{}, fmt.Errorf("credential main of generic: no sealing key: %w", f)
}

// keylessExecutor is one over the store of a bench.
func keylessExecutor(b *bench, c executor.Config) (*executor.Executor, *keyless) {
	k := new(keyless)
	c.Owner = "a process without the key"
	c.Workers = 2
	return executor.New(c, b.Node.Store, k, slog.New(slog.DiscardHandler)), k
}

// plannedBench is a bench with a plan of several tasks.
func plannedBench(t *testing.T) *bench {
	t.Helper()
	m := manners["token"]
	m.target = 20
	b := newBench(t, m, setup{
		sim:   sim.Config{Records: 90, CursorLife: 24 * time.Hour},
		tweak: func(s *source.Spec) { s.Paging.Size = 1 },
	})
	_, err := b.Node.Planner.Plan(t.Context(), harvest.Trigger{Provenance: "generic", Operation: harvest.Harvest, Kind: "MANUAL", BaseURL: b.BaseOf("generic")})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestR42_ProcessWithoutTheKeyLeavesTasksToOthers: it gives its tasks back and takes no more of that source for a while.
// The source is not stopped, and whoever has the key does the work, also when that takes longer than a source may be
// without.
func TestR42_ProcessWithoutTheKeyLeavesTasksToOthers(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := plannedBench(t)
		ctx, stop := context.WithCancel(t.Context())
		wrong, k := keylessExecutor(b, executor.Config{})
		ended := make(chan error, 1)
		go func() { ended <- wrong.Run(ctx) }()
		time.Sleep(4 * time.Minute)
		if n := k.asked.Load(); n < 1 || n > 2 {
			t.Errorf("it tried %d times in four minutes, with two workers", n)
		}
		if n := b.ask(`SELECT COUNT(*) FROM ing_task WHERE status_code<>'QUEUED'`); n != 0 {
			t.Errorf("%d tasks are not in the queue", n)
		}
		// The one who has the key is at work for longer than the others look on: ninety pages of twenty seconds.
		b.Sim.Script(sim.Script{Fault: sim.Slow, When: page, Times: -1, Delay: 20 * time.Second})
		right := b.exact()
		if right.Slices.Failed != 0 {
			t.Errorf("slices %+v", right.Slices)
		}
		st, err := b.Node.Store.SourceState(t.Context(), "generic")
		if err != nil || st.Held() {
			t.Errorf("the source is held: %+v, %v", st, err)
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("it ended with %v", err)
		}
	})
}

// TestR42_KeyThatNobodyReadsStopsTheSource: after a quarter of an hour in which nobody could, and not before.
func TestR42_KeyThatNobodyReadsStopsTheSource(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := plannedBench(t)
		ctx, stop := context.WithCancel(t.Context())
		wrong, _ := keylessExecutor(b, executor.Config{})
		ended := make(chan error, 1)
		go func() { ended <- wrong.Run(ctx) }()
		held := func() bool {
			st, err := b.Node.Store.SourceState(t.Context(), "generic")
			if err != nil {
				t.Fatal(err)
			}
			return st.Held()
		}
		time.Sleep(harvest.UnreadableFor - time.Minute)
		if held() {
			t.Error("the source is stopped too early")
		}
		time.Sleep(harvest.UnreadableFor / 2)
		if !held() {
			t.Error("the source is not stopped")
		}
		if n := b.ask(`SELECT COUNT(*) FROM ing_task WHERE error_code='credential_unreadable' AND status_code='FAILED'`); n == 0 {
			t.Error("no task says why")
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("it ended with %v", err)
		}
	})
}

// TestR42_CommandWithoutTheKeyEnds: who works for one source alone says at once what is missing, and stops nothing.
func TestR42_CommandWithoutTheKeyEnds(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := plannedBench(t)
		wrong, _ := keylessExecutor(b, executor.Config{Provenance: "generic"})
		err := wrong.Run(t.Context())
		f, is := errors.AsType[harvest.Fault](err)
		if !is || f.Code != harvest.CodeCredentialUnreadable {
			t.Errorf("it ended with %v", err)
		}
		b.exact()
	})
}
