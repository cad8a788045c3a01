package control

import (
	"context"

	"github.com/papertrace/patra/internal/app/planner"
	"github.com/papertrace/patra/internal/app/reconcile"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// Reconcile holds what is stored of a source against the source's own counts.
func (c *Control) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	return reconcile.New(c.contracts, c.store, c.line).Compare(ctx, req)
}

// Reread is a window that is read again, and the plan for it.
type Reread struct {
	reconcile.Window
	Activity string
	Planned  planner.Planned
}

// Rereads names the activities in which windows would be read again.
func (c *Control) Rereads(ctx context.Context, windows []reconcile.Window) ([]Reread, error) {
	now, err := c.store.Now(ctx)
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
func (c *Control) PlanRereads(ctx context.Context, code, base string, all []Reread, by By) error {
	plans := map[string]harvest.PlanID{}
	for i := range all {
		p, err := c.planner.Plan(ctx, harvest.Trigger{
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
	return c.store.Audit(ctx, by.line("RECONCILE_PLAN", "source/"+code), map[string]any{"plans": plans})
}
