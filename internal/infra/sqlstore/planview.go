package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/query"
	"github.com/papertrace/patra/internal/domain/source"
)

// A plan that is cut whole and has gaps is PARTIAL to people, as in the report of
// the run that left them. What stands between /*! and */ only servers read: while they
// have counted too few rows they would rather read a table whole for each row.
var planRowCols = `id, provenance_code, endpoint_name, operation_code, CASE WHEN status_code='READY' AND EXISTS (SELECT 1 FROM ing_plan_slice s /*! FORCE INDEX (idx_slice_status) */
	WHERE s.plan_id=ing_plan.id AND s.status_code IN ('FAILED','CANCELLED') AND s.gap_accepted=0)
	THEN 'PARTIAL' ELSE status_code END, status_code='PARTIAL', activity_id, window_from, window_to, sliced_to, slice_strategy_code,
	created_at, plan_key, expr_proto_snapshot, group_digits, ` + isOneOf("status_code", harvest.PlansOpen)

func scanPlanRow(r interface{ Scan(...any) error }) (p control.PlanRow, err error) {
	var from, to, sliced, created ts
	var sel sql.NullString
	err = r.Scan(&p.ID, &p.Source, &p.Endpoint, &p.Operation, &p.Status, &p.Unsliced, &p.Activity, &from, &to, &sliced, &p.Strategy,
		&created, &p.Key, &sel, &p.GroupDigits, &p.Open)
	p.Query = queryText(sel.String)
	p.From = from.mark(p.Operation)
	p.To = to.mark(p.Operation)
	p.SlicedTo = sliced.mark(p.Operation)
	p.CreatedAt = created.time()
	return p, err
}

// queryText is a stored selection as people write it, empty for everything and
// for what this build cannot read.
func queryText(stored string) string {
	e, err := query.ParseJSON([]byte(stored), query.Default())
	if _, all := e.(query.All); err != nil || all || e == nil {
		return ""
	}
	return query.Format(e, query.Default())
}

// queryOf is the selection of the plan of a cursor c that reaches furthest.
var queryOf = furthestPlan("expr_proto_snapshot")

// furthestPlan is a column of the plan of a cursor c that reaches furthest: the last of an
// index, however many plans there are. Servers find that only if the order names the
// cursor too; else they sort them all.
func furthestPlan(column string) string {
	return `(SELECT p.` + column + ` FROM ing_plan p /*! FORCE INDEX (idx_plan_cursor) */ WHERE p.cursor_id=c.id ORDER BY p.cursor_id DESC, p.window_to DESC LIMIT 1)`
}

// Plan reads one plan.
func (s *Store) Plan(ctx context.Context, id harvest.PlanID) (control.PlanRow, error) {
	p, err := scanPlanRow(s.r.QueryRowContext(ctx, `SELECT `+planRowCols+` FROM ing_plan WHERE id=?`, id))
	if errors.Is(err, sql.ErrNoRows) {
		err = harvest.ErrNotFound
	}
	if err != nil {
		return p, fmt.Errorf("plan %d: %w", id, err)
	}
	return p, nil
}

const sliceRowJoins = ` JOIN ing_plan p ON p.id=s.plan_id LEFT JOIN ing_task t ON t.slice_id=s.id`

// sliceRowCols are a slice, and of its task what tells why it waits.
var sliceRowCols = `s.id, s.plan_id, s.parent_id, s.status_code, s.window_from, s.window_to, s.slice_spec, p.operation_code, t.status_code,
	t.attempts, COALESCE(s.reason, t.error), t.id, p.provenance_code, t.endpoint_name, t.scheduled_at, t.lease_owner, t.leased_until, t.error_code,
	t.error, t.updated_at, s.gap_accepted, ` + isOneOf("p.status_code", harvest.PlansOpen)

