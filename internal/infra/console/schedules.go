package console

import (
	"context"
	"net/url"

	"github.com/papertrace/patra/internal/app/control"
)

// schedules lists what is asked for by itself, and when.
func (c *Console) schedules(ctx context.Context, v *visit) (*view, error) {
	code := v.query("source")
	list, err := c.control.Schedules(ctx, code)
	if err != nil {
		return nil, err
	}
	out := &view{
		Title: v.t("rail./schedules"), Lead: v.t("schedules.lead"), CLI: cli("patra schedule list", "--source", code), API: api("/schedules", "source", code), Topics: "plans audit time",
		Actions: []action{{Label: v.t("schedules.new"), Href: v.path("/schedules/new")}},
	}
	out.Filters = []field{{Name: "source", Label: v.t("col.source"), Value: code}}
	part := panel{ID: "list", Title: v.t("rail./schedules"), Note: list.Unread}
	if len(list.Schedules) == 0 {
		part.Empty = v.t("schedules.none")
		part.EmptyNext = "patra schedule set NAME --source pubmed --cron @hourly --reason TEXT"
	} else {
		part.Table = &table{Caption: part.Title, Head: []column{
			{Text: v.t("col.name")},
			{Text: v.t("col.source")},
			{Text: v.t("col.operation")},
			{Text: v.t("schedules.cron")},
			{Text: v.t("col.state")},
			{Text: v.t("schedules.next")},
			{Text: v.t("schedules.last")},
			{Text: v.t("col.why")},
			{Text: v.t("alerts.do")},
		}}
		for _, s := range list.Schedules {
			part.Table.Rows = append(part.Table.Rows, scheduleRow(v, s))
		}
	}
	out.Panels = []panel{part}
	return out, nil
}

func scheduleRow(v *visit, s control.Schedule) row {
	last := cell{}
	if s.Last != nil {
		last = cell{Text: string(s.Last.Outcome), Small: s.Last.Remarks}
		if s.Last.Plan != 0 {
			last.Href = v.path("/plans/%d", s.Last.Plan)
		}
	}
	return row{Cells: []cell{
		linked(s.Name, v.path("/schedules/%s", s.Name)), linked(s.Source, v.path("/sources/%s", s.Source)), text(string(s.Operation)),
		{Text: s.Cron, Mono: true, Small: s.Zone},
		scheduleState(v, s), at(s.NextAt), last,
		{Text: s.Reason, Lines: notEmpty(s.Query)},
		{Actions: v.allowed(scheduleActions(v, s))},
	}}
}

// notEmpty is a line, if there is one.
func notEmpty(line string) []string {
	if line == "" {
		return nil
	}
	return []string{line}
}

func scheduleState(v *visit, s control.Schedule) cell {
	if !s.Enabled {
		return stated(control.Off, v.stateWord("paused"))
	}
	if s.OverdueSince != nil {
		return stated(control.Remarked, v.t("schedules.overdue"))
	}
	return stated(control.OK, v.t("schedules.on"))
}

// scheduleActions are what can be done with a schedule.
func scheduleActions(v *visit, s control.Schedule) []action {
	at := "/schedules/" + url.PathEscape(s.Name)
	hold := action{Label: v.t("change.pause"), Do: at + "/pause", Level: 1, Undo: at + "/resume"}
	if !s.Enabled {
		hold = action{Label: v.t("change.resume"), Do: at + "/resume", Level: 1, Undo: at + "/pause"}
	}
	if s.Origin == "pack" {
		return []action{hold}
	}
	return []action{hold, {Label: v.t("change.remove"), Do: at + "/remove", Level: 2}}
}

