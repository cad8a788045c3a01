package sim

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// halHabits: Solr. Texts are neither stemmed nor told apart by accents, whole values
// (_s) are compared letter by letter, and a title may have two languages. A cursor that
// comes back is the end.
func halHabits() habits {
	h := habits{
		requests: 5, window: time.Second, grain: 1000, totals: true, cursors: true, always: true,
		class: func(path string) string { return only(path, "/search/") },
		write: writeHAL, ask: askSolr("docid asc", luceneHAL), broken: solrBroken,
		page: func(_ *request, s slip) *reply {
			mark := cursorMark(s.next)
			if s.walking() && s.to == s.from {
				mark = s.mark
			}
			tail := "]}"
			if !s.lost && !s.counts {
				tail += `,"nextCursorMark":` + quoted(mark)
			}
			return s.around(`{"response":{`+told("numFound", s.total)+`"start":0,"docs":[`, tail+"}")
		},
		columns: map[string]column{
			"": {texts: everyText}, "text": {texts: everyText},
			"title_t": {texts: halTitles}, "subTitle_t": {texts: noText}, "abstract_t": {texts: func(e *entry) []string { return some(e.plainAbstract()) }},
			"authFullName_t": {texts: func(e *entry) []string { return e.names(false) }},
			"journalTitle_t": {texts: func(e *entry) []string { return some(e.journalTitle()) }},
			"bookTitle_t":    {texts: noText}, "conferenceTitle_t": {texts: noText},
			"keyword_t":          {texts: func(e *entry) []string { return e.keywords }},
			"doiId_s":            {cased: true, whole: func(e *entry) []string { return some(halDOI(e)) }},
			"pubmedId_s":         {cased: true, whole: func(e *entry) []string { return some(halPMID(e)) }},
			"journalIssn_s":      {cased: true, whole: issnOf(true, false)},
			"journalEissn_s":     {cased: true, whole: issnOf(false, true)},
			"language_s":         {cased: true, whole: func(e *entry) []string { return some(twoLetters[e.language]) }},
			"docType_s":          {cased: true, whole: func(e *entry) []string { return []string{halType(e)} }},
			"producedDateY_i":    {number: func(e *entry) int { return e.date.year }},
			"modifiedDate_tdate": {instant: instantOf},
		},
	}
	h.id, h.index = numberedID("hal-", 10_000_000)
	return h
}

// halKeysetHabits: the same index, sorted by modification and then by name, and asked by
// ranges of both alone. The total is that of what such a range leaves. Changes are made
// by jobs, every two hours, so that many documents are of one instant.
func halKeysetHabits() habits {
	h := halHabits()
	h.steps = 2 * time.Hour
	h.grain = h.steps.Microseconds()
	h.write = func(b []byte, e *entry) []byte {
		return writeHALAt(b, e, time.UnixMicro(e.moment()/h.grain*h.grain).UTC())
	}
	h.cursors = false
	h.always = false
	h.ask = askSolr("modifiedDate_tdate asc,halId_s asc", luceneHAL)
	h.order = func(i uint32, r *record) uint64 { return uint64(moment(&r.version)/h.grain)<<24 | uint64(i) }
	h.page = func(_ *request, s slip) *reply {
		return s.around(`{"response":{`+told("numFound", s.total)+`"start":`+strconv.Itoa(s.from)+`,"docs":[`, "]}}")
	}
	h.columns["halId_s"] = column{cased: true, sorted: true, whole: func(e *entry) []string { return []string{string(h.id(nil, e.i))} }}
	return h
}

// luceneHAL: a star inside of quotation marks finds nothing.
func luceneHAL(l *library) lucene {
	return lucene{letters: luceneLetters, leaf: func(field string, v termValue) (clause, error) {
		if v.quoted && strings.Contains(v.text, "*") {
			return clause{test: func(uint32, *record) bool { return false }}, nil
		}
		return l.leaf(field, v)
	}}
}

// only names a class of requests after the one path there is.
func only(path, known string) string {
	if path == known {
		return known
	}
	return ""
}

func noText(*entry) []string { return nil }

// told is a total as a member of an object, nothing if it is left out.
func told(name string, total int) string {
	if total < 0 {
		return ""
	}
	return quoted(name) + ":" + strconv.Itoa(total) + ","
}

// everyText is what a search without a field looks through.
func everyText(e *entry) []string {
	out := append([]string{e.plainTitle(), e.plainAbstract(), e.journalTitle(), "body text of the paper"}, e.keywords...)
	return append(append(out, e.names(false)...), e.affiliations()...)
}

