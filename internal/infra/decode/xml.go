package decode

import (
	"bytes"
	"slices"
)

// The scanner is our own: the lexer measured for this place (tdewolff) turns
// line breaks inside attributes into blanks in the caller's bytes, so that Raw
// and its hash would not be what was received, and it gives a page up at the
// first NUL where only one item is spoilt.

// frame is an open element.
type frame struct {
	name     span
	start    int32 // of its start tag
	states   int32 // where its own begin
	counters int32
	from, to mark // its matches
	item     itemKind
}

// attr is an attribute of the start tag being read.
type attr struct{ name, value span }

// binding is a prefix and the number of the namespace it stands for, 0 for one
// that no path speaks of.
type binding struct {
	prefix span
	space  int32
	depth  int // of the element that binds it
}

// attr finds an attribute by local name; a prefix or namespace, if given, must
// match.
func (w *walk) attr(prefix string, space int32, name string) *attr {
	for i := range w.attrs {
		a := &w.attrs[i]
		if p, n := w.split(a.name); string(n) == name && (prefix == "" || string(p) == prefix) && string(p) != "xmlns" &&
			(space == 0 || len(p) > 0 && w.space(p) == space) {
			return a
		}
	}
	return nil
}

// bind notes the namespaces that the start tag just read binds to prefixes.
func (w *walk) bind() bool {
	for i := range w.attrs {
		a := &w.attrs[i]
		p, n := w.split(a.name)
		prefix := span{a.name.end - int32(len(n)), a.name.end}
		switch {
		case string(p) == "xmlns":
		case p == nil && string(n) == "xmlns":
			prefix.start = prefix.end
		default:
			continue
		}
		if len(w.bound) >= maxSpaces {
			w.limit("namespaces", int(a.name.start))
			return false
		}
		v := w.body[a.value.start:a.value.end]
		if bytes.IndexByte(v, '&') >= 0 {
			v = appendAttr(nil, v)
		}
		w.bound = append(w.bound, binding{prefix, int32(slices.Index(w.d.spaces, string(v)) + 1), len(w.frames)})
	}
	return true
}

// space is the number of the namespace a prefix stands for here, 0 if none that
// a path speaks of.
func (w *walk) space(prefix []byte) int32 {
	for i := len(w.bound) - 1; i >= 0; i-- {
		if b := &w.bound[i]; string(w.body[b.prefix.start:b.prefix.end]) == string(prefix) {
			return b.space
		}
	}
	for i := len(w.outer) - 1; i >= 0; i-- {
		if w.outer[i].prefix == string(prefix) {
			return w.outer[i].space
		}
	}
	return 0
}

// split a name into prefix and local part.
func (w *walk) split(s span) (prefix, local []byte) {
	n := w.body[s.start:s.end]
	if i := bytes.IndexByte(n, ':'); i > 0 && i < len(n)-1 {
		return n[:i], n[i+1:]
	}
	return nil, n
}

// xml walks the body and checks that it is well-formed as it goes.
func (w *walk) xml() {
	w.push(w.d.root, -1)
	w.ampersand = bytes.IndexByte(w.body, '&') >= 0
	w.markup(w.base)
}

// markup walks the body from i on.
func (w *walk) markup(i int) {
	b := w.body
	begun := false
	for i < len(b) {
		if b[i] != '<' {
			i = w.chars(i, begun)
		} else if i+1 >= len(b) {
			w.shape(ShapeCut, i, "unexpected end")
			return
		} else {
			switch b[i+1] {
			case '/':
				i = w.endTag(i)
			case '?':
				i = w.instruction(i)
			case '!':
				i = w.declaration(i, begun)
			default:
				if begun && len(w.frames) == 0 {
					w.shape(ShapeForeign, i, "more than one root element")
					return
				}
				begun = true
				i = w.startTag(i)
			}
		}
		if i < 0 || w.err != nil {
			return
		}
	}
	if len(w.frames) > 0 {
		w.shape(ShapeCut, len(b), "element <"+w.clip(w.frames[len(w.frames)-1].name)+"> is not closed")
	} else if !begun {
		w.shape(ShapeCut, len(b), "no root element")
	}
}

// clip quotes a piece of the reply in a message.
func (w *walk) clip(s span) string {
	return string(bytes.ToValidUTF8(w.body[s.start:min(s.end, s.start+40)], []byte("?")))
}

// chars reads text up to the next tag.
func (w *walk) chars(i int, begun bool) int {
	b := w.body
	end := len(b)
	if n := bytes.IndexByte(b[i:], '<'); n >= 0 {
		end = i + n
	}
	if len(w.frames) == 0 {
		if k := skipSpace(b[:end], i); k < end {
			if begun {
				return w.shape(ShapeForeign, k, "text behind the root element")
			}
			return w.shape(ShapeSyntax, k, "text outside the root element")
		}
		return end
	}
	if end-i > maxString && !w.over(spoilString, "string", i) {
		return -1
	}
	if w.ampersand && !w.references(i, end) {
		return -1
	}
	return end
}

