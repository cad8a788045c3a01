package control

import "github.com/papertrace/patra/internal/app/sourcecheck"

// What came of a check, as the check itself tells it.
type (
	CheckReport   = sourcecheck.Report
	CheckGroup    = sourcecheck.Group
	Check         = sourcecheck.Check
	FieldCoverage = sourcecheck.Coverage
	ShownExchange = sourcecheck.Shown
)

// MaxCheckRecords is how many records a check reads at most.
const MaxCheckRecords = sourcecheck.MaxRecords

// MappingGroup is the group of checks that the coverage of fields belongs to.
const MappingGroup = sourcecheck.Mapping

// ShowExchanges makes exchanges fit to be shown.
func ShowExchanges(all []sourcecheck.Exchange) []ShownExchange { return sourcecheck.Show(all) }

// CheckFamily is the family of what a check came to.
func CheckFamily(s sourcecheck.Status) Family {
	switch s {
	case sourcecheck.Failed:
		return Failed
	case sourcecheck.Warning:
		return Remarked
	case sourcecheck.Skipped, DoctorInfo:
		return Waiting
	default:
		return OK
	}
}
