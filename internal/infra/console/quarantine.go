package console

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// quarantine lists items that could not be stored as records.
func (c *Console) quarantine(ctx context.Context, v *visit) (*view, error) {
	before, err := v.page().Number()
	if err != nil {
		return nil, err
	}
	q := control.QuarantineQuery{
		Source: v.query("source"), Code: harvest.Code(v.query("code")), Record: v.query("record"), Discarded: v.query("discarded") != "", Before: before, Limit: pageRows,
	}
	list, err := c.control.Quarantine(ctx, q)
	if err != nil {
		return nil, err
	}
	discarded := ""
	if q.Discarded {
		discarded = "true"
	}
	out := &view{
		Title: v.t("rail./quarantine"), Lead: v.t("quarantine.lead"), Topics: "work audit",
		CLI: cli("patra quarantine list", "--source", q.Source, "--code", string(q.Code), "--record", q.Record),
		API: api("/quarantine", "source", q.Source, "code", string(q.Code), "record", q.Record, "discarded", discarded, "after", v.query("after")),
	}
	if q.Discarded {
		out.CLI += " --discarded"
	}
	out.Filters = []field{
		{Name: "source", Label: v.t("col.source"), Value: q.Source},
		{Name: "code", Label: v.t("col.code"), Value: string(q.Code)},
		{Name: "record", Label: v.t("col.record"), Value: q.Record},
		{Name: "discarded", Label: v.t("quarantine.discarded"), Value: discarded, Kind: "check"},
	}
	part := panel{ID: "list", Title: v.t("rail./quarantine"), Table: v.quarantineTable(list.Items), Next: v.nextPage(list.Next)}
	if len(list.Items) == 0 {
		part.Table = nil
		part.Empty = v.t("quarantine.healthy", v.now.Format("15:04:05Z"))
		if v.URL.RawQuery != "" {
			part.Empty = v.t("data.filtered")
		}
	} else if q.Source != "" && !q.Discarded {
		part.Note = v.t("quarantine.all_of_source")
		part.Actions = v.quarantineActions(url.Values{"source": {q.Source}, "code": {string(q.Code)}})
	}
	out.Panels = []panel{part}
	return out, nil
}

// quarantineTable lists items with their causes.
func (v *visit) quarantineTable(items []control.QuarantineRow) *table {
	t := &table{Caption: v.t("rail./quarantine"), Head: []column{
		{Text: v.t("col.item")},
		{Text: v.t("col.source")},
		{Text: v.t("quarantine.cause")},
		{Text: v.t("col.path")},
		{Text: v.t("col.detail")},
		{Text: v.t("col.state")},
		{Text: v.t("col.last")},
	}}
	for _, r := range items {
		t.Rows = append(t.Rows, row{Cells: []cell{
			{Text: r.Name, Href: v.path("/quarantine/%d", r.ID), Mono: true},
			text(r.Source),
			{Text: string(r.Code), Mono: true, Lines: lines(r.Means)},
			mono(r.Path),
			text(r.Detail), v.itemState(r), at(&r.Last),
		}})
	}
	return t
}

// itemState is whether an item still waits for somebody.
func (v *visit) itemState(r control.QuarantineRow) cell {
	switch {
	case r.DiscardedAt != nil:
		return stated(control.Off, v.t("quarantine.is_discarded"))
	case r.ReadSince:
		return stated(control.OK, v.t("quarantine.read_since"))
	default:
		return stated(control.Remarked, v.t("quarantine.waits"))
	}
}

// quarantineActions read items again, or ask for them again.
func (v *visit) quarantineActions(which url.Values) []action {
	for name := range which {
		if which.Get(name) == "" {
			which.Del(name)
		}
	}
	return []action{
		{Label: v.t("change.reparse"), Do: "/quarantine/reparse?" + which.Encode(), Level: 2},
		{Label: v.t("change.refetch"), Do: "/quarantine/refetch?" + which.Encode(), Level: 2},
	}
}

