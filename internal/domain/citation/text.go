package citation

import (
	"html"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

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
	for _, r := range norm.NFC.String(strings.ToValidUTF8(s, "\uFFFD")) {
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
	return string(out)
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
func Plain(s string) string { return Line(withoutMarkup(s)) }

// withoutMarkup takes markup and entities out of a text, in two rounds: sources send
// markup that was escaped once more than it should be.
func withoutMarkup(s string) string {
	for range 2 {
		if !strings.ContainsAny(s, "<&") {
			return s
		}
		s = html.UnescapeString(withoutTags(s))
	}
	return withoutTags(s)
}

// tag is an element of the markup that sources use in texts, with or without a
// prefix. Other signs of less and greater are words of the text.
var tag = regexp.MustCompile(`(?i)</?(?:(?:jats|mml|m|xhtml|html):[a-z][a-z0-9-]*|` +
	`a|abstract|b|bold|br|caption|div|em|emph|ext-link|fixed-case|font|formula|h[1-6]|hr|i|img|inf|inline-formula|inline-graphic|italic|li|list|list-item|` +
	`math|mfrac|mi|mml|mn|mo|monospace|mrow|ms|mspace|mstyle|msub|msubsup|msup|mtext|named-content|ol|overline|p|pre|roman|sans-serif|sc|scp|sec|semantics|` +
	`small|span|strike|strong|styled-content|sub|sup|table|td|tex-math|th|title|tr|tt|u|ul|underline|xref)(?:\s[^<>]*)?/?>`)

// apart are the elements that stand apart from the words before and behind them.
var apart = regexp.MustCompile(`(?i)^</?(?:[a-z]+:)?(?:abstract|br|caption|div|h[1-6]|hr|li|list|list-item|ol|p|sec|table|td|th|title|tr|ul)\b`)

func withoutTags(s string) string {
	if !strings.Contains(s, "<") {
		return s
	}
	return tag.ReplaceAllStringFunc(s, func(t string) string {
		if apart.MatchString(t) {
			return " "
		}
		return ""
	})
}

// label begins a section of an abstract.
var label = regexp.MustCompile(`^(\p{Lu}[\p{Lu}\d ,/&()-]{2,60}): +`)

// abstractOf is an abstract as one line, and its sections if each of its lines has a
// label.
func abstractOf(s string) (string, []Section) {
	var lines []string
	var sections []Section
	for part := range strings.Lines(withoutMarkup(s)) {
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
