package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// Summary reads what the plans have come to together.
func (s *Store) Summary(ctx context.Context, ids ...harvest.PlanID) (control.PlanSummary, error) {
	var p control.PlanSummary
	if len(ids) == 0 {
		return p, nil
	}
	in, args := list(len(ids)), make([]any, len(ids))
	for i, id := range ids {
		args[i] = id
	}
	last := ids[len(ids)-1]
	var op harvest.Operation
	var from, to, w ts
	err := s.r.QueryRowContext(ctx, `SELECT p.plan_key, p.status_code, p.operation_code, p.window_from, p.window_to,
		c.normalized_instant, c.cursor_value=c.init_value
		FROM ing_plan p JOIN ing_cursor c ON c.id=p.cursor_id WHERE p.id=?`, last).
		Scan(&p.Key, &p.Status, &op, &from, &to, &w, &p.Unproven)
	if err != nil {
		return p, fmt.Errorf("read plan %d: %w", last, err)
	}
	p.ID = last
	p.Span = spanOf(op, from, to)
	p.Watermark = w.mark(op)
	counted, err := s.countSlices(ctx, in, args)
	if err != nil {
		return p, err
	}
	p.Slices = counted.Slices
	pages, err := s.planPages(ctx, args)
	if err != nil {
		return p, err
	}
	p.Records = pages.records
	p.Sent = pages.sent
	p.Retried = pages.retried
	p.HTTP429 = pages.http429
	p.HTTP5xx = pages.http5xx
	p.Bytes = pages.bytes
	if err := s.r.QueryRowContext(ctx, `SELECT COUNT(*) FROM ing_bad_id i JOIN ing_task_run_batch b ON b.id=i.batch_id
		WHERE b.plan_id IN (`+in+`)`, args...).Scan(&p.BadIDs); err != nil {
		return p, fmt.Errorf("count bad ids: %w", err)
	}
	p.Gaps, err = s.gaps(ctx, `s.plan_id IN (`+in+`)`, args...)
	return p, err
}

// gaps lists the gaps under a condition, the oldest first.
func (s *Store) gaps(ctx context.Context, where string, args ...any) ([]control.Gap, error) {
	out := []control.Gap{}
	err := s.each(ctx, func(r *sql.Rows) error {
		var g control.Gap
		_, err := scanGap(r, &g)
		out = append(out, g)
		return err
	}, `SELECT `+gapCols+` FROM ing_plan_slice s`+gapJoins+`
		WHERE `+isOneOf("s.status_code", harvest.SlicesGap)+` AND s.gap_accepted=0`+notCoveredByOthers+` AND `+where+`
		ORDER BY s.window_from, s.id`, args...)
	if err != nil {
		return nil, fmt.Errorf("list gaps: %w", err)
	}
	return out, nil
}

// Work tells what is left to do that this build can do: tasks of a newer
// snapshot form are left for a newer executor (R47).
func (s *Store) Work(ctx context.Context, provenance string, op harvest.Operation) (control.Work, error) {
	now, err := s.Now(ctx)
	if err != nil {
		return control.Work{}, err
	}
	var w control.Work
	var next ts
	err = s.r.QueryRowContext(ctx, `SELECT
		COALESCE(SUM(CASE WHEN status_code='QUEUED' AND scheduled_at <= ? THEN 1 ELSE 0 END),0),
		COALESCE(SUM(CASE WHEN `+isOneOf("status_code", harvest.TasksInHand)+` THEN 1 ELSE 0 END),0),
		COALESCE(SUM(CASE WHEN status_code='QUEUED' AND scheduled_at > ? THEN 1 ELSE 0 END),0),
		MIN(CASE WHEN status_code='QUEUED' THEN scheduled_at WHEN `+isOneOf("status_code", harvest.TasksInHand)+` THEN leased_until END)
		FROM ing_task WHERE provenance_code=? AND operation_code=? AND spec_version <= ? AND `+isOneOf("status_code", harvest.TasksOpen),
		ts(now), ts(now), provenance, op, source.SpecVersion).Scan(&w.Ready, &w.Leased, &w.Later, &next)
	if err != nil {
		return w, fmt.Errorf("count work: %w", err)
	}
	w.NextAt = next.time()
	if err := s.barred(ctx, provenance, op, now, &w); err != nil {
		return w, err
	}
	if w.Later > 0 && w.NextCode == "" && w.Ready == 0 && w.Leased == 0 {
		var code sql.NullString
		if err := s.r.QueryRowContext(ctx, `SELECT error_code FROM ing_task
			WHERE provenance_code=? AND operation_code=? AND spec_version <= ? AND status_code='QUEUED'
			ORDER BY scheduled_at LIMIT 1`, provenance, op, source.SpecVersion).Scan(&code); err != nil {
			return w, fmt.Errorf("read why work waits: %w", err)
		}
		w.NextCode = harvest.Code(code.String)
	}
	return w, nil
}

// barred counts what is ready as waiting where the breaker of its partition is
// open: nothing of it is taken before the rest is over.
func (s *Store) barred(ctx context.Context, provenance string, op harvest.Operation, now time.Time, w *control.Work) error {
	if w.Ready == 0 {
		return nil
	}
	err := s.each(ctx, func(r *sql.Rows) error {
		var b harvest.Breaker
		var until ts
		var n int64
		if err := r.Scan(&b.Spent, &b.After, &until, &n); err != nil {
			return err
		}
		b.Until = until.time()
		if !b.Bars(now) {
			return nil
		}
		if w.NextCode == "" || b.Until.Before(w.NextAt) {
			w.NextAt, w.NextCode = b.Until, harvest.CodeBroken
		}
		w.Ready, w.Later = w.Ready-n, w.Later+n
		return nil
	}, `SELECT b.failures, b.break_after, b.rests_until, COUNT(*) FROM ing_task t
		JOIN ing_breaker b ON b.provenance_code=t.provenance_code AND b.endpoint_name=t.endpoint_name AND b.operation_code=t.operation_code
		WHERE t.provenance_code=? AND t.operation_code=? AND t.spec_version <= ? AND t.status_code='QUEUED' AND t.scheduled_at <= ?
		GROUP BY b.endpoint_name, b.failures, b.break_after, b.rests_until`,
		provenance, op, source.SpecVersion, ts(now))
	if err != nil {
		return fmt.Errorf("count what rests: %w", err)
	}
	return nil
}

// Left is how many records the open slices of a source and operation are
// expected to bring still: those expected, less what was read of them.
func (s *Store) Left(ctx context.Context, provenance string, op harvest.Operation) (int64, error) {
	var sum sql.NullFloat64
	err := s.r.QueryRowContext(ctx, `SELECT SUM(CASE WHEN o.expected > o.got THEN o.expected - o.got ELSE 0 END) FROM (
		SELECT COALESCE(JSON_EXTRACT(p.slice_spec, '$.hints.expectedRecords'), 0) AS expected,
			(SELECT COALESCE(SUM(b.items), 0) FROM ing_task_run_batch b
			WHERE b.task_id=t.id AND b.status_code='SUCCEEDED' AND b.walk_no=t.walk_no) AS got
		FROM ing_task t JOIN ing_plan_slice p ON p.id=t.slice_id
		WHERE `+isOneOf("t.status_code", harvest.TasksOpen)+` AND t.provenance_code=? AND t.operation_code=?) o`, provenance, op).Scan(&sum)
	if err != nil {
		return 0, fmt.Errorf("sum what is left: %w", err)
	}
	return int64(sum.Float64), nil
}