func scanSliceRow(r interface{ Scan(...any) error }) (v control.SliceRow, err error) {
	var parent, tries, id sql.NullInt64
	var from, to, due, leased, updated ts
	var op harvest.Operation
	var task, reason, endpoint, owner, code, text sql.NullString
	var work control.TaskRow
	err = r.Scan(&v.ID, &v.Plan, &parent, &v.Status, &from, &to, &v.Spec, &op, &task, &tries, &reason, &id, &work.Source, &endpoint, &due, &owner,
		&leased, &code, &text, &updated, &v.Accepted, &work.PlanOpen)
	if err != nil {
		return v, err
	}
	v.Parent = harvest.SliceID(parent.Int64)
	v.From = from.mark(op)
	v.To = to.mark(op)
	v.Task = harvest.TaskState(task.String)
	v.Tries = int(tries.Int64)
	v.Reason = reason.String
	if id.Valid {
		work.ID = harvest.TaskID(id.Int64)
		work.Endpoint = endpoint.String
		work.Operation = op
		work.Status = v.Task
		work.DueAt = due.time()
		work.UpdatedAt = updated.time()
		work.Code = harvest.Code(code.String)
		work.Error = text.String
		if owner.Valid {
			work.Lease = &control.TaskLease{Owner: owner.String, Until: leased.time()}
		}
		v.Work = &work
	}
	spec, err := readSlice(v.Spec)
	v.Range = partOf(spec)
	v.Hints = spec.Hints
	return v, err
}

// readSlice takes apart how a slice is cut, as it is stored.
func readSlice(spec string) (s harvest.SliceSpec, err error) {
	if err := json.Unmarshal([]byte(spec), &s); err != nil {
		return s, fmt.Errorf("read slice: %w", err)
	}
	return s, nil
}

// partOf is the part of its window that a slice answers for, empty if that is all of it.
func partOf(s harvest.SliceSpec) string {
	if r := s.Part().Range; !r.Whole() {
		return r.String()
	}
	return ""
}

// rangeText is [partOf] a slice as it is stored.
func rangeText(spec string) (string, error) {
	s, err := readSlice(spec)
	if err != nil {
		return "", err
	}
	return partOf(s), nil
}

// Slice reads one slice.
func (s *Store) Slice(ctx context.Context, id harvest.SliceID) (control.SliceRow, error) {
	v, err := scanSliceRow(s.r.QueryRowContext(ctx, `SELECT `+sliceRowCols+` FROM ing_plan_slice s`+sliceRowJoins+` WHERE s.id=?`, id))
	if errors.Is(err, sql.ErrNoRows) {
		err = harvest.ErrNotFound
	}
	if err != nil {
		return v, fmt.Errorf("slice %d: %w", id, err)
	}
	return v, nil
}

var cursorRowCols = `id, provenance_code, operation_code, cursor_key, namespace_scope_code, namespace_key, direction_code,
	cursor_type_code, cursor_value, init_value, observed_max_value, version, updated_at, ` + queryOf

func scanCursorRow(r interface{ Scan(...any) error }) (c control.CursorRow, err error) {
	var scope, key string
	var observed, sel sql.NullString
	var at ts
	err = r.Scan(&c.ID, &c.Source, &c.Operation, &c.Key, &scope, &key, &c.Direction, &c.Type, &c.Value, &c.Init, &observed,
		&c.Moves, &at, &sel)
	c.Query = queryText(sel.String)
	c.Namespace = scope + "/" + key
	c.Observed = observed.String
	c.UpdatedAt = at.time()
	return c, err
}

// Cursors lists cursors behind one, in the order of their names.
func (s *Store) Cursors(ctx context.Context, q control.CursorQuery, after harvest.CursorID, limit int) ([]control.CursorRow, error) {
	out := []control.CursorRow{}
	place, err := s.cursorPlace(ctx, after)
	if err != nil {
		return nil, err
	}
	query, args := s.cursorsSQL(q, place, limit)
	err = s.each(ctx, func(r *sql.Rows) error {
		c, err := scanCursorRow(r)
		out = append(out, c)
		return err
	}, query, args...)
	if err != nil {
		return nil, fmt.Errorf("list cursors: %w", err)
	}
	return out, nil
}

// cursorName are the columns that name a cursor, in the order of their index.
var cursorName = []string{"c.provenance_code", "c.operation_code", "c.cursor_key", "c.namespace_scope_code", "c.namespace_key"}

// cursorPlace is the name of a cursor; none for 0.
func (s *Store) cursorPlace(ctx context.Context, id harvest.CursorID) ([]any, error) {
	if id == 0 {
		return nil, nil
	}
	name := make([]string, len(cursorName))
	into := make([]any, len(name))
	for i := range name {
		into[i] = &name[i]
	}
	err := s.r.QueryRowContext(ctx, `SELECT `+joined(cursorName)+` FROM ing_cursor c WHERE c.id=?`, id).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, control.ErrPage
	}
	place := make([]any, len(name))
	for i := range name {
		place[i] = name[i]
	}
	return place, err
}

