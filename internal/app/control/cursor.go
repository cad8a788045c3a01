package control

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
)

// cursorOfNumbers is the type of a cursor that counts candidates, or goes by ids.
const cursorOfNumbers = "ID"

// CursorRow is a cursor in a list.
type CursorRow struct {
	ID        harvest.CursorID  `json:"id"`
	Source    string            `json:"source"`
	Operation harvest.Operation `json:"operation"`
	Key       string            `json:"cursor_key"`
	Namespace string            `json:"namespace"`
	Query     string            `json:"query,omitempty"` // the selection in the text form, empty for everything
	Direction harvest.Direction `json:"direction"`
	Type      string            `json:"type"`
	Value     string            `json:"value"`
	Init      string            `json:"init"`
	Observed  string            `json:"observed_max,omitempty"`
	Moves     int64             `json:"moves"`
	UpdatedAt time.Time         `json:"updated_at"`
}

// CursorEvent is a move of a cursor.
type CursorEvent struct {
	ID       int64              `json:"id"`
	Kind     string             `json:"kind"`
	Prev     string             `json:"prev,omitempty"`
	New      string             `json:"new"`
	Observed string             `json:"observed_max,omitempty"`
	Instance harvest.InstanceID `json:"schedule_instance,omitzero"`
	Plan     harvest.PlanID     `json:"plan,omitzero"`
	Slice    harvest.SliceID    `json:"slice,omitzero"`
	Task     harvest.TaskID     `json:"task,omitzero"`
	Run      harvest.RunID      `json:"run,omitzero"`
	Batch    harvest.BatchID    `json:"batch,omitzero"`
	// Reason is why it moved: the operation that proved what it passed, or GAP_ACCEPTED,
	// CANCELLED, RESLICED (a slice was cut whose beginning had been proven), ARCHIVED
	// (the moves before were moved to a file). Moves of older versions have none.
	Reason string `json:"reason,omitempty"`
	// BatchNo is which page of its run moved it.
	BatchNo int `json:"batch_no,omitzero"`
	// Late is how many versions came late where it passed; absent if nobody looked back.
	Late    *int64    `json:"late,omitempty"`
	Remarks string    `json:"remarks,omitempty"`
	At      time.Time `json:"at"`
}

// CursorList is a page of cursors by source and operation.
type CursorList struct {
	Cursors []CursorRow `json:"cursors"`
	// Next is where the next page begins, empty on the last.
	Next string `json:"next,omitempty"`
}

// CursorQuery says which cursors are listed: of one source, operation or namespace if
// they are named.
type CursorQuery struct {
	Source    string
	Operation harvest.Operation
	Namespace string
	Page
}

// Cursors lists cursors.
func (c *Control) Cursors(ctx context.Context, q CursorQuery) (CursorList, error) {
	out := CursorList{Cursors: []CursorRow{}}
	if err := c.known(ctx, q.Source); err != nil {
		return out, err
	}
	after, err := q.Number()
	if err != nil {
		return out, err
	}
	rows, err := c.store.Cursors(ctx, q, harvest.CursorID(after), q.Limit+1)
	if err != nil {
		return out, err
	}
	out.Cursors, out.Next = firstOf(rows, q.Limit, func(r CursorRow) int64 { return int64(r.ID) })
	return out, nil
}

// CursorView is a cursor, its last moves, the newest first, and the first of the gaps it
// cannot pass.
type CursorView struct {
	Cursor CursorRow     `json:"cursor"`
	Events []CursorEvent `json:"events"`
	HeldBy []Gap         `json:"held_by"`
	// MoreHeld: there are more gaps than are shown.
	MoreHeld bool `json:"more_held,omitzero"`
	// SafetyLag is how far behind now a HARVEST stays, since what is newer may still change
	// its place; absent if it cannot be told.
	SafetyLag *Seconds `json:"safety_lag_seconds,omitempty"`
}

// heldMost is how many of the gaps before a cursor are shown with it.
const heldMost = 100

// Moves says which moves of a cursor are shown: the newest, of a time if it is given.
type Moves struct {
	From, To time.Time // zero for no bound; a move at To itself is left out
	Limit    int
}

// Cursor shows a cursor with the moves that are wanted.
func (c *Control) Cursor(ctx context.Context, id harvest.CursorID, moves Moves) (CursorView, error) {
	cur, err := c.store.Cursor(ctx, id)
	if err != nil {
		return CursorView{}, c.orArchived(ctx, err, "cursor", int64(id))
	}
	events, err := c.store.CursorEvents(ctx, id, moves)
	if err != nil {
		return CursorView{}, err
	}
	gaps, more, err := c.store.Gaps(ctx, GapQuery{Source: cur.Source, Cursor: id, Limit: heldMost})
	if err != nil {
		return CursorView{}, err
	}
	out := CursorView{Cursor: cur, Events: events, HeldBy: gaps, MoreHeld: more != 0}
	out.SafetyLag, err = c.safetyLag(ctx, cur)
	return out, err
}

