package query

import (
	"unicode/utf8"
)

// Parse reads the text form. The error wraps [Problems].
func Parse(text string, dict *FieldDict) (Expr, error) {
	p := &parser{builder: builder{dict: dict}, text: text}
	if len(text) > MaxText {
		p.problems.add(Place{Line: 1, Column: 1}, "ask in several queries", "the query is longer than %d bytes", MaxText)
		return p.finish(nil)
	}
	p.measure()
	return p.finish(p.query())
}

// parser goes over the text once, from left to right. What is wrong with a field
// or a value is noted and reading goes on; what is wrong with the form stops it.
type parser struct {
	builder
	text    string
	pos     int
	depth   int
	stopped bool
	// line and column of each byte, and of the end
	lines, columns []int32
}

func (p *parser) measure() {
	p.lines, p.columns = make([]int32, len(p.text)+1), make([]int32, len(p.text)+1)
	line, column := int32(1), int32(1)
	for i := range len(p.text) + 1 {
		p.lines[i], p.columns[i] = line, column
		switch {
		case i == len(p.text):
		case p.text[i] == '\n':
			line, column = line+1, 1
		case i+1 == len(p.text) || utf8.RuneStart(p.text[i+1]):
			column++
		}
	}
}

func (p *parser) query() Expr {
	if !utf8.ValidString(p.text) {
		at := 0
		for at < len(p.text) {
			r, n := utf8.DecodeRuneInString(p.text[at:])
			if r == utf8.RuneError && n == 1 {
				break
			}
			at += n
		}
		p.stop(at, at+1, "", "the query is not valid UTF-8")
	}
	p.blanks()
	if !p.stopped && p.pos == len(p.text) {
		p.stop(p.pos, p.pos, "write * for everything", "the query is empty")
	}
	if p.stopped {
		return nil
	}
	e := p.or(nil)
	if !p.stopped && p.pos < len(p.text) {
		p.unexpected()
	}
	return e
}

// place of the span from start to end.
func (p *parser) place(start, end int) Place {
	return Place{Start: start, End: min(end, len(p.text)), Line: int(p.lines[start]), Column: int(p.columns[start])}
}

// stop ends reading: the form is wrong here.
func (p *parser) stop(start, end int, hint, format string, args ...any) {
	if !p.stopped {
		p.stopped = true
		p.problems.add(p.place(start, end), hint, format, args...)
	}
}

// deeper guards the recursion.
func (p *parser) deeper(parse func() Expr) Expr {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > MaxDepth {
		p.stop(p.pos, p.pos+1, "", "the query is nested deeper than %d", MaxDepth)
		return nil
	}
	return parse()
}

func (p *parser) or(f *Field) Expr {
	p.blanks()
	start := p.pos
	list := []Expr{p.and(f)}
	for p.blanks(); !p.stopped && p.keyword("OR"); p.blanks() {
		list = append(list, p.and(f))
	}
	if p.stopped || len(list) == 1 {
		return list[0]
	}
	at := p.place(start, p.pos)
	p.full(at, 1)
	return Or{Of: list, At: at}
}

func (p *parser) and(f *Field) Expr {
	p.blanks()
	start := p.pos
	list := []Expr{p.not(f)}
	for p.blanks(); !p.stopped; p.blanks() {
		if p.pos == len(p.text) || p.peek() == ')' || p.peek() == ',' || p.keywordAhead("OR") {
			break
		}
		if p.nodes > MaxNodes { // said already
			p.stopped = true
			break
		}
		p.keyword("AND")
		list = append(list, p.not(f))
	}
	if p.stopped || len(list) == 1 {
		return list[0]
	}
	at := p.place(start, p.pos)
	p.full(at, 1)
	return And{Of: list, At: at}
}

func (p *parser) not(f *Field) Expr {
	p.blanks()
	start := p.pos
	if !p.keyword("NOT") {
		return p.primary(f)
	}
	of := p.deeper(func() Expr { return p.not(f) })
	if p.stopped {
		return nil
	}
	at := p.place(start, p.pos)
	p.full(at, 1)
	return Not{Of: of, At: at}
}

// primary is one operand; f is the field of the group it stands in, if any.
func (p *parser) primary(f *Field) Expr {
	p.blanks()
	start := p.pos
	for _, word := range []string{"AND", "OR"} {
		if p.keywordAhead(word) {
			p.stop(start, start+len(word), `quote it to search for the word`, "%s has nothing before it", word)
			return nil
		}
	}
	switch c := p.peek(); {
	case p.pos == len(p.text):
		p.unexpected()
	case c == '(':
		return p.group(f)
	case c == '@':
		return p.token()
	case c == '*':
		return p.star(f, start)
	case (c == '[' || c == '{') && f != nil:
		return p.brackets(*f, start)
	case c == '"':
		return p.value(f, start)
	default:
		return p.clause(f)
	}
	return nil
}

func (p *parser) group(f *Field) Expr {
	open := p.pos
	p.pos++
	e := p.deeper(func() Expr { return p.or(f) })
	if p.stopped {
		return nil
	}
	p.blanks()
	switch p.peek() {
	case ')':
		p.pos++
		return e
	case 0:
		p.stop(open, open+1, "add )", "this ( is not closed")
	default:
		p.unexpected()
	}
	return nil
}

// star is everything, or any value of the field before it.
func (p *parser) star(f *Field, start int) Expr {
	p.pos++
	if !p.apart() {
		p.pos--
		p.unexpected()
		return nil
	}
	at := p.place(start, p.pos)
	if f != nil {
		return p.exists(*f, at)
	}
	p.full(at, 1)
	return All{At: at}
}

// token reads @source:"text".
func (p *parser) token() Expr {
	start := p.pos
	p.pos++
	n := p.name()
	source := p.text[p.pos : p.pos+n]
	p.pos += n
	if n == 0 || p.peek() != ':' || p.pos+1 >= len(p.text) || p.text[p.pos+1] != '"' {
		p.stop(start, p.pos, `write @pubmed:"text"; quote a text that begins with @`, "@ needs a source and a quoted text")
		return nil
	}
	p.pos++
	text := p.str()
	if p.stopped {
		return nil
	}
	if !p.apart() {
		p.unexpected()
		return nil
	}
	return p.builder.token(source, text, p.place(start, p.pos))
}
