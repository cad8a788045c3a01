package work

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/papertrace/patra/internal/domain/doi"
)

// links reports whether a DOI may link anything. Letters beyond ASCII and signs that
// cannot be seen are allowed in one and are nearly always slips: such a DOI is kept as
// the text it is.
func links(s string) bool {
	for i := range len(s) {
		if s[i] < 0x21 || s[i] > 0x7e {
			return false
		}
	}
	return doi.Is(s)
}

// serverVersion is the version that bioRxiv and medRxiv put behind the DOI in their
// addresses: one DOI stands for all versions. Their older prefix is also that of
// journals, whose DOIs look otherwise.
var serverVersion = regexp.MustCompile(`^(10\.(?:1101|64898)/(?:[0-9]{4}\.[0-9]{2}\.[0-9]{2}\.)?[0-9]{5,})v[0-9]+(?:\.(?:full|abstract|supplementary-material)[a-z.\-]*)?$`)

// escapes are those that show that a DOI was percent-encoded.
var escapes = []string{"%2f", "%28", "%29", "%3a", "%3b", "%3c", "%3e"}

// NormalDOI is a DOI in the form in which it is compared, and whether it is one.
//
// What a registry says of its own record is only freed of what stands around it, for
// any character may be part of a DOI. What others write has lost or gained something at
// its end often enough that punctuation there is cut off.
func NormalDOI(text string, registry bool) (string, bool) {
	s := doi.Trim(text)
	// What was undone once may show something else to undo; the form is reached where
	// nothing is left.
	for range 8 {
		next := foldDOI(s, registry)
		if next == s {
			return s, links(s)
		}
		s = next
	}
	return "", false
}

func foldDOI(s string, registry bool) string {
	s, isAddress := doi.Bare(doi.Lower(s))
	s = unescapeEntities(s)
	if isAddress || holdsAny(s, escapes) {
		plain, err := url.PathUnescape(s)
		if err == nil {
			s = plain
		}
	}
	if !registry {
		s = cutTail(s)
	}
	if rest, found := strings.CutPrefix(s, "10.1037//"); found {
		s = "10.1037/" + rest
	}
	if strings.HasPrefix(s, "10.1101/") || strings.HasPrefix(s, "10.64898/") {
		if m := serverVersion.FindStringSubmatch(s); m != nil {
			s = m[1]
		}
	}
	return doi.Lower(s)
}

// cutTail cuts off what does not belong to the DOI at its end.
func cutTail(s string) string {
	if i := strings.Index(s, ", "); i >= 0 {
		s = s[:i]
	}
	if i := strings.IndexAny(s, " \t\r\n"); i >= 0 {
		s = s[:i]
	}
	s = strings.TrimSuffix(s, "[doi]")
	for s != "" {
		switch last := s[len(s)-1]; last {
		case '.', ',', ';', ':', '"', '\'', ']', '}':
			if last == ']' && strings.Count(s, "[") >= strings.Count(s, "]") {
				return s
			}
		case ')':
			if strings.Count(s, "(") >= strings.Count(s, ")") {
				return s
			}
		case '>':
			if strings.Count(s, "<") >= strings.Count(s, ">") {
				return s
			}
		default:
			return s
		}
		s = s[:len(s)-1]
	}
	return s
}

var entities = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&", "&quot;", `"`, "&#60;", "<", "&#62;", ">", "&#38;", "&")

func unescapeEntities(s string) string {
	if !strings.Contains(s, "&") {
		return s
	}
	return entities.Replace(s)
}

func holdsAny(s string, parts []string) bool {
	if !strings.Contains(s, "%") {
		return false
	}
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

// versionStems find what DOIs of versions of one thing have in common, by registrant:
// a pattern for all would join a book with its chapter.
var versionStems = []struct {
	begins string
	form   *regexp.Regexp
}{
	{"10.21203/", regexp.MustCompile(`^(10\.21203/rs\.[0-9a-z.\-]+)/v[0-9]+$`)},         // Research Square
	{"10.6084/", regexp.MustCompile(`^(10\.6084/m9\.figshare\.[0-9a-z.]+?)\.v[0-9]+$`)}, // figshare
	// F1000 and those who print as it does.
	{"10.12688/", f1000},
	{"10.15252/", f1000},
	{"10.3310/", f1000},
	{"10.20944/", regexp.MustCompile(`^(10\.20944/preprints[0-9.]+)\.v[0-9]+$`)}, // Preprints.org
	{"10.7554/", regexp.MustCompile(`^(10\.7554/elife\.[0-9]+)\.[0-9]{1,2}$`)},   // eLife's reviewed preprints
	{"10.26434/", regexp.MustCompile(`^(10\.26434/chemrxiv(?:-[0-9a-z\-]+|\.[0-9]+))[.\-]v[0-9]+$`)},
}

var f1000 = regexp.MustCompile(`^(10\.(?:12688|15252|3310)/[0-9a-z]+\.[0-9]+)\.[0-9]+$`)

// VersionStem is what the DOIs of all versions of one thing have in common, empty if
// this one is not known to be of a version.
func VersionStem(doi string) string {
	for _, p := range versionStems {
		if !strings.HasPrefix(doi, p.begins) {
			continue
		}
		if m := p.form.FindStringSubmatch(doi); m != nil {
			return m[1]
		}
	}
	return ""
}

// preprintDOIs are DOIs under which servers post preprints.
var preprintDOIs = regexp.MustCompile(`^10\.(?:` +
	`(?:1101|64898)/(?:[0-9]{4}\.[0-9]{2}\.[0-9]{2}\.)?[0-9]{5,}$|` +
	`(?:48550|21203|20944|2139|26434|31234|31219|31235|35542|22541|1590/scielopreprints|36227/techrxiv|14293|32942)[/.])`)

// preprintRegistrants are the numbers that these begin with. Few DOIs have one of them, and
// the others need not be held against the expression.
var preprintRegistrants = map[string]bool{
	"1101": true, "64898": true, "48550": true, "21203": true, "20944": true, "2139": true, "26434": true, "31234": true, "31219": true,
	"31235": true, "35542": true, "22541": true, "1590": true, "36227": true, "14293": true, "32942": true,
}

// isPreprintDOI reports whether a DOI is of a server that posts preprints.
func isPreprintDOI(doi string) bool {
	number, found := strings.CutPrefix(doi, "10.")
	return found && preprintRegistrants[number[:leadingDigits(number)]] && preprintDOIs.MatchString(doi)
}