// references checks that all of them between i and end can be decoded.
func (w *walk) references(i, end int) bool {
	for {
		n := bytes.IndexByte(w.body[i:end], '&')
		if n < 0 {
			return true
		}
		i += n
		r, size := reference(w.body[i:end])
		if size == 0 {
			w.shape(ShapeSyntax, i, "unknown or broken entity reference")
			return false
		}
		if r == 0 {
			if !w.inItem {
				w.shape(ShapeSyntax, i, "reference to a character that does not exist")
				return false
			}
			w.badText = true
		}
		i += size
	}
}

// instruction skips <?...?>; the XML declaration must not name an encoding
// that the bytes are not in.
func (w *walk) instruction(i int) int {
	b := w.body
	n := bytes.Index(b[i+2:], []byte("?>"))
	if n < 0 {
		return w.shape(ShapeCut, i, "processing instruction is not closed")
	}
	in := b[i+2 : i+2+n]
	if i == w.base && bytes.HasPrefix(in, []byte("xml")) {
		if enc := declared(in); !bytes.EqualFold(enc, []byte("utf-8")) && len(enc) > 0 && !ascii(b) {
			return w.shape(ShapeForeign, i, "declared encoding is not UTF-8")
		}
	}
	return i + 2 + n + 2
}

func declared(decl []byte) []byte {
	_, v, ok := bytes.Cut(decl, []byte("encoding"))
	v = bytes.TrimLeft(v, " \t\r\n=")
	if !ok || len(v) == 0 || v[0] != '"' && v[0] != '\'' {
		return nil
	}
	v, _, _ = bytes.Cut(v[1:], v[:1])
	return v
}

