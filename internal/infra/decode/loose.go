package decode

import (
	"context"
	"errors"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// A JSON reply that is refused, but only for what one of its items holds, is read
// a second time: loosely. Its grammar must be right, so that there is no doubt
// where each item ends; a control character or an unknown escape in a string, a
// string or a depth beyond the limits is noted and passed over. The item around it
// carries a Problem, all others are decoded as ever. A reply that has any of this
// outside of its items stays refused.

// spoil is a place that spoils the item it lies in.
type spoil struct {
	at     int32
	kind   spoilKind
	inItem bool // an item was found around it
}

type spoilKind uint8

const (
	spoilText spoilKind = iota
	spoilString
	spoilDepth
)

// maxSpoils bounds how many are noted: a reply with more is broken as a whole.
const maxSpoils = 1 << 16

// problem is what a spoilt item is put aside for.
func (k spoilKind) problem() *harvest.Problem {
	switch k {
	case spoilString:
		return &harvest.Problem{Code: harvest.ProblemTooLong, Detail: "item holds a string beyond all measure"}
	case spoilDepth:
		return &harvest.Problem{Code: harvest.ProblemTooLong, Detail: "item is nested beyond all measure"}
	}
	return &harvest.Problem{Code: harvest.ProblemBadText, Detail: "item holds bytes that are no text"}
}

// mayBeOneItem reports whether what is wrong with a JSON reply may lie inside of
// an item and leave the rest readable.
func mayBeOneItem(err error) bool {
	if e, ok := errors.AsType[*LimitError](err); ok {
		return e.Limit == "string" || e.Limit == "depth"
	}
	e, ok := errors.AsType[*ShapeError](err)
	return ok && e.Kind == ShapeSyntax
}

// loosely decodes a reply whose first reading ended with why.
func (d *Decoder) loosely(ctx context.Context, body []byte, base int, why error) (*harvest.Page, error) {
	l := looseScan{b: body}
	if !l.whole(base) || len(l.spoils) == 0 {
		return nil, why
	}
	w := d.walk(ctx, body)
	defer d.done(w)
	w.base = base
	w.charset = hasBytes | hasEscapes
	w.spoils = l.spoils
	w.reply.reset(d.replySlots)
	w.json()
	if w.err != nil {
		return nil, w.err
	}
	if w.asideLost {
		return nil, why // the item that was spoilt would be put aside nowhere
	}
	for _, s := range w.spoils {
		if !s.inItem {
			return nil, why
		}
	}
	return w.finish()
}

// spoilIn returns what spoils the item from start to end, if anything does. Items
// are asked for in order.
func (w *walk) spoilIn(start, end int) *harvest.Problem {
	var p *harvest.Problem
	for ; w.spoilAt < len(w.spoils) && int(w.spoils[w.spoilAt].at) < end; w.spoilAt++ {
		s := &w.spoils[w.spoilAt]
		if int(s.at) < start {
			continue
		}
		s.inItem = true
		if p == nil {
			p = s.kind.problem()
		}
	}
	return p
}

// looseScan checks the grammar of a JSON text and notes what is too much or no
// text in it. Values are not read by calling into them, so that no depth hurts.
type looseScan struct {
	b      []byte
	spoils []spoil
	open   []uint64 // a bit for each open value, set for objects
	depth  int
}

// whole reports whether there is one value from i to the end of the text.
func (l *looseScan) whole(i int) bool {
	i = l.value(skipSpace(l.b, i))
	return i >= 0 && skipSpace(l.b, i) == len(l.b)
}

func (l *looseScan) note(i int, kind spoilKind) bool {
	l.spoils = append(l.spoils, spoil{at: int32(i), kind: kind})
	return len(l.spoils) <= maxSpoils
}

// push opens a list or an object at i.
func (l *looseScan) push(i int, object bool) bool {
	if l.depth == maxDepth && !l.note(i, spoilDepth) {
		return false
	}
	word, bit := l.depth/64, uint64(1)<<(l.depth%64)
	if word == len(l.open) {
		l.open = append(l.open, 0)
	}
	l.open[word] &^= bit
	if object {
		l.open[word] |= bit
	}
	l.depth++
	return true
}

func (l *looseScan) inObject() bool {
	return l.open[(l.depth-1)/64]>>((l.depth-1)%64)&1 == 1
}

// value returns where the value at i ends, negative where the grammar is broken.
func (l *looseScan) value(i int) int {
	for {
		// One value, or the beginning of one that holds others.
		switch c := l.at(i); c {
		case '{', '[':
			if !l.push(i, c == '{') {
				return -1
			}
			i = skipSpace(l.b, i+1)
			if l.at(i) == c+2 { // it closes at once
				l.depth--
				i++
				break
			}
			i = l.name(i)
			if i < 0 {
				return -1
			}
			continue
		case '"':
			i = l.text(i)
		case 't', 'f', 'n':
			i = scanLiteral(l.b, i)
		case 0:
			return -1
		default:
			i = scanNumber(l.b, i)
		}
		if i < 0 {
			return -1
		}
		// What closes behind it, and the comma before the next.
		for {
			if l.depth == 0 {
				return i
			}
			i = skipSpace(l.b, i)
			if c := l.at(i); c == ',' {
				break
			} else if (c == '}') != l.inObject() || c != '}' && c != ']' {
				return -1
			}
			l.depth--
			i++
		}
		i = l.name(skipSpace(l.b, i+1))
		if i < 0 {
			return -1
		}
	}
}

// name reads the name of a member and its colon, if the innermost open value is
// an object, and returns where the value begins.
func (l *looseScan) name(i int) int {
	if !l.inObject() {
		return i
	}
	if l.at(i) != '"' {
		return -1
	}
	i = l.text(i)
	if i < 0 {
		return -1
	}
	i = skipSpace(l.b, i)
	if l.at(i) != ':' {
		return -1
	}
	return skipSpace(l.b, i+1)
}

// text returns where the string that opens at i ends, and notes what is wrong in it.
func (l *looseScan) text(start int) int {
	good := true
	i := start + 1
	for ; l.at(i) != '"'; i++ {
		switch c := l.at(i); {
		case i >= len(l.b):
			return -1
		case c < ' ':
			good = false
		case c == '\\':
			good = good && knownEscape(l.b[i:])
			i++ // the byte behind it is no end, whatever it is
		}
	}
	switch {
	case !good && !l.note(start, spoilText):
		return -1
	case good && i-start > maxString && !l.note(start, spoilString):
		return -1
	}
	return i + 1
}

// knownEscape reports whether b begins with an escape that JSON knows.
func knownEscape(b []byte) bool {
	if len(b) < 2 {
		return false
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
		return len(b) >= 6 && hexDigits(b[2:6])
	}
	return false
}

// at is the byte at i, 0 after the end.
func (l *looseScan) at(i int) byte {
	if i < len(l.b) {
		return l.b[i]
	}
	return 0
}
