package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// OpenSlices counts the slices of a source and operation that still have a task
// to do.
func (s *Store) OpenSlices(ctx context.Context, provenance string, op harvest.Operation) (n int64, err error) {
	err = s.r.QueryRowContext(ctx, `SELECT COUNT(*) FROM ing_task
		WHERE `+isOneOf("status_code", harvest.TasksOpen)+` AND provenance_code=? AND operation_code=?`, provenance, op).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count open slices: %w", err)
	}
	return n, nil
}

// Reserved is what the open tasks of a source will take that have a priority, or
// a better one, and which of it those of one operation will.
func (s *Store) Reserved(ctx context.Context, provenance string, own harvest.Operation, priority int) (r harvest.Reserved, err error) {
	r.Now, err = s.Now(ctx)
	if err != nil {
		return r, err
	}
	err = s.each(ctx, func(row *sql.Rows) error {
		var op harvest.Operation
		var slices int64
		var requests, records, page sql.NullFloat64
		var due ts
		if err := row.Scan(&op, &page, &slices, &requests, &records, &due); err != nil {
			return err
		}
		// Slices of which it is not known how many requests they take are reckoned by
		// their records: a page at least, and the details besides.
		work := harvest.OpenWork{Pages: int64(requests.Float64) + slices + int64(records.Float64/max(1, page.Float64))}
		if op != harvest.Update {
			work.Records = int64(records.Float64)
		}
		r.OpenWork = r.Add(work)
		if op == own {
			r.Own = r.Own.Add(work)
		}
		if r.WaitsUntil.IsZero() || due.time().Before(r.WaitsUntil) {
			r.WaitsUntil = due.time()
		}
		return nil
	}, `SELECT operation_code, page, SUM(CASE WHEN requests IS NULL THEN 1 ELSE 0 END), SUM(requests),
			SUM(CASE WHEN requests IS NULL THEN records ELSE 0 END), MIN(due) FROM
		(SELECT t.operation_code, JSON_EXTRACT(p.slice_spec, '$.hints.expectedPageSize') AS page,
		JSON_EXTRACT(p.slice_spec, '$.hints.expectedRequests')+0 AS requests,
		COALESCE(JSON_EXTRACT(p.slice_spec, '$.hints.expectedRecords'), 0) AS records,
			CASE WHEN t.status_code='QUEUED' THEN t.scheduled_at ELSE t.created_at END AS due
		FROM ing_task t JOIN ing_plan_slice p ON p.id=t.slice_id
		WHERE `+isOneOf("t.status_code", harvest.TasksOpen)+` AND t.provenance_code=? AND t.priority<=?) x
		GROUP BY operation_code, page`, provenance, priority)
	if err != nil {
		return r, fmt.Errorf("sum open work: %w", err)
	}
	return r, nil
}

// PartialPlan finds the plan of a namespace that stopped before the end of its
// window.
func (s *Store) PartialPlan(ctx context.Context, ns harvest.Namespace) (p harvest.OpenPlan, ok bool, err error) {
	var from, to, sliced ts
	var base, remarks sql.NullString
	var params []byte
	err = s.r.QueryRowContext(ctx, `SELECT p.id, p.plan_key, p.status_code, p.operation_code, p.window_from, p.window_to, p.sliced_to,
		p.slice_strategy_code, p.slice_params, p.spec_snapshot, p.base_url, p.record_remarks,
			COALESCE((SELECT t.priority FROM ing_task t WHERE t.plan_id=p.id ORDER BY t.id LIMIT 1), 0)
		FROM ing_plan p JOIN ing_cursor c ON c.id = p.cursor_id
		WHERE c.provenance_code=? AND c.operation_code=? AND c.cursor_key=? AND c.namespace_scope_code=? AND c.namespace_key=?
		AND p.status_code='PARTIAL' ORDER BY p.id LIMIT 1`,
		ns.Provenance, ns.Operation, ns.CursorKey, ns.Scope, ns.Key).
		Scan(&p.ID, &p.Key, &p.Status, &p.Operation, &from, &to, &sliced, &p.Strategy, &params, &p.Snapshot, &base, &remarks, &p.Priority)
	if errors.Is(err, sql.ErrNoRows) {
		return p, false, nil
	}
	if err != nil {
		return p, false, fmt.Errorf("look for a plan that is not whole: %w", err)
	}
	p.Span = spanOf(p.Operation, from, to)
	p.SlicedTo = sliced.mark(p.Operation)
	p.BaseURL = base.String
	p.Trace = traceOf(remarks)
	p.Existing = true
	p.Pacing, err = pacingIn(params)
	if err != nil {
		return p, false, fmt.Errorf("plan %d: %w", p.ID, err)
	}
	return p, true, nil
}

// pacingIn is the pacing that is kept with what a plan was cut by.
func pacingIn(sliceParams []byte) (harvest.Pacing, error) {
	var kept struct {
		Pacing harvest.Pacing `json:"pacing"`
	}
	if len(sliceParams) == 0 {
		return kept.Pacing, nil
	}
	err := json.Unmarshal(sliceParams, &kept)
	if err != nil {
		return kept.Pacing, fmt.Errorf("read how it was cut: %w", err)
	}
	return kept.Pacing, nil
}

// PlanPacing is what the trigger of a plan said of how it is worked on.
func (s *Store) PlanPacing(ctx context.Context, id harvest.PlanID) (harvest.Pacing, error) {
	var params []byte
	err := s.r.QueryRowContext(ctx, `SELECT slice_params FROM ing_plan WHERE id=?`, id).Scan(&params)
	if err != nil {
		return harvest.Pacing{}, fmt.Errorf("read the pacing of plan %d: %w", id, err)
	}
	return pacingIn(params)
}

