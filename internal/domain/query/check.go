package query

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Check holds e against what source can do and reports all that it cannot, each
// at its place. What is checked is the canonical form, as that is what is rendered.
func Check(e Expr, source string, capabilities []Capability) Problems {
	c := checker{source: source, byField: make(map[string]Capability)}
	for _, one := range capabilities {
		c.byField[one.Field] = one
	}
	c.expr(Canonical(e), false)
	return c.problems.sorted()
}

type checker struct {
	source   string
	byField  map[string]Capability
	problems Problems
}

func (c *checker) expr(e Expr, negated bool) {
	switch e := e.(type) {
	case And, Or:
		for _, k := range kids(e) {
			c.expr(k, negated)
		}
	case Not:
		if e.Of.Op() == OpAll {
			c.problems.add(e.At, "", "NOT of everything finds nothing")
		}
		c.expr(e.Of, !negated)
	case All:
	default:
		c.leaf(e, negated)
	}
}

// fieldsFor lists the fields that allow an operation.
func (c *checker) fieldsFor(op Op) string {
	var keys []string
	for key, one := range c.byField {
		if one.can(op) && key != FieldToken {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return strings.Join(keys, ", ")
}

func (c *checker) leaf(e Expr, negated bool) {
	if t, ok := e.(Token); ok && t.Source != c.source {
		c.problems.add(t.At, "ask "+t.Source+", or say it in fields", "%s does not understand the language of %s", c.source, t.Source)
		return
	}
	field, op := fieldOf(e), e.Op()
	able, known := c.byField[field]
	switch {
	case op == OpToken && !able.can(OpToken):
		c.problems.add(e.Place(), "say it in fields", "%s takes no text of its own language", c.source)
		return
	case !known:
		c.problems.add(e.Place(), "fields it can: "+c.allFields(), "%s cannot search `%s`", c.source, field)
		return
	case op == OpIn && !able.can(OpIn) && able.can(OpTerm):
		c.problems.add(e.Place(), "ask for one value", "%s takes one value of `%s`, not several", c.source, field)
	case !able.can(op):
		c.problems.add(e.Place(), c.otherwise(op), "%s cannot %s `%s`", c.source, verb(op), field)
		return
	}
	if negated && !able.canNot(op) {
		c.problems.add(e.Place(), "leave out the NOT", "%s cannot exclude by `%s`", c.source, field)
	}
	switch e := e.(type) {
	case Term:
		c.term(e, able)
	case In:
		c.in(e, able)
	case Range:
		c.ranged(e, able)
	case Token:
		c.pattern(e.Text, able.TokenPattern, "token", e.At)
	}
}

func (c *checker) allFields() string {
	var keys []string
	for key := range c.byField {
		if key != FieldToken {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return strings.Join(keys, ", ")
}

func (c *checker) otherwise(op Op) string {
	if list := c.fieldsFor(op); list != "" {
		return "fields it can: " + list
	}
	return ""
}

func verb(op Op) string {
	switch op {
	case OpIn:
		return "take a list of values of"
	case OpRange:
		return "take a range of"
	case OpExists:
		return "ask whether there is a"
	}
	return "search words in"
}

func (c *checker) term(t Term, able Capability) {
	if len(able.TermMatches) > 0 && !slices.Contains(able.TermMatches, t.Match) {
		hint := "it can " + strings.ToLower(joinMatches(able.TermMatches))
		switch {
		case t.Match == MatchWords && slices.Contains(able.TermMatches, MatchPhrase):
			hint = `put the text in quotes: ` + t.Field + `:"` + clipRight(t.Text, 20) + `"`
		case t.Match == MatchPrefix:
			hint = "leave out the *"
		}
		c.problems.add(t.At, hint, "%s cannot match `%s` by %s", c.source, t.Field, strings.ToLower(string(t.Match)))
	}
	if t.CaseSensitive && !able.TermCaseSensitive {
		c.problems.add(t.At, "leave out cs", "%s does not tell capital from small letters in `%s`", c.source, t.Field)
	}
	c.length(t.Text, able, t.Field, t.At)
	if n := able.PrefixMinLen; t.Match == MatchPrefix && utf8.RuneCountInString(t.Text) < n {
		c.problems.add(t.At, "", "%s needs at least %d characters before a *", c.source, n)
	}
	c.pattern(t.Text, able.TermPattern, t.Field, t.At)
}

func joinMatches(list []Match) string {
	words := make([]string, len(list))
	for i, m := range list {
		words[i] = string(m)
	}
	return strings.Join(words, ", ")
}

func (c *checker) in(e In, able Capability) {
	if n := able.InMaxSize; n > 0 && len(e.Values) > n {
		c.problems.add(e.At, "ask in several queries", "%s takes %d values of `%s` at once, not %d", c.source, n, e.Field, len(e.Values))
	}
	if e.CaseSensitive && !able.InCaseSensitive {
		c.problems.add(e.At, "leave out cs", "%s does not tell capital from small letters in `%s`", c.source, e.Field)
	}
	for _, v := range e.Values {
		c.length(v.Text, able, e.Field, v.At)
		c.pattern(v.Text, able.TermPattern, e.Field, v.At)
	}
}

func (c *checker) length(text string, able Capability, field string, at Place) {
	n := utf8.RuneCountInString(text)
	if n < able.TermMinLen {
		c.problems.add(at, "", "%s needs at least %d characters in `%s`", c.source, able.TermMinLen, field)
	}
	if able.TermMaxLen > 0 && n > able.TermMaxLen {
		c.problems.add(at, "", "%s takes at most %d characters in `%s`, not %d", c.source, able.TermMaxLen, field, n)
	}
}

func (c *checker) pattern(text, pattern, field string, at Place) {
	if pattern == "" {
		return
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		c.problems.add(at, "", "the pattern of `%s` for %s is broken: %v", field, c.source, err)
		return
	}
	if !re.MatchString(text) {
		c.problems.add(at, "it must match "+pattern, "%s is no `%s` to %s", quoted(text), field, c.source)
	}
}

func (c *checker) ranged(r Range, able Capability) {
	if r.From.Absent() && able.RangeOpenStart != nil && !*able.RangeOpenStart {
		c.problems.add(r.At, "say where the range begins", "%s needs a lower bound of `%s`", c.source, r.Field)
	}
	if r.To.Absent() && able.RangeOpenEnd != nil && !*able.RangeOpenEnd {
		c.problems.add(r.At, "say where the range ends", "%s needs an upper bound of `%s`", c.source, r.Field)
	}
	if (r.Type == TypeNumber || r.Type == TypeText) && (r.From.Open || r.To.Open) && !able.RangeExclusive {
		c.problems.add(r.At, "use >=, <=, [ and ]", "%s includes the bounds of `%s`", c.source, r.Field)
	}
	for _, b := range []Bound{r.From, r.To} {
		if b.Absent() {
			continue
		}
		if p := able.precision(); r.Type == TypeDate && !onGranule(b.Value, p) {
			c.problems.add(r.At, "give whole "+strings.ToLower(string(p))+"s", "%s knows `%s` by the %s only", c.source, r.Field, strings.ToLower(string(p)))
			break
		}
		if r.Type == TypeText {
			c.pattern(b.Value, able.TermPattern, r.Field, r.At)
		}
		if out := outside(r.Type, b, able); out != "" {
			c.problems.add(r.At, "", "%s knows no `%s` %s", c.source, r.Field, out)
			break
		}
	}
}

// onGranule reports whether an instant is the beginning of a granule.
func onGranule(instant string, p Precision) bool {
	t, err := time.Parse(InstantLayout, instant)
	if err != nil {
		return false
	}
	switch p {
	case PrecisionYear:
		return t.Equal(time.Date(t.Year(), 1, 1, 0, 0, 0, 0, time.UTC))
	case PrecisionMonth:
		return t.Equal(time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC))
	}
	unit := map[Precision]time.Duration{
		PrecisionDay: 24 * time.Hour, PrecisionHour: time.Hour, PrecisionMinute: time.Minute,
		PrecisionSecond: time.Second, PrecisionMicro: time.Microsecond,
	}[p]
	return unit > 0 && t.Truncate(unit).Equal(t)
}

// outside says how a bound lies outside RangeMin and RangeMax, or "".
func outside(t Type, b Bound, able Capability) string {
	less := func(a, b string) bool { return a < b }
	if t == TypeNumber {
		less = func(a, b string) bool { return compareNumbers(a, b) < 0 }
	}
	if able.RangeMin != "" {
		if limit, _, err := normalBound(t, able.RangeMin, false, false); err == nil && less(b.Value, limit) {
			return "before " + able.RangeMin
		}
	}
	if able.RangeMax != "" {
		if limit, _, err := normalBound(t, able.RangeMax, false, true); err == nil && less(limit, b.Value) {
			return "after " + able.RangeMax
		}
	}
	return ""
}
