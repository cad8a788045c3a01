package sources_test

import (
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// TestSciELO: what is recorded of it is read in TestRecordings_Replies.
func TestSciELO(t *testing.T) {
	packTest{
		name: "scielo",
		ops:  threeOps,
		asks: []askWant{
			{source.ForSearch, "", harvest.Position{}, "/api/v1/articles/ from=2026-08-01 limit=50 offset=0 until=2026-08-02"},
			{source.ForSearch, "", harvest.Position{Offset: 49, LastID: "scl/S1", Pages: 1}, "/api/v1/articles/ from=2026-08-01 limit=50 offset=49 until=2026-08-02"},
			{source.ForCount, "", harvest.Position{}, "/api/v1/article/identifiers/ from=2026-08-01 limit=1 offset=0 until=2026-08-02"},
		},
	}.run(t)
}
