package query

import (
	"slices"
	"strings"
	"time"
)

// Evaluate holds e against a record. What it means is the same for every source:
//
//   - Letters match whatever their case and their accents. Words are runs of letters
//     and digits; all other signs only separate them.
//   - A word is found where it stands as a whole, a phrase where its words stand side
//     by side in that order within one value, a prefix where the last of its words
//     begins one. An EXACT text is the whole value.
//   - A single word of an author is looked for in the family name, where a name comes in
//     parts; several words in the name as people write it.
//   - Whole values (DOI, type, language ...) are compared in the usual form of their
//     kind: a DOI without its resolver, an ISSN without its hyphen, a language by its
//     code.
//   - A range holds where all that the record's date can mean lies within it, not
//     where none of it does; else the record cannot tell.
//   - "cs" compares letters as they are written.
//
// A record cannot tell of a field that its source does not keep, nor what a text in
// the source's own language finds. AND, OR and NOT follow the three values of Kleene.
func Evaluate(e Expr, d Document) Verdict {
	switch e := e.(type) {
	case And:
		v := True
		for _, k := range e.Of {
			v = min(v, Evaluate(k, d))
		}
		return v
	case Or:
		v := False
		for _, k := range e.Of {
			v = max(v, Evaluate(k, d))
		}
		return v
	case Not:
		return -Evaluate(e.Of, d)
	case All:
		return True
	case Token:
		return Unknown
	case Term:
		if several, ok := wordTerms(e).(And); ok && e.Match == MatchWords {
			return Evaluate(several, d)
		}
	case In:
		v := False
		for _, one := range e.Values {
			v = max(v, evaluateLeaf(Term{Field: e.Field, Text: one.Text, Match: MatchExact, CaseSensitive: e.CaseSensitive}, d))
		}
		return v
	case Range:
		r, err := normalRange(e)
		if err != nil {
			return Unknown
		}
		return evaluateLeaf(r, d)
	}
	return evaluateLeaf(e, d)
}

func evaluateLeaf(e Expr, d Document) Verdict {
	v := False
	for _, one := range searchedFields(e) {
		v = max(v, evaluateField(e, one, d.Content(one)))
	}
	return v
}

// FieldFamily is what a [Document] is asked for where a single word of an author is
// looked for: family names, and names that come in one piece.
const FieldFamily = "au/family"

// searchedFields are the fields in which a condition is looked for.
func searchedFields(e Expr) []string {
	field := fieldOf(e)
	t, isTerm := e.(Term)
	switch {
	case field == "tiab":
		return []string{"ti", "ab"}
	case field == "au" && isTerm && t.Match != MatchExact && len(wordsOf(t.Text)) == 1:
		return []string{FieldFamily}
	}
	return []string{field}
}

func evaluateField(e Expr, field string, c Content) Verdict {
	holds := func(string) Verdict { return True } // EXISTS
	switch e := e.(type) {
	case Term:
		m := newMatcher(field, e)
		if m == nil {
			return Unknown // there is nothing in the text to look for
		}
		holds = func(value string) Verdict { return verdictOf(m(value)) }
	case Range:
		holds = e.holds
	}
	v := c.missed()
	for _, value := range c.Values {
		v = max(v, holds(value))
	}
	return v
}

// newMatcher is the test that a term makes of one value; nil if there is nothing in
// its text that could be found.
func newMatcher(field string, t Term) func(value string) bool {
	form := folded
	if t.CaseSensitive {
		form = plainText
	}
	if wholeValued[field] {
		want := keyForm(field, t.Text, form)
		if t.Match == MatchPrefix {
			return func(value string) bool { return strings.HasPrefix(keyForm(field, value, form), want) }
		}
		return func(value string) bool { return keyForm(field, value, form) == want }
	}
	want := wordsOf(form(t.Text))
	if len(want) == 0 {
		return nil
	}
	switch t.Match {
	case MatchExact:
		return func(value string) bool { return slices.Equal(wordsOf(form(value)), want) }
	case MatchPrefix:
		return func(value string) bool { return adjacent(wordsOf(form(value)), want, strings.HasPrefix) }
	}
	return func(value string) bool { return adjacent(wordsOf(form(value)), want, sameWord) }
}

func sameWord(have, want string) bool { return have == want }

// adjacent reports whether the wanted words stand side by side in the text; last is
// the test of the last of them.
func adjacent(have, want []string, last func(have, want string) bool) bool {
	n := len(want) - 1
	for i := 0; i+n < len(have); i++ {
		if slices.Equal(have[i:i+n], want[:n]) && last(have[i+n], want[n]) {
			return true
		}
	}
	return false
}

// holds compares a value with the bounds of a range in canonical form.
func (e Range) holds(value string) Verdict {
	switch e.Type {
	case TypeDate:
		g, err := parseDate(value)
		if err != nil {
			return Unknown
		}
		return e.holdsSpan(g.start, g.end)
	case TypeYear:
		g, err := parseDate(value)
		if err != nil {
			return Unknown
		}
		year := g.start.Format("2006")
		return verdictOf(within(year, e.From, e.To, strings.Compare))
	}
	from, to := e.From, e.To
	if n, err := parseNumber(value); err == nil && isNumber(from) && isNumber(to) {
		return verdictOf(within(n, from, to, compareNumbers))
	}
	if e.Type == TypeNumber {
		return Unknown
	}
	from.Value = folded(from.Value)
	to.Value = folded(to.Value)
	return verdictOf(within(folded(value), from, to, strings.Compare))
}

func isNumber(b Bound) bool {
	_, err := parseNumber(b.Value)
	return b.Absent() || err == nil
}

// holdsSpan compares all the instants that a date can mean with the bounds.
func (e Range) holdsSpan(start, end time.Time) Verdict {
	from, _ := time.Parse(InstantLayout, e.From.Value)
	to, _ := time.Parse(InstantLayout, e.To.Value)
	switch {
	case !e.From.Absent() && !end.After(from), !e.To.Absent() && !start.Before(to):
		return False
	case (e.From.Absent() || !start.Before(from)) && (e.To.Absent() || !end.After(to)):
		return True
	}
	return Unknown
}

func within(value string, from, to Bound, compare func(a, b string) int) bool {
	if !from.Absent() {
		if c := compare(value, from.Value); c < 0 || c == 0 && from.Open {
			return false
		}
	}
	if !to.Absent() {
		if c := compare(value, to.Value); c > 0 || c == 0 && to.Open {
			return false
		}
	}
	return true
}
