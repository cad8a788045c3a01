package console

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
)

// audit lists who changed what, the newest first.
func (c *Console) audit(ctx context.Context, v *visit) (*view, error) {
	q := control.AuditQuery{Object: v.query("object"), All: v.query("all") != "", Limit: pageRows}
	before, err := v.page().Number()
	if err != nil {
		return nil, err
	}
	q.Before = before
	list, err := c.control.Audit(ctx, q)
	if err != nil {
		return nil, err
	}
	out := &view{Title: v.t("rail./audit"), Lead: v.t("audit.lead"), Topics: "audit"}
	out.CLI, out.API = v.withAll(cli("patra audit list", "--object", q.Object), "/audit", "object", q.Object)
	out.Filters = []field{
		{Name: "object", Label: v.t("audit.object"), Value: q.Object, Hint: v.t("audit.object_hint")},
		{Name: "all", Label: v.t("audit.all"), Kind: "check", Value: v.query("all")},
	}
	lines := auditPanel(v, list.Audit)
	lines.Next = v.nextPage(list.Next)
	out.Panels = []panel{lines}
	return out, nil
}

// auditPanel lists lines of the audit.
func auditPanel(v *visit, lines []control.AuditLine) panel {
	out := panel{ID: "audit", Title: v.t("rail./audit")}
	if len(lines) == 0 {
		out.Empty = v.t("audit.none")
		return out
	}
	t := &table{Caption: out.Title, Head: []column{{Text: v.t("audit.no"), Num: true}, {Text: v.t("audit.at")}, {Text: v.t("audit.who")}, {Text: v.t("audit.what")}, {Text: v.t("audit.object")}, {Text: v.t("audit.why")}}}
	for _, l := range lines {
		t.Rows = append(t.Rows, row{Cells: []cell{
			{Text: strconv.FormatInt(l.ID, 10), Href: v.path("/audit/%d", l.ID)}, instant(l.At), text(l.Actor), mono(l.Action), mono(l.Object), text(l.Reason),
		}})
	}
	out.Table = t
	return out
}

// auditLine shows one change with what was before and after.
func (c *Console) auditLine(ctx context.Context, v *visit) (*view, error) {
	id, err := v.number("id")
	if err != nil {
		return nil, err
	}
	list, err := c.control.Audit(ctx, control.AuditQuery{All: true, Before: id + 1, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(list.Audit) == 0 || list.Audit[0].ID != id {
		return nil, errNoPage
	}
	l := list.Audit[0]
	out := &view{Title: l.Action + " " + l.Object, Lead: l.Reason, Up: v.path("/audit"), Crumbs: []link{{v.t("rail./audit"), v.path("/audit")}}}
	out.CLI = "patra audit list --object " + quoted(l.Object)
	if back, can := undoOf(v, l); can {
		out.Actions = []action{back}
	}
	out.API = api("/audit", "after", strconv.FormatInt(id+1, 10), "limit", "1", "all", "true")
	out.Panels = []panel{
		{ID: "who", Title: v.t("audit.change"), Facts: []fact{
			{v.t("audit.who"), text(l.Actor)},
			{v.t("audit.at"), instant(l.At)},
			{v.t("audit.what"), mono(l.Action)},
			{v.t("audit.object"), linked(l.Object, v.path("/audit")+"?object="+l.Object)},
			{v.t("audit.why"), text(l.Reason)},
			{v.t("audit.preview"), mono(l.Preview)},
		}},
		{ID: "states", Title: v.t("audit.states"), Parts: []panel{
			{ID: "before", Title: v.t("source.before"), Text: spread(l.Before), Empty: emptyIf(l.Before == "", v.t("audit.nothing"))},
			{ID: "after", Title: v.t("source.after"), Text: spread(l.After), Empty: emptyIf(l.After == "", v.t("audit.nothing"))},
		}},
	}
	return out, nil
}

// undoOf is the change that takes one back, of those of which there is one. It is
// previewed as any other: what happened since may have made it moot.
func undoOf(v *visit, l control.AuditLine) (action, bool) {
	_, name, is := strings.Cut(l.Object, "/")
	if !is {
		return action{}, false
	}
	undo := map[string]struct {
		path  string
		level int
		needs control.Access
	}{
		"SOURCE_PAUSE":    {"/sources/%s/resume", 2, control.Operator},
		"SOURCE_RESUME":   {"/sources/%s/pause", 2, control.Operator},
		"SOURCE_APPLY":    {"/sources/%s/rollback", 3, control.Admin},
		"SOURCE_SCHEDULE": {"/sources/%s/rollback", 3, control.Admin},
		"SCHEDULE_PAUSE":  {"/schedules/%s/resume", 2, control.Operator},
		"SCHEDULE_RESUME": {"/schedules/%s/pause", 2, control.Operator},
	}
	how, known := undo[l.Action]
	if !known {
		return action{}, false
	}
	return action{Label: v.t("done.undo"), Do: apiPath(how.path, name), Level: how.level, Name: name, Needs: how.needs}, true
}

// spread is a document of JSON with its parts under each other; what is none stays as
// it is.
func spread(doc string) string {
	var v any
	if json.Unmarshal([]byte(doc), &v) != nil {
		return doc
	}
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return doc
	}
	return string(b)
}

// emptyIf is a sentence that is said only if there is nothing.
func emptyIf(nothing bool, text string) string {
	if nothing {
		return text
	}
	return ""
}
