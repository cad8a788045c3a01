package decode

import (
	"bytes"
	"unicode/utf8"
)

// appendText adds the text of a piece of well-formed XML: tags, comments and
// instructions left out, references decoded, line ends made one kind.
func appendText(dst, b []byte) []byte {
	for i := 0; i < len(b); {
		switch c := b[i]; c {
		default:
			dst = append(dst, c)
			i++
		case '\r':
			dst = append(dst, '\n')
			i++
			if i < len(b) && b[i] == '\n' {
				i++
			}
		case '&':
			var size int
			dst, size = appendReference(dst, b[i:])
			i += size
		case '<':
			switch rest := b[i:]; {
			case bytes.HasPrefix(rest, []byte("<!--")):
				i += 4 + bytes.Index(rest[4:], []byte("-->")) + 3
			case bytes.HasPrefix(rest, []byte("<![CDATA[")):
				n := bytes.Index(rest[9:], []byte("]]>"))
				dst = appendLines(dst, rest[9:9+n])
				i += 9 + n + 3
			case bytes.HasPrefix(rest, []byte("<?")):
				i += bytes.Index(rest, []byte("?>")) + 2
			default:
				i += tagLen(rest)
			}
		}
	}
	return dst
}

// tagLen is the length of the tag b begins with, quotes respected.
func tagLen(b []byte) int {
	var quote byte
	for i, c := range b {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			return i + 1
		}
	}
	return len(b)
}

// appendAttr adds an attribute's value, references decoded, white space made blanks.
func appendAttr(dst, b []byte) []byte {
	for i := 0; i < len(b); {
		switch c := b[i]; c {
		case '&':
			var size int
			dst, size = appendReference(dst, b[i:])
			i += size
		case '\r':
			i++
			if i >= len(b) || b[i] != '\n' {
				dst = append(dst, ' ')
			}
		case '\n', '\t':
			dst = append(dst, ' ')
			i++
		default:
			dst = append(dst, c)
			i++
		}
	}
	return dst
}

func appendReference(dst, b []byte) ([]byte, int) {
	r, size := reference(b)
	if size == 0 {
		return append(dst, '&'), 1
	}
	if r == 0 {
		r = '\uFFFD'
	}
	return utf8.AppendRune(dst, r), size
}

func appendLines(dst, b []byte) []byte {
	for i, c := range b {
		if c == '\r' {
			if i+1 < len(b) && b[i+1] == '\n' {
				continue
			}
			c = '\n'
		}
		dst = append(dst, c)
	}
	return dst
}

// reference decodes the reference b begins with. A size of 0 means there is
// none that is known, a rune of 0 that its character does not exist.
func reference(b []byte) (r rune, size int) {
	n := bytes.IndexByte(b[:min(len(b), 64)], ';')
	if n < 3 { // no name is shorter than lt or #9
		return 0, 0
	}
	switch name := b[1:n]; {
	case name[0] == '#':
		if !isCharRef(name[1:]) {
			return 0, 0
		}
		return charRef(name[1:]), n + 1
	case string(name) == "lt":
		return '<', n + 1
	case string(name) == "gt":
		return '>', n + 1
	case string(name) == "amp":
		return '&', n + 1
	case string(name) == "quot":
		return '"', n + 1
	case string(name) == "apos":
		return '\'', n + 1
	}
	return 0, 0
}

func isCharRef(s []byte) bool {
	if len(s) > 1 && s[0] == 'x' {
		for _, c := range s[1:] {
			if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
				return false
			}
		}
		return true
	}
	return digits(s)
}

// charRef is the character of a decimal or x-hexadecimal number, or 0.
func charRef(s []byte) rune {
	base := rune(10)
	if len(s) > 0 && s[0] == 'x' {
		base, s = 16, s[1:]
	}
	var r rune
	for _, c := range s {
		d := rune(c - '0')
		if c > '9' {
			d = rune(c|0x20-'a') + 10
		}
		r = r*base + d
		if r > 0x10FFFF {
			return 0
		}
	}
	if r >= 0xD800 && r <= 0xDFFF {
		return 0
	}
	return r
}
