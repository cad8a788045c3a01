package prisma

import (
	"fmt"
	"strings"
)

// box is a box of the diagram: where it stands, and what it says line by line.
type box struct {
	x, y, w int
	lines   []string
}

const (
	lineHeight = 17
	boxPad     = 12
	leftX      = 40
	rightX     = 420
	boxWidth   = 320
	// indentWidth is how far a space at the beginning of a line moves it.
	indentWidth = 5
)

// newBox makes a box of a width in which its lines stand whole.
func newBox(x, y int, lines []string) box {
	out := box{x: x, y: y, w: boxWidth}
	for _, line := range lines {
		out.lines = append(out.lines, wrapped(line)...)
	}
	return out
}

func (b box) height() int { return 2*boxPad + lineHeight*len(b.lines) }

// SVG is the flow diagram of PRISMA 2020. Boxes that only the reviewers can fill have a
// blank.
func (r Document) SVG() string {
	f := r.Flow
	identified := newBox(leftX, 40, identifiedLines(f))
	removed := newBox(rightX, 40, removedLines(f))
	y := 40 + max(identified.height(), removed.height()) + 40
	rows := [][2]box{{identified, removed}}
	for _, pair := range [][2][]string{
		{{fmt.Sprintf("Records screened (n = %d)", f.Screened)}, {"Records excluded (n = ____)"}},
		{{"Reports sought for retrieval (n = ____)"}, {"Reports not retrieved (n = ____)"}},
		{{"Reports assessed for eligibility (n = ____)"}, {"Reports excluded, with reasons (n = ____)"}},
		{{"Studies included in review (n = ____)", "Reports of included studies (n = ____)"}, nil},
	} {
		left := newBox(leftX, y, pair[0])
		rows = append(rows, [2]box{left, newBox(rightX, y, pair[1])})
		y += left.height() + 40
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="780" height="%d" viewBox="0 0 780 %d" role="img" font-family="sans-serif" font-size="13">`+"\n", y, y)
	fmt.Fprintf(&b, "<title>PRISMA 2020 flow of %s, version %d</title>\n", escapeXML(r.Search), r.Version)
	b.WriteString(`<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>` + "\n")
	for i, row := range rows {
		row[0].draw(&b)
		if len(row[1].lines) > 0 {
			row[1].draw(&b)
			middle := row[0].y + min(row[0].height(), row[1].height())/2
			arrow(&b, leftX+boxWidth, middle, rightX, middle)
		}
		if i+1 < len(rows) {
			arrow(&b, leftX+boxWidth/2, row[0].y+row[0].height(), leftX+boxWidth/2, rows[i+1][0].y)
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func (b box) draw(to *strings.Builder) {
	fmt.Fprintf(to, `<rect x="%d" y="%d" width="%d" height="%d" fill="none" stroke="currentColor"/>`+"\n", b.x, b.y, b.w, b.height())
	for i, line := range b.lines {
		text := strings.TrimLeft(line, " ")
		x := b.x + boxPad + indentWidth*(len(line)-len(text))
		fmt.Fprintf(to, `<text x="%d" y="%d" fill="currentColor">%s</text>`+"\n", x, b.y+boxPad+lineHeight*(i+1)-4, escapeXML(text))
	}
}

func arrow(to *strings.Builder, x1, y1, x2, y2 int) {
	fmt.Fprintf(to, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="currentColor" marker-end="url(#tip)"/>`+"\n", x1, y1, x2, y2)
}

// wrapped breaks a line where a box ends, at a space if there is one. What goes on
// stands a step further in, so that it does not look like a line of its own.
func wrapped(line string) []string {
	const most = 44
	var out []string
	further := strings.Repeat(" ", len(line)-len(strings.TrimLeft(line, " "))+2)
	rest := []rune(line)
	for len(rest) > most {
		at := most
		for at > most/2 && rest[at] != ' ' {
			at--
		}
		if rest[at] != ' ' {
			at = most
		}
		out = append(out, string(rest[:at]))
		rest = []rune(further + strings.TrimLeft(string(rest[at:]), " "))
	}
	return append(out, string(rest))
}

func identifiedLines(f Flow) []string {
	out := []string{fmt.Sprintf("Records identified (n = %d) from", f.Identified)}
	add := func(what string, counts []FlowCount) {
		var n int64
		for _, c := range counts {
			n += c.N
		}
		out = append(out, fmt.Sprintf("  %s (n = %d)", what, n))
		for _, c := range counts {
			line := fmt.Sprintf("    %s (n = %d)", c.Name, c.N)
			if c.Announced != nil {
				line += fmt.Sprintf(", announced %d", *c.Announced)
			}
			out = append(out, line)
		}
	}
	add("Databases", f.Databases)
	add("Registers", f.Registers)
	return out
}

// receivedAgain names the duplicates that one source sent.
const receivedAgain = "the same record received again"

func removedLines(f Flow) []string {
	out := []string{fmt.Sprintf("Records removed before screening (n = %d)", f.Removed)}
	if !f.Compared {
		out = append(out, "  Duplicates: records were not compared")
	}
	for _, c := range f.Duplicates {
		out = append(out, fmt.Sprintf("  Duplicates, %s (n = %d)", c.Name, c.N))
	}
	out = append(out,
		fmt.Sprintf("  Duplicates, %s (n = %d)", receivedAgain, f.ReadAgain),
		fmt.Sprintf("  Marked as ineligible by automation tools, filtered here (n = %d)", f.Ineligible))
	for _, c := range f.Other {
		out = append(out, fmt.Sprintf("  %s (n = %d)", c.Name, c.N))
	}
	return out
}
