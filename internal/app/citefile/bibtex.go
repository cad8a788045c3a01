package citefile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/papertrace/patra/internal/domain/citation"
)

// bibtex writes entries that BibTeX, BibLaTeX and what reads either understand. Signs
// of TeX in a value are written as commands, so that its braces are always balanced:
// a lone one would take the rest of the file with it.
type bibtex struct{}

var bibtexTypes = map[citation.Type]string{
	citation.Book: "book", citation.Chapter: "incollection", citation.Proceedings: "inproceedings", citation.Thesis: "phdthesis", citation.Report: "techreport",
	// Zotero throws away what it has no name for, such as @dataset.
	citation.Preprint: "misc", citation.Dataset: "misc", citation.Software: "misc", citation.Registration: "misc", citation.Other: "misc",
}

func (bibtex) head() string { return "" }
func (bibtex) tail() string { return "" }

func (bibtex) appendRecord(dst []byte, c *citation.Citation, first bool) []byte {
	raw := func(name, value string) {
		if value != "" {
			dst = append(dst, ",\n  "...)
			dst = append(dst, name...)
			dst = append(dst, " = "...)
			dst = append(dst, value...)
		}
	}
	braced := func(name, value string) {
		if value != "" {
			raw(name, "{"+value+"}")
		}
	}
	put := func(name, value string) { braced(name, escapeTeX(value)) }
	if !first {
		dst = append(dst, '\n')
	}
	kind, ok := bibtexTypes[c.Type]
	if !ok {
		kind = "article"
	}
	dst = append(dst, '@')
	dst = append(dst, kind...)
	dst = append(dst, '{')
	dst = append(dst, key(c)...)
	braced("author", bibtexNames(c.Authors))
	braced("title", bibtexTitle(c.Title))
	container, short := "journal", "shortjournal"
	if kind == "incollection" || kind == "inproceedings" {
		container, short = "booktitle", ""
	}
	put(container, c.Container)
	if short != "" && c.ContainerAbbrev != c.Container {
		put(short, c.ContainerAbbrev)
	}
	put("year", c.Issued.YearText())
	if c.Issued.Month > 0 {
		raw("month", strings.ToLower(time.Month(c.Issued.Month).String()[:3]))
	}
	put("date", c.Issued.String())
	put("volume", c.Volume)
	put("number", c.Issue)
	braced("pages", bibtexPages(c.Pages))
	switch kind {
	case "phdthesis":
		put("school", c.Publisher)
	case "techreport":
		put("institution", c.Publisher)
	default:
		put("publisher", c.Publisher)
	}
	put("issn", strings.Join(c.ISSN, ", "))
	put("isbn", c.ISBN)
	braced("doi", texRaw(c.DOI))
	put("pmid", c.PMID)
	put("pmcid", c.PMCID)
	if c.ArXiv != "" {
		braced("eprint", texRaw(c.ArXiv))
		put("eprinttype", "arxiv")
		put("archiveprefix", "arXiv")
	}
	if c.Type == citation.Registration {
		put("howpublished", c.Database)
	}
	put("language", c.Language)
	put("keywords", bibtexKeywords(c.Subjects()))
	put("abstract", c.Abstract)
	braced("url", texRaw(c.URL))
	return append(dst, "\n}\n"...)
}

// texSigns writes the signs of TeX as commands that readers turn back; two dashes
// would become one long one. Signs of less and greater and bars are left: two of three
// readers lose the commands for them.
var texSigns = strings.NewReplacer(
	`\`, `\textbackslash{}`, "{", `\{`, "}", `\}`, "#", `\#`, "$", `\$`, "%", `\%`, "&", `\&`, "_", `\_`,
	"~", `\textasciitilde{}`, "^", `\textasciicircum{}`, "--", "-{}-",
)

// escapeTeX is a text for a field. BibTeX counts braces, those behind a backslash too:
// where they are not balanced each is a word, which some readers do not know.
func escapeTeX(s string) string {
	escaped := texSigns.Replace(s)
	if areBalanced(s) {
		return escaped
	}
	escaped = strings.ReplaceAll(escaped, `\{`, `\textbraceleft{}`)
	return strings.ReplaceAll(escaped, `\}`, `\textbraceright{}`)
}

func areBalanced(s string) bool {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '{':
			depth++
		case '}':
			depth--
		}
		if depth < 0 {
			return false
		}
	}
	return depth == 0
}

// texRaw is an identifier as it is: readers take it without looking for commands.
// What could end it is written as percent signs, as addresses do.
var rawSigns = strings.NewReplacer("{", "%7B", "}", "%7D", `\`, "%5C")

func texRaw(s string) string { return rawSigns.Replace(s) }

// bibtexTitle keeps the capitals of words that have some behind their first letter:
// styles put the others into lower case.
func bibtexTitle(title string) string {
	words := strings.Split(title, " ")
	for i, w := range words {
		escaped := escapeTeX(w)
		if hasInnerCapital(w) {
			escaped = "{" + escaped + "}"
		}
		words[i] = escaped
	}
	return strings.Join(words, " ")
}

func hasInnerCapital(word string) bool {
	letters := 0
	for _, r := range word {
		if !unicode.IsLetter(r) {
			continue
		}
		letters++
		if letters > 1 && unicode.IsUpper(r) {
			return true
		}
	}
	return false
}

// bibtexNames are names joined by "and". One that has this word, or that of a group,
// is put into braces, so that it is not parted.
func bibtexNames(names []citation.Name) string {
	var out []string
	for _, n := range names {
		if n.Literal != "" {
			out = append(out, "{"+escapeTeX(n.Literal)+"}")
			continue
		}
		parts := []string{bibtexPart(n.Family)}
		if n.Suffix != "" {
			parts = append(parts, bibtexPart(n.Suffix))
		}
		if n.Given != "" {
			parts = append(parts, bibtexPart(n.Given))
		}
		out = append(out, strings.Join(parts, ", "))
	}
	return strings.Join(out, " and ")
}

var wordAnd = regexp.MustCompile(`(?i)(^|\s)(and|others)(\s|$)|,`)

func bibtexPart(s string) string {
	escaped := escapeTeX(s)
	if wordAnd.MatchString(s) {
		return "{" + escaped + "}"
	}
	return escaped
}

// bibtexPages are pages with the two dashes between them that TeX makes a long one of, and readers
// the sign of a range.
func bibtexPages(p citation.Pages) string {
	return citation.Pages{First: escapeTeX(p.First), Last: escapeTeX(p.Last)}.Range("--")
}

// bibtexKeywords are keywords between commas; those within one become dashes.
func bibtexKeywords(list []string) string {
	signs := strings.NewReplacer(",", " -", ";", " -")
	out := make([]string, len(list))
	for i, k := range list {
		out[i] = citation.Line(signs.Replace(k))
	}
	return strings.Join(out, ", ")
}

var notInKey = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// key is a name for a record that stays the same whenever it is written, and that no
// other record has: source and id, with a few digits of their hash where the id has
// signs that a key cannot have.
func key(c *citation.Citation) string {
	id := notInKey.ReplaceAllString(c.RecordID, "_")
	if id == c.RecordID && len(id) <= 40 {
		return c.Source + ":" + id
	}
	sum := sha256.Sum256([]byte(c.Source + "\x00" + c.RecordType + "\x00" + c.RecordID))
	return fmt.Sprintf("%s:%.40s-%s", c.Source, id, hex.EncodeToString(sum[:5]))
}
