package styletest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/sim"
)

// TestR64_AMissingTokenEndsNoWalk takes the token or link off each page in turn,
// full and short, and the total, in every paging style: whatever page it is, all
// there is comes, and little more is asked for than without.
func TestR64_AMissingTokenEndsNoWalk(t *testing.T) {
	tells := slices.DeleteFunc(slices.Clone(shapes), func(w row) bool { return !strings.HasPrefix(w.name, "total:") })
	each(t, slices.Concat(paging, tells), func(t *testing.T, w row) {
		var calm *run
		bubble(t, func(t *testing.T) {
			calm = newRun(t, w, sim.Faults{})
			calm.exact()
		})
		for _, f := range []sim.Fault{sim.TokenDropped, sim.TokenDroppedShort, sim.TotalDropped} {
			if slices.Contains(w.spared, f) {
				continue
			}
			for page, served := 0, true; served && page < calm.pages(); page++ {
				t.Run(fmt.Sprint(f, " page ", page+1), func(t *testing.T) {
					bubble(t, func(t *testing.T) {
						r := newRun(t, w, sim.Faults{}, sim.Script{Fault: f, When: isPage, After: page})
						r.exact()
						r.bounded(calm, 1)
						served = r.Sim.Scripted() == 0 // else it cannot happen to this style
					})
				})
			}
		}
	})
}
