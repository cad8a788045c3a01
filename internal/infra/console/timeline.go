package console

import (
	"context"
	"fmt"
	"html/template"
	"net/url"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
)

// timeline shows the rows of a source over time, and who changed them.
func (c *Console) timeline(ctx context.Context, v *visit) (*view, error) {
	out, row0, err := c.sourceHead(ctx, v, "/timeline")
	if err != nil {
		return nil, err
	}
	history, err := c.control.SourceHistory(ctx, row0.Code, pageRows)
	if err != nil {
		return nil, err
	}
	out.CLI = "patra source history " + row0.Code
	out.API = "/sources/" + url.PathEscape(row0.Code) + "/history"
	rows := panel{ID: "rows", Title: v.t("source.rows")}
	if len(history.Rows) == 0 {
		rows.Empty = v.t("source.not_applied")
		rows.EmptyNext = "patra source apply " + row0.Code + " --dry-run"
	} else {
		rows.Figure = rowsFigure(v, history)
		rows.Actions = []action{{Label: v.t("change.rollback"), Do: "/sources/" + url.PathEscape(row0.Code) + "/rollback", Level: 3, Name: row0.Code, Needs: control.Admin}}
	}
	out.Panels = []panel{rows, auditPanel(v, history.Audit)}
	return out, nil
}

// Sizes of the drawing, in pixels.
const (
	laneHeight = 24
	laneLabel  = 190
	laneLength = 760
	mostLanes  = 60
)

// lane is one thing that a source says, over time.
type lane struct {
	name string
	rows []control.RegistryRow
}

func lanesOf(rows []control.RegistryRow) []lane {
	var out []lane
	for _, r := range rows {
		name := strings.TrimSpace(string(r.Dimension) + " " + r.Name)
		if r.Task != "" {
			name += " (" + r.Task + ")"
		}
		if len(out) == 0 || out[len(out)-1].name != name {
			out = append(out, lane{name: name})
		}
		last := &out[len(out)-1]
		last.rows = append(last.rows, r)
	}
	return out
}

// rowsFigure draws a lane for each thing that a source says: a bar is a row while it is in
// force.
func rowsFigure(v *visit, h control.SourceHistory) *figure {
	now := time.Time(h.At)
	from := now.Add(-24 * time.Hour)
	to := now.Add(24 * time.Hour)
	for _, r := range h.Rows {
		if begins := time.Time(r.From); begins.Year() > 1970 && begins.Before(from) {
			from = begins
		}
		for _, t := range []*control.Time{&r.From, r.To} {
			if t != nil && time.Time(*t).After(to) && time.Time(*t).Year() < 9000 {
				to = time.Time(*t).Add(24 * time.Hour)
			}
		}
	}
	x := func(t time.Time) int {
		share := float64(t.Sub(from)) / float64(to.Sub(from))
		return laneLabel + int(min(max(share, 0), 1)*laneLength)
	}
	lanes := lanesOf(h.Rows)
	data := &table{Caption: v.t("source.rows"), Head: []column{{Text: v.t("source.dimension")}, {Text: v.t("source.row"), Num: true}, {Text: v.t("col.state")}, {Text: v.t("source.begins")}, {Text: v.t("source.ends")}}}
	shown := lanes[:min(len(lanes), mostLanes)]
	var b strings.Builder
	height := laneHeight*len(shown) + 22
	fmt.Fprintf(&b, `<svg role="img" aria-label="%s" width="%d" height="%d" viewBox="0 0 %d %d">`,
		template.HTMLEscapeString(v.t("source.rows")), laneLabel+laneLength+8, height, laneLabel+laneLength+8, height)
	for i, l := range shown {
		y := i * laneHeight
		fmt.Fprintf(&b, `<text x="0" y="%d">%s</text><line class="axis" x1="%d" x2="%d" y1="%d" y2="%d"/>`,
			y+16, template.HTMLEscapeString(shortened(l.name, 28)), laneLabel, laneLabel+laneLength, y+laneHeight-1, y+laneHeight-1)
		for _, r := range l.rows {
			drawRow(&b, r, x, to, y)
		}
	}
	fmt.Fprintf(&b, `<line class="now" x1="%d" x2="%d" y1="0" y2="%d"/><text class="muted" x="%d" y="%d">%s</text></svg>`,
		x(now), x(now), height-20, laneLabel, height-5, template.HTMLEscapeString(stamp(from)+" – "+stamp(to)))
	for _, l := range lanes {
		for _, r := range l.rows {
			data.Rows = append(data.Rows, row{Cells: []cell{text(l.name), count(r.ID), stated(control.RowFamily(r.State), v.stateWord(r.State)), instant(time.Time(r.From)), at(r.To)}})
		}
	}
	return &figure{
		Title: v.t("source.rows_title"), Summary: v.t("source.rows_summary", len(h.Rows), len(lanes)), Drawing: template.HTML(b.String()), Data: data,
		Legend: []state{
			{Family: control.OK, Word: v.stateWord(control.RowInForce)},
			{Family: control.Waiting, Word: v.stateWord(control.RowScheduled)},
			{Family: control.Off, Word: v.stateWord(control.RowEnded)},
		},
	}
}

// drawRow draws one row as a bar.
func drawRow(b *strings.Builder, r control.RegistryRow, x func(time.Time) int, end time.Time, y int) {
	left := x(time.Time(r.From))
	if r.To != nil && time.Time(*r.To).Before(end) {
		end = time.Time(*r.To)
	}
	width := max(x(end)-left, 3)
	title := fmt.Sprintf("#%d %s: %s", r.ID, r.State, stamp(time.Time(r.From)))
	if r.To != nil {
		title += " – " + stamp(time.Time(*r.To))
	}
	fmt.Fprintf(b, `<rect class="f-%s" x="%d" y="%d" width="%d" height="14" rx="3"><title>%s</title></rect>`,
		control.RowFamily(r.State), left, y+5, width, template.HTMLEscapeString(title))
	if width > 40 {
		fmt.Fprintf(b, `<text class="sign" x="%d" y="%d">#%d</text>`, left+width/2, y+16, r.ID)
	}
}

// shortened is a text of at most so many letters.
func shortened(s string, most int) string {
	letters := []rune(s)
	if len(letters) <= most {
		return s
	}
	return string(letters[:most-1]) + "…"
}
