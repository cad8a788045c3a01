package sim

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// dataciteHabits: Elasticsearch. Accents are told apart, phrases may have a word
// between theirs, descriptions are of all kinds, and journals, languages, types and
// names' addresses are whole values. The next page is a link that has only some of the
// parameters.
func dataciteHabits() habits {
	h := habits{
		requests: 500, window: 5 * time.Minute, grain: 1000, totals: true, cursors: true, analysis: analysis{accents: true, slop: 1},
		class: func(path string) string { return only(path, "/dois") },
		write: writeDOI, ask: askDataCite, broken: func() *reply { return dataciteError(http.StatusOK, "The service is restarting") },
		page: func(q *request, s slip) *reply {
			links := `"self":"https://api.datacite.org/dois"`
			if s.more() {
				v := url.Values{"page[cursor]": {cursorMark(s.next)}, "page[size]": {strconv.Itoa(s.size)}, "query": {q.get("query")}, "disable-facets": {"true"}}
				links += `,"next":` + quoted("http://"+q.http.Host+q.http.URL.Path+"?"+v.Encode())
			}
			return s.around(`{"data":[`, `],"meta":{`+told("total", s.total)+`"page":1},"links":{`+links+"}}")
		},
		columns: map[string]column{
			"": {texts: everyText}, "titles.title": {texts: func(e *entry) []string { return []string{e.plainTitle()} }},
			"descriptions.description":                {texts: dataciteDescriptions},
			"creators.name":                           {texts: func(e *entry) []string { return e.names(true) }},
			"creators.familyName":                     {texts: func(e *entry) []string { return e.each(func(a paperAuthor) string { return a.family }) }},
			"creators.affiliation.name":               {texts: func(e *entry) []string { return e.affiliations() }},
			"subjects.subject":                        {texts: func(e *entry) []string { return e.keywords }},
			"doi":                                     {whole: func(e *entry) []string { return []string{ownDOI("10.99892", e.i)} }},
			"rightsList.rightsIdentifier":             {cased: true, whole: func(*entry) []string { return []string{"cc-by-4.0"} }},
			"creators.nameIdentifiers.nameIdentifier": {cased: true, whole: orcidAddresses},
			"publicationYear":                         {number: func(e *entry) int { return e.date.year }},
			"updated":                                 {instant: instantOf},
			"created":                                 {instant: func(e *entry) int64 { return int64(e.record.created) * 1_000_000 }},
		},
	}
	h.id = func(b []byte, i uint32) []byte { return append(b, ownDOI("10.99892", i)...) }
	h.index = doiIndex("10.99892")
	return h
}

// doiIndex finds a record by the DOI that a registrant gave it.
func doiIndex(registrant string) func(id string) (uint32, bool) {
	return func(id string) (uint32, bool) {
		n, err := strconv.Atoi(id[strings.LastIndexByte(id, '.')+1:])
		return uint32(n), err == nil && ownDOI(registrant, uint32(n)) == id
	}
}

func orcidAddresses(e *entry) []string {
	return e.each(func(a paperAuthor) string {
		if a.orcid == "" {
			return ""
		}
		return "https://orcid.org/" + a.orcid
	})
}

// dataciteDescriptions are the abstract and, of one in four, how it was made.
func dataciteDescriptions(e *entry) []string {
	out := some(e.plainAbstract())
	if e.i%4 == 0 {
		out = append(out, "Methods: insulin was measured by assay.")
	}
	return out
}

func dataciteError(status int, title string) *reply {
	return &reply{status: status, kind: jsonType, head: []byte(`{"errors":[{"status":"` + strconv.Itoa(status) + `","title":` + quoted(title) + `}]}`)}
}

func askDataCite(l *library, q *request) (a asking, refused *reply) {
	text := q.get("query")
	if strings.Contains(text, `\/`) { // which it escapes itself
		return a, dataciteError(http.StatusBadRequest, "parse_exception: Failed to parse query")
	}
	test, err := lucene{leaf: l.leaf, letters: luceneLetters}.compile(text)
	if err != nil {
		return a, dataciteError(http.StatusBadRequest, err.Error())
	}
	a.match = test
	a.size, err = strconv.Atoi(q.get("page[size]"))
	if err != nil {
		a.size = 25
	}
	a.counts = a.size == 0
	a.size = min(a.size, 1000)
	// Whatever is no cursor means the beginning.
	if after, ok := parseCursorMark(q.get("page[cursor]")); ok {
		a.mark, a.after = q.get("page[cursor]"), after
	}
	return a, nil
}

func writeDOI(b []byte, e *entry) []byte {
	o := &jsonObject{append(b, '{')}
	doi := ownDOI("10.99892", e.i)
	o.text("id", doi)
	o.text("type", "dois")
	o.within("attributes", func() {
		o.text("doi", doi)
		o.objects("titles", 1, func(int) { o.within("", func() { o.text("title", e.plainTitle()) }) })
		said := dataciteDescriptions(e)
		o.objects("descriptions", len(said), func(k int) {
			o.within("", func() {
				o.text("description", said[k])
				kind := "Abstract"
				if strings.HasPrefix(said[k], "Methods: ") {
					kind = "Methods"
				}
				o.text("descriptionType", kind)
			})
		})
		o.objects("creators", len(e.authors), func(k int) {
			a := e.authors[k]
			o.within("", func() {
				o.text("name", e.names(true)[k])
				o.text("familyName", a.family)
				o.text("givenName", a.given)
				o.strings("affiliation", some(a.affiliation))
				if a.orcid != "" {
					o.objects("nameIdentifiers", 1, func(int) {
						o.within("", func() {
							o.text("nameIdentifier", "https://orcid.org/"+a.orcid)
							o.text("nameIdentifierScheme", "ORCID")
						})
					})
				}
			})
		})
		if j := e.container(); j != nil {
			o.within("container", func() { o.text("title", j.title.plain) })
			o.objects("relatedIdentifiers", 1, func(int) {
				o.within("", func() {
					o.text("relatedIdentifier", j.issnOnline)
					o.text("relatedIdentifierType", "ISSN")
				})
			})
		}
		o.text("publisher", "Sim Repository")
		o.int("publicationYear", e.date.year)
		o.objects("dates", 1, func(int) {
			o.within("", func() {
				o.text("date", e.published())
				o.text("dateType", "Issued")
			})
		})
		o.within("types", func() { o.text("resourceTypeGeneral", [2]string{"JournalArticle", "Dataset"}[e.i%2]) })
		o.text("language", twoLetters[e.language])
		o.objects("subjects", len(e.keywords), func(k int) { o.within("", func() { o.text("subject", e.keywords[k]) }) })
		o.objects("rightsList", 1, func(int) {
			o.within("", func() {
				o.text("rightsIdentifier", "cc-by-4.0")
				o.text("rightsUri", "https://creativecommons.org/licenses/by/4.0/legalcode")
				o.text("rightsIdentifierScheme", "SPDX")
			})
		})
		o.text("url", "https://www.exampleton.test/data/"+strconv.Itoa(int(e.i)))
		o.int("metadataVersion", int(e.record.number))
		o.int("viewCount", int(e.record.number)*3)
		o.text("created", string(appendInstant(nil, e.record.created, 0)))
		o.text("updated", e.stamp("2006-01-02T15:04:05.000Z"))
	})
	return append(o.b, '}')
}
