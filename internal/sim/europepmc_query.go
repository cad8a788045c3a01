package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

func (e *europepmc) compile(text string) (paperTest, error) {
	return lucene{leaf: e.clause, letters: "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"}.compile(text)
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
