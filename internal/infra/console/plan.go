package console

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// plan shows a plan: how far it has come, why it waits, and all its slices in a drawing.
func (c *Console) plan(ctx context.Context, v *visit) (*view, error) {
	id, err := v.number("id")
	if err != nil { // it may be named by its key
		id, err = c.planOfKey(ctx, v.PathValue("id"))
	}
	if err != nil {
		return nil, err
	}
	p, err := c.control.Plan(ctx, harvest.PlanID(id), 0, 1)
	if err != nil {
		return nil, err
	}
	out := v.planFrame(p.Plan)
	out.CLI = fmt.Sprintf("patra plan show %d", id)
	if v.query("from") != "" || v.query("to") != "" || v.query("zoom") != "" {
		out.CLI = cli(fmt.Sprintf("patra plan slices %d --groups", id), "--from", v.query("from"), "--to", v.query("to"), "--zoom", v.query("zoom"))
	}
	out.API = fmt.Sprintf("/plans/%d", id)
	out.Tabs = v.planTabs(p.Plan.ID, "plan")
	out.Panels = append(out.Panels, v.planProgress(p))
	matrix, err := c.part(v, "matrix", v.t("matrix.title"), func() (panel, error) { return c.matrixPanel(ctx, v, p.Plan) })
	if err != nil {
		return nil, err
	}
	out.Panels = append(out.Panels, matrix, v.planFacts(p))
	return out, nil
}

// planOfKey is the number of the plan that goes by a key.
func (c *Console) planOfKey(ctx context.Context, key string) (int64, error) {
	id, err := c.control.PlanOfKey(ctx, key)
	if errors.Is(err, harvest.ErrNotFound) {
		return 0, errNoPage
	}
	return int64(id), err
}

// planFrame is what the pages of a plan have in common.
func (v *visit) planFrame(p control.PlanRow) *view {
	out := &view{
		Title:  v.t("plan.title", int64(p.ID), p.Source, string(p.Operation)),
		State:  &state{Family: control.PlanFamily(p.Status), Word: v.stateWord(string(p.Status))},
		Lead:   harvest.Span{From: p.From, To: p.To}.Short(),
		Crumbs: []link{{v.t("rail./plans"), v.path("/plans")}},
		Topics: "plans work",
		Up:     v.path("/plans"),
	}
	if p.Query != "" {
		out.Lead += " · " + p.Query
	}
	if p.ID > 1 {
		out.Before = v.path("/plans/%d", p.ID-1)
	}
	out.After = v.path("/plans/%d", p.ID+1)
	if p.Open {
		out.Actions = append(out.Actions, action{Label: v.t("act.cancel_plan"), Do: fmt.Sprintf("/plans/%d/cancel", p.ID), Level: 3, Name: strconv.FormatInt(int64(p.ID), 10), Needs: control.Admin})
	}
	return out
}

// planTabs are the pages of a plan.
func (v *visit) planTabs(id harvest.PlanID, here string) []tab {
	of := "?plan=" + strconv.FormatInt(int64(id), 10)
	return []tab{
		{link{v.t("plan.tab"), v.path("/plans/%d", id)}, here == "plan"},
		{link{v.t("plan.tab_slices"), v.path("/plans/%d/slices", id)}, here == "slices"},
		{link{v.t("plan.tab_gaps"), v.path("/plans/%d/slices", id) + "?state=FAILED"}, here == "gaps"},
		{link{v.t("plan.tab_tasks"), v.path("/tasks") + of}, here == "tasks"},
		{link{v.t("plan.tab_runs"), v.path("/runs") + of}, here == "runs"},
		{link{v.t("plan.tab_spec"), v.path("/plans/%d/spec", id)}, here == "spec"},
	}
}

