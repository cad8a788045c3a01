// Package citation makes one typed value of what a source says about a publication,
// for everything that writes references: names in parts, a date with its precision,
// one closed list of types, plain text without markup, identifiers in one form.
//
// A value holds no line break, no tab and no control character in any of its texts,
// and never two blanks in a row; so no text can end a line of a tagged format, and
// none holds a tag of RIS, which has two blanks in it. What is not known is empty,
// and nothing is made up: no month for a year, no first page for a range.
package citation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Record is a record as it is stored.
type Record struct {
	Source, Type, ID string
	// Retracted: the source says so.
	Retracted bool
	UpdatedAt time.Time
	FetchedAt time.Time
	// Fields is the standard record.
	Fields []byte
}

// Citation is what is said of one publication.
type Citation struct {
	// Source, RecordType and RecordID name the record it was made of.
	Source, RecordType, RecordID string
	// Database is the name of the source as people know it.
	Database string
	Type     Type
	// Kind is what the source calls it.
	Kind     string
	Title    string
	Abstract string
	// Sections are the parts of an abstract that has labels.
	Sections []Section
	Authors  []Name
	// Container is the journal, the book or the proceedings it is in.
	Container, ContainerAbbrev string
	ISSN                       []string
	ISBN                       string
	Publisher                  string
	Volume, Issue              string
	Pages                      Pages
	Issued                     Date
	// Language is a code of two letters where there is one.
	Language                       string
	DOI, PMID, PMCID, ArXiv, NCTID string
	Keywords                       []string
	Mesh                           []Heading
	// URL is an address of the web, or empty.
	URL string
	// Retracted: it was taken back. RetractedBy names the notice, Retracts is what a
	// notice takes back; a notice is not retracted itself.
	Retracted             bool
	RetractedBy, Retracts string
	UpdatedAt, FetchedAt  time.Time
}

// Section is a part of an abstract.
type Section struct{ Label, Text string }

// Heading is a heading of a thesaurus, with qualifiers.
type Heading struct {
	Term       string
	Major      bool
	Qualifiers []string
}

// fields is the standard record as JSON.
type fields struct {
	Title         string            `json:"title"`
	Subtitle      string            `json:"subtitle"`
	Abstract      string            `json:"abstract"`
	Authors       []author          `json:"authors"`
	Journal       string            `json:"journal"`
	JournalAbbrev string            `json:"journal_abbrev"`
	ISSN          []string          `json:"issn"`
	Publisher     string            `json:"publisher"`
	Volume        string            `json:"volume"`
	Issue         string            `json:"issue"`
	Pages         string            `json:"pages"`
	Published     string            `json:"published"`
	Type          string            `json:"type"`
	Language      string            `json:"language"`
	DOI           string            `json:"doi"`
	PMID          string            `json:"pmid"`
	PMCID         string            `json:"pmcid"`
	OtherIDs      map[string]string `json:"other_ids"`
	Keywords      []string          `json:"keywords"`
	Mesh          []mesh            `json:"mesh"`
	URL           string            `json:"url"`
	Retracts      string            `json:"retracts"`
	RetractedBy   string            `json:"retracted_by"`
}

type author struct {
	Family string `json:"family"`
	Given  string `json:"given"`
	Name   string `json:"name"`
	ORCID  string `json:"orcid"`
}

type mesh struct {
	Term       string   `json:"term"`
	Major      bool     `json:"major"`
	Qualifiers []string `json:"qualifiers"`
}

// New makes a citation of a record.
func New(r Record) (*Citation, error) {
	var f fields
	if len(r.Fields) > 0 {
		if err := json.Unmarshal(r.Fields, &f); err != nil {
			return nil, fmt.Errorf("record %s %s: its fields are no standard record: %w", r.Source, r.ID, err)
		}
	}
	c := &Citation{
		Source: r.Source, RecordType: r.Type, RecordID: Line(r.ID), Database: r.Source,
		Kind:            Plain(f.Type),
		Title:           joinTitle(Plain(f.Title), Plain(f.Subtitle)),
		Authors:         namesOf(f.Authors),
		Container:       Plain(f.Journal),
		ContainerAbbrev: Plain(f.JournalAbbrev),
		ISSN:            distinct(f.ISSN),
		ISBN:            Line(f.OtherIDs["isbn"]),
		Publisher:       Plain(f.Publisher),
		Volume:          Plain(f.Volume),
		Issue:           Plain(f.Issue),
		Pages:           pagesOf(Plain(f.Pages)),
		Issued:          dateOf(f.Published),
		Language:        languageOf(f.Language),
		DOI:             doiOf(f.DOI),
		PMID:            digitsOf(f.PMID),
		PMCID:           pmcidOf(f.PMCID, f.OtherIDs["pmc"]),
		ArXiv:           arxivOf(f.OtherIDs["arxiv"]),
		NCTID:           nctOf(f.OtherIDs["nct"]),
		Keywords:        distinct(f.Keywords),
		Mesh:            headingsOf(f.Mesh),
		URL:             webAddress(f.URL),
		RetractedBy:     Line(f.RetractedBy),
		Retracts:        Line(f.Retracts),
		UpdatedAt:       r.UpdatedAt,
		FetchedAt:       r.FetchedAt,
	}
	c.Abstract, c.Sections = abstractOf(f.Abstract)
	c.Type = typeOf(f.Type, c)
	c.Retracted = r.Retracted && c.Retracts == ""
	return c, nil
}

// joinTitle puts a subtitle behind a title that does not have it already.
func joinTitle(title, sub string) string {
	switch {
	case title == "":
		return sub
	case sub == "" || strings.Contains(strings.ToLower(title), strings.ToLower(sub)):
		return title
	case strings.HasSuffix(title, ":") || strings.HasSuffix(title, "?") || strings.HasSuffix(title, "!"):
		return title + " " + sub
	}
	return title + ": " + sub
}

// distinct are the texts that are not empty, each once whatever its case, in their
// order.
func distinct(texts []string) []string {
	var out []string
	for _, t := range texts {
		t = Plain(t)
		same := func(have string) bool { return strings.EqualFold(have, t) }
		if t != "" && !slices.ContainsFunc(out, same) {
			out = append(out, t)
		}
	}
	return out
}

func headingsOf(list []mesh) []Heading {
	var out []Heading
	for _, m := range list {
		if term := Plain(m.Term); term != "" {
			out = append(out, Heading{Term: term, Major: m.Major, Qualifiers: distinct(m.Qualifiers)})
		}
	}
	return out
}

// RetractedKeyword is what people find a retracted publication by: no format has a
// field for it that reference managers read, and a word in the title would keep it
// from being found as a double.
const RetractedKeyword = "Retracted Publication"

// Subjects are keywords and headings, each qualifier with its heading, and the mark
// of a retracted publication, each once.
func (c *Citation) Subjects() []string {
	all := slices.Clone(c.Keywords)
	for _, m := range c.Mesh {
		if len(m.Qualifiers) == 0 {
			all = append(all, m.Term)
		}
		for _, q := range m.Qualifiers {
			all = append(all, m.Term+"/"+q)
		}
	}
	if c.Retracted {
		all = append(all, RetractedKeyword)
	}
	return distinct(all)
}

// Accession is what its database knows it by: the PMID where it has one, the number
// of a register for what is registered there, else the id of the record if that is
// not its DOI.
func (c *Citation) Accession() string {
	switch {
	case c.PMID != "":
		return c.PMID
	case c.NCTID != "" && c.Type == Registration:
		return c.NCTID
	case strings.EqualFold(c.RecordID, c.DOI):
		return ""
	}
	return c.RecordID
}
