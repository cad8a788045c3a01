package citefile

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/citation"
)

// nbib writes tagged lines as PubMed does. A record begins with its PMID and ends with
// an empty line; each value is one line, so that none can be taken for a tag.
type nbib struct{}

// nbibTypes are PubMed's words for types, in the order in which they are written: of
// those that a reader knows the last counts.
var nbibTypes = map[citation.Type][]string{
	citation.Article:       {"Journal Article"},
	citation.Review:        {"Journal Article", "Review"},
	citation.ClinicalTrial: {"Journal Article", "Clinical Trial"},
	citation.Editorial:     {"Journal Article", "Editorial"},
	citation.Letter:        {"Journal Article", "Letter"},
	citation.Preprint:      {"Preprint"},
	citation.Book:          {"Book"},
	citation.Chapter:       {"Book Chapter"},
	citation.Proceedings:   {"Journal Article", "Congress"},
	citation.Dataset:       {"Dataset"},
	citation.Thesis:        {"Academic Dissertation"},
	citation.Report:        {"Technical Report"},
}

var issnPattern = regexp.MustCompile(`^\d{4}-\d{3}[\dX]$`)

func (nbib) head() string { return "" }
func (nbib) tail() string { return "" }

func (nbib) appendRecord(dst []byte, c *citation.Citation, first bool) []byte {
	put := func(tag, value string) {
		if value != "" {
			dst = fmt.Appendf(dst, "%-4s- %s\n", tag, value)
		}
	}
	mark := func(id, kind string) string {
		if id == "" {
			return ""
		}
		return id + " [" + kind + "]"
	}
	if !first {
		dst = append(dst, '\n')
	}
	put("PMID", c.PMID) // first: readers know a record by it, and want it before PMC
	for _, issn := range c.ISSN {
		if issnPattern.MatchString(issn) {
			put("IS", issn+" (Undetermined)") // readers want to be told which of a journal's it is
		}
	}
	put("ISBN", c.ISBN)
	put("VI", c.Volume)
	put("IP", c.Issue)
	put("DP", nbibDate(c.Issued))
	if c.Type == citation.Book {
		put("BTI", c.Title)
	} else {
		put("TI", c.Title)
	}
	put("PG", c.Pages.Range("-"))
	put("LID", mark(c.DOI, "doi"))
	put("AB", c.Abstract)
	for _, n := range c.Authors {
		if n.Literal != "" {
			put("CN", n.Literal)
			continue
		}
		put("FAU", n.Inverted())
		put("AU", strings.TrimSpace(citation.Line(n.Family+" "+n.Initials()+" "+n.Suffix)))
		if n.ORCID != "" {
			put("AUID", "ORCID: "+n.ORCID)
		}
	}
	put("LA", c.BookLanguage())
	if c.NCTID != "" {
		put("SI", "ClinicalTrials.gov/"+c.NCTID)
	}
	for _, kind := range nbibKinds(c) {
		put("PT", kind)
	}
	put("PB", c.Publisher)
	put("TA", c.ContainerAbbrev)
	put("JT", c.Container)
	for _, h := range nbibHeadings(c.Mesh) {
		put("MH", h)
	}
	for _, k := range c.Keywords {
		put("OT", k)
	}
	if c.Retracted && c.RetractedBy != "" {
		put("RIN", "PMID: "+c.RetractedBy)
	}
	if c.Retracts != "" {
		put("ROF", "PMID: "+c.Retracts)
	}
	put("PMC", c.PMCID)
	put("AID", mark(c.DOI, "doi")) // where Zotero looks for it
	return dst
}

func nbibKinds(c *citation.Citation) []string {
	kinds := nbibTypes[c.Type]
	switch {
	case c.Type == citation.ClinicalTrial && strings.EqualFold(c.Kind, "Randomized Controlled Trial"):
		kinds = []string{"Journal Article", "Randomized Controlled Trial"}
	case c.Type == citation.Notice && c.Retracts != "":
		kinds = []string{"Journal Article", "Retraction of Publication"}
	case len(kinds) == 0:
		kinds = []string{"Journal Article"}
	}
	if c.Retracted {
		kinds = append([]string{citation.RetractedKeyword}, kinds...)
	}
	return kinds
}

// nbibDate is 2019 Aug 29, as far as it is known, in English whatever the locale.
func nbibDate(d citation.Date) string {
	switch d.Precision() {
	case "month":
		return d.YearText() + " " + time.Month(d.Month).String()[:3]
	case "day":
		return fmt.Sprintf("%s %s %d", d.YearText(), time.Month(d.Month).String()[:3], d.Day)
	}
	return d.YearText()
}

// nbibHeadings are headings with an asterisk where they are a major topic.
func nbibHeadings(list []citation.Heading) []string {
	var out []string
	for _, h := range list {
		text := strings.Join(append([]string{h.Term}, h.Qualifiers...), "/")
		if h.Major {
			text = "*" + text
		}
		out = append(out, text)
	}
	return out
}
