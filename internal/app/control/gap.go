package control

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
)

// ErrNoGap says that a slice is not one that could be accepted.
var ErrNoGap = problem.New("is not a failed or cancelled slice", problem.Problem{
	Code: "no_gap", Kind: problem.Conflict, Next: "`patra plan gaps SOURCE` lists the slices that can be accepted; nothing was changed",
})

// Gap is a slice that holds the watermark until somebody or something mends it.
type Gap struct {
	Slice harvest.SliceID `json:"slice"`
	// Cursor is the one it holds.
	Cursor  harvest.CursorID `json:"cursor"`
	From    harvest.Mark     `json:"from"`
	To      harvest.Mark     `json:"to"`
	Range   string           `json:"range,omitempty"` // the part of the window it is
	Status  string           `json:"status"`
	Reason  string           `json:"reason"`
	RetryAt time.Time        `json:"retry_at,omitzero"`
	// Whole: its plan is not open any more, and it cannot be queued again.
	Whole bool `json:"-"`
}

// GapKind are the gaps of one state and reason: the first of them in a list, and how many
// there are.
type GapKind struct {
	First Gap `json:"first"`
	Count int `json:"count"`
}

// FoldGaps puts like gaps together, in the order of their first.
func FoldGaps(gaps []Gap) []GapKind {
	type kind struct{ status, reason string }
	out := []GapKind{}
	at := map[kind]int{}
	for _, g := range gaps {
		k := kind{g.Status, g.Reason}
		i, known := at[k]
		if !known {
			i = len(out)
			at[k] = i
			out = append(out, GapKind{First: g})
		}
		out[i].Count++
	}
	return out
}

// GapQuery says which gaps are listed: of a source, or of one of its cursors.
type GapQuery struct {
	Source string
	Cursor harvest.CursorID
	// After is the slice behind which the page begins.
	After harvest.SliceID
	Limit int // 0: no limit
}

// GapList is a page of the gaps of a source, by cursor, the oldest first.
type GapList struct {
	Gaps []Gap `json:"gaps"`
	// Kinds are those of the page by state and reason.
	Kinds  []GapKind `json:"kinds"`
	Source string    `json:"source"`
	// Next is where the next page begins, empty on the last.
	Next string `json:"next,omitempty"`
}

// Mends are the commands with which a person gets the gaps of the page out of the way. What
// was cancelled is queued again only where that is said, and what is of a plan that is not
// open any more never is.
func (l GapList) Mends() string {
	retry := ""
	for _, g := range l.Gaps {
		switch {
		case g.Whole:
		case g.Status == string(harvest.SliceCancelled):
			retry = "patra plan retry " + l.Source + " --cancelled --reason TEXT, or "
		case retry == "":
			retry = "patra plan retry " + l.Source + " --reason TEXT, or "
		}
	}
	return retry + "patra plan accept-gap SLICE --reason TEXT"
}

// Gaps lists the windows of a source that hold a watermark.
func (c *Control) Gaps(ctx context.Context, code string, p Page) (GapList, error) {
	out := GapList{Source: code, Gaps: []Gap{}, Kinds: []GapKind{}}
	if err := c.known(ctx, code); err != nil {
		return out, err
	}
	after, err := p.Number()
	if err != nil {
		return out, err
	}
	gaps, next, err := c.store.Gaps(ctx, GapQuery{Source: code, After: harvest.SliceID(after), Limit: p.Limit})
	if err != nil {
		return out, err
	}
	out.Gaps = gaps
	out.Kinds = FoldGaps(gaps)
	if next != 0 {
		out.Next = strconv.FormatInt(int64(next), 10)
	}
	return out, nil
}

// RetryPreview are the gaps that would be queued again.
type RetryPreview struct {
	Applied bool   `json:"applied"`
	Gaps    []Gap  `json:"gaps"`
	Slices  int    `json:"slices"`
	Source  string `json:"source"`
	// Token lets [Control.Retry] queue exactly these.
	Token string `json:"token,omitempty"`
}

