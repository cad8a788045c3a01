package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// CountMembers counts the records of a part of a selection, up to so many.
func (s *Store) CountMembers(ctx context.Context, p control.SelectionPart, most int64) (n int64, err error) {
	where, args := seenWithin(p)
	err = s.r.QueryRowContext(ctx, `SELECT COUNT(*) FROM (SELECT 1 AS one FROM ing_selection_record m WHERE `+where+` LIMIT ?) q`,
		append(args, most)...).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count members of selection %d: %w", p.Selection, err)
	}
	return n, nil
}

// seenWithin is the condition that a row m is a member of a part of a selection.
func seenWithin(p control.SelectionPart) (string, []any) {
	where := `m.selection_id=?`
	args := []any{p.Selection}
	if !p.Until.IsZero() {
		where += ` AND m.first_seen_at<=?`
		args = append(args, ts(p.Until))
	}
	if !p.Since.IsZero() {
		where += ` AND EXISTS (SELECT 1 FROM ing_record c WHERE c.id=m.record_id AND (c.updated_at IS NULL OR c.updated_at>=?))`
		args = append(args, ts(p.Since))
	}
	switch {
	case p.After.IsZero():
	case p.Since.IsZero():
		where += ` AND m.first_seen_at>?`
		args = append(args, ts(p.After))
	default:
		where += ` AND (m.first_seen_at>? OR NOT EXISTS (` + changedBefore + `))`
		args = append(args, ts(p.After), ts(p.After), ts(p.Since), ts(p.After), ts(p.Since))
	}
	return where, args
}

// changedBefore finds a version of a member m that had come by an instant and was changed
// since another. Of one that was replaced in place later it is not known any more when it was
// changed before: where the selection was read from before the other instant too, it may have
// lain there, so that it is told as new once too often rather than never.
const changedBefore = `SELECT 1 FROM ing_record_version v WHERE v.record_id=m.record_id AND v.created_at<=? AND (v.updated_at IS NULL OR v.updated_at>=?)
	AND (v.observed_at<=? OR NOT EXISTS (SELECT 1 FROM ing_plan p WHERE p.selection_id=m.selection_id AND p.window_from<?))`

// membersOf is the condition that a record r is a member of any of the selections.
func membersOf(parts []control.SelectionPart) (string, []any) {
	var parted []string
	var args []any
	for _, p := range parts {
		where, values := seenWithin(p)
		parted = append(parted, `SELECT m.record_id FROM ing_selection_record m WHERE `+where)
		args = append(args, values...)
	}
	return `r.id IN (` + strings.Join(parted, ` UNION `) + `)`, args
}

// MembersByStatus counts the members of selections by what became of the records.
func (s *Store) MembersByStatus(ctx context.Context, parts []control.SelectionPart) (map[harvest.RecordStatus]int64, error) {
	out := map[harvest.RecordStatus]int64{}
	where, args := membersOf(parts)
	err := s.each(ctx, func(r *sql.Rows) error {
		var status harvest.RecordStatus
		var n int64
		err := r.Scan(&status, &n)
		out[status] = n
		return err
	}, `SELECT r.status_code, COUNT(*) FROM ing_record r WHERE `+where+` GROUP BY r.status_code`, args...)
	if err != nil {
		return nil, fmt.Errorf("count members by status: %w", err)
	}
	return out, nil
}

// SelectionSince is when membership of a selection began to be recorded.
func (s *Store) SelectionSince(ctx context.Context, id harvest.SelectionID) (time.Time, error) {
	var since ts
	err := s.r.QueryRowContext(ctx, `SELECT created_at FROM ing_selection WHERE id=?`, id).Scan(&since)
	if err != nil {
		return time.Time{}, fmt.Errorf("selection %d: %w", id, err)
	}
	return since.time(), nil
}

