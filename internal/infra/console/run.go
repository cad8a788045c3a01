package console

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// runs lists attempts at tasks, the newest first.
func (c *Console) runs(ctx context.Context, v *visit) (*view, error) {
	q := control.RunQuery{Source: v.query("source"), State: harvest.RunState(v.query("state")), Page: v.page()}
	task := v.query("task")
	if task != "" {
		n, err := strconv.ParseInt(task, 10, 64)
		if err != nil || n < 1 {
			return nil, control.ErrPage
		}
		q.Task = harvest.TaskID(n)
	}
	plan := v.query("plan")
	if plan != "" {
		n, err := strconv.ParseInt(plan, 10, 64)
		if err != nil || n < 1 {
			return nil, control.ErrPage
		}
		q.Plan = harvest.PlanID(n)
	}
	list, err := c.control.Runs(ctx, q)
	if err != nil {
		return nil, err
	}
	out := &view{
		Title: v.t("runs.title"), Lead: v.t("runs.lead"), Topics: "work",
		CLI: cli("patra run list", "--source", q.Source, "--state", string(q.State), "--plan", plan, "--task", task),
		API: api("/runs", "source", q.Source, "state", string(q.State), "plan", plan, "task", task),
		Up:  v.path("/queue"),
	}
	out.Tabs = v.workTabs("runs")
	if q.Plan != 0 {
		out.Title = v.t("runs.of_plan", int64(q.Plan))
		out.Crumbs = v.workCrumbs(q.Plan, 0, 0)
		out.Up = v.path("/plans/%d", q.Plan)
		out.Tabs = v.planTabs(q.Plan, "runs")
	}
	out.Filters = []field{
		{Name: "source", Label: v.t("col.source"), Value: q.Source},
		v.stateFilter(string(q.State), "RUNNING", "SUCCEEDED", "PARTIAL", "FAILED", "CANCELLED"),
		{Name: "plan", Label: v.t("col.plan"), Value: plan, Kind: "number"},
		{Name: "task", Label: v.t("col.task"), Value: task, Kind: "number"},
	}
	part := panel{ID: "runs", Title: v.t("runs.title"), Table: v.runTable(list.Runs), Next: v.nextPage(list.Next)}
	if len(list.Runs) == 0 {
		part.Table = nil
		part.Empty = v.t("filter.nothing")
	}
	out.Panels = []panel{part}
	return out, nil
}

// runTable lists runs.
func (v *visit) runTable(runs []control.RunItem) *table {
	t := &table{Caption: v.t("runs.title"), Head: []column{
		{Text: v.t("col.run")},
		{Text: v.t("col.state")},
		{Text: v.t("col.source")},
		{Text: v.t("col.task")},
		{Text: v.t("col.attempt"), Num: true},
		{Text: v.t("col.began")},
		{Text: v.t("col.took"), Num: true},
		{Text: v.t("col.pages"), Num: true},
		{Text: v.t("col.records"), Num: true},
		{Text: v.t("col.why")},
	}}
	for _, r := range runs {
		pages, items := cell{}, cell{}
		if r.Stats != nil {
			pages = count(r.Stats.Pages)
			items = count(r.Stats.Items)
		}
		t.Rows = append(t.Rows, row{Cells: []cell{
			linked(strconv.FormatInt(int64(r.ID), 10), v.path("/runs/%d", r.ID)),
			stated(control.RunFamily(harvest.RunState(r.Status)), v.stateWord(r.Status)),
			linked(r.Source, v.path("/sources/%s", r.Source)),
			linked(strconv.FormatInt(int64(r.Task), 10), v.path("/tasks/%d", r.Task)),
			count(r.Attempt), instant(r.StartedAt), v.tookCell(r.StartedAt, r.FinishedAt), pages, items,
			v.whyCell(r.Cause, r.Waiting, ""),
		}})
	}
	return t
}

// tookCell is how long something lasted, in a list.
func (v *visit) tookCell(from, to time.Time) cell {
	if to.IsZero() {
		to = v.now
	}
	return text(v.took(from, to)).of(to.Sub(from).Seconds())
}

