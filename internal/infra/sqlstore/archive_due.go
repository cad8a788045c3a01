package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/papertrace/patra/internal/app/retention"
)

// isSealed is the condition that a plan of the given id is archived, and removed or
// about to be.
func isSealed(plan string) string {
	return `EXISTS (SELECT 1 FROM ing_archived z WHERE z.kind_code='plan' AND z.object_id=` + plan + `)`
}

// duePlans are the plans p, each with its cursor c and its trigger i, that may be archived
// if they ended before an instant, which is bound first.
//
// Such a plan is done: every slice of it is, or was cut into some that are, and its cursor
// has passed it. A gap that was accepted stays, and the plan with it. It is not named by a
// move that was not archived, nor by its cursor, nor by the newest trigger of its job, for
// the scheduler goes on from that. No plan is the newest of a cursor that goes on: what is
// shown of a cursor is read from that one.
//
// The greatest ids stay: SQLite gives an id again when the row that had it was the last
// one, and then two things would have one name.
const duePlans = duePlansOnceFolded + `
	AND NOT EXISTS (SELECT 1 FROM ing_cursor_event e WHERE e.cursor_id=p.cursor_id AND e.plan_id=p.id)`

// duePlansOnceFolded are those and such that only moves still name, which are archived first.
const duePlansOnceFolded = ` FROM ing_plan p JOIN ing_cursor c ON c.id=p.cursor_id JOIN ing_schedule_instance i ON i.id=p.schedule_instance_id
	WHERE p.status_code='COMPLETED' AND p.updated_at<?
	AND (c.direction_code='FORWARD' AND p.window_to<=c.normalized_instant OR c.direction_code='BACKFILL' AND p.window_from>=c.normalized_instant)
	AND NOT EXISTS (SELECT 1 FROM ing_plan_slice s WHERE s.plan_id=p.id AND s.status_code NOT IN ('DONE','RESLICED'))
	AND (i.scheduler_code IS NULL OR EXISTS (SELECT 1 FROM ing_schedule_instance j WHERE j.scheduler_code=i.scheduler_code
		AND j.scheduler_job_id=i.scheduler_job_id AND j.scheduler_log_id>i.scheduler_log_id AND j.plan_id IS NOT NULL))
	AND i.id<(SELECT MAX(m.id) FROM ing_schedule_instance m) AND p.id<(SELECT MAX(m.id) FROM ing_plan m)
	AND p.id<>COALESCE((SELECT m.plan_id FROM ing_plan_slice m ORDER BY m.id DESC LIMIT 1),0)
	AND p.id<>COALESCE((SELECT m.plan_id FROM ing_task m ORDER BY m.id DESC LIMIT 1),0)
	AND p.id<>COALESCE((SELECT t.plan_id FROM ing_task_run m JOIN ing_task t ON t.id=m.task_id ORDER BY m.id DESC LIMIT 1),0)
	AND p.id<>COALESCE((SELECT m.plan_id FROM ing_task_run_batch m ORDER BY m.id DESC LIMIT 1),0)
	AND (` + isFollowed + ` OR ` + closesCursor + `)`

// isFollowed: another plan of the cursor came after it, and moved it.
const isFollowed = `p.id<(SELECT MAX(n.id) FROM ing_plan n WHERE n.cursor_id=p.cursor_id) AND COALESCE(c.plan_id,0)<>p.id`

// closesCursor: the plan is the last of an activity that is over with it, a refresh or a
// sentinel. Its cursor says nothing that anybody goes on from, and is archived too. That
// of a backfill stays: it tells what of the past is proven.
const closesCursor = `(p.operation_code='UPDATE' OR p.watches_cursor_id IS NOT NULL)
	AND NOT EXISTS (SELECT 1 FROM ing_plan n WHERE n.cursor_id=p.cursor_id AND n.id<>p.id)
	AND c.id<(SELECT MAX(m.id) FROM ing_cursor m)
	AND c.id<>COALESCE((SELECT m.cursor_id FROM ing_cursor_event m ORDER BY m.id DESC LIMIT 1),0)`

// Due lists what is old enough to be archived, so many units at most, in the order in
// which it can be: no plan before the moves that name it.
func (s *Store) Due(ctx context.Context, h retention.Hold, c retention.Cut, most int) ([]retention.Unit, error) {
	units, whole, err := s.dueMoves(ctx, c, most)
	if err != nil {
		return nil, fmt.Errorf("list moves to be archived: %w", err)
	}
	add := func(list func(most int) ([]retention.Unit, error)) {
		if err != nil || len(units) >= most {
			return
		}
		var more []retention.Unit
		more, err = list(most - len(units))
		units = append(units, more...)
	}
	add(func(most int) ([]retention.Unit, error) { return s.duePlans(ctx, c, whole, most) })
	add(func(most int) ([]retention.Unit, error) { return s.dueTriggers(ctx, c, most) })
	add(func(most int) ([]retention.Unit, error) { return s.dueVersions(ctx, h, c, most) })
	if err != nil {
		return nil, fmt.Errorf("list what is to be archived: %w", err)
	}
	return units, nil
}

