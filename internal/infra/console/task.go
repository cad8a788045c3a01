package console

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// tasks lists tasks: those in hand, the queue in its order, what ended.
func (c *Console) tasks(ctx context.Context, v *visit) (*view, error) {
	q := control.TaskQuery{Source: v.query("source"), State: harvest.TaskState(v.query("state")), Page: v.page()}
	plan := v.query("plan")
	if plan != "" {
		n, err := strconv.ParseInt(plan, 10, 64)
		if err != nil || n < 1 {
			return nil, control.ErrPage
		}
		q.Plan = harvest.PlanID(n)
	}
	list, err := c.control.Tasks(ctx, q)
	if err != nil {
		return nil, err
	}
	out := &view{
		Title: v.t("tasks.title"), Lead: v.t("tasks.lead"), Topics: "work plans", Up: v.path("/queue"),
		CLI: cli("patra task list", "--source", q.Source, "--state", string(q.State), "--plan", plan),
		API: api("/tasks", "source", q.Source, "state", string(q.State), "plan", plan),
	}
	out.Tabs = v.workTabs("tasks")
	if q.Plan != 0 {
		out.Title = v.t("tasks.of_plan", int64(q.Plan))
		out.Crumbs = v.workCrumbs(q.Plan, 0, 0)
		out.Up = v.path("/plans/%d", q.Plan)
		out.Tabs = v.planTabs(q.Plan, "tasks")
	}
	out.Filters = []field{
		{Name: "source", Label: v.t("col.source"), Value: q.Source},
		v.stateFilter(string(q.State), "EXECUTING", "DISPATCHED", "QUEUED", "FAILED", "PARTIAL", "CANCELLED", "SUCCEEDED"),
		{Name: "plan", Label: v.t("col.plan"), Value: plan, Kind: "number"},
	}
	t := &table{Caption: v.t("tasks.title"), Head: []column{
		{Text: v.t("col.task")},
		{Text: v.t("col.state")},
		{Text: v.t("col.source")},
		{Text: v.t("col.operation")},
		{Text: v.t("col.window")},
		{Text: v.t("task.priority")},
		{Text: v.t("col.tries"), Num: true},
		{Text: v.t("task.owner")},
		{Text: v.t("col.why")},
	}}
	for _, one := range list.Tasks {
		owner := cell{}
		if one.Lease != nil {
			owner = mono(one.Lease.Owner)
		}
		window := harvest.Span{From: one.From, To: one.To}.Short()
		if one.Range != "" {
			window += " " + one.Range
		}
		t.Rows = append(t.Rows, row{Cells: []cell{
			linked(strconv.FormatInt(int64(one.ID), 10), v.path("/tasks/%d", one.ID)),
			stated(control.TaskFamily(one.Status), v.stateWord(string(one.Status))),
			linked(one.Source, v.path("/sources/%s", one.Source)), text(string(one.Operation)), mono(window),
			text(v.look.words.sayOr("priority."+one.PriorityWord, one.PriorityWord)), count(one.Attempts), owner, v.whyCell(one.Cause, one.Waiting, ""),
		}})
	}
	part := panel{ID: "tasks", Title: v.t("tasks.title"), Table: t, Next: v.nextPage(list.Next)}
	if len(t.Rows) == 0 {
		part.Table = nil
		part.Empty = v.t("filter.nothing")
	}
	out.Panels = []panel{part}
	return out, nil
}

// workTabs lead from the queue to tasks and runs.
func (v *visit) workTabs(here string) []tab {
	return []tab{
		{link{v.t("rail./queue"), v.path("/queue")}, here == "queue"},
		{link{v.t("tasks.title"), v.path("/tasks")}, here == "tasks"},
		{link{v.t("runs.title"), v.path("/runs")}, here == "runs"},
	}
}

