package console

import (
	"context"
	"net/http"
	"net/url"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// sourceCheck offers to try a source out as it is described now.
func (c *Console) sourceCheck(ctx context.Context, v *visit) (*view, error) {
	out, row, err := c.sourceHead(ctx, v, "/check")
	if err != nil {
		return nil, err
	}
	out.CLI = "patra source check " + row.Code
	out.API = "/sources/" + url.PathEscape(row.Code)
	part := panel{ID: "check", Title: v.t("source.check"), Note: v.t("source.check_note")}
	if v.May(control.Operator) {
		part.Form = &form{Action: v.path("/sources/%s/check", row.Code), Submit: v.t("source.check_now")}
	} else {
		part.Empty = v.t("source.check_operators")
	}
	out.Panels = []panel{part}
	return out, nil
}

// checkSource tries a source out: what was asked, what came, and what each part of the
// check says. Nothing is stored.
func (c *Console) checkSource(w http.ResponseWriter, r *http.Request) {
	v := visitOf(r)
	if !c.receive(w, v, mostForm, control.Operator) {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), checksIn)
	defer cancel()
	shown, err := c.sourceCheck(ctx, v)
	if err != nil {
		c.fail(w, v, err)
		return
	}
	checked, err := c.checkedPanels(ctx, v, control.CheckRequest{Source: r.PathValue("code"), Operation: harvest.Harvest})
	if err != nil {
		c.fail(w, v, err)
		return
	}
	shown.Topics = "" // what was found stays until somebody leaves
	shown.Panels = append(checked, shown.Panels...)
	c.answer(w, v, shown, "/sources")
}
