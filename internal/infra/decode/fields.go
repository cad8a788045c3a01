package decode

import (
	"bytes"
	"encoding/binary"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/papertrace/patra/internal/domain/source"
)

// field is a compiled source.Field.
type field struct {
	name     string
	key      []byte // "name":
	kind     string
	picks    []pick
	join     string
	count    []int32   // slots whose values a NUMBER counts
	objects  []objects // alternatives of OBJECTS
	split    []byte    // OBJECTS: what parts the text of which each is one; nil if there is one text for each
	entries  []entry
	required bool
	allowed  map[string]bool // the values it may have; nil: any
	pattern  *regexp.Regexp  // what a value must match; nil: nothing
}

// odd is a value that a field may not have.
type odd struct {
	field string
	value string
}

// judge remembers the first value of the item that its field may not have.
func (w *walk) judge(f *field, v []byte) {
	if f.allowed == nil && f.pattern == nil || w.odd.field != "" {
		return
	}
	if f.allowed != nil && !f.allowed[string(v)] || f.pattern != nil && !f.pattern.Match(v) {
		const shown = 60
		w.odd = odd{f.name, strings.ToValidUTF8(string(v[:min(len(v), shown)]), "")}
	}
}

// objects are the values of a slot and the fields relative to them.
type objects struct {
	each   int32
	fields []field
}

type entry struct {
	key   []byte
	picks []pick
}

// appendFields writes the object of the fields found within group, and says
// whether there were any.
func (w *walk) appendFields(dst []byte, fields []field, group int32) ([]byte, bool) {
	start := len(dst)
	dst = append(dst, '{')
	for i := range fields {
		f := &fields[i]
		before := len(dst)
		if before > start+1 {
			dst = append(dst, ',')
		}
		dst = append(dst, f.key...)
		var ok bool
		dst, ok = w.appendField(dst, f, group)
		if !ok {
			dst = dst[:before]
			if f.required && w.lack == "" {
				w.lack = f.name
			}
		}
	}
	return append(dst, '}'), len(dst) > start+1
}

func (w *walk) appendField(dst []byte, f *field, group int32) ([]byte, bool) {
	switch f.kind {
	case source.FieldText:
		if f.join != "" {
			return w.appendJoined(dst, f, group)
		}
		v := w.firstOf(&w.item, f.picks, group)
		if v == nil {
			return dst, false
		}
		w.judge(f, v)
		return appendString(dst, v), true
	case source.FieldNumber:
		if f.count != nil {
			n := w.count(f, group)
			return strconv.AppendInt(dst, n, 10), n > 0
		}
		return w.appendNumber(dst, f, group)
	case source.FieldBool:
		return w.appendBool(dst, f, group)
	case source.FieldList:
		return w.appendList(dst, f, group)
	case source.FieldObjects:
		return w.appendObjects(dst, f, group)
	default:
		return w.appendMap(dst, f, group)
	}
}

func appendString(dst, v []byte) []byte {
	if hasSpecial(v) {
		dst, _ = jsontext.AppendQuote(dst, v) // an item with bad UTF-8 does not come here
		return dst
	}
	dst = append(dst, '"')
	dst = append(dst, v...)
	return append(dst, '"')
}

// hasSpecial reports whether something in a text must be escaped in a JSON string.
func hasSpecial(v []byte) bool {
	for ; len(v) >= 8; v = v[8:] {
		x := binary.LittleEndian.Uint64(v)
		if (zeros(x^ones*'"')|zeros(x^ones*'\\')|zeros(x^ones*0x7f)|controls(x))&highs != 0 {
			return true
		}
	}
	for _, c := range v {
		if special[c] {
			return true
		}
	}
	return false
}

// special are the bytes that must be escaped in a JSON string.
var special = func() (t [256]bool) {
	for c := range 0x20 {
		t[c] = true
	}
	t['"'] = true
	t['\\'] = true
	t[0x7F] = true
	return t
}()

// appendJoined writes all values of the first pick that has any as one text.
func (w *walk) appendJoined(dst []byte, f *field, group int32) ([]byte, bool) {
	for i := range f.picks {
		p := &f.picks[i]
		var all []byte
		w.each(&w.item, p, group, true, func(v []byte, k int32) bool {
			if len(all) > 0 {
				all = append(all, f.join...)
			}
			if p.label >= 0 {
				if n := w.item.first(p.label, k); n >= 0 {
					if l := cleanText(&w.text, w.matchText(&w.item.list[n], false)); len(l) > 0 {
						all = append(append(all, l...), ": "...)
					}
				}
			}
			all = append(all, v...)
			return true
		})
		if len(all) > 0 {
			w.judge(f, all)
			return appendString(dst, all), true
		}
	}
	return dst, false
}

// appendNumber writes an integer that JSON readers keep exact as a number, a
// longer one as a string.
func (w *walk) appendNumber(dst []byte, f *field, group int32) ([]byte, bool) {
	start := len(dst)
	for i := range f.picks {
		w.each(&w.item, &f.picks[i], group, false, func(v []byte, _ int32) bool {
			dst = appendNumber(dst, v)
			return len(dst) == start
		})
		if len(dst) > start {
			return dst, true
		}
	}
	return dst, false
}

