package decode

import (
	"bytes"
	"encoding/binary"
	"html"
	"unicode"
	"unicode/utf8"

	"github.com/papertrace/patra/internal/domain/doi"
	"github.com/papertrace/patra/internal/domain/markup"
)

// cleaner changes a value. What it returns is either part of v or lives in a;
// nil means that nothing is left.
type cleaner func(a *arena, v []byte) []byte

// cleaners are those that need to be told nothing; newTransform makes the others.
var cleaners = map[string]cleaner{
	"text":          cleanText,
	"jats":          cleanJATS,
	"lower":         func(_ *arena, v []byte) []byte { return bytes.ToLower(v) },
	"upper":         func(_ *arena, v []byte) []byte { return bytes.ToUpper(v) },
	"trim":          func(_ *arena, v []byte) []byte { return bytes.TrimSpace(v) },
	"doi":           doiOrNothing,
	"strip_doi_url": bareDOI,
	"orcid":         cleanORCID,
	"number":        cleanNumber,
}

// cleanText makes running text: references decoded, however often they were
// escaped, inline markup dropped, white space collapsed.
func cleanText(a *arena, v []byte) []byte {
	if tidy(v) {
		return v
	}
	v = unescape(a, v)
	from := len(a.buf)
	gap := false
	add := func(text []byte) {
		for len(text) > 0 {
			if n := spaces(text); n > 0 {
				gap, text = true, text[n:]
				continue
			}
			if gap && len(a.buf) > from {
				a.buf = append(a.buf, ' ')
			}
			gap = false
			n := words(text)
			a.buf, text = append(a.buf, text[:n]...), text[n:]
		}
	}
	markup.Cut(v, add, func(t markup.Tag) { gap = gap || t.Block })
	return a.take(from)
}