// SelectionPlans lists the plans of a selection behind one, in the order in which they were
// made, each with what it has come to.
func (s *Store) SelectionPlans(ctx context.Context, id harvest.SelectionID, after harvest.PlanID, limit int) ([]control.SelectionPlan, error) {
	var out []control.SelectionPlan
	err := s.each(ctx, func(r *sql.Rows) error {
		var p control.SelectionPlan
		var from, to, created ts
		var base sql.NullString
		err := r.Scan(&p.ID, &p.Operation, &p.Status, &from, &to, &created, &p.Fingerprint, &p.Snapshot, &base)
		p.From = from.time()
		p.To = to.time()
		p.CreatedAt = created.time()
		p.BaseURL = base.String
		out = append(out, p)
		return err
	}, `SELECT id, operation_code, status_code, window_from, window_to, created_at, spec_fingerprint, spec_snapshot, base_url
		FROM ing_plan WHERE selection_id=? AND id>? ORDER BY id LIMIT ?`, id, after, limit)
	if err != nil {
		return nil, fmt.Errorf("plans of selection %d: %w", id, err)
	}
	for i := range out {
		if err := s.sumUpPlan(ctx, &out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// sumUpPlan adds to a plan what was announced for it, what it has come to, and one of the
// requests that were sent.
func (s *Store) sumUpPlan(ctx context.Context, p *control.SelectionPlan) error {
	pages, err := s.planPages(ctx, []any{p.ID})
	if err != nil {
		return err
	}
	p.Records = pages.records
	p.Requests = pages.sent
	p.Counted = true
	p.Came, err = s.cameOfPlan(ctx, p.ID)
	if err != nil {
		return err
	}
	err = s.each(ctx, func(r *sql.Rows) error {
		var text string
		var spec harvest.SliceSpec
		if err := r.Scan(&text); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(text), &spec); err != nil {
			return fmt.Errorf("slice of plan %d: %w", p.ID, err)
		}
		if spec.Hints == nil || spec.Hints.EstimatedBy != harvest.ByCount {
			p.Counted = false
			return nil
		}
		p.Announced += spec.Hints.ExpectedRecords
		return nil
	}, `SELECT slice_spec FROM ing_plan_slice WHERE plan_id=? AND parent_id IS NULL`, p.ID)
	if err != nil {
		return err
	}
	return s.each(ctx, func(r *sql.Rows) error { return r.Scan(&p.Request) }, `SELECT request FROM ing_task_run_batch
		WHERE plan_id=? AND status_code='SUCCEEDED' AND phase='SEARCH' AND request IS NOT NULL ORDER BY id LIMIT 1`, p.ID)
}

// Unread tells what a selection has seen and is no record. What is in quarantine for several
// causes, or by several versions, is one thing; what is a record after all is none.
func (s *Store) Unread(ctx context.Context, id harvest.SelectionID, limit int) (out control.SearchNotRead, err error) {
	take := func(kind string, count *int64) func(*sql.Rows) error {
		return func(r *sql.Rows) error {
			one := control.SearchUnread{Kind: kind}
			var ext, detail sql.NullString
			if err := r.Scan(&ext, &one.Code, &detail); err != nil {
				return err
			}
			one.ID = ext.String
			one.Detail = detail.String
			*count++
			if len(out.Unread) < limit {
				out.Unread = append(out.Unread, one)
			}
			return nil
		}
	}
	err = s.each(ctx, take("quarantined", &out.Quarantined), `SELECT MIN(q.ext_id), MIN(q.code), MIN(q.detail) FROM ing_selection_item i
		JOIN ing_quarantine q ON q.id=i.item_id
		WHERE i.selection_id=? AND NOT EXISTS (SELECT 1 FROM ing_record r JOIN ing_selection_record m ON m.selection_id=i.selection_id AND m.record_id=r.id
			WHERE r.provenance_code=q.provenance_code AND r.record_type=q.record_type AND r.ext_id=q.ext_id)
		GROUP BY COALESCE(q.ext_id, q.raw_sha256) ORDER BY MIN(q.id)`, id)
	if err != nil {
		return out, fmt.Errorf("quarantine of selection %d: %w", id, err)
	}
	err = s.each(ctx, take("bad_id", &out.BadIDs), `SELECT i.ext_id, 'no_details', i.reason FROM ing_selection_bad_id n JOIN ing_bad_id i ON i.id=n.bad_id
		WHERE n.selection_id=? ORDER BY i.id`, id)
	if err != nil {
		return out, fmt.Errorf("bad ids of selection %d: %w", id, err)
	}
	return out, nil
}

// cameOfPlan counts what the walks of a plan brought that count: of each task the last one,
// since another begins at the first page again, and of a slice that was cut only the part
// that was proven before, since its other parts read their pages themselves.
//
//	slice 1   walk 1  pages 1 2 |        broken off
//	          walk 2  pages 1 2 3        counted
//	slice 2   walk 1  pages 1 2 | cut    not counted, unless a beginning is DONE without a task
//	  3, 4    walk 1  pages 1 2          counted
func (s *Store) cameOfPlan(ctx context.Context, id harvest.PlanID) (harvest.Counts, error) {
	var t pageTotals
	err := s.r.QueryRowContext(ctx, `SELECT `+eachTotal("COALESCE(SUM(b.@),0)", ", ")+`
		FROM ing_task_run_batch b JOIN ing_task t ON t.id=b.task_id JOIN ing_plan_slice s ON s.id=b.slice_id
		WHERE b.plan_id=? AND b.status_code='SUCCEEDED' AND b.walk_no=t.walk_no AND (s.status_code<>'RESLICED' OR EXISTS (
			SELECT 1 FROM ing_plan_slice k WHERE k.plan_id=b.plan_id AND k.parent_id=b.slice_id AND k.status_code='DONE'
			AND NOT EXISTS (SELECT 1 FROM ing_task kt WHERE kt.slice_id=k.id)))`, id).Scan(t.fields()...)
	if err != nil {
		return t.records, fmt.Errorf("count what plan %d brought: %w", id, err)
	}
	return t.records, nil
}
