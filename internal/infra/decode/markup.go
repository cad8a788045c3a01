package decode

import (
	"bytes"
	"strings"
)

// tag is a piece of markup inside a text.
type tag struct {
	name    string // small letters, without prefix
	closing bool
	block   bool // words on either side of it are not one
}

// markup cuts v into text and tags. It knows which names are markup: a text
// may well say "p<a and b>c".
func markup(v []byte, text func([]byte), mark func(tag)) {
	for len(v) > 0 {
		n := bytes.IndexByte(v, '<')
		if n < 0 {
			text(v)
			return
		}
		t, size := readTag(v[n:])
		if size == 0 {
			text(v[:n+1])
			v = v[n+1:]
			continue
		}
		text(v[:n])
		mark(t)
		v = v[n+size:]
	}
}

// maxTag bounds the search for the end of a tag.
const maxTag = 4096

// readTag reads the tag b begins with; a size of 0 means it is none.
func readTag(b []byte) (t tag, size int) {
	b = b[:min(len(b), maxTag)]
	if bytes.HasPrefix(b, []byte("<!--")) {
		if n := bytes.Index(b[4:], []byte("-->")); n >= 0 {
			return tag{}, 4 + n + 3
		}
		return tag{}, 0
	}
	i := 1
	if i < len(b) && b[i] == '/' {
		t.closing = true
		i++
	}
	start := i
	for i < len(b) && nameByte[b[i]] && b[i] < 0x80 {
		i++
	}
	name := b[start:i]
	if len(name) == 0 || len(name) > 40 {
		return tag{}, 0
	}
	end := bytes.IndexByte(b[i:], '>')
	if end < 0 {
		return tag{}, 0
	}
	in := bytes.TrimSuffix(bytes.TrimSpace(b[i:i+end]), []byte("/"))
	if len(in) > 0 && (b[i] != ' ' && b[i] != '\n' && b[i] != '\t' && b[i] != '\r' || bytes.IndexByte(in, '=') < 0) || bytes.IndexByte(in, '<') >= 0 {
		return tag{}, 0
	}
	prefix, local, ok := strings.Cut(strings.ToLower(string(name)), ":")
	if !ok {
		prefix, local = "", prefix
	}
	block, known := inline[local]
	switch {
	case known:
	case prefix == "jats" || prefix == "mml":
	default:
		return tag{}, 0
	}
	t.name, t.block = local, block
	return t, i + end + 1
}

// inline are the names of markup met in titles and abstracts; true for those
// that separate words.
var inline = func() map[string]bool {
	m := make(map[string]bool)
	for n := range strings.FieldsSeq(`a abbr abbrev alternatives annotation b bold caption cite code del dfn em email
		ext-link fn font graphic i img inf inline-formula inline-graphic inline-supplementary-material ins
		italic kbd label maction math mathvariant mfenced mfrac mi mmultiscripts mn mo mover mpadded mphantom mprescripts
		mroot mrow ms mspace msqrt mstyle msub msubsup msup mtable mtd mtext mtr munder munderover monospace
		named-content none named overline q related-article roman s samp sans-serif sc scp semantics small span
		strike strong styled-content sub sup tex-math tt u underline uri var xref`) {
		m[n] = false
	}
	for n := range strings.FieldsSeq(`abstract blockquote br center dd def def-item def-list disp-formula disp-quote div dl dt
		h1 h2 h3 h4 h5 h6 hr li list list-item ol p sec section table tbody td term th thead title tr ul`) {
		m[n] = true
	}
	return m
}()
