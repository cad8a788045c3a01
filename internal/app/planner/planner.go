// Package planner turns a trigger into a plan: it freezes the source's
// description, works out the window from the frontier, counts before it cuts,
// and saves trigger, plan, slices and tasks at once.
//
// It promises that no instant of a namespace is planned twice or skipped, that
// the same trigger finds the plan it already has, and that nothing is asked of
// an upstream inside a transaction. It writes a cursor once, at its start, and
// never moves one.
package planner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// Planner makes plans.
type Planner struct {
	reg   Registry
	store Store
	up    Upstream
	log   *slog.Logger
}

// New returns a planner.
func New(reg Registry, store Store, up Upstream, log *slog.Logger) *Planner {
	return &Planner{reg: reg, store: store, up: up, log: log.With("component", "planner")}
}

// Planned is what came of a trigger.
type Planned struct {
	Namespace harvest.Namespace
	// Plan is the plan saved or found; its ID is 0 if there was nothing to plan.
	Plan     harvest.PlanHead
	Noop     bool
	Window   harvest.Window
	Warnings []string
	Traffic  source.Traffic
	// Baseline reports that this is the first plan of the namespace and began
	// at the source's declared baseline.
	Baseline bool
	Expected int64
}

// frontierTries is how often a plan is made anew because another was saved first.
const frontierTries = 20

// Plan makes the plan a trigger asks for, finds the one it already has, or
// records that there is nothing to do.
func (p *Planner) Plan(ctx context.Context, t harvest.Trigger) (Planned, error) {
	con, err := p.reg.Select(ctx, t.Provenance, t.Operation, t.Query)
	if err != nil {
		return Planned{}, p.failed(ctx, t, err)
	}
	if t.Operation == harvest.Update {
		return Planned{}, fmt.Errorf("plan %s: operation %s is not built yet", t.Provenance, t.Operation)
	}
	if t.Operation == harvest.Backfill && t.Activity == "" {
		return Planned{}, fmt.Errorf("plan %s: a BACKFILL needs an activity", t.Provenance)
	}
	j := &job{Planner: p, t: t, spec: con.Spec, con: con, counted: map[harvest.Window]harvest.Estimate{}}
	if j.cal, err = con.Spec.Window.Calendar(); err != nil {
		return Planned{}, p.failed(ctx, t, err)
	}
	_, selHash := con.Spec.Selected()
	j.out.Namespace = harvest.HarvestNamespace(t.Provenance, con.Spec.Search.Name, con.Spec.Window.Key, selHash)
	if t.Operation != harvest.Harvest {
		j.out.Namespace = harvest.ActivityNamespace(t.Provenance, t.Operation, con.Spec.Window.Key, t.Activity)
	}
	for _, w := range con.Warnings {
		j.out.Warnings = append(j.out.Warnings, w.String())
	}
	for range frontierTries {
		err = j.plan(ctx)
		if !errors.Is(err, harvest.ErrFrontierMoved) {
			break
		}
	}
	if err != nil {
		return j.out, p.failed(ctx, t, err)
	}
	return j.out, nil
}

// failed keeps the reasons on the schedule instance.
func (p *Planner) failed(ctx context.Context, t harvest.Trigger, err error) error {
	if ctx.Err() != nil {
		return err
	}
	if rerr := p.store.RecordTrigger(ctx, t, "FAILED", err.Error()); rerr != nil {
		return errors.Join(err, rerr)
	}
	return err
}

// job is the making of one plan.
type job struct {
	*Planner
	t       harvest.Trigger
	spec    *source.Spec
	con     source.Contract
	cal     harvest.Calendar
	out     Planned
	counted map[harvest.Window]harvest.Estimate
	// skew is the upstream's clock against the store's, once an answer told.
	skew     time.Duration
	skewSeen bool
	probed   bool  // the upstream's clock was asked for by a search page
	unknown  error // why a count is not known
}

