package template

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// Encoders make a value safe for one place of one syntax. Each gives text that
// cannot end, begin or change anything outside itself, or refuses the value.

// bare reports whether a word needs no quotes in any syntax known here: letters,
// digits and inner hyphens, and no operator.
func bare(s string) bool {
	for i, r := range s {
		if !(unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '-' && i > 0) {
			return false
		}
	}
	return s != "" && !strings.HasSuffix(s, "-") && !operator(s)
}

// blanked puts a blank for each of the given characters. In searched text they
// are punctuation that no index keeps.
func blanked(s, chars string) (string, error) {
	out := collapse(strings.Map(func(r rune) rune {
		if strings.ContainsRune(chars, r) || IsControl(r) {
			return ' '
		}
		return r
	}, s))
	if !strings.ContainsFunc(out, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return "", fmt.Errorf("%s has nothing left to search for", quoted(s))
	}
	return out, nil
}

// refused refuses values with one of the given characters. In identifiers every
// character counts, so none can be left out.
func refused(s, chars, place string) error {
	if i := strings.IndexAny(s, chars); i >= 0 {
		return fmt.Errorf("%s holds %q, which %s has no way to write", quoted(s), []rune(s[i:])[0], place)
	}
	return nil
}

// Entrez has no escapes. A quote ends a phrase, brackets hold a field tag, a star
// is a wildcard even inside quotes; look-alikes are taken for the real thing.
const entrezMarks = "\"[]*\\“”„‟″«»＂［］＊"

func entrezPhrase(s string) (string, error) {
	out, err := blanked(s, entrezMarks)
	return `"` + out + `"`, err
}

func entrezWord(s string) (string, error) {
	if bare(s) {
		return s, nil
	}
	return entrezPhrase(s)
}

func entrezPrefix(s string) (string, error) {
	out, err := blanked(s, entrezMarks)
	if bare(out) {
		return out + "*", err
	}
	return `"` + out + `*"`, err
}

// luceneQuote is a phrase with backslash escapes.
func luceneQuote(s string) (string, error) { return quote(s), nil }

func luceneWord(s string) (string, error) {
	if bare(s) {
		return s, nil
	}
	return quote(s), nil
}

// lucenePrefix: there are no wildcards in phrases.
func lucenePrefix(s string) (string, error) {
	if strings.ContainsFunc(s, unicode.IsSpace) {
		return "", fmt.Errorf("%s has a blank: only the beginning of a single word can be searched", quoted(s))
	}
	var b strings.Builder
	for i, r := range s {
		if !(unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)) || i == 0 && operator(s) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String() + "*", nil
}

// filterValue stands in name:value,name:value. The first colon ends the name, so
// later ones are data; a comma ends the value.
func filterValue(s string) (string, error) {
	return s, refused(s, ",", "a filter")
}

// Marks of an OpenAlex filter: and, or, not, less, greater, both.
const openalexMarks = ",|!<>+\"\\"

func openalexValue(s string) (string, error) {
	return s, refused(s, openalexMarks, "a filter")
}

func openalexPhrase(s string) (string, error) {
	out, err := blanked(s, openalexMarks+"*?~()“”")
	return `"` + out + `"`, err
}

func openalexWord(s string) (string, error) {
	if bare(s) {
		return s, nil
	}
	return openalexPhrase(s)
}

// plainValue is a parameter of its own: the transport encodes it whole.
func plainValue(s string) (string, error) { return s, nil }

func urlSafe(s string) (string, error) {
	return strings.ReplaceAll(url.QueryEscape(s), "+", "%20"), nil
}

// Marks that one source reads as a quote, a bracket or an escape and another as
// text. No count of brackets holds under both readings.
const ambiguousMarks = "\\“”„‟″‶«»〝〞〟❝❞＂（）［］｛｝＼"

// rawToken is text in the source's own language. It may say anything, but only
// within the parentheses it is put in.
func rawToken(s string) (string, error) {
	if i := strings.IndexAny(s, ambiguousMarks); i >= 0 {
		return "", fmt.Errorf("%s holds %q, which sources read in different ways; use plain quotes and brackets", quoted(s), []rune(s[i:])[0])
	}
	var open []rune
	inQuotes := false
	for _, r := range s {
		switch {
		case r == '"':
			inQuotes = !inQuotes
		case inQuotes:
		case strings.ContainsRune("([{", r):
			open = append(open, r)
		case strings.ContainsRune(")]}", r):
			want := "([{"[strings.IndexRune(")]}", r)]
			if len(open) == 0 || open[len(open)-1] != rune(want) {
				return "", fmt.Errorf("%s closes a bracket it did not open", quoted(s))
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 || inQuotes {
		return "", fmt.Errorf("%s does not close what it opens", quoted(s))
	}
	return "(" + s + ")", nil
}

// encoderPlain is the one whose result must fill a parameter.
const encoderPlain = "plain"

// encoders by name.
var encoders = map[string]func(string) (string, error){
	"entrez_word":     entrezWord,
	"entrez_phrase":   entrezPhrase,
	"entrez_prefix":   entrezPrefix,
	"quote":           luceneQuote,
	"lucene_word":     luceneWord,
	"lucene_prefix":   lucenePrefix,
	"filter":          filterValue,
	"openalex":        openalexValue,
	"openalex_word":   openalexWord,
	"openalex_phrase": openalexPhrase,
	encoderPlain:      plainValue,
	"urlsafe":         urlSafe,
	"token":           rawToken,
}

// quote is a phrase with backslash escapes.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// operator reports whether a word would be read as part of a query.
func operator(s string) bool {
	return slices.Contains([]string{"AND", "OR", "NOT", "TO"}, strings.ToUpper(s))
}

// collapse makes one blank of each run of white space.
func collapse(s string) string { return strings.Join(strings.Fields(s), " ") }

// quoted is a text in a message.
func quoted(s string) string { return fmt.Sprintf("%q", clip(s, 40)) }
