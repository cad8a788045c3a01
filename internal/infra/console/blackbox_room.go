package console

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

const (
	// boxRuns is how many runs the room of black boxes lists on a page.
	boxRuns = 20
	// boxLinks is how many of the last pages of a run it leads to.
	boxLinks = 12
)

// blackBoxes is the room of black boxes: the newest runs, each with the pages that can be
// looked into and replayed.
func (c *Console) blackBoxes(ctx context.Context, v *visit) (*view, error) {
	page := v.page()
	page.Limit = boxRuns
	q := control.RunQuery{Source: v.query("source"), State: harvest.RunState(v.query("state")), Page: page}
	list, err := c.control.Runs(ctx, q)
	if err != nil {
		return nil, err
	}
	out := &view{
		Title: v.t("rail./blackbox"), Lead: v.t("boxes.lead"), Topics: "work",
		CLI: cli("patra run list", "--source", q.Source, "--state", string(q.State)), API: api("/runs", "source", q.Source, "state", string(q.State)),
	}
	out.Filters = []field{
		{Name: "source", Label: v.t("col.source"), Value: q.Source},
		v.stateFilter(string(q.State), "RUNNING", "SUCCEEDED", "PARTIAL", "FAILED", "CANCELLED"),
	}
	t := &table{Caption: v.t("boxes.title"), Head: []column{
		{Text: v.t("col.run")},
		{Text: v.t("col.state")},
		{Text: v.t("col.source")},
		{Text: v.t("col.operation")},
		{Text: v.t("col.began")},
		{Text: v.t("boxes.pages")},
	}}
	for _, r := range list.Runs {
		t.Rows = append(t.Rows, row{Cells: []cell{
			linked(strconv.FormatInt(int64(r.ID), 10), v.path("/runs/%d", r.ID)),
			stated(control.RunFamily(harvest.RunState(r.Status)), v.stateWord(r.Status)),
			linked(r.Source, v.path("/sources/%s", r.Source)), text(string(r.Operation)), instant(r.StartedAt), v.boxMarks(r),
		}})
	}
	part := panel{ID: "runs", Title: v.t("boxes.title"), Note: v.t("boxes.note"), Table: t, Next: v.nextPage(list.Next)}
	if len(t.Rows) == 0 {
		part.Table = nil
		part.Note = ""
		part.Empty = v.t("filter.nothing")
		if v.URL.RawQuery == "" {
			part.Empty = v.t("boxes.none")
			part.EmptyNext = "patra harvest pubmed"
		}
	}
	out.Panels = []panel{part}
	return out, nil
}

// boxMarks lead to the last pages of a run, those that failed among them.
func (v *visit) boxMarks(r control.RunItem) cell {
	if r.Stats == nil {
		return linked(v.t("boxes.running"), v.path("/runs/%d", r.ID))
	}
	all := r.Stats.Pages + r.Stats.PagesFailed
	var out cell
	for no := max(1, all-boxLinks+1); no <= all; no++ {
		title := v.t("batch.title", no, int64(r.ID))
		out.Marks = append(out.Marks, mark{state{Family: control.OK, Title: title, Sign: strconv.FormatInt(no, 10)}, v.path("/blackbox/%d/%d", r.ID, no)})
	}
	if all > boxLinks {
		out.Small = v.t("boxes.of", grouped(all))
	}
	return out
}

// exportForm asks why a black box is to be taken out.
func (v *visit) exportForm(run, no string) panel {
	return panel{ID: "export", Title: v.t("boxes.export"), Note: v.t("boxes.export_note"), Form: &form{
		Action: v.path("/blackbox/%s/%s/export", run, no), Submit: v.t("boxes.export"),
		Fields: []field{{Name: "reason", Label: v.t("change.reason"), Required: true, Hint: v.t("change.reason_hint")}},
	}}
}

// exportBox gives a black box out as a file, through the API: it stands in the audit.
func (c *Console) exportBox(w http.ResponseWriter, r *http.Request) {
	v := visitOf(r)
	if !c.receive(w, v, mostForm, "") {
		return
	}
	run := r.PathValue("run")
	no := r.PathValue("no")
	a := c.ask(v.apiRequest(http.MethodPost, apiPath("/blackbox/%s/%s/export", run, no), map[string]any{"reason": v.PostFormValue("reason")}))
	if err := a.refused(); err != nil {
		c.fail(w, v, err)
		return
	}
	var file struct{ Data []byte }
	if err := json.Unmarshal(a.body.Bytes(), &file); err != nil {
		c.fail(w, v, err)
		return
	}
	// The API took both for numbers.
	w.Header().Set("Content-Disposition", `attachment; filename="patra-ing-`+run+"-"+no+`.blackbox.jsonl.zst"`)
	sendBytes(w, r, http.StatusOK, "application/octet-stream", file.Data)
}
