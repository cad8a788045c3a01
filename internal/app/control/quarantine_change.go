package control

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
)

// QuarantineChoice says which items in quarantine something is done with: those with
// these numbers, or those of a source, all of them or with one cause.
type QuarantineChoice struct {
	Source string
	Code   harvest.Code
	Items  []int64
}

// chosenMost is how many items one change may be about.
const chosenMost = 1000

// errNoChoice says that nobody said which items.
var errNoChoice = problem.New("which items was not said", problem.Problem{
	Code: "usage", Kind: problem.Usage, Next: "give numbers of items, as `patra quarantine list` shows them, or a source; nothing was changed",
})

// errMixedChoice says that items are of several sources.
var errMixedChoice = problem.New("the items are of several sources", problem.Problem{
	Code: "usage", Kind: problem.Usage, Next: "choose the items of one source at a time; nothing was changed",
})

// errNothingChosen says that there are no such items.
var errNothingChosen = problem.New("no such items are in quarantine", problem.Problem{
	Code: "not_found", Kind: problem.NotFound, Next: "`patra quarantine list` names those that are; nothing was changed",
})

// choose reads the items that a choice means, which are all of one source.
func (c *Control) choose(ctx context.Context, ch QuarantineChoice) (code string, rows []QuarantineRow, err error) {
	if ch.Source == "" && len(ch.Items) == 0 {
		return "", nil, errNoChoice
	}
	if err := c.known(ctx, ch.Source); err != nil {
		return "", nil, err
	}
	rows, err = c.store.QuarantineRows(ctx, QuarantineQuery{Source: ch.Source, Code: ch.Code, Items: ch.Items, Limit: chosenMost})
	if err != nil {
		return "", nil, err
	}
	wanted := slices.Compact(slices.Sorted(slices.Values(ch.Items)))
	if len(rows) == 0 || len(rows) < len(wanted) {
		return "", nil, errNothingChosen
	}
	for i := range rows {
		c.nameItem(&rows[i])
		if rows[i].Source != rows[0].Source {
			return "", nil, errMixedChoice
		}
	}
	return rows[0].Source, rows, nil
}

// numbersOf are the numbers of items, and names those by which people know them.
func numbersOf(rows []QuarantineRow) (numbers []int64, names []string) {
	for _, r := range rows {
		numbers = append(numbers, r.ID)
		names = append(names, r.Name)
	}
	return numbers, names
}

// DiscardOrder says which item is discarded.
type DiscardOrder struct {
	By
	ID int64
	// Name is the item's, typed by whoever wants it gone.
	Name   string
	DryRun bool
}

// Discarded is what becomes of an item that is discarded.
type Discarded struct {
	Applied bool          `json:"applied"`
	Item    QuarantineRow `json:"item"`
	// Token discards exactly this.
	Token string `json:"token,omitempty"`
}

// WrongNameError says that what was typed is not the name of the item.
type WrongNameError struct{ Typed, Name string }

func (e *WrongNameError) Error() string {
	return fmt.Sprintf("%q is not the name of the item", e.Typed)
}

// Problem implements problem.Error.
func (e *WrongNameError) Problem() problem.Problem {
	return problem.Problem{
		Code: "wrong_name", Kind: problem.Usage, Title: e.Error(),
		Next: fmt.Sprintf("its bytes cannot be had back: type its name, %s, if it is the one you mean; nothing was changed", e.Name),
	}
}

// errDiscarded says that an item is gone already.
var errDiscarded = problem.New("the item was discarded before", problem.Problem{
	Code: "not_open", Kind: problem.Conflict, Next: "`patra quarantine list --discarded` shows when; nothing was changed",
})

// Discard throws an item in quarantine away: its bytes are gone, and it is not put
// before people again if the source sends it once more.
func (c *Control) Discard(ctx context.Context, o DiscardOrder) (Discarded, error) {
	row, _, err := c.store.QuarantineItem(ctx, o.ID)
	if err != nil {
		return Discarded{}, err
	}
	c.nameItem(&row)
	out := Discarded{Item: row}
	object := fmt.Sprintf("quarantine/%d", o.ID)
	if row.DiscardedAt != nil {
		return out, errDiscarded
	}
	if o.DryRun {
		out.Token, err = c.seenToken(ctx, "QUARANTINE_DISCARD", object, row)
		return out, err
	}
	if err := c.checkSeen(ctx, o.Token, "QUARANTINE_DISCARD", object, row); err != nil {
		return out, err
	}
	if o.Name != row.Name {
		return out, &WrongNameError{Typed: o.Name, Name: row.Name}
	}
	if err := c.store.Discard(ctx, o.ID, o.line("QUARANTINE_DISCARD", object)); err != nil {
		return out, err
	}
	out.Applied = true
	out.Item, _, err = c.store.QuarantineItem(ctx, o.ID)
	c.nameItem(&out.Item)
	return out, err
}

