package sim

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// openalexHabits: one filter of comma-joined conditions, of which those that end in
// .search have operators and phrases and are stemmed; whatever is not known is refused.
// The end is a cursor of null.
func openalexHabits() habits {
	h := habits{
		requests: 10, window: time.Second, grain: 1, totals: true, cursors: true, analysis: analysis{stems: true},
		class: func(path string) string { return only(path, "/works") },
		write: writeOpenAlex, ask: askOpenAlex,
		broken:  func() *reply { return openalexError(http.StatusOK, "Service unavailable", "try again") },
		expired: func() *reply { return openalexError(http.StatusBadRequest, "Pagination error.", "Cursor has expired") },
		page: func(_ *request, s slip) *reply {
			next := ""
			switch {
			case s.counts, s.lost:
			case s.last:
				next = `,"next_cursor":null`
			default:
				next = `,"next_cursor":` + quoted(cursorMark(s.next))
			}
			return s.around(`{"meta":{`+told("count", s.total)+`"page":null`+next+`},"results":[`, "]}")
		},
		unknown: func(_ *library, field string, _ termValue) (clause, error) {
			return clause{}, fmt.Errorf("%s is not a valid field", field)
		},
		columns: map[string]column{
			"title.search":                   {texts: func(e *entry) []string { return []string{e.plainTitle()} }},
			"abstract.search":                {texts: func(e *entry) []string { return some(e.plainAbstract()) }},
			"title_and_abstract.search":      {texts: func(e *entry) []string { return []string{e.plainTitle() + " " + e.plainAbstract()} }},
			"default.search":                 {texts: func(e *entry) []string { return []string{strings.Join(everyText(e), " ")} }},
			"raw_author_name.search":         {texts: func(e *entry) []string { return e.names(false) }},
			"raw_affiliation_strings.search": {texts: func(e *entry) []string { return e.affiliations() }},
			"keyword.search":                 {texts: func(e *entry) []string { return e.keywords }},
			"doi": {whole: func(e *entry) []string {
				return []string{ownDOI("10.99894", e.i), "https://doi.org/" + ownDOI("10.99894", e.i)}
			}},
			"primary_location.source.issn": {cased: true, whole: issnOf(true, true)},
			"authorships.author.orcid":     {whole: func(e *entry) []string { return append(e.orcids(), orcidAddresses(e)...) }},
			"language":                     {cased: true, whole: func(e *entry) []string { return some(twoLetters[e.language]) }},
			"type":                         {cased: true, whole: func(e *entry) []string { return []string{e.kind("review", "article")} }},
			"is_oa":                        {whole: func(e *entry) []string { return []string{strconv.FormatBool(e.i%2 == 0)} }},
			"has_abstract":                 {whole: func(e *entry) []string { return []string{strconv.FormatBool(len(e.abstract) > 0)} }},
			"primary_location.license":     {cased: true, whole: func(*entry) []string { return []string{"cc-by"} }},
			"from_publication_date":        {day: func(e *entry) string { return e.date.String() }},
			"to_publication_date":          {day: func(e *entry) string { return e.date.String() }},
			"from_updated_date":            {instant: instantOf},
			"to_updated_date":              {instant: instantOf},
		},
	}
	h.id, h.index = numberedID("https://openalex.org/W", 4_000_000_000)
	return h
}

func openalexError(status int, title, message string) *reply {
	return &reply{status: status, kind: jsonType, head: []byte(`{"error":` + quoted(title) + `,"message":` + quoted(message) + "}")}
}

