package sim

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
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

// paperQuery reads a query of Europe PMC: FIELD:word, FIELD:"phrase", FIELD:wor*,
// FIELD:[a TO b], bare ones for all text, AND, OR, NOT and brackets. Words side
// by side are joined by AND. As in Lucene a group of nothing but NOTs has no hits.
type paperQuery struct {
	in   *europepmc
	rest string
}

func (e *europepmc) compile(text string) (paperTest, error) {
	q := &paperQuery{in: e, rest: text}
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
	first, err := q.both()
	if err != nil {
		return clause{}, err
	}
	parts := []clause{first}
	for q.word("OR") {
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
		if q.rest == "" || q.rest[0] == ')' || q.word("OR") {
			q.rest = before
			break
		}
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
	if name, after, ok := strings.Cut(q.rest, ":"); ok && name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == "" {
		field = name
		q.rest = after
	}
	v, err := q.value()
	if err != nil {
		return clause{}, err
	}
	return q.in.clause(field, v)
}

// termValue is what a field is asked for: a text, or a range of which both ends
// belong to it and * is none.
type termValue struct {
	text     string
	prefix   bool
	from, to string
	ranged   bool
}

func (q *paperQuery) value() (v termValue, err error) {
	if strings.HasPrefix(q.rest, "[") {
		inside, after, ok := strings.Cut(q.rest[1:], "]")
		from, to, two := strings.Cut(inside, " TO ")
		if !ok || !two {
			return v, errors.New("a range is not of the form [a TO b]")
		}
		q.rest = after
		return termValue{from: strings.TrimSpace(from), to: strings.TrimSpace(to), ranged: true}, nil
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
			return termValue{text: b.String()}, nil
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

func emptyValue(v termValue) error {
	if v.text == "" {
		return errors.New("a value is missing")
	}
	return nil
}

// paperDates are the fields that hold a day.
var paperDates = map[string]func(e *europepmc, i uint32, r *record) civil{
	"UPDATE_DATE":   func(_ *europepmc, _ uint32, r *record) civil { return londonCivil(int64(r.updated)) },
	"INDEX_DATE":    func(_ *europepmc, _ uint32, r *record) civil { return londonCivil(int64(r.updated)) },
	"CREATION_DATE": func(_ *europepmc, _ uint32, r *record) civil { return londonCivil(int64(r.created)) },
	"FIRST_IDATE":   func(_ *europepmc, _ uint32, r *record) civil { return londonCivil(int64(r.created)) },
	"FIRST_PDATE":   func(e *europepmc, i uint32, r *record) civil { return e.textOf(i, r).date },
	"E_PDATE":       func(e *europepmc, i uint32, r *record) civil { return e.textOf(i, r).date },
	"P_PDATE":       func(e *europepmc, i uint32, r *record) civil { return e.textOf(i, r).date },
}

// clause makes the test of one field. A field that is not known has no hits.
func (e *europepmc) clause(field string, v termValue) (clause, error) {
	switch field {
	case "SRC":
		return clause{test: func(i uint32, _ *record) bool {
			source, _ := e.corpus(i)
			return strings.EqualFold(source, v.text)
		}}, nil
	case "EXT_ID":
		return clause{test: func(i uint32, _ *record) bool {
			_, id := e.corpus(i)
			return strings.EqualFold(id, v.text)
		}}, nil
	case "PUB_YEAR":
		return e.yearClause(v)
	}
	if day, ok := paperDates[field]; ok {
		return e.dayClause(field, v, day)
	}
	if v.ranged {
		return clause{}, fmt.Errorf("%s has no ranges", field)
	}
	if exact, ok := paperValues[field]; ok {
		return clause{dear: true, test: func(i uint32, r *record) bool {
			return slices.ContainsFunc(exact(e.textOf(i, r)), func(have string) bool { return strings.EqualFold(have, v.text) })
		}}, nil
	}
	words := wordsOf(v.text)
	part, ok := paperTexts[field]
	if !ok || len(words) == 0 {
		return clause{test: func(uint32, *record) bool { return false }}, nil
	}
	return clause{dear: true, test: func(i uint32, r *record) bool {
		return slices.ContainsFunc(part(e.textOf(i, r)), func(have []string) bool { return holds(have, words, v.prefix) })
	}}, nil
}

func (e *europepmc) yearClause(v termValue) (clause, error) {
	if !v.ranged {
		v.from, v.to = v.text, v.text
	}
	from, to := 0, 9999
	for _, end := range []struct {
		text string
		n    *int
	}{{v.from, &from}, {v.to, &to}} {
		if end.text == "*" {
			continue
		}
		n, err := strconv.Atoi(end.text)
		if err != nil {
			return clause{}, fmt.Errorf("PUB_YEAR %q is no year", end.text)
		}
		*end.n = n
	}
	return clause{dear: true, test: func(i uint32, r *record) bool {
		year := e.textOf(i, r).date.year
		return year >= from && year <= to
	}}, nil
}

func (e *europepmc) dayClause(field string, v termValue, day func(*europepmc, uint32, *record) civil) (clause, error) {
	if !v.ranged {
		v.from, v.to = v.text, v.text
	}
	from, to := 0, 99991231
	for _, end := range []struct {
		text string
		n    *int
	}{{v.from, &from}, {v.to, &to}} {
		if end.text == "*" {
			continue
		}
		t, err := time.Parse(time.DateOnly, end.text)
		if err != nil {
			t, err = time.Parse("20060102", end.text)
		}
		if err != nil {
			return clause{}, fmt.Errorf("%s %q is no day", field, end.text)
		}
		*end.n = t.Year()*10000 + int(t.Month())*100 + t.Day()
	}
	return clause{dear: strings.HasSuffix(field, "_PDATE"), test: func(i uint32, r *record) bool {
		n := day(e, i, r).number()
		return n >= from && n <= to
	}}, nil
}

// paperText is a paper as searches read it.
type paperText struct {
	date                                                civil
	title, abstract, authors, places, keywords, journal [][]string
	doi, pmcid, issn, essn, licence, language, open     string
	orcids, types                                       []string
}

// paperTexts are the fields that are searched by words. The parts of a field are
// apart: no phrase begins in one and ends in the next.
var paperTexts = map[string]func(*paperText) [][]string{
	"TITLE":     func(t *paperText) [][]string { return t.title },
	"ABSTRACT":  func(t *paperText) [][]string { return t.abstract },
	"TITLE_ABS": func(t *paperText) [][]string { return slices.Concat(t.title, t.abstract) },
	"AUTH":      func(t *paperText) [][]string { return t.authors },
	"AFF":       func(t *paperText) [][]string { return t.places },
	"KW":        func(t *paperText) [][]string { return t.keywords },
	"KEYWORD":   func(t *paperText) [][]string { return t.keywords },
	"JOURNAL":   func(t *paperText) [][]string { return t.journal },
	"": func(t *paperText) [][]string {
		return slices.Concat(t.title, t.abstract, t.authors, t.places, t.keywords, t.journal)
	},
}

// paperValues are the fields that are compared as a whole.
var paperValues = map[string]func(*paperText) []string{
	"DOI":          func(t *paperText) []string { return some(t.doi) },
	"PMCID":        func(t *paperText) []string { return some(t.pmcid) },
	"ISSN":         func(t *paperText) []string { return some(t.issn) },
	"ESSN":         func(t *paperText) []string { return some(t.essn) },
	"AUTHORID":     func(t *paperText) []string { return t.orcids },
	"LICENSE":      func(t *paperText) []string { return some(t.licence) },
	"LANG":         func(t *paperText) []string { return some(t.language) },
	"PUB_TYPE":     func(t *paperText) []string { return t.types },
	"OPEN_ACCESS":  func(t *paperText) []string { return some(t.open) },
	"HAS_ABSTRACT": func(t *paperText) []string { return yn(len(t.abstract) > 0) },
	"HAS_DOI":      func(t *paperText) []string { return yn(t.doi != "") },
}

func some(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

func yn(is bool) []string {
	if is {
		return []string{"y"}
	}
	return []string{"n"}
}

// mostRead bounds how many papers are remembered in the form searches read.
const mostRead = 50_000

// textOf reads a paper for a search; s.mu is held.
func (e *europepmc) textOf(i uint32, r *record) *paperText {
	if have, ok := e.read[i]; ok && have.version == r.number {
		return &have.text
	}
	if len(e.read) >= mostRead {
		e.read = map[uint32]readPaper{}
	}
	in := e.papers.paper(i, r)
	t := paperText{
		date: in.date, doi: in.doi, pmcid: in.pmcid, licence: in.licence, language: in.language, types: in.types, open: yn(in.open)[0],
		title: [][]string{wordsOf(unmarked(in.title))},
	}
	for _, part := range in.abstract {
		t.abstract = append(t.abstract, wordsOf(part.label+" "+unmarked(part.text)))
	}
	for _, a := range in.authors {
		for _, name := range []string{a.family + " " + a.given, a.given + " " + a.family, a.family + " " + a.initials, a.group} {
			t.authors = append(t.authors, wordsOf(name))
		}
		t.places = append(t.places, wordsOf(a.affiliation))
		t.orcids = append(t.orcids, some(a.orcid)...)
	}
	for _, k := range in.keywords {
		t.keywords = append(t.keywords, wordsOf(k))
	}
	for _, h := range in.mesh {
		t.keywords = append(t.keywords, wordsOf(h.name))
	}
	if in.journal >= 0 {
		j := &journals[in.journal]
		t.journal = [][]string{wordsOf(j.title.plain), wordsOf(j.abbrev.plain)}
		t.issn, t.essn = j.issnPrint, j.issnOnline
	}
	e.read[i] = readPaper{r.number, t}
	return &t
}
