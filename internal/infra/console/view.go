package console

import (
	"cmp"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
)

// view is a page before it has a language of marks: what stands on it, in order.
type view struct {
	Title  string
	State  *state
	Lead   string // a sentence under the title
	Crumbs []link
	// CLI is the command that shows the same, API the path of the document below
	// /api/v1 with its parameters.
	CLI string
	API string
	// Link is the address that is copied, where that is not the one the page was asked for
	// by: it says from when to when.
	Link string
	// Topics are what the page is about: it is fetched again when one of them moved.
	Topics string
	// Pulse is how far the topics had come before the page was made.
	Pulse   string
	Actions []action
	Tabs    []tab
	Filters []field
	Panels  []panel
	// Banner is the answer to what was done last.
	Banner *banner
	// Up, Before and After are pages that keys lead to.
	Up, Before, After string
}

type link struct{ Text, Href string }

// tab is a page beside this one.
type tab struct {
	link
	Here bool
}

// choice lets somebody see a part of a page in another way.
type choice struct {
	Label   string
	Options []tab
}

// state is the family and the word of how something is.
type state struct {
	Family control.Family
	Word   string
	Title  string
	Sign   string // what a drawing marks it with, if that is not the glyph of the family
}

// Glyph is what stands before the word.
func (s state) Glyph() string { return cmp.Or(s.Sign, s.Family.Glyph()) }

// panel is a part of a page. It holds one of its kinds, in the order they stand here.
type panel struct {
	ID, Title string
	Note      string // a sentence under the title
	Choices   []choice
	Facts     []fact
	Table     *table
	Figure    *figure
	Text      string    // as it is, in letters of one width
	Passages  []passage // the same, with parts of it marked
	Form      *form
	Switch    *onOff
	Needs     []need
	Parts     []panel // side by side
	Actions   []action
	// Empty is said where there is nothing, with the command to begin.
	Empty     string
	EmptyNext string
	// Next leads to the next part of a list.
	Next string
	// Export leads to what is listed as a file.
	Export string
	// Sorts: its table can be put in another order, also where it is not what the page is
	// about.
	Sorts bool
}

// onOff is something that the browser remembers: the script shows the button and what it
// would do.
type onOff struct{ ID, On, Off string }

// passage is a part of a text.
type passage struct {
	Text string
	// Kind is how it is marked: mark, del for what is gone, ins for what came, code for a
	// command, or empty.
	Kind string
}

// need is what a person should look at.
type need struct {
	State state
	Text  string
	Where link
	Next  string // the command that helps
}

// fact is something with a name.
type fact struct {
	Name  string
	Value cell
}

type table struct {
	Caption string
	Head    []column
	Rows    []row
}

type column struct {
	Text string
	Num  bool // digits, to the right
	Keep bool // stands also where no row says anything in it
	// Sort leads to the list in the order of this column, and Order is how it is ordered by it
	// now.
	Sort, Order string
}

// Arrow shows how a list is ordered by the column.
func (c column) Arrow() string {
	switch c.Order {
	case "ascending":
		return "▲"
	case "descending":
		return "▼"
	}
	return ""
}

// dropEmptyColumns leaves out the columns of lists in which no row says anything: there is
// little room, and what is there is seen better without them.
func (p *view) dropEmptyColumns() {
	for i := range p.Panels {
		t := p.Panels[i].Table
		if t == nil || len(t.Rows) == 0 {
			continue
		}
		for at := len(t.Head) - 1; at > 0; at-- {
			says := slices.ContainsFunc(t.Rows, func(r row) bool { return r.Cells[at].Says() })
			if says || t.Head[at].Keep {
				continue
			}
			t.Head = slices.Delete(t.Head, at, at+1)
			for n := range t.Rows {
				t.Rows[n].Cells = slices.Delete(t.Rows[n].Cells, at, at+1)
			}
		}
	}
}

