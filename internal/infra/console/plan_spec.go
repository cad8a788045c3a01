package console

import (
	"context"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// planSpec shows the description of its source that a plan froze.
func (c *Console) planSpec(ctx context.Context, v *visit) (*view, error) {
	id, err := v.number("id")
	if err != nil {
		return nil, err
	}
	p, err := c.control.Plan(ctx, harvest.PlanID(id), 0, 1)
	if err != nil {
		return nil, err
	}
	s, err := c.control.PlanSpec(ctx, harvest.PlanID(id))
	if err != nil {
		return nil, err
	}
	out := v.planFrame(p.Plan)
	out.Crumbs = append(out.Crumbs, link{v.t("plan.crumb", id), v.path("/plans/%d", id)})
	out.Up = v.path("/plans/%d", id)
	out.CLI = fmt.Sprintf("patra plan spec %d", id)
	out.API = fmt.Sprintf("/plans/%d/spec", id)
	out.Tabs = v.planTabs(p.Plan.ID, "spec")
	frozen := panel{ID: "frozen", Title: v.t("plan.frozen", stamp(time.Time(s.FrozenAt))), Note: v.t("plan.frozen_note")}
	for _, line := range s.Summary {
		frozen.Facts = append(frozen.Facts, fact{line.What, text(line.Text)})
	}
	frozen.Facts = append(frozen.Facts, fact{v.t("source.fingerprint"), cell{Text: s.Fingerprint[:min(12, len(s.Fingerprint))], Mono: true, Title: s.Fingerprint}})
	since := panel{ID: "since", Title: v.t("plan.since", len(s.Changed))}
	switch {
	case s.Unknown != "":
		since.Title = v.t("plan.since_unknown")
		since.Empty = s.Unknown
	case len(s.Changed) == 0:
		since.Empty = v.t("plan.same")
	default:
		since.Table = changesTable(v, since.Title, s.Changed)
		since.Table.Head[1].Text = v.t("plan.as_frozen")
		since.Table.Head[2].Text = v.t("plan.as_now")
	}
	out.Panels = []panel{frozen, since, {ID: "spec", Title: v.t("plan.spec"), Text: laidOut(string(s.Spec))}}
	return out, nil
}
