package sources_test

import (
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// TestPreprints: nothing of api.biorxiv.org is recorded; what its replies mean say
// the cases beside the packs, and the oracle.
func TestPreprints(t *testing.T) {
	for _, server := range []string{"biorxiv", "medrxiv"} {
		packTest{
			name: server,
			ops:  threeOps,
			asks: []askWant{
				{source.ForSearch, "", harvest.Position{}, "/details/" + server + "/2026-08-01/2026-08-02/0/json"},
				{source.ForSearch, "", harvest.Position{Offset: 99, Pages: 1, LastID: "x"}, "/details/" + server + "/2026-08-01/2026-08-02/99/json"},
			},
		}.run(t)
	}
}
