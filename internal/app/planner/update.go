package planner

import (
	"context"
	"slices"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/domain/source"
)

// idsPerSlice is how many candidates make a slice of an UPDATE.
func (pl *planning) idsPerSlice() int64 {
	return max(100, int64(pl.spec.Batching.IDs)*10)
}

// update plans to read records again that are held. It freezes the ids that are to be
// read as of now, so that each is read once whatever becomes of the others meanwhile
// (R9). An activity is planned once, and once more only if that plan was given up.
func (pl *planning) update(ctx context.Context) error {
	spec := pl.spec
	if spec.Detail == nil {
		return &NoUpdateError{Source: pl.t.Provenance}
	}
	if err := pl.recall(ctx); err != nil {
		return err
	}
	f, err := pl.plans.Frontier(ctx, pl.result.Namespace)
	if err != nil {
		return err
	}
	if f.Live {
		return pl.recordNoop(ctx, harvest.Span{From: f.At, To: f.At}, plannedAlready)
	}
	ids, err := pl.candidates(ctx)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		return pl.recordNoop(ctx, updateSpan(f, 0), noCandidates)
	}
	pl.room, err = pl.findRoom(ctx)
	if err != nil {
		return err
	}
	if pl.room.exhausted(false) {
		pl.result.Waits = true
		return pl.recordNoop(ctx, updateSpan(f, 0), pl.room.reason(""))
	}
	of := updateSpan(f, len(ids))
	cuts, err := pl.cutWithin(ctx, harvest.SliceRequest{Span: of}, pl.room)
	if err != nil {
		return err
	}
	snapshot, err := spec.Canonical()
	if err != nil {
		return err
	}
	selJSON, selHash := spec.Selected()
	d := harvest.Draft{
		Trigger: pl.t, Namespace: pl.result.Namespace, Endpoint: spec.Detail.Name,
		Span: of, SlicedTo: pl.reachedBy(cuts),
		Strategy:  harvest.StrategyID,
		Selection: selJSON, SelHash: selHash,
		ConfigHash: pl.contract.ConfigHash, SpecVersion: spec.Version,
		Fingerprint: source.FingerprintBytes(snapshot), Snapshot: snapshot,
		PagingType: harvest.PageIDs, PageSize: spec.Batching.IDs,
		Candidates: ids,
	}
	d.Slices, err = pl.slices(cuts)
	if err != nil {
		return err
	}
	pl.explainRemainder(of, d.SlicedTo, pl.room.less(cuts.Len()))
	d.SliceParams, err = jsonText(updateParams{IDsPerSlice: pl.idsPerSlice(), Pacing: pl.t.Pacing})
	if err != nil {
		return err
	}
	d.Remarks, err = jsonText(pl.remarks(ctx, of, cuts))
	if err != nil {
		return err
	}
	return pl.save(ctx, d, cuts)
}

// updateParams is what the slices of an UPDATE were cut by, as it is stored with it.
type updateParams struct {
	IDsPerSlice int64          `json:"idsPerSlice"`
	Pacing      harvest.Pacing `json:"pacing,omitzero"`
}

const (
	noCandidates   = "no record needs to be read again"
	plannedAlready = "this activity has been planned already"
)

// updateSpan is the span of n candidates, numbered from where the activity stands: at
// 0, or where an earlier plan of it was given up.
func updateSpan(f harvest.Frontier, n int) harvest.Span {
	at := int64(0)
	if f.Known {
		at = f.At.Ordinal()
	}
	return harvest.OrdinalSpan(at, at+int64(n))
}

// candidates lists the ids of the records to read again. Ids that are not in the form
// which records have are left out: items in quarantine may have such.
func (pl *planning) candidates(ctx context.Context) ([]string, error) {
	ids, err := pl.records.Candidates(ctx, pl.t.Provenance, pl.spec.RecordType, pl.spec.Mapping.Version(), pl.t.Pick)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(ids, func(id string) bool {
		own, err := pl.spec.ID.Canonical(id)
		return err != nil || own != id
	}), nil
}

// previewUpdate tells how many records an UPDATE would read and what that takes.
func (pl *planning) previewUpdate(ctx context.Context) (Preview, error) {
	if pl.spec.Detail == nil {
		return Preview{}, &NoUpdateError{Source: pl.t.Provenance}
	}
	out := Preview{Planned: pl.result}
	f, err := pl.plans.Frontier(ctx, pl.result.Namespace)
	if err != nil {
		return out, err
	}
	if f.Live {
		out.Noop = true
		out.Span = harvest.Span{From: f.At, To: f.At}
		out.Reason = plannedAlready
		return out, nil
	}
	ids, err := pl.candidates(ctx)
	if err != nil {
		return out, err
	}
	out.Span = updateSpan(f, len(ids))
	if len(ids) == 0 {
		out.Noop, out.Reason = true, noCandidates
		return out, nil
	}
	alone := int64(0) // ids that a list cannot hold, each of which takes a request
	takes := pl.spec.Detail.Takes()
	for _, id := range ids {
		if !takes(id) {
			alone++
		}
	}
	out.Expected = int64(len(ids))
	out.Requests = divideUp(out.Expected-alone, pl.idsPerRequest()) + alone
	err = harvest.IDStrategy{}.Slice(ctx, harvest.SliceRequest{
		Span: out.Span, Target: pl.idsPerSlice(), PageSize: pl.spec.Batching.IDs,
	}, out.Slices.Add)
	if err != nil {
		return out, err
	}
	out.addPrice(pl.allowedRate(ctx), pl.requestCost())
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