// took is how long something lasted, or lasts already.
func (v *visit) took(from, to time.Time) string {
	if from.IsZero() {
		return ""
	}
	if to.IsZero() {
		to = v.now
	}
	d := to.Sub(from)
	if d < time.Second {
		return v.t("time.milliseconds", max(0, d.Milliseconds()))
	}
	if d < time.Minute {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return length(v.look.words, d)
}

// run shows an attempt at a task: a bar for each of its pages, and why it ended.
func (c *Console) run(ctx context.Context, v *visit) (*view, error) {
	id, err := v.number("id")
	if err != nil {
		return nil, err
	}
	r, err := c.control.Run(ctx, harvest.RunID(id), v.page())
	if err != nil {
		return nil, err
	}
	out := &view{
		Title: v.t("run.title", id), State: &state{Family: control.RunFamily(harvest.RunState(r.Status)), Word: v.stateWord(r.Status)},
		Lead: r.Why, CLI: fmt.Sprintf("patra run show %d", id), API: api(fmt.Sprintf("/runs/%d", id), "after", v.query("after")), Topics: "work",
		Crumbs: v.workCrumbs(r.Plan, r.Slice, r.Task), Up: v.path("/tasks/%d", r.Task),
	}
	if r.Status == string(harvest.RunRunning) {
		out.Topics += " time" // it may end without a page
	}
	task, err := c.control.Task(ctx, r.Task)
	if err != nil {
		return nil, err
	}
	if at := slices.IndexFunc(task.Runs, func(o control.RunItem) bool { return o.ID == r.ID }); at >= 0 {
		if at > 0 {
			out.After = v.path("/runs/%d", task.Runs[at-1].ID)
		}
		if at+1 < len(task.Runs) {
			out.Before = v.path("/runs/%d", task.Runs[at+1].ID)
		}
	}
	facts := panel{ID: "facts", Title: v.t("run.facts"), Facts: []fact{
		{v.t("col.source"), linked(r.Source, v.path("/sources/%s", r.Source))},
		{v.t("col.operation"), text(string(r.Operation))},
		{v.t("col.window"), mono(harvest.Span{From: r.From, To: r.To}.Short())},
		{v.t("col.attempt"), cell{Text: strconv.Itoa(r.Attempt), Small: v.t("run.of_task", int64(r.Task)), Href: v.path("/runs") + fmt.Sprintf("?task=%d", r.Task)}},
		{v.t("task.owner"), mono(r.Owner)},
		{v.t("col.began"), instant(r.StartedAt)},
		{v.t("col.took"), text(v.took(r.StartedAt, r.FinishedAt))},
	}}
	facts.Facts = append(facts.Facts, v.whyFacts(r.Cause, r.Waiting)...)
	facts.Facts = append(facts.Facts, fact{v.t("why.unblocks"), helps(r.NextStep)})
	if s := r.Stats; s != nil {
		for _, f := range []struct {
			name string
			n    int64
		}{
			{"plan.requests", s.Sent},
			{"run.items", s.Items},
			{"plan.new", s.Inserted},
			{"plan.changed", s.Updated},
			{"run.skipped", s.Skipped},
			{"plan.quarantined", s.Quarantined},
			{"run.retried", s.Retried},
			{"run.429", s.HTTP429},
			{"run.5xx", s.HTTP5xx},
		} {
			facts.Facts = append(facts.Facts, fact{v.t(f.name), count(f.n)})
		}
	}
	out.Panels = []panel{v.batchPanel(r), facts}
	return out, nil
}

// workCrumbs are the way from the plans down to a task, as far as it is known.
func (v *visit) workCrumbs(plan harvest.PlanID, slice harvest.SliceID, task harvest.TaskID) []link {
	out := []link{{v.t("rail./plans"), v.path("/plans")}}
	if plan != 0 {
		out = append(out, link{v.t("plan.crumb", int64(plan)), v.path("/plans/%d", plan)})
	}
	if slice != 0 {
		out = append(out, link{v.t("slice.title", int64(slice)), v.path("/slices/%d", slice)})
	}
	if task != 0 {
		out = append(out, link{v.t("task.title", int64(task)), v.path("/tasks/%d", task)})
	}
	return out
}

// batchPanel draws the pages of a run.
func (v *visit) batchPanel(r control.RunView) panel {
	out := panel{ID: "batches", Title: v.t("run.batches"), Next: v.nextPage(r.Next)}
	if len(r.Batches) == 0 {
		out.Empty = v.t("run.no_batches")
		return out
	}
	t := &table{Caption: v.t("run.batches"), Head: []column{
		{Text: v.t("col.page"), Num: true},
		{Text: v.t("col.state")},
		{Text: v.t("run.phase")},
		{Text: v.t("col.began")},
		{Text: v.t("run.wait_ms"), Num: true},
		{Text: v.t("run.network_ms"), Num: true},
		{Text: v.t("run.processing_ms"), Num: true},
		{Text: v.t("run.items"), Num: true},
		{Text: v.t("run.new"), Num: true},
		{Text: v.t("run.changed"), Num: true},
		{Text: v.t("plan.quarantined"), Num: true},
		{Text: v.t("run.retried"), Num: true},
		{Text: "HTTP", Num: true},
		{Text: v.t("col.why")},
	}}
	for _, b := range r.Batches {
		status := cell{}
		if b.HTTP != 0 {
			status = text(strconv.FormatInt(b.HTTP, 10))
		}
		why := b.Error
		if b.Code != "" {
			why = strings.TrimSuffix(b.Code+": "+b.Error, ": ")
		}
		t.Rows = append(t.Rows, row{Cells: []cell{
			linked(strconv.FormatInt(b.No, 10), v.path("/runs/%d/batches/%d", b.Run, b.No)),
			stated(control.BatchFamily(harvest.BatchState(b.Status)), v.stateWord(b.Status)),
			text(b.Phase),
			{Text: b.Opened.UTC().Format("15:04:05Z"), Title: stamp(b.Opened)},
			count(b.Wait), count(b.Network), count(b.Processing),
			count(b.Items), count(b.Inserted), count(b.Updated), count(b.Quarantined), count(b.Retried), status, text(why),
		}})
	}
	bars := newBars(v, r.Batches)
	out.Figure = &figure{
		Title: v.t("run.bars"), Summary: bars.summary(), Drawing: bars.draw(),
		Legend: []state{{Family: control.Waiting, Word: v.t("run.wait")}, {Family: control.Active, Word: v.t("run.network")}, {Family: control.OK, Word: v.t("run.processing")}},
	}
	out.Table = t
	return out
}
