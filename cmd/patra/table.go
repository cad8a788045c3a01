package main

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/width"

	"github.com/papertrace/patra/internal/app/control"
)

// column is one column of a table.
type column struct {
	head string
	// width is how wide it is at least, where there is room.
	width int
	// right puts numbers under each other.
	right bool
	// wraps lets long text go on below where the terminal is too narrow for it.
	wraps bool
	// spare lets it be left out where the terminal is too narrow for all; -o wide shows it.
	spare bool
	// gap is how many spaces stand behind it in a pipe, at least one.
	gap int
}

// behind is how many spaces stand behind the column. What reads a pipe may count on
// them.
func (p *printer) behind(c column) int {
	if p.screen.terminal {
		return columnGap
	}
	return max(1, c.gap)
}

// cell is what stands in one place of a table.
type cell struct {
	text   string
	family control.Family // of a state, else empty
}

const (
	// columnGap is how many spaces stand between columns on a terminal.
	columnGap = 2
	// narrowest is how few columns text is wrapped into.
	narrowest = 12
	// longestWord is how long a word is not broken while there is another way, such as an instant.
	longestWord = 23
)

// table prints rows under their heads. Into a pipe each row is one line with all
// of its text. On a terminal the table fits its width: long text is wrapped, then columns
// are left out that can be spared, the last first, and where even that is too wide each row
// becomes a block with one value a line.
func (p *printer) table(columns []column, rows [][]any) {
	cells := make([][]cell, len(rows))
	for i, row := range rows {
		for _, v := range row {
			cells[i] = append(cells[i], p.cell(v))
		}
	}
	left, leftCells, widths := fitTable(columns, cells, p.screen.width)
	if len(left) == 0 {
		p.blocks(columns, cells)
		return
	}
	columns = left
	cells = leftCells
	heads := make([]cell, len(columns))
	for i, c := range columns {
		heads[i].text = c.head
	}
	p.line(columns, widths, heads)
	for _, row := range cells {
		p.line(columns, widths, row)
	}
}

// fitTable finds which columns a screen has room for, and how wide each is: first with words
// left whole, then with long ones broken. There are none if it has no room for those that
// cannot be spared.
func fitTable(columns []column, rows [][]cell, screen int) (left []column, cells [][]cell, widths []int) {
	for _, longest := range []int{longestWord, narrowest} {
		left = columns
		cells = rows
		for len(left) > 0 {
			var fits bool
			widths, fits = fitColumns(left, cells, screen, longest)
			if fits {
				return left, cells, widths
			}
			left, cells = withoutSpare(left, cells)
		}
	}
	return nil, nil, nil
}

// withoutSpare leaves the last column out that can be spared; where there is none, all.
func withoutSpare(columns []column, rows [][]cell) ([]column, [][]cell) {
	at := len(columns) - 1
	for at >= 0 && !columns[at].spare {
		at--
	}
	if at < 0 {
		return nil, nil
	}
	less := make([][]cell, len(rows))
	for i, row := range rows {
		less[i] = slices.Concat(row[:at], row[at+1:])
	}
	return slices.Concat(columns[:at], columns[at+1:]), less
}

// printList prints a list as a table, and of an empty one that there is nothing.
func (p *printer) printList(columns []column, rows [][]any, none string) {
	if len(rows) == 0 {
		p.printf("%s\n", none)
		return
	}
	p.table(columns, rows)
}

// cell is a value as a table shows it. What is not there is a dash.
func (p *printer) cell(v any) cell {
	var out cell
	switch v := v.(type) {
	case stated:
		out = cell{p.text(v), v.family}
	case string:
		out.text = v
	default:
		if r := reflect.ValueOf(v); !r.IsValid() || r.Kind() == reflect.Pointer && r.IsNil() {
			out.text = "-"
			break
		}
		out.text = fmt.Sprint(v)
	}
	// A line end in a text of strangers would begin another row.
	out.text = strings.NewReplacer("\n", " ", "\t", " ").Replace(printable(out.text))
	return out
}

