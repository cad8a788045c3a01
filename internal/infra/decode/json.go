package decode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/bits"

	"github.com/go-json-experiment/json/jsontext"
)

// Pages may repeat a key and hold bad UTF-8: the first is resolved by the walk
// (the last one wins), the second spoils one item only.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// validateJSON checks the bytes, so that the walk can be simple.
func validateJSON(body []byte) (charset, error) {
	if end, chars := scan(body, skipSpace(body, 0), 0, nil); end >= 0 && skipSpace(body, end) == len(body) {
		return chars, nil
	}
	return 0, notJSON(body)
}

// notJSON says why scan did not accept the body.
func notJSON(body []byte) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(body), lenient...)
	_, err := d.ReadValue()
	if end := d.InputOffset(); err == nil && skipSpace(body, int(end)) < len(body) {
		return &ShapeError{Kind: ShapeForeign, Offset: end, Detail: "something stands behind the value"}
	}
	e := &ShapeError{Kind: ShapeSyntax, Offset: d.InputOffset(), Detail: "not JSON", Err: err}
	if syn, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		e.Offset, e.Detail = syn.ByteOffset, syn.Err.Error()
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		e.Kind, e.Detail = ShapeCut, "unexpected end"
	}
	if at := tooDeep(body[:min(e.Offset+1, int64(len(body)))]); at >= 0 {
		return &LimitError{"depth", int64(at)}
	}
	return e
}

// tooDeep returns where broken JSON nests too deeply, or -1.
func tooDeep(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
			if depth > maxDepth {
				return i
			}
		case '}', ']':
			depth--
		}
	}
	return -1
}

// json walks a body whose syntax has been checked.
func (w *walk) json() {
	w.push(w.d.root, -1)
	w.value(skipSpace(w.body, w.base), 0, 0)
}

// value reads the value at i, whose states begin at lo, and returns where it
// ends. A negative result means that w.err is set.
func (w *walk) value(i, depth, lo int) int {
	if lo == len(w.states)-1 && w.states[lo].node.leaf {
		return w.leaf(i, depth, lo)
	}
	start, from := i, w.mark()
	item := w.enter(lo, int32(i), int32(i), w.body[i])
	if w.err != nil {
		return -1
	}
	to := w.mark()
	keys, elems := false, false
	for _, s := range w.states[lo:] {
		keys = keys || s.node.names != nil || s.node.any != nil
		elems = elems || s.node.elems != nil
	}
	switch c := w.body[i]; {
	case item == itemAhead && !keys && !elems:
		i = w.ahead.end()
	case c == '{' && keys:
		i = w.object(i, depth+1, lo)
	case c == '[' && elems:
		i = w.array(i, depth+1, lo)
	default:
		i = w.skip(i, depth)
	}
	if i < 0 {
		return i
	}
	w.leave(from, to, int32(i), int32(i))
	switch item {
	case itemAhead:
		w.inItem = false
		w.items = append(w.items, w.ahead.item())
	case itemHere:
		if w.endItem(start, i); w.err != nil {
			return -1
		}
	}
	return i
}

// leaf reads a value that is wanted as a whole.
func (w *walk) leaf(i, depth, lo int) int {
	s := &w.states[lo]
	end := w.skip(i, depth)
	if end < 0 {
		return end
	}
	for k := range s.node.ends {
		w.note(&s.node.ends[k], match{span: span{int32(i), int32(end)}, group: s.group})
	}
	if w.err != nil {
		return -1
	}
	return end
}

// seenKey is a key of an open object under which something was looked for.
type seenKey struct {
	name     []byte
	from, to mark
}

func (w *walk) object(i, depth, lo int) int {
	if depth > maxDepth {
		return w.limit("depth", i)
	}
	b := w.body
	hi := len(w.states)
	seen := len(w.seen)
	var many map[string]int // takes over from seen where keys are many
	for i = skipSpace(b, i+1); b[i] != '}'; {
		end := w.skipString(i)
		if end < 0 {
			return end
		}
		name := b[i+1 : end-1]
		if bytes.IndexByte(name, '\\') >= 0 {
			name, _ = jsontext.AppendUnquote(nil, b[i:end])
		}
		i = skipSpace(b, skipSpace(b, end)+1)
		for _, s := range w.states[lo:hi] {
			for _, e := range s.node.find(name) {
				w.push(e.to, s.group)
			}
			for _, e := range s.node.any {
				w.push(e.to, s.group)
			}
		}
		if len(w.states) == hi {
			i = w.skip(i, depth)
		} else {
			k := w.known(seen, name, &many)
			from := w.mark()
			if k >= 0 {
				w.kill(w.seen[k].from, w.seen[k].to)
			}
			i = w.value(i, depth, hi)
			w.states = w.states[:hi]
			if k < 0 {
				w.seen = append(w.seen, seenKey{name: name})
				k = len(w.seen) - 1
			}
			w.seen[k].from, w.seen[k].to = from, w.mark()
		}
		if i < 0 {
			return i
		}
		i = skipSpace(b, i)
		if b[i] == ',' {
			i = skipSpace(b, i+1)
		}
	}
	w.seen = w.seen[:seen]
	return i + 1
}