func issnOf(print, online bool) func(e *entry) []string {
	return func(e *entry) (out []string) {
		j := e.container()
		if j == nil {
			return nil
		}
		if print {
			out = append(out, j.issnPrint)
		}
		if online {
			out = append(out, j.issnOnline)
		}
		return out
	}
}

// askSolr reads a request for Solr: q and fq in its language, rows, start or cursorMark.
func askSolr(order string, language func(*library) lucene) func(l *library, q *request) (asking, *reply) {
	return func(l *library, q *request) (a asking, refused *reply) {
		a.size = 10
		var err error
		if rows := q.get("rows"); rows != "" {
			a.size, err = strconv.Atoi(rows)
		}
		if start := q.get("start"); start != "" && err == nil {
			a.at, err = strconv.Atoi(start)
		}
		var tests []paperTest
		for _, text := range append([]string{q.get("q")}, q.form["fq"]...) {
			if err != nil || text == "" {
				break
			}
			var test paperTest
			test, err = language(l).compile(text)
			tests = append(tests, test)
		}
		if err != nil {
			return a, solrRefusal(err.Error())
		}
		a.match = both(tests...)
		a.counts = a.size == 0
		mark := q.get("cursorMark")
		if !a.counts && q.get("sort") != order {
			return a, solrRefusal("Cursor functionality requires a sort containing a uniqueKey field tie breaker")
		}
		if mark != "" && mark != "*" {
			after, ok := parseCursorMark(mark)
			if !ok {
				return a, solrRefusal("Unable to parse 'cursorMark' after totem: " + mark)
			}
			a.mark, a.after = mark, after
		}
		return a, nil
	}
}

// solrRefusal is a 400 with a list of nothing beside the error.
func solrRefusal(message string) *reply {
	return &reply{status: http.StatusBadRequest, kind: jsonType, head: []byte(`{"response":{"numFound":0,"start":0,"docs":[]},"error":{"msg":` + quoted(message) + `,"code":400}}`)}
}

func solrBroken() *reply {
	return &reply{status: http.StatusOK, kind: jsonType, head: []byte(`{"error":{"msg":"no servers hosting shard","code":503}}`)}
}

// halTitles are a title and, of one in five, the same in another language, which
// records show behind it.
func halTitles(e *entry) []string {
	if e.i%5 == 0 {
		return []string{e.plainTitle(), "Titre parallèle " + strconv.Itoa(int(e.i))}
	}
	return []string{e.plainTitle()}
}

func halDOI(e *entry) string {
	if e.i%3 == 0 {
		return ""
	}
	return ownDOI("10.99891", e.i)
}

func halPMID(e *entry) string {
	if e.i%4 != 0 {
		return ""
	}
	return strconv.Itoa(20_000_000 + int(e.i))
}

func halType(e *entry) string {
	if e.container() == nil {
		return "COUV"
	}
	return [3]string{"ART", "COMM", "THESE"}[e.i%3]
}

func writeHAL(b []byte, e *entry) []byte {
	return writeHALAt(b, e, time.UnixMicro(e.moment()).UTC())
}

// writeHALAt writes a document that was modified at an instant.
func writeHALAt(b []byte, e *entry, modified time.Time) []byte {
	o := &jsonObject{append(b, '{')}
	o.text("docid", strconv.Itoa(1_000_000+int(e.i)))
	o.text("halId_s", "hal-"+strconv.Itoa(10_000_000+int(e.i)))
	o.int("version_i", int(e.record.number))
	o.text("uri_s", "https://hal.sim.test/hal-"+strconv.Itoa(10_000_000+int(e.i)))
	o.text("modifiedDate_tdate", modified.Format("2006-01-02T15:04:05.000Z"))
	o.strings("title_s", halTitles(e))
	o.strings("abstract_s", some(e.plainAbstract()))
	o.strings("authFullName_s", e.names(false))
	o.text("docType_s", halType(e))
	if j := e.container(); j != nil {
		o.text("journalTitle_s", j.title.plain)
		o.text("journalIssn_s", j.issnPrint)
		o.text("journalEissn_s", j.issnOnline)
		o.text("journalPublisher_s", j.publisher.plain)
	}
	o.text("volume_s", e.volume)
	o.strings("issue_s", some(e.issue))
	o.text("page_s", e.pages)
	o.text("producedDate_s", e.published())
	o.strings("language_s", some(twoLetters[e.language]))
	o.text("doiId_s", halDOI(e))
	o.text("pubmedId_s", halPMID(e))
	o.strings("keyword_s", e.keywords)
	return append(o.b, '}')
}