type row struct {
	Cells []cell
	// Picked marks the row that the address names.
	Picked bool
}

// cell is a value in a table or a list of facts.
type cell struct {
	Text    string
	Href    string
	State   *state
	At      *time.Time
	Mono    bool   // in letters of one width
	Small   string // said beside it, smaller
	Title   string
	Bar     *bar
	Marks   []mark
	Actions []action
	Lines   []string // one under the other
	// Passages are a text with parts of it marked.
	Passages []passage
	// Amount is what it is ordered by, where its text does not begin with that.
	Amount *float64
}

// Says reports whether there is something in it.
func (c cell) Says() bool {
	return c.Text != "" || c.At != nil || c.State != nil || c.Bar != nil || c.Small != "" || len(c.Marks)+len(c.Actions)+len(c.Lines)+len(c.Passages) > 0
}

// bar is a share of something.
type bar struct {
	Share float64 // 0 to 1
	Text  string
}

// Width is the length of the bar in parts of a hundred.
func (b bar) Width() int { return int(min(max(b.Share, 0), 1)*100 + 0.5) }

// mark is one thing of a series, such as a run.
type mark struct {
	state
	Href string
}

// figure is a drawing, with the sentence that says the same and the numbers behind it.
type figure struct {
	Title   string
	Summary string
	Drawing template.HTML
	Legend  []state
	Data    *table
}

// action is something that can be done about what is shown.
type action struct {
	Label string
	// Do is the path of the change below /api/v1, with the parameters of its preview.
	Do string
	// Level is how it is guarded: 1 is done at a click, 2 shows first what it would
	// do and asks why, 3 asks for the name as well.
	Level int
	Name  string // what has to be typed at level 3
	Undo  string // the change that takes it back, of level 1
	// Href leads to a page instead, which asks for more.
	Href string
	// Post sends a form with what is hidden in it to a page instead.
	Post   string
	Hidden map[string]string
	ID     string // of the form that is sent
	Needs  control.Access
}

// banner tells what came of what was done.
type banner struct {
	State state
	Text  string
	Undo  *action
	Link  *link
}

// form is what somebody can fill in.
type form struct {
	Action string // where it goes
	Get    bool   // it only asks
	Fields []field
	Hidden map[string]string
	Submit string
	More   []option // further buttons: what "do" says then, and the text
	Wide   bool
	Cancel string // where it leads to not to do it
	Danger bool
}

// field is a part of a form or of the filters of a list.
type field struct {
	Name, Label, Value string
	Kind               string // text, select, textarea, number, check, datetime
	Options            []option
	Hint               string
	Required           bool
	Error              string
	Rows               int
}

type option struct{ Value, Text string }

func text(s string) cell                     { return cell{Text: s} }
func mono(s string) cell                     { return cell{Text: s, Mono: true} }
func advice(s string) cell                   { return cell{Passages: prose(s)} }
func linked(s, href string) cell             { return cell{Text: s, Href: href} }
func stated(f control.Family, w string) cell { return cell{State: &state{Family: f, Word: w}} }

// at is an instant; nothing if it is not known.
func at(t *control.Time) cell {
	if t == nil {
		return cell{}
	}
	return instant(time.Time(*t))
}

func instant(t time.Time) cell {
	if t.IsZero() {
		return cell{}
	}
	utc := t.UTC()
	return cell{At: &utc}
}

// count is a number with its thousands apart.
func count[N ~int | ~int64](n N) cell { return cell{Text: grouped(int64(n))} }

// counted is a number that may be more than it says.
func counted(c control.Counted) cell {
	if c.More {
		return cell{Text: grouped(c.Count) + "+"}
	}
	return cell{Text: grouped(c.Count)}
}

// grouped writes a number with its thousands apart.
func grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign = "-"
		digits = digits[1:]
	}
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteRune('\u202f')
		}
		b.WriteRune(d)
	}
	return sign + b.String()
}
