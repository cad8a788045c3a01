package decode

import (
	"context"
	"slices"
)

// largeBody is from where on a reply is large.
const largeBody = 4 << 20

// mapAgain returns how the fields of the item that has just ended are made once more
// from its bytes, by a walk over them alone. That gives the same fields: they depend
// on what is in the item, and on the namespaces in force where it begins. Items that
// follow each other share it, as a large page may have many.
func (w *walk) mapAgain() func(dst, raw []byte) []byte {
	bound := w.outerBindings()
	if w.mapper != nil && w.mapped.node == w.itemNode && w.mapped.chars == w.charset && slices.Equal(w.mapped.bound, bound) {
		return w.mapper
	}
	d := w.d
	from := mapping{node: w.itemNode, chars: w.charset, bound: bound}
	w.mapped = from
	w.mapper = func(dst, raw []byte) []byte { return d.mapOnly(dst, raw, from) }
	return w.mapper
}

// mapping is what the fields of an item depend on besides its bytes.
type mapping struct {
	node  *node
	chars charset
	bound []outerBinding
}

// outerBinding is a prefix that is bound around an item.
type outerBinding struct {
	prefix string
	space  int32
}

// mapOnly appends the fields of an item.
func (d *Decoder) mapOnly(dst, raw []byte, from mapping) []byte {
	w := d.walk(context.Background(), raw)
	defer d.done(w)
	w.beginItem()
	w.again = true
	w.itemNode = from.node
	w.outer = from.bound
	if d.json {
		w.charset = from.chars
		w.push(from.node, -1)
		w.value(0, 0, 0)
	} else {
		w.ampersand = true
		w.markup(0)
	}
	w.text.buf = w.text.buf[:0]
	dst, _ = w.appendFields(dst, d.fields, -1)
	return dst
}

// outerBindings are the namespaces in force around the item that has just ended.
func (w *walk) outerBindings() []outerBinding {
	if len(w.bound) == 0 {
		return nil
	}
	outer := make([]outerBinding, len(w.bound))
	for i, b := range w.bound {
		outer[i] = outerBinding{prefix: string(w.body[b.prefix.start:b.prefix.end]), space: b.space}
	}
	return outer
}