func (j *job) plan(ctx context.Context) error {
	if err := j.recallSkew(ctx); err != nil {
		return err
	}
	f, err := j.store.Frontier(ctx, j.out.Namespace)
	if err != nil {
		return err
	}
	// Nothing new by the store's own clock: no need to ask anybody.
	most, any, err := j.window(ctx, f, 0)
	if err != nil {
		return err
	}
	if !any {
		return j.noop(ctx, most)
	}
	// The first count also tells the upstream's clock as it is now, past which
	// no window may end (R17); what was seen of it before may be out of date.
	w, any, err := j.window(ctx, f, j.skew)
	if err != nil {
		return err
	}
	if !any {
		w = most
	}
	if _, err := j.estimate(ctx, w); err != nil {
		return err
	}
	if !j.skewSeen && j.unknown != nil {
		return fmt.Errorf("first contact with %s: %w", j.t.Provenance, j.unknown)
	}
	if w, any, err = j.window(ctx, f, j.skew); err != nil {
		return err
	}
	if !any {
		return j.noop(ctx, w)
	}
	return j.save(ctx, f, w)
}

// recallSkew starts with what earlier answers told.
func (j *job) recallSkew(ctx context.Context) error {
	if j.skewSeen {
		return nil
	}
	var err error
	j.skew, j.skewSeen, err = j.store.ClockSkew(ctx, j.t.Provenance)
	return err
}

func (j *job) window(ctx context.Context, f harvest.Frontier, skew time.Duration) (harvest.Window, bool, error) {
	now, err := j.store.Now(ctx)
	if err != nil {
		return harvest.Window{}, false, err
	}
	win := j.spec.Window
	horizon := now.Add(min(0, skew)).Add(-win.SafetyLag.D())
	if a := win.Align.D(); a > 0 && win.Precision != harvest.PrecisionDay {
		horizon = horizon.Truncate(a)
	}
	if j.t.Operation == harvest.Backfill {
		return harvest.BackfillWindow(f, j.t.From, j.t.To, horizon, j.cal)
	}
	j.out.Baseline = !f.Known && j.t.From.IsZero()
	return harvest.HarvestWindow(f, j.t.From, j.t.To, horizon, win.Baseline.D(), j.cal)
}

func (j *job) noop(ctx context.Context, w harvest.Window) error {
	j.out.Noop, j.out.Window = true, w
	return j.store.RecordTrigger(ctx, j.t, "NOOP", "nothing new before "+harvest.FormatInstant(w.To))
}

// estimate counts a window through the gate, once. Not knowing is an answer.
func (j *job) estimate(ctx context.Context, w harvest.Window) (harvest.Estimate, error) {
	if e, ok := j.counted[w]; ok {
		return e, nil
	}
	purpose := source.ForCount
	if j.spec.Count == nil {
		// The first page of the whole window stands in, once: it tells the
		// upstream's clock, and the total where that is exact.
		if j.probed {
			return harvest.Estimate{}, nil
		}
		purpose, j.probed = source.ForSearch, true
	}
	ans, err := j.up.Ask(ctx, j.spec, source.Call{Purpose: purpose, Window: w, BaseURL: j.t.BaseURL, Correlation: "ing-plan"})
	j.out.Traffic = j.out.Traffic.Add(ans.Traffic)
	if !ans.UpstreamAt.IsZero() {
		if err := j.noteSkew(ctx, ans.UpstreamAt); err != nil {
			return harvest.Estimate{}, err
		}
	}
	var e harvest.Estimate
	switch f, isFault := harvest.FaultOf(err); {
	case err == nil && ans.Page.Total != nil && (purpose == source.ForCount || j.spec.Paging.TotalExact):
		e = harvest.Estimate{Records: *ans.Page.Total, Known: true}
	case err == nil && purpose == source.ForCount:
		j.unknown = errors.New("the reply has no total")
	case err == nil:
	case ctx.Err() != nil:
		return e, err
	case isFault && f.Level != harvest.Transient && purpose == source.ForCount:
		// A refused count means that every page of this plan would be refused.
		return e, err
	default:
		j.unknown = err
		j.log.Info("count not known, cutting by step", "source", j.t.Provenance, "window", w.String(), "err", err)
	}
	j.counted[w] = e
	return e, nil
}

