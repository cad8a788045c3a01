package console

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
)

// colour is what the cells of a matrix are coloured by; the word is that of the address.
type colour string

const (
	colourState   colour = ""
	colourRecords colour = "records"
	colourLatency colour = "latency"
	colour429     colour = "429"
)

// colours are those that can be chosen, the usual one first.
var colours = []colour{colourState, colourRecords, colourLatency, colour429}

// colourOf is the colour that the address asks for.
func (v *visit) colourOf() colour {
	for _, c := range colours {
		if string(c) == v.query("colour") {
			return c
		}
	}
	return colourState
}

// of is the number that a group is coloured by, and whether there is one: a group in
// which nothing was asked for has none.
func (c colour) of(g control.SliceGroup) (int64, bool) {
	switch c {
	case colourRecords:
		return g.Records, g.Asked > 0
	case colourLatency:
		return g.AvgLatency(), g.Asked > 0
	case colour429:
		return g.HTTP429, g.Asked > 0
	}
	return 0, false
}

// heatSteps are how many shades there are besides none.
const heatSteps = 5

// heatOf is the shade of a number among those up to the greatest: equal steps of a root,
// so that few large ones do not make all others look alike.
func heatOf(n, most int64) int {
	if n <= 0 || most <= 0 {
		return 0
	}
	for step := int64(1); step < heatSteps; step++ {
		if n*heatSteps*heatSteps <= most*step*step {
			return int(step)
		}
	}
	return heatSteps
}

// heatEnd is the greatest number that has a shade.
func heatEnd(step int, most int64) int64 {
	return most * int64(step) * int64(step) / (heatSteps * heatSteps)
}

// brief is a number in three letters at most.
func brief(n int64) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10)
	case n < 100_000:
		return strconv.FormatInt(n/1000, 10) + "k"
	case n < 1_000_000:
		return "." + strconv.FormatInt(n/100_000, 10) + "M"
	case n < 100_000_000:
		return strconv.FormatInt(n/1_000_000, 10) + "M"
	default:
		return "99+" // millions; the title of the cell says how many
	}
}

// heatCell draws a cell by a number: the darker the more, with the number on it. One in
// which something failed has a frame.
func (d *drawnMatrix) heatCell(b *strings.Builder, g control.SliceGroup, x, y int) {
	n, asked := d.colour.of(g)
	class := "heat h0"
	label := "–"
	if asked {
		class = fmt.Sprintf("heat h%d", heatOf(n, d.most))
		label = brief(n)
	}
	if g.Failed > 0 {
		class += " hurt"
	}
	fmt.Fprintf(b, `<rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="3"/><text class="heat-sign" x="%d" y="%d">%s</text>`,
		class, x, y, cellSize, cellSize, x+cellSize/2, y+14, label)
}

// heatLegend draws the shades with what they stand for, below the matrix, and tells how
// wide that is.
func (d *drawnMatrix) heatLegend(b *strings.Builder, y int) (width int) {
	x := 0
	for step := range heatSteps + 1 {
		label := "0"
		if step > 0 {
			label = "≤ " + grouped(heatEnd(step, d.most))
		}
		fmt.Fprintf(b, `<rect class="heat h%d" x="%d" y="%d" width="%d" height="%d" rx="3"/><text class="muted" x="%d" y="%d">%s</text>`,
			step, x, y, cellSize, cellSize, x+cellSize+6, y+15, template.HTMLEscapeString(label))
		x += 40 + 8*len([]rune(label))
	}
	return x
}

// sumsText tells what the runs of a group came to.
func (v *visit) sumsText(s control.SliceSums) string {
	if s.Asked == 0 {
		return ""
	}
	return v.t("matrix.sums", grouped(s.Records), grouped(s.Asked), grouped(s.AvgLatency()), grouped(s.HTTP429))
}

// colourChoice lets somebody choose what cells are coloured by.
func (v *visit) colourChoice(now colour) choice {
	out := choice{Label: v.t("matrix.colour")}
	for _, c := range colours {
		name := v.t("matrix_by." + string(c))
		if c == colourState {
			name = v.t("matrix_by.state")
		}
		out.Options = append(out.Options, tab{link{name, v.with("colour", string(c))}, c == now})
	}
	return out
}
