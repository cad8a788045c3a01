package planner

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// draft cuts the window and writes the plan down, without saving it, and tells what it was cut
// into. It may have to stop before the end of the window, for want of room.
func (pl *planning) draft(ctx context.Context, f harvest.Frontier, of harvest.Span) (harvest.Draft, *harvest.Cuts, error) {
	spec := pl.spec
	win := spec.Window
	req := pl.sliceRequest(of)
	if f.Known && pl.t.Operation == harvest.Harvest {
		// Only what was harvested before can have been missed by it.
		req.Overlap = win.Overlap.D()
	}
	cuts, err := pl.cutWithin(ctx, req, pl.room)
	if err != nil {
		return harvest.Draft{}, nil, err
	}
	if !f.Known && pl.t.Operation == harvest.Harvest && pl.t.From.IsZero() {
		pl.warnFirstHarvest(of.From)
	}
	selJSON, selHash := spec.Selected()
	snapshot, err := spec.Canonical()
	if err != nil {
		return harvest.Draft{}, nil, err
	}
	d := harvest.Draft{
		Trigger: pl.t, Namespace: pl.result.Namespace, Endpoint: spec.Search.Name,
		Span: of, SlicedTo: pl.reachedBy(cuts),
		Strategy:  cmp.Or(win.Strategy, harvest.StrategyTime),
		Selection: selJSON, SelHash: selHash,
		ConfigHash: pl.contract.ConfigHash, SpecVersion: spec.Version,
		Fingerprint: source.FingerprintBytes(snapshot), Snapshot: snapshot,
		PagingType: spec.Paging.Type, PageSize: spec.Paging.Size,
	}
	d.Trigger.Priority = pl.budget().Priority
	if spec.Query != nil {
		d.Query = spec.Query.Text
	}
	d.Slices, err = pl.slices(cuts)
	if err != nil {
		return d, cuts, err
	}
	pl.explainRemainder(d.Span, d.SlicedTo, pl.room.less(cuts.Len()))
	d.SliceParams, err = jsonText(sliceParams{
		Step: win.Step, MinStep: win.MinStep, Target: win.Target, Cap: spec.Paging.MaxItems,
		SafetyLag: source.Duration(pl.lag), Overlap: win.Overlap, Split: win.Split, Budget: new(pl.budget()), Pacing: pl.t.Pacing,
	})
	if err != nil {
		return d, cuts, err
	}
	d.Remarks, err = jsonText(pl.remarks(ctx, d.Span, cuts))
	return d, cuts, err
}

// warnFirstHarvest warns that a selection is harvested for the first time. It has a
// cursor of its own from now on, which begins at the source's baseline, or where the
// source does: whoever only misspelt a query sees it by this (R7).
func (pl *planning) warnFirstHarvest(at harvest.Mark) {
	of := pl.t.Provenance
	where := "its baseline"
	if at.IsNumber() {
		where = "its first id"
	}
	if pl.t.Query != "" {
		of += " with this query"
		where = "the beginning of the source"
	}
	pl.result.Warnings = append(pl.result.Warnings, fmt.Sprintf("first harvest of %s: begun at %s, %s", of, where, at))
	pl.firstOfSelection = true
}

// newestEnd is the end of a window that surely is enough for so many slices: what
// lies before it need not be counted now. A window in hash buckets stays whole, since
// none of them is newer than another.
func (pl *planning) newestEnd(w harvest.Window, n int) harvest.Window {
	step := pl.spec.Window.Step.D()
	if step <= 0 || pl.spec.Window.Strategy == harvest.StrategyHash {
		return w
	}
	if w.Duration() <= step || w.Duration()/step < time.Duration(n) {
		return w
	}
	if from := pl.cal.Floor(w.To.Add(-step * time.Duration(n))); from.After(w.From) {
		w.From = from
	}
	return w
}

func (pl *planning) sliceRequest(of harvest.Span) harvest.SliceRequest {
	r := pl.spec.SliceRequest(of, pl.cal)
	r.Lag = pl.lag
	r.Estimate = pl.estimate
	return r
}

