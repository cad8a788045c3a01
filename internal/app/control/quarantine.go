package control

import (
	"cmp"
	"context"
	"strings"
	"unicode/utf8"

	"github.com/papertrace/patra/internal/app/reparse"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// QuarantineRow is an item that could not be stored as a record.
type QuarantineRow struct {
	ID     int64  `json:"id"`
	Source string `json:"source"`
	Type   string `json:"type"`
	// Name is the id of the record, or where none could be read the beginning of the
	// item's hash.
	Name string `json:"name"`
	// Record is the id of the record; absent where none could be read.
	Record string       `json:"record,omitempty"`
	Code   harvest.Code `json:"code"`
	// Path is where in the item something is wrong, and Detail what.
	Path   string `json:"path,omitempty"`
	Detail string `json:"detail,omitempty"`
	// Means is what the code stands for.
	Means string          `json:"means,omitempty"`
	Batch harvest.BatchID `json:"batch"`
	First Time            `json:"first_at"`
	Last  Time            `json:"last_at"`
	// ReadSince: the record was read later than this item, so that nothing is missing.
	ReadSince bool   `json:"read_since"`
	RawSHA256 string `json:"raw_sha256"`
	// DiscardedAt is when somebody discarded the item; its bytes are gone.
	DiscardedAt *Time `json:"discarded_at,omitempty"`
}

// QuarantineQuery says which items are wanted.
type QuarantineQuery struct {
	Source string
	Code   harvest.Code
	// Record is the id of a record; only with a source.
	Record string
	// Items are the numbers of those that are wanted; none: all.
	Items []int64
	// Discarded wants those that somebody discarded in place of those that wait.
	Discarded bool
	// Before is the number of an item, and only those put aside before are listed.
	Before int64
	Limit  int
}

// QuarantineList are items in quarantine, the newest first.
type QuarantineList struct {
	Items []QuarantineRow `json:"items"`
	// Next is where the next page begins, empty on the last.
	Next string `json:"next,omitempty"`
}

// QuarantineView is an item in quarantine with its beginning.
type QuarantineView struct {
	QuarantineRow
	// Raw is the beginning of the item, without secrets and mail addresses; where the
	// part that fails lies behind that, Raw begins RawAt bytes later, a little before it.
	Raw   string `json:"raw"`
	RawAt int    `json:"raw_at,omitzero"`
	// Failing is where in Raw something is wrong; absent if that cannot be told.
	Failing *FailingPart `json:"failing,omitempty"`
	// Bytes is how many the whole item has, Cut that not all of them are shown.
	Bytes  int    `json:"bytes"`
	Cut    bool   `json:"cut"`
	Origin Origin `json:"origin"`
}

// rawShown is how many bytes of an item are shown.
const rawShown = 32 << 10

// QuarantineStore keeps items that could not be stored as records.
type QuarantineStore interface {
	reparse.Store
	// NameKept gives items the ids of their records, by their numbers, and leaves the
	// line of the audit.
	NameKept(ctx context.Context, ids map[int64]string, a source.Audit) error
	// QuarantineRows reads items, the newest first.
	QuarantineRows(ctx context.Context, q QuarantineQuery) ([]QuarantineRow, error)
	// QuarantineItem reads one with its bytes, [harvest.ErrNotFound] if there is none.
	QuarantineItem(ctx context.Context, id int64) (QuarantineRow, []byte, error)
	// Discard takes the bytes of an item away and leaves the line of the audit;
	// [harvest.ErrNotFound] if there is none that was not discarded before.
	Discard(ctx context.Context, id int64, a source.Audit) error
	// Origin reads what led to a page. Of one that is not kept any more only its number
	// is known.
	Origin(ctx context.Context, id harvest.BatchID) (Origin, error)
}

// Quarantine lists items that could not be stored as records.
func (c *Control) Quarantine(ctx context.Context, q QuarantineQuery) (QuarantineList, error) {
	if err := c.known(ctx, q.Source); err != nil {
		return QuarantineList{}, err
	}
	wanted := q.Limit
	q.Limit++ // to see whether there are more
	rows, err := c.store.QuarantineRows(ctx, q)
	if err != nil {
		return QuarantineList{}, err
	}
	out := QuarantineList{}
	out.Items, out.Next = firstOf(rows, wanted, func(r QuarantineRow) int64 { return r.ID })
	for i := range out.Items {
		c.nameItem(&out.Items[i])
	}
	return out, nil
}

// QuarantineItem shows an item that could not be stored as a record.
func (c *Control) QuarantineItem(ctx context.Context, id int64) (QuarantineView, error) {
	row, raw, err := c.store.QuarantineItem(ctx, id)
	if err != nil {
		return QuarantineView{}, err
	}
	c.nameItem(&row)
	out := QuarantineView{QuarantineRow: row, Bytes: len(raw)}
	// What is cut in two could hide what is to be taken out, so it is taken out first.
	text := c.clean(strings.ToValidUTF8(string(raw), "\ufffd"))
	out.showRaw(text)
	out.Origin, err = c.store.Origin(ctx, row.Batch)
	out.Origin.Request = c.clean(out.Origin.Request)
	return out, err
}

// rawBefore is how many bytes are shown before the part of an item that fails.
const rawBefore = 1 << 10

// showRaw takes of an item what is shown, with the part that fails in it.
func (v *QuarantineView) showRaw(text string) {
	v.Cut = len(text) > rawShown
	v.Failing = Locate(text, v.Path)
	if v.Failing != nil && v.Failing.At >= rawShown {
		v.RawAt = v.Failing.At - rawBefore
		for !utf8.RuneStart(text[v.RawAt]) {
			v.RawAt--
		}
	}
	text = text[v.RawAt:]
	v.Raw = strings.ToValidUTF8(text[:min(rawShown, len(text))], "")
	if v.Failing != nil {
		v.Failing.At -= v.RawAt
		v.Failing.End = min(v.Failing.End-v.RawAt, len(v.Raw))
	}
}

// nameItem gives an item the name by which people speak of it, and says what its code
// means.
func (c *Control) nameItem(r *QuarantineRow) {
	const digits = 12
	r.Name = cmp.Or(r.Record, "sha256:"+r.RawSHA256[:min(digits, len(r.RawSHA256))])
	r.Detail = c.clean(r.Detail)
	if m, known := r.Code.Meaning(); known {
		r.Means = m.Means
	}
}