func askOpenAlex(l *library, q *request) (a asking, refused *reply) {
	for name := range q.form {
		if !slices.Contains([]string{"filter", "per_page", "per-page", "cursor", "select", "api_key", "mailto"}, name) {
			return a, openalexError(http.StatusBadRequest, "Invalid query parameters error.", name+" is not a valid parameter")
		}
	}
	var tests []paperTest
	for _, part := range splitOutsideQuotes(q.get("filter"), ',') {
		name, value, _ := strings.Cut(part, ":")
		test, err := l.openalexFilter(name, value)
		if err != nil {
			return a, openalexError(http.StatusBadRequest, "Invalid query parameters error.", err.Error())
		}
		tests = append(tests, test)
	}
	a.match = both(tests...)
	a.size = 25
	if n, err := strconv.Atoi(q.get("per_page")); err == nil {
		a.size = min(n, 200)
	}
	cursor := q.get("cursor")
	a.counts = q.get("select") == "id" && cursor == ""
	if cursor != "" && cursor != "*" {
		after, ok := parseCursorMark(cursor)
		if !ok {
			return a, openalexError(http.StatusBadRequest, "Pagination error.", "Cursor value is invalid")
		}
		a.mark, a.after = cursor, after
	}
	return a, nil
}

// splitOutsideQuotes cuts a text at a sign that does not stand within quotation marks.
func splitOutsideQuotes(s string, at rune) []string {
	inside := false
	return strings.FieldsFunc(s, func(r rune) bool {
		if r == '"' {
			inside = !inside
		}
		return r == at && !inside
	})
}

// openalexFilter makes the test of one condition.
func (l *library) openalexFilter(name, value string) (paperTest, error) {
	if strings.HasSuffix(name, ".search") {
		if strings.ContainsAny(value, "*?!|") {
			return nil, fmt.Errorf("%s does not take wildcards", name)
		}
		return lucene{leaf: func(_ string, v termValue) (clause, error) { return l.leaf(name, v) }}.compile(value)
	}
	value, negated := strings.CutPrefix(value, "!")
	var some []paperTest
	for one := range strings.SplitSeq(value, "|") {
		v := termValue{text: one}
		switch {
		case strings.HasPrefix(name, "from_"):
			v = termValue{ranged: true, from: one, to: "*"}
		case strings.HasPrefix(name, "to_"):
			v = termValue{ranged: true, from: "*", to: one}
		}
		c, err := l.leaf(name, v)
		if err != nil {
			return nil, err
		}
		some = append(some, c.test)
	}
	return func(i uint32, r *record) bool {
		return slices.ContainsFunc(some, func(t paperTest) bool { return t(i, r) }) != negated
	}, nil
}

func writeOpenAlex(b []byte, e *entry) []byte {
	o := &jsonObject{append(b, '{')}
	o.text("id", "https://openalex.org/W"+strconv.Itoa(4_000_000_000+int(e.i)))
	o.text("doi", "https://doi.org/"+ownDOI("10.99894", e.i))
	o.text("title", e.plainTitle())
	o.text("publication_date", e.date.String())
	o.int("publication_year", e.date.year)
	o.text("type", e.kind("review", "article"))
	o.text("language", twoLetters[e.language])
	o.objects("authorships", len(e.authors), func(k int) {
		a := e.authors[k]
		o.within("", func() {
			o.text("raw_author_name", e.names(false)[k])
			o.within("author", func() {
				o.text("display_name", e.names(false)[k])
				if a.orcid != "" {
					o.text("orcid", "https://orcid.org/"+a.orcid)
				}
			})
			o.strings("raw_affiliation_strings", some(a.affiliation))
		})
	})
	if j := e.container(); j != nil {
		o.within("primary_location", func() {
			o.within("source", func() {
				o.text("display_name", j.title.plain)
				o.strings("issn", []string{j.issnPrint, j.issnOnline})
			})
			o.text("license", "cc-by")
		})
	}
	o.within("biblio", func() {
		o.text("volume", e.volume)
		o.text("issue", e.issue)
	})
	o.objects("keywords", len(e.keywords), func(k int) { o.within("", func() { o.text("display_name", e.keywords[k]) }) })
	if words := strings.Fields(e.plainAbstract()); len(words) > 0 {
		o.within("abstract_inverted_index", func() {
			places := map[string][]int{}
			for at, word := range words {
				places[word] = append(places[word], at)
			}
			for at, word := range words {
				if places[word][0] != at {
					continue
				}
				o.objects(word, len(places[word]), func(k int) { o.int("", places[word][k]) })
			}
		})
	}
	o.int("cited_by_count", int(e.record.number))
	o.text("updated_date", e.stamp("2006-01-02T15:04:05.000000"))
	return append(o.b, '}')
}