// tidy reports whether cleanText would change nothing.
func tidy(v []byte) bool {
	for i, c := range v {
		switch textByte[c] {
		case textPlain:
		case textBlank:
			if i == 0 || i == len(v)-1 || v[i+1] == ' ' {
				return false
			}
		case textLead:
			if r, _ := utf8.DecodeRune(v[i:]); unicode.IsSpace(r) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// Kinds of bytes in a text.
const (
	textPlain = iota
	textBlank
	textLead // perhaps of a space
	textWork
)

var textByte = func() (t [256]uint8) {
	for c := range t {
		switch {
		case c == ' ':
			t[c] = textBlank
		case c == '<' || c == '&' || c < ' ':
			t[c] = textWork
		case maySpace(byte(c)):
			t[c] = textLead
		}
	}
	return t
}()

// cleanJATS makes paragraphs, one to a line, of an abstract in JATS; section
// titles go before what they head, as "Title: ".
func cleanJATS(a *arena, v []byte) []byte {
	v = unescape(a, v)
	from := len(a.buf)
	var sep byte    // owed before the next character
	title := -1     // where the title being read begins
	headed := false // a title has ended and nothing has come since
	add := func(text []byte) {
		for len(text) > 0 {
			if n := spaces(text); n > 0 {
				text = text[n:]
				if sep == 0 {
					sep = ' '
				}
				continue
			}
			if sep != 0 && len(a.buf) > from {
				a.buf = append(a.buf, sep)
			}
			if sep == '\n' && title >= 0 {
				title = len(a.buf)
			}
			sep, headed = 0, false
			n := words(text)
			a.buf, text = append(a.buf, text[:n]...), text[n:]
		}
	}
	markup.Cut(v, add, func(t markup.Tag) {
		switch {
		case t.Name == "title" && !t.Closing:
			sep, title = '\n', len(a.buf)
		case t.Name == "title":
			if title >= 0 && len(a.buf) > title {
				head := bytes.TrimRight(a.buf[title:], ":. ")
				a.buf = a.buf[:title+len(head)]
				if len(head) > 0 {
					a.buf = append(a.buf, ':')
				}
				sep, headed = ' ', len(head) > 0
			}
			title = -1
		case t.Block && title < 0 && !headed:
			sep = '\n'
		}
	})
	return a.take(from)
}

// spaces is the length of the white space text begins with, words that of what
// comes before any but a blank between two words.
func spaces(text []byte) int {
	i := 0
	for i < len(text) {
		c := text[i]
		if c == ' ' || c >= '\t' && c <= '\r' {
			i++
			continue
		}
		if !maySpace(c) {
			break
		}
		r, size := utf8.DecodeRune(text[i:])
		if !unicode.IsSpace(r) {
			break
		}
		i += size
	}
	return i
}

func words(text []byte) int {
	for i := 0; i < len(text); {
		if i+9 <= len(text) && areWords(text[i:]) {
			i += 8
			continue
		}
		for end := min(i+8, len(text)); i < end; i++ {
			if endsWords(text[i:]) {
				return i
			}
		}
	}
	return len(text)
}

// areWords reports whether the next nine bytes are of ASCII and without a space but single blanks.
// It may say no where they are.
func areWords(text []byte) bool {
	x := binary.LittleEndian.Uint64(text)
	y := binary.LittleEndian.Uint64(text[1:])
	twoBlanks := zeros(x^ones*' ') & zeros(y^ones*' ')
	return (twoBlanks|x|y|controls(x)|controls(y))&highs == 0
}

// endsWords reports whether a text begins with a space that is more than a blank between two words.
func endsWords(text []byte) bool {
	switch c := text[0]; {
	case c == ' ':
		return len(text) == 1 || spaces(text[1:min(len(text), 4)]) > 0
	case c >= '\t' && c <= '\r':
		return true
	case maySpace(c):
		r, _ := utf8.DecodeRune(text)
		return unicode.IsSpace(r)
	}
	return false
}

// maySpace tells the bytes that all spaces beyond ASCII begin with.
func maySpace(c byte) bool { return c == 0xC2 || c >= 0xE1 && c <= 0xE3 }

// unescape decodes character references, and those that come to light by it. It is
// [markup.Plain]'s second half over bytes that are used again for the next item.
func unescape(a *arena, v []byte) []byte {
	for range 3 {
		n := bytes.IndexByte(v, '&')
		if n < 0 {
			return v
		}
		from, changed := len(a.buf), false
		for n >= 0 {
			a.buf = append(a.buf, v[:n]...)
			v = v[n:]
			end := bytes.IndexByte(v[:min(len(v), 34)], ';')
			if end < 0 || bytes.IndexByte(v[1:end], '&') >= 0 {
				a.buf = append(a.buf, '&')
				v = v[1:]
			} else {
				ref := string(v[:end+1])
				text := html.UnescapeString(ref)
				if text != ref && !(len(text) > 1 && text[len(text)-1] == ';') { // not a prefix of a name
					changed = true
					a.buf = append(a.buf, text...)
				} else {
					a.buf = append(a.buf, ref...)
				}
				v = v[end+1:]
			}
			n = bytes.IndexByte(v, '&')
		}
		a.buf = append(a.buf, v...)
		v = a.take(from)
		if !changed {
			return v
		}
	}
	return v
}

func bareDOI(_ *arena, v []byte) []byte {
	v, _ = doi.Bare(v)
	return v
}

// cleanDOI takes the resolver off and makes ASCII letters small, no others:
// DOIs that differ in an accent are two (R29).
func cleanDOI(a *arena, v []byte) []byte {
	v = bareDOI(a, v)
	for _, c := range v {
		if c >= 'A' && c <= 'Z' {
			from := len(a.buf)
			for _, c := range v {
				if c >= 'A' && c <= 'Z' {
					c |= 0x20
				}
				a.buf = append(a.buf, c)
			}
			return a.take(from)
		}
	}
	return v
}

// doiOrNothing leaves a DOI in its normal form, and nothing of what is none: a
// title, a shortened or a broken one would link records that have nothing in common.
func doiOrNothing(a *arena, v []byte) []byte {
	v = cleanDOI(a, v)
	if !doi.Is(v) {
		return nil
	}
	return v
}

// cleanORCID leaves 0000-0000-0000-0000, or nothing.
func cleanORCID(a *arena, v []byte) []byte {
	v = bytes.TrimRight(bytes.TrimSpace(v), "/")
	if i := bytes.LastIndexByte(v, '/'); i >= 0 {
		v = v[i+1:]
	}
	from, n := len(a.buf), 0
	for _, c := range v {
		switch {
		case c == '-' || c == ' ':
			continue
		case c >= '0' && c <= '9':
		case (c == 'X' || c == 'x') && n == 15:
			c = 'X'
		default:
			return nil
		}
		if n > 0 && n%4 == 0 {
			a.buf = append(a.buf, '-')
		}
		a.buf = append(a.buf, c)
		n++
	}
	if n != 16 {
		return nil
	}
	return a.take(from)
}

// cleanNumber leaves a plain decimal number, or nothing: blanks around it and
// commas between thousands go.
func cleanNumber(_ *arena, v []byte) []byte {
	v = bytes.TrimSpace(v)
	if bytes.IndexByte(v, ',') >= 0 {
		whole, frac, _ := bytes.Cut(v, []byte("."))
		if bytes.IndexByte(frac, ',') >= 0 {
			return nil
		}
		parts := bytes.Split(bytes.TrimPrefix(whole, []byte("-")), []byte(","))
		for i, p := range parts {
			if i > 0 && len(p) != 3 || len(p) == 0 || len(p) > 3 {
				return nil
			}
		}
		v = bytes.ReplaceAll(v, []byte(","), nil)
	}
	if !decimal(v) {
		return nil
	}
	return v
}

// decimal reports whether v is -?digits(.digits)?.
func decimal(v []byte) bool {
	whole, frac, dot := bytes.Cut(bytes.TrimPrefix(v, []byte("-")), []byte("."))
	return digits(whole) && (!dot || digits(frac))
}
