package source

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/query"
)

// Filter decides on the records of a source what of a query its source does not.
type Filter struct {
	rest query.Expr
	// kept are the fields of records that the source's mapping makes, those of authors
	// as authors.orcid.
	kept  map[string]bool
	shown map[string]query.Shown
}

// FilterOf is the filter of a spec's query, nil if its source decides all of it.
func FilterOf(s *Spec) (*Filter, error) {
	if s.Query == nil || s.Query.Rest == "" {
		return nil, nil
	}
	rest, err := query.StoredSelection([]byte(s.Query.Rest))
	if err != nil {
		return nil, fmt.Errorf("source %s: what is left of the query: %w", s.Source, err)
	}
	return &Filter{rest: rest.Expr(), kept: keptFields(s.Mapping.Fields), shown: s.Query.Shown}, nil
}

// FilterFor decides a whole expression on the records of a spec, also by the values that its source has
// for those of the expression where the spec is for it. Without a spec, records are taken to have every
// field of the standard record.
func FilterFor(e query.Expr, s *Spec) *Filter {
	f := &Filter{rest: e}
	if s == nil {
		f.kept = map[string]bool{"authors.orcid": true, "authors.affiliations": true}
		for name := range standardFields {
			f.kept[name] = true
		}
		return f
	}
	f.kept = keptFields(s.Mapping.Fields)
	if s.Query != nil && s.Query.whole != nil {
		f.rest = s.Query.whole
		f.shown = s.Query.showing
	}
	return f
}

// keptFields are the fields that a mapping makes.
func keptFields(fields []Field) map[string]bool {
	kept := make(map[string]bool)
	for _, f := range fields {
		kept[f.Name] = true
		for _, of := range f.Fields {
			kept[f.Name+"."+of.Name] = true
		}
	}
	return kept
}

// Judge holds a record against what is left of the query. Of a record that is gone
// nothing is there to be held against it.
func (f *Filter) Judge(r *harvest.Record) query.Verdict {
	if r.Status == harvest.RecordGone {
		return query.Unknown
	}
	d := document{filter: f, record: r}
	if err := json.Unmarshal(r.Mapped(), &d.fields); err != nil {
		return query.Unknown
	}
	return query.Evaluate(f.rest, &d)
}

// document is a record as a query looks at it.
type document struct {
	filter *Filter
	record *harvest.Record
	fields standardRecord
}

// standardRecord is what of the standard publication record can be searched.
type standardRecord struct {
	Title         string           `json:"title"`
	Subtitle      string           `json:"subtitle"`
	Abstract      string           `json:"abstract"`
	Authors       []standardAuthor `json:"authors"`
	Journal       string           `json:"journal"`
	JournalAbbrev string           `json:"journal_abbrev"`
	ISSN          []string         `json:"issn"`
	Publisher     string           `json:"publisher"`
	Published     string           `json:"published"`
	Type          string           `json:"type"`
	Types         []string         `json:"types"`
	Language      string           `json:"language"`
	DOI           string           `json:"doi"`
	PMID          string           `json:"pmid"`
	PMCID         string           `json:"pmcid"`
	Keywords      []string         `json:"keywords"`
	Mesh          []standardTopic  `json:"mesh"`
	Licence       string           `json:"licence"`
}

type standardAuthor struct {
	Family       string   `json:"family"`
	Given        string   `json:"given"`
	Name         string   `json:"name"`
	ORCID        string   `json:"orcid"`
	Affiliations []string `json:"affiliations"`
}

type standardTopic struct {
	Term string `json:"term"`
}

// madeOf are the fields of a record in which a field of queries is looked for. What is
// not here no record shows.
var madeOf = map[string][]string{
	"ti": {"title", "subtitle"}, "ab": {"abstract"}, "au": {"authors"}, query.FieldFamily: {"authors"}, "af": {"authors.affiliations"},
	"jo": {"journal", "journal_abbrev"}, "issn": {"issn"}, "doi": {"doi"}, "pmid": {"pmid"}, "pmcid": {"pmcid"}, "orcid": {"authors.orcid"},
	"year": {"published"}, "pubdate": {"published"}, "type": {"types", "type"}, "lang": {"language"}, "kw": {"keywords"}, "mesh": {"mesh"},
	"licence": {"licence"},
}

