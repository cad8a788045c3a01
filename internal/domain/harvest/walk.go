package harvest

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"time"
)

// PagingType is how a source is walked.
type PagingType string

// The paging types (C9).
const (
	PageOffset PagingType = "OFFSET"
	PageNumber PagingType = "PAGE"
	PageToken  PagingType = "TOKEN"
	PageURL    PagingType = "URL"
	PageScroll PagingType = "SCROLL"
	PageTime   PagingType = "TIME"
	PageKeyset PagingType = "KEYSET"
	// PageIDs is how candidates are read again, some ids at a time; no source declares it.
	PageIDs PagingType = "ID_RANGE"
)

// Paging is what a source declares about its walks.
type Paging struct {
	Type     PagingType `json:"type"`
	Size     int        `json:"pageSize"`
	PageBase int        `json:"firstPage,omitzero"`
	// TokenContinues: a repeated token means "go on" (tokenRepeat=CONTINUE);
	// otherwise it is the source's way to say "end".
	TokenContinues bool `json:"tokenContinues,omitzero"`
	// Stateful: the position is held by the server, whatever token or link it
	// gives, so a page whose answer was lost cannot be asked for again (R22).
	Stateful bool `json:"tokenStateful,omitzero"`
	// TokenLife is how long what a page gave for the next one can be used, 0 if
	// nothing is known (R23).
	TokenLife time.Duration `json:"tokenLifetimeNs,omitzero"`
	// End lists the proofs that end a walk of this source.
	End []EndProof `json:"end"`
	// TotalExact: the walk's distinct ids must reach the greatest total it was
	// told, and what the planner counted.
	TotalExact bool `json:"totalExact,omitzero"`
	// TotalWithin is how many percent of such a total a walk may miss where
	// totals are near and not exact. 0 where they are exact, or worth nothing.
	TotalWithin int `json:"totalWithinPercent,omitzero"`
	// Snapshot: the server froze the result, so offsets do not shift (R25).
	Snapshot bool `json:"snapshot,omitzero"`
	// Order is the declared total order of the result, if any.
	Order string `json:"order,omitempty"`
	// Ascending: that order begins with the update time of the items, oldest
	// first, so that a walk that was left may prove a beginning (R13).
	Ascending bool `json:"ascending,omitzero"`
	// NewestFirst: the source cannot be asked for a window. Its list is read from the
	// newest record on until it is past the window (R75).
	NewestFirst bool `json:"newestFirst,omitzero"`
	// MaxItems is the depth a walk can reach, 0 for no wall.
	MaxItems int64 `json:"maxItems,omitzero"`
	// MaxPages is how long a walk may be: a longer slice is to be cut. Where it
	// cannot be, a walk on tokens or links goes on as long as its pages bring
	// something new, see [MaxStretch]; pages that are counted end there.
	MaxPages int `json:"maxPages,omitzero"`

	// Until is the page at which a slice that is a range of pages is over, 0 for
	// none; no source declares it.
	Until int `json:"-"`
	// Counted is what the planner counted for the slice, nil if nothing. Overlaps:
	// the walk asks for more than that, so to reach it proves nothing.
	Counted  *int64 `json:"-"`
	Overlaps bool   `json:"-"`
	// Window is what the slice asks for, by which a list that has its newest records
	// first is read, and Calendar the grains in which its source tells time.
	Window   Window   `json:"-"`
	Calendar Calendar `json:"-"`
}

