package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/schedule"
	"github.com/papertrace/patra/internal/domain/source"
)

// Standing lists the standing selections that were set and not removed. One that
// cannot be read, as in a process that lacks its time zone, is listed as one that
// begins nothing and named in the error.
func (s *Store) Standing(ctx context.Context) ([]schedule.Standing, error) {
	var out []schedule.Standing
	var bad []error
	err := s.each(ctx, func(r *sql.Rows) error {
		var one standingRow
		err := r.Scan(&one.Name, &one.Source, &one.Operation, &one.Query, &one.cron, &one.zone, &one.Priority, &one.params,
			&one.Enabled, &one.since)
		if err != nil {
			return err
		}
		if err := one.parse(); err != nil {
			bad = append(bad, fmt.Errorf("schedule %s: %w", one.Name, err))
			one.Zone = time.UTC
			one.Enabled = false
		}
		out = append(out, one.Standing)
		return nil
	}, `SELECT schedule_name, provenance_code, operation_code, query_text, cron_line, zone_name, priority, params, enabled, since
		FROM ing_schedule WHERE removed_at IS NULL ORDER BY schedule_name`)
	if err != nil {
		return nil, fmt.Errorf("read schedules: %w", err)
	}
	return out, errors.Join(bad...)
}

// standingRow is a standing selection as it is stored.
type standingRow struct {
	schedule.Standing
	cron, zone, params string
	since              ts
}

// parse reads what is stored as text.
func (r *standingRow) parse() (err error) {
	r.Since = r.since.time()
	r.Cron, err = schedule.ParseCron(r.cron)
	if err != nil {
		return err
	}
	r.Zone, err = time.LoadLocation(r.zone)
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(r.params), &r.Wants)
}

// SetSchedule writes a standing selection, with the line of the audit. From then on
// its times count. A row of the same name is replaced, one that was removed is there
// again.
func (s *Store) SetSchedule(ctx context.Context, st schedule.Standing, a source.Audit) error {
	params, err := jsonText(st.Wants)
	if err != nil {
		return err
	}
	return s.write(ctx, "set schedule", func(x *tx) error {
		cols := []col{
			{"provenance_code", st.Source},
			{"operation_code", st.Operation},
			{"query_text", st.Query},
			{"cron_line", st.Cron.String()},
			{"zone_name", st.Zone.String()},
			{"priority", st.Priority},
			{"params", params},
			{"enabled", st.Enabled},
			{"since", ts(x.now)},
			{"removed_at", nil},
			{"updated_at", ts(x.now)},
		}
		var id int64
		err := x.row(`SELECT id FROM ing_schedule WHERE schedule_name=?`+x.s.d.forUpdate, st.Name).Scan(&id)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			_, err = x.insertInto("ing_schedule", append(cols, col{"schedule_name", st.Name}, col{"created_at", ts(x.now)}))
		case err == nil:
			set, values := assign(cols, id)
			_, err = x.exec(`UPDATE ing_schedule SET `+set+` WHERE id=?`, values...)
		}
		if err != nil {
			return fmt.Errorf("write schedule %s: %w", st.Name, err)
		}
		after := map[string]any{
			"source": st.Source, "operation": st.Operation, "query": st.Query, "cron": st.Cron.String(), "zone": st.Zone.String(),
			"priority": st.Priority, "wants": st.Wants, "enabled": st.Enabled,
		}
		return x.audit(a, after)
	})
}

// RemoveSchedule ends a standing selection, with the line of the audit;
// [harvest.ErrNotFound] if there is none of that name. Its triggers and its cursor
// stay.
func (s *Store) RemoveSchedule(ctx context.Context, name string, a source.Audit) error {
	return s.write(ctx, "remove schedule", func(x *tx) error { return x.removeSchedule(name, a) })
}

func (x *tx) removeSchedule(name string, a source.Audit) error {
	n, err := x.exec(`UPDATE ing_schedule SET removed_at=?, updated_at=?
		WHERE schedule_name=? AND removed_at IS NULL`, ts(x.now), ts(x.now), name)
	if err != nil {
		return err
	}
	if n == 0 {
		return fmt.Errorf("schedule %s: %w", name, harvest.ErrNotFound)
	}
	return x.audit(a, map[string]bool{"removed": true})
}

// LastPlanned tells what came of the newest trigger of a scheduler's job that has a
// plan; it is zero if none has.
func (s *Store) LastPlanned(ctx context.Context, scheduler, job string) (harvest.Triggered, error) {
	out, err := scanTriggered(s.r.QueryRowContext(ctx, `SELECT `+triggeredCols+` FROM ing_schedule_instance
		WHERE scheduler_code=? AND scheduler_job_id=? AND plan_id IS NOT NULL ORDER BY scheduler_log_id DESC LIMIT 1`, scheduler, job).Scan)
	if err != nil {
		return out, fmt.Errorf("look for the last plan of %s: %w", job, err)
	}
	return out, nil
}

// Unfinished reports whether a plan is not cut to its end, or has tasks that are to
// be worked on without anybody's doing. Those that failed count as long as nothing of
// the plan is stored: then it is not a task that is spoilt, but the source is out.
func (s *Store) Unfinished(ctx context.Context, id harvest.PlanID) (is bool, err error) {
	err = s.r.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM ing_plan WHERE id=? AND status_code='PARTIAL')
		OR EXISTS (SELECT 1 FROM ing_task WHERE plan_id=? AND `+isOneOf("status_code", harvest.TasksOpen)+`)
		OR (EXISTS (SELECT 1 FROM ing_task WHERE plan_id=? AND status_code='FAILED')
			AND NOT EXISTS (SELECT 1 FROM ing_task_run_batch WHERE plan_id=? AND status_code='SUCCEEDED'))`, id, id, id, id).Scan(&is)
	if err != nil {
		return false, fmt.Errorf("look at plan %d: %w", id, err)
	}
	return is, nil
}

// NotBegun finds the newest plan of a namespace if there is work to do on it and
// nothing of it is stored yet.
func (s *Store) NotBegun(ctx context.Context, ns harvest.Namespace) (id harvest.PlanID, is bool, err error) {
	err = s.r.QueryRowContext(ctx, `SELECT p.id FROM ing_plan p JOIN ing_cursor c ON c.id = p.cursor_id
		WHERE c.provenance_code=? AND c.operation_code=? AND c.cursor_key=? AND c.namespace_scope_code=? AND c.namespace_key=?
		AND `+isNoneOf("p.status_code", harvest.PlansVoid)+` ORDER BY p.window_to DESC, p.id DESC LIMIT 1`,
		ns.Provenance, ns.Operation, ns.CursorKey, ns.Scope, ns.Key).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	if err == nil {
		err = s.r.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM ing_task
			WHERE plan_id=? AND `+isOneOf("status_code", harvest.TasksOpen)+`)
			AND NOT EXISTS (SELECT 1 FROM ing_task_run_batch WHERE plan_id=? AND status_code='SUCCEEDED')`, id, id).Scan(&is)
	}
	if err != nil {
		return 0, false, fmt.Errorf("look for a plan that was not begun: %w", err)
	}
	return id, is, nil
}
