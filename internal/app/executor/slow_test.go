package executor_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/app/executor"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// TestR72_ASlowEndpointLeavesTheOthers: of an endpoint whose pages take long no further
// slice is taken while half as many as before are in hand; those of another endpoint of
// the same source are.
func TestR72_ASlowEndpointLeavesTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := executor.NewSlowSources(4)
		slow := harvest.Partition{Provenance: "a", Endpoint: "works", Operation: harvest.Harvest}
		beside := harvest.Partition{Provenance: "a", Endpoint: "others", Operation: harvest.Harvest}
		const limit = 3 * time.Second
		s.Count(slow, 4)
		for range 10 {
			time.Sleep(limit)
			s.Note(slow, limit+time.Millisecond, limit)
		}
		barred := func(p harvest.Partition) bool {
			for _, r := range s.Full() {
				if r.Bars(p) {
					return true
				}
			}
			return false
		}
		if !barred(slow) {
			t.Error("more slices are taken of what is slow")
		}
		if barred(beside) {
			t.Error("one slow endpoint keeps the other from being asked")
		}
		s.Count(slow, -3)
		if barred(slow) {
			t.Error("with one in hand, of two that may be, no further one is taken")
		}
	})
}
