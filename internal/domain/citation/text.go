package citation

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/papertrace/patra/internal/domain/markup"
	"golang.org/x/text/unicode/norm"
)

// Line is a text as one line: composed, its white space single blanks, without
// control characters and what XML cannot hold.
func Line(s string) string {
	if isLine(s) {
		return s
	}
	out := make([]byte, 0, len(s))
	blank := false
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		switch {
		case unicode.IsSpace(r) || r == '\u2028' || r == '\u2029':
			blank = len(out) > 0
			continue
		case unicode.IsControl(r) || r == '\uFEFF' || r == '\uFFFE' || r == '\uFFFF':
			continue
		}
		if blank {
			out = append(out, ' ')
			blank = false
		}
		out = utf8.AppendRune(out, r)
	}
	// What is left out may have stood between a letter and its accent.
	return norm.NFC.String(string(out))
}

// isLine reports whether a text of ASCII needs nothing, as most do not.
func isLine(s string) bool {
	blank := true
	for i := range len(s) {
		c := s[i]
		switch {
		case c == ' ' && blank:
			return false
		case c < ' ' || c > '~':
			return false
		}
		blank = c == ' '
	}
	return !blank || s == ""
}

// Plain is a text as one line, without markup and entities.
func Plain(s string) string { return Line(markup.Plain(s)) }

// label begins a section of an abstract.
var label = regexp.MustCompile(`^(\p{Lu}[\p{Lu}\d ,/&()-]{2,60}): +`)

// abstractOf is an abstract as one line, and its sections if each of its lines has a
// label.
func abstractOf(s string) (string, []Section) {
	var lines []string
	var sections []Section
	for part := range strings.Lines(markup.Plain(s)) {
		line := Line(part)
		if line == "" {
			continue
		}
		lines = append(lines, line)
		if m := label.FindStringSubmatch(line); m != nil {
			sections = append(sections, Section{Label: m[1], Text: line[len(m[0]):]})
		}
	}
	if len(sections) < len(lines) {
		sections = nil
	}
	return strings.Join(lines, " "), sections
}