// quarantineItem shows an item with the part that fails marked in it.
func (c *Console) quarantineItem(ctx context.Context, v *visit) (*view, error) {
	id, err := v.number("id")
	if err != nil {
		return nil, err
	}
	q, err := c.control.QuarantineItem(ctx, id)
	if err != nil {
		return nil, err
	}
	out := &view{
		Title: q.Name, State: v.itemState(q.QuarantineRow).State, Lead: q.Means, Topics: "work audit", Up: v.path("/quarantine"),
		Crumbs: []link{{v.t("rail./quarantine"), v.path("/quarantine")}, {q.Source, v.path("/quarantine") + "?source=" + q.Source}},
		CLI:    fmt.Sprintf("patra quarantine show %d", id), API: fmt.Sprintf("/quarantine/%d", id),
	}
	if q.DiscardedAt == nil {
		out.Actions = append(v.quarantineActions(url.Values{"items": {fmt.Sprint(id)}}),
			action{Label: v.t("change.discard"), Do: fmt.Sprintf("/quarantine/%d/discard", id), Level: 3, Name: q.Name})
	}
	facts := panel{ID: "facts", Title: v.t("quarantine.why"), Facts: []fact{
		{v.t("quarantine.cause"), linked(string(q.Code), v.path("/errors")+"?state=ALL&source="+q.Source+"&code="+string(q.Code))},
		{v.t("col.path"), mono(q.Path)},
		{v.t("col.detail"), text(q.Detail)},
		{v.t("col.source"), linked(q.Source, v.path("/sources/%s", q.Source))},
		{v.t("col.first"), at(&q.First)},
		{v.t("col.last"), at(&q.Last)},
		{"sha256", mono(q.RawSHA256)},
	}}
	if q.Record != "" {
		facts.Facts = append(facts.Facts, fact{v.t("col.record"), v.recordLink(q.Source, q.Record)})
	}
	if q.DiscardedAt != nil {
		facts.Facts = append(facts.Facts, fact{v.t("quarantine.is_discarded"), at(q.DiscardedAt)})
	}
	out.Panels = []panel{facts, v.rawPanel(q), v.originPanel(q.Origin)}
	return out, nil
}

// rawPanel shows the bytes of an item, with the part that fails marked.
func (v *visit) rawPanel(q control.QuarantineView) panel {
	out := panel{ID: "raw", Title: v.t("quarantine.raw", grouped(int64(q.Bytes)))}
	if q.Raw == "" {
		out.Empty = v.t("quarantine.no_bytes")
		return out
	}
	raw, place := q.Raw, q.Failing
	if laid, is := indented(q.Raw); is {
		raw = laid
		place = control.Locate(raw, q.Path)
	}
	switch {
	case place == nil && q.Path == "":
		out.Note = v.t("quarantine.no_path")
	case place == nil:
		out.Note = v.t("quarantine.nothing_there", q.Path)
	case place.Found:
		out.Note = v.t("quarantine.marked", q.Path)
	default:
		out.Note = v.t("quarantine.ends_at", q.Path, place.Present)
	}
	if q.Cut {
		out.Note += " " + v.t("quarantine.cut", grouped(int64(len(q.Raw))), grouped(int64(q.RawAt)))
	}
	if place == nil {
		out.Text = raw
		return out
	}
	out.Passages = joined(nil, raw[:place.At], "")
	out.Passages = append(out.Passages, passage{Text: raw[place.At:place.End], Kind: "mark"})
	out.Passages = joined(out.Passages, raw[place.End:], "")
	return out
}

// laidOut is a text with a line for each of its values if it is JSON, else as it is.
func laidOut(text string) string {
	if laid, is := indented(text); is {
		return laid
	}
	return text
}

// indented is a JSON text with a line for each of its values; false if it is none.
func indented(text string) (string, bool) {
	var b bytes.Buffer
	err := json.Indent(&b, []byte(text), "", "  ")
	return b.String(), err == nil
}
