package console

import (
	"context"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strconv"
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
	laneHeight = 36
	mostLanes  = 60
)

// lane is one thing that a source says, over time; or several names of one dimension
// whose rows hold alike.
type lane struct {
	name  string
	names []string
	rows  []control.RegistryRow
}

// title is what stands above a lane.
func (l lane) title() (name, rest string) {
	if len(l.names) < 2 {
		return l.name, ""
	}
	dimension, _, _ := strings.Cut(l.name, " ")
	return dimension + " × " + strconv.Itoa(len(l.names)), strings.Join(l.names, ", ")
}

// holdsLike reports whether the rows of two lanes of one dimension hold at the same times.
func (l lane) holdsLike(other lane) bool {
	return slices.EqualFunc(l.rows, other.rows, func(a, b control.RegistryRow) bool {
		return a.Dimension == b.Dimension && a.Name != "" && b.Name != "" && a.Task == b.Task && a.State == b.State && time.Time(a.From).Equal(time.Time(b.From)) &&
			(a.To == nil) == (b.To == nil) && (a.To == nil || time.Time(*a.To).Equal(time.Time(*b.To)))
	})
}

// lanesOf are a lane for each thing that a source says.
func lanesOf(rows []control.RegistryRow) []lane {
	var out []lane
	for _, r := range rows {
		name := strings.TrimSpace(string(r.Dimension) + " " + r.Name)
		if r.Task != "" {
			name += " (" + r.Task + ")"
		}
		if len(out) == 0 || out[len(out)-1].name != name {
			out = append(out, lane{name: name, names: []string{r.Name}})
		}
		last := &out[len(out)-1]
		last.rows = append(last.rows, r)
	}
	return out
}

// drawnLanes puts neighbours together whose rows hold alike.
func drawnLanes(all []lane) []lane {
	var out []lane
	for _, l := range all {
		if len(out) > 0 && out[len(out)-1].holdsLike(l) {
			last := &out[len(out)-1]
			last.names = append(last.names, l.names...)
			continue
		}
		out = append(out, l)
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
	axis := timeAxis{from: from, to: to}
	lanes := lanesOf(h.Rows)
	data := &table{Caption: v.t("source.rows"), Head: []column{{Text: v.t("source.dimension")}, {Text: v.t("source.row"), Num: true}, {Text: v.t("col.state")}, {Text: v.t("source.begins")}, {Text: v.t("source.ends")}}}
	drawn := drawnLanes(lanes)
	shown := drawn[:min(len(drawn), mostLanes)]
	var b strings.Builder
	height := laneHeight*len(shown) + 22
	fmt.Fprintf(&b, `<svg class="wide" role="img" aria-label="%s" height="%d">`, template.HTMLEscapeString(v.t("source.rows")), height)
	for i, l := range shown {
		y := i * laneHeight
		name, rest := l.title()
		laneName(&b, y+13, name, rest)
		fmt.Fprintf(&b, `<rect class="lane" x="0" y="%d" width="100%%" height="14"/>`, y+18)
		for _, r := range l.rows {
			drawRow(&b, r, axis, y+18, len(l.names) == 1)
		}
	}
	fmt.Fprintf(&b, `<line class="now" x1="%.2f%%" x2="%.2f%%" y1="0" y2="%d"/>`, axis.x(now), axis.x(now), height-20)
	axis.ticks(&b, height-20)
	b.WriteString(`</svg>`)
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

// drawRow draws one row as a bar, with its number if it stands for no others.
func drawRow(b *strings.Builder, r control.RegistryRow, axis timeAxis, y int, numbered bool) {
	left := axis.x(time.Time(r.From))
	end := axis.to
	if r.To != nil && time.Time(*r.To).Before(end) {
		end = time.Time(*r.To)
	}
	width := max(axis.x(end)-left, 0.4)
	title := fmt.Sprintf("#%d %s: %s", r.ID, r.State, stamp(time.Time(r.From)))
	if !numbered {
		title = fmt.Sprintf("%s: %s", r.State, stamp(time.Time(r.From)))
	}
	if r.To != nil {
		title += " – " + stamp(time.Time(*r.To))
	}
	fmt.Fprintf(b, `<rect class="f-%s" x="%.2f%%" y="%d" width="%.2f%%" height="14" rx="3"><title>%s</title></rect>`,
		control.RowFamily(r.State), left, y, width, template.HTMLEscapeString(title))
	if width > 12 && numbered {
		fmt.Fprintf(b, `<text class="sign" x="%.2f%%" y="%d">#%d</text>`, left+width/2, y+11, r.ID)
	}
}
