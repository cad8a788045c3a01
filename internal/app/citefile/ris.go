package citefile

import (
	"strings"

	"github.com/papertrace/patra/internal/domain/citation"
)

// ris writes tagged lines: one line a value, never wrapped, an empty line between
// records. Tags that hold one value stand once; what is empty is left out.
type ris struct{ tool Tool }

// risTypes are the words of RIS for types.
var risTypes = map[citation.Type]string{
	citation.Preprint: "UNPB", citation.Book: "BOOK", citation.Chapter: "CHAP", citation.Proceedings: "CONF", citation.Dataset: "DATA",
	citation.Software: "COMP", citation.Thesis: "THES", citation.Report: "RPRT", citation.Registration: "DBASE", citation.Other: "GEN",
}

func (r *ris) head() string { return "" }
func (r *ris) tail() string { return "" }

func (r *ris) appendRecord(dst []byte, c *citation.Citation, first bool) []byte {
	put := func(tag, value string) {
		if value != "" {
			dst = append(dst, tag...)
			dst = append(dst, "  - "...)
			dst = append(dst, value...)
			dst = append(dst, "\r\n"...)
		}
	}
	if !first {
		dst = append(dst, "\r\n"...)
	}
	kind, ok := risTypes[c.Type]
	if !ok {
		kind = "JOUR"
	}
	put("TY", kind)
	put("TI", c.Title)
	for _, n := range c.Authors {
		put("AU", r.author(n))
	}
	put("PY", c.Issued.YearText())
	if c.Issued.Month > 0 {
		put("DA", risDate(c.Issued))
	}
	container := c.Container
	if container == "" {
		container = c.ContainerAbbrev
	}
	put("T2", noStar(container))
	put("J2", noStar(c.ContainerAbbrev))
	if c.Type == citation.Thesis || c.Type == citation.Report {
		put("M3", c.Kind)
	}
	// JabRef takes AN for the number of the issue, and the last one holds.
	put("AN", c.Accession())
	put("DB", c.Database)
	put("VL", c.Volume)
	put("IS", c.Issue)
	put("SP", c.Pages.First)
	put("EP", c.Pages.Last)
	put("SN", serialNumber(c))
	put("PB", c.Publisher)
	put("DO", c.DOI)
	if r.tool == AnyTool || r.tool == ForEN {
		put("C2", c.PMCID)
	}
	put("LA", c.Language)
	put("AB", c.Abstract)
	for _, k := range risKeywords(c.Subjects()) {
		put("KW", k)
	}
	put("UR", c.URL)
	if r.tool == Zotero && c.PMID != "" {
		put("M2", "PMID: "+c.PMID) // where Zotero looks for it when it asks for retractions
	}
	return append(dst, "ER  - \r\n"...)
}

// author is a name with the family name first. Of a group EndNote wants a comma at
// the end, which others would show.
func (r *ris) author(n citation.Name) string {
	name := noStar(n.Inverted())
	if n.Literal != "" && r.tool == ForEN {
		name += ","
	}
	return name
}

// risDate is YYYY/MM/DD, where a day that is not known is left empty.
func risDate(d citation.Date) string {
	if d.Day == 0 {
		return d.Join("/") + "/"
	}
	return d.Join("/")
}

// serialNumber is the ISBN of a book, else the first ISSN.
func serialNumber(c *citation.Citation) string {
	switch {
	case c.ISBN != "" && (c.Type == citation.Book || c.Type == citation.Chapter || len(c.ISSN) == 0):
		return c.ISBN
	case len(c.ISSN) > 0:
		return c.ISSN[0]
	}
	return ""
}

// noStar leaves out the asterisk, which authors, keywords and journals may not have.
func noStar(s string) string { return citation.Line(strings.ReplaceAll(s, "*", "")) }

var keywordSigns = strings.NewReplacer(";", ",", "--", "-", "*", "")

// risKeywords are keywords without the signs at which readers part them. One keyword
// alone is parted at commas too.
func risKeywords(list []string) []string {
	var out []string
	for _, k := range list {
		if k = citation.Line(keywordSigns.Replace(k)); k != "" {
			out = append(out, k)
		}
	}
	if len(out) == 1 {
		out[0] = citation.Line(strings.ReplaceAll(out[0], ",", " -"))
	}
	return out
}
