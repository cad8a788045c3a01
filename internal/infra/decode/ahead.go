package decode

import (
	"bytes"
	"runtime"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// A large page is decoded by several goroutines: one checks the syntax and so
// finds where each item ends, the others take the items apart as they come. The walk over the reply then only picks them up, so that what is
// an item, and of two equal keys the last, is decided in one place.

// batch is a run of items.
type batch struct {
	spans []framed
	jumps []span // inside of them
	items []harvest.Item
	err   error
}

// framed is where an item lies and what its strings hold.
type framed struct {
	span
	chars charset
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
		a.batches[a.at] = nil // all of it was asked for
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
		h := w.d.walk(w.ctx, w.body)
		defer w.d.done(h)
		for b := range todo {
			h.decode(b)
		}
	}
	for range min(runtime.GOMAXPROCS(0)-1, maxHelpers) {
		wg.Go(work)
	}
	f := framer{walk: w, todo: todo}
	ok := f.frame()
	close(todo)
	if ok {
		work()
	} else {
		for range todo { // nobody needs them
		}
	}
	wg.Wait()
	if !ok {
		if _, err := validateJSON(w.body[w.base:]); err != nil {
			return err
		}
		return w.err // too many items
	}
	for _, b := range f.ahead.batches {
		if b.err != nil {
			return b.err
		}
	}
	w.ahead = &f.ahead
	w.items = make([]harvest.Item, 0, f.count)
	w.json()
	return nil
}

// decode makes the items of a batch.
func (w *walk) decode(b *batch) {
	w.items, w.jumps = make([]harvest.Item, 0, len(b.spans)), b.jumps
	for _, s := range b.spans {
		w.beginItem()
		w.itemNode = w.d.itemRoot
		w.charset = s.chars
		w.push(w.d.itemRoot, -1)
		end := w.value(int(s.start), len(w.d.ahead)+1, 0)
		w.states = w.states[:0]
		w.counters = w.counters[:0]
		w.seen = w.seen[:0]
		if end < 0 || w.err != nil {
			b.err = w.err
			return
		}
		w.endItem(int(s.start), end)
	}
	b.items = w.items
}

// framer finds the items of a reply while it checks the syntax.
type framer struct {
	walk  *walk
	todo  chan<- *batch
	next  *batch
	count int
	ahead ahead
}

// frame reads all of the reply and reports whether that is JSON with not too
// many items.
func (f *framer) frame() bool {
	b := f.walk.body
	i := f.value(skipSpace(b, f.walk.base), 0)
	f.flush()
	return i >= 0 && skipSpace(b, i) == len(b)
}

// at is the byte at i, 0 after the end.
func (f *framer) at(i int) byte {
	if i < len(f.walk.body) {
		return f.walk.body[i]
	}
	return 0
}

// value reads the value at i, that depth keys have led to, and returns where it
// ends; negative as for scan.
func (f *framer) value(i, depth int) int {
	keys := f.walk.d.ahead
	switch c := f.at(i); {
	case depth == len(keys) && c == '[':
		return f.list(i)
	case depth < len(keys) && c == '{':
		return f.object(i, depth)
	}
	i, _ = scan(f.walk.body, i, depth, nil)
	return i
}

func (f *framer) object(i, depth int) int {
	b := f.walk.body
	i = skipSpace(b, i+1)
	if f.at(i) == '}' {
		return i + 1
	}
	for f.at(i) == '"' {
		end, _ := scanString(b, i, 0)
		if end < 0 {
			return -1
		}
		name := b[i+1 : end-1]
		if bytes.IndexByte(name, '\\') >= 0 {
			name, _ = jsontext.AppendUnquote(nil, b[i:end])
		}
		i = skipSpace(b, end)
		if f.at(i) != ':' {
			return -1
		}
		i = skipSpace(b, i+1)
		if string(name) == f.walk.d.ahead[depth] {
			i = f.value(i, depth+1)
		} else {
			i, _ = scan(b, i, depth+1, nil)
		}
		if i < 0 {
			return -1
		}
		switch i = skipSpace(b, i); f.at(i) {
		case '}':
			return i + 1
		case ',':
			i = skipSpace(b, i+1)
		default:
			return -1
		}
	}
	return -1
}

func (f *framer) list(i int) int {
	b := f.walk.body
	i = skipSpace(b, i+1)
	if f.at(i) == ']' {
		return i + 1
	}
	for {
		if f.next == nil {
			f.next = &batch{spans: make([]framed, 0, batchItems), jumps: make([]span, 0, 16*batchItems)}
			f.ahead.batches = append(f.ahead.batches, f.next)
		}
		end, chars := scan(b, i, len(f.walk.d.ahead)+1, &f.next.jumps)
		if end < 0 {
			return -1
		}
		f.count++
		if f.count > maxItems {
			f.walk.limit("items", i)
			return -1
		}
		f.next.spans = append(f.next.spans, framed{span{int32(i), int32(end)}, chars})
		if len(f.next.spans) == batchItems {
			f.flush()
		}
		switch i = skipSpace(b, end); f.at(i) {
		case ']':
			return i + 1
		case ',':
			i = skipSpace(b, i+1)
		default:
			return -1
		}
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
	h := f.walk.d.walk(f.walk.ctx, f.walk.body)
	defer f.walk.d.done(h)
	h.decode(f.next)
}
