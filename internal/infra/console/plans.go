package console

import (
	"context"
	"strconv"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// workPages are those about work: plans down to their pages, and the queue.
func (c *Console) workPages() []page {
	return []page{
		{"/plans", "/plans", c.plans},
		{"/plans/{id}", "/plans", c.plan},
		{"/plans/{id}/slices", "/plans", c.planSlices},
		{"/plans/{id}/spec", "/plans", c.planSpec},
		{"/slices/{id}", "/plans", c.slice},
		{"/queue", "/queue", c.queue},
		{"/tasks", "/queue", c.tasks},
		{"/tasks/{id}", "/queue", c.task},
		{"/runs", "/queue", c.runs},
		{"/runs/{id}", "/queue", c.run},
		{"/runs/{id}/batches/{no}", "/queue", c.batch},
	}
}

// plans lists plans, the newest first.
func (c *Console) plans(ctx context.Context, v *visit) (*view, error) {
	q := control.PlanQuery{
		Source: v.query("source"), Operation: harvest.Operation(v.query("operation")), State: harvest.PlanState(v.query("state")), Open: v.query("open") != "", Limit: pageRows,
	}
	open := ""
	if q.Open {
		open = "true"
	}
	if after := v.query("after"); after != "" {
		n, err := strconv.ParseInt(after, 10, 64)
		if err != nil {
			return nil, control.ErrPage
		}
		q.Before = harvest.PlanID(n)
	}
	list, err := c.control.Plans(ctx, q)
	if err != nil {
		return nil, err
	}
	out := &view{Title: v.t("rail./plans"), Lead: v.t("plans.lead"), CLI: cli("patra plan list", "--source", q.Source, "--op", string(q.Operation), "--state", string(q.State)), API: api("/plans", "source", q.Source, "operation", string(q.Operation), "state", string(q.State), "open", open), Topics: "plans work"}
	if q.Open {
		out.CLI += " --open"
	}
	operation := field{Name: "operation", Label: v.t("col.operation"), Value: string(q.Operation), Kind: "select", Options: []option{
		{"", v.t("filter.any")}, {"HARVEST", "HARVEST"}, {"BACKFILL", "BACKFILL"}, {"UPDATE", "UPDATE"},
	}}
	out.Filters = []field{
		{Name: "source", Label: v.t("col.source"), Value: q.Source},
		operation,
		v.stateFilter(string(q.State), "DRAFT", "SLICING", "READY", "PARTIAL", "COMPLETED", "FAILED", "CANCELLED"),
		{Name: "open", Label: v.t("plans.open"), Value: open, Kind: "check"},
	}
	t := &table{Caption: v.t("rail./plans"), Head: []column{
		{Text: v.t("col.plan")}, {Text: v.t("col.source")}, {Text: v.t("col.operation")}, {Text: v.t("col.state")}, {Text: v.t("col.window")}, {Text: v.t("col.query")}, {Text: v.t("col.why")}, {Text: v.t("col.made")},
	}}
	for _, p := range list.Plans {
		t.Rows = append(t.Rows, row{Cells: []cell{
			{Text: strconv.FormatInt(int64(p.ID), 10), Href: v.path("/plans/%d", p.ID), Title: p.Key},
			linked(p.Source, v.path("/sources/%s", p.Source)), text(string(p.Operation)),
			stated(control.PlanFamily(p.Status), v.stateWord(string(p.Status))), mono(harvest.Span{From: p.From, To: p.To}.Short()), text(p.Query), v.whyCell(p.Cause, p.Waiting, ""), instant(p.CreatedAt),
		}})
	}
	list0 := panel{ID: "list", Title: v.t("rail./plans"), Table: t, Next: v.nextPage(list.Next)}
	if len(t.Rows) == 0 {
		list0.Table = nil
		list0.Empty = v.t("filter.nothing")
		if len(v.URL.Query()) == 0 {
			list0.Empty = v.t("plans.none")
			list0.EmptyNext = "patra harvest pubmed"
		}
	}
	out.Panels = []panel{list0}
	return out, nil
}

// cli is a command with those of its flags that have a value.
func cli(command string, flags ...string) string {
	for i := 0; i+1 < len(flags); i += 2 {
		if flags[i+1] != "" {
			command += " " + flags[i] + " " + quoted(flags[i+1])
		}
	}
	return command
}

// quoted is a word as a shell takes it.
func quoted(s string) string {
	for _, r := range s {
		plain := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.' || r == '/' || r == ':'
		if !plain {
			return strconv.Quote(s)
		}
	}
	return s
}
