package sim

import (
	"strconv"
	"strings"
	"time"
)

// element writes <name>text</name>, nothing if there is no text. What is marked up
// stays so.
func (x *xmlWriter) element(name, marked string) {
	if marked == "" {
		return
	}
	tag, _, _ := strings.Cut(name, " ")
	x.lit("<" + name + ">" + marked + "</" + tag + ">")
}

// wordOf is a name or word within XML.
func wordOf(s string) string { return escaped(s) }

// ownDOI is the DOI of a record that no other upstream has, in the registrant of
// its repository.
func ownDOI(registrant string, i uint32) string { return registrant + "/sim." + strconv.Itoa(int(i)) }

// numberedID: ids stand behind a prefix, from a first number on.
func numberedID(prefix string, first int) (func([]byte, uint32) []byte, func(string) (uint32, bool)) {
	return func(b []byte, i uint32) []byte { return appendInt(append(b, prefix...), first+int(i)) },
		func(id string) (uint32, bool) {
			text, ok := strings.CutPrefix(id, prefix)
			n, err := strconv.Atoi(text)
			if !ok || err != nil || n < first || n-first > mostOwn || strconv.Itoa(n) != text {
				return 0, false
			}
			return uint32(n - first), true
		}
}

// pmcManners: front matter of articles, ten to a list, by days.
func pmcManners() manners {
	m := manners{
		name: "PubMed Central", path: "/api/oai/v1/mh/", prefix: "pmc_fm", size: 10, days: true, life: time.Hour,
		requests: 3, window: time.Second, sized: true, write: writeJATS,
	}
	m.id, m.index = numberedID("oai:pubmedcentral.nih.gov:", firstPMC)
	return m
}

func writeJATS(b []byte, i uint32, p paper) []byte {
	x := xmlWriter{b}
	kind := "research-article"
	if len(p.types) > 1 {
		kind = "review-article"
	}
	x.lit(`<article xmlns="https://jats.nlm.nih.gov/ns/archiving/1.4/" xmlns:xlink="http://www.w3.org/1999/xlink" article-type="` + kind + `" xml:lang="` +
		map[string]string{"eng": "en", "fre": "fr"}[p.language] + `"><front>`)
	if p.journal >= 0 {
		j := &journals[p.journal]
		x.lit(`<journal-meta>`)
		x.element(`journal-id journal-id-type="nlm-ta"`, j.abbrev.xml)
		x.lit(`<journal-title-group>`)
		x.element("journal-title", j.title.xml)
		x.lit(`</journal-title-group>`)
		x.element(`issn pub-type="ppub"`, j.issnPrint)
		x.element(`issn pub-type="epub"`, j.issnOnline)
		x.lit("<publisher>")
		x.element("publisher-name", j.publisher.xml)
		x.lit("</publisher></journal-meta>")
	}
	x.lit(`<article-meta>`)
	x.element(`article-id pub-id-type="pmcid"`, "PMC"+strconv.Itoa(firstPMC+int(i)))
	if i%3 != 0 {
		x.element(`article-id pub-id-type="doi"`, ownDOI("10.99888", i))
	}
	x.lit("<title-group>")
	x.element("article-title", p.title)
	x.lit("</title-group><contrib-group>")
	for _, a := range p.authors {
		x.lit(`<contrib contrib-type="author">`)
		x.element(`contrib-id contrib-id-type="orcid"`, a.orcid)
		if a.group != "" {
			x.element("collab", wordOf(a.group))
		} else {
			x.lit("<name>")
			x.element("surname", wordOf(a.family))
			x.element("given-names", wordOf(a.given))
			x.lit("</name>")
		}
		x.element("aff", wordOf(a.affiliation))
		x.lit("</contrib>")
	}
	x.lit(`</contrib-group><pub-date pub-type="epub">`)
	x.element("day", strconv.Itoa(p.date.day))
	x.element("month", strconv.Itoa(p.date.month))
	x.element("year", strconv.Itoa(p.date.year))
	x.lit("</pub-date>")
	x.element("volume", p.volume)
	x.element("issue", p.issue)
	first, last, _ := strings.Cut(p.pages, "-")
	x.element("fpage", first)
	x.element("lpage", last)
	x.lit(`<permissions><license xlink:href="https://creativecommons.org/licenses/by/4.0/"/></permissions>`)
	if len(p.abstract) > 0 {
		x.lit("<abstract>")
		for _, part := range p.abstract {
			x.lit("<sec>")
			x.element("title", part.label)
			x.element("p", part.text)
			x.lit("</sec>")
		}
		x.lit("</abstract>")
	}
	x.lit("<kwd-group>")
	for _, k := range p.keywords {
		x.element("kwd", wordOf(k))
	}
	x.lit("</kwd-group></article-meta></front></article>")
	return x.b
}
