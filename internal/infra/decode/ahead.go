package decode

import (
	"bytes"
	"cmp"
	"io"
	"runtime"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// A large page is decoded by several goroutines: one has jsontext check the
// syntax and so finds where each item ends, the others take the items apart as
// they come. The walk over the reply then only picks them up, so that what is
// an item, and of two equal keys the last, is decided in one place.

// batch is a run of items.
type batch struct {
	spans []span
	items []harvest.Item
	err   error
}

const (
	batchItems = 32
	maxHelpers = 4
)

// ahead are the items of a reply, in its order.
type ahead struct {
	batches []*batch
	at      int // batch and place of the item asked for last
	k       int
}

// seek finds the item that begins at start. Items are asked for in order.
func (a *ahead) seek(start int) bool {
	for ; a.at < len(a.batches); a.at, a.k = a.at+1, 0 {
		b := a.batches[a.at]
		for ; a.k < len(b.spans) && int(b.spans[a.k].start) <= start; a.k++ {
			if int(b.spans[a.k].start) == start {
				return true
			}
		}
		if a.k < len(b.spans) {
			return false
		}
	}
	return false
}

// end and item are of the one found last.
func (a *ahead) end() int           { return int(a.batches[a.at].spans[a.k].end) }
func (a *ahead) item() harvest.Item { return a.batches[a.at].items[a.k] }

// jsonAhead checks and walks a JSON body.
func (w *walk) jsonAhead() error {
	todo := make(chan *batch, 256)
	var wg sync.WaitGroup
	work := func() {
		h := w.d.walk(w.body)
		defer w.d.done(h)
		for b := range todo {
			h.decode(b)
		}
	}
	for range min(runtime.GOMAXPROCS(0)-1, maxHelpers) {
		wg.Go(work)
	}
	f := framer{walk: w, dec: jsontext.NewDecoder(bytes.NewBuffer(w.body[w.base:]), lenient...), todo: todo}
	err := f.frame()
	close(todo)
	if err == nil {
		work()
	} else {
		for range todo { // nobody needs them
		}
	}
	wg.Wait()
	if err != nil {
		return cmp.Or(validateJSON(w.body[w.base:]), err)
	}
	for _, b := range f.ahead.batches {
		if b.err != nil {
			return b.err
		}
	}
	w.ahead = &f.ahead
	w.json()
	return nil
}

// decode makes the items of a batch.
func (w *walk) decode(b *batch) {
	w.items = make([]harvest.Item, 0, len(b.spans))
	for _, s := range b.spans {
		w.beginItem()
		w.push(w.d.itemRoot, -1)
		end := w.value(int(s.start), len(w.d.ahead)+1, 0)
		w.states, w.counters, w.seen = w.states[:0], w.counters[:0], w.seen[:0]
		if end < 0 || w.err != nil {
			b.err = w.err
			return
		}
		w.endItem(int(s.start), end)
	}
	b.items = w.items
}

// framer finds the items of a reply while its syntax is checked.
type framer struct {
	walk  *walk
	dec   *jsontext.Decoder
	todo  chan<- *batch
	next  *batch
	count int
	ahead ahead
}

// frame reads all of the reply.
func (f *framer) frame() error {
	if err := f.value(0); err != nil {
		return err
	}
	f.flush()
	if _, err := f.dec.ReadToken(); err != io.EOF {
		return io.ErrUnexpectedEOF // any error: the cause is found out later
	}
	return nil
}

// value reads the value that depth keys have led to.
func (f *framer) value(depth int) error {
	keys := f.walk.d.ahead
	switch kind := f.dec.PeekKind(); {
	case depth == len(keys) && kind == '[':
		return f.list()
	case depth < len(keys) && kind == '{':
	default:
		return f.dec.SkipValue()
	}
	if _, err := f.dec.ReadToken(); err != nil {
		return err
	}
	for f.dec.PeekKind() != '}' {
		name, err := f.dec.ReadToken()
		if err != nil {
			return err
		}
		if name.Kind() == '"' && name.String() == keys[depth] {
			err = f.value(depth + 1)
		} else {
			err = f.dec.SkipValue()
		}
		if err != nil {
			return err
		}
	}
	_, err := f.dec.ReadToken()
	return err
}

func (f *framer) list() error {
	if _, err := f.dec.ReadToken(); err != nil {
		return err
	}
	for f.dec.PeekKind() != ']' {
		v, err := f.dec.ReadValue()
		if err != nil {
			return err
		}
		end := int(f.dec.InputOffset()) + f.walk.base
		if f.count++; f.count > maxItems {
			return &LimitError{"items", int64(end - len(v))}
		}
		f.add(span{int32(end - len(v)), int32(end)})
	}
	_, err := f.dec.ReadToken()
	return err
}

func (f *framer) add(s span) {
	if f.next == nil {
		f.next = &batch{spans: make([]span, 0, batchItems)}
		f.ahead.batches = append(f.ahead.batches, f.next)
	}
	if f.next.spans = append(f.next.spans, s); len(f.next.spans) == batchItems {
		f.flush()
	}
}

// flush hands the batch over.
func (f *framer) flush() {
	if f.next == nil {
		return
	}
	select {
	case f.todo <- f.next:
	default: // the others are behind: do it here
		f.help()
	}
	f.next = nil
}

func (f *framer) help() {
	h := f.walk.d.walk(f.walk.body)
	defer f.walk.d.done(h)
	h.decode(f.next)
}
