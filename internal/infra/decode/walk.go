package decode

import (
	"context"
	"math"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// walk is one pass over one reply. Walks are pooled by the Decoder; all slices
// but items keep their memory.
type walk struct {
	d    *Decoder
	ctx  context.Context // of the one call this walk is for
	body []byte
	base int // length of a byte order mark

	// states are the places of the trie that the value being read stands at,
	// a stack of sets: each open value has its own stretch.
	states   []state
	counters []int32 // XML: positions, a stretch per state that needs them
	reply    matches
	item     matches
	attrs    []attr    // XML: of the start tag being read
	bound    []binding // XML: prefixes in force, the innermost last; only where paths tell namespaces apart
	frames   []frame
	part     []byte // of the text at parted, while the fields of an object are read of it; else nil
	parted   span
	seen     []seenKey
	compared int // keys held against each other one by one

	items     []harvest.Item
	hint      int    // how many there were last time
	ahead     *ahead // items decoded already
	inItem    bool
	itemNode  *node                        // what the paths of the item's values begin at
	again     bool                         // only an item is walked, once more
	large     bool                         // fields are not kept
	outer     []outerBinding               // XML: around the item that is walked once more
	mapper    func(dst, raw []byte) []byte // of the last item
	mapped    mapping                      // what that depends on
	charset   charset                      // JSON: what there may be in the strings
	jumps     []span                       // JSON: values whose end is known, in order
	badText   bool                         // an illegal reference was met in the item
	tooMany   bool                         // the item has more values than a record can have
	beyond    spoilKind                    // XML: the limit that the item breaks, if spoilt
	spoilt    bool
	deep      int     // XML: open elements beyond the deepest that is followed
	spoils    []spoil // JSON, read loosely: what spoils items, in order
	spoilAt   int     // the first of them that no item has been asked about
	asideLost bool    // an item with a Problem was taken back: its list came again
	ampersand bool    // XML: there are references

	text  arena
	out   []byte
	chunk []byte // what Fields of finished items are kept in
	spans []span
	parts []harvest.ByteRange
	kept  []harvest.ByteRange // what Volatile of finished items is kept in
	lack  string              // the first required field the item has not got
	odd   odd                 // the first value the item has and may not have

	err error // why the walk stopped
}

// state is a place in a trie, reached within the match number group (-1: none).
type state struct {
	node  *node
	group int32
	cnt   int32 // first counter
}

type span struct{ start, end int32 }

// itemKind says whether a value is an item.
type itemKind uint8

const (
	noItem    itemKind = iota
	itemHere           // it is, and is decoded by this walk
	itemAhead          // it is, and has been decoded already
)

// match is a place where a wanted value lies. A match's index is the group of
// all that is found relative to it.
type match struct {
	span
	group int32
	next  int32 // of the same slot
	flags uint8
}

const (
	flagAttr  = 1 << iota // XML: an attribute's value
	flagOuter             // XML: ends after the end tag
	flagDead              // JSON: replaced by a later key of the same name
)

// matches are the finds of one item, or of the reply around them, threaded by
// slot. In each thread groups only grow, since a slot belongs to one path and
// groups of one path do not overlap: so a thread is read by moving along it.
type matches struct {
	list []match
	head []int32
	tail []int32
}

func (m *matches) reset(slots int) {
	m.list = m.list[:0]
	if cap(m.head) < slots {
		m.head, m.tail = make([]int32, slots), make([]int32, slots)
	}
	m.head, m.tail = m.head[:slots], m.tail[:slots]
	for i := range m.head {
		m.head[i] = -1
	}
}

func (m *matches) add(slot int32, x match) int32 {
	k := int32(len(m.list))
	x.next = -1
	m.list = append(m.list, x)
	if m.head[slot] < 0 {
		m.head[slot] = k
	} else {
		m.list[m.tail[slot]].next = k
	}
	m.tail[slot] = k
	return k
}

// first returns the first match of slot within group, or -1. Groups must be
// asked for in ascending order.
func (m *matches) first(slot, group int32) int32 {
	k := m.head[slot]
	for k >= 0 && (m.list[k].group < group || m.list[k].flags&flagDead != 0) {
		k = m.list[k].next
	}
	m.head[slot] = k
	if k >= 0 && m.list[k].group != group {
		return -1
	}
	return k
}

// after returns the match after k within its group, or -1.
func (m *matches) after(k int32) int32 {
	group := m.list[k].group
	for k = m.list[k].next; k >= 0; k = m.list[k].next {
		if m.list[k].flags&flagDead == 0 {
			break
		}
	}
	if k >= 0 && m.list[k].group != group {
		return -1
	}
	return k
}

// mark remembers how far the lists are.
type mark struct{ reply, item, items int32 }

func (w *walk) mark() mark {
	return mark{int32(len(w.reply.list)), int32(len(w.item.list)), int32(len(w.items))}
}

// kill forgets all that was found between two marks.
func (w *walk) kill(a, b mark) {
	for k := a.reply; k < b.reply; k++ {
		w.reply.list[k].flags |= flagDead
	}
	for k := a.item; k < b.item; k++ {
		w.item.list[k].flags |= flagDead
	}
	for k := a.items; k < b.items; k++ {
		if w.items[k].Problem != nil {
			w.asideLost = true
		}
		w.items[k].Raw = nil // taken out when the page is done
	}
}

// enter notes the matches of the value whose states begin at lo; paths that
// are relative to it begin here. It reports whether the value is an item. In
// JSON outer and inner are the same place.
func (w *walk) enter(lo int, outer, inner int32, first byte) (item itemKind) {
	for k := lo; k < len(w.states); k++ {
		n, group := w.states[k].node, w.states[k].group
		for i := range n.ends {
			e := &n.ends[i]
			if e.notArray && first == '[' || e.objectOnly && first != '{' {
				continue
			}
			if e.level == isItem {
				if w.inItem {
					continue // an item inside an item is part of it
				}
				if w.ahead != nil && w.ahead.seek(int(inner)) {
					w.inItem, item = true, itemAhead
					continue
				}
				item = itemHere
				w.beginItem()
				w.itemNode = e.under
				w.push(e.under, -1)
				continue
			}
			x := match{span: span{inner, inner}, group: group}
			if e.outer {
				x.start, x.flags = outer, flagOuter
			}
			if g := w.note(e, x); e.under != nil && g >= 0 {
				w.push(e.under, g)
			}
		}
		for i := range n.attrs {
			a := &n.attrs[i]
			if v := w.attr(a.step.prefix, a.step.space, a.step.name); v != nil {
				w.note(&a.end, match{span: v.value, group: group, flags: flagAttr})
			}
		}
	}
	return item
}

func (w *walk) push(n *node, group int32) {
	s := state{node: n, group: group, cnt: int32(len(w.counters))}
	for range n.npos {
		w.counters = append(w.counters, 0)
	}
	w.states = append(w.states, s)
}

func (w *walk) note(e *end, x match) int32 {
	if e.level == ofReply {
		if len(w.reply.list) >= maxValues {
			w.err = &LimitError{"values", int64(x.start)}
			return -1
		}
		return w.reply.add(e.slot, x)
	}
	if len(w.item.list) >= maxValues {
		w.tooMany = true
		return -1
	}
	return w.item.add(e.slot, x)
}

// leave sets the ends of the matches noted between two marks.
func (w *walk) leave(a, b mark, inner, outer int32) {
	w.reply.close(a.reply, b.reply, inner, outer)
	w.item.close(a.item, b.item, inner, outer)
}

func (m *matches) close(from, to, inner, outer int32) {
	for k := from; k < to; k++ {
		switch x := &m.list[k]; {
		case x.flags&flagAttr != 0:
		case x.flags&flagOuter != 0:
			x.end = outer
		default:
			x.end = inner
		}
	}
}

func (w *walk) beginItem() {
	w.inItem = true
	w.badText = false
	w.tooMany = false
	w.lack = ""
	w.odd = odd{}
	w.spoilt = false
	w.item.reset(w.d.slots)
	if w.err == nil && w.ctx.Err() != nil {
		w.err = context.Cause(w.ctx)
	}
}

// arena is memory for the texts of one item. What was handed out stays as it
// is when more is added.
type arena struct{ buf []byte }

// take returns what was added since from.
func (a *arena) take(from int) []byte { return a.buf[from:len(a.buf):len(a.buf)] }

const keepBytes = 1 << 20 // pooled buffers beyond this are given back

// clear makes the walk fit for the pool.
func (w *walk) clear() {
	w.hint = min(len(w.items), 10_000)
	w.ctx = nil
	w.body = nil
	w.items = nil
	w.item.list = w.item.list[:0] // of an item that was not read to its end
	w.chunk = nil
	w.kept = nil
	w.ahead = nil
	w.err = nil
	w.inItem = false
	w.charset = 0
	w.jumps = nil
	w.states = w.states[:0]
	w.counters = w.counters[:0]
	w.frames = w.frames[:0]
	w.seen = w.seen[:0]
	w.attrs, w.bound = w.attrs[:0], w.bound[:0]
	w.spoils = nil
	w.spoilAt = 0
	w.deep = 0
	w.asideLost = false
	w.again = false
	w.outer = nil
	w.mapper = nil
	w.mapped = mapping{}
	w.itemNode = nil
	w.compared = 0
	if cap(w.reply.list) > maxValues/8 {
		w.reply.list = nil
	}
	if cap(w.item.list) > maxValues/8 {
		w.item.list = nil
	}
	if cap(w.text.buf) > keepBytes {
		w.text.buf = nil
	}
	if cap(w.out) > keepBytes {
		w.out = nil
	}
	if cap(w.attrs) > 1024 {
		w.attrs = nil
	}
	if cap(w.seen) > 1024 {
		w.seen = nil
	}
	if cap(w.spans) > 1024 {
		w.spans = nil
	}
	if cap(w.parts) > 1024 {
		w.parts = nil
	}
	clear(w.states[:cap(w.states)])
	clear(w.seen[:cap(w.seen)])
}

// shape stops the walk with a complaint about the bytes at i.
func (w *walk) shape(kind ShapeKind, i int, detail string) int {
	if w.err == nil {
		w.err = &ShapeError{Kind: kind, Offset: int64(i), Detail: detail}
	}
	return math.MinInt
}

// over deals with what breaks a limit at i: it spoils the item it is in, and
// stops the walk where there is none. It reports whether to go on.
func (w *walk) over(kind spoilKind, what string, i int) bool {
	if !w.inItem {
		w.limit(what, i)
		return false
	}
	if !w.spoilt {
		w.spoilt, w.beyond = true, kind
	}
	return true
}

func (w *walk) limit(what string, i int) int {
	if w.err == nil {
		w.err = &LimitError{what, int64(i)}
	}
	return math.MinInt
}
