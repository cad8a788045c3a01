package citefile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/papertrace/patra/internal/domain/citation"
)

// table writes CSV: all cells quoted, no line break in any, a header in lower case.
type table struct {
	tool    Tool
	columns []string
}

// cells are what the columns hold.
var cells = map[string]func(*citation.Citation) string{
	"source":         func(c *citation.Citation) string { return c.Source },
	"id":             func(c *citation.Citation) string { return c.RecordID },
	"key":            key,
	"title":          func(c *citation.Citation) string { return c.Title },
	"abstract":       func(c *citation.Citation) string { return c.Abstract },
	"authors":        func(c *citation.Citation) string { return joinNames(c.Authors, "; ") },
	"year":           func(c *citation.Citation) string { return c.Issued.YearText() },
	"month":          func(c *citation.Citation) string { return numberOrNone(c.Issued.Month) },
	"day":            func(c *citation.Citation) string { return numberOrNone(c.Issued.Day) },
	"published":      func(c *citation.Citation) string { return c.Issued.String() },
	"journal":        func(c *citation.Citation) string { return c.Container },
	"journal_abbrev": func(c *citation.Citation) string { return c.ContainerAbbrev },
	"volume":         func(c *citation.Citation) string { return c.Volume },
	"issue":          func(c *citation.Citation) string { return c.Issue },
	"pages":          func(c *citation.Citation) string { return c.Pages.Range("-") },
	"type":           func(c *citation.Citation) string { return string(c.Type) },
	"language":       func(c *citation.Citation) string { return c.Language },
	"doi":            func(c *citation.Citation) string { return c.DOI },
	"pmid":           func(c *citation.Citation) string { return c.PMID },
	"pmcid":          func(c *citation.Citation) string { return c.PMCID },
	"pubmed_id":      func(c *citation.Citation) string { return c.PMID },
	"pmc_id":         func(c *citation.Citation) string { return c.PMCID },
	"arxiv":          func(c *citation.Citation) string { return c.ArXiv },
	"nct":            func(c *citation.Citation) string { return c.NCTID },
	"issn":           func(c *citation.Citation) string { return strings.Join(c.ISSN, "; ") },
	"isbn":           func(c *citation.Citation) string { return c.ISBN },
	"publisher":      func(c *citation.Citation) string { return c.Publisher },
	"keywords":       func(c *citation.Citation) string { return joinKeywords(c.Subjects(), "; ") },
	"url":            func(c *citation.Citation) string { return c.URL },
	"retracted":      func(c *citation.Citation) string { return strconv.FormatBool(c.Retracted) },
	"retracted_by":   func(c *citation.Citation) string { return c.RetractedBy },
	"location":       func(*citation.Citation) string { return "" },
	"notes":          func(*citation.Citation) string { return "" },
}

// Columns of a table, by the tool that reads it.
var (
	plainColumns = strings.Fields(`source id title authors year published journal journal_abbrev volume issue pages type language doi pmid pmcid arxiv nct
		issn isbn publisher keywords abstract url retracted retracted_by`)
	asreviewColumns = strings.Fields("title abstract authors keywords year doi url")
	rayyanColumns   = strings.Fields("key title year month day journal issn volume issue pages authors url language publisher location abstract notes pubmed_id pmc_id")
)

func newTable(o Options) (*table, error) {
	t := &table{tool: o.Tool, columns: o.Columns}
	if len(t.columns) == 0 {
		switch o.Tool {
		case ASReview:
			t.columns = asreviewColumns
		case Rayyan:
			t.columns = rayyanColumns
		default:
			t.columns = plainColumns
		}
	}
	return t, CheckColumns(t.columns)
}

// CheckColumns refuses columns that a table does not have.
func CheckColumns(columns []string) error {
	for _, name := range columns {
		if cells[name] == nil {
			return fmt.Errorf("csv has no column %q; it has %s", name, strings.Join(plainColumns, ", "))
		}
	}
	return nil
}

const byteOrderMark = "\ufeff"

// head is the header. Only a spreadsheet wants a mark of the byte order before it: to
// others it is a part of the first column's name.
func (t *table) head() string {
	var b []byte
	if t.tool == Excel {
		b = append(b, byteOrderMark...)
	}
	return string(appendRow(b, t.columns))
}

func (t *table) tail() string { return "" }

func (t *table) appendRecord(dst []byte, c *citation.Citation, _ bool) []byte {
	row := make([]string, len(t.columns))
	for i, name := range t.columns {
		row[i] = t.cell(name, c)
	}
	return appendRow(dst, row)
}

// cell is a value as the tool wants it. A spreadsheet would run what begins as a
// formula; programs would take the sign against that for a part of the value.
func (t *table) cell(name string, c *citation.Citation) string {
	switch {
	case t.tool == ASReview && name == "authors":
		return joinNames(c.Authors, ";")
	case t.tool == ASReview && name == "keywords":
		return joinKeywords(c.Subjects(), ";")
	case t.tool == Rayyan && name == "authors":
		return strings.ReplaceAll(joinNames(c.Authors, "; "), " and ", " & ") // it parts names at this word
	case t.tool == AnyTool || t.tool == Excel:
		return formulaSafe(cells[name](c))
	}
	return cells[name](c)
}

// formulaSigns begin a formula, in full width too.
var formulaSigns = []rune("=+-@\t\r\n＝＋－＠")

func formulaSafe(s string) string {
	if s == "" {
		return s
	}
	first, _ := utf8.DecodeRuneInString(s)
	if slices.Contains(formulaSigns, first) {
		return "'" + s
	}
	return s
}

func appendRow(dst []byte, row []string) []byte {
	for i, cell := range row {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '"')
		dst = append(dst, strings.ReplaceAll(cell, `"`, `""`)...)
		dst = append(dst, '"')
	}
	return append(dst, "\r\n"...)
}

func joinNames(names []citation.Name, sep string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = strings.ReplaceAll(n.Inverted(), ";", ",")
	}
	return strings.Join(out, sep)
}

func joinKeywords(list []string, sep string) string {
	out := make([]string, len(list))
	for i, k := range list {
		out[i] = strings.ReplaceAll(k, ";", ",")
	}
	return strings.Join(out, sep)
}

func numberOrNone(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}
