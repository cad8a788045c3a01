package control

import (
	"context"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// PlanRow is a plan in a list.
type PlanRow struct {
	ID        harvest.PlanID    `json:"id"`
	Source    string            `json:"source"`
	Operation harvest.Operation `json:"operation"`
	Status    harvest.PlanState `json:"status"`
	Activity  string            `json:"activity,omitempty"`
	From      harvest.Mark      `json:"from"`
	To        harvest.Mark      `json:"to"`
	SlicedTo  harvest.Mark      `json:"sliced_to"`
	// Unsliced: what lies beyond SlicedTo is not cut yet.
	Unsliced  bool      `json:"-"`
	Strategy  string    `json:"strategy"`
	CreatedAt time.Time `json:"created_at"`
	Key       string    `json:"plan_key"`
	// Query is the selection in the text form, empty for everything.
	Query string `json:"query,omitempty"`
}

// PlanQuery says which plans are listed.
type PlanQuery struct {
	Source string // empty: of all sources
	// Before is the number of a plan, and only older ones are listed: the next page.
	Before harvest.PlanID
	Limit  int
}

// PlanList is a page of plans, the newest first.
type PlanList struct {
	Plans []PlanRow `json:"plans"`
	// Next is where the next page begins, empty on the last.
	Next string `json:"next,omitempty"`
}

// Plans lists plans.
func (c *Control) Plans(ctx context.Context, q PlanQuery) (PlanList, error) {
	if err := c.known(ctx, q.Source); err != nil {
		return PlanList{}, err
	}
	rows, err := c.store.Plans(ctx, q.Source, q.Before, q.Limit+1)
	out := PlanList{}
	out.Plans, out.Next = firstOf(rows, q.Limit, func(p PlanRow) int64 { return int64(p.ID) })
	return out, err
}

// SliceList is a page of the slices of a plan, in the order they were cut.
type SliceList struct {
	Slices []SliceRow `json:"slices"`
	// Next is where the next page begins, empty on the last.
	Next string `json:"next,omitempty"`
}

// Slices lists the slices of a plan.
func (c *Control) Slices(ctx context.Context, id harvest.PlanID, p Page) (SliceList, error) {
	out := SliceList{}
	after, err := p.Number()
	if err != nil {
		return out, err
	}
	if _, err := c.store.Plan(ctx, id); err != nil {
		return out, c.orArchived(ctx, err, "plan", int64(id))
	}
	rows, err := c.store.Slices(ctx, id, harvest.SliceID(after), p.Limit+1)
	if err != nil {
		return out, err
	}
	out.Slices, out.Next = firstOf(rows, p.Limit, func(s SliceRow) int64 { return int64(s.ID) })
	return out, c.explainSlices(ctx, out.Slices)
}

// Slice shows one slice.
func (c *Control) Slice(ctx context.Context, id harvest.SliceID) (SliceRow, error) {
	s, err := c.store.Slice(ctx, id)
	if err != nil {
		return s, c.orArchived(ctx, err, "slice", int64(id))
	}
	one := []SliceRow{s}
	err = c.explainSlices(ctx, one)
	return one[0], err
}

// explainSlices fills in the causes of slices and what they wait for: those of their
// tasks.
func (c *Control) explainSlices(ctx context.Context, rows []SliceRow) error {
	b, err := c.barriers(ctx)
	if err != nil {
		return err
	}
	for i, s := range rows {
		if s.Work == nil {
			continue
		}
		b.explain(ctx, s.Work)
		rows[i].Cause = s.Work.Cause
		rows[i].Waiting = s.Work.Waiting
	}
	return nil
}

// SliceRow is a slice in a list.
type SliceRow struct {
	ID     harvest.SliceID    `json:"id"`
	Parent harvest.SliceID    `json:"parent,omitzero"`
	Status harvest.SliceState `json:"status"`
	From   harvest.Mark       `json:"from"`
	To     harvest.Mark       `json:"to"`
	// Range is the part of the window it is, such as bucket 3 of 8; empty for all.
	Range string `json:"range,omitempty"`
	// Spec is how it is cut, as it is stored.
	Spec   string            `json:"-"`
	Task   harvest.TaskState `json:"task,omitempty"`
	Tries  int               `json:"attempts"`
	Reason string            `json:"reason,omitempty"`
	// Cause is the last fault, Waiting why nothing is done about the slice now.
	Cause   *Cause      `json:"cause,omitempty"`
	Waiting *WaitingFor `json:"waiting,omitempty"`
	// Work is the task of it, without what the slice tells itself; nil without one.
	Work *TaskRow `json:"-"`
}

// SliceCounts are the slices of a plan, by what became of them.
type SliceCounts struct {
	Done     int64 `json:"done"`
	Resliced int64 `json:"resliced"`
	Failed   int64 `json:"failed"`
	Open     int64 `json:"open"`
}

// PlanSummary is what plans have come to together, summed over their committed
// pages. Key, state, span and watermark are those of the last of them.
type PlanSummary struct {
	ID        harvest.PlanID
	Key       string
	Status    harvest.PlanState
	Span      harvest.Span
	Watermark harvest.Mark
	Unproven  bool // the watermark stands where it began
	Slices    SliceCounts
	Records   harvest.Counts
	BadIDs    int64 // ids of which the source has no details, found bad by these plans
	Sent      int64
	Retried   int64
	HTTP429   int64
	HTTP5xx   int64
	Bytes     int64
	Gaps      []Gap
}

// PlanTotals is what a plan has come to so far.
type PlanTotals struct {
	Slices  SliceCounts
	Records harvest.Counts
	Sent    int64
}

// PlanView is a plan, what it came to, and a page of its slices.
type PlanView struct {
	Plan      PlanRow        `json:"plan"`
	Records   harvest.Counts `json:"records"`
	Requests  int64          `json:"requests"`
	SliceList []SliceRow     `json:"slice_list"`
	Slices    SliceCounts    `json:"slices"`
}

// Plan shows a plan with its slices behind one, as many as limit says.
func (c *Control) Plan(ctx context.Context, id harvest.PlanID, after harvest.SliceID, limit int) (PlanView, error) {
	p, err := c.store.Plan(ctx, id)
	if err != nil {
		return PlanView{}, c.orArchived(ctx, err, "plan", int64(id))
	}
	sum, err := c.store.PlanTotals(ctx, id)
	if err != nil {
		return PlanView{}, err
	}
	rows, err := c.store.Slices(ctx, id, after, limit)
	if err != nil {
		return PlanView{}, err
	}
	if err := c.explainSlices(ctx, rows); err != nil {
		return PlanView{}, err
	}
	return PlanView{Plan: p, Records: sum.Records, Requests: sum.Sent, SliceList: rows, Slices: sum.Slices}, nil
}
