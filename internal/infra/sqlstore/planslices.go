package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// planRef is what slices and tasks repeat of their plan.
type planRef struct {
	id                   harvest.PlanID
	instance             harvest.InstanceID
	cursor               harvest.CursorID
	provenance, endpoint string
	operation            harvest.Operation
	specVersion          int
	pagingType           harvest.PagingType
	pageSize             int
	priority             int
	scheduledAt          time.Time
	parent               harvest.SliceID
}

type sliceRow struct {
	harvest.SliceDraft
	no    int
	state harvest.SliceState
	sig   string
}

const rowsPerInsert = 50

const (
	sliceCols = `schedule_instance_id, plan_id, parent_id, cursor_id, provenance_code, slice_no, slice_signature_hash, slice_spec, window_from, window_to,
		expr_hash, expr_snapshot, status_code, fail_count, reason, expected, created_at, updated_at`
	taskCols = `schedule_instance_id, plan_id, slice_id, provenance_code, endpoint_name, operation_code, credential_ref, params, expr_hash,
		idempotent_key, spec_version, status_code, priority, scheduled_at, fence, walk_no, error_code, error, created_at, updated_at`
)

func insertSlicesSQL(n int) string {
	return `INSERT INTO ing_plan_slice (` + sliceCols + `) VALUES ` + marks(n, columns(sliceCols))
}

func insertTasksSQL(n int) string {
	return `INSERT INTO ing_task (` + taskCols + `) VALUES ` + marks(n, columns(taskCols))
}

// warmPlan prepares what a plan of many slices needs, which is half of its time
// on a server.
func (s *Store) warmPlan(ctx context.Context, slices int) error {
	if slices < rowsPerInsert {
		return nil
	}
	return s.warm(ctx, insertSlicesSQL(rowsPerInsert), insertTasksSQL(rowsPerInsert))
}

// insertSlices writes slices and the one task each has, numbered after those that the plan
// has already. It does so some at a time, and forgets those that are written: what a plan
// takes in memory does not grow with its slices.
func (x *tx) insertSlices(p planRef, slices harvest.SliceDrafts, after int) error {
	if slices.Len == 0 {
		return nil
	}
	rows := make([]sliceRow, 0, min(slices.Len, keysPerRead))
	for sd, err := range slices.All {
		if err != nil {
			return err
		}
		after++
		rows = append(rows, sliceRow{SliceDraft: sd, no: after, state: stateOf(sd)})
		if len(rows) < keysPerRead {
			continue
		}
		if err := x.insertSome(p, rows); err != nil {
			return err
		}
		rows = rows[:0]
	}
	if len(rows) == 0 {
		return nil
	}
	return x.insertSome(p, rows)
}

// stateOf is the state that a slice begins in.
func stateOf(s harvest.SliceDraft) harvest.SliceState {
	switch {
	case s.Done:
		return harvest.SliceDone
	case s.Reason != "":
		return harvest.SliceFailed
	}
	return harvest.SliceReady
}

func (x *tx) insertSome(p planRef, rows []sliceRow) error {
	now := ts(x.now)
	for i := range rows {
		r := &rows[i]
		if err := r.Spec.Validate(); err != nil {
			return fmt.Errorf("slice %d: %w", r.no, err)
		}
		r.sig = r.Spec.Signature(p.pagingType, p.pageSize)
	}
	for part := range chunks(rows, rowsPerInsert) {
		args := make([]any, 0, len(part)*columns(sliceCols))
		for _, r := range part {
			spec, err := jsonText(r.Spec)
			if err != nil {
				return err
			}
			fails := 0
			if r.state == harvest.SliceFailed {
				fails = 1
			}
			of := r.Spec.Span()
			args = append(args, p.instance, p.id, nullID(int64(p.parent)), p.cursor, p.provenance, r.no, r.sig, spec,
				stored(of.From).instant, stored(of.To).instant,
				harvest.HashKey(r.Expr), r.Expr, r.state, fails, null(r.Reason), expectedOf(r.Spec), now, now)
		}
		if _, err := x.bulk(insertSlicesSQL(len(part)), args); err != nil {
			return fmt.Errorf("insert slices: %w", err)
		}
	}
	args := make([]any, 0, len(rows)+1)
	args = append(args, p.id)
	for _, r := range rows {
		args = append(args, r.sig)
	}
	ids := make(map[string]int64, len(rows))
	err := x.each(func(r *sql.Rows) error {
		var id int64
		var sig string
		if err := r.Scan(&id, &sig); err != nil {
			return err
		}
		ids[sig] = id
		return nil
	}, `SELECT id, slice_signature_hash FROM ing_plan_slice WHERE plan_id=? AND slice_signature_hash IN (`+list(len(rows))+`)`, args...)
	if err != nil {
		return fmt.Errorf("read slices back: %w", err)
	}
	if err := x.addToGroups(p.id, rows); err != nil {
		return err
	}
	return x.insertTasks(p, rows, ids)
}

// expectedOf is how many records a slice was expected to have when it was cut, nothing if
// nothing told.
func expectedOf(s harvest.SliceSpec) sql.NullInt64 {
	h := s.Hints
	if h == nil || h.ExpectedRecords == 0 && h.EstimatedBy == "" {
		return sql.NullInt64{}
	}
	return sql.NullInt64{Int64: h.ExpectedRecords, Valid: true}
}

func (x *tx) insertTasks(p planRef, rows []sliceRow, ids map[string]int64) error {
	now := ts(x.now)
	prio, due := p.priority, p.scheduledAt
	if prio == 0 {
		prio = p.operation.Priority()
	}
	if due.IsZero() {
		due = x.now
	}
	var tasks []sliceRow
	for _, r := range rows {
		if r.state != harvest.SliceDone {
			tasks = append(tasks, r)
		}
	}
	for part := range chunks(tasks, rowsPerInsert) {
		args := make([]any, 0, len(part)*columns(taskCols))
		for _, r := range part {
			state := harvest.TaskQueued
			var code harvest.Code
			at := due.Add(r.Delay)
			if r.state == harvest.SliceFailed {
				state = harvest.TaskFailed
				code = harvest.CodeUnplannable
				at = x.now.Add(harvest.RetryGap(1))
			}
			args = append(args, p.instance, p.id, ids[r.sig], p.provenance, p.endpoint, p.operation, null(r.Pool), cmp.Or(r.Params, "{}"), harvest.HashKey(r.Expr),
				harvest.HashKey(fmt.Sprint(int64(p.id)), r.sig), p.specVersion, state, prio, ts(at), 0, 1, null(code),
				null(r.Reason), now, now)
		}
		if _, err := x.bulk(insertTasksSQL(len(part)), args); err != nil {
			return fmt.Errorf("insert tasks: %w", err)
		}
	}
	return nil
}
