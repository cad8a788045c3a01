package sources_test

import (
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// TestArXivSearch: what is recorded of the query API is read in TestRecordings_Replies.
func TestArXivSearch(t *testing.T) {
	const (
		window = "search_query=submittedDate:[202608010000 TO 202608022359]"
		order  = " sortBy=submittedDate sortOrder=ascending start="
	)
	packTest{
		name: "arxiv-search",
		ops:  threeOps,
		asks: []askWant{
			{source.ForSearch, "", harvest.Position{}, "/api/query max_results=500 " + window + order + "0"},
			{source.ForSearch, "", harvest.Position{Offset: 499, LastID: "1", Pages: 1}, "/api/query max_results=500 " + window + order + "499"},
			{source.ForCount, "", harvest.Position{}, "/api/query max_results=1 " + window + " start=0"},
		},
	}.run(t)
}