// cursorsSQL lists cursors behind a name.
func (s *Store) cursorsSQL(q control.CursorQuery, after []any, limit int) (string, []any) {
	var where strings.Builder
	where.WriteString(`1=1`)
	var args []any
	for _, f := range []col{
		{"c.provenance_code", q.Source},
		{"c.operation_code", string(q.Operation)},
		{"CONCAT(c.namespace_scope_code, '/', c.namespace_key)", q.Namespace},
	} {
		if f.value != "" {
			where.WriteString(` AND ` + f.name + `=?`)
			args = append(args, f.value)
		}
	}
	if len(after) > 0 {
		order := cursorName
		if q.Source != "" {
			order = order[1:] // all are of this source
			after = after[1:]
		}
		behind, values := s.d.after(order, after)
		where.WriteString(` AND ` + behind)
		args = append(args, values...)
	}
	return `SELECT ` + cursorRowCols + ` FROM (SELECT c.id AS cursor_id FROM ing_cursor c` + s.d.cursorIndex + ` WHERE ` + where.String() + `
		ORDER BY ` + joined(cursorName) + ` LIMIT ?) k JOIN ing_cursor c ON c.id=k.cursor_id ORDER BY ` + joined(cursorName), append(args, limit)
}

// Cursor reads one cursor.
func (s *Store) Cursor(ctx context.Context, id harvest.CursorID) (control.CursorRow, error) {
	c, err := scanCursorRow(s.r.QueryRowContext(ctx, `SELECT `+cursorRowCols+` FROM ing_cursor c WHERE id=?`, id))
	if errors.Is(err, sql.ErrNoRows) {
		err = harvest.ErrNotFound
	}
	if err != nil {
		return c, fmt.Errorf("cursor %d: %w", id, err)
	}
	return c, nil
}

// CursorEvents lists the moves of a cursor, the newest first.
func (s *Store) CursorEvents(ctx context.Context, id harvest.CursorID, wanted control.Moves) ([]control.CursorEvent, error) {
	out := []control.CursorEvent{}
	within, args := movedWithin(wanted.From, wanted.To)
	err := s.each(ctx, func(r *sql.Rows) error {
		var e control.CursorEvent
		err := scanCursorEvent(r, &e)
		out = append(out, e)
		return err
	}, `SELECT `+cursorEventCols+` FROM ing_cursor_event WHERE cursor_id=?`+within+` ORDER BY id DESC LIMIT ?`,
		slices.Concat([]any{id}, args, []any{wanted.Limit})...)
	if err != nil {
		return nil, fmt.Errorf("list events of cursor %d: %w", id, err)
	}
	return out, nil
}

const cursorEventCols = `id, kind_code, prev_value, new_value, observed_max_value, schedule_instance_id, plan_id, slice_id, task_id, run_id, batch_id,
	record_remarks, event_time`

// scanCursorEvent reads the columns of a move, and those that were asked for behind
// them.
func scanCursorEvent(r scanner, e *control.CursorEvent, more ...any) error {
	var prev, observed, remarks sql.NullString
	var instance, plan, slice, task, run, batch sql.NullInt64
	var at ts
	err := r.Scan(append([]any{&e.ID, &e.Kind, &prev, &e.New, &observed, &instance, &plan, &slice, &task, &run, &batch, &remarks, &at}, more...)...)
	e.Prev = prev.String
	e.Observed = observed.String
	tellRemarks(e, remarks.String)
	e.At = at.time()
	e.Instance = harvest.InstanceID(instance.Int64)
	e.Plan = harvest.PlanID(plan.Int64)
	e.Slice = harvest.SliceID(slice.Int64)
	e.Task = harvest.TaskID(task.Int64)
	e.Run = harvest.RunID(run.Int64)
	e.Batch = harvest.BatchID(batch.Int64)
	return err
}