// Of is how a slice is walked: by pages of its own size (R26), held against what
// was counted for it, and where it is a range of pages only over these.
func (p Paging) Of(s SliceSpec) Paging {
	p.Size = cmp.Or(s.PageSize, p.Size)
	if p.NewestFirst {
		p.Calendar = s.calendar()
		p.Window = p.Calendar.Grains(s.RequestWindow())
	}
	if s.Range.Key != RangePage || s.Range.Whole() {
		if h := s.Hints; h != nil && h.EstimatedBy == ByCount {
			p.Counted = &h.ExpectedRecords
			p.Overlaps = h.OverlapSec > 0
		}
		return p
	}
	if s.Strategy == StrategyPage {
		p.Until = int(s.Range.To)
		return p
	}
	// Of the pages before only the number of ids is known: one that comes again
	// would count twice, and a total be reached too early.
	p.End = slices.DeleteFunc(slices.Clone(p.End), func(e EndProof) bool { return e == EndTotal })
	return p
}

// Start is where a walk of the slice begins. A token that the first walk did not
// get past may be dead: further walks begin at the beginning, which covers the
// pages of the slice and those before.
func (p Paging) Start(s SliceSpec, walk int) Position {
	switch r := s.Range; {
	case r.Key != RangePage || r.From == 0:
		return Position{}
	case s.Strategy == StrategyPage:
		return Position{Page: int(r.From), Seen: r.From * int64(p.Of(s).Size)}
	case s.Cursor != nil && walk <= 1:
		return Position{Token: s.Cursor.StartToken, Held: s.Cursor.Held, Seen: s.Cursor.Seen, Before: r.From}
	}
	return Position{}
}

// Expired reports whether what the page before a position gave for the next one
// is dead by now, when that page was committed this long ago.
func (p Paging) Expired(at Position, age time.Duration) bool {
	lent := at.Token != "" || at.URL != "" || len(at.Held) > 0
	return lent && p.TokenLife > 0 && age >= p.TokenLife
}

// ServerHolds reports whether the server holds the place of a walk that stands there.
func (p Paging) ServerHolds(at Position) bool {
	return p.Stateful && (at.Token != "" || at.URL != "")
}

// ordered reports whether a walk may prove a beginning: page numbers may shift,
// so that one walk by them proves nothing.
func (p Paging) ordered() bool { return p.Ascending && !p.Confirms() }

// chained reports whether each page tells where the next is, so that how many
// there are is the source's to say.
func (p Paging) chained() bool {
	return p.Type == PageToken || p.Type == PageScroll || p.Type == PageURL
}

// Seam reports whether pages overlap by one item to notice shifting rows (R25).
func (p Paging) Seam() bool { return p.Type == PageOffset && !p.Snapshot }

// pastWall reports whether asking for the page at next would go past what the
// source lets a walk reach. A total is no help here: there may be none, or one
// that stops at the wall itself (P12).
func (p Paging) pastWall(next Position) bool {
	if p.MaxItems == 0 {
		return false
	}
	switch p.Type {
	case PageOffset:
		return next.Offset+int64(p.Size) > p.MaxItems
	case PageNumber:
		return int64(next.Page+1)*int64(p.Size) > p.MaxItems
	default:
		return next.Rows >= p.MaxItems
	}
}

