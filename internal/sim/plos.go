package sim

import (
	"strconv"
	"time"
)

// plosHabits: an old Solr, by offset. Texts are stemmed; what is no field is read as
// words; both ends of a range of dates have to be there in full. The date of
// publication is all there is, so a change shows as a later one here.
func plosHabits() habits {
	h := habits{
		requests: 10, window: time.Minute, totals: true, analysis: analysis{stems: true},
		class: func(path string) string { return only(path, "/search") },
		write: writePLOS, ask: askSolr("id asc", lucenePLOS), broken: solrBroken,
		page: func(_ *request, s slip) *reply {
			return s.around(`{"response":{`+told("numFound", s.total)+`"start":`+strconv.Itoa(s.from)+`,"docs":[`, "]}}")
		},
		unknown: func(l *library, field string, v termValue) (clause, error) {
			return l.leaf("", termValue{text: field + " " + v.text})
		},
		columns: map[string]column{
			"": {texts: everyText}, "everything": {texts: everyText},
			"doc_type":         {whole: func(*entry) []string { return []string{"full"} }},
			"title":            {texts: func(e *entry) []string { return []string{e.plainTitle()} }},
			"abstract":         {texts: func(e *entry) []string { return some(e.plainAbstract()) }},
			"author":           {texts: func(e *entry) []string { return e.names(false) }},
			"journal":          {texts: func(e *entry) []string { return []string{plosJournal(e)} }},
			"subject":          {texts: func(e *entry) []string { return plosSubjects(e) }},
			"article_type":     {texts: func(e *entry) []string { return []string{plosType(e)} }},
			"id":               {cased: true, whole: func(e *entry) []string { return []string{plosID(e.i)} }},
			"publication_date": {day: func(e *entry) string { return e.stamp(time.DateOnly) }},
		},
	}
	h.id = func(b []byte, i uint32) []byte { return append(b, plosID(i)...) }
	h.index = func(id string) (uint32, bool) {
		if len(id) < 7 {
			return 0, false
		}
		n, err := strconv.Atoi(id[len(id)-7:])
		return uint32(n), err == nil && plosID(uint32(n)) == id
	}
	return h
}

func lucenePLOS(l *library) lucene { return lucene{leaf: l.leaf, letters: luceneLetters} }

func plosID(i uint32) string { return "10.1371/journal.pone." + string(appendPadded(nil, int(i), 7)) }

func plosJournal(e *entry) string { return [2]string{"PLOS ONE", "PLOS Biology"}[e.i%2] }

func plosType(e *entry) string { return e.kind("Review", "Research Article") }

func plosSubjects(e *entry) []string {
	return []string{"/Medicine and health sciences/" + fieldsOfStudy[e.i%16]}
}

func writePLOS(b []byte, e *entry) []byte {
	o := &jsonObject{append(b, '{')}
	o.text("id", plosID(e.i))
	o.text("publication_date", e.stamp(time.DateOnly)+"T00:00:00Z")
	o.text("title_display", e.plainTitle())
	o.strings("author_display", e.names(false))
	o.strings("abstract", some(e.plainAbstract()))
	o.text("journal", plosJournal(e))
	o.text("eissn", "1932-6203")
	o.text("publisher", "Public Library of Science")
	o.text("volume", e.volume)
	o.text("issue", e.issue)
	o.text("elocation_id", "e"+strconv.Itoa(int(e.i)))
	o.text("article_type", plosType(e))
	o.strings("subject", plosSubjects(e))
	return append(o.b, '}')
}