// RefetchOrder says which records are asked for again because of items in quarantine.
type RefetchOrder struct {
	By
	QuarantineChoice
	// BaseURL is a host that is asked in place of the source's own; empty: none.
	BaseURL string
	// Watch, if set, is shown how the work goes.
	Watch *Watch
}

// RefetchPreview is what asking for records again would take.
type RefetchPreview struct {
	Items []QuarantineRow `json:"items"`
	// Nameless are items without an id: nobody can be asked for those.
	Nameless []QuarantineRow `json:"nameless"`
	Refresh  RefreshPreview  `json:"refresh"`
	// Token asks for exactly these.
	Token string `json:"token,omitempty"`
}

// errNameless says that no item has an id.
var errNameless = problem.New("none of the items has an id that the source could be asked for", problem.Problem{
	Code: "nameless", Kind: problem.Usage, Next: "when the mapping is mended, patra backfill over their time reads them again; nothing was changed",
})

// refetch is a choice as the use case that reads records again takes it.
func (c *Control) refetch(ctx context.Context, o RefetchOrder) (req RefreshRequest, out RefetchPreview, err error) {
	code, rows, err := c.choose(ctx, o.QuarantineChoice)
	if err != nil {
		return req, out, err
	}
	out = RefetchPreview{Items: []QuarantineRow{}, Nameless: []QuarantineRow{}}
	var ids []string
	for _, r := range rows {
		if r.Record == "" {
			out.Nameless = append(out.Nameless, r)
			continue
		}
		out.Items = append(out.Items, r)
		ids = append(ids, r.Record)
	}
	if len(ids) == 0 {
		return req, out, errNameless
	}
	key := []string{code}
	for _, r := range out.Items {
		key = append(key, r.Record, r.Last.String())
	}
	return RefreshRequest{
		Source: code, IDs: strings.NewReader(strings.Join(ids, "\n")), BaseURL: o.BaseURL, Watch: o.Watch,
		// An item that came again since it was asked for is another wish.
		Activity: "refetch-" + harvest.HashKey(key...)[:16],
	}, out, nil
}

// PreviewRefetch tells what [Control.Refetch] would ask for. Nothing is asked.
func (c *Control) PreviewRefetch(ctx context.Context, o RefetchOrder) (RefetchPreview, error) {
	req, out, err := c.refetch(ctx, o)
	if err != nil {
		return out, err
	}
	out.Refresh, err = c.PreviewRefresh(ctx, req)
	if err != nil {
		return out, err
	}
	out.Refresh.Token = ""
	numbers, _ := numbersOf(out.Items)
	out.Token, err = c.seenToken(ctx, "QUARANTINE_REFETCH", "source/"+req.Source, numbers)
	return out, err
}

// admitRefetch holds an order to what was shown and leaves its line in the audit.
func (c *Control) admitRefetch(ctx context.Context, o RefetchOrder) (RefreshRequest, error) {
	req, shown, err := c.refetch(ctx, o)
	if err != nil {
		return req, err
	}
	numbers, names := numbersOf(shown.Items)
	if err := c.checkSeen(ctx, o.Token, "QUARANTINE_REFETCH", "source/"+req.Source, numbers); err != nil {
		return req, err
	}
	if _, err := c.PreviewRefresh(ctx, req); err != nil { // a source that cannot be asked so
		return req, err
	}
	req, _, err = c.refetch(ctx, o) // its list of ids has been read
	if err != nil {
		return req, err
	}
	return req, c.store.Audit(ctx, o.line("QUARANTINE_REFETCH", "source/"+req.Source), map[string]any{"items": numbers, "names": names})
}

// Refetch asks the source again for the records of items in quarantine, as a refresh
// does: through the rate gate, in an activity of its own, in the foreground.
func (c *Control) Refetch(ctx context.Context, o RefetchOrder) (*Report, error) {
	req, err := c.admitRefetch(ctx, o)
	if err != nil {
		return nil, err
	}
	return c.Refresh(ctx, req)
}

// PlanRefetch is [Control.Refetch] that leaves the work to whoever takes it.
func (c *Control) PlanRefetch(ctx context.Context, o RefetchOrder) (RefreshPlanned, error) {
	req, err := c.admitRefetch(ctx, o)
	if err != nil {
		return RefreshPlanned{}, err
	}
	by := o.By
	by.Token = "" // that of the items, which was held to
	return c.PlanRefresh(ctx, req, by)
}
