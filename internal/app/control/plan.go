package control

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// PlanRow is a plan in a list.
type PlanRow struct {
	ID        harvest.PlanID    `json:"id"`
	Source    string            `json:"source"`
	Endpoint  string            `json:"endpoint"`
	Operation harvest.Operation `json:"operation"`
	Status    harvest.PlanState `json:"status"`
	Activity  string            `json:"activity,omitempty"`
	From      harvest.Mark      `json:"from"`
	To        harvest.Mark      `json:"to"`
	SlicedTo  harvest.Mark      `json:"sliced_to"`
	// Unsliced: what lies beyond SlicedTo is not cut yet.
	Unsliced bool `json:"-"`
	// GroupDigits is how fine the counts of its slices are, as the store writes instants; 0
	// if none are kept.
	GroupDigits int `json:"-"`

	Strategy  string    `json:"strategy"`
	CreatedAt time.Time `json:"created_at"`
	Key       string    `json:"plan_key"`
	// Query is the selection in the text form, empty for everything.
	Query string `json:"query,omitempty"`
	// Open: work of it is left. Cause and Waiting say then what its upstream said last, and
	// why nothing of it may be taken now.
	Open    bool        `json:"open"`
	Cause   *Cause      `json:"cause,omitempty"`
	Waiting *WaitingFor `json:"waiting,omitempty"`
}

// PlanQuery says which plans are listed: of one source, operation or state if they are
// named.
type PlanQuery struct {
	Source    string
	Operation harvest.Operation
	// State is the stored one: a plan that is READY and has gaps is shown as PARTIAL.
	State harvest.PlanState
	// Open: only those of which work is left.
	Open bool
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
	out := PlanList{Plans: []PlanRow{}}
	rows, err := c.store.Plans(ctx, q, q.Limit+1)
	if err != nil {
		return out, err
	}
	out.Plans, out.Next = firstOf(rows, q.Limit, func(p PlanRow) int64 { return int64(p.ID) })
	b, err := c.barriers(ctx)
	if err != nil {
		return out, err
	}
	for i := range out.Plans {
		b.explainPlan(ctx, &out.Plans[i])
	}
	return out, nil
}

// explainPlan fills in why nothing is done about a plan of which work is left.
func (b *barriers) explainPlan(ctx context.Context, p *PlanRow) {
	if !p.Open {
		return
	}
	part := harvest.Partition{Provenance: p.Source, Endpoint: p.Endpoint, Operation: p.Operation}
	p.Cause = b.cause(part)
	p.Waiting = b.bar(ctx, part)
	if p.Waiting == nil {
		p.Waiting = b.inHand(ctx, part)
	}
}

// SliceQuery says which slices of a plan are listed: all, those in a state, or those whose
// windows begin within a span.
type SliceQuery struct {
	Plan  harvest.PlanID
	State harvest.SliceState
	// Span is empty for the whole plan.
	Span harvest.Span
	// From and To are its ends as people write them.
	From, To string
	Page
}

// SliceList is a page of the slices of a plan, in the order they were cut, or of a part of
// its window in the order of theirs.
type SliceList struct {
	Slices []SliceRow `json:"slices"`
	// Next is where the next page begins, empty on the last.
	Next string `json:"next,omitempty"`
}

// Slices lists the slices of a plan.
func (c *Control) Slices(ctx context.Context, q SliceQuery) (SliceList, error) {
	out := SliceList{Slices: []SliceRow{}}
	after, err := q.Number()
	if err != nil {
		return out, err
	}
	p, err := c.store.Plan(ctx, q.Plan)
	if err != nil {
		return out, c.orArchived(ctx, err, "plan", int64(q.Plan))
	}
	if q.From != "" || q.To != "" {
		q.Span, err = c.spanWithin(ctx, p, q.From, q.To)
		if err != nil {
			return out, err
		}
	}
	rows, err := c.store.Slices(ctx, q, harvest.SliceID(after), q.Limit+1)
	if err != nil {
		return out, err
	}
	out.Slices, out.Next = firstOf(rows, q.Limit, func(s SliceRow) int64 { return int64(s.ID) })
	return out, c.explainSlices(ctx, out.Slices)
}