// fitColumns finds how wide each column is on a screen, and whether they fit there with words
// up to a length left whole. A screen of width 0 has room for all.
func fitColumns(columns []column, rows [][]cell, screen, longest int) ([]int, bool) {
	least := make([]int, len(columns)) // as wide as their contents
	wished := make([]int, len(columns))
	floors := make([]int, len(columns)) // what text is wrapped into
	for i, c := range columns {
		least[i] = textWidth(c.head)
		floors[i] = max(narrowest, textWidth(c.head))
		for _, row := range rows {
			least[i] = max(least[i], textWidth(row[i].text))
			for word := range strings.FieldsSeq(row[i].text) {
				floors[i] = max(floors[i], min(longest, textWidth(word)))
			}
		}
		wished[i] = max(least[i], c.width)
	}
	if screen == 0 || total(wished) <= screen {
		return wished, true
	}
	for over := total(least) - screen; over > 0; over-- {
		widest := -1
		for i, c := range columns {
			if c.wraps && least[i] > floors[i] && (widest < 0 || least[i] > least[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return least, false
		}
		least[widest]--
	}
	return least, true
}

func total(widths []int) int {
	sum := columnGap * (len(widths) - 1)
	for _, w := range widths {
		sum += w
	}
	return sum
}

// line prints one row, on several lines where its text is wrapped.
func (p *printer) line(columns []column, widths []int, row []cell) {
	parts := make([][]string, len(row))
	lines := 1
	for i, c := range row {
		parts[i] = []string{c.text}
		if columns[i].wraps {
			parts[i] = wrapped(c.text, widths[i])
		}
		lines = max(lines, len(parts[i]))
	}
	for k := range lines {
		var b strings.Builder
		for i, c := range row {
			text := ""
			if k < len(parts[i]) {
				text = parts[i][k]
			}
			pad := strings.Repeat(" ", max(0, widths[i]-textWidth(text)))
			if columns[i].right {
				text = pad + text
				pad = ""
			}
			b.WriteString(p.coloured(text, c.family))
			b.WriteString(pad)
			b.WriteString(strings.Repeat(" ", p.behind(columns[i])))
		}
		p.printf("%s\n", styled(strings.TrimRight(b.String(), " ")))
	}
}

// blocks prints each row as lines of a head and its value, which goes on below if it is long.
func (p *printer) blocks(columns []column, rows [][]cell) {
	wide := 0
	for _, c := range columns {
		wide = max(wide, textWidth(c.head))
	}
	for i, row := range rows {
		if i > 0 {
			p.printf("\n")
		}
		for k, c := range columns {
			head := c.head
			for _, text := range wrapped(row[k].text, max(narrowest, p.screen.width-wide-columnGap)) {
				p.printf("%s%s  %s\n", head, strings.Repeat(" ", wide-textWidth(head)), styled(p.coloured(text, row[k].family)))
				head = ""
			}
		}
	}
}

// textWidth is how many columns of a terminal a text takes: two for a wide
// character such as an ideograph, none for a mark on the character before.
func textWidth(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	if r < 0x300 {
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

// wrapped breaks a text into lines of at most n columns, at spaces where it can.
func wrapped(text string, n int) []string {
	var lines []string
	for textWidth(text) > n {
		end := bytesWithin(text, n)
		next := end
		if space := strings.LastIndexByte(text[:min(end+1, len(text))], ' '); space > 0 {
			end = space
			next = space + 1
		}
		lines = append(lines, text[:end])
		text = text[next:]
	}
	return slices.Concat(lines, []string{text})
}

// bytesWithin is how many bytes of a text fit into n columns, at least one character of it.
func bytesWithin(text string, n int) int {
	used := 0
	for i, r := range text {
		used += runeWidth(r)
		if used > n && i > 0 {
			return i
		}
	}
	return len(text)
}
