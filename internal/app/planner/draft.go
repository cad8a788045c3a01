package planner

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// draft cuts the window and writes the plan down, without saving it. It may have
// to stop before the end of the window, for want of room.
func (j *job) draft(ctx context.Context, f harvest.Frontier, w harvest.Window) (harvest.Draft, error) {
	spec, win := j.spec, j.spec.Window
	req := j.request(w.Span())
	if f.Known && j.t.Operation == harvest.Harvest {
		// Only what was harvested before can have been missed by it.
		req.Overlap = win.Overlap.D()
	}
	specs, err := j.cut(ctx, req, j.free)
	if err != nil {
		return harvest.Draft{}, err
	}
	if !f.Known && j.t.Operation == harvest.Harvest && j.t.From.IsZero() {
		j.begins(w.From)
	}
	selJSON, selHash := spec.Selected()
	snapshot, err := spec.Canonical()
	if err != nil {
		return harvest.Draft{}, err
	}
	d := harvest.Draft{
		Trigger: j.t, Namespace: j.out.Namespace, Endpoint: spec.Search.Name, Span: w.Span(), SlicedTo: j.reached(specs),
		Strategy: cmp.Or(win.Strategy, harvest.StrategyTime), Selection: selJSON, SelHash: selHash, ConfigHash: j.con.ConfigHash, SpecVersion: spec.Version,
		Fingerprint: source.FingerprintBytes(snapshot), Snapshot: snapshot, PagingType: spec.Paging.Type, PageSize: spec.Paging.Size,
	}
	d.Slices = j.slices(specs)
	j.partly(d.Span, d.SlicedTo, j.free.after(len(specs)))
	d.SliceParams, err = jsonText(sliceParams{
		Step: win.Step, MinStep: win.MinStep, Target: win.Target, Cap: spec.Paging.MaxItems, SafetyLag: source.Duration(j.lag), Overlap: win.Overlap,
		Split: win.Split, Budget: win.Budget,
	})
	if err != nil {
		return d, err
	}
	d.Remarks, err = jsonText(remarks{TotalEstimated: j.out.Expected, SliceCount: len(specs), Warnings: j.out.Warnings, CountRequests: j.out.Traffic.Sent})
	return d, err
}

// begins says that a selection has a harvest of its own from now on, which begins
// at the source's baseline (R7).
func (j *job) begins(at time.Time) {
	of := j.t.Provenance
	if j.t.Query != "" {
		of += " with this query"
	}
	j.out.Warnings = append(j.out.Warnings, fmt.Sprintf("first harvest of %s: begun at its baseline, %s", of, harvest.TimeMark(at)))
	j.begun = true
}

// toWindow keeps the first n slices, or more, so that no window is parted.
func toWindow(specs []harvest.SliceSpec, n int) []harvest.SliceSpec {
	for n < len(specs) && specs[n].Span().From == specs[n-1].Span().From {
		n++
	}
	return specs[:n]
}

// newest is the end of a window that is surely enough for room slices. By hash
// buckets it is cut whole: there is no saying which of them are the newest.
func (j *job) newest(w harvest.Window, room int) harvest.Window {
	step := j.spec.Window.Step.D()
	if step <= 0 || j.spec.Window.Strategy == harvest.StrategyHash || w.Duration() <= step || w.Duration()/step < time.Duration(room) {
		return w
	}
	if from := j.cal.Floor(w.To.Add(-step * time.Duration(room))); from.After(w.From) {
		w.From = from
	}
	return w
}

// atWindow leaves out the first n slices, or fewer, so that no window is parted.
func atWindow(specs []harvest.SliceSpec, n int) []harvest.SliceSpec {
	for n > 0 && specs[n].Window.From.Equal(specs[n-1].Window.From) {
		n--
	}
	return specs[n:]
}

func (j *job) request(of harvest.Span) harvest.SliceRequest {
	r := j.spec.SliceRequest(of, j.cal)
	r.Lag = j.lag
	r.Estimate = j.estimate
	return r
}

// cut cuts what of a window there is room for: its beginning, or its end if that
// is read first.
func (j *job) cut(ctx context.Context, req harvest.SliceRequest, r room) ([]harvest.SliceSpec, error) {
	code := cmp.Or(j.spec.Window.Strategy, harvest.StrategyTime)
	if j.t.Operation == harvest.Update {
		code = harvest.StrategyID
		req.Target = j.idsPerSlice()
		req.PageSize = j.spec.Batching.IDs
	}
	s := harvest.Strategies()[code]
	if s == nil {
		return nil, fmt.Errorf("strategy %q is not known", code)
	}
	if most := int(min(int64(r.slices), r.requests)); j.backward() { // a slice takes a request at least
		req.Span = j.newest(req.Span.Window(), most).Span()
	} else {
		req.MaxSlices = most
	}
	specs, err := s.Slice(ctx, req)
	if err != nil {
		return nil, err
	}
	switch n := j.fits(r, specs); {
	case n == len(specs):
		return specs, nil
	case j.backward():
		return atWindow(specs, len(specs)-n), nil
	default:
		return toWindow(specs, n), nil
	}
}

