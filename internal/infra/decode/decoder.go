package decode

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// Decoder takes the replies of one endpoint apart. It is compiled once and
// safe for concurrent use.
type Decoder struct {
	json bool
	zone *time.Location
	root *node // of the reply

	replySlots, slots int

	id          []pick
	idForm      string
	idPath      string
	updated     []pick
	updatedPath string
	version     []pick

	mapped    bool
	fields    []field
	volatile  []int32
	retracted []presence
	deleted   []presence
	// nulls: a null among the items says that there is none (P24).
	nulls bool
	// spaces are the namespaces that paths tell apart, empty if none does.
	spaces []string
	// prefixes are those by which the source names them.
	prefixes []outerBinding

	must    []must
	total   *pick
	token   *pick
	url     *pick
	more    *pick
	held    []namedPick
	signals []namedPick
	paths   struct{ total, more, token, url string }

	// ahead are the keys that lead to the one list of items; with it a reply
	// of at least parallelFrom bytes is decoded by several goroutines.
	ahead        []string
	itemRoot     *node
	parallelFrom int
	// Of a reply of at least largeFrom bytes the fields of items are not kept but
	// made again when they are stored.
	largeFrom int

	walks sync.Pool

	drifted func(path, detail string) // see [Cache]
}

type namedPick struct {
	name string
	pick pick
}

// must is what a reply has to have: one of these places. A list has to be an
// array, where object is not allowed instead.
type must struct {
	path  string
	slots []int32
	list  bool
}

// Forms of an id.
const (
	formText   = "TEXT"
	formDOI    = "DOI"
	formNumber = "NUMBER"
)

// Page decodes a reply. Items point into body, which must not be changed as
// long as they are in use.
//
// It returns a *[ShapeError] or a *[LimitError] for a reply that is no page. If
// the reply could be walked and only lacks what it must have, the page is not
// nil and holds the signals found.
func (d *Decoder) Page(body []byte) (*harvest.Page, error) {
	return d.PageContext(context.Background(), body)
}

// PageContext is Page for a caller who may not wait for the end: it stops at the
// next item once the context has ended.
func (d *Decoder) PageContext(ctx context.Context, body []byte) (*harvest.Page, error) {
	p, err := d.page(ctx, body)
	if shape, ok := errors.AsType[*ShapeError](err); ok && shape.Schema() && d.drifted != nil {
		d.drifted(shape.Path, shape.Detail)
	}
	return p, err
}

func (d *Decoder) page(ctx context.Context, body []byte) (*harvest.Page, error) {
	if len(body) > maxBody {
		return nil, &LimitError{"size", maxBody}
	}
	base := 0
	if bytes.HasPrefix(body, []byte("\uFEFF")) {
		base = 3
	}
	if what := foreign(body); what != "" {
		return nil, &ShapeError{Kind: ShapeForeign, Detail: what}
	}
	p, err := d.strictly(ctx, body, base)
	if d.json && mayBeOneItem(err) {
		return d.loosely(ctx, body, base, err)
	}
	return p, err
}

// strictly decodes a reply in which everything has to be as it should.
func (d *Decoder) strictly(ctx context.Context, body []byte, base int) (*harvest.Page, error) {
	w := d.walk(ctx, body)
	defer d.done(w)
	w.base = base
	w.reply.reset(d.replySlots)
	switch {
	case !d.json:
		w.xml()
	case d.ahead != nil && len(body) >= d.parallelFrom:
		if err := w.jsonAhead(); err != nil {
			return nil, err
		}
	default:
		var err error
		w.charset, err = validateJSON(body[w.base:])
		if err != nil {
			return nil, err
		}
		w.json()
	}
	if w.err != nil {
		return nil, w.err
	}
	return w.finish()
}

func (d *Decoder) walk(ctx context.Context, body []byte) *walk {
	w, _ := d.walks.Get().(*walk)
	if w == nil {
		w = &walk{d: d}
	}
	w.ctx = ctx
	w.body = body
	w.base = 0
	w.large = len(body) >= d.largeFrom
	return w
}

func (d *Decoder) done(w *walk) {
	w.clear()
	d.walks.Put(w)
}

// finish makes the page of what was found around the items.
func (w *walk) finish() (*harvest.Page, error) {
	d := w.d
	w.text.buf = w.text.buf[:0]
	p := &harvest.Page{Signals: w.named(d.signals, true)}
	for i := range d.must {
		if err := w.check(&d.must[i]); err != nil {
			return p, err
		}
	}
	if err := w.around(p); err != nil {
		return p, err
	}
	if !d.json { // white space around an element's text is layout
		p.Token, p.URL = strings.TrimSpace(p.Token), strings.TrimSpace(p.URL)
	}
	if !storable(p.Token) || !storable(p.URL) {
		return p, &ShapeError{Kind: ShapeSyntax, Detail: "the way to the next page is no text"}
	}
	p.NextEmpty = p.Token == "" && p.URL == "" && (w.empty(d.token) || w.empty(d.url))
	p.Held = w.named(d.held, false)
	p.Items = slices.DeleteFunc(w.items, func(it harvest.Item) bool { return it.Raw == nil })
	return p, nil
}

