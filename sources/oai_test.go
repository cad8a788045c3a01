package sources_test

import (
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// TestDOAJOAI: what is recorded of it is read in TestRecordings_Replies.
func TestDOAJOAI(t *testing.T) {
	packTest{
		name: "doaj-oai",
		ops:  threeOps,
		asks: []askWant{
			{source.ForSearch, "", harvest.Position{}, `/oai.article from=2026-08-01T00:00:00Z metadataPrefix=oai_doaj until=2026-08-02T23:59:59Z verb=ListRecords`},
			{source.ForSearch, "", harvest.Position{Token: "a=", Pages: 1}, "/oai.article resumptionToken=a= verb=ListRecords"},
		},
	}.run(t)
}

// TestZenodoOAI: nothing of it is recorded; what its replies mean say the cases
// beside the pack, and the oracle.
func TestZenodoOAI(t *testing.T) {
	packTest{
		name: "zenodo-oai",
		ops:  threeOps,
		asks: []askWant{
			{source.ForSearch, "", harvest.Position{}, `/oai2d from=2026-08-01T00:00:00Z metadataPrefix=oai_datacite until=2026-08-02T23:59:59Z verb=ListRecords`},
			{source.ForSearch, "", harvest.Position{Token: "a=", Pages: 1}, "/oai2d resumptionToken=a= verb=ListRecords"},
		},
	}.run(t)
}

// TestDataCiteOAI: nothing of it is recorded, as of Zenodo's.
func TestDataCiteOAI(t *testing.T) {
	packTest{
		name: "datacite-oai",
		ops:  threeOps,
		asks: []askWant{
			{source.ForSearch, "", harvest.Position{}, `/oai from=2026-08-01T00:00:00Z metadataPrefix=oai_datacite until=2026-08-02T23:59:59Z verb=ListRecords`},
			{source.ForSearch, "", harvest.Position{Token: "a=", Pages: 1}, "/oai resumptionToken=a= verb=ListRecords"},
		},
	}.run(t)
}
