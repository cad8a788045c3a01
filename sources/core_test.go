package sources_test

import (
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// TestCORE: what is recorded is of an older version of the API, and is read in
// TestRecordings_Replies.
func TestCORE(t *testing.T) {
	const window = `q=updatedDate>="2026-08-01T00:00:00" AND updatedDate<="2026-08-02T23:59:59"`
	packTest{
		name: "core",
		ops:  threeOps,
		asks: []askWant{
			{source.ForSearch, "", harvest.Position{}, "/v3/search/works/ limit=100 offset=0 " + window + " sort=recency"},
			{source.ForSearch, "", harvest.Position{Offset: 99, LastID: "1", Pages: 1}, "/v3/search/works/ limit=100 offset=99 " + window + " sort=recency"},
			{source.ForCount, "", harvest.Position{}, "/v3/search/works/ limit=1 offset=0 " + window},
		},
	}.run(t)
}