// movesPerUnit and rowsPerUnit bound what is removed in one transaction.
const (
	movesPerUnit = 500
	rowsPerUnit  = 200
)

// dueMoves lists cursors with moves that are old enough, and tells whether these are all
// there are. A cursor that only began has made none.
func (s *Store) dueMoves(ctx context.Context, c retention.Cut, most int) (units []retention.Unit, whole bool, err error) {
	if c.Trail.IsZero() {
		return nil, true, nil
	}
	err = s.each(ctx, func(r *sql.Rows) error {
		u := retention.Unit{Kind: retention.Moves}
		err := r.Scan(&u.ID)
		units = append(units, u)
		return err
	}, `SELECT DISTINCT cursor_id FROM ing_cursor_event WHERE kind_code='ADVANCE' AND event_time<? ORDER BY cursor_id LIMIT ?`, ts(c.Trail), most)
	if err != nil {
		return nil, false, err
	}
	whole = len(units) < most
	for i := range units {
		u := &units[i]
		var last sql.NullInt64
		var n int64
		err := s.r.QueryRowContext(ctx, `SELECT MAX(x.id), COUNT(*) FROM (SELECT id FROM ing_cursor_event WHERE cursor_id=? AND event_time<?
			ORDER BY id LIMIT ?) x`, u.ID, ts(c.Trail), movesPerUnit).Scan(&last, &n)
		if err != nil {
			return nil, false, err
		}
		u.To = last.Int64
		whole = whole && n < movesPerUnit
	}
	return units, whole, nil
}

// duePlans lists plans. Those that old moves name are among them if all of these go first.
func (s *Store) duePlans(ctx context.Context, c retention.Cut, folded bool, most int) (units []retention.Unit, err error) {
	if c.Trail.IsZero() {
		return nil, nil
	}
	from := duePlans
	args := []any{ts(c.Trail)}
	if folded {
		from = duePlansOnceFolded + `
			AND NOT EXISTS (SELECT 1 FROM ing_cursor_event e WHERE e.cursor_id=p.cursor_id AND e.plan_id=p.id AND e.event_time>=?)`
		args = append(args, ts(c.Trail))
	}
	err = s.each(ctx, func(r *sql.Rows) error {
		u := retention.Unit{Kind: retention.Plan}
		err := r.Scan(&u.ID, &u.Closes)
		units = append(units, u)
		return err
	}, `SELECT p.id, CASE WHEN `+closesCursor+` THEN 1 ELSE 0 END`+from+` AND NOT `+isSealed("p.id")+` ORDER BY p.id LIMIT ?`,
		append(args, most)...)
	return units, err
}

// dueTriggers is the condition that a trigger i was answered, made no plan, or one that is
// archived, and is not the newest of its job, nor the newest that has a plan.
const dueTriggers = `i.id<(SELECT MAX(m.id) FROM ing_schedule_instance m) AND i.outcome_code<>'RECEIVED'
	AND (i.plan_id IS NULL OR NOT EXISTS (SELECT 1 FROM ing_plan p WHERE p.id=i.plan_id))
	AND (i.scheduler_code IS NULL OR EXISTS (SELECT 1 FROM ing_schedule_instance j WHERE j.scheduler_code=i.scheduler_code
		AND j.scheduler_job_id=i.scheduler_job_id AND j.scheduler_log_id>i.scheduler_log_id AND (i.plan_id IS NULL OR j.plan_id IS NOT NULL)))`

func (s *Store) dueTriggers(ctx context.Context, c retention.Cut, most int) (units []retention.Unit, err error) {
	if c.Trail.IsZero() {
		return nil, nil
	}
	var ids []int64
	err = s.each(ctx, func(r *sql.Rows) error {
		var id int64
		err := r.Scan(&id)
		ids = append(ids, id)
		return err
	}, `SELECT i.id FROM ing_schedule_instance i WHERE i.triggered_at<? AND `+dueTriggers+` ORDER BY i.id LIMIT ?`, ts(c.Trail), most*rowsPerUnit)
	for part := range chunks(ids, rowsPerUnit) {
		units = append(units, retention.Unit{Kind: retention.Triggers, IDs: part})
	}
	return units, err
}

// versionsLooked is the row of ing_meta with the version up to which all were looked at
// that replace another: the table is walked once and not every time.
const versionsLooked = "archive_versions"

