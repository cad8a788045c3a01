package sim

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// zenodoHabits: OpenSearch. Words side by side are alternatives, texts are stemmed,
// dates that lack their day are points, values of vocabularies are told by their case,
// and a bare slash breaks the search. The next page is a link by number; 10,000 records
// of a result can be reached.
func zenodoHabits() habits {
	h := habits{
		requests: 30, window: time.Minute, grain: 1000, totals: true, cursors: true, pages: true, analysis: analysis{stems: true},
		class: func(path string) string { return only(path, "/records") },
		write: writeZenodo, ask: askZenodo, broken: func() *reply { return zenodoError(http.StatusOK, "Internal server error") },
		page: func(q *request, s slip) *reply {
			links := `"self":"https://zenodo.org/api/records"`
			if s.more() {
				v := url.Values{"page": {strconv.Itoa(s.at/s.size + 2)}, "size": {strconv.Itoa(s.size)}, "q": {q.get("q")}, "allversions": {"true"}, "sort": {q.get("sort")}}
				links += `,"next":` + quoted("http://"+q.http.Host+q.http.URL.Path+"?"+v.Encode())
			}
			rep := s.around(`{"hits":{`+told("total", s.total)+`"hits":[`, `]},"links":{`+links+"}}")
			rep.set("Retry-After", "60")
			return rep
		},
		order: func(i uint32, r *record) uint64 { return uint64(r.updated)<<32 | uint64(i) },
		columns: map[string]column{
			"": {texts: everyText}, "metadata.title": {texts: func(e *entry) []string { return []string{e.plainTitle()} }},
			"metadata.description":                                   {texts: func(e *entry) []string { return some(e.plainAbstract()) }},
			"metadata.creators.person_or_org.name":                   {texts: func(e *entry) []string { return e.names(true) }},
			"metadata.creators.person_or_org.identifiers.identifier": {cased: true, whole: func(e *entry) []string { return e.orcids() }},
			"metadata.subjects.subject":                              {texts: func(e *entry) []string { return e.keywords }},
			"metadata.rights.id":                                     {cased: true, whole: func(*entry) []string { return []string{"cc-by-4.0"} }},
			"metadata.publication_date":                              {day: func(e *entry) string { return e.published() }},
			"doi":                                                    {whole: func(e *entry) []string { return []string{zenodoDOI(e)} }},
			"updated":                                                {instant: instantOf},
			"created":                                                {instant: func(e *entry) int64 { return int64(e.record.created) * 1_000_000 }},
		},
	}
	h.id, h.index = numberedID("", 2_000_000)
	return h
}

func zenodoDOI(e *entry) string { return "10.5281/zenodo." + strconv.Itoa(2_000_000+int(e.i)) }

func zenodoError(status int, message string) *reply {
	return &reply{status: status, kind: jsonType, head: []byte(`{"status":` + strconv.Itoa(status) + `,"message":` + quoted(message) + "}")}
}

func askZenodo(l *library, q *request) (a asking, refused *reply) {
	text := q.get("q")
	quotes := strings.Split(strings.ReplaceAll(text, `\"`, ""), `"`)
	for k := 0; k < len(quotes); k += 2 {
		if strings.Contains(strings.ReplaceAll(quotes[k], `\/`, ""), "/") {
			return a, zenodoError(http.StatusInternalServerError, "Internal server error")
		}
	}
	test, err := lucene{leaf: l.leaf, letters: luceneLetters, loose: true}.compile(text)
	if err != nil {
		return a, zenodoError(http.StatusBadRequest, "The query is malformed: "+err.Error())
	}
	a.match = test
	a.size = 10
	if n, err := strconv.Atoi(q.get("size")); err == nil {
		a.size = min(n, 100)
	}
	page := 1
	if n, err := strconv.Atoi(q.get("page")); err == nil {
		page = n
	}
	a.at = (page - 1) * a.size
	if a.size < 1 || page < 1 || page*a.size > 10_000 {
		return a, zenodoError(http.StatusBadRequest, "Invalid querystring parameters.")
	}
	return a, nil
}

func writeZenodo(b []byte, e *entry) []byte {
	o := &jsonObject{append(b, '{')}
	o.int("id", 2_000_000+int(e.i))
	o.text("doi", zenodoDOI(e))
	o.text("conceptrecid", strconv.Itoa(1_900_000+int(e.i)))
	o.text("created", string(appendInstant(nil, e.record.created, 0)))
	o.text("updated", e.stamp("2006-01-02T15:04:05.000000+00:00"))
	o.int("revision", int(e.record.number))
	o.text("title", e.plainTitle())
	o.within("metadata", func() {
		o.text("title", e.plainTitle())
		o.text("description", e.plainAbstract())
		o.text("publication_date", e.published())
		names := e.names(true)
		o.objects("creators", len(names), func(k int) {
			o.within("", func() {
				o.text("name", names[k])
				o.text("orcid", e.authors[k].orcid)
				o.text("affiliation", e.authors[k].affiliation)
			})
		})
		o.strings("keywords", e.keywords)
		o.within("resource_type", func() {
			o.text("type", "publication")
			o.text("subtype", e.kind("article", "preprint"))
		})
		if j := e.container(); j != nil {
			o.within("journal", func() { o.text("title", j.title.plain) })
		}
		o.text("language", e.language)
		o.within("license", func() { o.text("id", "cc-by-4.0") })
	})
	return append(o.b, '}')
}
