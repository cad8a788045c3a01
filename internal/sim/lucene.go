package sim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// paperTest says whether a record is among a query's hits.
type paperTest func(i uint32, r *record) bool

// clause is a part of a query. Dear ones look into the record's text and are
// tried after the others.
type clause struct {
	test    paperTest
	dear    bool
	negated bool
}

// lucene is a language of the kind that Lucene has made: FIELD:word, FIELD:"phrase",
// FIELD:wor*, FIELD:[a TO b], bare ones for all text, AND, OR, NOT and brackets. Words
// side by side are joined by AND, or by OR where that is the habit. A group of nothing
// but NOTs has no hits.
type lucene struct {
	leaf    func(field string, v termValue) (clause, error)
	letters string // that names of fields are made of
	loose   bool   // words side by side are joined by OR
	compare bool   // field>=value is a range, too
	// rightward: there is no precedence, everything behind an operator belongs to it.
	// Words side by side are joined by OR, and NOT stands behind AND only, as ANDNOT.
	rightward bool
}

// paperQuery is a query that is being read.
type paperQuery struct {
	lucene
	rest string
}

func (l lucene) compile(text string) (paperTest, error) {
	q := &paperQuery{lucene: l, rest: text}
	c, err := q.either()
	if err != nil {
		return nil, err
	}
	if q.skip(); q.rest != "" {
		return nil, fmt.Errorf("unexpected %q", q.rest)
	}
	return c.test, nil
}

func (q *paperQuery) skip() { q.rest = strings.TrimLeft(q.rest, " \t\r\n") }

// word takes an operator off the front, if it is there.
func (q *paperQuery) word(operator string) bool {
	q.skip()
	after, ok := strings.CutPrefix(q.rest, operator)
	if !ok || after != "" && !strings.ContainsRune(" \t\r\n(", rune(after[0])) {
		return false
	}
	q.rest = after
	return true
}

func (q *paperQuery) either() (clause, error) {
	if q.rightward {
		return q.rightwards()
	}
	first, err := q.both()
	if err != nil {
		return clause{}, err
	}
	parts := []clause{first}
	for q.word("OR") || q.loose && q.more() {
		next, err := q.both()
		if err != nil {
			return clause{}, err
		}
		parts = append(parts, next)
	}
	if len(parts) == 1 {
		return first, nil
	}
	return clause{dear: hasDear(parts), test: func(i uint32, r *record) bool {
		return slices.ContainsFunc(parts, func(c clause) bool { return c.test(i, r) })
	}}, nil
}

// rightwards reads an operand and, behind an operator, all the rest.
func (q *paperQuery) rightwards() (clause, error) {
	first, err := q.operand()
	if err != nil || !q.more() {
		return first, err
	}
	narrows := q.word("AND")
	excludes := !narrows && q.word("ANDNOT")
	if !narrows && !excludes {
		q.word("OR")
	}
	rest, err := q.rightwards()
	if err != nil {
		return clause{}, err
	}
	return clause{dear: first.dear || rest.dear, test: func(i uint32, r *record) bool {
		switch {
		case narrows:
			return first.test(i, r) && rest.test(i, r)
		case excludes:
			return first.test(i, r) && !rest.test(i, r)
		}
		return first.test(i, r) || rest.test(i, r)
	}}, nil
}

// more says whether something follows in the same bracket.
func (q *paperQuery) more() bool {
	q.skip()
	return q.rest != "" && q.rest[0] != ')'
}

func (q *paperQuery) both() (clause, error) {
	var parts []clause
	for {
		negated := false
		if len(parts) > 0 {
			q.word("AND")
		}
		for q.word("NOT") {
			negated = !negated
		}
		c, err := q.operand()
		if err != nil {
			return clause{}, err
		}
		c.negated = negated
		parts = append(parts, c)
		q.skip()
		before := q.rest
		if q.rest == "" || q.rest[0] == ')' || q.word("OR") || q.loose && !q.word("AND") && !q.word("NOT") {
			q.rest = before
			break
		}
		q.rest = before
	}
	if len(parts) == 1 && !parts[0].negated {
		return parts[0], nil
	}
	if !slices.ContainsFunc(parts, func(c clause) bool { return !c.negated }) {
		return clause{test: func(uint32, *record) bool { return false }}, nil
	}
	slices.SortStableFunc(parts, func(a, b clause) int {
		switch {
		case a.dear == b.dear:
			return 0
		case a.dear:
			return 1
		}
		return -1
	})
	return clause{dear: hasDear(parts), test: func(i uint32, r *record) bool {
		return !slices.ContainsFunc(parts, func(c clause) bool { return c.test(i, r) == c.negated })
	}}, nil
}

