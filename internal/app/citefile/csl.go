package citefile

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/papertrace/patra/internal/domain/citation"
)

// csl writes one JSON array, one item a line, with members that the schema of CSL
// knows and no others.
type csl struct{ tool Tool }

var cslTypes = map[citation.Type]string{
	citation.Preprint: "article", citation.Book: "book", citation.Chapter: "chapter", citation.Proceedings: "paper-conference", citation.Dataset: "dataset",
	citation.Thesis: "thesis", citation.Report: "report",
	// Zotero refuses a whole file for a type that it does not know, software too.
	citation.Software: "document", citation.Registration: "document", citation.Other: "document",
}

type cslItem struct {
	ID             string    `json:"id"`
	Type           string    `json:"type"`
	Title          string    `json:"title,omitempty"`
	Author         []cslName `json:"author,omitempty"`
	Issued         *cslDate  `json:"issued,omitempty"`
	Container      string    `json:"container-title,omitempty"`
	ContainerShort string    `json:"container-title-short,omitempty"`
	JournalAbbrev  string    `json:"journalAbbreviation,omitempty"` // the only one Zotero reads
	Volume         string    `json:"volume,omitempty"`
	Issue          string    `json:"issue,omitempty"`
	Page           string    `json:"page,omitempty"`
	Publisher      string    `json:"publisher,omitempty"`
	Genre          string    `json:"genre,omitempty"`
	DOI            string    `json:"DOI,omitempty"`
	PMID           string    `json:"PMID,omitempty"`
	PMCID          string    `json:"PMCID,omitempty"`
	ISSN           string    `json:"ISSN,omitempty"`
	ISBN           string    `json:"ISBN,omitempty"`
	URL            string    `json:"URL,omitempty"`
	Language       string    `json:"language,omitempty"`
	Keyword        string    `json:"keyword,omitempty"`
	Abstract       string    `json:"abstract,omitempty"`
	Note           string    `json:"note,omitempty"`
	Source         string    `json:"source,omitempty"`
	ArchiveLoc     string    `json:"archive_location,omitempty"`
}

type cslName struct {
	Family  string `json:"family,omitempty"`
	Given   string `json:"given,omitempty"`
	Suffix  string `json:"suffix,omitempty"`
	Literal string `json:"literal,omitempty"`
}

type cslDate struct {
	Parts [][]int `json:"date-parts"`
}

func (x *csl) head() string { return "[" }
func (x *csl) tail() string { return "\n]\n" }

func (x *csl) appendRecord(dst []byte, c *citation.Citation, first bool) []byte {
	kind, ok := cslTypes[c.Type]
	if !ok {
		kind = "article-journal"
	}
	item := cslItem{
		ID: key(c), Type: kind, Title: c.Title, Author: x.names(c.Authors), Issued: cslDateOf(c.Issued),
		Container: c.Container, ContainerShort: c.ContainerAbbrev, JournalAbbrev: c.ContainerAbbrev,
		Volume: c.Volume, Issue: c.Issue, Page: c.Pages.Range("-"), Publisher: c.Publisher,
		DOI: c.DOI, PMID: c.PMID, PMCID: c.PMCID, ISBN: c.ISBN, URL: c.URL, Language: c.Language,
		Keyword: bibtexKeywords(c.Subjects()), Abstract: c.Abstract, Source: c.Database, ArchiveLoc: c.Accession(),
	}
	if len(c.ISSN) > 0 {
		item.ISSN = c.ISSN[0]
	}
	if c.Type == citation.Thesis || c.Type == citation.Report {
		item.Genre = c.Kind
	}
	if c.ArXiv != "" {
		item.Note = "arXiv: " + c.ArXiv
	}
	if !first {
		dst = append(dst, ',')
	}
	dst = append(dst, '\n')
	b := bytes.NewBuffer(dst)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(item); err != nil {
		panic(err) // texts and numbers have a JSON
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// names are names in parts. Zotero reads no suffix: for it that goes to the given
// names.
func (x *csl) names(list []citation.Name) []cslName {
	var out []cslName
	for _, n := range list {
		name := cslName{Family: n.Family, Given: n.Given, Suffix: n.Suffix, Literal: n.Literal}
		if x.tool == Zotero && n.Suffix != "" {
			name.Given = strings.TrimPrefix(n.Given+", "+n.Suffix, ", ")
			name.Suffix = ""
		}
		out = append(out, name)
	}
	return out
}

func cslDateOf(d citation.Date) *cslDate {
	switch d.Precision() {
	case "year":
		return &cslDate{[][]int{{d.Year}}}
	case "month":
		return &cslDate{[][]int{{d.Year, d.Month}}}
	case "day":
		return &cslDate{[][]int{{d.Year, d.Month, d.Day}}}
	}
	return nil
}
