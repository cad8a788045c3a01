package sources_test

import (
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// TestPMC: of the OAI-PMH service of PubMed Central nothing is recorded; what its
// replies mean say the cases beside the pack, and the oracle.
func TestPMC(t *testing.T) {
	packTest{
		name: "pmc",
		ops:  threeOps,
		asks: []askWant{
			{source.ForSearch, "", harvest.Position{}, "/api/oai/v1/mh/ from=2026-08-01 metadataPrefix=pmc_fm until=2026-08-02 verb=ListRecords"},
			{source.ForSearch, "", harvest.Position{Token: "a b", Pages: 1}, "/api/oai/v1/mh/ resumptionToken=a b verb=ListRecords"},
		},
	}.run(t)
}
