package sim

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// doajHabits: the query is a part of the path, wildcards are refused in it, and only
// the first 1,000 records of a query can be reached, by number of page.
func doajHabits() habits {
	h := habits{
		requests: 10, window: 5 * time.Second, grain: 1_000_000, totals: true, pages: true,
		class: func(path string) string {
			if strings.HasPrefix(path, doajSearch) {
				return doajSearch + "{query}"
			}
			return ""
		},
		write: writeDOAJArticle, ask: askDOAJ, broken: func() *reply { return doajError(http.StatusOK, "error", "the index does not answer") },
		page: func(_ *request, s slip) *reply {
			return s.around("{"+told("total", s.total)+`"page":`+strconv.Itoa(s.at/max(s.size, 1)+1)+`,"pageSize":`+strconv.Itoa(s.size)+`,"results":[`, "]}")
		},
		columns: map[string]column{
			"": {texts: everyText}, "bibjson.title": {texts: func(e *entry) []string { return []string{e.plainTitle()} }},
			"bibjson.abstract":           {texts: func(e *entry) []string { return some(e.plainAbstract()) }},
			"bibjson.author.name":        {texts: func(e *entry) []string { return e.names(e.i%2 == 0) }},
			"bibjson.author.affiliation": {texts: func(e *entry) []string { return e.affiliations() }},
			"bibjson.journal.title":      {texts: func(e *entry) []string { return some(e.journalTitle()) }},
			"bibjson.keywords":           {texts: func(e *entry) []string { return e.keywords }},
			"bibjson.subject.term":       {texts: func(e *entry) []string { return []string{fieldsOfStudy[e.i%16]} }},
			"bibjson.identifier.id":      {whole: func(e *entry) []string { return append(issnOf(true, true)(e), doajDOI(e)...) }},
			"issn":                       {cased: true, whole: issnOf(true, true)},
			"bibjson.author.orcid_id":    {cased: true, whole: orcidAddresses},
			"bibjson.year":               {number: func(e *entry) int { return e.date.year }},
			"last_updated":               {instant: instantOf},
		},
	}
	h.id = func(b []byte, i uint32) []byte { return append(b, doajNumber(i)...) }
	h.index = doajManners().index
	return h
}

const doajSearch = "/search/articles/"

func doajDOI(e *entry) []string {
	if e.i%4 == 0 {
		return nil
	}
	return []string{ownDOI("10.99893", e.i)}
}

func doajError(status int, kind, message string) *reply {
	return &reply{status: status, kind: jsonType, head: []byte(`{"status":` + quoted(kind) + `,"error":` + quoted(message+" (ref: 0)") + "}")}
}

func askDOAJ(l *library, q *request) (a asking, refused *reply) {
	text := strings.TrimPrefix(q.path, doajSearch)
	for k, c := range text {
		if strings.ContainsRune("*?~", c) && k > 1 && text[k-1] != '\\' {
			return a, doajError(http.StatusBadRequest, "bad_request", "Query contains disallowed Lucene features")
		}
	}
	test, err := lucene{leaf: l.leaf, letters: luceneLetters}.compile(text)
	if err != nil {
		return a, doajError(http.StatusBadRequest, "bad_request", err.Error())
	}
	a.match = test
	a.size, a.at = 10, 0
	if n, err := strconv.Atoi(q.get("pageSize")); err == nil {
		a.size = min(n, 100)
	}
	if n, err := strconv.Atoi(q.get("page")); err == nil {
		a.at = (n - 1) * a.size
	}
	if a.at >= 1000 || a.at < 0 {
		return a, doajError(http.StatusBadRequest, "bad_request", "You cannot access results beyond the first 1000; use the data dump or OAI-PMH")
	}
	return a, nil
}

func writeDOAJArticle(b []byte, e *entry) []byte {
	o := &jsonObject{append(b, '{')}
	o.text("id", doajNumber(e.i))
	o.text("last_updated", e.stamp("2006-01-02T15:04:05Z"))
	o.text("created_date", string(appendInstant(nil, e.record.created, 0)))
	o.within("bibjson", func() {
		o.text("title", e.plainTitle())
		o.text("abstract", e.plainAbstract())
		o.text("year", strconv.Itoa(e.date.year))
		if e.dated.month > 0 {
			o.text("month", strconv.Itoa(e.dated.month))
		}
		names := e.names(e.i%2 == 0)
		o.objects("author", len(e.authors), func(k int) {
			o.within("", func() {
				o.text("name", names[k])
				o.text("affiliation", e.authors[k].affiliation)
				if e.authors[k].orcid != "" {
					o.text("orcid_id", "https://orcid.org/"+e.authors[k].orcid)
				}
			})
		})
		if j := e.container(); j != nil {
			o.within("journal", func() {
				o.text("title", j.title.plain)
				o.text("publisher", j.publisher.plain)
				o.text("volume", e.volume)
				o.text("number", e.issue)
				o.strings("language", some(strings.ToUpper(twoLetters[e.language])))
			})
		}
		ids := [][2]string{}
		for _, doi := range doajDOI(e) {
			ids = append(ids, [2]string{"doi", doi})
		}
		if j := e.container(); j != nil {
			ids = append(ids, [2]string{"pissn", j.issnPrint}, [2]string{"eissn", j.issnOnline})
		}
		o.objects("identifier", len(ids), func(k int) {
			o.within("", func() {
				o.text("type", ids[k][0])
				o.text("id", ids[k][1])
			})
		})
		o.strings("keywords", e.keywords)
		o.objects("subject", 1, func(int) { o.within("", func() { o.text("term", fieldsOfStudy[e.i%16]) }) })
	})
	return append(o.b, '}')
}
