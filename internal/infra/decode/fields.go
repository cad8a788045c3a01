package decode

import (
	"math"
	"strconv"

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
	each     int32 // slot of OBJECTS
	fields   []field
	entries  []entry
	required bool
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
		if dst, ok = w.appendField(dst, f, group); !ok {
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
		return appendString(dst, v), v != nil
	case source.FieldNumber:
		return w.appendNumber(dst, f, group)
	case source.FieldList:
		return w.appendList(dst, f, group)
	case source.FieldObjects:
		return w.appendObjects(dst, f, group)
	default:
		return w.appendMap(dst, f, group)
	}
}

func appendString(dst, v []byte) []byte {
	for _, c := range v {
		if special[c] {
			dst, _ = jsontext.AppendQuote(dst, v) // an item with bad UTF-8 does not come here
			return dst
		}
	}
	dst = append(dst, '"')
	dst = append(dst, v...)
	return append(dst, '"')
}

// special are the bytes that must be escaped in a JSON string.
var special = func() (t [256]bool) {
	for c := range 0x20 {
		t[c] = true
	}
	t['"'], t['\\'], t[0x7F] = true, true, true
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
	if len(v) > 64 || !decimal(v) {
		return dst
	}
	x, err := strconv.ParseFloat(string(v), 64)
	if err != nil || x == math.Trunc(x) { // whole, and beyond 64 bits
		return appendString(dst, v)
	}
	return jsontext.AppendFloat(dst, x, 64)
}

func (w *walk) appendList(dst []byte, f *field, group int32) ([]byte, bool) {
	dst = append(dst, '[')
	start := len(dst)
	for i := range f.picks {
		w.each(&w.item, &f.picks[i], group, true, func(v []byte, _ int32) bool {
			if len(dst) > start {
				dst = append(dst, ',')
			}
			dst = appendString(dst, v)
			return true
		})
	}
	return append(dst, ']'), len(dst) > start
}

func (w *walk) appendObjects(dst []byte, f *field, group int32) ([]byte, bool) {
	dst = append(dst, '[')
	start := len(dst)
	for k := w.item.first(f.each, group); k >= 0; k = w.item.after(k) {
		before := len(dst)
		if before > start {
			dst = append(dst, ',')
		}
		var ok bool
		if dst, ok = w.appendFields(dst, f.fields, k); !ok {
			dst = dst[:before]
		}
	}
	return append(dst, ']'), len(dst) > start
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
