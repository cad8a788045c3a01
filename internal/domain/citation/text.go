package citation

import (
	"html"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Line is a text as one line: composed, its white space single blanks, without
// control characters and what XML cannot hold.
func Line(s string) string {
	if isLine(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	blank := false
	for _, r := range norm.NFC.String(strings.ToValidUTF8(s, "\uFFFD")) {
		switch {
		case unicode.IsSpace(r) || r == '\u2028' || r == '\u2029':
			blank = b.Len() > 0
			continue
		case unicode.IsControl(r) || r == '\uFEFF' || r == '\uFFFE' || r == '\uFFFF':
			continue
		}
		if blank {
			b.WriteByte(' ')
			blank = false
		}
		b.WriteRune(r)
	}
	return b.String()
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

// Plain is a text as one line, without markup and entities. Two rounds: sources
// send markup that was escaped once more than it should be.
func Plain(s string) string {
	for range 2 {
		if !strings.ContainsAny(s, "<&") {
			break
		}
		s = html.UnescapeString(withoutTags(s))
	}
	return Line(withoutTags(s))
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

// sectionsOf are the sections of an abstract whose lines have labels; none if one
// line has none.
func sectionsOf(abstract string) []Section {
	var out []Section
	for line := range strings.Lines(abstract) {
		text := Plain(line)
		if text == "" {
			continue
		}
		m := label.FindStringSubmatch(text)
		if m == nil {
			return nil
		}
		out = append(out, Section{Label: m[1], Text: text[len(m[0]):]})
	}
	return out
}