// task shows a task: who has it in hand, where it stands, why it waits, what was tried.
func (c *Console) task(ctx context.Context, v *visit) (*view, error) {
	id, err := v.number("id")
	if err != nil {
		return nil, err
	}
	t, err := c.control.Task(ctx, harvest.TaskID(id))
	if err != nil {
		return nil, err
	}
	out := &view{
		Title: v.t("task.title", id), State: &state{Family: control.TaskFamily(t.Status), Word: v.stateWord(string(t.Status))}, Lead: t.Why,
		CLI: fmt.Sprintf("patra task show %d", id), API: fmt.Sprintf("/tasks/%d", id), Topics: "work plans",
		Crumbs: v.workCrumbs(t.Plan, t.Slice, 0), Up: v.path("/slices/%d", t.Slice), After: v.path("/tasks/%d", id+1),
	}
	if id > 1 {
		out.Before = v.path("/tasks/%d", id-1)
	}
	if t.Status.Open() {
		out.Topics += " time" // it may be taken or given back without a page
	}
	out.Actions = v.sliceActions(t.Slice, t.Status, t.Source, false)
	facts := []fact{
		{v.t("col.source"), linked(t.Source, v.path("/sources/%s", t.Source))},
		{v.t("plan.endpoint"), text(t.Endpoint)},
		{v.t("col.operation"), text(string(t.Operation))},
		{v.t("col.window"), mono(harvest.Span{From: t.From, To: t.To}.Short())},
		{v.t("slice.range"), text(t.Range)},
		{v.t("task.priority"), cell{Text: v.look.words.sayOr("priority."+t.PriorityWord, t.PriorityWord), Small: strconv.Itoa(t.Priority)}},
		{v.t("task.due"), instant(t.DueAt)},
		{v.t("col.tries"), count(t.Attempts)},
		{v.t("task.moved"), instant(t.UpdatedAt)},
	}
	if t.Ahead != nil {
		facts = append(facts, fact{v.t("task.ahead"), counted(*t.Ahead)})
	}
	if t.Lease != nil {
		until := instant(t.Lease.Until)
		if t.Lease.Expired {
			until.State = &state{Family: control.Remarked, Word: v.t("task.expired")}
		}
		facts = append(facts, fact{v.t("task.owner"), mono(t.Lease.Owner)}, fact{v.t("task.leased_until"), until})
	}
	if t.Code == harvest.CodePoison {
		facts = append(facts, fact{v.t("task.poison"), cell{State: &state{Family: control.Failed, Word: v.t("task.poison_word")}, Small: v.t("task.poison_note")}})
	}
	why := v.whyFacts(t.Cause, t.Waiting)
	if t.Waiting == nil {
		why = append(why, fact{v.t("why.unblocks"), helps(t.NextStep)})
	}
	if why = known(why...); len(why) > 0 {
		out.Panels = append(out.Panels, panel{ID: "why", Title: v.t("task.why"), Facts: why})
	}
	out.Panels = append(out.Panels, panel{ID: "facts", Title: v.t("task.facts"), Facts: known(facts...)})
	runs := panel{ID: "runs", Title: v.t("task.runs"), Table: v.runTable(t.Runs)}
	if len(t.Runs) == 0 {
		runs.Table = nil
		runs.Empty = v.t("task.no_runs")
	}
	if t.MoreRuns {
		runs.Next = v.path("/runs") + fmt.Sprintf("?task=%d", id)
	}
	out.Panels = append(out.Panels, runs)
	return out, nil
}

// retryAction queues again what failed, which is done for a whole source at once.
func (v *visit) retryAction(source string) action {
	return action{Label: v.t("act.retry", source), Do: apiPath("/sources/%s/retry", source), Level: 2}
}

// sliceActions are what can be done about a slice whose task is in a state.
func (v *visit) sliceActions(id harvest.SliceID, st harvest.TaskState, source string, accepted bool) []action {
	var out []action
	if accepted {
		return nil
	}
	if st == harvest.TaskFailed || st == harvest.TaskCancelled {
		out = append(out, action{Label: v.t("act.accept"), Do: fmt.Sprintf("/slices/%d/accept", id), Level: 2})
	}
	if st == harvest.TaskFailed {
		out = append(out, v.retryAction(source))
	}
	if st.Open() || st == harvest.TaskFailed {
		out = append(out, action{Label: v.t("act.cancel_slice"), Do: fmt.Sprintf("/slices/%d/cancel", id), Level: 2})
	}
	return out
}

