package planner

import (
	"context"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// Registry knows the contract of a source in force now.
type Registry interface {
	// query is a selection in the text form; empty means everything.
	Select(ctx context.Context, code string, op harvest.Operation, query string) (source.Contract, error)
}

// Store is what the planner needs kept. Every method is one transaction or one
// read. SavePlan returns a live plan with the same key instead of making a
// second one, and [harvest.ErrFrontierMoved] if another plan was saved since
// the frontier was read.
type Store interface {
	Now(ctx context.Context) (time.Time, error)
	Frontier(ctx context.Context, ns harvest.Namespace) (harvest.Frontier, error)
	SavePlan(ctx context.Context, d harvest.Draft) (harvest.PlanHead, error)
	RecordTrigger(ctx context.Context, t harvest.Trigger, outcome, remarks string) error
	// ClockSkew is how far the upstream's clock was ahead of the store's when
	// last seen, and whether it ever was.
	ClockSkew(ctx context.Context, provenance string) (time.Duration, bool, error)
	NoteSkew(ctx context.Context, provenance string, skew time.Duration) error
}

// Upstream asks a source a question, within its limits.
type Upstream interface {
	Ask(ctx context.Context, s *source.Spec, c source.Call) (source.Answer, error)
}
