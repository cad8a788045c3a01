package harvest

import (
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"strings"
	"time"
)

// Page is a decoded reply.
type Page struct {
	Items   []Item
	Total   *int64
	Token   string
	URL     string
	HasMore *bool
	// NextEmpty: the place of the token or link is there, and empty or null.
	NextEmpty bool
	// Held are values of the reply that following requests repeat.
	Held map[string]string
	// Signals are the texts found at the places a source declared as signs
	// that something went wrong.
	Signals map[string]string
}

// Item is one element of a page. Raw points into the reply's bytes.
type Item struct {
	Raw       []byte
	ID        string // canonical
	UpdatedAt time.Time
	Version   int64
	Fields    []byte
	// Map makes the fields of an item of a large page from its bytes and appends
	// them: kept, they would take as much memory as the page. Otherwise it is nil.
	Map    func(dst, raw []byte) []byte
	Status RecordStatus
	// ObservedAt is when the item was asked for, if that was before its page was: it
	// was kept since. Otherwise it is zero.
	ObservedAt time.Time
	// Volatile are the parts of Raw that change without a change of the
	// record (R62), by their beginning; they may overlap.
	Volatile []ByteRange
	// Problem says why the item cannot be kept as a record: a short code and
	// a sentence. Such an item goes to quarantine.
	Problem *Problem
}

// Stretch is a part of an item's bytes, from and to.
type ByteRange struct{ From, To int32 }

// Mapped are the item's fields, kept or made anew.
func (it *Item) Mapped() []byte {
	if it.Map != nil {
		return it.Map(nil, it.Raw)
	}
	return it.Fields
}

// Hashes returns the SHA-256 of the item as it came, and of its content, which
// leaves the volatile parts out.
func (it *Item) Hashes() (raw, content [32]byte) {
	raw = sha256.Sum256(it.Raw)
	if len(it.Volatile) == 0 {
		return raw, raw
	}
	return raw, it.contentHash()
}

func (it *Item) contentHash() (sum [32]byte) {
	h := sha256.New()
	for part := range it.lasting() {
		h.Write(part)
	}
	h.Sum(sum[:0])
	return sum
}

// lasting are the parts of the item between its volatile parts.
func (it *Item) lasting() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		at := int32(0)
		for _, s := range it.Volatile {
			if s.From > at && !yield(it.Raw[at:s.From]) {
				return
			}
			at = max(at, s.To)
		}
		yield(it.Raw[at:])
	}
}

// Problem of an item.
type Problem struct {
	Code   Code
	Path   string
	Detail string
}

// unreadPrefix begins the names of items whose ids cannot be read.
const unreadPrefix = "unread:"

// isUnread reports whether a name stands for an id that cannot be read.
func isUnread(id string) bool { return strings.HasPrefix(id, unreadPrefix) }

// Facts are what the walk needs of the page. An item whose id cannot be read is
// there all the same, under a name of its own: a page full of such is not empty.
func (p *Page) Facts() PageFacts {
	f := PageFacts{Total: p.Total, Token: p.Token, URL: p.URL, HasMore: p.HasMore, Held: p.Held, NextEmpty: p.NextEmpty}
	f.IDs, f.Updated = make([]string, 0, len(p.Items)), make([]time.Time, 0, len(p.Items))
	for i := range p.Items {
		id := p.Items[i].ID
		if id == "" {
			sum := sha256.Sum256(p.Items[i].Raw)
			id = unreadPrefix + hex.EncodeToString(sum[:])
		}
		f.IDs, f.Updated = append(f.IDs, id), append(f.Updated, p.Items[i].UpdatedAt)
	}
	return f
}
