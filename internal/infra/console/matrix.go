package console

import (
	"context"
	"fmt"
	"html/template"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// cellPitch is how far cells of a matrix lie apart, cellSize how large they are.
const (
	cellPitch = 24
	cellSize  = 20
	// mostCells bounds what is drawn, whatever a span is.
	mostCells = 2200
	// listedSlices is how many slices a group has at most that leads to a list of them and
	// not to a finer drawing.
	listedSlices = 100
	// tabledGroups is how many groups are listed one by one below the drawing.
	tabledGroups = 120
)

// matrixPanel draws the slices of a plan, one cell for as many as fit into it.
func (c *Console) matrixPanel(ctx context.Context, v *visit, p control.PlanRow) (panel, error) {
	m, err := c.control.SliceMatrix(ctx, control.GroupQuery{Plan: p.ID, From: v.query("from"), To: v.query("to"), Zoom: control.Zoom(v.query("zoom"))})
	if err != nil {
		return panel{}, err
	}
	d := &drawnMatrix{v: v, m: m, plan: p, groups: map[harvest.Mark]control.SliceGroup{}, colour: v.colourOf()}
	for _, g := range m.Groups {
		d.groups[m.Zoom.Begin(g.From)] = g
		n, _ := d.colour.of(g)
		d.most = max(d.most, n)
	}
	out := panel{ID: "matrix", Title: v.t("matrix.title"), Note: v.t("matrix.note", v.zoomWord(m.Zoom))}
	if d.colour != colourState {
		out.Note = v.t("matrix_note."+string(d.colour), v.zoomWord(m.Zoom))
	}
	if len(m.Groups) == 0 {
		out.Note = ""
		out.Empty = v.t("matrix.none")
		return out, nil
	}
	zoom := choice{Label: v.t("matrix.zoom")}
	for _, z := range m.Zooms {
		zoom.Options = append(zoom.Options, tab{link{v.zoomWord(z), v.with("zoom", string(z))}, z == m.Zoom})
	}
	out.Choices = []choice{zoom, v.colourChoice(d.colour)}
	if v.query("from") != "" || v.query("to") != "" {
		out.Actions = append(out.Actions, action{Label: v.t("matrix.whole"), Href: v.path("/plans/%d", p.ID), Needs: control.Viewer})
	}
	drawing := d.draw()
	out.Figure = &figure{Title: v.t("matrix.caption", harvest.Span{From: m.From, To: m.To}.Short()), Summary: d.summary(), Drawing: drawing, Data: d.table()}
	if d.colour == colourState {
		out.Figure.Legend = d.legend()
	}
	return out, nil
}

// zoomWord is how much of its axis a cell covers.
func (v *visit) zoomWord(z control.Zoom) string {
	if n, err := strconv.ParseInt(string(z), 10, 64); err == nil {
		return v.t("zoom.records", grouped(n))
	}
	return v.look.words.sayOr("zoom."+string(z), string(z))
}

// drawnMatrix is a matrix on its way to a drawing.
type drawnMatrix struct {
	v      *visit
	m      control.SliceMatrix
	plan   control.PlanRow
	groups map[harvest.Mark]control.SliceGroup // by where the cell begins
	rows   []matrixRow
	colour colour
	most   int64 // the greatest number that cells are coloured by
}

// matrixRow is a line of cells with what they come to together.
type matrixRow struct {
	name string
	sum  control.SliceGroup
}

// across is how many cells a row has.
func (d *drawnMatrix) across() int {
	switch d.m.Zoom {
	case control.ZoomYear:
		return 10
	case control.ZoomMonth:
		return 12
	case control.ZoomDay:
		return 31
	case control.ZoomHour:
		return 24
	case control.ZoomMinute, control.ZoomSecond:
		return 60
	}
	return 20
}

// left is how much room the names of the rows have.
func (d *drawnMatrix) left() int {
	longest := 0
	for at := range d.groups {
		name, _ := d.place(at)
		longest = max(longest, utf8.RuneCountInString(name))
	}
	return 16 + 8*longest
}

// place is the name of the row and the number of the column of a cell.
func (d *drawnMatrix) place(m harvest.Mark) (row string, column int) {
	if m.IsNumber() {
		step, err := strconv.ParseInt(string(d.m.Zoom), 10, 64)
		if err != nil || step < 1 {
			step = 1
		}
		line := step * int64(d.across())
		return grouped(m.Number() / line * line), int(m.Number() / step % int64(d.across()))
	}
	t := m.Time()
	switch d.m.Zoom {
	case control.ZoomYear:
		return fmt.Sprintf("%ds", t.Year()/10*10), t.Year() % 10
	case control.ZoomMonth:
		return t.Format("2006"), int(t.Month()) - 1
	case control.ZoomDay:
		return t.Format("2006-01"), t.Day() - 1
	case control.ZoomHour:
		return t.Format("2006-01-02"), t.Hour()
	case control.ZoomMinute:
		return t.Format("01-02 15h"), t.Minute()
	}
	return t.Format("02 15:04"), t.Second()
}

// draw makes the drawing, and sums up its rows.
func (d *drawnMatrix) draw() template.HTML {
	var cells strings.Builder
	covered := harvest.Mark{} // up to where a window reaches that began before
	coveredBy := control.OK
	first := true
	left := d.left()
	n := 0
	for at := d.m.Zoom.Begin(d.m.From); at.Before(d.m.To) && n < mostCells; at = d.m.Zoom.End(at) {
		n++
		name, column := d.place(at)
		if len(d.rows) == 0 || d.rows[len(d.rows)-1].name != name {
			d.rows = append(d.rows, matrixRow{name: name})
		}
		x := left + column*cellPitch
		y := len(d.rows) * cellPitch
		g, known := d.groups[at]
		switch {
		case known:
			d.rows[len(d.rows)-1].sum.Add(g)
			d.cell(&cells, g, x, y, first)
			first = false
			if covered.IsZero() || !g.Until.IsZero() && g.Until.After(covered) {
				covered = g.Until
				coveredBy = g.Family()
			}
		case !covered.IsZero() && at.Before(covered):
			fmt.Fprintf(&cells, `<rect class="carried f-%s" x="%d" y="%d" width="%d" height="4"/>`, coveredBy, x, y+8, cellSize)
		case d.notCut(at):
			fmt.Fprintf(&cells, `<rect class="uncut" x="%d" y="%d" width="%d" height="%d"/>`, x, y, cellSize, cellSize)
		default:
			fmt.Fprintf(&cells, `<rect class="f-gap" x="%d" y="%d" width="%d" height="%d"/>`, x, y, cellSize, cellSize)
		}
	}
	width := left + d.across()*cellPitch + 90
	height := (len(d.rows) + 1) * cellPitch
	if d.colour != colourState {
		width = max(width, d.heatLegend(&cells, height+8))
		height += cellPitch + 8
	}
	var out strings.Builder
	fmt.Fprintf(&out, `<svg class="matrix" role="group" aria-label="%s" width="%d" height="%d" data-grid="%d">`,
		template.HTMLEscapeString(d.v.t("matrix.title")), width, height, d.across())
	out.WriteString(matrixSymbols())
	for i := range d.across() {
		fmt.Fprintf(&out, `<text class="muted head" x="%d" y="16">%s</text>`, left+i*cellPitch+cellSize/2, d.columnName(i))
	}
	for i, r := range d.rows {
		y := (i+1)*cellPitch + 15
		fmt.Fprintf(&out, `<text x="0" y="%d">%s</text>`, y, template.HTMLEscapeString(r.name))
		if all := r.sum.Slices(); all > 0 {
			fmt.Fprintf(&out, `<text class="muted" x="%d" y="%d">%s/%s</text>`, left+d.across()*cellPitch+6, y, grouped(r.sum.Done), grouped(all))
		}
	}
	out.WriteString(cells.String())
	out.WriteString(`</svg>`)
	return template.HTML(out.String()) //nolint:gosec // made of numbers and of escaped texts
}

// columnName heads a column: as calendars count, from one for days and months.
func (d *drawnMatrix) columnName(i int) string {
	if d.m.Zoom == control.ZoomMonth || d.m.Zoom == control.ZoomDay {
		i++
	}
	return strconv.Itoa(i)
}

// matrixSymbols are the cells of each state: colour and glyph go together.
func matrixSymbols() string {
	var b strings.Builder
	b.WriteString(`<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line class="hatch" x1="0" y1="0" x2="0" y2="6"/></pattern>`)
	for _, f := range []control.Family{control.OK, control.Active, control.Waiting, control.Partial, control.Failed, control.Off} {
		fmt.Fprintf(&b, `<symbol id="m-%s" width="%d" height="%d"><rect class="c-%s" width="%d" height="%d" rx="3"/><text class="c-sign" x="%d" y="15">%s</text></symbol>`,
			f, cellSize, cellSize, f, cellSize, cellSize, cellSize/2, f.Glyph())
	}
	b.WriteString(`</defs>`)
	return b.String()
}

func (d *drawnMatrix) cell(b *strings.Builder, g control.SliceGroup, x, y int, first bool) {
	stop := -1
	if first {
		stop = 0
	}
	name := template.HTMLEscapeString(harvest.Span{From: g.From, To: g.To}.Short() + ": " + d.v.groupText(g))
	fmt.Fprintf(b, `<a href="%s" tabindex="%d" aria-label="%s"><title>%s</title>`, template.HTMLEscapeString(d.address(g)), stop, name, name)
	if d.colour == colourState {
		fmt.Fprintf(b, `<use href="#m-%s" x="%d" y="%d"/></a>`, g.Family(), x, y)
		return
	}
	d.heatCell(b, g, x, y)
	b.WriteString(`</a>`)
}

// address is where a group leads to: the list of its slices, or a finer drawing of them
// if they are many.
func (d *drawnMatrix) address(g control.SliceGroup) string {
	q := url.Values{"from": {g.From.String()}, "to": {g.To.String()}}
	zooms := control.Zooms(g.From)
	if g.Slices()+g.Resliced > listedSlices && d.m.Zoom != zooms[len(zooms)-1] {
		if d.colour != colourState {
			q.Set("colour", string(d.colour))
		}
		return d.v.path("/plans/%d", d.plan.ID) + "?" + q.Encode()
	}
	return d.v.path("/plans/%d/slices", d.plan.ID) + "?" + q.Encode()
}

// notCut reports whether a place lies in the part of the window that is not cut into
// slices yet: behind what is, of a BACKFILL before it.
func (d *drawnMatrix) notCut(at harvest.Mark) bool {
	if d.plan.Operation == harvest.Backfill {
		return at.Before(d.plan.SlicedTo)
	}
	return !at.Before(d.plan.SlicedTo)
}

// groupText counts what is in a group.
func (v *visit) groupText(g control.SliceGroup) string {
	var parts []string
	for _, n := range []struct {
		family control.Family
		count  int64
		word   string
	}{
		{control.OK, g.Done, v.t("matrix.done")},
		{control.Failed, g.Failed, v.t("matrix.failed")},
		{control.Off, g.Cancelled, v.t("matrix.cancelled")},
		{control.Active, g.Active, v.t("matrix.active")},
		{control.Waiting, g.Waiting, v.t("matrix.waiting")},
		{control.Partial, g.Resliced, v.t("matrix.resliced")},
	} {
		if n.count > 0 {
			parts = append(parts, n.family.Glyph()+" "+grouped(n.count)+" "+n.word)
		}
	}
	if sums := v.sumsText(g.SliceSums); sums != "" {
		parts = append(parts, sums)
	}
	return strings.Join(parts, ", ")
}

// total is all that is drawn together.
func (d *drawnMatrix) total() control.SliceGroup {
	sum := control.SliceGroup{}
	for _, g := range d.m.Groups {
		sum.Add(g)
	}
	return sum
}

// summary says in a sentence what the drawing shows.
func (d *drawnMatrix) summary() string {
	sum := d.total()
	text := d.v.t("matrix.summary", grouped(sum.Slices()), grouped(int64(len(d.m.Groups))), d.v.groupText(sum))
	if len(d.m.Uncovered) > 0 {
		first := d.m.Uncovered[0]
		text += " " + d.v.t("matrix.uncovered", len(d.m.Uncovered), first.Short())
	}
	if d.m.More {
		text += " " + d.v.t("matrix.more", grouped(control.SlicesGrouped))
	}
	return text
}

func (d *drawnMatrix) legend() []state {
	return []state{
		{Family: control.OK, Word: d.v.t("matrix.done")},
		{Family: control.Active, Word: d.v.t("matrix.active")},
		{Family: control.Waiting, Word: d.v.t("matrix.waiting")},
		{Family: control.Partial, Word: d.v.t("matrix.resliced")},
		{Family: control.Failed, Word: d.v.t("matrix.failed")},
		{Family: control.Off, Word: d.v.t("matrix.cancelled")},
	}
}

// table lists the groups, or the rows where there are many groups.
func (d *drawnMatrix) table() *table {
	t := &table{Caption: d.v.t("matrix.title"), Head: []column{
		{Text: d.v.t("col.window")},
		{Text: d.v.t("col.state")},
		{Text: d.v.t("matrix.done"), Num: true},
		{Text: d.v.t("matrix.failed"), Num: true},
		{Text: d.v.t("matrix.cancelled"), Num: true},
		{Text: d.v.t("matrix.active"), Num: true},
		{Text: d.v.t("matrix.waiting"), Num: true},
		{Text: d.v.t("matrix.resliced"), Num: true},
		{Text: d.v.t("matrix_by.records"), Num: true},
		{Text: d.v.t("matrix.pages"), Num: true},
		{Text: d.v.t("matrix.ms_page"), Num: true},
		{Text: "429", Num: true},
	}}
	add := func(name cell, g control.SliceGroup) {
		t.Rows = append(t.Rows, row{Cells: []cell{
			name, stated(g.Family(), d.v.t("family."+string(g.Family()))), count(g.Done), count(g.Failed), count(g.Cancelled), count(g.Active), count(g.Waiting), count(g.Resliced),
			count(g.Records), count(g.Asked), count(g.AvgLatency()), count(g.HTTP429),
		}})
	}
	if len(d.m.Groups) <= tabledGroups {
		for _, g := range d.m.Groups {
			add(linked(harvest.Span{From: g.From, To: g.To}.Short(), d.address(g)), g)
		}
		return t
	}
	for _, r := range d.rows {
		if r.sum.Slices()+r.sum.Resliced > 0 {
			add(text(r.name), r.sum)
		}
	}
	return t
}
