package sim

import (
	"net/http"
	"strconv"
	"time"
)

// coreHabits: Elasticsearch, by offset up to 10,000. Numbers and dates are compared by
// signs, texts are found in quotes only, and a field that does not exist narrows
// nothing.
func coreHabits() habits {
	h := habits{
		requests: 10, window: time.Minute, grain: 1_000_000, totals: true, analysis: analysis{accents: true, slop: 1},
		class: func(path string) string { return only(path, "/search/works/") },
		write: writeCORE, ask: askCORE,
		broken: func() *reply { return coreError(http.StatusOK, "1 of 48 shards failed") },
		page: func(_ *request, s slip) *reply {
			return s.around("{"+told("totalHits", s.total)+`"limit":`+strconv.Itoa(s.size)+`,"offset":`+strconv.Itoa(s.at)+`,"results":[`, "]}")
		},
		// Works of one day stand in no order that their numbers tell.
		order: func(i uint32, r *record) uint64 { return uint64(r.created/86_400)<<32 | uint64(i*2654435761) },
		unknown: func(*library, string, termValue) (clause, error) {
			return clause{test: func(uint32, *record) bool { return true }}, nil
		},
		columns: map[string]column{
			"": {texts: everyText}, "title": {texts: func(e *entry) []string { return []string{e.plainTitle()} }},
			"abstract":      {texts: func(e *entry) []string { return some(e.plainAbstract()) }},
			"authors.name":  {texts: func(e *entry) []string { return e.names(true) }},
			"doi":           {whole: func(e *entry) []string { return some(coreDOI(e)) }},
			"yearPublished": {number: func(e *entry) int { return e.date.year }},
			"updatedDate":   {instant: instantOf},
			"createdDate":   {instant: func(e *entry) int64 { return int64(e.record.created) * 1_000_000 }},
		},
	}
	h.id, h.index = numberedID("", 5_000_000)
	return h
}

// coreDOI is a work's DOI, which one in three does not have.
func coreDOI(e *entry) string {
	if e.i%3 == 0 {
		return ""
	}
	return ownDOI("10.99895", e.i)
}

func coreError(status int, message string) *reply {
	return &reply{status: status, kind: jsonType, head: []byte(`{"message":` + quoted(message) + "}")}
}

func askCORE(l *library, q *request) (a asking, refused *reply) {
	quotedOnly := func(field string, v termValue) (clause, error) {
		if l.columns[field].texts != nil && !v.quoted {
			return clause{test: func(uint32, *record) bool { return false }}, nil
		}
		return l.leaf(field, v)
	}
	test, err := lucene{leaf: quotedOnly, letters: luceneLetters, compare: true}.compile(q.get("q"))
	if err != nil {
		return a, coreError(http.StatusBadRequest, "Query parsing error: "+err.Error())
	}
	a.match = test
	a.size = 10
	if n, err := strconv.Atoi(q.get("limit")); err == nil {
		a.size = min(n, 100)
	}
	if n, err := strconv.Atoi(q.get("offset")); err == nil {
		a.at = n
	}
	if a.at+a.size > 10_000 {
		return a, coreError(http.StatusInternalServerError, "Result window is too large, from + size must be less than or equal to: [10000]")
	}
	return a, nil
}

func writeCORE(b []byte, e *entry) []byte {
	o := &jsonObject{append(b, '{')}
	o.int("id", 5_000_000+int(e.i))
	o.text("title", e.plainTitle())
	o.text("abstract", e.plainAbstract())
	names := e.names(true)
	o.objects("authors", len(names), func(k int) { o.within("", func() { o.text("name", names[k]) }) })
	o.text("createdDate", string(appendInstant(nil, e.record.created, 0)))
	o.text("updatedDate", e.stamp("2006-01-02T15:04:05+00:00"))
	if e.dated.day > 0 {
		o.text("publishedDate", e.published()+"T00:00:00")
	}
	o.int("yearPublished", e.date.year)
	o.text("documentType", e.kind("review", "research"))
	o.text("doi", coreDOI(e))
	o.within("language", func() { o.text("code", twoLetters[e.language]) })
	if j := e.container(); j != nil {
		o.objects("journals", 1, func(int) {
			o.within("", func() {
				o.text("title", j.title.plain)
				o.strings("identifiers", []string{"issn:" + j.issnOnline})
			})
		})
		o.text("publisher", j.publisher.plain)
	}
	o.strings("oaiIds", []string{"oai:repository.sim.test:" + strconv.Itoa(int(e.i))})
	o.text("downloadUrl", "https://core.sim.test/download/"+strconv.Itoa(5_000_000+int(e.i))+".pdf")
	o.int("citationCount", int(e.record.number)*2)
	return append(o.b, '}')
}
