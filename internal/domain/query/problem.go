package query

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Place is where something was written: a span of bytes in a text, with the line
// and column (in characters, from 1) of its beginning, or a path in JSON. The
// zero Place is that of an expression made by a program.
type Place struct {
	Start, End   int
	Line, Column int
	Path         string
}

func (p Place) String() string {
	switch {
	case p.Path != "":
		return p.Path
	case p.Line > 0:
		return fmt.Sprintf("line %d, column %d", p.Line, p.Column)
	}
	return ""
}

func (p Place) compare(o Place) int {
	return cmp.Or(cmp.Compare(p.Start, o.Start), cmp.Compare(p.Path, o.Path))
}

// within reports whether p lies in o, or is it.
func (p Place) within(o Place) bool {
	if o.Path != "" || p.Path != "" {
		return p.Path == o.Path || strings.HasPrefix(p.Path, o.Path+".")
	}
	return p.Start >= o.Start && p.End <= o.End
}

// Problem is one thing that is wrong, where, and what to do about it.
type Problem struct {
	At      Place
	Message string
	Hint    string
}

func (p Problem) String() string {
	var b strings.Builder
	if at := p.At.String(); at != "" {
		b.WriteString(at + ": ")
	}
	b.WriteString(p.Message)
	if p.Hint != "" {
		b.WriteString("; " + p.Hint)
	}
	return b.String()
}

// Show is the problem with the line of text it is in and a caret under its place.
func (p Problem) Show(text string) string {
	if p.At.Line == 0 || p.At.Start > len(text) {
		return p.String()
	}
	from := strings.LastIndexByte(text[:p.At.Start], '\n') + 1
	to := len(text)
	if n := strings.IndexByte(text[p.At.Start:], '\n'); n >= 0 {
		to = p.At.Start + n
	}
	before, marked := text[from:p.At.Start], text[p.At.Start:max(p.At.Start, min(p.At.End, to))]
	after := text[p.At.Start+len(marked) : to]
	before = clipLeft(before, 60)
	marked = clipRight(marked, 40)
	after = clipRight(after, 40)
	return p.String() + "\n  " + printable(before+marked+after) + "\n  " +
		strings.Repeat(" ", utf8.RuneCountInString(printable(before))) +
		strings.Repeat("^", max(1, utf8.RuneCountInString(printable(marked))))
}

// Problems is all that is wrong. It is an error; an empty list is no error, so
// return [Problems.Err].
type Problems []Problem

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// Show is every problem with its line of text and a caret.
func (p Problems) Show(text string) string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.Show(text)
	}
	return strings.Join(lines, "\n")
}

// Err is nil if there is no problem.
func (p Problems) Err() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

func (p *Problems) add(at Place, hint, format string, args ...any) {
	*p = append(*p, Problem{At: at, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// sorted by place, each said once.
func (p Problems) sorted() Problems {
	slices.SortStableFunc(p, func(a, b Problem) int { return a.At.compare(b.At) })
	return slices.Compact(p)
}

func clipLeft(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return "..." + string(r[len(r)-n:])
}

func clipRight(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n]) + "..."
}

// printable makes a line of any text: what is not fit for a terminal becomes "?".
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case isControl(r) || r == utf8.RuneError:
			return '?'
		}
		return r
	}, s)
}

// quoted shows a value in a message, not too long.
func quoted(s string) string { return fmt.Sprintf("%q", clipRight(s, 40)) }
