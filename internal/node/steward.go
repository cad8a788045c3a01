package node

import (
	"context"
	"time"

	"github.com/papertrace/patra/internal/app/planner"
	"github.com/papertrace/patra/internal/app/steward"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/infra/sqlstore"
)

var _ steward.Store = (*sqlstore.Store)(nil)

// stewardEvery is how often the steward looks whether the work of the day is
// done.
const stewardEvery = 10 * time.Minute

// Steward returns a steward over the node's parts.
func (n *Node) Steward() *steward.Steward {
	var sources steward.Sources
	if n.schedules != nil {
		sources = n.schedules
	}
	return steward.New(steward.Config{May: n.may}, sources, n.Store, sentinels{n.Planner}, n.cfg.Logger)
}

// may reports whether an operation of a source may be begun now.
func (n *Node) may(ctx context.Context, provenance string, op harvest.Operation) bool {
	_, held, err := n.Store.Held(ctx, provenance)
	_, resting := n.quiet.Rest(ctx, provenance, op)
	return err == nil && !held && !resting
}

// sentinels is the planner as the steward sees it.
type sentinels struct{ *planner.Planner }

// Plan implements steward.Planner.
func (p sentinels) Plan(ctx context.Context, t harvest.Trigger) (harvest.PlanID, error) {
	out, err := p.Planner.Plan(ctx, t)
	return out.Plan.ID, err
}
