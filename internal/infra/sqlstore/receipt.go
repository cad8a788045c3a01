package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// ReceiveTrigger writes a trigger down before anything is done for it, and gives its
// planner a claim on the row (R73). It is [harvest.ErrAnswered] if the same trigger has
// its answer, and a [harvest.ClaimedError] while another planner is at it. One that
// failed or was refused is tried again in the same row. So is one that nobody answered:
// of a scheduler the same call, of a person the same wish.
func (s *Store) ReceiveTrigger(ctx context.Context, t harvest.Trigger, ttl time.Duration) (r harvest.Receipt, err error) {
	err = s.write(ctx, "receive trigger", func(x *tx) error {
		row, err := x.trigger(t)
		if err == nil && t.LogID == "" {
			row, err = x.leftWish(t)
		}
		if err != nil {
			return err
		}
		r, err = x.receive(t, row, ttl)
		return err
	})
	return r, err
}

// receive writes a trigger down, in the row that it has if it has one.
func (x *tx) receive(t harvest.Trigger, row triggerRow, ttl time.Duration) (harvest.Receipt, error) {
	switch {
	case row.triggered.Answered():
		return harvest.Receipt{}, harvest.ErrAnswered
	case row.triggered.Outcome == harvest.TriggerReceived && row.claimedUntil.time().After(x.now):
		return harvest.Receipt{}, &harvest.ClaimedError{Until: row.claimedUntil.time()}
	}
	wish, err := t.Wish()
	if err != nil {
		return harvest.Receipt{}, err
	}
	params := t.Params
	if params == "" {
		params = "{}"
	}
	if row.id != 0 {
		return x.receiveAgain(t, row, params, wish, ttl)
	}
	// Where two receive the same at once, the unique key lets one through; the
	// transaction of the other begins again and finds it.
	id, err := x.insertInto("ing_schedule_instance", []col{
		{"scheduler_code", null(t.Scheduler)},
		{"scheduler_job_id", null(t.JobID)},
		{"scheduler_log_id", null(t.LogID)},
		{"trigger_type_code", t.Kind},
		{"provenance_code", t.Provenance},
		{"endpoint_name", null(t.Endpoint)},
		{"operation_code", t.Operation},
		{"trigger_params", params},
		{"wish", wish},
		{"wish_hash", t.WishHash()},
		{"outcome_code", harvest.TriggerReceived},
		{"fence", 1},
		{"claims", 1},
		{"claimed_until", ts(x.now.Add(ttl))},
		{"triggered_at", ts(x.now)},
		{"created_at", ts(x.now)},
	})
	return harvest.Receipt{Instance: harvest.InstanceID(id), Fence: 1}, x.orLostRace(err)
}

// receiveAgain takes a row that came to nothing, or that nobody is at, for another try.
func (x *tx) receiveAgain(t harvest.Trigger, row triggerRow, params, wish string, ttl time.Duration) (harvest.Receipt, error) {
	r := harvest.Receipt{Instance: row.id, Fence: row.fence + 1}
	n, err := x.exec(`UPDATE ing_schedule_instance SET trigger_type_code=?, endpoint_name=?, trigger_params=?, wish=?, wish_hash=?, outcome_code=?,
		record_remarks=NULL, fence=?, claims=1, claimed_until=?, triggered_at=?, answered_at=NULL WHERE id=? AND fence=?`,
		t.Kind, null(t.Endpoint), params, wish, t.WishHash(), harvest.TriggerReceived,
		r.Fence, ts(x.now.Add(ttl)), ts(x.now), row.id, row.fence)
	if err == nil && n == 0 {
		err = errLostRace // another has taken it since it was read
	}
	if err != nil {
		return harvest.Receipt{}, fmt.Errorf("receive trigger %d again: %w", row.id, err)
	}
	return r, nil
}

