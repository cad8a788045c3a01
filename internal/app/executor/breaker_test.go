package executor_test

import (
	"testing"
	"time"

	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/sim"
)

// TestM14_OutageIsSatOut: while the upstream is down for hours, its tasks are not
// spent one after the other; when it is back, all of them are done.
func TestM14_OutageIsSatOut(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		m := manners["token"]
		m.target = 20
		b := newBench(t, m, setup{
			sim: sim.Config{Records: 200}, node: node.Config{Workers: 4, Poll: 20 * time.Second},
			faults: []sim.Script{{Fault: sim.HTTP500, When: page, Times: -1}},
		})
		go func() {
			time.Sleep(3 * time.Hour)
			// Five and those begun with them, then one after 1, 2, 4, 8, 16 and
			// every 30 minutes.
			if n := b.ask(`SELECT COUNT(*) FROM ing_task_run`); n > 5+3+11 {
				t.Errorf("%d runs while the upstream was down", n)
			}
			b.Sim.ClearScripts()
		}()
		if rep := b.exact(); rep.Slices.Failed != 0 || rep.Slices.Done < 8 {
			t.Errorf("slices %+v", rep.Slices)
		}
	})
}
