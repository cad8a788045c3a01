package console

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// A list that is shown whole can be put in another order by a click on the head of a column.
// The address says by which: sort=4 is the fourth as the page has them, sort=-4 the greatest
// first. A list of several parts stays in the order of the store: a part of it in another
// order would tell nothing.

// sortLists puts the lists of a page in the order that the address asks for.
func (v *visit) sortLists(p *view) {
	for i := range p.Panels {
		one := &p.Panels[i]
		whole := one.Table != nil && one.Next == "" && v.query("after") == ""
		if whole && (one.Sorts || i == p.listed()) && len(one.Table.Rows) > 1 {
			v.sortTable(one.Table)
		}
	}
}

func (v *visit) sortTable(t *table) {
	asked := v.query("sort")
	name, falling := strings.CutPrefix(asked, "-")
	by, err := strconv.Atoi(name)
	if err != nil || by < 1 || by > len(t.Head) {
		by = 0
	}
	for i := range t.Head {
		h := &t.Head[i]
		number := strconv.Itoa(i + 1)
		switch {
		case by != i+1:
			h.Sort = v.with("sort", number)
		case falling:
			h.Sort = v.with("sort", "")
			h.Order = "descending"
		default:
			h.Sort = v.with("sort", "-"+number)
			h.Order = "ascending"
		}
	}
	if by == 0 {
		return
	}
	slices.SortStableFunc(t.Rows, func(a, b row) int {
		order, known := a.Cells[by-1].compare(b.Cells[by-1], t.Head[by-1].Num)
		if falling && known {
			return -order
		}
		return order
	})
}

// compare orders two cells of a column; those that say nothing come last in either order,
// which known tells.
func (c cell) compare(other cell, number bool) (order int, known bool) {
	if !c.Says() || !other.Says() {
		return cmp.Compare(said(other), said(c)), false
	}
	if c.At != nil && other.At != nil {
		return c.At.Compare(*other.At), true
	}
	if c.Amount != nil && other.Amount != nil {
		return cmp.Compare(*c.Amount, *other.Amount), true
	}
	if c.Bar != nil && other.Bar != nil {
		return cmp.Compare(c.Bar.Share, other.Bar.Share), true
	}
	if number {
		return cmp.Compare(c.amount(), other.amount()), true
	}
	return cmp.Compare(strings.ToLower(c.words()), strings.ToLower(other.words())), true
}

func said(c cell) int {
	if c.Says() {
		return 1
	}
	return 0
}

// amount is the number that a cell begins with.
func (c cell) amount() float64 {
	digits := strings.ReplaceAll(c.Text, "\u202f", "")
	end := strings.IndexFunc(digits, func(r rune) bool { return (r < '0' || r > '9') && r != '.' && r != '-' })
	if end >= 0 {
		digits = digits[:end]
	}
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return 0
	}
	return n
}

// words are what a cell says first.
func (c cell) words() string {
	if c.State != nil {
		return c.State.Word
	}
	if c.Text == "" && len(c.Lines) > 0 {
		return c.Lines[0]
	}
	return c.Text
}

// of is a cell that stands for an amount which its text does not begin with.
func (c cell) of(amount float64) cell {
	c.Amount = &amount
	return c
}
