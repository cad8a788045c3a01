package harvest

import (
	"slices"

	"github.com/papertrace/patra/internal/domain/digest"
)

// ItemHashes are what [Item.Hashes] returns of one item.
type ItemHashes struct{ Raw, Content [32]byte }

// Hasher makes the hashes of many items side by side, which takes less time than one
// after the other. The zero value is ready, and keeps its memory from call to call.
type Hasher struct {
	messages [][]byte
	sums     []digest.Sum
	contents []byte // of items without their volatile parts, one behind the other
	hashes   []ItemHashes
}

// copiedUpTo is how long an item may be to be copied without its volatile parts. What is
// longer is hashed part by part.
const copiedUpTo = 32 << 10

// copies reports whether the content of an item is hashed as a copy of it.
func copies(it *Item) bool { return len(it.Volatile) > 0 && len(it.Raw) <= copiedUpTo }

// Of returns the hashes of items. They are valid until the next call.
func (h *Hasher) Of(items []Item) []ItemHashes {
	h.collect(items)
	h.sums = slices.Grow(h.sums[:0], len(h.messages))[:len(h.messages)]
	digest.SumAll(h.sums, h.messages)
	clear(h.messages) // they point into the page

	h.hashes = h.hashes[:0]
	contents := h.sums[len(items):]
	for i := range items {
		it := &items[i]
		both := ItemHashes{h.sums[i], h.sums[i]}
		switch {
		case copies(it):
			both.Content = contents[0]
			contents = contents[1:]
		case len(it.Volatile) > 0:
			both.Content = it.contentHash()
		}
		h.hashes = append(h.hashes, both)
	}
	return h.hashes
}

// collect puts together what is to be hashed: all items, and behind them the contents of
// those that are copied.
func (h *Hasher) collect(items []Item) {
	h.messages = h.messages[:0]
	size := 0
	for i := range items {
		h.messages = append(h.messages, items[i].Raw)
		if copies(&items[i]) {
			size += len(items[i].Raw)
		}
	}
	h.contents = slices.Grow(h.contents[:0], size) // so that no copy moves
	for i := range items {
		if !copies(&items[i]) {
			continue
		}
		from := len(h.contents)
		for part := range items[i].lasting() {
			h.contents = append(h.contents, part...)
		}
		h.messages = append(h.messages, h.contents[from:])
	}
}
