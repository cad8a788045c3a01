package query

import (
	"errors"
	"fmt"
	"strings"

	"github.com/papertrace/patra/internal/domain/nearest"
)

// builder makes nodes of what was read, by the types of the dictionary's fields,
// and collects what is wrong with them. Text and JSON are both read through it, so
// they cannot differ in meaning.
type builder struct {
	dict     *FieldDict
	nodes    int
	problems Problems
}

// rawValue is a value as written.
type rawValue struct {
	text   string
	quoted bool
	prefix bool
	cs     bool
	at     Place
}

// full reports whether there are too many nodes, saying so the first time.
func (b *builder) full(at Place, more int) bool {
	before := b.nodes
	b.nodes += more
	if before <= MaxNodes && b.nodes > MaxNodes {
		b.problems.add(at, "ask in several queries", "the query has more than %d parts", MaxNodes)
	}
	return b.nodes > MaxNodes
}

// field by name.
func (b *builder) field(name string, at Place) (Field, bool) {
	f, ok := b.dict.Lookup(name)
	if !ok || f.Hidden {
		hint := "fields are " + strings.Join(b.dict.keys(), ", ") + "; quote the text if it is none"
		if n := nearest.Word(name, b.dict.names()); n != "" {
			hint = "did you mean " + n + "? Quote the text if it is no field"
		}
		b.problems.add(at, hint, "field %s is not known", quoted(name))
		return Field{}, false
	}
	return f, true
}

// bad is what stands for a node that could not be made; it never gets out.
func bad(at Place) Expr { return All{At: at} }

// text checks and normalises a value.
func (b *builder) text(s string, at Place) (string, bool) {
	if err := cleanText(s); err != nil {
		b.problems.add(at, "", "the text %v", err)
		return "", false
	}
	s = plainText(s)
	if s == "" {
		b.problems.add(at, "write has:field to ask for any value", "the text is empty")
		return "", false
	}
	return s, true
}

// term is field:value.
func (b *builder) term(f Field, v rawValue, m Match, at Place) Expr {
	text, ok := b.text(v.text, v.at)
	if !ok || b.full(at, 1) {
		return bad(at)
	}
	switch f.DataType {
	case DataText:
		if m == MatchWords {
			return b.words(f, text, v.cs, at)
		}
	case DataKeyword:
		if m != MatchPrefix {
			m = MatchExact
		}
	case DataDate, DataNumber:
		if m == MatchPrefix || v.cs {
			b.problems.add(v.at, "write "+f.Key+":2020..2024 for a range", "%s is a %s: it has no beginnings and no case", f.Key, f.Type())
			return bad(at)
		}
		b.nodes-- // the range counts itself
		bound := Bound{Value: text, At: v.at}
		return b.ranged(f, bound, bound, at)
	case DataBool:
		t, err := parseBool(text)
		if err != nil || m == MatchPrefix || v.cs {
			b.problems.add(v.at, "write "+f.Key+":true or "+f.Key+":false", "%s is neither true nor false", quoted(v.text))
			return bad(at)
		}
		text, m = t, MatchExact
	default:
		b.problems.add(at, "", "%s cannot be searched", f.Key)
		return bad(at)
	}
	return Term{Field: f.Key, Text: text, Match: m, CaseSensitive: v.cs, At: at}
}

// words are all to be there: one term each.
func (b *builder) words(f Field, text string, cs bool, at Place) Expr {
	list := strings.Fields(text)
	if len(list) > 1 && b.full(at, len(list)) {
		return bad(at)
	}
	return wordTerms(Term{Field: f.Key, Text: text, Match: MatchWords, CaseSensitive: cs, At: at})
}

// wordTerms splits a WORDS term of several words. Where case matters a word is a
// phrase of one: the text form has no other way to say so.
func wordTerms(t Term) Expr {
	if t.CaseSensitive {
		t.Match = MatchPhrase
	}
	list := strings.Fields(t.Text)
	if len(list) < 2 {
		t.Text = plainText(t.Text)
		return t
	}
	and := And{At: t.At}
	for _, w := range list {
		one := t
		one.Text = w
		and.Of = append(and.Of, one)
	}
	return and
}

