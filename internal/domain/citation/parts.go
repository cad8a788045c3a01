package citation

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/doi"
)

// Date is a date as far as it is known: parts that are not are 0.
type Date struct{ Year, Month, Day int }

var datePattern = regexp.MustCompile(`^(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?`)

// dateOf reads YYYY[-MM[-DD]]; what does not exist is left out with all below it.
func dateOf(s string) Date {
	m := datePattern.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return Date{}
	}
	var d Date
	d.Year, _ = strconv.Atoi(m[1])  //nolint:errcheck // four digits
	d.Month, _ = strconv.Atoi(m[2]) //nolint:errcheck // two digits, or none
	d.Day, _ = strconv.Atoi(m[3])   //nolint:errcheck // two digits, or none
	switch {
	case d.Year == 0:
		return Date{}
	case d.Month < 1 || d.Month > 12:
		return Date{Year: d.Year}
	case d.Day < 1 || d.Day > time.Date(d.Year, time.Month(d.Month)+1, 0, 0, 0, 0, 0, time.UTC).Day():
		return Date{Year: d.Year, Month: d.Month}
	}
	return d
}

// String is YYYY[-MM[-DD]], or empty.
func (d Date) String() string { return d.Join("-") }

// YearText is the year in four digits, or empty.
func (d Date) YearText() string {
	if d.Year == 0 {
		return ""
	}
	return fmt.Sprintf("%04d", d.Year)
}

// Join is the known parts with a sign between them.
func (d Date) Join(sep string) string {
	switch {
	case d.Month == 0:
		return d.YearText()
	case d.Day == 0:
		return fmt.Sprintf("%04d%s%02d", d.Year, sep, d.Month)
	}
	return fmt.Sprintf("%04d%s%02d%s%02d", d.Year, sep, d.Month, sep, d.Day)
}

// Precision is year, month or day, or empty.
func (d Date) Precision() string {
	switch {
	case d.Year == 0:
		return ""
	case d.Month == 0:
		return "year"
	case d.Day == 0:
		return "month"
	}
	return "day"
}

// Pages are the pages of it. Last is empty for a single page, for the number of an
// article, and for what is no plain range, which First then holds whole.
type Pages struct{ First, Last string }

var pageRange = regexp.MustCompile(`^([\p{L}]*\d+[\p{L}]*) ?[-\x{2010}-\x{2015}\x{2212}]{1,2} ?([\p{L}]*\d+[\p{L}]*)$`)

// pagesOf parts a range and writes its end in full: "123-9" ends at 129.
func pagesOf(s string) Pages {
	m := pageRange.FindStringSubmatch(s)
	if m == nil {
		return Pages{First: s}
	}
	first := m[1]
	last := m[2]
	bothNumbers := strings.Trim(first+last, "0123456789") == ""
	if bothNumbers && len(last) < len(first) {
		last = first[:len(first)-len(last)] + last
	}
	if first == last {
		return Pages{First: first}
	}
	return Pages{First: first, Last: last}
}

var articleNumber = regexp.MustCompile(`^[eE]\d+$`)

// ArticleNumber is what stands in the place of pages where an article has a number,
// if that can be told.
func (p Pages) ArticleNumber() string {
	if p.Last == "" && articleNumber.MatchString(p.First) {
		return p.First
	}
	return ""
}

// Range is the pages with a sign between first and last.
func (p Pages) Range(sep string) string {
	if p.Last == "" {
		return p.First
	}
	return p.First + sep + p.Last
}

var (
	pmcPattern   = regexp.MustCompile(`^(?i:PMC)?(\d+)$`)
	arxivPattern = regexp.MustCompile(`^(?:\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})(?:v\d+)?$`)
	nctPattern   = regexp.MustCompile(`^NCT\d{8}$`)
)

// doiOf is a DOI as bare as it is registered, in lower case; what is none is empty.
func doiOf(s string) string {
	s, _ = doi.Bare(Line(s))
	if !doi.Is(s) {
		return ""
	}
	return doi.Lower(s)
}

// digitsOf is a number as text, without leading zeros; what is none is empty.
func digitsOf(s string) string {
	s = Line(s)
	if strings.Trim(s, "0123456789") != "" {
		return ""
	}
	return strings.TrimLeft(s, "0")
}

// pmcidOf is the first of them that is an id of PubMed Central.
func pmcidOf(ids ...string) string {
	for _, id := range ids {
		if m := pmcPattern.FindStringSubmatch(Line(id)); m != nil {
			return "PMC" + m[1]
		}
	}
	return ""
}

func arxivOf(s string) string {
	s = strings.TrimPrefix(Line(s), "arXiv:")
	if !arxivPattern.MatchString(s) {
		return ""
	}
	return s
}

func nctOf(s string) string {
	s = strings.ToUpper(Line(s))
	if !nctPattern.MatchString(s) {
		return ""
	}
	return s
}

// webAddress is an address of the web with what a reader could take for the end of
// it, or for a sign of its format, written as percent signs; else empty. No other
// scheme: a reader may open what it is given, files of its own machine too.
func webAddress(s string) string {
	u, err := url.Parse(Line(s))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	u.User = nil
	return addressSigns.Replace(u.String())
}

var addressSigns = strings.NewReplacer(
	";", "%3B", " ", "%20", "{", "%7B", "}", "%7D", `\`, "%5C", `"`, "%22", "<", "%3C", ">", "%3E", "|", "%7C", "^", "%5E", "`", "%60",
)