// cutWithin cuts as much of a window into slices as there is room for: its
// beginning, or its end where the operation goes back in time.
func (pl *planning) cutWithin(ctx context.Context, req harvest.SliceRequest, r room) (*harvest.Cuts, error) {
	code := cmp.Or(pl.spec.Window.Strategy, harvest.StrategyTime)
	if pl.t.Operation == harvest.Update {
		code = harvest.StrategyID
		req.Target = pl.idsPerSlice()
		req.PageSize = pl.spec.Batching.IDs
	}
	s := harvest.Strategies()[code]
	if s == nil {
		return nil, fmt.Errorf("strategy %q is not known", code)
	}
	most := int(min(int64(r.slices), r.requests)) // a slice takes a request at least
	if pl.backward() {
		req.Span = pl.newestEnd(req.Span.Window(), most).Span()
	} else {
		req.MaxSlices = most
	}
	cuts := new(harvest.Cuts)
	err := s.Slice(ctx, req, func(s harvest.SliceSpec) {
		pl.expectRequests(s, r)
		cuts.Add(s)
	})
	if err != nil {
		return nil, err
	}
	switch n := pl.countFitting(r, cuts); {
	case n == cuts.Len():
	case pl.backward():
		cuts.DropFirst(cuts.Len() - n)
	default:
		cuts.KeepFirst(n)
	}
	return cuts, nil
}

// slices are drafts of what was cut, in the order in which tasks are to be taken. Each is
// made only when it is saved, since they take ten times the memory of what was cut. What
// would keep one from being made is found out by the first, before anything is saved.
func (pl *planning) slices(cuts *harvest.Cuts) (harvest.SliceDrafts, error) {
	for s := range cuts.All() {
		pl.result.Expected += s.Hints.ExpectedRecords
		if why := pl.whyUnreachable(s); why != "" {
			pl.result.Warnings = append(pl.result.Warnings, s.Part().String()+" "+why)
		}
	}
	if _, err := pl.draftSlice(cuts.At(0)); err != nil {
		return harvest.SliceDrafts{}, err
	}
	return harvest.SliceDrafts{Len: cuts.Len(), All: func(yield func(harvest.SliceDraft, error) bool) {
		for i, s := range pl.taskOrder(cuts) {
			d, err := pl.draftSlice(s)
			d.Delay = pl.t.Pacing.Delay(i, cuts.Len())
			if !yield(d, err) {
				return
			}
		}
	}}, nil
}

// taskOrder are the slices that were cut, numbered in the order in which their tasks are to
// be taken: the newest first where the operation goes back in time.
func (pl *planning) taskOrder(cuts *harvest.Cuts) iter.Seq2[int, harvest.SliceSpec] {
	return func(yield func(int, harvest.SliceSpec) bool) {
		for i := range cuts.Len() {
			at := i
			if pl.backward() {
				at = cuts.Len() - 1 - i
			}
			s := cuts.At(at)
			s.Budget = new(pl.budget())
			if !yield(i, s) {
				return
			}
		}
	}
}

// draftSlice makes the draft of a slice. One that holds more than a walk can reach is a gap
// from the start, and says so.
func (pl *planning) draftSlice(s harvest.SliceSpec) (harvest.SliceDraft, error) {
	d, err := source.DraftSlice(pl.spec, pl.t.Operation, pl.t.Activity, s)
	d.Reason = pl.whyUnreachable(s)
	return d, err
}

// whyUnreachable says why a slice cannot be walked, empty if it can: it was counted to hold
// more than the source lets a walk reach.
func (pl *planning) whyUnreachable(s harvest.SliceSpec) string {
	n, limit := s.Hints.ExpectedRecords, pl.spec.Paging.MaxItems
	if limit <= 0 || n <= limit || s.Hints.EstimatedBy != harvest.ByCount {
		return ""
	}
	return fmt.Sprintf("holds %d records, the source can be paged to %d, and it cannot be cut smaller", n, limit)
}

// budget is what each slice of the plan may cost, and when its turn is: who triggered it
// may say that, else its source does, else the platform.
func (pl *planning) budget() harvest.BudgetSpec {
	b := pl.spec.SliceBudget(pl.t.Operation)
	b.Priority = cmp.Or(pl.t.Priority, b.Priority)
	return b
}

// reachedBy is as far as slices go, in the direction of the operation.
func (pl *planning) reachedBy(cuts *harvest.Cuts) harvest.Mark {
	if pl.backward() {
		return cuts.At(0).Span().From
	}
	return cuts.At(cuts.Len() - 1).Span().To
}

// explainRemainder says, where a span was cut only as far as a mark, what the
// remainder waits for.
func (pl *planning) explainRemainder(of harvest.Span, cut harvest.Mark, left room) {
	if !pl.t.Operation.Remainder(of, cut).Empty() {
		pl.result.Reason = left.reason(" from " + cut.String())
	}
}