// Cancel gives up what is not done yet (R18): tasks that wait or are worked on
// become CANCELLED, and whoever works on one commits nothing more. The slices of
// a cancelled plan no longer hold the watermark, since the next harvest plans
// their windows again; a single slice stays a gap until somebody decides on it.
// What an UPDATE had been pointed to and has not read waits for the next one. It
// returns how many slices were given up.
func (s *Store) Cancel(ctx context.Context, scope control.CancelScope, a source.Audit) (n int64, err error) {
	return s.cancel(ctx, scope, a, false)
}

// TryCancel tells how many slices [Store.Cancel] would give up, or why it would be
// refused, and changes nothing.
func (s *Store) TryCancel(ctx context.Context, scope control.CancelScope, a source.Audit) (n int64, err error) {
	return s.cancel(ctx, scope, a, true)
}

func (s *Store) cancel(ctx context.Context, scope control.CancelScope, a source.Audit, trial bool) (n int64, err error) {
	err = s.change(ctx, "cancel", trial, func(x *tx) error {
		where, id := `plan_id=?`, int64(scope.Plan)
		if scope.Slice != 0 {
			where, id = `id=?`, int64(scope.Slice)
		}
		var first harvest.SliceID
		err := x.row(`SELECT id FROM ing_plan_slice WHERE `+where+` ORDER BY id LIMIT 1`, id).Scan(&first)
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("%s: %w", a.Object, harvest.ErrNotFound)
		}
		if err != nil {
			return err
		}
		cur, err := x.lockCursorOf(first)
		if err != nil {
			return err
		}
		taskWhere := `plan_id=?`
		if scope.Slice != 0 {
			taskWhere = `slice_id=?`
		}
		// What is done has no task left to be cancelled, and below it no run or page:
		// whether anything was cancelled is told by the slices.
		if _, err := x.exec(`UPDATE ing_task SET status_code='CANCELLED', lease_owner=NULL, leased_until=NULL, fence=fence+1,
			error_code=?, error=?, updated_at=?
			WHERE `+taskWhere+` AND `+mayBecome(harvest.TaskCancelled), harvest.CodeCancelled, a.Reason, ts(x.now), id); err != nil {
			return err
		}
		n, err = x.exec(`UPDATE ing_plan_slice SET status_code='CANCELLED', reason=?, updated_at=?
			WHERE `+where+` AND `+mayBecome(harvest.SliceCancelled),
			"cancelled by "+a.Actor+": "+a.Reason, ts(x.now), id)
		if err != nil {
			return err
		}
		var plan harvest.PlanID
		if err := x.row(`SELECT plan_id FROM ing_plan_slice WHERE id=?`, first).Scan(&plan); err != nil {
			return err
		}
		if err := x.recountGroups(plan); err != nil {
			return err
		}
		if scope.Slice == 0 {
			k, err := x.exec(`UPDATE ing_plan SET status_code='CANCELLED', updated_at=?
				WHERE id=? AND `+mayBecome(harvest.PlanCancelled), ts(x.now), plan)
			if err != nil {
				return err
			}
			if k == 0 {
				return fmt.Errorf("plan %d: %w", plan, control.ErrNotOpen)
			}
		} else if n == 0 {
			return fmt.Errorf("slice %d: %w", scope.Slice, control.ErrNotOpen)
		}
		if cur.ns.Operation == harvest.Update {
			if err := x.returnSignals(plan, cur.ns.Provenance); err != nil {
				return err
			}
		}
		const cancelled = `task_id IN (SELECT id FROM ing_task WHERE status_code='CANCELLED' AND `
		if _, err := x.exec(`UPDATE ing_task_run_batch SET status_code='FAILED', error_code=?, committed_at=?
			WHERE `+mayBecome(harvest.BatchFailed)+` AND `+cancelled+taskWhere+`)`, harvest.CodeCancelled, ts(x.now), id); err != nil {
			return err
		}
		runs, err := x.openRuns(cancelled+taskWhere+`)`, id)
		if err != nil {
			return err
		}
		for _, r := range runs {
			if err := x.closeRun(r.id, r.fence, harvest.RunCancelled, harvest.CodeCancelled, a.Reason, harvest.HealMarks{}); err != nil {
				return err
			}
		}
		if _, err := x.advance(cur, lineage{plan: plan, remarks: moveRemarks{Reason: movedByCancelling, Note: "cancelled: " + a.Reason}}); err != nil {
			return err
		}
		return x.audit(a, map[string]int64{"slices": n})
	})
	return n, err
}
