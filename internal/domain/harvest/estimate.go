package harvest

import "context"

// Estimate is what is known of a part before it is walked.
type Estimate struct {
	Records int64
	Known   bool
	// By says how it was got; only a count is sure.
	By Estimation
}

// Estimation is how an estimate was got.
type Estimation string

// The ways to an estimate.
const (
	ByCount     Estimation = "COUNT"      // the upstream counted
	ByHistory   Estimation = "HISTORY"    // from what was harvested before
	ByFirstPage Estimation = "FIRST_PAGE" // from the total of a first page over a larger window
	ByConstant  Estimation = "CONSTANT"   // from what the source declares for a day
)

// half is about what each of two hash buckets holds of what they hold together.
func (e Estimate) half() Estimate {
	e.Records -= e.Records / 2
	if e.By == ByCount {
		e.By = ByFirstPage
	}
	return e
}

// Estimator tells how many records a part holds. It may ask the upstream; not
// knowing is an answer, not an error.
type Estimator func(ctx context.Context, p Part) (Estimate, error)
