package query

import "time"

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

// Within is the expression of a slice: the selection and the slice's own range,
// as stored in expr_snapshot.
func (s Selection) Within(window Range) Expr {
	return Canonical(And{Of: []Expr{s.Expr(), window}})
}