// Position is where a walk stands. It is stored as the before and after of each
// batch, so it must hold all that the next request needs.
type Position struct {
	Offset int64  `json:"offset,omitzero"`
	Page   int    `json:"page,omitzero"`
	Token  string `json:"token,omitempty"`
	URL    string `json:"url,omitempty"`
	// Held are named values of earlier replies that following requests repeat,
	// such as a server-side session.
	Held map[string]string `json:"held,omitempty"`
	// Pages committed so far in this walk, and pages of the result Before its
	// first if it did not begin with the first of all.
	Pages  int   `json:"pages,omitzero"`
	Before int64 `json:"before,omitzero"`
	// Requests this walk has cost, where they have a budget.
	Requests int `json:"requests,omitzero"`
	// At is the greatest update time seen where the result is declared
	// ascending, and with KEYSET that of the record after which the next page
	// begins; Unsorted, that one item at least was not in its place, or did
	// not tell (R13).
	At       time.Time `json:"updatedAt,omitzero"`
	Unsorted bool      `json:"unsorted,omitzero"`
	// Total is the greatest statement of the whole so far, if any.
	Total *int64 `json:"total,omitempty"`
	// Seen counts distinct ids so far.
	Seen int64 `json:"seen,omitzero"`
	// Rows counts all that came, where there is a wall: it counts an item that
	// comes twice as two.
	Rows int64 `json:"rows,omitzero"`
	// Set is the fingerprint of what was seen, where walks are compared.
	Set SetSum `json:"set,omitzero"`
	// Tail are the ids of the page before, which came without a token or link: it
	// is asked for once more, since nothing else says that it was the last.
	Tail *SetSum `json:"tail,omitempty"`
	// Unproven, of the end of a walk: the same, where the page cannot be asked
	// for again.
	Unproven bool `json:"unproven,omitzero"`
	// LastID is the seam: the id that must come first on the next page. With KEYSET
	// it is that of the record after which the next page begins.
	LastID string `json:"lastId,omitempty"`
	// PageHash and Same notice a page that comes again and again.
	PageHash uint64 `json:"pageHash,omitzero"`
	Same     int    `json:"same,omitzero"`
	// Of a list that has its newest records first: how many of those that came last
	// lie before the window, how many lie in it, the date at the top of the list, the
	// oldest date so far, and the oldest without that of the page before.
	Past      int64     `json:"past,omitzero"`
	Within    int64     `json:"within,omitzero"`
	Top       time.Time `json:"top,omitzero"`
	Low       time.Time `json:"low,omitzero"`
	LowBefore time.Time `json:"lowBefore,omitzero"`
	// Back counts the pages in a row that did not join what was read, so that the
	// walk went back. Nothing of such a page counts.
	Back int `json:"back,omitzero"`
	// Old counts pages in a row that brought nothing new.
	Old int `json:"old,omitzero"`
}

// String is the stored form.
func (p Position) String() string {
	b, err := json.Marshal(p)
	if err != nil { // strings and numbers only
		panic(fmt.Sprintf("marshal position: %v", err))
	}
	return string(b)
}

// ParsePosition reads the stored form.
func ParsePosition(s string) (Position, error) {
	var p Position
	if s == "" {
		return p, nil
	}
	if err := json.Unmarshal([]byte(s), &p); err != nil {
		return p, fmt.Errorf("stored position: %w", err)
	}
	return p, nil
}

// PageFacts is what a decoded page says about the walk.
type PageFacts struct {
	IDs     []string    // in order of appearance, as received
	Updated []time.Time // of each id; zero where the page does not say
	Total   *int64
	Token   string
	URL     string
	HasMore *bool
	Held    map[string]string
	// NextEmpty: the place of the token or link is there, and nothing in it.
	NextEmpty bool
}

// updatedAt of the i-th id; a page of bare ids has none.
func (f PageFacts) updatedAt(i int) time.Time {
	if i >= len(f.Updated) {
		return time.Time{}
	}
	return f.Updated[i]
}

// IDHash is the short stable hash by which a walk remembers the ids it saw.
func IDHash(id string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(id))
	return h.Sum64()
}

// SetSum is a fingerprint of a set of (id, updatedAt) pairs, or of ids. It is a sum, so
// that neither order nor pages matter and a resumed walk goes on adding. A row
// that comes twice counts twice: it was pushed on to the next page by one that
// came in behind us, and that one the walk has not seen.
type SetSum [2]uint64

func (s SetSum) add(id string, updated time.Time) SetSum {
	b := append([]byte(id), 0)
	if !updated.IsZero() {
		b = binary.BigEndian.AppendUint64(b, uint64(updated.UnixMicro()))
	}
	h := sha256.Sum256(b)
	return SetSum{s[0] + binary.BigEndian.Uint64(h[:]), s[1] + binary.BigEndian.Uint64(h[8:])}
}

func walkFault(r Reaction, code Code) error {
	return Fault{Level: Transient, Reaction: r, Code: code}
}
