// Package markup takes the markup out of texts. Titles and abstracts come with the
// elements of JATS, MathML and HTML in them, and with signs of less and greater that
// are words of the text: one list says which is which.
package markup

import (
	"html"
	"strings"
)

// Tag is a piece of markup inside a text.
type Tag struct {
	// Name is in small letters, without a prefix; that of a comment is empty.
	Name    string
	Closing bool
	// Block: words on either side of it are not one.
	Block bool
}

// text is a value as a text or as bytes.
type text interface{ ~string | ~[]byte }

// Cut cuts v into text and tags. It knows which names are markup: a text may well say
// "p<a and b>c".
func Cut[T text](v T, text func(T), mark func(Tag)) {
	from := 0 // of the text that was not given yet
	for i := 0; i < len(v); i++ {
		if v[i] != '<' {
			continue
		}
		t, size := readTag(v[i:])
		if size == 0 {
			continue
		}
		if i > from {
			text(v[from:i])
		}
		mark(t)
		from = i + size
		i = from - 1
	}
	if from < len(v) {
		text(v[from:])
	}
}

// longest bounds the search for the end of a tag.
const longest = 4096

// readTag reads the tag that v begins with; a size of 0 means that it is none.
func readTag[T text](v T) (t Tag, size int) {
	v = v[:min(len(v), longest)]
	if isComment(v) {
		return Tag{}, commentLen(v)
	}
	i := 1
	if i < len(v) && v[i] == '/' {
		t.Closing = true
		i++
	}
	start := i
	for i < len(v) && isName(v[i]) {
		i++
	}
	if i == start || i-start > 40 {
		return Tag{}, 0
	}
	end := i
	for end < len(v) && v[end] != '>' {
		end++
	}
	if end == len(v) || !isInside(v[i:end]) {
		return Tag{}, 0
	}
	prefix, local, prefixed := strings.Cut(strings.ToLower(string(v[start:i])), ":")
	if !prefixed {
		prefix, local = "", prefix
	}
	block, known := elements[local]
	if !known && !vocabularies[prefix] {
		return Tag{}, 0
	}
	t.Name = local
	t.Block = block
	return t, end + 1
}

func isComment[T text](v T) bool { return len(v) >= 4 && string(v[:4]) == "<!--" }

// commentLen is the length of a comment with its end, 0 if it has none.
func commentLen[T text](v T) int {
	for i := 4; i+3 <= len(v); i++ {
		if v[i] == '-' && v[i+1] == '-' && v[i+2] == '>' {
			return i + 3
		}
	}
	return 0
}

func isName(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == ':' || c == '_' || c == '.'
}

// isInside reports whether what stands between the name of a tag and its end may stand
// there: nothing, or blanks and attributes.
func isInside[T text](v T) bool {
	if len(v) > 0 && v[len(v)-1] == '/' {
		v = v[:len(v)-1]
	}
	equals := false
	said := false
	for i := range len(v) {
		switch v[i] {
		case '<':
			return false
		case '=':
			equals = true
		case ' ', '\n', '\t', '\r':
			continue
		}
		said = true
	}
	if !said {
		return true
	}
	first := v[0]
	return equals && (first == ' ' || first == '\n' || first == '\t' || first == '\r')
}

// vocabularies are prefixes all of whose elements are markup.
var vocabularies = map[string]bool{"jats": true, "mml": true, "m": true, "xhtml": true, "html": true}

// elements are the names of markup met in titles and abstracts; true for those that
// separate words.
var elements = func() map[string]bool {
	m := make(map[string]bool)
	for n := range strings.FieldsSeq(`a abbr abbrev alternatives annotation b bold cite code del dfn em email emph
		ext-link fixed-case fn font formula graphic i img inf inline-formula inline-graphic inline-supplementary-material ins
		italic kbd label maction math mathvariant mfenced mfrac mi mml mmultiscripts mn mo mover mpadded mphantom mprescripts
		mroot mrow ms mspace msqrt mstyle msub msubsup msup mtable mtd mtext mtr munder munderover monospace
		named-content none named overline q related-article roman s samp sans-serif sc scp semantics small span
		strike strong styled-content sub sup tex-math tt u underline uri var xref`) {
		m[n] = false
	}
	for n := range strings.FieldsSeq(`abstract blockquote br caption center dd def def-item def-list disp-formula disp-quote div dl dt
		h1 h2 h3 h4 h5 h6 hr li list list-item ol p pre sec section table tbody td term th thead title tr ul`) {
		m[n] = true
	}
	return m
}()

// Plain takes markup and character references out of a text, in two rounds: sources
// send markup that was escaped once more than it should be.
func Plain(s string) string {
	for range 2 {
		if !strings.ContainsAny(s, "<&") {
			return s
		}
		s = html.UnescapeString(withoutTags(s))
	}
	return withoutTags(s)
}

func withoutTags(s string) string {
	if !strings.Contains(s, "<") {
		return s
	}
	var b strings.Builder
	Cut(s, func(text string) { b.WriteString(text) }, func(t Tag) {
		if t.Block {
			b.WriteByte(' ')
		}
	})
	return b.String()
}