// check that something required is there.
func (w *walk) check(m *must) error {
	found := false
	for _, slot := range m.slots {
		for k := w.reply.first(slot, -1); k >= 0; k = w.reply.after(k) {
			if !w.d.json {
				return nil
			}
			switch c := w.body[w.reply.list[k].start]; {
			case c == 'n':
			case m.list && c != '[':
				return &ShapeError{Kind: ShapeSchema, Path: m.path, Detail: "is not a list"}
			default:
				found = true
			}
		}
	}
	if !found {
		return &ShapeError{Kind: ShapeSchema, Path: m.path, Detail: "is missing"}
	}
	return nil
}

// around reads what a reply says beside its items: how many there are, and how it goes on.
func (w *walk) around(p *harvest.Page) error {
	d := w.d
	total, err := w.replyText(d.total, d.paths.total, "a number")
	if err != nil {
		return err
	}
	if total != nil {
		n, ok := integer(total)
		if !ok || n < 0 {
			return &ShapeError{Kind: ShapeSchema, Path: d.paths.total, Detail: "total is not a number"}
		}
		p.Total = &n
	}
	more, err := w.replyText(d.more, d.paths.more, "true or false")
	if err != nil {
		return err
	}
	if more != nil {
		is, known := yesNo(more)
		if !known {
			return &ShapeError{Kind: ShapeSchema, Path: d.paths.more, Detail: "neither true nor false"}
		}
		p.HasMore = &is
	}
	token, err := w.replyText(d.token, d.paths.token, "a text")
	if err != nil {
		return err
	}
	p.Token = string(token)
	next, err := w.replyText(d.url, d.paths.url, "a text")
	if err != nil {
		return err
	}
	p.URL = string(next)
	return nil
}

// replyText is the text at a place around the items, nil if there is none. A list or
// an object in its stead that is not empty is no absence: the source has something to
// say there, and what it says is not understood.
func (w *walk) replyText(p *pick, path, want string) ([]byte, error) {
	if p == nil {
		return nil, nil
	}
	text := w.firstOf(&w.reply, []pick{*p}, -1)
	if text != nil || !w.d.json {
		return text, nil
	}
	for k := w.reply.first(p.slot, -1); k >= 0; k = w.reply.after(k) {
		s := w.reply.list[k].span
		if void(w.body, s) {
			continue
		}
		switch w.body[s.start] {
		case '[':
			return nil, &ShapeError{Kind: ShapeSchema, Path: path, Detail: "is a list, not " + want}
		case '{':
			return nil, &ShapeError{Kind: ShapeSchema, Path: path, Detail: "is an object, not " + want}
		}
	}
	return nil, nil
}

// empty reports whether a place without text is there all the same: as an
// element, or as null or an empty string.
func (w *walk) empty(p *pick) bool {
	if p == nil {
		return false
	}
	for k := w.reply.first(p.slot, -1); k >= 0; k = w.reply.after(k) {
		text := string(w.bytes(w.reply.list[k].span))
		if !w.d.json || text == "null" || text == `""` {
			return true
		}
	}
	return false
}

// named returns the texts of the places that have one. For signals, lists and
// objects that are not empty count too.
func (w *walk) named(picks []namedPick, signals bool) map[string]string {
	var m map[string]string
	for i := range picks {
		p := &picks[i]
		var text []byte
		w.each(&w.reply, &p.pick, -1, signals, func(v []byte, _ int32) bool {
			if w.d.json && string(v) == "false" {
				return true
			}
			text = bytes.TrimSpace(v)
			return false
		})
		if text == nil && signals && w.d.json {
			for k := w.reply.first(p.pick.slot, -1); k >= 0 && text == nil; k = w.reply.after(k) {
				if s := w.reply.list[k].span; (w.body[s.start] == '[' || w.body[s.start] == '{') && !void(w.body, s) {
					text = w.bytes(s)
				}
			}
		}
		if text == nil {
			continue
		}
		if m == nil {
			m = make(map[string]string)
		}
		if signals && len(text) > maxSignal {
			text = text[:maxSignal]
		}
		m[p.name] = strings.ReplaceAll(string(bytes.ToValidUTF8(text, []byte("\uFFFD"))), "\x00", "\uFFFD")
	}
	return m
}
