package sqlstore

import (
	"context"
	"fmt"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// Reslice closes a slice that cannot be walked as it is and puts children in
// its place that tile its nominal window whole, in one transaction (R13). The
// children inherit plan, priority and due time. One that is proven already is
// done and has no task; the cursor moves over it in that same transaction.
func (s *Store) Reslice(ctx context.Context, job harvest.Job, end harvest.RunEnd, children []harvest.SliceDraft, pagingType string, pageSize int) error {
	parts, proven := make([]harvest.Part, len(children)), 0
	for i, c := range children {
		parts[i] = c.Spec.Part()
		if c.Done {
			proven++
		}
	}
	if err := harvest.Tile(job.Spec.Part(), parts); err != nil {
		return fmt.Errorf("reslice %d: %w", job.Slice, err)
	}
	if proven == len(children) {
		return fmt.Errorf("reslice %d: nothing is left to be walked, and no walk was over", job.Slice)
	}
	l := job.Lease
	return s.write(ctx, "reslice", func(x *tx) error {
		if err := x.guard(l); err != nil {
			return err
		}
		if err := x.closeBatches(l, end.Code, end.Error); err != nil {
			return err
		}
		cur, err := x.lockCursorOf(job.Slice)
		if err != nil {
			return err
		}
		n, err := x.exec(`UPDATE ing_plan_slice SET status_code='RESLICED', reason=?, updated_at=? WHERE id=? AND status_code='READY'`, end.Code, ts(x.now), job.Slice)
		if err != nil {
			return fmt.Errorf("close slice %d: %w", job.Slice, err)
		}
		if n == 0 {
			return fmt.Errorf("slice %d is not READY: %w", job.Slice, harvest.ErrHeld)
		}
		stats, err := jsonText(end.Stats)
		if err != nil {
			return err
		}
		if _, err := x.exec(`UPDATE ing_task_run SET status_code='PARTIAL', error_code=?, error=?, stats=?, finished_at=? WHERE id=? AND fence=?`,
			null(clip(end.Code, 64)), null(end.Error), stats, ts(x.now), end.Run, l.Fence); err != nil {
			return fmt.Errorf("close run %d: %w", end.Run, err)
		}
		p := planRef{id: job.Plan, cursor: cur.id, provenance: job.Provenance, operation: job.Operation, parent: job.Slice, pagingType: pagingType, pageSize: pageSize}
		var due ts
		if err := x.row(`SELECT schedule_instance_id, endpoint_name, spec_version, priority, scheduled_at FROM ing_task WHERE id=?`, l.Task).
			Scan(&p.instance, &p.endpoint, &p.specVersion, &p.priority, &due); err != nil {
			return fmt.Errorf("read task %d: %w", l.Task, err)
		}
		p.scheduledAt = due.time()
		if _, err := x.exec(`UPDATE ing_task SET status_code='PARTIAL', lease_owner=NULL, leased_until=NULL, error_code=?, error=?, updated_at=? WHERE id=? AND fence=?`,
			null(clip(end.Code, 64)), null(end.Error), ts(x.now), l.Task, l.Fence); err != nil {
			return fmt.Errorf("close task %d: %w", l.Task, err)
		}
		var no int
		if err := x.row(`SELECT MAX(slice_no) FROM ing_plan_slice WHERE plan_id=?`, job.Plan).Scan(&no); err != nil {
			return fmt.Errorf("number slices: %w", err)
		}
		rows := make([]sliceRow, len(children))
		for i := range children {
			rows[i] = sliceRow{SliceDraft: &children[i], no: no + 1 + i, state: harvest.SliceReady}
			if children[i].Done {
				rows[i].state = harvest.SliceDone
			}
		}
		if err := x.insertSlices(p, rows); err != nil || proven == 0 {
			return err
		}
		_, err = x.advance(cur, lineage{plan: job.Plan, slice: job.Slice, task: l.Task, run: end.Run, remarks: "a beginning was proven before the cut: " + end.Code})
		return err
	})
}
