package citefile

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/papertrace/patra/internal/domain/citation"
)

// endnote writes the XML that EndNote itself writes. A citation holds no character
// that XML cannot hold, so that escaping three signs is all there is to do.
type endnote struct{ records int }

// endnoteType is a name of EndNote for a type, and its number.
type endnoteType struct {
	name   string
	number int
}

var endnoteTypes = map[citation.Type]endnoteType{
	citation.Preprint: {"Unpublished Work", 34}, citation.Book: {"Book", 6}, citation.Chapter: {"Book Section", 5}, citation.Proceedings: {"Conference Proceedings", 10},
	citation.Dataset: {"Dataset", 59}, citation.Software: {"Computer Program", 9}, citation.Thesis: {"Thesis", 32}, citation.Report: {"Report", 27},
	citation.Registration: {"Online Database", 45}, citation.Other: {"Generic", 13},
}

func (x *endnote) head() string {
	return `<?xml version="1.0" encoding="UTF-8"?>` + "\n<xml><records>\n"
}
func (x *endnote) tail() string { return "</records></xml>\n" }

var xmlSigns = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func (x *endnote) appendRecord(dst []byte, c *citation.Citation, first bool) []byte {
	if first {
		x.records = 0
	}
	x.records++
	kind, ok := endnoteTypes[c.Type]
	if !ok {
		kind = endnoteType{"Journal Article", 17}
	}
	var e elements
	e.b = fmt.Appendf(dst, `<record><database name="patra">patra</database><source-app name="patra">patra</source-app><rec-number>%d</rec-number>`, x.records)
	e.b = fmt.Appendf(e.b, `<ref-type name="%s">%s</ref-type>`, kind.name, strconv.Itoa(kind.number))
	e.group("contributors", func() {
		e.group("authors", func() {
			for _, n := range c.Authors {
				e.put("author", endnoteName(n))
			}
		})
	})
	container := c.Container
	if container == "" {
		container = c.ContainerAbbrev
	}
	e.group("titles", func() {
		e.put("title", c.Title)
		e.put("secondary-title", container)
	})
	if c.Type.InJournal() {
		e.group("periodical", func() {
			e.put("full-title", container)
			e.put("abbr-1", c.ContainerAbbrev)
		})
	}
	e.put("pages", c.Pages.Range("-"))
	e.put("volume", c.Volume)
	e.put("number", c.Issue)
	e.group("keywords", func() {
		for _, k := range c.Subjects() {
			e.put("keyword", k)
		}
	})
	e.group("dates", func() {
		e.put("year", c.Issued.YearText())
		if c.Issued.Month > 0 {
			e.group("pub-dates", func() { e.put("date", strings.TrimPrefix(nbibDate(c.Issued), c.Issued.YearText()+" ")) })
		}
	})
	e.put("publisher", c.Publisher)
	e.put("isbn", serialNumber(c))
	e.put("accession-num", c.Accession())
	e.put("electronic-resource-num", c.DOI)
	e.put("custom2", c.PMCID)
	e.put("abstract", c.Abstract)
	e.group("urls", func() { e.group("related-urls", func() { e.put("url", c.URL) }) })
	e.put("remote-database-name", c.Database)
	e.put("language", c.Language)
	return append(e.b, "</record>\n"...)
}

// endnoteName is a name with the family name first; that of a group ends in a comma,
// so that it is not parted.
func endnoteName(n citation.Name) string {
	if n.Literal != "" {
		return n.Inverted() + ","
	}
	return n.Inverted()
}

// elements are written one in the other; those without content are left out.
type elements struct{ b []byte }

func (e *elements) put(name, value string) {
	if value != "" {
		e.b = fmt.Appendf(e.b, "<%s>%s</%s>", name, xmlSigns.Replace(value), name)
	}
}

func (e *elements) group(name string, inner func()) {
	before := len(e.b)
	e.b = fmt.Appendf(e.b, "<%s>", name)
	begun := len(e.b)
	inner()
	if len(e.b) == begun {
		e.b = e.b[:before]
		return
	}
	e.b = fmt.Appendf(e.b, "</%s>", name)
}
