package query

import "strings"

// clause is field:..., field>=..., or a value if it is neither.
func (p *parser) clause(f *Field) Expr {
	start := p.pos
	n := p.name()
	if n == 0 {
		return p.value(f, start)
	}
	name := p.text[start : start+n]
	p.pos += n
	if p.peek() == ':' {
		p.pos++
		if strings.EqualFold(name, "has") {
			return p.has(start)
		}
		return p.fielded(name, start)
	}
	p.blanks()
	if c := p.peek(); c == '<' || c == '>' || c == '=' {
		return p.compare(p.fieldOr(name, start), start)
	}
	p.pos = start
	return p.value(f, start)
}

func (p *parser) has(start int) Expr {
	p.blanks()
	from, n := p.pos, p.name()
	p.pos += n
	if n == 0 || !p.apart() {
		p.stop(from, p.pos+1, "write has:abstract", "has: needs the name of a field")
		return nil
	}
	f, ok := p.field(p.text[from:p.pos], p.place(from, p.pos))
	at := p.place(start, p.pos)
	if !ok {
		return bad(at)
	}
	return p.exists(f, at)
}

// fielded is what follows "field:".
func (p *parser) fielded(name string, start int) Expr {
	f := p.fieldOr(name, start)
	p.blanks()
	switch p.peek() {
	case '(':
		if e, ok := p.list(f, start); ok {
			return e
		}
		return p.group(&f)
	case '[', '{':
		return p.brackets(f, start)
	case '*':
		return p.star(&f, start)
	case '<', '>', '=':
		return p.compare(f, start)
	}
	return p.value(&f, start)
}

// fieldOr is the field of that name. One that is not known is noted, and what
// follows is still read.
func (p *parser) fieldOr(name string, start int) Field {
	f, known := p.field(name, p.place(start, start+len(name)))
	if !known {
		f = Field{Key: strings.ToLower(name), DataType: DataKeyword}
	}
	return f
}

// compare is what follows a field: an operator and a value.
func (p *parser) compare(f Field, start int) Expr {
	from := p.pos
	for c := p.peek(); c == '<' || c == '>' || c == '='; c = p.peek() {
		p.pos++
	}
	op := p.text[from:p.pos]
	opEnd := p.pos
	p.blanks()
	v, ok := p.one(true)
	if !ok {
		return nil
	}
	at := p.place(start, p.pos)
	bound := Bound{Value: v.text, Open: len(op) == 1, At: v.at}
	switch op {
	case "=":
		if v.prefix {
			p.stop(v.at.Start, v.at.End, "leave out the = or the *", "what is equal has no open end")
			return nil
		}
		return p.term(f, v, MatchExact, at)
	case ">", ">=", "<", "<=":
		if v.prefix || v.cs {
			p.stop(v.at.Start, v.at.End, "", "a bound is one plain value")
			return nil
		}
		if op[0] == '>' {
			return p.ranged(f, bound, Bound{}, at)
		}
		return p.ranged(f, Bound{}, bound, at)
	}
	p.stop(from, opEnd, "known are = > >= < <=", "%s is no comparison", quoted(op))
	return nil
}

// list is (a, b); if it is none, nothing is consumed.
func (p *parser) list(f Field, start int) (Expr, bool) {
	back := p.pos
	p.pos++
	p.blanks()
	if !p.listAhead() {
		p.pos = back
		return nil, false
	}
	var values []rawValue
	for !p.stopped {
		v, ok := p.one(true)
		if !ok {
			return nil, true
		}
		values = append(values, v)
		p.blanks()
		if p.peek() == ',' {
			p.pos++
			p.blanks()
		} else if p.peek() != ')' {
			break
		}
		if p.peek() == ')' {
			p.pos++
			cs := p.modifier()
			return p.in(f, values, cs, p.place(start, p.pos)), true
		}
	}
	if p.pos == len(p.text) {
		p.stop(back, back+1, "add )", "this ( is not closed")
	}
	p.unexpected()
	return nil, true
}

// listAhead reports whether a value and a comma follow.
func (p *parser) listAhead() bool {
	q := *p
	q.problems = nil
	if _, ok := q.one(true); !ok {
		return false
	}
	q.blanks()
	return q.peek() == ','
}

// modifier consumes the "cs" behind a quote or a list.
func (p *parser) modifier() bool {
	if !strings.HasPrefix(p.text[p.pos:], "cs") {
		return false
	}
	p.pos += 2
	if p.apart() {
		return true
	}
	p.pos -= 2
	return false
}

// brackets is [a TO b], with { and } for bounds that are out of the range.
func (p *parser) brackets(f Field, start int) Expr {
	open := p.pos
	from := Bound{Open: p.peek() == '{'}
	p.pos++
	bound := func(b *Bound) bool {
		p.blanks()
		if p.peek() == '*' {
			p.pos++
			b.Open = false
			return true
		}
		v, ok := p.one(true)
		if ok && (v.prefix || v.cs) {
			p.stop(v.at.Start, v.at.End, "", "a bound is one plain value")
		}
		b.Value, b.At = v.text, v.at
		return ok && !p.stopped
	}
	if !bound(&from) {
		return nil
	}
	p.blanks()
	if !p.keyword("TO") {
		p.stop(p.pos, p.pos+1, "write "+f.Key+":[a TO b]", "TO is missing between the bounds")
		return nil
	}
	var to Bound
	if !bound(&to) {
		return nil
	}
	p.blanks()
	switch p.peek() {
	case '}':
		to.Open = !to.Absent()
	case ']':
	case 0:
		p.stop(open, open+1, "add ] or }", "this %c is not closed", p.text[open])
		return nil
	default:
		p.unexpected()
		return nil
	}
	p.pos++
	return p.ranged(f, from, to, p.place(start, p.pos))
}

// value is one value or a range a..b; start is where its clause begins.
func (p *parser) value(f *Field, start int) Expr {
	dots := func() bool { return f != nil && strings.HasPrefix(p.text[p.pos:], "..") }
	var v rawValue
	if !dots() {
		var ok bool
		v, ok = p.one(f != nil)
		if !ok {
			return nil
		}
	}
	if !dots() {
		return p.matched(f, v, p.place(start, p.pos))
	}
	if v.prefix || v.cs {
		p.stop(v.at.Start, v.at.End, "", "a bound is one plain value")
		return nil
	}
	from, to := Bound{Value: v.text, At: v.at}, Bound{}
	p.pos += 2
	if from.Absent() || !p.apart() {
		w, ok := p.one(true)
		if !ok {
			return nil
		}
		if w.prefix || w.cs {
			p.stop(w.at.Start, w.at.End, "", "a bound is one plain value")
			return nil
		}
		to = Bound{Value: w.text, At: w.at}
	}
	if !p.apart() {
		p.unexpected()
		return nil
	}
	return p.ranged(*f, from, to, p.place(start, p.pos))
}

// matched is a single value as a term: how it was written says how it matches.
func (p *parser) matched(f *Field, v rawValue, at Place) Expr {
	if f == nil {
		full, ok := p.field(FieldFull, at)
		if !ok {
			return bad(at)
		}
		f = &full
	}
	m := MatchWords
	switch {
	case v.prefix:
		m = MatchPrefix
	case v.quoted:
		m = MatchPhrase
	}
	return p.term(*f, v, m, at)
}
