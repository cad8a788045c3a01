package query

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Canonical is the one form of all expressions that mean the same by these rules:
//
//   - AND in AND and OR in OR are one; a group of one is its part; a part said
//     twice is said once; the order of parts does not matter.
//   - NOT NOT is nothing. ALL in an AND is nothing, in an OR it is all.
//   - Several words are the AND of each. Exact terms of one field in an OR are one
//     IN; an IN of one value is an exact term; values are sorted.
//   - Times are UTC instants of one precision, the lower bound in, the upper out
//     of the range; years are both in; numbers have one form.
//
// Places are kept: that of the first of several equal parts.
func Canonical(e Expr) Expr {
	switch e := e.(type) {
	case And:
		return canonicalAnd(e)
	case Or:
		return canonicalOr(e)
	case Not:
		of := Canonical(e.Of)
		if inner, ok := of.(Not); ok {
			return inner.Of
		}
		return Not{Of: of, At: e.At}
	case Term:
		e.Text = plainText(e.Text)
		if e.Match == MatchWords {
			if and, ok := wordTerms(e).(And); ok {
				return canonicalAnd(and)
			}
			return wordTerms(e)
		}
		return e
	case In:
		return canonicalIn(e)
	case Range:
		if r, err := normalRange(e); err == nil {
			return r
		}
		return e
	}
	return e
}

func canonicalAnd(e And) Expr {
	var of []Expr
	for _, k := range e.Of {
		switch k := Canonical(k).(type) {
		case And:
			of = append(of, k.Of...)
		case All:
		default:
			of = append(of, k)
		}
	}
	switch of = arrange(of); len(of) {
	case 0:
		return All{At: e.At}
	case 1:
		return of[0]
	}
	return And{Of: of, At: e.At}
}

func canonicalOr(e Or) Expr {
	var of []Expr
	for _, k := range e.Of {
		switch k := Canonical(k).(type) {
		case Or:
			of = append(of, k.Of...)
		case All:
			return k
		default:
			of = append(of, k)
		}
	}
	switch of = arrange(mergeExact(of)); len(of) {
	case 0:
		return All{At: e.At}
	case 1:
		return of[0]
	}
	return Or{Of: of, At: e.At}
}

// mergeExact makes one IN of the exact terms of a field.
func mergeExact(of []Expr) []Expr {
	type key struct {
		field string
		cs    bool
	}
	at := make(map[key]int) // index in out
	var out []Expr
	for _, e := range of {
		var in In
		switch e := e.(type) {
		case Term:
			if e.Match == MatchExact {
				in = In{Field: e.Field, CaseSensitive: e.CaseSensitive, Values: []Value{{e.Text, e.At}}, At: e.At}
			}
		case In:
			in = e
		}
		if in.Field == "" {
			out = append(out, e)
			continue
		}
		k := key{in.Field, in.CaseSensitive}
		if i, ok := at[k]; ok {
			first := out[i].(In)
			first.Values = append(slices.Clip(first.Values), in.Values...)
			out[i] = first
			continue
		}
		at[k] = len(out)
		out = append(out, in)
	}
	for i, e := range out {
		if in, ok := e.(In); ok {
			out[i] = canonicalIn(in)
		}
	}
	return out
}

func canonicalIn(e In) Expr {
	values := make([]Value, len(e.Values))
	for i, v := range e.Values {
		values[i] = Value{plainText(v.Text), v.At}
	}
	slices.SortStableFunc(values, func(a, b Value) int { return strings.Compare(a.Text, b.Text) })
	e.Values = slices.CompactFunc(values, func(a, b Value) bool { return a.Text == b.Text })
	if len(e.Values) == 1 {
		return Term{Field: e.Field, Text: e.Values[0].Text, Match: MatchExact, CaseSensitive: e.CaseSensitive, At: e.At}
	}
	return e
}

// arrange sorts the parts and says each once.
func arrange(of []Expr) []Expr {
	type keyed struct {
		key []byte
		e   Expr
	}
	list := make([]keyed, len(of))
	for i, e := range of {
		list[i] = keyed{JSON(e), e}
	}
	slices.SortStableFunc(list, func(a, b keyed) int { return bytes.Compare(a.key, b.key) })
	list = slices.CompactFunc(list, func(a, b keyed) bool { return bytes.Equal(a.key, b.key) })
	out := make([]Expr, len(list))
	for i, k := range list {
		out[i] = k.e
	}
	return out
}

// Hash names the meaning of e: SHA-256, in hex, of the JSON of its canonical form.
func Hash(e Expr) string {
	sum := sha256.Sum256(JSON(Canonical(e)))
	return hex.EncodeToString(sum[:])
}

// Selection is what of a source is wanted, without any window: the part of a
// plan's expression that its namespace is named by (R7). A slice's window is never
// in it; see [Selection.Within].
type Selection struct {
	expr Expr
}

// NewSelection is the selection of e; nil selects everything.
func NewSelection(e Expr) Selection {
	if e == nil {
		e = All{}
	}
	return Selection{Canonical(e)}
}

// Expr is the canonical expression.
func (s Selection) Expr() Expr {
	if s.expr == nil {
		return All{}
	}
	return s.expr
}

// All reports whether everything is selected.
func (s Selection) All() bool { return s.Expr().Op() == OpAll }

// JSON is the canonical form, as stored in expr_proto_snapshot.
func (s Selection) JSON() []byte { return JSON(s.Expr()) }

// Hash is that of the canonical form: expr_proto_hash.
func (s Selection) Hash() string { return Hash(s.Expr()) }

// Within is the expression of a slice: the selection and the slice's own bounds, as
// stored in expr_snapshot.
func (s Selection) Within(bounds ...Range) Expr {
	all := And{Of: []Expr{s.Expr()}}
	for _, b := range bounds {
		all.Of = append(all.Of, b)
	}
	return Canonical(all)
}

// DateRange is the range [from, to) of a DATE field; a zero time leaves that
// side without a bound. A slice puts its window beside a selection with it.
func DateRange(field string, from, to time.Time) Range {
	r := Range{Field: field, Type: TypeDate}
	if !from.IsZero() {
		r.From.Value = formatInstant(from)
	}
	if !to.IsZero() {
		r.To = Bound{Value: formatInstant(to), Open: true}
	}
	return r
}

// NumberRange is the range [from, to) of a NUMBER field; a to of 0 leaves that side
// without a bound.
func NumberRange(field string, from, to int64) Range {
	r := Range{Field: field, Type: TypeNumber, From: Bound{Value: strconv.FormatInt(from, 10)}}
	if to != 0 {
		r.To = Bound{Value: strconv.FormatInt(to, 10), Open: true}
	}
	return r
}
