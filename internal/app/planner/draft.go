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

// draft cuts the window and writes the plan down, without saving it. It has no
// slices if there is no room for any.
func (j *job) draft(ctx context.Context, f harvest.Frontier, w harvest.Window) (harvest.Draft, error) {
	spec, win := j.spec, j.spec.Window
	room, err := j.room(ctx)
	if err != nil {
		return harvest.Draft{}, err
	}
	if room <= 0 {
		return harvest.Draft{}, nil
	}
	backward := j.t.Operation.Direction() == harvest.Backward
	if backward {
		w = j.newest(w, room)
	}
	req := j.request(w)
	if !backward {
		req.MaxSlices = room
	}
	if f.Known && j.t.Operation == harvest.Harvest {
		// Only what was harvested before can have been missed by it.
		req.Overlap = win.Overlap.D()
	}
	specs, err := j.cut(ctx, req)
	if err != nil {
		return harvest.Draft{}, err
	}
	afford, err := j.affordable(ctx, specs, backward)
	if err != nil || afford == 0 {
		return harvest.Draft{}, err
	}
	switch room = min(room, afford); {
	case backward && len(specs) > room:
		// The newest come first; the activity goes on with the next trigger.
		specs = atWindow(specs, len(specs)-room)
		w.From = specs[0].Window.From
	case len(specs) > room:
		specs = toWindow(specs, room)
	}
	selJSON, selHash := spec.Selected()
	snapshot, err := spec.Canonical()
	if err != nil {
		return harvest.Draft{}, err
	}
	d := harvest.Draft{
		Trigger: j.t, Namespace: j.out.Namespace, Endpoint: spec.Search.Name, Window: w, SlicedTo: specs[len(specs)-1].NominalWindow().To,
		Strategy: cmp.Or(win.Strategy, harvest.StrategyTime), Selection: selJSON, SelHash: selHash, ConfigHash: j.con.ConfigHash, SpecVersion: spec.Version,
		Fingerprint: source.FingerprintBytes(snapshot), Snapshot: snapshot, PagingType: string(spec.Paging.Type), PageSize: spec.Paging.Size,
	}
	d.Slices = j.slices(specs)
	if d.SlicedTo.Before(w.To) && j.out.Reason == "" {
		j.out.Reason = fmt.Sprintf("%d slices are open, which is the bound; planning goes on from %s when there are fewer", win.MaxOpen, harvest.FormatInstant(d.SlicedTo))
	}
	if backward {
		slices.Reverse(d.Slices) // tasks are taken in this order: newest first
	}
	if d.SliceParams, err = jsonText(sliceParams{
		Step: win.Step, MinStep: win.MinStep, Target: win.Target, Cap: spec.Paging.MaxItems, SafetyLag: source.Duration(j.lag), Overlap: win.Overlap,
		Split: win.Split, Budget: win.Budget,
	}); err != nil {
		return d, err
	}
	d.Remarks, err = jsonText(remarks{TotalEstimated: j.out.Expected, SliceCount: len(specs), Warnings: j.out.Warnings, CountRequests: j.out.Traffic.Sent})
	return d, err
}

// room is how many slices may be added to those that are open.
func (j *job) room(ctx context.Context) (int, error) {
	most := cmp.Or(j.spec.Window.MaxOpen, 10_000)
	open, err := j.store.OpenSlices(ctx, j.t.Provenance, j.t.Operation)
	if err != nil {
		return 0, err
	}
	if open >= int64(most) {
		j.out.Reason = fmt.Sprintf("%d slices are open, the bound is %d; planning goes on when there are fewer", open, most)
	}
	return max(0, most-int(open)), nil
}

// affordable is how many of the slices the source's quotas of a day and longer
// have room for, beside what open tasks will take (R38: reservations are advice).
// One slice is always affordable where nothing is open, or nothing would ever be.
func (j *job) affordable(ctx context.Context, specs []harvest.SliceSpec, backward bool) (int, error) {
	n := len(specs)
	for _, q := range j.spec.Rate.Quotas {
		if q.Window.D() < 24*time.Hour {
			continue
		}
		slices, records, err := j.store.Reserved(ctx, j.t.Provenance)
		if err != nil {
			return 0, err
		}
		left := q.Limit/int64(max(1, j.spec.Search.Cost)) - (Requests(j.spec, records) + slices)
		fits := 0
		for ; fits < len(specs); fits++ {
			at := fits
			if backward {
				at = len(specs) - 1 - fits
			}
			if left -= Requests(j.spec, specs[at].Hints.ExpectedRecords); left < 0 && (fits > 0 || slices > 0) {
				break
			}
		}
		if fits < n {
			n = fits
			j.out.Reason = fmt.Sprintf("the quota of %d per %s is spoken for by open tasks; planning goes on when some of them are done", q.Limit, q.Window.D())
		}
	}
	return n, nil
}