func ascii(b []byte) bool {
	for _, c := range b {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// declaration reads what begins with <!: a comment, CDATA or a DOCTYPE, which
// may name a DTD but not hold one (R50).
func (w *walk) declaration(i int, begun bool) int {
	b := w.body[i:]
	switch {
	case bytes.HasPrefix(b, []byte("<!--")):
		n := bytes.Index(b[4:], []byte("-->"))
		if n < 0 {
			return w.shape(ShapeCut, i, "comment is not closed")
		}
		return i + 4 + n + 3
	case bytes.HasPrefix(b, []byte("<![CDATA[")):
		if len(w.frames) == 0 {
			return w.shape(ShapeSyntax, i, "text outside the root element")
		}
		n := bytes.Index(b[9:], []byte("]]>"))
		if n < 0 {
			return w.shape(ShapeCut, i, "CDATA is not closed")
		}
		if n > maxString && !w.over(spoilString, "string", i) {
			return -1
		}
		return i + 9 + n + 3
	case bytes.HasPrefix(b, []byte("<!DOCTYPE")) && !begun:
		var quote byte
		for k := 9; k < len(b); k++ {
			switch c := b[k]; {
			case quote != 0:
				if c == quote {
					quote = 0
				}
			case c == '"' || c == '\'':
				quote = c
			case c == '[' || c == '<':
				return w.limit("dtd", i+k)
			case c == '>':
				return i + k + 1
			}
		}
		return w.shape(ShapeCut, i, "DOCTYPE is not closed")
	case bytes.HasPrefix([]byte("<![CDATA["), b) || bytes.HasPrefix([]byte("<!DOCTYPE"), b):
		return w.shape(ShapeCut, i, "unexpected end")
	}
	return w.shape(ShapeSyntax, i, "unexpected declaration")
}

func (w *walk) startTag(i int) int {
	b := w.body
	j := i + 1
	if !nameStart(b[j]) {
		return w.shape(ShapeSyntax, i, "tag without a name")
	}
	for j < len(b) && nameByte[b[j]] {
		j++
	}
	f := frame{name: span{int32(i + 1), int32(j)}, start: int32(i), states: int32(len(w.states)), counters: int32(len(w.counters))}
	w.attrs = w.attrs[:0]
	void := false
	for {
		k := skipSpace(b, j)
		if k >= len(b) {
			return w.shape(ShapeCut, i, "tag is not closed")
		}
		if b[k] == '>' {
			j = k + 1
			break
		}
		if b[k] == '/' {
			if k+1 >= len(b) {
				return w.shape(ShapeCut, i, "tag is not closed")
			}
			if b[k+1] != '>' {
				return w.shape(ShapeSyntax, k, "stray slash in a tag")
			}
			void, j = true, k+2
			break
		}
		if k == j {
			return w.shape(ShapeSyntax, k, "no blank before an attribute")
		}
		j = w.attribute(k)
		if j < 0 {
			return j
		}
	}
	if len(w.frames) >= maxDepth {
		if !w.over(spoilDepth, "depth", i) {
			return -1
		}
		if !void {
			w.deep++
		}
		return j
	}
	if len(w.d.spaces) > 0 && !w.bind() {
		return -1
	}
	lo := 0
	if n := len(w.frames); n > 0 {
		lo = int(w.frames[n-1].states)
	}
	if w.again && len(w.frames) == 0 {
		w.push(w.itemNode, -1)
	} else {
		w.descend(lo, int(f.states), f.name)
	}
	f.from = w.mark()
	if len(w.states) > int(f.states) {
		f.item = w.enter(int(f.states), int32(i), int32(j), '<')
	}
	f.to = w.mark()
	w.frames = append(w.frames, f)
	if void {
		w.pop(j, j)
	}
	return j
}

// attribute reads one and returns where it ends.
func (w *walk) attribute(i int) int {
	b := w.body
	if !nameStart(b[i]) {
		return w.shape(ShapeSyntax, i, "attribute without a name")
	}
	j := i
	for j < len(b) && nameByte[b[j]] {
		j++
	}
	name := span{int32(i), int32(j)}
	j = skipSpace(b, j)
	if j < len(b) && b[j] != '=' {
		return w.shape(ShapeSyntax, j, "attribute without a value")
	}
	j = skipSpace(b, j+1)
	if j >= len(b) {
		return w.shape(ShapeCut, i, "tag is not closed")
	}
	q := b[j]
	if q != '"' && q != '\'' {
		return w.shape(ShapeSyntax, j, "attribute value without quotes")
	}
	start, refs := j+1, false
	for j = start; j < len(b) && b[j] != q; j++ {
		if b[j] == '<' {
			return w.shape(ShapeSyntax, j, "< in an attribute")
		}
		refs = refs || b[j] == '&'
	}
	if j >= len(b) {
		return w.shape(ShapeCut, i, "attribute is not closed")
	}
	if j-start > maxString && !w.over(spoilString, "string", start) {
		return -1
	}
	if refs && !w.references(start, j) {
		return -1
	}
	w.attrs = append(w.attrs, attr{name, span{int32(start), int32(j)}})
	return j + 1
}

// descend pushes the states that follow those from lo to hi for an element.
func (w *walk) descend(lo, hi int, name span) {
	if lo == hi {
		return
	}
	prefix, local := w.split(name)
	space := int32(0)
	if len(w.bound)+len(w.outer) > 0 {
		space = w.space(prefix)
	}
	for k := lo; k < hi; k++ {
		s := w.states[k]
		for _, edges := range [2][]edge{s.node.find(local), s.node.any} {
			for i := range edges {
				e := &edges[i]
				if (e.step.prefix == "" || e.step.prefix == string(prefix)) && (e.step.space == 0 || e.step.space == space) && w.fits(e.step.tests, s.cnt) {
					w.push(e.to, s.group)
				}
			}
		}
	}
}

// fits evaluates the conditions on the start tag just read, in order: a
// position counts those that passed the conditions before it.
func (w *walk) fits(tests []test, cnt int32) bool {
	for i := range tests {
		t := &tests[i]
		if t.kind == testPos {
			c := &w.counters[cnt+int32(t.cnt)]
			*c++
			if int(*c) != t.pos {
				return false
			}
			continue
		}
		a := w.attr(t.prefix, t.space, t.keys[0])
		equal := false
		if a != nil && t.kind != testPresent {
			v := w.body[a.value.start:a.value.end]
			equal = string(v) == t.value || bytes.IndexByte(v, '&') >= 0 && string(appendAttr(nil, v)) == t.value
		}
		switch t.kind {
		case testPresent:
			if a == nil {
				return false
			}
		case testEqual:
			if !equal {
				return false
			}
		case testUnequal:
			if equal {
				return false
			}
		}
	}
	return true
}

func (w *walk) endTag(i int) int {
	b := w.body
	if len(w.frames) == 0 {
		return w.shape(ShapeSyntax, i, "end tag without a start")
	}
	if w.deep > 0 { // inside what is only counted
		n := bytes.IndexByte(b[i:], '>')
		if n < 0 {
			return w.shape(ShapeCut, i, "end tag is not closed")
		}
		w.deep--
		return i + n + 1
	}
	f := &w.frames[len(w.frames)-1]
	name := b[f.name.start:f.name.end]
	j := i + 2
	if len(b)-j > len(name) && string(b[j:j+len(name)]) == string(name) && !nameByte[b[j+len(name)]] {
		j = skipSpace(b, j+len(name))
		if j < len(b) && b[j] == '>' {
			w.pop(i, j+1)
			return j + 1
		}
	}
	if bytes.IndexByte(b[j:], '>') < 0 {
		return w.shape(ShapeCut, i, "end tag is not closed")
	}
	return w.shape(ShapeSyntax, i, "end tag does not match <"+w.clip(f.name)+">")
}

// pop closes the innermost element, whose content ends at inner.
func (w *walk) pop(inner, outer int) {
	f := w.frames[len(w.frames)-1]
	w.frames = w.frames[:len(w.frames)-1]
	w.states, w.counters = w.states[:f.states], w.counters[:f.counters]
	for n := len(w.bound); n > 0 && w.bound[n-1].depth >= len(w.frames); n-- {
		w.bound = w.bound[:n-1]
	}
	w.leave(f.from, f.to, int32(inner), int32(outer))
	if f.item == itemHere {
		w.endItem(int(f.start), outer)
	}
}
