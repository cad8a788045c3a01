package console

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
)

// boxItems is how many items of a page are listed with it.
const boxItems = 50

// blackBoxByID shows the black box of a page that is named by its id.
func (c *Console) blackBoxByID(ctx context.Context, v *visit) (*view, error) {
	id, err := v.number("batch")
	if err != nil {
		return nil, err
	}
	return c.showBox(ctx, v, strconv.FormatInt(id, 10))
}

// blackBox shows what was asked for a page, what came, and what was done with it.
func (c *Console) blackBox(ctx context.Context, v *visit) (*view, error) {
	return c.showBox(ctx, v, v.PathValue("run")+"/"+v.PathValue("no"))
}

func (c *Console) showBox(ctx context.Context, v *visit, ref string) (*view, error) {
	box, err := c.control.BlackBox(ctx, ref, boxItems)
	if err != nil {
		return nil, err
	}
	run, no, _ := strings.Cut(box.Batch, "/")
	here := v.path("/blackbox/%s/%s", run, no)
	out := &view{
		Title: v.t("blackbox.title", box.Batch), State: stated(control.BatchFamily(box.Reply.State), v.stateWord(string(box.Reply.State))).State,
		Lead: v.t("batch.correlation") + ": " + box.Correlation, CLI: "patra blackbox show " + box.Batch, API: "/blackbox/" + box.Batch,
		Crumbs: []link{
			{v.t("rail./blackbox"), v.path("/blackbox")},
			{v.t("col.plan") + " " + strconv.FormatInt(int64(box.Lineage.Plan), 10), v.path("/plans/%d", box.Lineage.Plan)},
			{v.t("col.slice") + " " + strconv.FormatInt(int64(box.Lineage.Slice), 10), v.path("/slices/%d", box.Lineage.Slice)},
			{v.t("col.task") + " " + strconv.FormatInt(int64(box.Lineage.Task), 10), v.path("/tasks/%d", box.Lineage.Task)},
			{v.t("col.run") + " " + run, v.path("/runs/%s", run)},
			{v.t("col.batch") + " " + no, v.path("/runs/%s/batches/%s", run, no)},
		},
		Up: v.path("/runs/%s", run),
	}
	if box.Lineage.BatchNo > 1 {
		out.Before = v.path("/blackbox/%s/%d", run, box.Lineage.BatchNo-1)
	}
	out.After = v.path("/blackbox/%s/%d", run, box.Lineage.BatchNo+1)
	out.Actions = []action{{Label: v.t("blackbox.replay"), Href: here + "?replay=offline"}}
	if v.query("replay") != "" && v.May(control.Operator) {
		report, err := c.control.ReplayBatch(ctx, box.Batch, false)
		if err != nil {
			return nil, err
		}
		out.CLI = "patra replay " + box.Batch
		out.Panels = append(out.Panels, v.replayPanels(report)...)
		out.Panels = append(out.Panels, panel{ID: "probe", Title: v.t("blackbox.probe"), Note: v.t("blackbox.probe_note"), Form: &form{Action: here + "/probe", Submit: v.t("blackbox.probe")}})
	}
	out.Panels = append(out.Panels, v.boxPanels(box)...)
	if v.May(control.Operator) {
		out.Panels = append(out.Panels, v.exportForm(run, no))
	}
	return out, nil
}

