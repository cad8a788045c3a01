package node

import (
	"context"

	"github.com/papertrace/patra/internal/app/planner"
	"github.com/papertrace/patra/internal/app/reconcile"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sqlstore"
)

var (
	_ reconcile.Store    = (*sqlstore.Store)(nil)
	_ reconcile.Upstream = (*line)(nil)
)

// Reconcile holds what is stored of a source against the source's own counts.
func (n *Node) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	return reconcile.New(n.contracts, n.Store, &line{n.up, n.Store}).Compare(ctx, req)
}

// Reread is a window that is read again, and the plan for it.
type Reread struct {
	reconcile.Window
	Activity string
	Planned  planner.Planned
}

// Rereads names the activities in which windows would be read again.
func (n *Node) Rereads(ctx context.Context, windows []reconcile.Window) ([]Reread, error) {
	now, err := n.Store.Now(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Reread, len(windows))
	for i, w := range windows {
		out[i] = Reread{Window: w, Activity: w.Activity(now)}
	}
	return out, nil
}

// PlanRereads plans a BACKFILL of each window and writes down who wanted it. A
// window that was planned for the same finding is not planned twice.
func (n *Node) PlanRereads(ctx context.Context, code, base string, all []Reread, a source.Audit) error {
	plans := map[string]harvest.PlanID{}
	for i := range all {
		p, err := n.Planner.Plan(ctx, harvest.Trigger{
			Provenance: code, Operation: harvest.Backfill, Activity: all[i].Activity, Kind: "MANUAL", From: all[i].From, To: all[i].To, BaseURL: base,
		})
		if err != nil {
			return err
		}
		all[i].Planned = p
		if p.Plan.ID != 0 && !p.Plan.Existing {
			plans[all[i].Activity] = p.Plan.ID
		}
	}
	if len(plans) == 0 {
		return nil
	}
	return n.Store.Audit(ctx, a, map[string]any{"plans": plans})
}
