package executor_test

import (
	"maps"
	"slices"
	"testing"
)

// TestExecutor_EveryPagingStyleIsExact walks every style of the oracle over
// several slices, without a fault.
func TestExecutor_EveryPagingStyleIsExact(t *testing.T) {
	every(t, slices.Sorted(maps.Keys(manners)), func(t *testing.T, m manner) {
		b := newBench(t, m, setup{})
		rep := b.exact()
		if rep.Records.Inserted != 70 {
			t.Errorf("inserted %d of 70", rep.Records.Inserted)
		}
		if n := b.ask(walks); n != 1 {
			t.Errorf("%d walks for a source without faults", n)
		}
	})
}