func hasDear(parts []clause) bool {
	return slices.ContainsFunc(parts, func(c clause) bool { return c.dear })
}

func (q *paperQuery) operand() (clause, error) {
	q.skip()
	switch {
	case q.rest == "":
		return clause{}, errors.New("something is missing at the end")
	case q.rest[0] == '(':
		q.rest = q.rest[1:]
		c, err := q.either()
		if err != nil {
			return clause{}, err
		}
		q.skip()
		if !strings.HasPrefix(q.rest, ")") {
			return clause{}, errors.New("a bracket is not closed")
		}
		q.rest = q.rest[1:]
		return c, nil
	case strings.HasPrefix(q.rest, "*:*"):
		q.rest = q.rest[3:]
		return clause{test: func(uint32, *record) bool { return true }}, nil
	}
	field := ""
	if name, after, ok := strings.Cut(q.rest, ":"); ok && name != "" && strings.Trim(name, q.letters) == "" {
		field = name
		q.rest = after
	} else if c, ok, err := q.comparison(); ok {
		return c, err
	}
	v, err := q.value()
	if err != nil {
		return clause{}, err
	}
	return q.leaf(field, v)
}

// comparison reads field>=value and the like, where that is the habit.
func (q *paperQuery) comparison() (c clause, ok bool, err error) {
	at := len(q.rest) - len(strings.TrimLeft(q.rest, q.letters))
	if !q.compare || at == 0 || at == len(q.rest) || q.rest[at] != '>' && q.rest[at] != '<' {
		return c, false, nil
	}
	field, upper := q.rest[:at], q.rest[at] == '<'
	rest, closed := strings.CutPrefix(q.rest[at+1:], "=")
	q.rest = rest
	v, err := q.value()
	if err != nil {
		return c, true, err
	}
	bound := termValue{ranged: true, from: v.text, to: "*", above: !closed}
	if upper {
		bound = termValue{ranged: true, from: "*", to: v.text, below: !closed}
	}
	c, err = q.leaf(field, bound)
	return c, true, err
}

// termValue is what a field is asked for: a text, or a range, of which * is no end.
type termValue struct {
	text     string
	prefix   bool
	from, to string
	ranged   bool
	quoted   bool
	above    bool // from is no part of the range
	below    bool // to is no part of the range
}

func (q *paperQuery) value() (v termValue, err error) {
	if strings.HasPrefix(q.rest, "[") || strings.HasPrefix(q.rest, "{") {
		return q.span()
	}
	quoted := strings.HasPrefix(q.rest, `"`)
	var b strings.Builder
	k := 0
	if quoted {
		k = 1
	}
	for ; k < len(q.rest); k++ {
		c := q.rest[k]
		switch {
		case c == '\\' && k+1 < len(q.rest):
			k++
			b.WriteByte(q.rest[k])
			continue
		case quoted && c == '"':
			q.rest = q.rest[k+1:]
			return termValue{text: b.String(), quoted: true}, nil
		case !quoted && strings.IndexByte(" \t\r\n()\"[]", c) >= 0:
			v = termValue{text: b.String()}
			q.rest = q.rest[k:]
			return v, emptyValue(v)
		case !quoted && c == '*':
			q.rest = q.rest[k+1:]
			v = termValue{text: b.String(), prefix: true}
			return v, emptyValue(v)
		}
		b.WriteByte(c)
	}
	if quoted {
		return v, errors.New("a quotation mark is not closed")
	}
	q.rest = ""
	v = termValue{text: b.String()}
	return v, emptyValue(v)
}

// span reads a range: ends in square brackets are part of it, those in braces are not,
// and each may be in quotation marks.
func (q *paperQuery) span() (termValue, error) {
	end := strings.IndexAny(q.rest, "]}")
	if end < 0 {
		return termValue{}, errors.New("a range is not of the form [a TO b]")
	}
	from, to, two := strings.Cut(q.rest[1:end], " TO ")
	if !two {
		return termValue{}, errors.New("a range is not of the form [a TO b]")
	}
	v := termValue{ranged: true, above: q.rest[0] == '{', below: q.rest[end] == '}'}
	v.from = strings.Trim(strings.TrimSpace(from), `"`)
	v.to = strings.Trim(strings.TrimSpace(to), `"`)
	q.rest = q.rest[end+1:]
	return v, nil
}

func emptyValue(v termValue) error {
	if v.text == "" {
		return errors.New("a value is missing")
	}
	return nil
}