// safetyLag is how far behind now the harvest of a cursor stays: as it was moved, else as
// its source declares. Of a source that cannot be used nothing is told.
func (c *Control) safetyLag(ctx context.Context, r CursorRow) (*Seconds, error) {
	if r.Operation != harvest.Harvest {
		return nil, nil
	}
	con, err := c.contracts.Select(c.leaveNoTrace(ctx), r.Source, harvest.Harvest, "")
	if err != nil {
		return nil, nil //nolint:nilerr // what is wrong with it its own page says
	}
	scope, key, _ := strings.Cut(r.Namespace, "/")
	ns := harvest.Namespace{Provenance: r.Source, Operation: r.Operation, CursorKey: r.Key, Scope: harvest.Scope(scope), Key: key}
	lag := con.Spec.Window.SafetyLag.D()
	tuned, is, err := c.store.TunedLag(ctx, ns, lag)
	if err != nil {
		return nil, err
	}
	if is {
		lag = tuned
	}
	return new(Seconds(lag / time.Second)), nil
}

// CursorPlace reads a place on the axis of a cursor: an instant or a date, of an UPDATE
// the number of a candidate.
func (c *Control) CursorPlace(ctx context.Context, id harvest.CursorID, text string) (harvest.Mark, error) {
	cur, err := c.store.Cursor(ctx, id)
	if err != nil {
		return harvest.Mark{}, err
	}
	wrong := func(what string) error {
		return problem.New(fmt.Sprintf("--to %q %s", text, what), problem.Problem{Code: "usage", Kind: problem.Usage, Next: "patra cursor skip --help"})
	}
	if cur.Type == cursorOfNumbers {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return harvest.Mark{}, wrong("is no number: the cursor counts records, or goes by ids; say up to which")
		}
		if cur.Operation == harvest.Update {
			return harvest.OrdinalMark(n), nil
		}
		return harvest.IDMark(n), nil
	}
	if t, _, err := readInstant(text, c.calendar(ctx, cur.Source, cur.Operation, "", "")); err == nil {
		return harvest.TimeMark(t), nil
	}
	return harvest.Mark{}, wrong("is neither RFC 3339 (2026-01-31T12:00:00Z) nor a date (2026-01-31)")
}

// Skipped is a cursor and the gaps it passes, or would pass, up to a place.
type Skipped struct {
	Accepted int       `json:"accepted"`
	Applied  bool      `json:"applied"`
	Cursor   CursorRow `json:"cursor"`
	Gaps     []Gap     `json:"gaps"`
	// Token, of a preview, lets exactly these gaps be accepted.
	Token string `json:"token,omitempty"`
}

// PreviewSkip lists the gaps that [Control.Skip] would accept.
func (c *Control) PreviewSkip(ctx context.Context, id harvest.CursorID, until harvest.Mark) (Skipped, error) {
	out, err := c.skippable(ctx, id, until)
	if err != nil {
		return out, err
	}
	out.Token, err = c.seenToken(ctx, actionSkip, fmt.Sprint(id), out)
	return out, err
}

// actionSkip stands for the change in the token of its preview.
const actionSkip = "CURSOR_SKIP"

// skippable are the gaps that a cursor would pass up to a place.
func (c *Control) skippable(ctx context.Context, id harvest.CursorID, until harvest.Mark) (Skipped, error) {
	cur, err := c.store.Cursor(ctx, id)
	if err != nil {
		return Skipped{}, err
	}
	gaps, _, err := c.store.Gaps(ctx, GapQuery{Source: cur.Source, Cursor: id})
	if err != nil {
		return Skipped{}, err
	}
	gaps = slices.DeleteFunc(gaps, func(g Gap) bool {
		far := g.To
		if cur.Direction == harvest.Backward {
			far = g.From
		}
		return cur.Direction.Further(until, far)
	})
	return Skipped{Accepted: len(gaps), Cursor: cur, Gaps: gaps}, nil
}

// Skip accepts every gap that a cursor has before it as far as a place.
func (c *Control) Skip(ctx context.Context, id harvest.CursorID, until harvest.Mark, by By) (Skipped, error) {
	out, err := c.skippable(ctx, id, until)
	if err != nil {
		return out, err
	}
	if err := c.checkSeen(ctx, by.Token, actionSkip, fmt.Sprint(id), out); err != nil {
		return out, err
	}
	by.Token = "" // it is of all the gaps together
	for _, g := range out.Gaps {
		if _, err := c.AcceptGap(ctx, g.Slice, by); err != nil {
			return out, err
		}
	}
	out.Applied = len(out.Gaps) > 0
	out.Cursor, err = c.store.Cursor(ctx, id)
	return out, err
}
