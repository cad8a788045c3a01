package executor_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/sim"
)

// TestM11_SlowDatabaseIsAskedLess: while commits take long, a process works on fewer slices at once, down to one; when they
// do not any more, on as many as before. Nothing is lost by it.
func TestM11_SlowDatabaseIsAskedLess(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		var slow atomic.Bool
		m := manners["token"]
		m.target = 40
		b := newBench(t, m, setup{
			sim: sim.Config{Records: 3200}, node: node.Config{Workers: 4, LeaseTTL: time.Hour},
			tweak: func(s *source.Spec) {
				s.Paging.Size = 10
				s.Cuts.SlowPage = source.Duration(time.Minute) // it is the database that is slow
			},
			faults: []sim.Script{{Fault: sim.Slow, When: page, Times: -1, Delay: 8 * time.Second}},
			hook: func(point string) error {
				if point == "before commit" && slow.Load() {
					time.Sleep(4 * time.Second)
				}
				return nil
			},
		})
		inHand := func() int { return b.ask(`SELECT COUNT(*) FROM ing_task WHERE status_code='EXECUTING'`) }
		done := make(chan struct{})
		go func() {
			defer close(done)
			b.exact()
		}()
		time.Sleep(time.Minute)
		if n := inHand(); n != 4 {
			t.Errorf("%d slices at once before, with four workers", n)
		}
		slow.Store(true)
		time.Sleep(20 * time.Minute)
		if n := inHand(); n != 1 {
			t.Errorf("%d slices at once while commits take four seconds", n)
		}
		slow.Store(false)
		time.Sleep(5 * time.Minute)
		if n := inHand(); n != 4 {
			t.Errorf("%d slices at once after it", n)
		}
		<-done
	})
}
