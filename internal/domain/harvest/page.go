package harvest

import (
	"encoding/hex"
	"time"
)

// Page is a decoded reply.
type Page struct {
	Items   []Item
	Total   *int64
	Token   string
	URL     string
	HasMore *bool
	// Held are values of the reply that following requests repeat.
	Held map[string]string
	// Signals are the texts found at the places a source declared as signs
	// that something went wrong.
	Signals map[string]string
}

// Item is one element of a page. Raw points into the reply's bytes.
type Item struct {
	Raw         []byte
	ID          string // canonical
	UpdatedAt   time.Time
	Version     int64
	Fields      []byte
	Status      RecordStatus
	ContentHash [32]byte
	RawSHA256   [32]byte
	// Problem says why the item cannot be kept as a record: a short code and
	// a sentence. Such an item goes to quarantine.
	Problem *Problem
}

// Codes of problems.
const (
	ProblemNoID         = "no_id"         // none, or not of the source's form
	ProblemBadDate      = "bad_date"      // no update time, or none that can be read
	ProblemMissingField = "missing_field" // a required field has no value
	ProblemBadText      = "bad_text"      // bytes that no store takes as text
	ProblemTooLong      = "too_long"      // an id or a number of values beyond all measure
)

// Problem of an item.
type Problem struct {
	Code   string // one of the codes above
	Path   string
	Detail string
}

// Facts are what the walk needs of the page. An item whose id cannot be read is
// there all the same, under a name of its own: a page full of such is not empty.
func (p *Page) Facts() PageFacts {
	f := PageFacts{Total: p.Total, Token: p.Token, URL: p.URL, HasMore: p.HasMore, Held: p.Held}
	f.IDs, f.Updated = make([]string, 0, len(p.Items)), make([]time.Time, 0, len(p.Items))
	for i := range p.Items {
		id := p.Items[i].ID
		if id == "" {
			id = "unread:" + hex.EncodeToString(p.Items[i].RawSHA256[:])
		}
		f.IDs, f.Updated = append(f.IDs, id), append(f.Updated, p.Items[i].UpdatedAt)
	}
	return f
}
