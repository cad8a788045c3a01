package decode

import (
	"bytes"
	"context"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// Item takes one item apart that was kept as it came, as it would be within its reply.
// What is around an item is not kept: of the namespaces in force there, those are
// assumed that the source declares, under its own prefixes.
//
// The error is that of bytes which no item can be.
func (d *Decoder) Item(raw []byte) (harvest.Item, error) {
	w := d.walk(context.Background(), raw)
	defer d.done(w)
	w.large = false
	w.again = true
	w.outer = d.prefixes
	w.beginItem()
	w.itemNode = d.itemRoot
	if d.json {
		if err := w.checkItem(); err != nil {
			return harvest.Item{}, err
		}
		w.push(d.itemRoot, -1)
		w.value(0, 0, 0)
	} else {
		w.ampersand = bytes.IndexByte(raw, '&') >= 0
		w.markup(0)
	}
	if w.err == nil {
		w.endItem(0, len(raw))
	}
	if w.err != nil {
		return harvest.Item{}, w.err
	}
	return w.items[0], nil
}

// checkItem checks the syntax of an item, loosely if that is how it came to be one.
func (w *walk) checkItem() error {
	var err error
	w.charset, err = validateJSON(w.body)
	if !mayBeOneItem(err) {
		return err
	}
	l := looseScan{b: w.body}
	if !l.whole(0) {
		return err
	}
	w.charset = hasBytes | hasEscapes
	w.spoils = l.spoils
	return nil
}

// Item takes one kept item of a source apart, as a reply of the endpoint that it has
// for a purpose.
func (c *Cache) Item(spec *source.Spec, p source.Purpose, raw []byte) (harvest.Item, error) {
	d, err := c.Of(spec, p)
	if err != nil {
		return harvest.Item{}, err
	}
	return d.Item(raw)
}