// boxPanels are the parts of a black box: what it belongs to, then request, reply and
// effects side by side, then what was kept of it.
func (v *visit) boxPanels(box *control.BlackBox) []panel {
	l := box.Lineage
	where := panel{ID: "where", Title: v.t("blackbox.where"), Facts: []fact{
		{v.t("col.source"), linked(l.Source, v.path("/sources/%s", l.Source))},
		{v.t("col.endpoint"), text(l.Endpoint)},
		{v.t("col.operation"), text(string(l.Operation))},
		{v.t("col.plan"), cell{Text: l.PlanKey, Href: v.path("/plans/%d", l.Plan), Mono: true}},
		{v.t("col.window"), mono(l.Window)},
		{v.t("blackbox.attempt"), count(l.Attempt)},
		{v.t("blackbox.spec"), mono(l.SpecFingerprint)},
		{v.t("blackbox.expr"), mono(l.ExprHash)},
		{v.t("blackbox.request_hash"), mono(box.Request.SHA256)},
		{v.t("blackbox.reply_hash"), mono(box.Reply.SHA256)},
	}}
	request := panel{ID: "request", Title: v.t("blackbox.request"), Facts: []fact{
		{v.t("blackbox.at"), instant(box.Request.OpenedAt)},
		{v.t("blackbox.position"), position(box.Request.Position)},
		{v.t("blackbox.credential"), text(box.Request.Credential)},
	}, Text: strings.TrimSpace(box.Request.Line + "\n\n" + box.Request.Body)}
	if n := len(box.Request.IDs); n > 0 {
		request.Facts = append(request.Facts, fact{v.t("blackbox.ids"), count(n)})
	}
	reply := panel{ID: "reply", Title: v.t("blackbox.reply"), Facts: []fact{
		{"HTTP", count(box.Reply.Status)},
		{v.t("blackbox.bytes"), count(box.Reply.Bytes)},
		{v.t("blackbox.sent"), count(box.Reply.Sent)},
		{v.t("blackbox.retried"), count(box.Reply.Retried)},
		{"429 / 5xx", text(fmt.Sprintf("%d / %d", box.Reply.HTTP429, box.Reply.HTTP5xx))},
		{v.t("blackbox.next"), mono(box.Reply.Position)},
		{v.t("blackbox.end"), text(box.Reply.End)},
		{v.t("blackbox.committed"), instant(box.Reply.CommitAt)},
	}, Text: headersOf(box.Reply.Headers)}
	if box.Reply.Error != "" {
		reply.Note = box.Reply.Code + ": " + box.Reply.Error
	}
	if box.Reply.Sample != "" {
		reply.Text = strings.TrimSpace(reply.Text + "\n\n" + box.Reply.Sample)
	}
	e := box.Effects
	effects := panel{ID: "effects", Title: v.t("blackbox.effects"), Facts: []fact{
		{v.t("blackbox.items"), count(e.Items)},
		{v.t("effect.inserted"), count(e.Inserted)},
		{v.t("effect.updated"), count(e.Updated)},
		{v.t("blackbox.unchanged"), count(e.Unchanged)},
		{v.t("rail./quarantine"), count(e.Quarantined)},
		{v.t("blackbox.late"), count(e.Late)},
		{v.t("blackbox.bad_ids"), count(e.BadIDs)},
	}}
	out := []panel{where, {ID: "box", Title: v.t("blackbox.exchange"), Parts: []panel{request, reply, effects}}}
	return append(out, v.boxLists(box)...)
}

// headersOf are headers as they are sent, in order.
func headersOf(h map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(h)) {
		fmt.Fprintf(&b, "%s: %s\n", name, h[name])
	}
	return strings.TrimSpace(b.String())
}

