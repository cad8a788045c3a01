package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// triggeredCols are what [scanTriggered] takes, and triggeredNames the names these have
// around the query that selects them.
const (
	triggeredCols  = `scheduler_log_id, outcome_code, plan_id, record_remarks, COALESCE(answered_at, triggered_at) AS told_at`
	triggeredNames = `scheduler_log_id, outcome_code, plan_id, record_remarks, told_at`
)

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

// Triggered tells what came of a trigger: of the one that was written down, else of one
// of the same scheduler, job and log id. It is zero if there was none.
func (s *Store) Triggered(ctx context.Context, t harvest.Trigger) (harvest.Triggered, error) {
	where, args := sameTrigger(t)
	if where == "" {
		return harvest.Triggered{}, nil
	}
	out, err := scanTriggered(s.r.QueryRowContext(ctx, `SELECT `+triggeredCols+` FROM ing_schedule_instance
		WHERE `+where, args...).Scan)
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
	out := make(map[string]harvest.Triggered, len(jobs))
	err := s.eachOf(ctx, jobs, `SELECT scheduler_job_id, `+triggeredNames+` FROM (SELECT scheduler_job_id, `+triggeredCols+` FROM ing_schedule_instance
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

// RecordTrigger answers a trigger that made no plan: with a NOOP, or with the reasons
// why nothing came of it. One that was answered already stays as it is, and the error is
// [harvest.ErrAnswered]; one that another planner has taken over likewise and
// [harvest.ErrLeaseLost].
func (s *Store) RecordTrigger(ctx context.Context, t harvest.Trigger, outcome harvest.TriggerOutcome, remarks string) error {
	return s.write(ctx, "record trigger", func(x *tx) error {
		_, err := x.answer(t, outcome, answerOf{remarks: remarks})
		return err
	})
}

// sameTrigger is the condition of the row that a trigger has: the one it was written
// down in, else that of its scheduler, job and log id (R5). It is empty for a trigger
// that has neither.
func sameTrigger(t harvest.Trigger) (where string, args []any) {
	switch {
	case !t.Receipt.IsZero():
		return `id=?`, []any{t.Receipt.Instance}
	case t.LogID != "":
		return `scheduler_code=? AND scheduler_job_id=? AND scheduler_log_id=?`, []any{t.Scheduler, t.JobID, t.LogID}
	}
	return "", nil
}

// triggerRow is the row of a trigger.
type triggerRow struct {
	id           harvest.InstanceID // 0 if there is none
	fence        int64
	claimedUntil ts
	triggered    harvest.Triggered
}

// trigger finds the row that a trigger has, and locks it.
func (x *tx) trigger(t harvest.Trigger) (row triggerRow, err error) {
	where, args := sameTrigger(t)
	if where == "" {
		return row, nil
	}
	row.triggered, err = scanTriggered(func(dest ...any) error {
		return x.row(`SELECT id, fence, claimed_until, `+triggeredCols+` FROM ing_schedule_instance
			WHERE `+where+x.s.d.forUpdate, args...).Scan(append([]any{&row.id, &row.fence, &row.claimedUntil}, dest...)...)
	})
	if err != nil {
		return row, fmt.Errorf("look for trigger: %w", err)
	}
	return row, nil
}

// answerOf is what a row keeps of the answer besides its outcome.
type answerOf struct {
	selHash, selection string
	plan               harvest.PlanID
	remarks            string
}

// answer answers a trigger, under the claim that was made on it when it was received.
// One that was not received yet is so in the same transaction.
func (x *tx) answer(t harvest.Trigger, outcome harvest.TriggerOutcome, a answerOf) (harvest.InstanceID, error) {
	if t.Receipt.IsZero() {
		row, err := x.trigger(t)
		if err != nil {
			return 0, err
		}
		t.Receipt, err = x.receive(t, row, 0)
		if err != nil {
			return 0, err
		}
	}
	n, err := x.exec(`UPDATE ing_schedule_instance SET outcome_code=?, expr_proto_hash=?, expr_proto_snapshot=?, plan_id=?,
		record_remarks=?, answered_at=?, wish=NULL, wish_hash=NULL, claimed_until=NULL
		WHERE id=? AND fence=? AND outcome_code='RECEIVED'`,
		outcome, null(a.selHash), null(a.selection), nullID(int64(a.plan)), null(a.remarks), ts(x.now), t.Receipt.Instance, t.Receipt.Fence)
	if err != nil {
		return 0, fmt.Errorf("answer trigger: %w", err)
	}
	if n == 1 {
		return t.Receipt.Instance, nil
	}
	row, err := x.trigger(t)
	if err != nil {
		return 0, err
	}
	if row.triggered.Answered() {
		return 0, harvest.ErrAnswered
	}
	return 0, fmt.Errorf("answer trigger %d: %w", t.Receipt.Instance, harvest.ErrLeaseLost)
}
