package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/papertrace/patra/internal/domain/harvest"
)

const triggeredCols = `scheduler_log_id, outcome_code, plan_id, record_remarks, triggered_at`

func scanTriggered(scan func(...any) error) (harvest.Triggered, error) {
	var t harvest.Triggered
	var log, remarks sql.NullString
	var plan sql.NullInt64
	var at ts
	err := scan(&log, &t.Outcome, &plan, &remarks, &at)
	if errors.Is(err, sql.ErrNoRows) {
		return harvest.Triggered{}, nil
	}
	t.LogID = log.String
	t.Plan = harvest.PlanID(plan.Int64)
	t.Remarks = remarks.String
	t.At = at.time()
	return t, err
}

// Triggered tells what came of a trigger of the same scheduler, job and log id;
// it is zero if there was none.
func (s *Store) Triggered(ctx context.Context, t harvest.Trigger) (harvest.Triggered, error) {
	if t.LogID == "" {
		return harvest.Triggered{}, nil
	}
	out, err := scanTriggered(s.r.QueryRowContext(ctx, `SELECT `+triggeredCols+` FROM ing_schedule_instance
		WHERE scheduler_code=? AND scheduler_job_id=? AND scheduler_log_id=?`,
		t.Scheduler, t.JobID, t.LogID).Scan)
	if err != nil {
		return out, fmt.Errorf("look for trigger %s %s: %w", t.JobID, t.LogID, err)
	}
	return out, nil
}

// LastTriggered tells what came of the newest trigger of a scheduler's job, by
// log id; it is zero if there was none.
func (s *Store) LastTriggered(ctx context.Context, scheduler, job string) (harvest.Triggered, error) {
	out, err := scanTriggered(s.r.QueryRowContext(ctx, `SELECT `+triggeredCols+` FROM ing_schedule_instance
		WHERE scheduler_code=? AND scheduler_job_id=? ORDER BY scheduler_log_id DESC LIMIT 1`,
		scheduler, job).Scan)
	if err != nil {
		return out, fmt.Errorf("look for the last trigger of %s: %w", job, err)
	}
	return out, nil
}

// LastTriggers tells the same of several jobs; those without a trigger are left out.
func (s *Store) LastTriggers(ctx context.Context, scheduler string, jobs []string) (map[string]harvest.Triggered, error) {
	const cols = `scheduler_job_id, ` + triggeredCols
	out := make(map[string]harvest.Triggered, len(jobs))
	err := s.eachOf(ctx, jobs, `SELECT `+cols+` FROM (SELECT `+cols+` FROM ing_schedule_instance
		WHERE scheduler_code=? AND scheduler_job_id=? ORDER BY scheduler_log_id DESC LIMIT 1) q`,
		func(job string) []any { return []any{scheduler, job} },
		func(r *sql.Rows) error {
			var job string
			last, err := scanTriggered(func(to ...any) error { return r.Scan(append([]any{&job}, to...)...) })
			out[job] = last
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("look for the last triggers of %s: %w", scheduler, err)
	}
	return out, nil
}

// RecordTrigger keeps the trace of a trigger that made no plan: a NOOP, or a
// failure with its reasons. One that was answered already stays as it is, and
// the error is [harvest.ErrAnswered].
func (s *Store) RecordTrigger(ctx context.Context, t harvest.Trigger, outcome harvest.TriggerOutcome, remarks string) error {
	return s.write(ctx, "record trigger", func(x *tx) error {
		_, err := x.instance(t, outcome, "", "", 0, remarks)
		return err
	})
}

// trigger finds the trigger with the same ids of an outside scheduler (R5).
func (x *tx) trigger(t harvest.Trigger) (id int64, out harvest.Triggered, err error) {
	if t.LogID == "" {
		return 0, out, nil
	}
	out, err = scanTriggered(func(dest ...any) error {
		return x.row(`SELECT id, `+triggeredCols+` FROM ing_schedule_instance
			WHERE scheduler_code=? AND scheduler_job_id=? AND scheduler_log_id=?`+x.s.d.forUpdate,
			t.Scheduler, t.JobID, t.LogID).Scan(append([]any{&id}, dest...)...)
	})
	if err != nil {
		return 0, out, fmt.Errorf("look for trigger: %w", err)
	}
	return id, out, nil
}

// instance records a trigger. One that failed before is tried again in the same
// row; one that was answered is [harvest.ErrAnswered].
func (x *tx) instance(
	t harvest.Trigger, outcome harvest.TriggerOutcome, selHash, sel string, plan harvest.PlanID, remarks string,
) (int64, error) {
	params := t.Params
	if params == "" {
		params = "{}"
	}
	id, old, err := x.trigger(t)
	switch {
	case err != nil:
		return 0, err
	case old.Answered():
		return id, harvest.ErrAnswered
	case id != 0:
		_, err := x.exec(`UPDATE ing_schedule_instance SET trigger_type_code=?, trigger_params=?, expr_proto_hash=?,
			expr_proto_snapshot=?, outcome_code=?, plan_id=?, record_remarks=?, triggered_at=?
			WHERE id=?`,
			t.Kind, params, null(selHash), null(sel), outcome, nullID(int64(plan)), null(remarks), ts(x.now), id)
		return id, err
	}
	// Where two record the same at once, the unique key lets one through; the
	// transaction of the other begins again and finds it.
	id, err = x.insert(`INSERT INTO ing_schedule_instance (scheduler_code, scheduler_job_id, scheduler_log_id, trigger_type_code,
		provenance_code,
		operation_code, trigger_params, expr_proto_hash, expr_proto_snapshot, outcome_code, plan_id, record_remarks, triggered_at,
		created_at)
		VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
		null(t.Scheduler), null(t.JobID), null(t.LogID), t.Kind, t.Provenance, t.Operation, params, null(selHash), null(sel),
		outcome, nullID(int64(plan)), null(remarks), ts(x.now), ts(x.now))
	return id, x.orLostRace(err)
}
