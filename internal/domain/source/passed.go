package source

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// Passed is a row that another was picked over, or that does not hold, and why.
type Passed struct {
	Row Row
	Why string
}

// passedOver are the rows about the same dimension and name that were not picked, the
// newest first.
func passedOver(rows []Row, c Choice, op harvest.Operation, at time.Time) []Passed {
	var out []Passed
	for _, r := range rows {
		picked := c.Row != nil && c.Row.ID == r.ID && c.Row.OfPack == r.OfPack
		if r.Dimension != c.Dimension || r.Name != c.Name || picked {
			continue
		}
		out = append(out, Passed{Row: r, Why: whyPassed(r, c.Row, op, at)})
	}
	slices.SortStableFunc(out, func(a, b Passed) int {
		return cmp.Or(b.Row.From.Compare(a.Row.From), cmp.Compare(b.Row.ID, a.Row.ID))
	})
	return out
}

// whyPassed says why a row does not count where another one, or none, was picked.
func whyPassed(r Row, picked *Row, op harvest.Operation, at time.Time) string {
	switch {
	case r.Scope == ScopeTask && r.Task != op:
		return fmt.Sprintf("is for %s", r.Task)
	case r.Never():
		return "was taken back before it began"
	case r.From.After(at):
		return "begins at " + harvest.FormatInstant(r.From)
	case !r.InForce(at):
		return "ended at " + harvest.FormatInstant(r.To)
	case picked == nil: // which cannot be: it would have been picked
		return "is not in force"
	case r.Scope != picked.Scope:
		return fmt.Sprintf("is for every operation, and row %d for %s alone", picked.ID, op)
	case r.OfPack:
		return fmt.Sprintf("is the pack's, and row %d is there", picked.ID)
	case r.From.Before(picked.From):
		return fmt.Sprintf("began earlier than row %d", picked.ID)
	}
	return fmt.Sprintf("began with row %d, which has the higher number", picked.ID)
}