// PreviewRetry lists what [Control.Retry] would queue.
func (c *Control) PreviewRetry(ctx context.Context, code string, cancelled bool) (RetryPreview, error) {
	out, err := c.retryPreview(ctx, code, cancelled)
	if err != nil {
		return out, err
	}
	out.Token, err = c.seenToken(ctx, "PLAN_RETRY", code, out)
	return out, err
}

func (c *Control) retryPreview(ctx context.Context, code string, cancelled bool) (RetryPreview, error) {
	list, err := c.Gaps(ctx, code, Page{}) // all: what is counted is what is queued
	if err != nil {
		return RetryPreview{}, err
	}
	gaps := slices.DeleteFunc(list.Gaps, func(g Gap) bool {
		return g.Whole || g.Status != string(harvest.SliceFailed) && !cancelled
	})
	return RetryPreview{Gaps: gaps, Slices: len(gaps), Source: code}, nil
}

// Retried is how many slices were queued again.
type Retried struct {
	Applied bool   `json:"applied"`
	Slices  int64  `json:"slices"`
	Source  string `json:"source"`
}

// Retry queues the failed slices of a source again at once, and if cancelled is
// said also those that were given up one by one.
func (c *Control) Retry(ctx context.Context, code string, cancelled bool, by By) (Retried, error) {
	if err := c.known(ctx, code); err != nil {
		return Retried{}, err
	}
	if by.Token != "" {
		shown, err := c.retryPreview(ctx, code, cancelled)
		if err != nil {
			return Retried{}, err
		}
		if err := c.checkSeen(ctx, by.Token, "PLAN_RETRY", code, shown); err != nil {
			return Retried{}, err
		}
	}
	n, err := c.store.RetryGaps(ctx, code, cancelled, by.line("PLAN_RETRY", "source/"+code))
	if err != nil {
		return Retried{}, err
	}
	return Retried{Applied: true, Slices: n, Source: code}, nil
}

// AcceptPreview is a slice that would count as read, and where the watermark would
// stand then.
type AcceptPreview struct {
	Applied   bool         `json:"applied"`
	Slice     SliceRow     `json:"slice"`
	Watermark harvest.Mark `json:"watermark"`
	// Token lets [Control.AcceptGap] do exactly this.
	Token string `json:"token,omitempty"`
}

// PreviewAccept tells what [Control.AcceptGap] would do, or why it would be refused.
func (c *Control) PreviewAccept(ctx context.Context, id harvest.SliceID) (AcceptPreview, error) {
	out, err := c.acceptPreview(ctx, id)
	if err != nil {
		return out, err
	}
	out.Token, err = c.seenToken(ctx, "GAP_ACCEPT", fmt.Sprint(id), out)
	return out, err
}

func (c *Control) acceptPreview(ctx context.Context, id harvest.SliceID) (AcceptPreview, error) {
	w, err := c.store.TryAcceptGap(ctx, id)
	if err != nil {
		return AcceptPreview{}, err
	}
	s, err := c.store.Slice(ctx, id)
	return AcceptPreview{Slice: s, Watermark: w}, err
}

// Accepted is a gap that counts as read, and where the watermark stands now.
type Accepted struct {
	Applied   bool            `json:"applied"`
	Slice     harvest.SliceID `json:"slice"`
	Watermark harvest.Mark    `json:"watermark"`
}

// AcceptGap lets the watermark pass a window that will not be read.
func (c *Control) AcceptGap(ctx context.Context, id harvest.SliceID, by By) (Accepted, error) {
	if by.Token != "" {
		shown, err := c.acceptPreview(ctx, id)
		if err != nil {
			return Accepted{}, err
		}
		if err := c.checkSeen(ctx, by.Token, "GAP_ACCEPT", fmt.Sprint(id), shown); err != nil {
			return Accepted{}, err
		}
	}
	w, err := c.store.AcceptGap(ctx, id, by.line("GAP_ACCEPT", fmt.Sprintf("slice/%d", id)))
	if err != nil {
		return Accepted{}, err
	}
	return Accepted{Applied: true, Slice: id, Watermark: w}, nil
}
