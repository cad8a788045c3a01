package sim

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// arxivSearchHabits: arXiv's query API, an own language over Elasticsearch, by offset up
// to 10,000. Titles and abstracts are stemmed and accents count in them, names are
// compared without. The date of the first version is all there is to go by, so a change
// shows as a later one here.
func arxivSearchHabits() habits {
	h := habits{
		requests: 1, window: 3 * time.Second, totals: true, analysis: analysis{stems: true, accents: true},
		class: func(path string) string { return only(path, "/api/query") },
		write: writeAtom, ask: askArXiv,
		broken: func() *reply { return arxivError(http.StatusOK, "internal_error") },
		page:   arxivFeed,
		order:  func(i uint32, r *record) uint64 { return uint64(r.updated)<<32 | uint64(i) },
		// What is no field is looked for anywhere, its name too.
		unknown: func(l *library, field string, v termValue) (clause, error) {
			return l.leaf("all", termValue{text: field + " " + v.text})
		},
		columns: map[string]column{
			"all": {texts: everyText},
			"ti":  {texts: func(e *entry) []string { return []string{e.plainTitle()} }},
			"abs": {texts: func(e *entry) []string { return some(e.plainAbstract()) }},
			"jr":  {texts: func(e *entry) []string { return some(arxivJournal(e)) }},
		},
	}
	h.id = func(b []byte, i uint32) []byte { return append(b, arxivNumber(i)...) }
	h.index = func(id string) (uint32, bool) {
		n, err := strconv.Atoi(strings.TrimPrefix(id, "2601."))
		return uint32(n), err == nil && n >= 0 && arxivNumber(uint32(n)) == id
	}
	return h
}

// askArXiv reads a search, or a list of numbers.
func askArXiv(l *library, q *request) (a asking, refused *reply) {
	a.size = 10
	var err error
	if size := q.get("max_results"); size != "" {
		a.size, err = strconv.Atoi(size)
	}
	if start := q.get("start"); start != "" && err == nil {
		a.at, err = strconv.Atoi(start)
	}
	switch {
	case err != nil || a.at < 0 || a.size > 2000:
		return a, arxivError(http.StatusBadRequest, "start_and_max_results_must_be_numbers")
	case a.size <= 0 || a.at+a.size > 10_000:
		return a, gatewayPage(http.StatusInternalServerError, "Internal Server Error")
	}
	if list := q.get("id_list"); list != "" {
		numbers := strings.Split(list, ",")
		a.match = func(i uint32, _ *record) bool { return slices.Contains(numbers, arxivNumber(i)) }
		return a, nil
	}
	// Without a field everything is looked through.
	leaf := func(field string, v termValue) (clause, error) {
		switch field {
		case "submittedDate":
			return l.submitted(v)
		case "au":
			return l.written(v), nil
		case "":
			field = "all"
		}
		return l.leaf(field, v)
	}
	test, err := lucene{leaf: leaf, letters: luceneLetters, rightward: true}.compile(q.get("search_query"))
	if err != nil {
		return a, arxivError(http.StatusBadRequest, "incorrect_query_format")
	}
	a.match = test
	return a, nil
}

// submitted tests a range of minutes, of which both ends have to be there in full.
func (l *library) submitted(v termValue) (clause, error) {
	const minutes = "200601021504"
	from, err := time.Parse(minutes, v.from)
	if err != nil {
		return clause{}, fmt.Errorf("read the beginning of a range: %w", err)
	}
	to, err := time.Parse(minutes, v.to)
	if err != nil {
		return clause{}, fmt.Errorf("read the end of a range: %w", err)
	}
	return l.test(func(e *entry) bool {
		at := time.UnixMicro(e.moment())
		return !at.Before(from) && at.Before(to.Add(time.Minute))
	}), nil
}

// written tests names: all the words in one of them, in any order.
func (l *library) written(v termValue) clause {
	words := wordsOf(v.text)
	return l.test(func(e *entry) bool {
		return slices.ContainsFunc(e.names(false), func(name string) bool {
			have := wordsOf(name)
			return !slices.ContainsFunc(words, func(word string) bool { return !slices.Contains(have, word) })
		})
	})
}

const atomFrame = `<feed xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/" xmlns:arxiv="http://arxiv.org/schemas/atom" xmlns="http://www.w3.org/2005/Atom">`

func arxivFeed(q *request, s slip) *reply {
	head := atomFrame + "<title>arXiv Query: search_query=" + escaped(q.get("search_query")) + "</title>" +
		"<opensearch:itemsPerPage>" + strconv.Itoa(s.size) + "</opensearch:itemsPerPage>"
	if s.total >= 0 {
		head += "<opensearch:totalResults>" + strconv.Itoa(s.total) + "</opensearch:totalResults>"
	}
	rep := s.around(head+"<opensearch:startIndex>"+strconv.Itoa(s.at)+"</opensearch:startIndex>", "</feed>")
	rep.kind = xmlType
	rep.between = ""
	return rep
}

// arxivError is a feed whose only entry is the error.
func arxivError(status int, code string) *reply {
	return &reply{status: status, kind: xmlType, head: []byte(atomFrame + "<opensearch:totalResults>1</opensearch:totalResults><entry>" +
		"<id>https://arxiv.org/api/errors#" + code + "</id><title>Error</title></entry></feed>")}
}

// arxivJournal is where a third of the papers appeared.
func arxivJournal(e *entry) string {
	if e.i%3 != 0 || e.journal < 0 {
		return ""
	}
	return e.journalTitle() + " " + e.volume
}

func writeAtom(b []byte, e *entry) []byte {
	x := xmlWriter{b}
	page := "arxiv.org/abs/" + arxivNumber(e.i) + "v" + strconv.Itoa(int(e.record.number))
	x.lit("<entry>")
	x.element("id", "http://"+page)
	x.element("title", wordOf(e.plainTitle()))
	x.element("updated", e.stamp(time.RFC3339))
	x.lit(`<link href="https://` + page + `" rel="alternate" type="text/html"/>`)
	x.element("summary", wordOf(e.plainAbstract()))
	x.lit(`<category term="q-bio.QM" scheme="http://arxiv.org/schemas/atom"/><category term="stat.AP" scheme="http://arxiv.org/schemas/atom"/>`)
	x.element("published", e.stamp(time.RFC3339))
	x.element("arxiv:journal_ref", wordOf(arxivJournal(e)))
	for _, name := range e.names(false) {
		x.lit("<author>")
		x.element("name", wordOf(name))
		x.lit("</author>")
	}
	if e.i%4 == 0 {
		x.element("arxiv:doi", strings.ToUpper(ownDOI("10.99898", e.i)))
	}
	x.lit("</entry>")
	return x.b
}