// save saves the plan with its slices and tasks, or finds the same plan saved before.
func (pl *planning) save(ctx context.Context, d harvest.Draft, cuts *harvest.Cuts) error {
	// More walks than requests may be in flight gain nothing.
	d.MaxWalks = pl.allowedRate(ctx).Concurrency
	head, err := pl.plans.SavePlan(ctx, d)
	if err != nil {
		return err
	}
	pl.result.Plan = head
	pl.result.Span = head.Span
	if !head.Existing {
		pl.traceSlices(ctx, pl.Trace.Place(ctx), head.ID, cuts)
	}
	if pl.whyRaised != "" && !head.Existing {
		pl.tellLagRaised(head.ID)
	}
	if pl.firstOfSelection && !head.Existing {
		pl.log.Info("a selection is harvested for the first time",
			"from", head.Span.From.String(), "source", pl.t.Provenance, "query", pl.t.Query, "namespace", pl.result.Namespace.String())
	}
	pl.log.Info("planned",
		"source", pl.t.Provenance, "plan", head.ID, "from", head.Span.From.String(), "to", head.Span.To.String(),
		"slices", d.Slices.Len, "expected", pl.result.Expected, "existing", head.Existing)
	return nil
}

// tellLagRaised tells of a plan that reaches less far for the sake of the database.
func (pl *planning) tellLagRaised(id harvest.PlanID) {
	pl.log.Warn("the safety lag is raised", "source", pl.t.Provenance, "plan", id, "lag", pl.lag, "why", pl.whyRaised)
	if pl.LagRaised != nil {
		pl.LagRaised()
	}
}

// extend goes on with a plan that stopped before the end of its window, by the
// description it was begun with, and reports whether there was room for it.
func (pl *planning) extend(ctx context.Context, open harvest.OpenPlan) (bool, error) {
	if pl.t.Operation == harvest.Harvest {
		f, err := pl.plans.Frontier(ctx, pl.result.Namespace)
		if err == nil {
			err = f.Admits(pl.t.From)
		}
		if err != nil {
			return false, err
		}
	}
	spec, err := source.ParseSpec(open.Snapshot)
	if err != nil {
		return false, err
	}
	pl.spec = spec
	pl.t.BaseURL = cmp.Or(pl.t.BaseURL, open.BaseURL)
	pl.t.Priority = cmp.Or(pl.t.Priority, open.Priority)
	pl.t.Pacing = open.Pacing // it was frozen with the plan
	pl.result.Span = open.Span
	pl.result.Plan = open.PlanHead
	open.PagingType = spec.Paging.Type
	open.PageSize = spec.Paging.Size
	open.Priority = pl.budget().Priority
	if err := pl.recall(ctx); err != nil {
		return false, err
	}
	pl.answeredBefore = true
	r, err := pl.findRoom(ctx)
	if err != nil {
		return false, err
	}
	if r.exhausted(true) || pl.patient && 2*r.slices < r.most {
		pl.result.Reason = r.reason("")
		return false, nil
	}
	if pl.t.Operation == harvest.Update {
		open.PagingType = harvest.PageIDs
		open.PageSize = spec.Batching.IDs
	} else {
		pl.cal, err = spec.Window.Calendar()
	}
	if err != nil {
		return false, err
	}
	cuts, err := pl.cutWithin(ctx, pl.sliceRequest(pl.t.Operation.Remainder(open.Span, open.SlicedTo)), r)
	if err != nil {
		return false, err
	}
	to := pl.reachedBy(cuts)
	drafts, err := pl.slices(cuts)
	if err != nil {
		return false, err
	}
	head, err := pl.plans.ExtendPlan(ctx, open, drafts, to)
	if err != nil {
		return false, err
	}
	pl.result.Plan = head
	pl.traceSlices(ctx, open.Trace, head.ID, cuts)
	pl.explainRemainder(open.Span, to, r.less(cuts.Len()))
	pl.log.Info("plan goes on", "source", pl.t.Provenance, "plan", head.ID, "slices", cuts.Len(), "to", to.String())
	answer := fmt.Sprintf("plan %d goes on: %d slices to %s", head.ID, cuts.Len(), to)
	return true, pl.triggers.RecordTrigger(ctx, pl.t, harvest.TriggerExisting, answer)
}

// sliceParams is what the slices of a plan were cut by, as it is stored with it.
type sliceParams struct {
	Step      source.Duration     `json:"step"`
	MinStep   source.Duration     `json:"minStep"`
	Target    int64               `json:"targetRecordsPerSlice,omitzero"`
	Cap       int64               `json:"cap,omitzero"`
	SafetyLag source.Duration     `json:"safetyLag"`
	Overlap   source.Duration     `json:"overlap,omitzero"`
	Split     *harvest.Split      `json:"split,omitempty"`
	Budget    *harvest.BudgetSpec `json:"budget,omitempty"`
	Pacing    harvest.Pacing      `json:"pacing,omitzero"`
}

func jsonText(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("marshal %T: %w", v, err)
	}
	return string(b), nil
}
