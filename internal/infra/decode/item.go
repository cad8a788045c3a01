package decode

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// presence is a compiled source.Presence.
type presence struct {
	pick pick
	in   []string
	self bool
}

// endItem makes the item of the bytes from start to end and what was found in them.
func (w *walk) endItem(start, end int) {
	w.inItem = false
	if w.err != nil {
		return
	}
	if len(w.items) >= maxItems {
		w.limit("items", start)
		return
	}
	w.text.buf = w.text.buf[:0]
	w.out = w.out[:0]
	raw := w.body[start:end:end]
	if w.d.nulls && string(raw) == "null" {
		w.items = append(w.items, harvest.Item{}) // taken out when the page is done
		w.item.list = w.item.list[:0]
		return
	}
	it := harvest.Item{Raw: raw, Status: harvest.RecordActive}
	if why := w.spoilOf(start, end); why != nil {
		it.Problem = why
		if id, wrong := w.identify(); wrong == "" && storable(id) {
			it.ID = id
		}
		w.keepItem(it)
		return
	}
	spoilt := w.unstorable(raw)
	if spoilt {
		blame(&it, harvest.ProblemBadText, "", "item holds bytes that are no text")
	}
	if w.tooMany {
		blame(&it, harvest.ProblemTooLong, "", fmt.Sprintf("item holds more than %d values", maxValues))
	}
	w.readID(&it)
	w.readVersion(&it)
	if w.holds(w.d.deleted, it.ID) {
		it.Status = harvest.RecordGone
	}
	if w.d.mapped {
		w.readMapped(&it, start, spoilt)
	}
	w.keepItem(it)
}

// blame says what is wrong with an item, if nothing was before.
func blame(it *harvest.Item, code harvest.Code, path, detail string) {
	if it.Problem == nil {
		it.Problem = &harvest.Problem{Code: code, Path: path, Detail: detail}
	}
}

// readID reads the id of an item, or says what is wrong with it. One that no store
// takes as text is left out: the item is blamed for that already.
func (w *walk) readID(it *harvest.Item) {
	id, wrong := w.identify()
	switch {
	case len(id) > maxID:
		blame(it, harvest.ProblemTooLong, w.d.idPath, wrong)
	case wrong != "":
		blame(it, harvest.ProblemNoID, w.d.idPath, wrong)
	case storable(id):
		it.ID = id
	}
}

// readVersion reads by what the versions of an item are told apart: when it was
// updated, and the number its provider gives it.
func (w *walk) readVersion(it *harvest.Item) {
	if len(w.d.updated) > 0 {
		at, bad := w.instantOf(w.d.updated)
		it.UpdatedAt = at
		switch {
		case !at.IsZero():
		case bad != nil:
			blame(it, harvest.ProblemBadDate, w.d.updatedPath, fmt.Sprintf("not a time: %q", bad[:min(len(bad), 60)]))
		default:
			blame(it, harvest.ProblemBadDate, w.d.updatedPath, "no update time")
		}
	}
	if v := w.firstOf(&w.item, w.d.version, -1); v != nil {
		it.Version, _ = integer(v)
	}
}

// readMapped reads what only a mapping asks for: the fields of the item that
// begins at start, unless it is spoilt, whether it was retracted, and which parts
// of it do not count as content.
func (w *walk) readMapped(it *harvest.Item, start int, spoilt bool) {
	if it.Status == harvest.RecordActive && w.holds(w.d.retracted, it.ID) {
		it.Status = harvest.RecordRetracted
	}
	if !spoilt {
		w.readFields(it)
	}
	if w.lack != "" && it.Status != harvest.RecordGone { // a tombstone has no payload (P13)
		blame(it, harvest.ProblemMissingField, w.lack, "field is required")
	}
	if w.odd.field != "" && it.Status != harvest.RecordGone {
		blame(it, harvest.ProblemBadValue, w.odd.field, fmt.Sprintf("not a value of the field: %q", w.odd.value))
	}
	it.Volatile = w.volatile(start)
}

// readFields maps an item, or of a large page remembers how to when it is stored.
func (w *walk) readFields(it *harvest.Item) {
	w.out, _ = w.appendFields(w.out, w.d.fields, -1)
	if w.large {
		it.Map = w.mapAgain()
	} else {
		it.Fields = w.keep()
	}
}

// keepItem adds an item to those of the page.
func (w *walk) keepItem(it harvest.Item) {
	if w.items == nil {
		w.items = make([]harvest.Item, 0, w.hint+1)
	}
	w.items = append(w.items, it)
	w.item.list = w.item.list[:0]
}

// spoilOf is why nothing more than its id is read of the item from start to end;
// nil for an item that can be read.
func (w *walk) spoilOf(start, end int) *harvest.Problem {
	if w.spoilt {
		return w.beyond.problem()
	}
	if w.spoils == nil {
		return nil
	}
	return w.spoilIn(start, end)
}