// planProgress tells how far a plan has come and what it waits for.
func (v *visit) planProgress(p control.PlanView) panel {
	out := panel{ID: "progress", Title: v.t("plan.progress")}
	share := 0.0
	if p.Progress.All > 0 {
		share = float64(p.Progress.Done) / float64(p.Progress.All)
	}
	done := v.t("plan.done_of", grouped(p.Progress.Done), grouped(p.Progress.All))
	out.Facts = append(out.Facts, fact{v.t("plan.slices_done"), cell{Bar: &bar{Share: share, Text: fmt.Sprintf("%.0f %%", share*100)}, Small: done}})
	if e := p.Estimate; e != nil {
		out.Facts = append(out.Facts, v.estimateFact(*e))
	}
	if p.Progress.Finish != nil {
		pace := v.t("plan.pace", grouped(p.Progress.LastMinutes))
		finish := at(p.Progress.Finish)
		finish.Small = pace
		out.Facts = append(out.Facts, fact{v.t("plan.finish"), finish})
	}
	if p.Progress.Left > 0 {
		out.Facts = append(out.Facts, fact{v.t("plan.left"), cell{Text: "≈ " + grouped(p.Progress.Left)}})
	}
	out.Facts = append(out.Facts, v.whyFacts(p.Plan.Cause, p.Plan.Waiting)...)
	if p.Plan.Open && p.Plan.Waiting == nil && p.Slices.Open > 0 {
		out.Facts = append(out.Facts, fact{v.t("why.waiting"), text(v.t("why.nothing"))})
	}
	if p.Slices.Failed > 0 {
		out.Actions = append(out.Actions, v.retryAction(p.Plan.Source))
	}
	return out
}

// estimateFact holds what came of a plan against what was expected of it.
func (v *visit) estimateFact(e control.PlanEstimate) fact {
	if e.Slices < e.All {
		return fact{v.t("plan.estimate"), cell{Text: v.t("plan.got_of", grouped(e.Read), grouped(e.Expected)), Small: v.t("plan.estimated_in", grouped(e.Slices), grouped(e.All))}}
	}
	share := 1.0
	if e.Expected > 0 {
		share = float64(e.Read) / float64(e.Expected)
	}
	return fact{v.t("plan.estimate"), cell{Bar: &bar{Share: share, Text: fmt.Sprintf("%.0f %%", share*100)}, Small: v.t("plan.got_of", grouped(e.Read), grouped(e.Expected))}}
}

// whyFacts tell what the upstream said last and what is waited for, each by itself.
func (v *visit) whyFacts(cause *control.Cause, waiting *control.WaitingFor) []fact {
	var out []fact
	if cause != nil {
		c := cell{Lines: []string{string(cause.Code) + ": " + cause.Text}}
		if cause.Count > 1 && cause.Since != nil {
			c.Small = v.t("why.row", cause.Count, stamp(time.Time(*cause.Since)))
		}
		out = append(out, fact{v.t("why.cause"), c})
	}
	if waiting != nil {
		c := cell{Lines: []string{waiting.Text}, Title: string(waiting.Reason)}
		if waiting.Until != nil {
			until := time.Time(*waiting.Until)
			c.Small = v.t("why.until", stamp(until)+" ("+ago(v.look.words, until, v.now)+")")
		}
		out = append(out, fact{v.t("why.waiting"), c})
		if waiting.Unblocks != "" {
			out = append(out, fact{v.t("why.unblocks"), advice(waiting.Unblocks)})
		}
	}
	return out
}

// planFacts are what a plan is and what it has come to.
func (v *visit) planFacts(p control.PlanView) panel {
	r := p.Records
	facts := []fact{
		{v.t("col.source"), linked(p.Plan.Source, v.path("/sources/%s", p.Plan.Source))},
		{v.t("plan.key"), mono(p.Plan.Key)},
		{v.t("col.made"), instant(p.Plan.CreatedAt)},
		{v.t("plan.strategy"), text(p.Plan.Strategy)},
		{v.t("plan.endpoint"), text(p.Plan.Endpoint)},
		{v.t("plan.activity"), text(p.Plan.Activity)},
		{v.t("plan.new"), count(r.Inserted)},
		{v.t("plan.changed"), count(r.Updated)},
		{v.t("plan.unchanged"), count(r.Unchanged)},
		{v.t("plan.quarantined"), count(r.Quarantined)},
		{v.t("plan.requests"), count(p.Requests)},
	}
	if p.Pacing != nil {
		facts = append(facts, fact{v.t("plan.pacing"), text(p.Pacing.Text())})
	}
	if p.Plan.Unsliced {
		facts = append(facts, fact{v.t("plan.sliced_to"), text(p.Plan.SlicedTo.String())})
	}
	out := panel{ID: "facts", Title: v.t("plan.facts")}
	for _, f := range facts {
		if f.Value.Says() {
			out.Facts = append(out.Facts, f)
		}
	}
	return out
}

