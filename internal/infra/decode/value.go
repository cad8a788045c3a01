package decode

import (
	"bytes"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// pick is a compiled source.Pick: where a value is and what is done to it.
type pick struct {
	slot  int32
	all   []int32 // slots of a value put together, in place of slot
	sep   []byte  // between them
	label int32   // slot of a heading within the match, or -1
	parts *parts
	form  timeForm
	clean []cleaner
	// split cuts what the transforms leave into values of their own, which go
	// through after; nil where a value stays one.
	split []byte
	after []cleaner
	// inverted: JSON, the value is an inverted index.
	inverted bool
	raw      bool // XML: the first transform wants the markup
}

// parts are the places of a date.
type parts struct {
	list bool     // slot is an array
	sub  [3]int32 // year, month, day within the match; -1 where not declared
}

// span returns the bytes a match covers.
func (w *walk) bytes(s span) []byte { return w.body[s.start:s.end:s.end] }

// matchText is the text of a match before any cleaning; nil if it has none.
func (w *walk) matchText(x *match, raw bool) []byte {
	if w.part != nil && x.span == w.parted {
		return w.part
	}
	b := w.bytes(x.span)
	if w.d.json {
		return w.scalar(b)
	}
	if x.flags&flagAttr != 0 {
		if bytes.ContainsAny(b, "&\r\n\t") {
			from := len(w.text.buf)
			w.text.buf = appendAttr(w.text.buf, b)
			return w.text.take(from)
		}
		return b
	}
	if raw {
		return b
	}
	for _, c := range b {
		if c == '<' || c == '&' || c == '\r' {
			from := len(w.text.buf)
			w.text.buf = appendText(w.text.buf, b)
			return w.text.take(from)
		}
	}
	return b
}

// scalar is the text of a JSON string, number or boolean; nil for all else.
func (w *walk) scalar(b []byte) []byte {
	switch b[0] {
	case '"':
		if len(b) > maxString+2 { // of an item that is spoilt by it
			return nil
		}
		if bytes.IndexByte(b, '\\') < 0 {
			return b[1 : len(b)-1]
		}
		from := len(w.text.buf)
		if w.spoils == nil { // the string is one that JSON allows
			w.text.buf = appendUnquoted(w.text.buf, b)
			return w.text.take(from)
		}
		var err error
		w.text.buf, err = jsontext.AppendUnquote(w.text.buf, b)
		if err != nil {
			return nil
		}
		return w.text.take(from)
	case '{', '[', 'n':
		return nil
	}
	return b
}

// appendUnquoted appends the text of a JSON string. Most of what is escaped are strokes, quotation
// marks and ends of lines; what is not is left to the library.
func appendUnquoted(dst, quoted []byte) []byte {
	before := len(dst)
	text := quoted[1 : len(quoted)-1]
	for {
		n := bytes.IndexByte(text, '\\')
		if n < 0 {
			dst = append(dst, text...)
			break
		}
		c := plainEscapes[text[n+1]]
		if c == 0 {
			dst, _ = jsontext.AppendUnquote(dst[:before], quoted)
			return dst
		}
		dst = append(dst, text[:n]...)
		dst = append(dst, c)
		text = text[n+2:]
	}
	if !utf8.Valid(dst[before:]) {
		dst, _ = jsontext.AppendUnquote(dst[:before], quoted)
	}
	return dst
}

// plainEscapes has what each letter behind a backslash stands for, 0 for u.
var plainEscapes = [256]byte{'/': '/', '"': '"', '\\': '\\', 'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f'}

// textOf is the text of a match as the transforms of p want it.
func (w *walk) textOf(p *pick, x *match) []byte {
	if p.inverted {
		return w.inverted(x.span)
	}
	return w.matchText(x, p.raw)
}

// composed puts a value together of the first text at each of its places; nil
// if one of them has none.
func (w *walk) composed(m *matches, p *pick, group int32) []byte {
	var parts [maxComposed][]byte
	for i, slot := range p.all {
		for k := m.first(slot, group); k >= 0 && len(parts[i]) == 0; k = m.after(k) {
			parts[i] = bytes.TrimSpace(w.matchText(&m.list[k], false))
		}
		if len(parts[i]) == 0 {
			return nil
		}
	}
	from := len(w.text.buf)
	for i := range p.all {
		if i > 0 {
			w.text.buf = append(w.text.buf, p.sep...)
		}
		w.text.buf = append(w.text.buf, parts[i]...)
	}
	return w.text.take(from)
}

// maxComposed bounds the places of one value.
const maxComposed = 16

// yield calls f with what the transforms of p make of v, which may be several
// values, and reports whether to go on.
func (w *walk) yield(p *pick, v []byte, k int32, f func(v []byte, k int32) bool) bool {
	v = w.transform(p.clean, v)
	if p.split == nil {
		v = w.polish(p, v)
		if v == nil {
			return true
		}
		return f(v, k)
	}
	for part := range bytes.SplitSeq(v, p.split) {
		part = w.polish(p, w.transform(p.after, bytes.TrimSpace(part)))
		if part != nil && !f(part, k) {
			return false
		}
	}
	return true
}

// transform applies transforms; nil if nothing is left. A value that is not
// there stays so: no transform makes one of nothing.
func (w *walk) transform(list []cleaner, v []byte) []byte {
	if len(v) == 0 {
		return nil
	}
	for _, c := range list {
		v = c(&w.text, v)
		if len(v) == 0 {
			return nil
		}
	}
	return v
}

// polish writes a date in its declared form; nil for a value that says nothing.
func (w *walk) polish(p *pick, v []byte) []byte {
	if p.form.kind != timeNone {
		d, ok := p.form.date(v, w.d.zone)
		if !ok {
			return nil
		}
		from := len(w.text.buf)
		w.text.buf = d.append(w.text.buf)
		return w.text.take(from)
	}
	if blank(v) {
		return nil
	}
	return v
}

func blank(v []byte) bool {
	for _, c := range v {
		if c != ' ' && (c < '\t' || c > '\r') {
			return false
		}
	}
	return true
}

// each calls f with every value of p within group that is not empty, until it
// returns false. Arrays are taken apart if wanted; k is the match.
func (w *walk) each(m *matches, p *pick, group int32, arrays bool, f func(v []byte, k int32) bool) {
	if p.all != nil {
		w.yield(p, w.composed(m, p, group), -1, f)
		return
	}
	for k := m.first(p.slot, group); k >= 0; k = m.after(k) {
		if p.parts != nil {
			if d, _, _ := w.partsDate(p, k); d.year > 0 {
				from := len(w.text.buf)
				w.text.buf = d.append(w.text.buf)
				if !f(w.text.take(from), k) {
					return
				}
			}
			continue
		}
		s := m.list[k].span
		if arrays && w.d.json && w.body[s.start] == '[' {
			if !w.elements(s, func(b []byte) bool { return w.yield(p, w.scalar(b), k, f) }) {
				return
			}
			continue
		}
		if !w.yield(p, w.textOf(p, &m.list[k]), k, f) {
			return
		}
	}
}

// elements calls f with every element of the array at s.
func (w *walk) elements(s span, f func([]byte) bool) bool {
	b := w.body
	for i := skipSpace(b, int(s.start)+1); b[i] != ']'; {
		end := w.skip(i, 0)
		if end < 0 {
			return false
		}
		if !f(b[i:end:end]) {
			return false
		}
		i = skipSpace(b, end)
		if b[i] == ',' {
			i = skipSpace(b, i+1)
		}
	}
	return true
}

// firstOf returns the first value of the picks that yields one.
func (w *walk) firstOf(m *matches, picks []pick, group int32) (v []byte) {
	for i := range picks {
		w.each(m, &picks[i], group, false, func(x []byte, _ int32) bool {
			v = x
			return false
		})
		if v != nil {
			return v
		}
	}
	return nil
}

// partsDate puts together the date at match k of the item.
func (w *walk) partsDate(p *pick, k int32) (d date, whole, present bool) {
	m := &w.item
	if p.parts.list {
		return w.listDate(m.list[k].span)
	}
	var v [3][]byte
	for i, slot := range p.parts.sub {
		if slot >= 0 {
			if n := m.first(slot, k); n >= 0 {
				v[i] = w.matchText(&m.list[n], false)
			}
		}
	}
	if blank(v[0]) {
		return date{}, false, false
	}
	d, whole = newDate(v[0], v[1], v[2])
	return d, whole, true
}

// instantOf returns the update time: the first that can be read. Bad is one
// that is there and cannot.
func (w *walk) instantOf(picks []pick) (t time.Time, bad []byte) {
	read := func(p *pick, v []byte) bool {
		v = w.transform(p.clean, v)
		if p.split != nil {
			v, _, _ = bytes.Cut(v, p.split)
			v = w.transform(p.after, bytes.TrimSpace(v))
		}
		if blank(v) {
			return false
		}
		at, err := p.form.instant(v, w.d.zone)
		if err == nil {
			t = at
		} else if bad == nil {
			bad = v
		}
		return err == nil
	}
	for i := range picks {
		p := &picks[i]
		if p.all != nil {
			if read(p, w.composed(&w.item, p, -1)) {
				return t, nil
			}
			continue
		}
		for k := w.item.first(p.slot, -1); k >= 0; k = w.item.after(k) {
			if p.parts != nil {
				d, whole, present := w.partsDate(p, k)
				if whole {
					return d.midnight(w.d.zone), nil
				}
				if present && bad == nil {
					bad = []byte("parts of a date")
				}
				continue
			}
			if read(p, w.textOf(p, &w.item.list[k])) {
				return t, nil
			}
		}
	}
	return time.Time{}, bad
}

// integer reads a whole number, also one written 12.0, 1.2e1 or 1,234 (P7).
func integer(v []byte) (int64, bool) {
	v = bytes.TrimSpace(v)
	if bytes.IndexByte(v, ',') >= 0 {
		v = cleanNumber(nil, v)
	}
	if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
		return n, v[0] != '+'
	}
	if len(v) == 0 || len(v) > 32 || !decimalOrExp(v) {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

func decimalOrExp(v []byte) bool {
	for _, c := range v {
		if (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			return false
		}
	}
	return true
}