// leftWish finds a trigger of no scheduler that asks for the same and that nobody is at.
// It is not locked, since that would hold up whoever receives a trigger: its fence tells
// whether another was faster.
func (x *tx) leftWish(t harvest.Trigger) (row triggerRow, err error) {
	err = x.row(`SELECT id, fence FROM ing_schedule_instance WHERE outcome_code='RECEIVED' AND claimed_until<=?
		AND wish_hash=? AND scheduler_log_id IS NULL ORDER BY id LIMIT 1`, ts(x.now), t.WishHash()).Scan(&row.id, &row.fence)
	if errors.Is(err, sql.ErrNoRows) {
		return triggerRow{}, nil
	}
	if err != nil {
		return row, fmt.Errorf("look for a trigger that was left: %w", err)
	}
	return row, nil
}

// LeftTriggers lists the triggers that were received and not answered, and that nobody
// is at, oldest first and so many at most.
func (s *Store) LeftTriggers(ctx context.Context, most int) ([]harvest.LeftTrigger, error) {
	now, err := s.Now(ctx)
	if err != nil {
		return nil, err
	}
	var out []harvest.LeftTrigger
	err = s.each(ctx, func(r *sql.Rows) error {
		var left harvest.LeftTrigger
		t := &left.Trigger
		var scheduler, job, log, endpoint sql.NullString
		var wish string
		err := r.Scan(&t.Receipt.Instance, &t.Receipt.Fence, &left.Claims, &scheduler, &job, &log, &t.Kind, &t.Provenance, &endpoint,
			&t.Operation, &t.Params, &wish)
		if err != nil {
			return err
		}
		t.Scheduler = scheduler.String
		t.JobID = job.String
		t.LogID = log.String
		err = t.TakeWish(wish)
		t.Endpoint = endpoint.String
		out = append(out, left)
		return err
	}, `SELECT id, fence, claims, scheduler_code, scheduler_job_id, scheduler_log_id, trigger_type_code, provenance_code, endpoint_name,
		operation_code, trigger_params, wish
		FROM ing_schedule_instance WHERE outcome_code='RECEIVED' AND claimed_until<=? ORDER BY claimed_until, id LIMIT ?`, ts(now), most)
	if err != nil {
		return nil, fmt.Errorf("list triggers that were left: %w", err)
	}
	return out, nil
}

// ClaimTrigger takes a trigger over that was left. It is [harvest.ErrLeaseLost] if
// another was faster.
func (s *Store) ClaimTrigger(ctx context.Context, r harvest.Receipt, ttl time.Duration) (harvest.Receipt, error) {
	next := harvest.Receipt{Instance: r.Instance, Fence: r.Fence + 1}
	err := s.write(ctx, "claim trigger", func(x *tx) error {
		return x.changeClaim(`fence=fence+1, claims=claims+1, claimed_until=?`, ` AND claimed_until<=?`, r, ts(x.now.Add(ttl)), ts(x.now))
	})
	return next, err
}

// RenewTrigger keeps the claim of a planner that is at a trigger.
func (s *Store) RenewTrigger(ctx context.Context, r harvest.Receipt, ttl time.Duration) error {
	return s.write(ctx, "renew claim on a trigger", func(x *tx) error {
		return x.changeClaim(`claimed_until=?`, ``, r, ts(x.now.Add(ttl)))
	})
}

// LeaveTrigger gives a claim back without an answer, for the next planner to take the
// trigger over at once. It was not the trigger that ended this one.
func (s *Store) LeaveTrigger(ctx context.Context, r harvest.Receipt) error {
	return s.write(ctx, "leave trigger", func(x *tx) error {
		return x.changeClaim(`claims=claims-1, claimed_until=?`, ``, r, ts(x.now))
	})
}

// changeClaim changes the claim on a trigger under its fence.
func (x *tx) changeClaim(set, and string, r harvest.Receipt, to ts, conditions ...any) error {
	args := append([]any{to, r.Instance, r.Fence}, conditions...)
	n, err := x.exec(`UPDATE ing_schedule_instance SET `+set+` WHERE id=? AND fence=? AND outcome_code='RECEIVED'`+and, args...)
	if err != nil {
		return err
	}
	if n == 0 {
		return fmt.Errorf("claim on trigger %d: %w", r.Instance, harvest.ErrLeaseLost)
	}
	return nil
}