// in is field:(a, b). Numbers have no IN: each is a range of one value.
func (b *builder) in(f Field, values []rawValue, cs bool, at Place) Expr {
	if b.full(at, 1+len(values)) {
		return bad(at)
	}
	switch {
	case f.DataType == DataBool || f.DataType == DataToken:
		b.problems.add(at, "use OR between the values", "%s takes no list", f.Key)
		return bad(at)
	case cs && f.DataType != DataText && f.DataType != DataKeyword:
		b.problems.add(at, "", "%s is a %s: it has no case", f.Key, f.Type())
		return bad(at)
	case len(values) == 0:
		b.problems.add(at, "", "the list is empty")
		return bad(at)
	}
	in, or := In{Field: f.Key, CaseSensitive: cs, At: at}, Or{At: at}
	for _, v := range values {
		text, ok := b.text(v.text, v.at)
		switch {
		case !ok:
		case v.prefix || v.cs:
			b.problems.add(v.at, "write "+f.Key+":(a* OR b*)", "values of a list are exact")
		case f.DataType == DataNumber || f.DataType == DataDate:
			b.nodes-- // the range counts itself
			bound := Bound{Value: text, At: v.at}
			or.Of = append(or.Of, b.ranged(f, bound, bound, v.at))
		default:
			in.Values = append(in.Values, Value{Text: text, At: v.at})
		}
	}
	switch {
	case len(or.Of) == 1:
		return or.Of[0]
	case len(or.Of) > 1:
		return or
	}
	return in
}

// ranged is field:from..to.
func (b *builder) ranged(f Field, from, to Bound, at Place) Expr {
	if b.full(at, 1) {
		return bad(at)
	}
	if !f.ranges() {
		b.problems.add(at, "", "%s is a %s field: it has no ranges", f.Key, f.DataType)
		return bad(at)
	}
	for _, bound := range []Bound{from, to} {
		if err := cleanText(bound.Value); err != nil {
			b.problems.add(bound.At, "", "the text %v", err)
			return bad(at)
		}
	}
	r, err := normalRange(Range{Field: f.Key, Type: f.Type(), From: from, To: to, At: at})
	if err != nil {
		hint := ""
		if f.DataType == DataDate {
			hint = dateHint
		}
		if e, ok := errors.AsType[boundError](err); ok {
			at = e.bound.At
		}
		b.problems.add(at, hint, "%v", err)
		return bad(at)
	}
	return r
}

// exists is has:field.
func (b *builder) exists(f Field, at Place) Expr {
	if b.full(at, 1) {
		return bad(at)
	}
	return Exists{Field: f.Key, At: at}
}

// token is @source:"text".
func (b *builder) token(source, text string, at Place) Expr {
	if b.full(at, 1) {
		return bad(at)
	}
	if !fieldKey.MatchString(source) {
		b.problems.add(at, `write @pubmed:"text"`, "%s cannot name a source", quoted(source))
		return bad(at)
	}
	text, ok := b.text(text, at)
	if !ok {
		return bad(at)
	}
	return Token{Source: source, Text: text, At: at}
}

// finish holds the whole against the limits and hands out the result.
func (b *builder) finish(e Expr) (Expr, error) {
	if len(b.problems) == 0 {
		nodes, depth := size(e)
		switch {
		case nodes > MaxNodes:
			b.problems.add(Place{}, "ask in several queries", "the query has more than %d parts", MaxNodes)
		case depth > MaxDepth:
			b.problems.add(Place{}, "", "the query is nested deeper than %d", MaxDepth)
		default:
			// So that what was read can also be written and read again.
			if len(Format(e, b.dict)) > MaxText {
				b.problems.add(Place{}, "ask in several queries", "the query written out is longer than %d bytes", MaxText)
			}
		}
	}
	if err := b.problems.sorted().Err(); err != nil {
		return nil, fmt.Errorf("query: %w", err)
	}
	return e, nil
}
