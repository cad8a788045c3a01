package harvest

import "time"

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

// Problem of an item.
type Problem struct {
	Code   string // no_id, bad_date, missing_field, bad_text, too_long
	Path   string
	Detail string
}

// Facts are what the walk needs of the page.
func (p *Page) Facts() PageFacts {
	f := PageFacts{Total: p.Total, Token: p.Token, URL: p.URL, HasMore: p.HasMore, Held: p.Held}
	f.IDs = make([]string, 0, len(p.Items))
	for i := range p.Items {
		if id := p.Items[i].ID; id != "" {
			f.IDs = append(f.IDs, id)
		}
	}
	return f
}