// queue shows what waits and runs, by partition, and who has tasks in hand.
func (c *Console) queue(ctx context.Context, v *visit) (*view, error) {
	code := v.query("source")
	q, err := c.control.Queue(ctx, code, "")
	if err != nil {
		return nil, err
	}
	out := &view{
		Title: v.t("rail./queue"), Lead: v.t("queue.lead"), Topics: "work plans time",
		CLI: strings.TrimSpace("patra queue show " + code), API: api("/queue", "source", code),
	}
	out.Tabs = v.workTabs("queue")
	out.Filters = []field{{Name: "source", Label: v.t("col.source"), Value: code}}
	if len(q.Reasons) > 0 {
		out.Panels = append(out.Panels, v.reasonsPanel(q.Reasons))
	}
	out.Panels = append(out.Panels, v.partitionPanel(q), v.workerPanel(q))
	return out, nil
}

// partitionPanel lists partitions in the order in which they are taken from.
func (v *visit) partitionPanel(q control.Queue) panel {
	t := &table{Caption: v.t("queue.partitions"), Head: []column{
		{Text: v.t("col.source")},
		{Text: v.t("plan.endpoint")},
		{Text: v.t("col.operation")},
		{Text: v.t("task.priority")},
		{Text: v.t("col.queued"), Num: true},
		{Text: v.t("queue.due"), Num: true},
		{Text: v.t("queue.oldest"), Num: true},
		{Text: v.t("col.running"), Num: true},
		{Text: v.t("queue.pages"), Num: true},
		{Text: v.t("queue.ok"), Num: true},
		{Text: "429", Num: true},
		{Text: v.t("col.why")},
	}}
	for _, p := range q.Partitions {
		oldest := cell{}
		if p.Oldest != nil {
			waits := max(0, time.Time(q.At).Sub(time.Time(*p.Oldest)))
			oldest = text(length(v.look.words, waits)).of(waits.Seconds())
		}
		fared := cell{}
		if all := p.LastMinute.Stored + p.LastMinute.Failed; all > 0 {
			fared = text(fmt.Sprintf("%d %%", p.LastMinute.Stored*100/all))
		}
		queued := counted(control.Counted{Count: p.Queued, More: p.QueuedCapped})
		queued.Href = v.path("/tasks") + "?state=QUEUED&source=" + p.Source
		t.Rows = append(t.Rows, row{Cells: []cell{
			linked(p.Source, v.path("/sources/%s", p.Source)), text(p.Endpoint), text(string(p.Operation)),
			text(v.look.words.sayOr("priority."+p.PriorityWord, p.PriorityWord)),
			queued, count(p.Due), oldest, count(p.Running), count(p.LastMinute.Stored), fared, count(p.LastMinute.HTTP429),
			v.whyCell(p.Cause, p.Waiting, ""),
		}})
	}
	out := panel{ID: "list", Title: v.t("queue.partitions"), Note: v.t("queue.partitions_note"), Table: t}
	if len(t.Rows) == 0 {
		out.Table = nil
		out.Empty = v.t("queue.empty", stamp(time.Time(q.At)))
	}
	return out
}

// workerPanel lists who has tasks in hand.
func (v *visit) workerPanel(q control.Queue) panel {
	t := &table{Caption: v.t("queue.workers"), Head: []column{
		{Text: v.t("task.owner")},
		{Text: v.t("queue.tasks"), Num: true},
		{Text: v.t("task.leased_until")},
		{Text: v.t("queue.expired"), Num: true},
	}}
	for _, w := range q.Workers {
		expired := cell{}
		if w.Expired > 0 {
			expired = cell{State: &state{Family: control.Remarked, Word: grouped(w.Expired)}}
		}
		t.Rows = append(t.Rows, row{Cells: []cell{mono(w.Owner), count(w.Tasks), instant(time.Time(w.Until)), expired}})
	}
	out := panel{ID: "workers", Title: v.t("queue.workers"), Table: t}
	if len(t.Rows) == 0 {
		out.Table = nil
		out.Empty = v.t("queue.no_workers")
	}
	return out
}