// toWindow keeps the first n slices, or more, so that no window is parted.
func toWindow(specs []harvest.SliceSpec, n int) []harvest.SliceSpec {
	for n < len(specs) && specs[n].Window.From.Equal(specs[n-1].Window.From) {
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

func (j *job) request(w harvest.Window) harvest.SliceRequest {
	spec, win := j.spec, j.spec.Window
	return harvest.SliceRequest{
		Window: w, Calendar: j.cal, Step: win.Step.D(), MinStep: win.MinStep.D(), Target: win.Target, Cap: spec.Paging.MaxItems, Split: win.Split,
		Budget: win.Budget, Pages: win.Pages, PageSize: spec.Paging.Size, Lag: j.lag, Estimate: j.estimate,
	}
}

func (j *job) cut(ctx context.Context, req harvest.SliceRequest) ([]harvest.SliceSpec, error) {
	code := cmp.Or(j.spec.Window.Strategy, harvest.StrategyTime)
	s := harvest.Strategies()[code]
	if s == nil {
		return nil, fmt.Errorf("strategy %q is not known", code)
	}
	return s.Slice(ctx, req)
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
	return out
}

func (j *job) save(ctx context.Context, d harvest.Draft) error {
	head, err := j.store.SavePlan(ctx, d)
	if err != nil {
		return err
	}
	j.out.Plan, j.out.Window = head, head.Window
	j.log.Info("planned", "source", j.t.Provenance, "plan", head.ID, "from", j.place(head.Window.From).String(), "to", j.place(head.Window.To).String(), "slices", len(d.Slices), "expected", j.out.Expected, "existing", head.Existing)
	return nil
}

// extend goes on with a plan that stopped before the end of its window, by the
// description it was begun with.
func (j *job) extend(ctx context.Context, open harvest.OpenPlan) error {
	spec, err := source.ParseSpec(open.Snapshot)
	if err != nil {
		return err
	}
	j.spec, j.t.BaseURL = spec, cmp.Or(j.t.BaseURL, open.BaseURL)
	j.out.Window = open.Window
	j.out.Plan = open.PlanHead
	open.PagingType, open.PageSize, open.Priority = string(spec.Paging.Type), spec.Paging.Size, j.t.Priority
	if err := j.recall(ctx); err != nil {
		return err
	}
	room, err := j.room(ctx)
	if err != nil {
		return err
	}
	if room == 0 {
		return j.noop(ctx, open.Window, j.out.Reason)
	}
	req := j.request(harvest.Window{From: open.SlicedTo, To: open.Window.To})
	req.MaxSlices = room
	var specs []harvest.SliceSpec
	if open.Strategy == harvest.StrategyID {
		req.Target, req.PageSize = j.idsPerSlice(), spec.Batching.IDs
		open.PagingType, open.PageSize = harvest.StrategyID, spec.Batching.IDs
		specs, err = harvest.IDStrategy{}.Slice(ctx, req)
	} else {
		if j.cal, err = spec.Window.Calendar(); err == nil {
			req.Calendar = j.cal
			specs, err = j.cut(ctx, req)
		}
	}
	if err != nil {
		return err
	}
	if open.Strategy != harvest.StrategyID {
		afford, err := j.affordable(ctx, specs, false)
		if err != nil {
			return err
		}
		if afford == 0 {
			return j.noop(ctx, open.Window, j.out.Reason)
		}
		specs = toWindow(specs, afford)
	}
	to := specs[len(specs)-1].NominalWindow().To
	head, err := j.store.ExtendPlan(ctx, open, j.slices(specs), to)
	if err != nil {
		return err
	}
	j.out.Plan = head
	if to.Before(open.Window.To) {
		j.out.Reason = fmt.Sprintf("planned to %s of %s; planning goes on when fewer slices are open", j.place(to), j.place(open.Window.To))
	}
	j.log.Info("plan goes on", "source", j.t.Provenance, "plan", head.ID, "slices", len(specs), "to", j.place(to).String())
	return j.store.RecordTrigger(ctx, j.t, "EXISTING", fmt.Sprintf("plan %d goes on: %d slices to %s", head.ID, len(specs), j.place(to)))
}

// place is t as people see it.
func (j *job) place(t time.Time) harvest.Place { return harvest.PlaceOf(j.t.Operation, t) }

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
