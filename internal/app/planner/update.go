package planner

import (
	"context"
	"slices"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/domain/source"
)

// idsPerSlice is how many candidates make a slice of an UPDATE.
func (j *job) idsPerSlice() int64 {
	return max(100, int64(j.spec.Batching.IDs)*10)
}

// update plans the checking of records that are known: it freezes the ids there
// are to check now, so that each is checked once whatever becomes of the others
// meanwhile (R9). An activity is planned once, but again if that was given up.
func (j *job) update(ctx context.Context) error {
	spec := j.spec
	if spec.Detail == nil {
		return &NoUpdateError{Source: j.t.Provenance}
	}
	if err := j.recall(ctx); err != nil {
		return err
	}
	f, err := j.plans.Frontier(ctx, j.out.Namespace)
	if err != nil {
		return err
	}
	if f.Live {
		return j.noop(ctx, harvest.Span{From: f.At, To: f.At}, plannedAlready)
	}
	ids, err := j.candidates(ctx)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		return j.noop(ctx, updateSpan(f, 0), noCandidates)
	}
	j.free, err = j.room(ctx)
	if err != nil {
		return err
	}
	if j.free.none(false) {
		j.out.Waits = true
		return j.noop(ctx, updateSpan(f, 0), j.free.reason(""))
	}
	of := updateSpan(f, len(ids))
	specs, err := j.cut(ctx, harvest.SliceRequest{Span: of}, j.free)
	if err != nil {
		return err
	}
	snapshot, err := spec.Canonical()
	if err != nil {
		return err
	}
	selJSON, selHash := spec.Selected()
	d := harvest.Draft{
		Trigger: j.t, Namespace: j.out.Namespace, Endpoint: spec.Detail.Name, Span: of, SlicedTo: j.reached(specs),
		Strategy: harvest.StrategyID, Selection: selJSON, SelHash: selHash, ConfigHash: j.con.ConfigHash, SpecVersion: spec.Version,
		Fingerprint: source.FingerprintBytes(snapshot), Snapshot: snapshot, PagingType: harvest.PageIDs, PageSize: spec.Batching.IDs, Candidates: ids,
	}
	d.Slices = j.slices(specs)
	j.partly(of, d.SlicedTo, j.free.after(len(specs)))
	d.SliceParams, err = jsonText(map[string]int64{"idsPerSlice": j.idsPerSlice()})
	if err != nil {
		return err
	}
	d.Remarks, err = jsonText(remarks{TotalEstimated: j.out.Expected, SliceCount: len(specs), Warnings: j.out.Warnings})
	if err != nil {
		return err
	}
	return j.save(ctx, d)
}

const (
	noCandidates   = "no record needs to be read again"
	plannedAlready = "this activity has been planned already"
)

// updateSpan numbers n candidates from where the activity stands: at its
// beginning, or where a plan of it was given up.
func updateSpan(f harvest.Frontier, n int) harvest.Span {
	at := int64(0)
	if f.Known {
		at = f.At.Ordinal()
	}
	return harvest.OrdinalSpan(at, at+int64(n))
}

// candidates lists the ids to check, in the form records have. What is in
// quarantine may have none.
func (j *job) candidates(ctx context.Context) ([]string, error) {
	ids, err := j.records.Candidates(ctx, j.t.Provenance, j.spec.RecordType, j.spec.Mapping.Version(), j.t.Pick)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(ids, func(id string) bool {
		own, err := j.spec.ID.Canonical(id)
		return err != nil || own != id
	}), nil
}

// previewUpdate tells how many records an UPDATE would read and what that takes.
func (j *job) previewUpdate(ctx context.Context) (Preview, error) {
	if j.spec.Detail == nil {
		return Preview{}, &NoUpdateError{Source: j.t.Provenance}
	}
	out := Preview{Planned: j.out}
	f, err := j.plans.Frontier(ctx, j.out.Namespace)
	if err != nil {
		return out, err
	}
	if f.Live {
		out.Noop = true
		out.Span = harvest.Span{From: f.At, To: f.At}
		out.Reason = plannedAlready
		return out, nil
	}
	ids, err := j.candidates(ctx)
	if err != nil {
		return out, err
	}
	out.Span = updateSpan(f, len(ids))
	if len(ids) == 0 {
		out.Noop, out.Reason = true, noCandidates
		return out, nil
	}
	batch := int64(max(1, j.spec.Batching.IDs))
	alone := int64(0)
	takes := j.spec.Detail.Takes()
	for _, id := range ids {
		if !takes(id) {
			alone++
		}
	}
	out.Expected = int64(len(ids))
	out.Requests = (out.Expected-alone+batch-1)/batch + alone
	out.Slices, err = (harvest.IDStrategy{}).Slice(ctx, harvest.SliceRequest{Span: out.Span, Target: j.idsPerSlice(), PageSize: j.spec.Batching.IDs})
	if err != nil {
		return out, err
	}
	out.price(j.allowed(ctx), j.cost())
	return out, nil
}

// NoUpdateError says that a source cannot be asked for single records.
type NoUpdateError struct{ Source string }

func (e *NoUpdateError) Error() string {
	return e.Source + " cannot be asked for single records: its description has no endpoint with usage DETAIL, so there is no UPDATE"
}

// Problem implements problem.Error.
func (e *NoUpdateError) Problem() problem.Problem {
	return problem.Problem{
		Code: "no_update", Kind: problem.Usage, Title: e.Error(),
		Next: "patra backfill " + e.Source + " --from T --to T reads a window again; docs/write-a-source.md tells how a source is asked by ids",
	}
}
