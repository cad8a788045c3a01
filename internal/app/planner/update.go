package planner

import (
	"context"
	"fmt"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// idsPerSlice is how many candidates make a slice of an UPDATE.
func (j *job) idsPerSlice() int64 {
	return max(1, int64(j.spec.Batching.IDs)) * 10
}

// update plans the checking of records that are known: it freezes the ids there
// are to check now, so that each is checked once whatever becomes of the others
// meanwhile (R9).
func (j *job) update(ctx context.Context) error {
	spec := j.spec
	if spec.Detail == nil {
		return fmt.Errorf("plan %s: it cannot be asked for single records, so there is no UPDATE", j.t.Provenance)
	}
	if err := j.recall(ctx); err != nil {
		return err
	}
	f, err := j.store.Frontier(ctx, j.out.Namespace)
	if err != nil {
		return err
	}
	if f.Known {
		return j.noop(ctx, harvest.Window{From: f.At, To: f.At}, "this activity has been planned already")
	}
	ids, err := j.store.Candidates(ctx, j.t.Provenance, spec.RecordType, spec.Mapping.Version(), j.t.Pick)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		return j.noop(ctx, harvest.Window{From: harvest.Ordinal(0), To: harvest.Ordinal(0)}, "no record needs to be read again")
	}
	room, err := j.room(ctx)
	if err != nil || room == 0 {
		if err == nil {
			err = j.noop(ctx, harvest.Window{}, j.out.Reason)
		}
		return err
	}
	w := harvest.Window{From: harvest.Ordinal(0), To: harvest.Ordinal(int64(len(ids)))}
	specs, err := harvest.IDStrategy{}.Slice(ctx, harvest.SliceRequest{Window: w, Target: j.idsPerSlice(), PageSize: spec.Batching.IDs, MaxSlices: room})
	if err != nil {
		return err
	}
	snapshot, err := spec.Canonical()
	if err != nil {
		return err
	}
	selJSON, selHash := spec.Selected()
	d := harvest.Draft{
		Trigger: j.t, Namespace: j.out.Namespace, Endpoint: spec.Detail.Name, Window: w, SlicedTo: specs[len(specs)-1].NominalWindow().To,
		Strategy: harvest.StrategyID, Selection: selJSON, SelHash: selHash, ConfigHash: j.con.ConfigHash, SpecVersion: spec.Version,
		Fingerprint: source.FingerprintBytes(snapshot), Snapshot: snapshot, PagingType: harvest.StrategyID, PageSize: spec.Batching.IDs, Candidates: ids,
	}
	d.Slices = j.slices(specs)
	if d.SliceParams, err = jsonText(map[string]int64{"idsPerSlice": j.idsPerSlice()}); err != nil {
		return err
	}
	if d.Remarks, err = jsonText(remarks{TotalEstimated: j.out.Expected, SliceCount: len(specs), Warnings: j.out.Warnings}); err != nil {
		return err
	}
	return j.save(ctx, d)
}
