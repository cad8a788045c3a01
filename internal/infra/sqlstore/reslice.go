package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// Reslice closes a slice that cannot be walked as it is and puts children in
// its place that tile its nominal window whole, in one transaction (R13). The
// children inherit plan, priority and due time. One that is proven already is
// done and has no task; the cursor moves over it in that same transaction.
func (s *Store) Reslice(
	ctx context.Context, job harvest.Job, end harvest.RunEnd, children []harvest.SliceDraft, pagingType harvest.PagingType, pageSize int,
) error {
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
		if err := x.closeBatches(l, end.Page, end.Code, end.Error); err != nil {
			return err
		}
		cur, err := x.lockCursorOf(job.Slice)
		if err != nil {
			return err
		}
		n, err := x.exec(`UPDATE ing_plan_slice SET status_code='RESLICED', reason=?, updated_at=?
			WHERE id=? AND `+mayBecome(harvest.SliceResliced), end.Code, ts(x.now), job.Slice)
		if err != nil {
			return fmt.Errorf("close slice %d: %w", job.Slice, err)
		}
		if n == 0 {
			return fmt.Errorf("slice %d is not READY: %w", job.Slice, harvest.ErrHeld)
		}
		x.moved = append(x.moved, sliceMove{job.Slice, harvest.SliceReady, harvest.SliceResliced})
		opened, err := x.tellBreaker(l.Task, end)
		if err != nil {
			return err
		}
		marks := harvest.HealMarks{Resliced: end.Code, CircuitOpen: opened}
		if err := x.closeRun(end.Run, l.Fence, harvest.RunPartial, end.Code, end.Error, marks); err != nil {
			return err
		}
		if err := x.countRunFault(l.Task, end, harvest.CutSmaller); err != nil {
			return err
		}
		p := planRef{id: job.Plan, cursor: cur.id, provenance: job.Provenance, operation: job.Operation, parent: job.Slice, pagingType: pagingType, pageSize: pageSize}
		var due ts
		if err := x.row(`SELECT schedule_instance_id, endpoint_name, spec_version, priority, scheduled_at FROM ing_task
			WHERE id=?`, l.Task).
			Scan(&p.instance, &p.endpoint, &p.specVersion, &p.priority, &due); err != nil {
			return fmt.Errorf("read task %d: %w", l.Task, err)
		}
		p.scheduledAt = due.time()
		err = x.become(fmt.Sprintf("task %d", l.Task), `UPDATE ing_task SET status_code='PARTIAL', lease_owner=NULL, leased_until=NULL,
			error_code=?, error=?, updated_at=?
			WHERE id=? AND fence=? AND `+mayBecome(harvest.TaskPartial),
			null(clip(end.Code, 64)), null(end.Error), ts(x.now), l.Task, l.Fence)
		if err != nil {
			return err
		}
		var no int
		if err := x.row(`SELECT MAX(slice_no) FROM ing_plan_slice WHERE plan_id=?`, job.Plan).Scan(&no); err != nil {
			return fmt.Errorf("number slices: %w", err)
		}
		if err := x.insertSlices(p, harvest.DraftsOf(children...), no); err != nil || proven == 0 {
			return err
		}
		_, err = x.advance(cur, lineage{
			plan: job.Plan, slice: job.Slice, task: l.Task, run: end.Run,
			remarks: moveRemarks{Reason: movedByCut, Note: "a beginning was proven before the cut: " + string(end.Code)},
		})
		return err
	})
}

// PageCosts tells what the newest pages of a task cost, at most so many and oldest first,
// stored or not.
func (s *Store) PageCosts(ctx context.Context, task harvest.TaskID, most int) ([]harvest.PageCost, error) {
	var out []harvest.PageCost
	err := s.each(ctx, func(r *sql.Rows) error {
		var c harvest.PageCost
		var at ts
		var asked sql.NullFloat64
		if err := r.Scan(&at, &c.Failed, &c.Throttled, &asked); err != nil {
			return err
		}
		c.At = at.time()
		c.RetryAfter = time.Duration(asked.Float64) * time.Millisecond
		out = append(out, c)
		return nil
	}, `SELECT COALESCE(committed_at, opened_at), retried, http_429, JSON_EXTRACT(stats, '$.retryAfterMs')+0
		FROM ing_task_run_batch WHERE task_id=? AND status_code IN ('SUCCEEDED','FAILED') ORDER BY id DESC LIMIT ?`, task, most)
	if err != nil {
		return nil, fmt.Errorf("read what the pages of task %d cost: %w", task, err)
	}
	slices.Reverse(out)
	return out, nil
}

// PlanCost tells what a plan has cost so far, and how many slices are proven within
// a window of it.
func (s *Store) PlanCost(ctx context.Context, id harvest.PlanID, within harvest.Window) (harvest.PlanCost, error) {
	var c harvest.PlanCost
	err := s.r.QueryRowContext(ctx, `SELECT
		COALESCE(SUM(CASE WHEN status_code='RESLICED'
		AND updated_at > COALESCE((SELECT MAX(d.updated_at) FROM ing_plan_slice d WHERE d.plan_id=? AND d.status_code='DONE'),
		?) THEN 1 ELSE 0 END), 0),
		COALESCE(SUM(CASE WHEN status_code='DONE' THEN 1 ELSE 0 END), 0),
		COALESCE(SUM(CASE WHEN status_code='DONE' AND window_from >= ? AND window_to <= ? THEN 1 ELSE 0 END), 0)
		FROM ing_plan_slice
		WHERE plan_id=?`, id, ts(time.Unix(0, 0)), ts(within.From), ts(within.To), id).Scan(&c.Cuts, &c.Done, &c.DoneWithin)
	if err != nil {
		return c, fmt.Errorf("count slices of plan %d: %w", id, err)
	}
	var records sql.NullFloat64
	err = s.r.QueryRowContext(ctx, `SELECT COUNT(*), SUM(JSON_EXTRACT(slice_spec, '$.hints.expectedRecords')) FROM ing_plan_slice
		WHERE plan_id=? AND parent_id IS NULL AND slice_spec LIKE ?`, id, `%"`+string(harvest.ByCount)+`"%`).Scan(&c.Slices, &records)
	if err != nil {
		return c, fmt.Errorf("sum what plan %d was counted to hold: %w", id, err)
	}
	c.Records = int64(records.Float64)
	err = s.r.QueryRowContext(ctx, `SELECT COALESCE(SUM(sent), 0) FROM ing_task_run_batch WHERE plan_id=?`, id).Scan(&c.Sent)
	if err != nil {
		return c, fmt.Errorf("sum requests of plan %d: %w", id, err)
	}
	return c, nil
}
