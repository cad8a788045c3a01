package console

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/sourcecheck"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// mostReply is how much of a reply is shown, mostExchanges how many requests are.
const (
	mostReply     = 6000
	mostExchanges = 3
)

// checkPanels try a pack out: what was asked, what came, and which fields were found in
// it, side by side. Nothing is stored.
func (c *Console) checkPanels(ctx context.Context, v *visit, pack string) ([]panel, error) {
	return c.checkedPanels(ctx, v, control.CheckRequest{Text: pack, Operation: harvest.Harvest})
}

// checkedPanels are what a check found.
func (c *Console) checkedPanels(ctx context.Context, v *visit, wanted control.CheckRequest) ([]panel, error) {
	report, exchanges, err := c.control.CheckSource(ctx, wanted)
	if err != nil {
		return nil, err
	}
	var out []panel
	for i, e := range exchanges[:min(len(exchanges), mostExchanges)] {
		parts := panel{ID: fmt.Sprintf("exchange-%d", i+1), Title: v.t("editor.exchange", e.Label), Parts: []panel{
			{ID: fmt.Sprintf("request-%d", i+1), Title: v.t("editor.request"), Text: requestText(e)},
			{ID: fmt.Sprintf("reply-%d", i+1), Title: v.t("editor.reply"), Text: c.redact(replyText(e))},
		}}
		if i == 0 {
			parts.Parts = append(parts.Parts, fieldsPanel(v, report.Fields))
		}
		out = append(out, parts)
	}
	return append(out, groupsPanel(v, report)), nil
}

// requestText is a request as it was sent.
func requestText(e sourcecheck.Exchange) string {
	return strings.TrimSpace(e.Method + " " + e.URL + "\n" + headerText(e.Request) + "\n" + e.Form)
}

// replyText is a reply as it came, up to what can be looked at.
func replyText(e sourcecheck.Exchange) string {
	if e.Failure != "" {
		return e.Failure + ": " + e.Error
	}
	body := string(e.Body)
	if len(body) > mostReply {
		body = strings.ToValidUTF8(body[:mostReply], "") + " …"
	}
	return fmt.Sprintf("%d\n%s\n%s", e.Status, headerText(e.Header), body)
}

func headerText(h http.Header) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(h)) {
		fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(h[name], ", "))
	}
	return b.String()
}

// fieldsPanel lists the fields that were found, how often, and one value of each.
func fieldsPanel(v *visit, fields []sourcecheck.Coverage) panel {
	out := panel{ID: "fields", Title: v.t("editor.fields")}
	if len(fields) == 0 {
		out.Empty = v.t("editor.no_fields")
		return out
	}
	t := &table{Caption: out.Title, Head: []column{{Text: v.t("editor.field")}, {Text: v.t("editor.found"), Num: true}, {Text: v.t("editor.example")}}}
	for _, f := range fields {
		t.Rows = append(t.Rows, row{Cells: []cell{{Text: f.Field, Mono: true, Title: f.Paths}, text(fmt.Sprintf("%d/%d", f.Found, f.Of)), text(f.Example)}})
	}
	out.Table = t
	return out
}

// groupsPanel is what the check says, group by group.
func groupsPanel(v *visit, r *sourcecheck.Report) panel {
	t := &table{Caption: v.t("editor.checked"), Head: []column{{Text: v.t("editor.group")}, {Text: v.t("col.state")}, {Text: v.t("editor.said")}, {Text: v.t("editor.fix")}}}
	for _, g := range r.Groups {
		for _, one := range g.Checks {
			t.Rows = append(t.Rows, checkRow(v, g.Name, one))
		}
	}
	return panel{ID: "checked", Title: v.t("editor.checked"), Note: v.t("editor.stored_nothing"), Table: t}
}
