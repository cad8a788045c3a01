package control

import (
	"context"

	"github.com/papertrace/patra/internal/domain/problem"
)

// Change is a revision of a record in the feed.
type Change struct {
	// No is its place in the feed.
	No int64 `json:"no"`
	// Effect is inserted, updated or remapped.
	Effect string `json:"effect"`
	ExportLine
}

// ChangeList is a part of the feed, in its order.
type ChangeList struct {
	Changes []Change `json:"changes"`
	// Next is what to ask for after these; where nothing is new, what was asked for.
	Next int64 `json:"next"`
	// More: there is more already.
	More bool `json:"more"`
}

// FeedStore keeps the order in which revisions of records came.
type FeedStore interface {
	// UseFeed has revisions written down for the feed from now on, if they are not, and
	// what is held with them; [ErrFeedGone] if what comes behind a place is not there any
	// more.
	UseFeed(ctx context.Context, after int64) error
	// NumberFeed gives places to revisions that were committed and have none, at most
	// so many, behind all that were given, and says how many it gave.
	NumberFeed(ctx context.Context, most int) (int, error)
	// Feed reads the revisions behind a place, in order, until f has enough.
	Feed(ctx context.Context, after int64, limit int, f func(no int64, effect string, e *Exported) (more bool, err error)) error
}

// ErrFeedGone says that a place in the feed cannot be gone on from.
var ErrFeedGone = problem.New("the feed does not reach back to that place any more: nobody has read it for a month, or it was never given", problem.Problem{
	Code: "feed_gone", Kind: problem.Conflict,
	Next: "begin anew behind place 0: everything that is held comes first, and then what changes; drop revisions that you have",
})

// maxFeedBytes is how many bytes of fields one answer holds, and one revision more.
const maxFeedBytes = 4 << 20

// Changes reads the feed of records behind a place: every revision once, in the order
// in which they became visible, those of one record by their number. What is
// committed later never stands before what was read; so whoever remembers Next and
// goes on from it misses nothing. Who asks for the first time, behind place 0, gets
// everything that is held; from then on revisions are written down for the feed, until
// nobody asks for it in a month (R90).
func (c *Control) Changes(ctx context.Context, after int64, limit int) (ChangeList, error) {
	if err := c.store.UseFeed(ctx, after); err != nil {
		return ChangeList{}, err
	}
	out, err := c.changes(ctx, after, limit)
	if err != nil || out.More {
		return out, err
	}
	given, err := c.store.NumberFeed(ctx, limit+1)
	if err != nil || given == 0 {
		return out, err
	}
	return c.changes(ctx, after, limit)
}

func (c *Control) changes(ctx context.Context, after int64, limit int) (ChangeList, error) {
	out := ChangeList{Changes: []Change{}, Next: after}
	bytes := 0
	err := c.store.Feed(ctx, after, limit+1, func(no int64, effect string, e *Exported) (bool, error) {
		if len(out.Changes) == limit || bytes > maxFeedBytes {
			out.More = true
			return false, nil
		}
		bytes += len(e.Fields)
		out.Changes = append(out.Changes, Change{No: no, Effect: effect, ExportLine: lineOf(e)})
		out.Next = no
		return true, nil
	})
	return out, err
}