// slices are what was cut, with those marked that cannot be walked.
func (j *job) slices(specs []harvest.SliceSpec) []harvest.SliceDraft {
	out := make([]harvest.SliceDraft, 0, len(specs))
	for _, s := range specs {
		sd := harvest.SliceDraft{Spec: s}
		if s.Strategy == harvest.StrategyID {
			sd.Expr = source.CandidateExpr(s.Range)
		} else {
			sd.Expr = source.LocalExpr(j.spec, s.Part())
		}
		n := s.Hints.ExpectedRecords
		j.out.Expected += n
		if limit := j.spec.Paging.MaxItems; limit > 0 && n > limit && s.Hints.EstimatedBy == harvest.ByCount {
			sd.Reason = fmt.Sprintf("holds %d records, the source can be paged to %d, and it cannot be cut smaller", n, limit)
			j.out.Warnings = append(j.out.Warnings, s.Part().String()+" "+sd.Reason)
		}
		out = append(out, sd)
	}
	if j.backward() {
		slices.Reverse(out) // tasks are taken in this order: newest first
	}
	return out
}

// reached is as far as slices go, the way the operation goes.
func (j *job) reached(specs []harvest.SliceSpec) harvest.Mark {
	if j.backward() {
		return specs[0].Span().From
	}
	return specs[len(specs)-1].Span().To
}

// partly says what the rest of a span waits for that was cut as far as a mark, if
// there is a rest.
func (j *job) partly(of harvest.Span, cut harvest.Mark, left room) {
	if !j.t.Operation.Rest(of, cut).Empty() {
		j.out.Reason = left.reason(" from " + cut.String())
	}
}

func (j *job) save(ctx context.Context, d harvest.Draft) error {
	// More walks than requests may be in flight gain nothing.
	d.MaxWalks = j.allowed(ctx).Concurrency
	head, err := j.plans.SavePlan(ctx, d)
	if err != nil {
		return err
	}
	j.out.Plan = head
	j.out.Span = head.Span
	if j.begun && !head.Existing {
		j.log.Info("a selection is harvested for the first time, from the baseline", "source", j.t.Provenance, "query", j.t.Query, "namespace", j.out.Namespace.String())
	}
	j.log.Info("planned", "source", j.t.Provenance, "plan", head.ID, "from", head.Span.From.String(), "to", head.Span.To.String(), "slices", len(d.Slices), "expected", j.out.Expected, "existing", head.Existing)
	return nil
}

// extend goes on with a plan that stopped before the end of its window, by the
// description it was begun with, and reports whether there was room for it.
func (j *job) extend(ctx context.Context, open harvest.OpenPlan) (bool, error) {
	if j.t.Operation == harvest.Harvest {
		f, err := j.plans.Frontier(ctx, j.out.Namespace)
		if err == nil {
			err = f.Admits(j.t.From)
		}
		if err != nil {
			return false, err
		}
	}
	spec, err := source.ParseSpec(open.Snapshot)
	if err != nil {
		return false, err
	}
	j.spec = spec
	j.t.BaseURL = cmp.Or(j.t.BaseURL, open.BaseURL)
	j.t.Priority = cmp.Or(j.t.Priority, open.Priority)
	j.out.Span = open.Span
	j.out.Plan = open.PlanHead
	open.PagingType = spec.Paging.Type
	open.PageSize = spec.Paging.Size
	open.Priority = j.t.Priority
	if err := j.recall(ctx); err != nil {
		return false, err
	}
	j.heard = true
	r, err := j.room(ctx)
	if err != nil {
		return false, err
	}
	if r.none(true) || j.patient && 2*r.slices < r.most {
		j.out.Reason = r.reason("")
		return false, nil
	}
	if j.t.Operation == harvest.Update {
		open.PagingType, open.PageSize = harvest.PageIDs, spec.Batching.IDs
	} else if j.cal, err = spec.Window.Calendar(); err != nil {
		return false, err
	}
	specs, err := j.cut(ctx, j.request(j.t.Operation.Rest(open.Span, open.SlicedTo)), r)
	if err != nil {
		return false, err
	}
	to := j.reached(specs)
	head, err := j.plans.ExtendPlan(ctx, open, j.slices(specs), to)
	if err != nil {
		return false, err
	}
	j.out.Plan = head
	j.partly(open.Span, to, r.after(len(specs)))
	j.log.Info("plan goes on", "source", j.t.Provenance, "plan", head.ID, "slices", len(specs), "to", to.String())
	return true, j.triggers.RecordTrigger(ctx, j.t, harvest.TriggerExisting, fmt.Sprintf("plan %d goes on: %d slices to %s", head.ID, len(specs), to))
}

type sliceParams struct {
	Step      source.Duration     `json:"step"`
	MinStep   source.Duration     `json:"minStep"`
	Target    int64               `json:"targetRecordsPerSlice,omitzero"`
	Cap       int64               `json:"cap,omitzero"`
	SafetyLag source.Duration     `json:"safetyLag"`
	Overlap   source.Duration     `json:"overlap,omitzero"`
	Split     *harvest.Split      `json:"split,omitempty"`
	Budget    *harvest.BudgetSpec `json:"budget,omitempty"`
}

type remarks struct {
	TotalEstimated int64    `json:"totalEstimated"`
	SliceCount     int      `json:"sliceCount"`
	CountRequests  int      `json:"countRequests"`
	Warnings       []string `json:"warnings,omitempty"`
}

func jsonText(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("marshal %T: %w", v, err)
	}
	return string(b), nil
}
