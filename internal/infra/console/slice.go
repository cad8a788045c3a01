package console

import (
	"context"
	"fmt"
	"strconv"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// slice shows a slice: its window, how it was cut, and what was done for it.
func (c *Console) slice(ctx context.Context, v *visit) (*view, error) {
	id, err := v.number("id")
	if err != nil {
		return nil, err
	}
	s, err := c.control.Slice(ctx, harvest.SliceID(id))
	if err != nil {
		return nil, err
	}
	at := v.sliceState(s)
	out := &view{
		Title: v.t("slice.title", id), State: at.State, Lead: v.partText(s),
		CLI: cli(fmt.Sprintf("patra plan slices %d", s.Plan), "--from", s.From.String(), "--to", s.To.String()), API: fmt.Sprintf("/slices/%d", id), Topics: "work plans",
		Crumbs: v.workCrumbs(s.Plan, 0, 0), Up: v.path("/plans/%d", s.Plan), After: v.path("/slices/%d", id+1),
	}
	if id > 1 {
		out.Before = v.path("/slices/%d", id-1)
	}
	facts := []fact{
		{v.t("col.window"), mono(harvest.Span{From: s.From, To: s.To}.Short())},
		{v.t("slice.range"), text(s.Range)},
		{v.t("col.tries"), count(s.Tries)},
		{v.t("slice.reason"), text(s.Reason)},
	}
	if s.Parent != 0 {
		facts = append(facts, fact{v.t("slice.parent"), linked(strconv.FormatInt(int64(s.Parent), 10), v.path("/slices/%d", s.Parent))})
	}
	facts = append(facts, v.sumFacts(s.Detail)...)
	out.Panels = []panel{{ID: "facts", Title: v.t("slice.facts"), Facts: known(append(facts, v.whyFacts(s.Cause, s.Waiting)...)...)}}
	if d := s.Detail; d != nil {
		out.Panels = append(out.Panels, panel{ID: "expressions", Title: v.t("slice.expressions"), Parts: []panel{
			{ID: "prototype", Title: v.t("slice.prototype"), Text: laidOut(d.Prototype), Empty: emptyIf(d.Prototype == "", v.t("slice.everything"))},
			{ID: "localized", Title: v.t("slice.localized"), Text: laidOut(d.Localized), Empty: emptyIf(d.Localized == "", v.t("slice.everything"))},
		}})
	}
	if s.Work == nil {
		return out, nil
	}
	out.Actions = v.sliceActions(s.ID, s.Work.Status, s.Work.Source, s.Accepted)
	t, err := c.control.Task(ctx, s.Work.ID)
	if err != nil {
		return nil, err
	}
	work := panel{ID: "task", Title: v.t("task.title", int64(t.ID)), Note: t.Why, Table: v.runTable(t.Runs)}
	work.Actions = []action{{Label: v.t("act.open_task"), Href: v.path("/tasks/%d", t.ID), Needs: control.Viewer}}
	if len(t.Runs) == 0 {
		work.Table = nil
		work.Empty = v.t("task.no_runs")
	}
	out.Panels = append(out.Panels, work)
	if s.Spec != "" {
		out.Panels = append(out.Panels, panel{ID: "spec", Title: v.t("slice.spec"), Text: laidOut(s.Spec)})
	}
	return out, nil
}

// sumFacts hold what a slice came to against what was expected of it, and against what it
// may cost.
func (v *visit) sumFacts(d *control.SliceDetail) []fact {
	if d == nil {
		return nil
	}
	records := count(d.Records)
	if d.Estimated > 0 {
		records.Small = v.t("slice.expected", grouped(d.Expected))
	}
	pages := count(d.Asked)
	if d.Asked > 0 {
		pages.Small = v.t("slice.each_took", grouped(d.AvgLatency()))
	}
	out := []fact{{v.t("slice.read"), records}, {v.t("slice.pages"), pages}, {"429", someOf(d.HTTP429)}}
	b := d.Budget
	if b == nil {
		return append(out, fact{v.t("slice.budget"), text(v.t("slice.no_budget"))})
	}
	var used []string
	if b.MaxRequests > 0 {
		used = append(used, v.t("slice.budget_requests", grouped(d.Asked), grouped(int64(b.MaxRequests))))
	}
	if b.MaxRecords > 0 {
		used = append(used, v.t("slice.budget_records", grouped(d.Records), grouped(b.MaxRecords)))
	}
	if b.MaxDurationSec > 0 {
		used = append(used, v.t("slice.budget_seconds", grouped(d.Latency/1000), grouped(int64(b.MaxDurationSec))))
	}
	return append(out, fact{v.t("slice.budget"), cell{Lines: used}})
}