// planSlices lists slices of a plan: all, those in a state, or those of a part of its
// window.
func (c *Console) planSlices(ctx context.Context, v *visit) (*view, error) {
	id, err := v.number("id")
	if err != nil {
		return nil, err
	}
	q := control.SliceQuery{Plan: harvest.PlanID(id), State: harvest.SliceState(v.query("state")), From: v.query("from"), To: v.query("to"), Page: v.page()}
	list, err := c.control.Slices(ctx, q)
	if err != nil {
		return nil, err
	}
	p, err := c.control.Plan(ctx, q.Plan, 0, 1)
	if err != nil {
		return nil, err
	}
	out := v.planFrame(p.Plan)
	out.Crumbs = append(out.Crumbs, link{v.t("plan.crumb", id), v.path("/plans/%d", id)})
	out.Up = v.path("/plans/%d", id)
	out.CLI = cli(fmt.Sprintf("patra plan slices %d", id), "--state", string(q.State), "--from", q.From, "--to", q.To)
	out.API = api(fmt.Sprintf("/plans/%d/slices", id), "state", string(q.State), "from", q.From, "to", q.To)
	here := "slices"
	if q.State == harvest.SliceFailed {
		here = "gaps"
	}
	out.Tabs = v.planTabs(p.Plan.ID, here)
	out.Filters = []field{
		v.stateFilter(string(q.State), "PENDING", "READY", "DONE", "FAILED", "CANCELLED", "RESLICED"),
		{Name: "from", Label: v.t("slices.from"), Value: q.From},
		{Name: "to", Label: v.t("slices.to"), Value: q.To},
	}
	t := &table{Caption: v.t("plan.tab_slices"), Head: []column{
		{Text: v.t("col.slice")},
		{Text: v.t("col.state")},
		{Text: v.t("col.window")},
		{Text: v.t("col.task")},
		{Text: v.t("col.tries"), Num: true},
		{Text: v.t("col.why")},
	}}
	for _, s := range list.Slices {
		t.Rows = append(t.Rows, row{Cells: []cell{
			linked(strconv.FormatInt(int64(s.ID), 10), v.path("/slices/%d", s.ID)),
			v.sliceState(s), mono(v.partText(s)), v.taskCell(s.Work), count(s.Tries), v.whyCell(s.Cause, s.Waiting, s.Reason),
		}})
	}
	part := panel{ID: "slices", Title: v.t("plan.tab_slices"), Table: t, Next: v.nextPage(list.Next)}
	if len(t.Rows) == 0 {
		part.Table = nil
		part.Empty = v.t("slices.none")
		if here == "gaps" && q.From == "" && q.To == "" {
			part.Empty = v.t("slices.none_failed")
		}
	}
	out.Panels = []panel{part}
	return out, nil
}

// sliceState is the state of a slice: that of its task while somebody has it in hand.
func (v *visit) sliceState(s control.SliceRow) cell {
	if s.Task.Open() && s.Task != harvest.TaskQueued {
		return stated(control.TaskFamily(s.Task), v.stateWord(string(s.Task)))
	}
	if s.Accepted {
		return stated(control.Partial, v.t("slice.accepted"))
	}
	return stated(control.SliceFamily(s.Status), v.stateWord(string(s.Status)))
}

// partText is the window of a slice, and the part of what lies in it.
func (v *visit) partText(s control.SliceRow) string {
	text := harvest.Span{From: s.From, To: s.To}.Short()
	if s.Range != "" {
		text += " " + s.Range
	}
	return text
}

func (v *visit) taskCell(t *control.TaskRow) cell {
	if t == nil {
		return cell{}
	}
	return linked(strconv.FormatInt(int64(t.ID), 10), v.path("/tasks/%d", t.ID))
}

// whyCell tells cause and waiting, one under the other; without both what was written
// down.
func (v *visit) whyCell(cause *control.Cause, waiting *control.WaitingFor, reason string) cell {
	out := cell{}
	if cause != nil {
		out.Lines = append(out.Lines, string(cause.Code)+": "+cause.Text)
	}
	if waiting != nil {
		line := waiting.Text
		if waiting.Until != nil {
			line += " · " + v.t("why.until", stamp(time.Time(*waiting.Until)))
		}
		out.Lines = append(out.Lines, line)
	}
	if len(out.Lines) == 0 && reason != "" {
		out.Lines = []string{reason}
	}
	return out
}

// stateFilter is a choice among states.
func (v *visit) stateFilter(value string, states ...string) field {
	f := field{Name: "state", Label: v.t("col.state"), Value: value, Kind: "select", Options: []option{{"", v.t("filter.any")}}}
	for _, s := range states {
		f.Options = append(f.Options, option{s, v.stateWord(s)})
	}
	return f
}