// keeps reports whether records show anything of a field of queries.
func (f *Filter) keeps(field string) bool {
	switch field {
	case query.FieldFull, "id", "updated":
		return true
	}
	return slices.ContainsFunc(madeOf[field], func(name string) bool { return f.kept[name] })
}

// sees is keeps, of title or abstract too.
func (f *Filter) sees(field string) bool {
	if field == "tiab" {
		return f.keeps("ti") || f.keeps("ab")
	}
	return f.keeps(field)
}

// Content implements query.Document. Every publication has a date, a type and a
// language: a record without one does not tell.
func (d *document) Content(field string) query.Content {
	c := query.Content{Kept: d.filter.keeps(field), Shown: d.filter.shown[field]}
	if field == query.FieldFamily {
		c.Shown = d.filter.shown["au"]
	}
	switch field {
	case "year", "pubdate", "type", "lang", "updated":
		if c.Shown == "" {
			c.Shown = query.ShownSometimes
		}
	}
	if c.Kept {
		c.Values = slices.DeleteFunc(d.values(field), func(v string) bool { return v == "" })
	}
	return c
}

func (d *document) values(field string) []string {
	r := &d.fields
	switch field {
	case "ti":
		return []string{r.Title, r.Subtitle}
	case "ab":
		return []string{r.Abstract}
	case "au":
		return eachAuthor(r.Authors, standardAuthor.names)
	case query.FieldFamily:
		return eachAuthor(r.Authors, standardAuthor.families)
	case "af":
		return eachAuthor(r.Authors, func(a standardAuthor) []string { return a.Affiliations })
	case "orcid":
		return eachAuthor(r.Authors, func(a standardAuthor) []string { return []string{a.ORCID} })
	case "jo":
		return []string{r.Journal, r.JournalAbbrev}
	case "issn":
		return slices.Clone(r.ISSN)
	case "doi":
		return []string{r.DOI}
	case "pmid":
		return []string{r.PMID}
	case "pmcid":
		return []string{r.PMCID}
	case "year", "pubdate":
		return []string{r.Published}
	case "type":
		return append(slices.Clone(r.Types), r.Type)
	case "lang":
		return []string{r.Language}
	case "kw":
		return slices.Clone(r.Keywords)
	case "mesh":
		return r.topics()
	case "licence":
		return []string{r.Licence}
	case "id":
		return []string{d.record.ID}
	case "updated":
		if at := d.record.Version.UpdatedAt; !at.IsZero() {
			return []string{harvest.FormatInstant(at)}
		}
		return nil
	case query.FieldFull:
		return slices.Concat(
			[]string{r.Title, r.Subtitle, r.Abstract, r.Journal, r.JournalAbbrev, r.Publisher}, r.Keywords, r.topics(),
			eachAuthor(r.Authors, standardAuthor.names), eachAuthor(r.Authors, func(a standardAuthor) []string { return a.Affiliations }),
		)
	}
	return nil
}

func (r *standardRecord) topics() []string {
	var out []string
	for _, m := range r.Mesh {
		out = append(out, m.Term)
	}
	return out
}

func eachAuthor(list []standardAuthor, of func(standardAuthor) []string) []string {
	var out []string
	for _, a := range list {
		out = append(out, of(a)...)
	}
	return out
}

// families are the words of a name by which people look for it: of one that comes in
// one piece any of them may be it.
func (a standardAuthor) families() []string {
	if a.Family != "" {
		return []string{a.Family}
	}
	return []string{a.Name}
}

// names are the ways to write a name: both orders, and the family's with initials.
func (a standardAuthor) names() []string {
	family, given := a.Family, a.Given
	if family == "" {
		family, given = inParts(a.Name)
	}
	if given == "" {
		return []string{family, a.Name}
	}
	var initials strings.Builder
	for _, part := range strings.FieldsFunc(given, func(r rune) bool { return r == ' ' || r == '-' || r == '.' }) {
		initials.WriteString(string([]rune(part)[:1]))
	}
	return []string{family + " " + given, given + " " + family, family + " " + initials.String(), a.Name}
}

// inParts takes a name in one piece apart: "Family, Given" or "Given Family".
func inParts(name string) (family, given string) {
	family, given, found := strings.Cut(name, ",")
	if found {
		return strings.TrimSpace(family), strings.TrimSpace(given)
	}
	i := strings.LastIndexByte(name, ' ')
	if i < 0 {
		return name, ""
	}
	return name[i+1:], name[:i]
}