func appendNumber(dst, v []byte) []byte {
	const exact = 1 << 53
	if n, ok := integer(v); ok {
		if n >= -exact && n <= exact {
			return strconv.AppendInt(dst, n, 10)
		}
		return appendString(dst, strconv.AppendInt(nil, n, 10))
	}
	if bytes.IndexByte(v, ',') >= 0 {
		v = cleanNumber(nil, v)
	}
	if len(v) > 64 || !decimal(v) {
		return dst
	}
	x, err := strconv.ParseFloat(string(v), 64)
	if err != nil || x == math.Trunc(x) { // whole, and beyond 64 bits
		return appendString(dst, v)
	}
	return jsontext.AppendFloat(dst, x, 64)
}

// count is how many values there are; a JSON null is none.
func (w *walk) count(f *field, group int32) (n int64) {
	for _, slot := range f.count {
		for k := w.item.first(slot, group); k >= 0; k = w.item.after(k) {
			if !w.d.json || w.body[w.item.list[k].start] != 'n' {
				n++
			}
		}
	}
	return n
}

// appendBool writes the first value that is a yes or a no.
func (w *walk) appendBool(dst []byte, f *field, group int32) ([]byte, bool) {
	for i := range f.picks {
		var is, known bool
		w.each(&w.item, &f.picks[i], group, false, func(v []byte, _ int32) bool {
			is, known = yesNo(v)
			return !known
		})
		if known {
			return strconv.AppendBool(dst, is), true
		}
	}
	return dst, false
}

// yesNo reads the ways in which sources write a truth.
func yesNo(v []byte) (is, known bool) {
	switch strings.ToLower(string(bytes.TrimSpace(v))) {
	case "y", "yes", "t", "true", "1":
		return true, true
	case "n", "no", "f", "false", "0":
		return false, true
	}
	return false, false
}

// appendList writes every value once, where it came first.
func (w *walk) appendList(dst []byte, f *field, group int32) ([]byte, bool) {
	dst = append(dst, '[')
	start := len(dst)
	var seen distinct
	for i := range f.picks {
		w.each(&w.item, &f.picks[i], group, true, func(v []byte, _ int32) bool {
			before := len(dst)
			if before > start {
				dst = append(dst, ',')
			}
			w.judge(f, v)
			from := len(dst)
			dst = appendString(dst, v)
			if !seen.add(dst, from) {
				dst = dst[:before]
			}
			return true
		})
	}
	return append(dst, ']'), len(dst) > start
}

// distinct knows the values that a list being written has; the zero value is
// ready. Few are compared one by one, many are hashed.
type distinct struct {
	few  [16]span
	n    int
	many map[string]bool
}

// add reports whether the value that ends dst and begins at from is new.
func (d *distinct) add(dst []byte, from int) bool {
	v := dst[from:]
	if d.many == nil {
		for _, s := range d.few[:d.n] {
			if string(dst[s.start:s.end]) == string(v) {
				return false
			}
		}
		if d.n < len(d.few) {
			d.few[d.n] = span{int32(from), int32(len(dst))}
			d.n++
			return true
		}
		d.many = make(map[string]bool, 4*d.n)
		for _, s := range d.few {
			d.many[string(dst[s.start:s.end])] = true
		}
	}
	if d.many[string(v)] {
		return false
	}
	d.many[string(v)] = true
	return true
}

// appendObjects writes those of the first alternative that yields any.
func (w *walk) appendObjects(dst []byte, f *field, group int32) ([]byte, bool) {
	dst = append(dst, '[')
	start := len(dst)
	for i := range f.objects {
		o := &f.objects[i]
		for k := w.item.first(o.each, group); k >= 0; k = w.item.after(k) {
			if f.split == nil {
				dst = w.appendObject(dst, start, o, k)
				continue
			}
			dst = w.appendParts(dst, start, f, o, k)
		}
		if len(dst) > start {
			break
		}
	}
	return append(dst, ']'), len(dst) > start
}

// appendObject writes one object of a list that begins at start, if it has any field.
func (w *walk) appendObject(dst []byte, start int, o *objects, k int32) []byte {
	before := len(dst)
	if before > start {
		dst = append(dst, ',')
	}
	dst, ok := w.appendFields(dst, o.fields, k)
	if !ok {
		return dst[:before]
	}
	return dst
}

// appendParts writes an object for each part of a text.
func (w *walk) appendParts(dst []byte, start int, f *field, o *objects, k int32) []byte {
	whole := &w.item.list[k]
	for part := range bytes.SplitSeq(w.matchText(whole, false), f.split) {
		part = bytes.TrimSpace(part)
		if len(part) == 0 {
			continue
		}
		w.parted = whole.span
		w.part = part
		dst = w.appendObject(dst, start, o, k)
		w.part = nil
	}
	return dst
}

func (w *walk) appendMap(dst []byte, f *field, group int32) ([]byte, bool) {
	dst = append(dst, '{')
	start := len(dst)
	for i := range f.entries {
		e := &f.entries[i]
		v := w.firstOf(&w.item, e.picks, group)
		if v == nil {
			continue
		}
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = appendString(append(dst, e.key...), v)
	}
	return append(dst, '}'), len(dst) > start
}