// known finds a key among those of the open object.
func (w *walk) known(from int, name []byte, many *map[string]int) int {
	if n := len(w.seen) - from; n > 64 {
		if *many == nil {
			*many = make(map[string]int, 2*n)
			for k := range n {
				(*many)[string(w.seen[from+k].name)] = from + k
			}
		}
		k, ok := (*many)[string(name)]
		if ok {
			return k
		}
		(*many)[string(name)] = len(w.seen)
		return -1
	}
	w.compared += len(w.seen) - from
	for k := from; k < len(w.seen); k++ {
		if string(w.seen[k].name) == string(name) {
			return k
		}
	}
	return -1
}

func (w *walk) array(i, depth, lo int) int {
	if depth > maxDepth {
		return w.limit("depth", i)
	}
	b := w.body
	hi := len(w.states)
	index := 0
	for i = skipSpace(b, i+1); b[i] != ']'; index++ {
		for _, s := range w.states[lo:hi] {
			for k := range s.node.elems {
				e := &s.node.elems[k]
				if e.step.kind == stepIndex && e.step.index != index || !w.passes(i, e.step.tests) {
					continue
				}
				w.push(e.to, s.group)
			}
		}
		if len(w.states) == hi {
			i = w.skip(i, depth)
		} else {
			i = w.value(i, depth, hi)
			w.states = w.states[:hi]
		}
		if i < 0 {
			return i
		}
		i = skipSpace(b, i)
		if b[i] == ',' {
			i = skipSpace(b, i+1)
		}
	}
	return i + 1
}

// passes reports whether the element at i fulfils all conditions.
func (w *walk) passes(i int, tests []test) bool {
	for k := range tests {
		t := &tests[k]
		at := i
		for _, key := range t.keys {
			at = w.member(at, key)
			if at < 0 {
				break
			}
		}
		ok := false
		switch t.kind {
		case testPresent:
			ok = at >= 0 && w.body[at] != 'n'
		case testEqual:
			ok = at >= 0 && w.is(at, t.value)
		case testUnequal:
			ok = at < 0 || !w.is(at, t.value)
		}
		if !ok {
			return false
		}
	}
	return true
}

// member returns where the value of a key is in the object at i, or -1.
func (w *walk) member(i int, key string) int {
	b, at := w.body, -1
	if b[i] != '{' {
		return -1
	}
	for i = skipSpace(b, i+1); b[i] != '}'; {
		end := w.skipString(i)
		if end < 0 {
			return -1
		}
		name := b[i+1 : end-1]
		if bytes.IndexByte(name, '\\') >= 0 {
			name, _ = jsontext.AppendUnquote(nil, b[i:end])
		}
		i = skipSpace(b, skipSpace(b, end)+1)
		if string(name) == key {
			at = i
		}
		i = w.skip(i, 0)
		if i < 0 {
			return -1
		}
		i = skipSpace(b, i)
		if b[i] == ',' {
			i = skipSpace(b, i+1)
		}
	}
	return at
}

func (w *walk) is(i int, value string) bool {
	end := w.skip(i, 0)
	if end < 0 {
		return false
	}
	v := w.body[i:end]
	if v[0] != '"' {
		return string(v) == value
	}
	if bytes.IndexByte(v, '\\') >= 0 {
		v, _ = jsontext.AppendUnquote(nil, v)
		return string(v) == value
	}
	return string(v[1:len(v)-1]) == value
}

// Classes of bytes outside strings.
const (
	plain = iota
	quote
	opening
	closing
)

var class = [256]uint8{'"': quote, '{': opening, '[': opening, '}': closing, ']': closing}

// after are the bytes that may follow a number or a name.
var after = [256]bool{',': true, ']': true, '}': true, ' ': true, '\t': true, '\r': true, '\n': true}

// skip returns where the value at i ends.
func (w *walk) skip(i, depth int) int {
	b := w.body
	switch b[i] {
	case '"':
		return w.skipString(i)
	case '{', '[':
		for len(w.jumps) > 0 && int(w.jumps[0].start) < i {
			w.jumps = w.jumps[1:]
		}
		if len(w.jumps) > 0 && int(w.jumps[0].start) == i {
			return int(w.jumps[0].end)
		}
	default:
		for i < len(b) && !after[b[i]] {
			i++
		}
		return i
	}
	n := depth
	for {
		switch class[b[i]] {
		case plain:
			i++
		case quote:
			i = w.skipString(i)
			if i < 0 {
				return i
			}
		case opening:
			n++
			if n > maxDepth && w.spoils == nil {
				return w.limit("depth", i)
			}
			i++
		case closing:
			i++
			n--
			if n == depth {
				return i
			}
		}
	}
}

// skipString returns where the string that opens at i ends.
func (w *walk) skipString(i int) int {
	b := w.body
	j := i + 1
	for {
		j = nextQuote(b, j)
		if b[j-1] != '\\' {
			break
		}
		n := 1
		for b[j-1-n] == '\\' {
			n++
		}
		if n%2 == 0 {
			break
		}
		j++
	}
	if j-i > maxString && w.spoils == nil {
		return w.limit("string", i)
	}
	return j + 1
}

// nextQuote returns where the next quotation mark at or after i is; there must
// be one. Most strings are so short that calling for a search costs more than
// looking at eight bytes at once.
func nextQuote(b []byte, i int) int {
	for range 4 {
		if i+8 > len(b) {
			break
		}
		x := binary.LittleEndian.Uint64(b[i:])
		if m := zeros(x^ones*'"') & highs; m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		i += 8
	}
	return i + bytes.IndexByte(b[i:], '"')
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}
