package query

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// one reads a single value. Behind a field it may hold colons, begin with a sign,
// and end at "..".
func (p *parser) one(fielded bool) (rawValue, bool) {
	start := p.pos
	v := rawValue{quoted: p.peek() == '"'}
	if v.quoted {
		v.text = p.str()
	} else {
		v.text = p.word(fielded)
	}
	if p.stopped {
		return v, false
	}
	if p.peek() == '*' {
		p.pos++
		v.prefix = true
	}
	if v.quoted {
		v.cs = p.modifier()
	}
	v.at = p.place(start, p.pos)
	if !p.apart() && !(fielded && strings.HasPrefix(p.text[p.pos:], "..")) {
		p.unexpected()
		return v, false
	}
	return v, true
}

// str reads a quoted text.
func (p *parser) str() string {
	open := p.pos
	var b strings.Builder
	for p.pos++; p.pos < len(p.text); {
		r, n := utf8.DecodeRuneInString(p.text[p.pos:])
		switch {
		case r == '"':
			p.pos++
			return b.String()
		case isControl(r):
			hint := ""
			if r == '\n' || r == '\r' {
				hint = `a " may be missing`
			}
			p.stop(p.pos, p.pos+n, hint, "the control character U+%04X cannot be in a text", r)
			return ""
		case r == '\\':
			p.pos++
			r, n = utf8.DecodeRuneInString(p.text[p.pos:])
			if n == 0 || isControl(r) {
				p.stop(p.pos-1, p.pos, `write \\ for a backslash`, "the backslash has nothing to escape")
				return ""
			}
		}
		b.WriteRune(r)
		p.pos += n
	}
	p.stop(open, open+1, `add "`, "this quote is not closed")
	return ""
}

// Characters that end a word.
const wordEnd = `()[]{}",<>=*?^~|`

// word reads an unquoted text.
func (p *parser) word(fielded bool) string {
	start := p.pos
	if r, _ := utf8.DecodeRuneInString(p.text[start:]); strings.ContainsRune(singleQuotes, r) { // within a word it is an apostrophe
		p.stop(start, start+utf8.RuneLen(r), `use straight double quotes: "`, "%q is no quotation mark of this language", r)
		return ""
	}
	if r, _ := utf8.DecodeRuneInString(p.text[start:]); !fielded {
		rest := p.text[start:]
		switch {
		case r == '-' || r == '+':
			hint := "write NOT, or quote the text"
			if r == '+' {
				hint = "leave it out: all that stands side by side is wanted"
			}
			p.stop(start, start+1, hint, "a word cannot begin with %c", r)
			return ""
		case r == '!' || strings.HasPrefix(rest, "&"):
			p.unexpected()
			return ""
		}
	}
	var b strings.Builder
	for p.pos < len(p.text) {
		r, n := utf8.DecodeRuneInString(p.text[p.pos:])
		switch {
		case unicode.IsSpace(r) || strings.ContainsRune(wordEnd, r) || strings.HasPrefix(p.text[p.pos:], ".."),
			r == ':' && (!fielded || p.pos == start):
			if p.pos == start {
				p.missing(fielded)
			}
			return b.String()
		case isControl(r) || curly(r):
			p.unexpected()
			return ""
		case r == '\\':
			p.pos++
			r, n = utf8.DecodeRuneInString(p.text[p.pos:])
			if n == 0 || isControl(r) || unicode.IsSpace(r) {
				p.stop(p.pos-1, p.pos, `write \\ for a backslash`, "the backslash has nothing to escape")
				return ""
			}
		}
		b.WriteRune(r)
		p.pos += n
	}
	if p.pos == start {
		p.missing(fielded)
	}
	return b.String()
}

// missing stops where a value should be.
func (p *parser) missing(fielded bool) {
	if fielded && p.apart() {
		p.stop(p.pos, p.pos+1, "", "a value is missing here")
		return
	}
	p.unexpected()
}

func (p *parser) blanks() {
	for p.pos < len(p.text) {
		r, n := utf8.DecodeRuneInString(p.text[p.pos:])
		if !unicode.IsSpace(r) {
			return
		}
		p.pos += n
	}
}

// peek is the next byte, 0 at the end.
func (p *parser) peek() byte {
	if p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return 0
}

// keyword consumes a word of the language, in any case.
func (p *parser) keyword(word string) bool {
	if !p.keywordAhead(word) {
		return false
	}
	p.pos += len(word)
	return true
}

func (p *parser) keywordAhead(word string) bool {
	end := p.pos + len(word)
	if end > len(p.text) || !strings.EqualFold(p.text[p.pos:end], word) {
		return false
	}
	r, n := utf8.DecodeRuneInString(p.text[end:])
	return n == 0 || unicode.IsSpace(r) || strings.ContainsRune(`()[]{}",`, r)
}

// apart reports whether a value may end here.
func (p *parser) apart() bool {
	r, n := utf8.DecodeRuneInString(p.text[p.pos:])
	return n == 0 || unicode.IsSpace(r) || r == ')' || r == ',' || r == ']' || r == '}'
}

// name is the length of the identifier here.
func (p *parser) name() int {
	n := 0
	for _, c := range []byte(p.text[p.pos:]) {
		if c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || n > 0 && c >= '0' && c <= '9' {
			n++
			continue
		}
		break
	}
	return n
}

// unexpected stops at what cannot stand here.
func (p *parser) unexpected() {
	r, n := utf8.DecodeRuneInString(p.text[p.pos:])
	start, end := p.pos, p.pos+n
	quote := `put the whole text in quotes: "..."`
	switch {
	case n == 0:
		p.stop(start, start, "", "the query ends where something is still to come")
	case r == ')':
		p.stop(start, end, "", "this ) closes nothing")
	case r == ',':
		p.stop(start, end, `quote a text that has a comma, or write a list: field:(a, b)`, "a comma has no meaning here")
	case r == '|':
		p.stop(start, end, "write OR", "%q has no meaning here", r)
	case r == '!':
		p.stop(start, end, "write NOT", "%q has no meaning here", r)
	case r == '&':
		p.stop(start, end, "write AND", "%q has no meaning here", r)
	case r == '?':
		p.stop(start, end, "only a * at the end of a word stands for letters; "+quote, "%q has no meaning here", r)
	case r == '*':
		p.stop(start, end, "only a * at the end of a word stands for letters", "%q has no meaning here", r)
	case curly(r):
		p.stop(start, end, `use straight quotes: "`, "%q is no quotation mark of this language", r)
	case isControl(r) && !unicode.IsSpace(r):
		p.stop(start, end, "", "the control character U+%04X cannot be in a query", r)
	case r == '[' || r == '{' || strings.HasPrefix(p.text[start:], ".."):
		p.stop(start, end, "write year:2020..2024; "+quote+" if it is no range", "a range needs a field before it")
	default:
		p.stop(start, end, quote, "%q has no meaning here", r)
	}
}

// singleQuotes are signs that some write around a text.
const singleQuotes = "'‘’‚‛‹›"

func curly(r rune) bool { return strings.ContainsRune("“”„‟«»″", r) }