// Slice shows one slice.
func (c *Control) Slice(ctx context.Context, id harvest.SliceID) (SliceRow, error) {
	s, err := c.store.Slice(ctx, id)
	if err != nil {
		return s, c.orArchived(ctx, err, "slice", int64(id))
	}
	s.Detail, err = c.store.SliceDetail(ctx, id)
	if err != nil {
		return s, err
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
	Plan   harvest.PlanID     `json:"plan"`
	Parent harvest.SliceID    `json:"parent,omitzero"`
	Status harvest.SliceState `json:"status"`
	// Accepted: it was given up, and a person said that it is not to be waited for.
	Accepted bool         `json:"accepted,omitzero"`
	From     harvest.Mark `json:"from"`
	To       harvest.Mark `json:"to"`
	// Range is the part of the window it is, such as bucket 3 of 8; empty for all.
	Range string `json:"range,omitempty"`
	// Hints are what was known when it was cut: records and requests that it is expected to
	// take, how many requests could go out then (budgetHint), by what was estimated.
	Hints *harvest.SliceHints `json:"hints,omitempty"`
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
	// Detail is told of a slice that is looked at by itself.
	Detail *SliceDetail `json:"detail,omitempty"`
}

// SliceDetail is what was asked of a slice, and what its ended runs came to.
type SliceDetail struct {
	SliceSums
	// Prototype is the selection of the plan, Localized the same within the window of the
	// slice, each as an expression.
	Prototype string `json:"prototype,omitempty"`
	Localized string `json:"localized,omitempty"`
	// Budget is what the slice may cost before it is cut again, and when its turn is; nil for
	// one from before every slice had it.
	Budget *harvest.BudgetSpec `json:"budget,omitempty"`
}

// SliceCounts are the slices of a plan, by what became of them.
type SliceCounts struct {
	Done     int64 `json:"done"`
	Resliced int64 `json:"resliced"`
	Failed   int64 `json:"failed"`
	Open     int64 `json:"open"`
}

// Count adds slices in a state.
func (c *SliceCounts) Count(st harvest.SliceState, n int64) {
	switch st {
	case harvest.SliceDone:
		c.Done += n
	case harvest.SliceResliced:
		c.Resliced += n
	case harvest.SliceFailed, harvest.SliceCancelled:
		c.Failed += n
	default:
		c.Open += n
	}
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
	// Expected is how many records the slices were expected to have when they were cut,
	// Estimated of how many slices that is known.
	Expected, Estimated int64
}

// PlanEstimate is what was expected of a plan when it was cut, against what came.
type PlanEstimate struct {
	// Expected records, in as many Slices as something was known of, out of All.
	Expected int64 `json:"expected_records"`
	Slices   int64 `json:"estimated_slices"`
	All      int64 `json:"slices"`
	// Read are the records that came so far: new, changed, or held already.
	Read int64 `json:"read_records"`
}

// PlanProgress is how far a plan has come, in slices that were not cut again.
type PlanProgress struct {
	Done int64 `json:"done"`
	All  int64 `json:"all"`
	// Left is about how many requests are still to be made, as many for each slice as
	// those that are done took. LastMinutes counts those of the source and operation in
	// the last ten minutes, and Finish is when the plan ends if that goes on; absent if
	// nothing was done or nothing is left.
	Left        int64 `json:"requests_left,omitzero"`
	LastMinutes int64 `json:"requests_last_10_minutes,omitzero"`
	Finish      *Time `json:"finish,omitempty"`
}

// paceOver is over how long the pace of a plan is measured.
const paceOver = 10 * time.Minute

// PlanView is a plan, what it came to, and a page of its slices.
type PlanView struct {
	Plan      PlanRow        `json:"plan"`
	Records   harvest.Counts `json:"records"`
	Requests  int64          `json:"requests"`
	SliceList []SliceRow     `json:"slice_list"`
	Slices    SliceCounts    `json:"slices"`
	Progress  PlanProgress   `json:"progress"`
	// Estimate is absent if nothing told what was to be expected.
	Estimate *PlanEstimate `json:"estimate,omitempty"`
	// Pacing is absent if its trigger said nothing of how it is worked on.
	Pacing *PlanPacing `json:"pacing,omitempty"`
	// Remarks are what the planner left with it: how large it was taken to be, what it does
	// without, what it may cost; absent for one of an older version.
	Remarks json.RawMessage `json:"remarks,omitempty"`
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
	rows, err := c.store.Slices(ctx, SliceQuery{Plan: id}, after, limit)
	if err != nil {
		return PlanView{}, err
	}
	if err := c.explainSlices(ctx, rows); err != nil {
		return PlanView{}, err
	}
	out := PlanView{Plan: p, Records: sum.Records, Requests: sum.Sent, SliceList: rows, Slices: sum.Slices}
	if sum.Estimated > 0 {
		out.Estimate = &PlanEstimate{Expected: sum.Expected, Slices: sum.Estimated, All: sum.Slices.Done + sum.Slices.Failed + sum.Slices.Open, Read: sum.Records.Read()}
	}
	paced, err := c.store.PlanPacing(ctx, id)
	if err != nil {
		return out, err
	}
	out.Pacing = pacingOf(paced)
	out.Remarks, err = c.planRemarks(ctx, id)
	if err != nil {
		return out, err
	}
	b, err := c.barriers(ctx)
	if err != nil {
		return out, err
	}
	b.explainPlan(ctx, &out.Plan)
	out.Progress, err = b.progress(ctx, out)
	return out, err
}

// planRemarks are what the planner left with a plan, nil if it is nothing.
func (c *Control) planRemarks(ctx context.Context, id harvest.PlanID) (json.RawMessage, error) {
	stored, err := c.store.PlanRemarks(ctx, id)
	if err != nil || len(stored) == 0 {
		return nil, err
	}
	clean, err := c.cleanJSON(stored)
	if err != nil {
		return nil, fmt.Errorf("remarks on plan %d: %w", id, err)
	}
	return clean, nil
}

// progress tells how far a plan has come and when it ends at the pace of now.
func (b *barriers) progress(ctx context.Context, v PlanView) (PlanProgress, error) {
	out := PlanProgress{Done: v.Slices.Done, All: v.Slices.Done + v.Slices.Failed + v.Slices.Open}
	if v.Slices.Open == 0 || v.Slices.Done == 0 || !v.Plan.Open {
		return out, nil
	}
	out.Left = max(v.Requests*v.Slices.Open/v.Slices.Done, 1)
	all, err := b.store.PagesSince(ctx, []string{v.Plan.Source}, b.now.Add(-paceOver))
	if err != nil {
		return out, err
	}
	fared := all[harvest.Partition{Provenance: v.Plan.Source, Operation: v.Plan.Operation}]
	if fared.Sent == 0 {
		return out, nil
	}
	out.LastMinutes = fared.Sent
	each := paceOver / time.Duration(fared.Sent)
	const most = 10 * 365 * 24 * time.Hour
	if out.Left < int64(most/max(each, 1)) {
		out.Finish = optional(b.now.Add(time.Duration(out.Left) * each))
	}
	return out, nil
}

// PlanOfKey finds the plan that goes by a key.
func (c *Control) PlanOfKey(ctx context.Context, key string) (harvest.PlanID, error) {
	return c.store.PlanOfKey(ctx, key)
}