// schedulePage shows one schedule and how far what it selects is proven.
func (c *Console) schedulePage(ctx context.Context, v *visit) (*view, error) {
	s, err := c.control.Schedule(ctx, v.PathValue("name"))
	if err != nil {
		return nil, err
	}
	out := &view{Title: s.Name, Topics: "plans audit time", Up: v.path("/schedules"), Crumbs: []link{{v.t("rail./schedules"), v.path("/schedules")}}}
	out.State = scheduleState(v, s.Schedule).State
	out.CLI = "patra schedule show " + quoted(s.Name)
	out.API = "/schedules/" + url.PathEscape(s.Name)
	out.Actions = scheduleActions(v, s.Schedule)
	facts := []fact{
		{v.t("col.source"), linked(s.Source, v.path("/sources/%s", s.Source))},
		{v.t("col.operation"), text(string(s.Operation))},
		{v.t("schedules.cron"), cell{Text: s.Cron, Mono: true, Small: s.Zone}},
		{v.t("col.query"), mono(s.Query)},
		{v.t("schedules.priority"), text(s.Priority)},
		{v.t("col.origin"), text(s.Origin)},
		{v.t("schedules.next"), at(s.NextAt)},
		{v.t("col.why"), text(s.Reason)},
	}
	if s.Last != nil {
		facts = append(facts, fact{v.t("schedules.last"), cell{Text: string(s.Last.Outcome), Small: s.Last.Remarks}}, fact{v.t("schedules.last_at"), at(&s.Last.At)})
		if s.Last.Plan != 0 {
			facts = append(facts, fact{v.t("col.plan"), cell{Text: grouped(int64(s.Last.Plan)), Href: v.path("/plans/%d", s.Last.Plan)}})
		}
	}
	if s.Cursor != nil {
		facts = append(facts, fact{v.t("source.proven_to"), text(s.Cursor.ProvenTo)}, fact{v.t("schedules.namespace"), mono(s.Cursor.Namespace)})
	}
	out.Panels = []panel{{ID: "facts", Title: v.t("schedules.schedule"), Facts: facts}}
	return out, nil
}

// newSchedule asks what is to be asked for by itself. The preview of it follows.
func (c *Console) newSchedule(ctx context.Context, v *visit) (*view, error) {
	list, err := c.control.Sources(ctx, control.Page{Limit: 1000})
	if err != nil {
		return nil, err
	}
	var codes []option
	for _, s := range list.Sources {
		codes = append(codes, option{s.Code, s.Code})
	}
	out := &view{Title: v.t("schedules.new"), Lead: v.t("schedules.new_lead"), Up: v.path("/schedules"), Crumbs: []link{{v.t("rail./schedules"), v.path("/schedules")}}}
	out.CLI = "patra schedule set NAME --source SOURCE --cron @hourly --reason TEXT"
	if !v.May(control.Operator) {
		return nil, errReadOnly
	}
	out.Panels = []panel{{ID: "new", Title: v.t("schedules.schedule"), Form: &form{
		Get: true, Action: v.path("/change"), Submit: v.t("schedules.preview"), Cancel: v.path("/schedules"), Hidden: map[string]string{"do": "/schedules", "from": v.path("/schedules")},
		Fields: []field{
			{Name: "with.name", Label: v.t("col.name"), Kind: "text", Required: true, Hint: v.t("schedules.name_hint")},
			{Name: "with.source", Label: v.t("col.source"), Kind: "select", Options: codes, Value: v.query("source")},
			{Name: "with.operation", Label: v.t("col.operation"), Kind: "select", Options: []option{{"HARVEST", "HARVEST"}, {"BACKFILL", "BACKFILL"}, {"UPDATE", "UPDATE"}}},
			{Name: "with.query", Label: v.t("col.query"), Kind: "text", Hint: v.t("schedules.query_hint")},
			{Name: "with.cron", Label: v.t("schedules.cron"), Kind: "text", Required: true, Value: "@hourly", Hint: v.t("schedules.cron_hint")},
			{Name: "with.zone", Label: v.t("schedules.zone"), Kind: "text", Value: "UTC"},
		},
	}}}
	return out, nil
}