// PlanRemarks are what the planner left with a plan, nil if nothing.
func (s *Store) PlanRemarks(ctx context.Context, id harvest.PlanID) (text []byte, err error) {
	err = s.r.QueryRowContext(ctx, `SELECT record_remarks FROM ing_plan WHERE id=?`, id).Scan(&text)
	if err != nil {
		return nil, fmt.Errorf("read the remarks on plan %d: %w", id, err)
	}
	return text, nil
}

// PartialPlans lists the plans that stopped before the end of their window, one
// per namespace.
func (s *Store) PartialPlans(ctx context.Context) ([]harvest.PartialPlan, error) {
	var out []harvest.PartialPlan
	err := s.each(ctx, func(r *sql.Rows) error {
		var p harvest.PartialPlan
		ns := &p.Namespace
		err := r.Scan(&ns.Provenance, &ns.Operation, &ns.CursorKey, &ns.Scope, &ns.Key, &p.Activity)
		out = append(out, p)
		return err
	}, `SELECT c.provenance_code, c.operation_code, c.cursor_key, c.namespace_scope_code, c.namespace_key, p.activity_id
		FROM ing_plan p JOIN ing_cursor c ON c.id = p.cursor_id
		WHERE p.id IN (SELECT MIN(q.id) FROM ing_plan q WHERE q.status_code='PARTIAL' GROUP BY q.cursor_id) ORDER BY p.id`)
	if err != nil {
		return nil, fmt.Errorf("list plans that are not whole: %w", err)
	}
	return out, nil
}

// ExtendPlan adds slices to a plan that is not whole yet, up to a mark. If
// somebody else has gone on with it, nothing is changed and the error is
// [harvest.ErrFrontierMoved].
func (s *Store) ExtendPlan(
	ctx context.Context, p harvest.OpenPlan, slices harvest.SliceDrafts, to harvest.Mark,
) (harvest.PlanHead, error) {
	head := p.PlanHead
	if err := s.warmPlan(ctx, slices.Len); err != nil {
		return head, err
	}
	err := s.write(ctx, "extend plan", func(x *tx) error {
		ref := planRef{id: p.ID, pagingType: p.PagingType, pageSize: p.PageSize, priority: p.Priority, scheduledAt: p.Pacing.From(x.now)}
		var cur harvest.CursorID
		if err := x.row(`SELECT cursor_id FROM ing_plan WHERE id=?`, p.ID).Scan(&cur); err != nil {
			return err
		}
		var locked int64
		if err := x.row(`SELECT id FROM ing_cursor WHERE id=?`+x.s.d.forUpdate, cur).Scan(&locked); err != nil {
			return fmt.Errorf("lock cursor: %w", err)
		}
		head.Status = harvest.PlanReady
		if !p.Operation.Remainder(p.Span, to).Empty() {
			head.Status = harvest.PlanPartial
		}
		n, err := x.exec(`UPDATE ing_plan SET sliced_to=?, status_code=?, updated_at=?
			WHERE id=? AND status_code='PARTIAL'
			AND sliced_to=?`, stored(to).instant, head.Status, ts(x.now), p.ID, stored(p.SlicedTo).instant)
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("plan %d was gone on with by another: %w", p.ID, harvest.ErrFrontierMoved)
		}
		if err := x.row(`SELECT schedule_instance_id, cursor_id, provenance_code, endpoint_name, operation_code, spec_version
			FROM ing_plan WHERE id=?`, p.ID).
			Scan(&ref.instance, &ref.cursor, &ref.provenance, &ref.endpoint, &ref.operation, &ref.specVersion); err != nil {
			return err
		}
		var no sql.NullInt64
		if err := x.row(`SELECT MAX(slice_no) FROM ing_plan_slice WHERE plan_id=?`, p.ID).Scan(&no); err != nil {
			return err
		}
		return x.insertSlices(ref, slices, int(no.Int64))
	})
	return head, err
}

// densityOver is how far back the density looks.
const densityOver = 200

// Density is how many records a second of the namespace's time held, over the
// slices that were done last, and whether there were any. Beginnings that were
// proven before a cut have no pages of their own to count by.
func (s *Store) Density(ctx context.Context, ns harvest.Namespace) (float64, bool, error) {
	var records int64
	var span time.Duration
	err := s.each(ctx, func(r *sql.Rows) error {
		var from, to ts
		var n int64
		if err := r.Scan(&from, &to, &n); err != nil {
			return err
		}
		records += n
		span += to.time().Sub(from.time())
		return nil
	}, `SELECT s.window_from, s.window_to,
		COALESCE((SELECT SUM(CASE WHEN b.phase='SEARCH' AND b.asked>0 THEN b.asked WHEN b.phase='SEARCH' THEN b.items ELSE 0 END)
			FROM ing_task t JOIN ing_task_run_batch b ON b.task_id=t.id AND b.walk_no=t.walk_no AND b.status_code='SUCCEEDED'
			WHERE t.slice_id=s.id), 0)
		FROM ing_plan_slice s JOIN ing_cursor c ON c.id=s.cursor_id
		WHERE c.provenance_code=? AND c.operation_code=? AND c.cursor_key=? AND c.namespace_scope_code=? AND c.namespace_key=?
		AND s.status_code='DONE' AND EXISTS (SELECT 1 FROM ing_task t WHERE t.slice_id=s.id)
		ORDER BY s.window_from DESC LIMIT ?`, ns.Provenance, ns.Operation, ns.CursorKey, ns.Scope, ns.Key, densityOver)
	if err != nil {
		return 0, false, fmt.Errorf("read density: %w", err)
	}
	if span <= 0 {
		return 0, false, nil
	}
	return float64(records) / span.Seconds(), true, nil
}