// boxLists are the items that were kept of a page and the moves of cursors it caused.
func (v *visit) boxLists(box *control.BlackBox) []panel {
	items := panel{ID: "items", Title: v.t("blackbox.kept"), Empty: v.t("blackbox.nothing_kept")}
	if len(box.Items) > 0 {
		t := &table{Caption: v.t("blackbox.kept"), Head: []column{
			{Text: v.t("col.record")}, {Text: v.t("blackbox.effect")}, {Text: v.t("col.revision"), Num: true}, {Text: v.t("col.state")}, {Text: v.t("col.updated")}, {Text: v.t("col.why")},
		}}
		for _, it := range box.Items {
			r := row{Cells: []cell{v.recordLink(box.Lineage.Source, it.ID), text(v.look.words.sayOr("effect."+it.Effect, it.Effect)), count(it.Revision), {}, instant(it.UpdatedAt), {}}}
			if it.Status != "" {
				r.Cells[3] = v.recordState(it.Status)
			}
			if p := it.Problem; p != nil {
				r.Cells[0] = cell{Text: it.ID, Mono: true}
				r.Cells[5] = cell{Text: p.Code, Mono: true, Lines: lines(p.Path, p.Detail)}
			}
			t.Rows = append(t.Rows, r)
		}
		items.Table = t
		items.Empty = ""
		if box.Capped {
			items.Note = v.t("blackbox.capped", boxItems)
		}
	}
	if len(box.Cursor) == 0 {
		return []panel{items}
	}
	t := &table{Caption: v.t("blackbox.moves"), Head: []column{{Text: v.t("col.what")}, {Text: v.t("col.before")}, {Text: v.t("col.after")}, {Text: v.t("blackbox.at")}}}
	for _, m := range box.Cursor {
		t.Rows = append(t.Rows, row{Cells: []cell{text(m.Kind), mono(m.Prev), mono(m.New), instant(m.At)}})
	}
	return []panel{items, {ID: "moves", Title: v.t("blackbox.moves"), Table: t}}
}

// replayPanels tell what came of a replay.
func (v *visit) replayPanels(r control.ReplayReport) []panel {
	family := control.OK
	if r.Changed() {
		family = control.Remarked
	}
	out := panel{ID: "verdict", Title: v.t("blackbox.verdict"), Note: r.Why, Facts: []fact{
		{v.t("blackbox.verdict"), stated(family, r.Verdict.Words())},
		{v.t("blackbox.mode"), text(v.look.words.sayOr("mode."+r.Mode, r.Mode))},
		{v.t("blackbox.sent"), count(r.Requests)},
		{v.t("blackbox.effects"), text(r.Effect)},
	}}
	t := &table{Caption: v.t("blackbox.compared"), Head: []column{{Text: v.t("col.what")}, {Text: v.t("blackbox.recorded")}, {Text: v.t("blackbox.now")}, {Text: v.t("blackbox.same")}}}
	for _, one := range r.Comparisons {
		same := stated(control.OK, v.t("blackbox.yes"))
		if !one.Same {
			same = stated(control.Remarked, v.t("blackbox.no"))
		}
		t.Rows = append(t.Rows, row{Cells: []cell{text(one.What), mono(one.Recorded), mono(one.Now), same}})
	}
	out.Table = t
	if len(r.Differences) == 0 {
		return []panel{out}
	}
	d := &table{Caption: v.t("blackbox.differences"), Head: []column{{Text: v.t("col.item")}, {Text: v.t("blackbox.by")}, {Text: v.t("col.what")}, {Text: v.t("blackbox.recorded")}, {Text: v.t("blackbox.now")}}}
	for _, one := range r.Differences {
		d.Rows = append(d.Rows, row{Cells: []cell{mono(one.Item), text(one.By), text(one.What), mono(one.Recorded), mono(one.Now)}})
	}
	return []panel{out, {ID: "differences", Title: v.t("blackbox.differences"), Table: d}}
}

// probe asks for a page once more, through the API, and shows what came of it.
func (c *Console) probe(w http.ResponseWriter, r *http.Request) {
	v := visitOf(r)
	if !c.receive(w, v, mostForm, "") {
		return
	}
	batch := r.PathValue("run") + "/" + r.PathValue("no")
	a := c.ask(v.apiRequest(http.MethodPost, "/replays", map[string]any{"batch": batch, "probe": true}))
	if err := a.refused(); err != nil {
		c.fail(w, v, err)
		return
	}
	var report control.ReplayReport
	if err := json.Unmarshal(a.body.Bytes(), &report); err != nil {
		c.fail(w, v, err)
		return
	}
	shown := &view{Title: v.t("blackbox.probe"), Lead: batch, Crumbs: []link{{v.t("blackbox.title", batch), v.path("/blackbox/%s/%s", r.PathValue("run"), r.PathValue("no"))}}, Panels: v.replayPanels(report)}
	c.answer(w, v, shown, "/blackbox")
}
