package citefile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/papertrace/patra/internal/domain/citation"
)

// Format is a kind of file.
type Format string

// Formats.
const (
	RIS     Format = "ris"
	NBIB    Format = "nbib"
	BibTeX  Format = "bibtex"
	CSL     Format = "csl-json"
	EndNote Format = "endnote"
	CSV     Format = "csv"
	Parquet Format = "parquet"
)

// Formats are all of them.
var Formats = []Format{CSV, Parquet, RIS, BibTeX, NBIB, CSL, EndNote}

// Extension is how names of such files end.
func (f Format) Extension() string {
	switch f {
	case BibTeX:
		return ".bib"
	case CSL:
		return ".json"
	case EndNote:
		return ".xml"
	}
	return "." + string(f)
}

// IsTable reports whether the format holds records as rows, whatever they lack.
func (f Format) IsTable() bool { return f == CSV || f == Parquet }

// Tool is a program that a file is made for.
type Tool string

// Tools. No tool stands for a file that suits most.
const (
	AnyTool   Tool = ""
	Zotero    Tool = "zotero"
	ForEN     Tool = "endnote"
	Covidence Tool = "covidence"
	Rayyan    Tool = "rayyan"
	ASReview  Tool = "asreview"
	Excel     Tool = "excel"
)

// Limit is how much one file may hold; 0 is no limit.
type Limit struct {
	Records int
	Bytes   int64
}

// Profile is what a tool takes.
type Profile struct {
	Tool Tool
	// Formats it takes, the best first.
	Formats []Format
	Limit   Limit
}

// Profiles are those of all tools. Covidence takes 15,000 references and 50 MB a
// file, Rayyan 100 MB; the figures are a little below for what they may count else.
var Profiles = []Profile{
	{Tool: Zotero, Formats: []Format{RIS, NBIB, BibTeX, CSL}},
	{Tool: ForEN, Formats: []Format{EndNote, RIS, NBIB}},
	{Tool: Covidence, Formats: []Format{RIS, NBIB, EndNote}, Limit: Limit{Records: 15_000, Bytes: 50_000_000}},
	{Tool: Rayyan, Formats: []Format{RIS, CSV, NBIB, BibTeX}, Limit: Limit{Bytes: 100_000_000}},
	{Tool: ASReview, Formats: []Format{CSV, RIS}},
	{Tool: Excel, Formats: []Format{CSV}},
}

// Choose is the format and the profile of a tool, given what was asked for; either
// may be empty.
func Choose(format Format, tool Tool) (Format, Profile, error) {
	if tool == AnyTool {
		if !slices.Contains(Formats, format) {
			return "", Profile{}, fmt.Errorf("the format %q is not known; use jsonl, %s", format, words(Formats))
		}
		return format, Profile{}, nil
	}
	at := slices.IndexFunc(Profiles, func(p Profile) bool { return p.Tool == tool })
	if at < 0 {
		return "", Profile{}, fmt.Errorf("%q is no program that files are made for; use one of %s", tool, words(tools()))
	}
	p := Profiles[at]
	if format == "" {
		format = p.Formats[0]
	}
	if !slices.Contains(p.Formats, format) {
		return "", Profile{}, fmt.Errorf("%s does not read %s as references; it takes %s", tool, format, words(p.Formats))
	}
	return format, p, nil
}

func tools() []Tool {
	var out []Tool
	for _, p := range Profiles {
		out = append(out, p.Tool)
	}
	return out
}

func words[T ~string](list []T) string {
	var b strings.Builder
	for i, w := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(w))
	}
	return b.String()
}

// Refusal says why a format cannot hold a citation; empty if it can.
func (f Format) Refusal(c *citation.Citation) string {
	switch {
	case f.IsTable():
		return ""
	case f == NBIB && c.PMID == "":
		return "no PMID, without which NBIB has no record; RIS holds them"
	case c.Title == "":
		return "no title"
	}
	return ""
}