// versionsPerLook is how many ids one statement looks at.
const versionsPerLook = 20_000

// dueVersions lists versions of records that another replaced before an instant, in the
// order in which they were replaced, so that of every record the oldest go first. It ends
// at a version that the feed or a target is still to be told of.
func (s *Store) dueVersions(ctx context.Context, h retention.Hold, c retention.Cut, most int) (units []retention.Unit, err error) {
	if c.Versions.IsZero() {
		return nil, nil
	}
	var after, last int64
	err = s.r.QueryRowContext(ctx, `SELECT COALESCE((SELECT value FROM ing_meta WHERE name=?), '0'), COALESCE((SELECT MAX(id) FROM ing_record_version), 0)`,
		versionsLooked).Scan(&after, &last)
	if err != nil {
		return nil, err
	}
	told, err := s.toldUpTo(ctx)
	if err != nil {
		return nil, err
	}
	began := after
	unit := retention.Unit{Kind: retention.Versions}
	young := false
	for after < last && !young && len(units) < most {
		to := min(after+versionsPerLook, last)
		err := s.each(ctx, func(r *sql.Rows) error {
			var by, id int64
			var given bool
			var at ts
			if err := r.Scan(&by, &id, &given, &at); err != nil {
				return err
			}
			if !given || !at.time().Before(c.Versions) {
				young = true
				return errEnough
			}
			after = by
			unit.To = by
			unit.IDs = append(unit.IDs, id)
			if len(unit.IDs) == rowsPerUnit {
				units = append(units, unit)
				unit = retention.Unit{Kind: retention.Versions}
				if len(units) == most {
					return errEnough
				}
			}
			return nil
		}, `SELECT n.id, v.id, CASE WHEN (o.id IS NULL OR COALESCE(o.feed_no, ?) <= ?)
				AND NOT EXISTS (SELECT 1 FROM ing_outbox_held h WHERE h.record_id=v.record_id AND h.revision=v.revision) THEN 1 ELSE 0 END, n.created_at FROM ing_record_version n JOIN ing_record_version v ON v.record_id=n.record_id AND v.revision=n.revision-1
			LEFT JOIN ing_outbox o ON o.record_id=v.record_id AND o.revision=v.revision
			WHERE n.id>? AND n.id<=? AND n.revision>1 ORDER BY n.id`, told.unnumbered, told.upTo, after, to)
		switch {
		case errors.Is(err, errEnough):
			// The rest is too young, or comes another time.
		case err != nil:
			return nil, err
		default:
			after = to
		}
		if len(units) == most {
			break
		}
	}
	if len(unit.IDs) > 0 && len(units) < most {
		units = append(units, unit)
	}
	if len(units) == 0 && after > began && h.Fence > 0 {
		return nil, s.setVersionsLooked(ctx, h, after)
	}
	return units, nil
}

// setVersionsLooked remembers up to which version all were looked at.
func (s *Store) setVersionsLooked(ctx context.Context, h retention.Hold, id int64) error {
	return s.write(ctx, "remember which versions were looked at", func(x *tx) error {
		if err := x.guardArchive(h); err != nil {
			return err
		}
		return x.setVersionsLooked(id)
	})
}

func (x *tx) setVersionsLooked(id int64) error {
	if _, err := x.exec(x.s.d.insertIgnore+` INTO ing_meta (name, value) VALUES (?, '0')`, versionsLooked); err != nil {
		return err
	}
	_, err := x.exec(`UPDATE ing_meta SET value=? WHERE name=?`, strconv.FormatInt(id, 10), versionsLooked)
	return err
}

// told says of which rows of the outbox everybody was told.
type told struct {
	// upTo is the place in the stream up to which all targets were, and unnumbered stands
	// for rows that have none yet.
	upTo, unnumbered int64
}

// toldUpTo reads how far all targets have come. Of the feed it is enough that a revision
// has its place: who follows it closely sees it, and who does not sees a newer one. Where
// nobody is told, nobody waits.
func (s *Store) toldUpTo(ctx context.Context) (told, error) {
	out := told{upTo: math.MaxInt64 - 1, unnumbered: math.MaxInt64}
	var least sql.NullInt64
	var targets int64
	err := s.r.QueryRowContext(ctx, `SELECT MIN(CASE WHEN kind_code='feed' THEN NULL WHEN snapshot_after IS NOT NULL THEN 0 ELSE position END), COUNT(*)
		FROM ing_outbox_target`).Scan(&least, &targets)
	if least.Valid {
		out.upTo = least.Int64
	}
	if targets == 0 {
		out.unnumbered = 0
	}
	return out, err
}
