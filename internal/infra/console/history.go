package console

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/papertrace/patra/internal/app/control"
)

// historyRows is how many revisions of a record a page compares.
const historyRows = 20

// recordHistory shows the revisions of a record and what each changed.
func (c *Console) recordHistory(ctx context.Context, v *visit) (*view, error) {
	h, err := c.control.RecordHistory(ctx, v.PathValue("code"), v.PathValue("id"), control.Page{After: v.query("after"), Limit: historyRows})
	if err != nil {
		return nil, err
	}
	r := h.Record
	out := v.recordHead(r, true)
	out.CLI = "patra record history " + quoted(r.Source) + " " + quoted(r.ID)
	out.API = api(apiPath("/records/%s/%s/history", r.Source, r.ID), "after", v.query("after"), "limit", strconv.Itoa(historyRows))
	if h.SeenUnchangedAt != nil {
		out.Panels = append(out.Panels, panel{ID: "unchanged", Title: v.t("records.unchanged"), Facts: []fact{{v.t("col.seen"), at(h.SeenUnchangedAt)}}})
	}
	for _, rev := range h.Revisions {
		out.Panels = append(out.Panels, v.revisionPanel(rev))
	}
	if len(h.Refused) > 0 {
		out.Panels = append(out.Panels, panel{ID: "refused", Title: v.t("records.refused"), Note: v.t("records.refused_note"), Table: v.quarantineTable(h.Refused)})
	}
	if n := len(h.Revisions); n > 0 {
		out.Panels[len(out.Panels)-1].Next = v.nextPage(h.Next)
	}
	return out, nil
}

// revisionPanel tells what a revision changed.
func (v *visit) revisionPanel(rev control.RecordRevision) panel {
	id := "revision-" + strconv.FormatInt(rev.Revision, 10)
	out := panel{ID: id, Title: v.t("records.revision", rev.Revision, v.look.words.sayOr("effect."+rev.Effect, rev.Effect)), Facts: []fact{
		{v.t("col.state"), v.recordState(rev.Status)},
		{v.t("records.stored"), at(&rev.StoredAt)},
		{v.t("col.updated"), at(rev.UpdatedAt)},
		{v.t("col.plan"), linked(strconv.FormatInt(int64(rev.Origin.Plan), 10), v.path("/plans/%d", rev.Origin.Plan))},
		{v.t("col.run"), linked(strconv.FormatInt(int64(rev.Origin.Run), 10), v.path("/runs/%d", rev.Origin.Run))},
		{v.t("col.batch"), linked(strconv.FormatInt(int64(rev.Origin.Batch), 10), v.path("/blackbox/%d", rev.Origin.Batch))},
	}}
	if len(rev.Changes) == 0 {
		out.Empty = v.t("records.same_fields")
		return out
	}
	if rev.Effect == "inserted" {
		out.Note = v.t("records.first_revision", len(rev.Changes))
		return out
	}
	t := &table{Caption: v.t("records.changes", rev.Revision), Head: []column{{Text: v.t("col.field")}, {Text: v.t("col.before"), Keep: true}, {Text: v.t("col.after"), Keep: true}}}
	for _, f := range rev.Changes {
		before, after := diff(spelled(f.Before), spelled(f.After))
		t.Rows = append(t.Rows, row{Cells: []cell{mono(f.Field), {Passages: before}, {Passages: after}}})
	}
	out.Table = t
	return out
}

// spelled is a value as it is compared; nothing if it is not there.
func spelled(value json.RawMessage) string {
	if value == nil {
		return ""
	}
	return readable(value)
}

// mostCompared bounds how many words of a value are compared one by one.
const mostCompared = 600

// diff marks in two texts the words in which they differ.
func diff(before, after string) (was, is []passage) {
	a := wordsOf(before)
	b := wordsOf(after)
	start := 0
	for start < min(len(a), len(b)) && a[start] == b[start] {
		start++
	}
	end := 0
	for end < min(len(a), len(b))-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	midA := a[start : len(a)-end]
	midB := b[start : len(b)-end]
	keepA := make([]bool, len(midA))
	keepB := make([]bool, len(midB))
	if len(midA) <= mostCompared && len(midB) <= mostCompared {
		keepCommon(midA, midB, keepA, keepB)
	}
	mark := func(all, mid []string, keep []bool, kind string) []passage {
		out := joined(nil, strings.Join(all[:start], ""), "")
		for i, w := range mid {
			how := kind
			if keep[i] {
				how = ""
			}
			out = joined(out, w, how)
		}
		return joined(out, strings.Join(all[len(all)-end:], ""), "")
	}
	return mark(a, midA, keepA, "del"), mark(b, midB, keepB, "ins")
}

// keepCommon marks the longest series of words that both have.
func keepCommon(a, b []string, keepA, keepB []bool) {
	longest := make([][]int, len(a)+1)
	for i := range longest {
		longest[i] = make([]int, len(b)+1)
	}
	for i, x := range slices.Backward(a) {
		for j, y := range slices.Backward(b) {
			if x == y {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			keepA[i] = true
			keepB[j] = true
			i++
			j++
		case longest[i+1][j] >= longest[i][j+1]:
			i++
		default:
			j++
		}
	}
}

// joined adds a text to passages, to the last if that is marked alike.
func joined(out []passage, text, kind string) []passage {
	if text == "" {
		return out
	}
	if n := len(out); n > 0 && out[n-1].Kind == kind {
		out[n-1].Text += text
		return out
	}
	return append(out, passage{Text: text, Kind: kind})
}

// wordsOf cuts a text into words and what stands between them.
func wordsOf(text string) []string {
	var out []string
	begin := 0
	var last rune
	for i, r := range text {
		inWord := unicode.IsLetter(r) || unicode.IsDigit(r)
		wasWord := unicode.IsLetter(last) || unicode.IsDigit(last)
		if i > 0 && (inWord != wasWord || !inWord || unicode.Is(unicode.Han, r)) {
			out = append(out, text[begin:i])
			begin = i
		}
		last = r
	}
	if begin < len(text) {
		out = append(out, text[begin:])
	}
	return out
}
