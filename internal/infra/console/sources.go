package console

import (
	"context"
	"time"

	"github.com/papertrace/patra/internal/app/control"
)

// operatorPages are those about what patra is to do, and who changed that.
func (c *Console) operatorPages() []page {
	return []page{
		{"/sources", "/sources", c.sources},
		{"/sources/new", "/sources", c.newSource},
		{"/sources/{code}", "/sources", c.source},
		{"/sources/{code}/edit", "/sources", c.editSource},
		{"/sources/{code}/check", "/sources", c.sourceCheck},
		{"/sources/{code}/timeline", "/sources", c.timeline},
		{"/sources/{code}/diff", "/sources", c.sourceDiff},
		{"/schedules", "/schedules", c.schedules},
		{"/schedules/new", "/schedules", c.newSchedule},
		{"/schedules/{name}", "/schedules", c.schedulePage},
		{"/alerts", "/alerts", c.alerts},
		{"/alerts/{id}", "/alerts", c.alertPage},
		{"/outbox", "/outbox", c.outbox},
		{"/outbox/{id}", "/outbox", c.outboxMessage},
		{"/audit", "/audit", c.audit},
		{"/audit/{id}", "/audit", c.auditLine},
		{"/settings", "/settings", c.settings},
		{"/help", "", c.help},
	}
}

// sources lists the sources there are.
func (c *Console) sources(ctx context.Context, v *visit) (*view, error) {
	list, err := c.control.Sources(ctx, v.page())
	if err != nil {
		return nil, err
	}
	out := &view{Title: v.t("rail./sources"), Lead: v.t("sources.lead"), CLI: "patra source list", API: "/sources", Topics: "audit"}
	out.Actions = []action{{Label: v.t("editor.new"), Href: v.path("/sources/new"), Needs: control.Admin}}
	fares, err := c.control.Status(ctx, "")
	if err != nil {
		return nil, err
	}
	fresh := map[string]control.SourceStatus{}
	for _, one := range fares.Sources {
		fresh[one.Source] = one
	}
	ends, err := c.keysEnd(ctx, v)
	if err != nil {
		return nil, err
	}
	t := &table{Caption: v.t("rail./sources"), Head: []column{
		{Text: v.t("col.source")},
		{Text: v.t("col.name")},
		{Text: v.t("col.state")},
		{Text: v.t("col.freshness")},
		{Text: v.t("col.why")},
		{Text: v.t("col.origin")},
		{Text: v.t("col.rows_source"), Num: true},
		{Text: v.t("col.rows_task"), Num: true},
		{Text: v.t("col.next_change")},
		{Text: v.t("sources.key_ends")},
	}}
	for _, s := range list.Sources {
		t.Rows = append(t.Rows, row{Cells: []cell{
			linked(s.Code, v.path("/sources/%s", s.Code)), text(s.Name), stated(control.SourceFamily(s.State), v.stateWord(s.State)), v.freshOrNever(fresh[s.Code]), text(s.Reason), text(s.Origin),
			count(s.SourceRows), count(s.TaskRows), at(s.NextChange), instant(ends[s.Code]),
		}})
	}
	out.Panels = []panel{{ID: "list", Title: v.t("rail./sources"), Table: t, Next: v.nextPage(list.Next)}}
	return out, nil
}

// freshOrNever is how fresh a source is, or that nothing was ever read of it.
func (v *visit) freshOrNever(s control.SourceStatus) cell {
	if s.Never || s.Source == "" {
		return text(v.t("sources.never"))
	}
	return v.freshness(s.Freshness)
}

// keysEnd are when the first key of each source ends, for those who may know of keys.
func (c *Console) keysEnd(ctx context.Context, v *visit) (map[string]time.Time, error) {
	out := map[string]time.Time{}
	if !v.May(control.Admin) {
		return out, nil
	}
	list, err := c.control.Credentials(ctx, "", false)
	if err != nil {
		return nil, err
	}
	for _, k := range list.Credentials {
		end := k.To
		if end.IsZero() {
			continue
		}
		if first, known := out[k.Pool]; !known || end.Before(first) {
			out[k.Pool] = end
		}
	}
	return out, nil
}

// nextPage is the address of the next part of a list; empty if there is none.
func (v *visit) nextPage(next string) string {
	if next == "" {
		return ""
	}
	return v.with("after", next)
}
