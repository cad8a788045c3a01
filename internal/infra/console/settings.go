package console

import (
	"context"

	"github.com/papertrace/patra/internal/app/control"
)

// settings tells what this patra was told to do and by whom, whether it is well, and who
// may come. No secret stands on it.
func (c *Console) settings(ctx context.Context, v *visit) (*view, error) {
	out := &view{Title: v.t("rail./settings"), Lead: v.t("settings.lead"), Topics: "audit"}
	out.Panels = []panel{{ID: "you", Title: v.t("settings.you"), Facts: []fact{
		{v.t("settings.actor"), text(v.Actor)},
		{v.t("settings.role"), text(v.t("role." + string(v.Role)))},
		{v.t("settings.changes"), text(v.yesNo(!v.ReadOnly))},
		{v.t("settings.version"), mono(c.build.Version)},
	}}}
	if v.Role == control.Viewer {
		out.Panels = append(out.Panels, panel{ID: "more", Title: v.t("settings.values"), Empty: v.t("settings.operators")})
		return out, nil
	}
	d, err := c.control.Doctor(ctx, c.board)
	if err != nil {
		return nil, err
	}
	out.CLI = "patra doctor"
	out.API = "/doctor"
	out.State = &state{Family: control.CheckFamily(d.Status), Word: v.look.words.sayOr("check."+string(d.Status), string(d.Status))}
	out.Panels = append(out.Panels, c.valuesPanel(v, d), healthPanel(v, d))
	if v.Role == control.Admin {
		tokens, err := c.part(v, "tokens", v.t("settings.tokens"), func() (panel, error) { return c.tokensPanel(ctx, v) })
		if err != nil {
			return nil, err
		}
		out.Panels = append(out.Panels, tokens)
	}
	return out, nil
}

// yesNo is a word for it.
func (v *visit) yesNo(is bool) string {
	if is {
		return v.t("doc.yes")
	}
	return v.t("doc.no")
}

// valuesPanel lists what was configured, and by what.
func (c *Console) valuesPanel(v *visit, d control.Doctor) panel {
	t := &table{Caption: v.t("settings.values"), Head: []column{{Text: v.t("col.name")}, {Text: v.t("col.value")}, {Text: v.t("settings.from")}}}
	for _, s := range d.Settings {
		from := mono(s.From)
		if s.From == control.FromDefault {
			from = text(v.t("settings.default"))
		}
		t.Rows = append(t.Rows, row{Cells: []cell{mono(s.Name), mono(c.redact(s.Value)), from}})
	}
	out := panel{ID: "values", Title: v.t("settings.values"), Note: v.t("settings.values_note"), Table: t}
	if len(t.Rows) == 0 {
		out.Table = nil
		out.Empty = v.t("settings.none")
	}
	return out
}

// healthPanel is what a doctor finds, part by part: build, database, roles, disk, contact.
func healthPanel(v *visit, d control.Doctor) panel {
	t := &table{Caption: v.t("settings.health"), Head: []column{{Text: v.t("editor.group")}, {Text: v.t("col.state")}, {Text: v.t("editor.said")}, {Text: v.t("editor.fix")}}}
	for _, g := range d.Groups {
		for _, one := range g.Checks {
			t.Rows = append(t.Rows, checkRow(v, g.Name, one))
		}
	}
	return panel{ID: "health", Title: v.t("settings.health"), Table: t}
}

// checkRow is one line of a check.
func checkRow(v *visit, group string, one control.Check) row {
	word := v.look.words.sayOr("check."+string(one.Status), string(one.Status))
	return row{Cells: []cell{text(group), stated(control.CheckFamily(one.Status), word), {Text: one.Text, Lines: one.Details}, advice(one.Fix)}}
}

// tokensPanel lists who may come, by name.
func (c *Console) tokensPanel(ctx context.Context, v *visit) (panel, error) {
	list, err := c.control.Tokens(ctx, false)
	if err != nil {
		return panel{}, err
	}
	out := panel{ID: "tokens", Title: v.t("settings.tokens"), Note: v.t("settings.tokens_note")}
	if len(list.Tokens) == 0 {
		out.Empty = v.t("settings.no_tokens")
		out.EmptyNext = "patra token new NAME --role viewer --reason TEXT"
		return out, nil
	}
	t := &table{Caption: out.Title, Head: []column{
		{Text: v.t("col.name")}, {Text: v.t("settings.role")}, {Text: v.t("col.state")}, {Text: v.t("col.made")}, {Text: v.t("settings.by")}, {Text: v.t("settings.ends")}, {Text: v.t("data.actions")},
	}}
	for _, one := range list.Tokens {
		end := cell{}
		if v.May(control.Admin) {
			end.Actions = []action{{Label: v.t("settings.revoke"), Do: apiPath("/tokens/%s/revoke", one.Name), Level: 3, Name: one.Name, Needs: control.Admin}}
		}
		t.Rows = append(t.Rows, row{Cells: []cell{
			mono(one.Name), text(v.t("role." + string(one.Role))), stated(control.TokenFamily(one.State), v.stateWord(one.State)), instant(one.CreatedAt), text(one.CreatedBy), instant(one.ExpiresAt), end,
		}})
	}
	out.Table = t
	return out, nil
}
