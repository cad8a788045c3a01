package gate

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// TestR19_NobodyTakesPermitsInARow: a slot is given in the order of asking, so
// that of tasks which share a rate none goes before one that waits longer: a task
// with two requests at a time has two permits in a row at most, in whichever
// process it is.
func TestR19_NobodyTakesPermitsInARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewLocal()
		r := source.Rate{Key: "x", QPS: 2, Burst: 1}
		var mu sync.Mutex
		var order []int
		var wg sync.WaitGroup
		for task, atOnce := range []int{1, 2, 1} {
			g := New(Config{}, store)
			for range atOnce {
				wg.Go(func() {
					time.Sleep(time.Duration(task) * 10 * time.Second) // the first is well on its way
					for range 60 {
						_, release, _, err := g.Acquire(t.Context(), r, 1, time.Hour)
						if err != nil {
							t.Error(err)
							return
						}
						mu.Lock()
						order = append(order, task)
						mu.Unlock()
						time.Sleep(100 * time.Millisecond)
						release(true)
					}
				})
			}
		}
		wg.Wait()
		row, longest := 0, 0
		for i, task := range order[40:100] { // all three are at it
			if i > 0 && task == order[40+i-1] {
				row++
			} else {
				row = 1
			}
			longest = max(longest, row)
		}
		if len(order) != 240 || longest > harvest.Quantum || longest > 2 {
			t.Errorf("%d permits in a row of %d: %v", longest, len(order), order)
		}
	})
}