// skewNoise is how far two clocks may differ before it is called skew: the Date
// header has whole seconds, and travels.
const skewNoise = 2 * time.Second

func (j *job) noteSkew(ctx context.Context, upstream time.Time) error {
	now, err := j.store.Now(ctx)
	if err != nil {
		return err
	}
	skew := upstream.Sub(now)
	if skew.Abs() <= skewNoise {
		skew = 0
	}
	moved := !j.skewSeen || (skew-j.skew).Abs() > skewNoise
	j.skew, j.skewSeen = skew, true
	if !moved {
		return nil
	}
	return j.store.NoteSkew(ctx, j.t.Provenance, skew)
}

func (j *job) save(ctx context.Context, f harvest.Frontier, w harvest.Window) error {
	spec, win := j.spec, j.spec.Window
	req := harvest.SliceRequest{
		Window: w, Calendar: j.cal, Step: win.Step.D(), MinStep: win.MinStep.D(), Target: win.Target, Cap: spec.Paging.MaxItems,
		PageSize: spec.Paging.Size, Lag: win.SafetyLag.D(), Estimate: j.estimate,
	}
	if f.Known && j.t.Operation == harvest.Harvest {
		// Only what was harvested before can have been missed by it.
		req.Overlap = win.Overlap.D()
	}
	specs, err := harvest.Strategies()[harvest.StrategyTime].Slice(ctx, req)
	if err != nil {
		return err
	}
	selJSON, selHash := spec.Selected()
	snapshot, err := spec.Canonical()
	if err != nil {
		return err
	}
	d := harvest.Draft{
		Trigger: j.t, Namespace: j.out.Namespace, Endpoint: spec.Search.Name, Window: w, SlicedTo: w.To, Strategy: harvest.StrategyTime,
		Selection: selJSON, SelHash: selHash, ConfigHash: j.con.ConfigHash, SpecVersion: spec.Version, Fingerprint: source.FingerprintBytes(snapshot),
		Snapshot: snapshot, PagingType: string(spec.Paging.Type), PageSize: spec.Paging.Size,
	}
	j.out.Expected = 0
	for _, s := range specs {
		sd := harvest.SliceDraft{Spec: s, Expr: source.LocalExpr(spec, s.NominalWindow())}
		n := s.Hints.ExpectedRecords
		j.out.Expected += n
		if limit := spec.Paging.MaxItems; limit > 0 && n > limit {
			sd.Reason = fmt.Sprintf("holds %d records, the source can be paged to %d, and the window cannot be cut smaller", n, limit)
			j.out.Warnings = append(j.out.Warnings, s.NominalWindow().String()+" "+sd.Reason)
		}
		d.Slices = append(d.Slices, sd)
	}
	if j.t.Operation.Direction() == harvest.Backward {
		slices.Reverse(d.Slices) // tasks are taken in this order: newest first
	}
	if d.SliceParams, err = jsonText(sliceParams{Step: win.Step, MinStep: win.MinStep, Target: win.Target, Cap: spec.Paging.MaxItems, SafetyLag: win.SafetyLag, Overlap: win.Overlap}); err != nil {
		return err
	}
	if d.Remarks, err = jsonText(remarks{TotalEstimated: j.out.Expected, SliceCount: len(specs), Warnings: j.out.Warnings, CountRequests: j.out.Traffic.Sent}); err != nil {
		return err
	}
	head, err := j.store.SavePlan(ctx, d)
	if err != nil {
		return err
	}
	j.out.Plan, j.out.Window = head, head.Window
	j.log.Info("planned", "source", j.t.Provenance, "plan", head.ID, "window", head.Window.String(), "slices", len(specs), "expected", j.out.Expected, "existing", head.Existing)
	return nil
}

type sliceParams struct {
	Step      source.Duration `json:"step"`
	MinStep   source.Duration `json:"minStep"`
	Target    int64           `json:"targetRecordsPerSlice,omitzero"`
	Cap       int64           `json:"cap,omitzero"`
	SafetyLag source.Duration `json:"safetyLag"`
	Overlap   source.Duration `json:"overlap,omitzero"`
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