// keep copies the fields into memory that outlives the walk, many items to a chunk.
func (w *walk) keep() []byte {
	const size = 64 << 10
	n := len(w.out)
	if n > cap(w.chunk)-len(w.chunk) {
		if n > size/4 {
			return bytes.Clone(w.out)
		}
		w.chunk = make([]byte, 0, size)
	}
	from := len(w.chunk)
	w.chunk = append(w.chunk, w.out...)
	return w.chunk[from : from+n : from+n]
}

// identify returns the canonical id, or says what is wrong with it.
func (w *walk) identify() (id, wrong string) {
	return w.canonical(w.firstOf(&w.item, w.d.id, -1))
}

func (w *walk) canonical(v []byte) (id, wrong string) {
	v = bytes.TrimSpace(v)
	if len(v) == 0 {
		return "", "no id"
	}
	switch w.d.idForm {
	case formDOI:
		v = cleanDOI(&w.text, v)
		if !bytes.HasPrefix(v, []byte("10.")) || bytes.IndexByte(v, '/') < 0 {
			return "", fmt.Sprintf("not a DOI: %q", v[:min(len(v), 60)])
		}
	case formNumber:
		if !digits(v) {
			return "", fmt.Sprintf("not a number: %q", v[:min(len(v), 60)])
		}
		v = bytes.TrimLeft(v, "0")
		if len(v) == 0 {
			v = []byte("0")
		}
	}
	if len(v) > maxID {
		return string(v), fmt.Sprintf("id of %d bytes", len(v))
	}
	for _, c := range v {
		if c < ' ' || c == 0x7f {
			return "", fmt.Sprintf("a control character in %q", v[:min(len(v), 60)])
		}
	}
	return string(v), ""
}

// holds reports whether one of the presences is in the item of this id.
func (w *walk) holds(list []presence, id string) (is bool) {
	for i := range list {
		p := &list[i]
		if len(p.in) == 0 && !p.self {
			for k := w.item.first(p.pick.slot, -1); k >= 0; k = w.item.after(k) {
				if !w.d.json || !void(w.body, w.item.list[k].span) {
					return true
				}
			}
			continue
		}
		w.each(&w.item, &p.pick, -1, true, func(v []byte, _ int32) bool {
			if p.self {
				other, _ := w.canonical(v)
				is = id != "" && other == id
			} else {
				is = slices.Contains(p.in, string(cleanText(&w.text, v)))
			}
			return !is
		})
		if is {
			return true
		}
	}
	return false
}

// void reports whether a JSON value says that there is nothing.
func void(b []byte, s span) bool {
	switch b[s.start] {
	case 'n', 'f':
		return true
	case '0':
		return s.end-s.start == 1
	case '"', '[', '{':
		return skipSpace(b, int(s.start)+1) == int(s.end)-1
	}
	return false
}

// volatile returns the parts of the item at start that R62 leaves out of its
// content, in memory that outlives the walk.
func (w *walk) volatile(start int) []harvest.ByteRange {
	const size = 512
	w.parts = w.parts[:0]
	for _, slot := range w.d.volatile {
		for k := w.item.first(slot, -1); k >= 0; k = w.item.after(k) {
			s := w.item.list[k].span
			w.parts = append(w.parts, harvest.ByteRange{From: s.start - int32(start), To: s.end - int32(start)})
		}
	}
	n := len(w.parts)
	if n == 0 {
		return nil
	}
	slices.SortFunc(w.parts, func(a, b harvest.ByteRange) int { return cmp.Compare(a.From, b.From) })
	if n > cap(w.kept)-len(w.kept) {
		w.kept = make([]harvest.ByteRange, 0, max(n, size))
	}
	from := len(w.kept)
	w.kept = append(w.kept, w.parts...)
	return w.kept[from : from+n : from+n]
}

// unstorable reports whether raw holds what no store takes as text: bad UTF-8,
// NUL, or an escape for half a character.
func (w *walk) unstorable(raw []byte) bool {
	if w.d.json { // no NUL has passed the check of the syntax
		return w.charset&hasBytes != 0 && !utf8.Valid(raw) || w.charset&hasEscapes != 0 && badEscape(raw)
	}
	return w.badText || !utf8.Valid(raw) || bytes.IndexByte(raw, 0) >= 0
}

func storable(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

var escape = []byte(`\u`)

// badEscape finds \u0000 and lone surrogates in JSON.
func badEscape(b []byte) bool {
	for i := 0; ; {
		n := bytes.Index(b[i:], escape)
		if n < 0 {
			return false
		}
		i += n
		slashes := 0
		for i > slashes && b[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 1 { // the backslash itself is escaped
			i += 2
			continue
		}
		r := hex4(b[i+2:])
		i += 6
		switch {
		case r == 0 || r >= 0xDC00 && r <= 0xDFFF:
			return true
		case r >= 0xD800 && r < 0xDC00:
			if i+6 > len(b) || b[i] != '\\' || b[i+1] != 'u' || hex4(b[i+2:])>>10 != 0xDC00>>10 {
				return true
			}
			i += 6
		}
	}
}

func hex4(b []byte) (r uint32) {
	for _, c := range b[:4] {
		d := uint32(c - '0')
		if c > '9' {
			d = uint32(c|0x20-'a') + 10
		}
		r = r<<4 | d
	}
	return r
}
