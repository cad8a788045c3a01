package executor_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestExecutor_EveryPagingStyleIsExact walks every style of the oracle over
// several slices, without a fault.
func TestExecutor_EveryPagingStyleIsExact(t *testing.T) {
	t.Parallel()
	every(t, slices.Sorted(maps.Keys(manners)), func(t *testing.T, m manner) {
		b := newBench(t, m, setup{})
		rep := b.exact()
		if rep.Records.Inserted != 70 {
			t.Errorf("inserted %d of 70", rep.Records.Inserted)
		}
		want := 1
		if strings.HasPrefix(m.style, "page") {
			want = 2 // the second confirms the first
		}
		if strings.Contains(m.paging, "NO_URL") && strings.Contains(m.paging, "tokenStateful") {
			want = 2 // so does it where the last page cannot be asked for again
		}
		if n := b.ask(walks); n != want {
			t.Errorf("%d walks for a source without faults, want %d", n, want)
		}
	})
}
