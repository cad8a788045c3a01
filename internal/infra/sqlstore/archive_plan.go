package sqlstore

import (
	"database/sql"
	"errors"
	"fmt"

	"github.com/papertrace/patra/internal/app/retention"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// planInRemoval is a plan whose rows are removed.
type planInRemoval struct {
	id         int64
	cursor     int64
	trigger    int64
	provenance string
	from, to   ts
	doneAt     ts
	sealed     bool
}

// removePlan removes some slices of a plan with all that belongs to them, and at last the
// plan. The first time it is sealed: from then on what it has proven is an interval, and
// nobody looks at its slices any more. Slices go whole and those first that were cut off
// others, so that a slice that is there still has what proves it.
func (x *tx) removePlan(archive int64, u retention.Unit, most int) (more bool, err error) {
	p, err := x.lockPlanInRemoval(u.ID)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil // it is done
	}
	if err != nil {
		return false, err
	}
	if !p.sealed {
		return true, x.sealPlan(archive, p, u)
	}
	left, err := x.removeSlices(archive, p, most)
	if err != nil || left {
		return true, err
	}
	// As many candidates at a time as rows.
	n, err := x.exec(`DELETE FROM ing_plan_candidate WHERE plan_id=? AND ordinal<
		(SELECT m.least FROM (SELECT MIN(ordinal)+? AS least FROM ing_plan_candidate WHERE plan_id=?) m)`, p.id, most, p.id)
	if err != nil || n > 0 {
		return true, err
	}
	return false, x.endPlan(p, u)
}

func (x *tx) lockPlanInRemoval(id int64) (p planInRemoval, err error) {
	p.id = id
	err = x.row(`SELECT p.cursor_id, p.schedule_instance_id, p.provenance_code, p.window_from, p.window_to, p.updated_at,
		CASE WHEN `+isSealed("p.id")+` THEN 1 ELSE 0 END FROM ing_plan p WHERE p.id=?`, id).
		Scan(&p.cursor, &p.trigger, &p.provenance, &p.from, &p.to, &p.doneAt, &p.sealed)
	if err != nil {
		return p, err
	}
	// Whoever plans, or moves the cursor, holds this row.
	var locked int64
	if err := x.row(`SELECT id FROM ing_cursor WHERE id=?`+x.s.d.forUpdate, p.cursor).Scan(&locked); err != nil {
		return p, fmt.Errorf("lock cursor %d: %w", p.cursor, err)
	}
	return p, nil
}

// sealPlan looks once more whether the plan may go and is as it was archived, and turns what
// it has proven into an interval.
func (x *tx) sealPlan(archive int64, p planInRemoval, u retention.Unit) error {
	var closes bool
	err := x.row(`SELECT CASE WHEN `+closesCursor+` THEN 1 ELSE 0 END`+duePlans+` AND p.id=?`, ts(x.now), p.id).Scan(&closes)
	if errors.Is(err, sql.ErrNoRows) || err == nil && closes != u.Closes {
		return fmt.Errorf("plan %d: %w", p.id, retention.ErrChanged)
	}
	if err != nil {
		return err
	}
	var n int64
	err = x.row(`SELECT (SELECT COUNT(*) FROM ing_plan_slice WHERE plan_id=?) + (SELECT COUNT(*) FROM ing_plan_candidate WHERE plan_id=?)
		+ (SELECT COUNT(*) FROM ing_task WHERE plan_id=?) + (SELECT COUNT(*) FROM ing_task_run WHERE `+runsOfPlan+`)
		+ (SELECT COUNT(*) FROM ing_task_run_batch WHERE plan_id=?)`, p.id, p.id, p.id, p.id, p.id).Scan(&n)
	if err != nil {
		return err
	}
	n = n + 2 // the plan and its trigger
	if closes {
		n++ // its cursor
	}
	if n != u.Rows {
		return fmt.Errorf("%d rows of plan %d were archived and %d are there: %w", u.Rows, p.id, n, retention.ErrChanged)
	}
	if _, err := x.exec(`INSERT INTO ing_archived (kind_code, object_id, archive_id) VALUES ('plan',?,?)`, p.id, archive); err != nil {
		return err
	}
	if closes {
		// It goes with the plan; until then it names nothing that is gone.
		if _, err := x.exec(`UPDATE ing_cursor SET plan_id=NULL, slice_id=NULL, task_id=NULL, run_id=NULL, batch_id=NULL
			WHERE id=?`, p.cursor); err != nil {
			return err
		}
	}
	return x.foldCoverage(p)
}

// foldCoverage adds what a plan has proven to the intervals of its cursor, and makes one of
// those that touch.
func (x *tx) foldCoverage(p planInRemoval) error {
	from := p.from.time()
	to := p.to.time()
	at := p.doneAt.time()
	err := x.each(func(r *sql.Rows) error {
		var f, t, proven ts
		if err := r.Scan(&f, &t, &proven); err != nil {
			return err
		}
		if f.time().Before(from) {
			from = f.time()
		}
		if t.time().After(to) {
			to = t.time()
		}
		if proven.time().After(at) {
			at = proven.time()
		}
		return nil
	}, `SELECT window_from, window_to, proven_at FROM ing_coverage WHERE cursor_id=? AND window_from<=? AND window_to>=?`, p.cursor, p.to, p.from)
	if err != nil {
		return err
	}
	if _, err := x.exec(`DELETE FROM ing_coverage WHERE cursor_id=? AND window_from<=? AND window_to>=?`, p.cursor, p.to, p.from); err != nil {
		return err
	}
	_, err = x.exec(`INSERT INTO ing_coverage (cursor_id, window_from, window_to, proven_at) VALUES (?,?,?,?)`, p.cursor, ts(from), ts(to), ts(at))
	return err
}

// removeSlices removes the last slices of a plan, with as many pages as one transaction
// should, and reports whether it had any.
func (x *tx) removeSlices(archive int64, p planInRemoval, most int) (had bool, err error) {
	slices, err := x.ids(`SELECT id FROM ing_plan_slice WHERE plan_id=? ORDER BY id DESC LIMIT ?`, p.id, most)
	if err != nil || len(slices) == 0 {
		return false, err
	}
	rows := 0
	for _, id := range slices {
		n, err := x.removeSlice(archive, p, id)
		if err != nil {
			return true, err
		}
		rows += n
		if rows >= most {
			break
		}
	}
	return true, nil
}

// removeSlice removes a slice and all that belongs to it. Its pages leave a stub where a row
// that stays names them, and all of them where the plan had a query: the members of its
// selection name pages.
func (x *tx) removeSlice(archive int64, p planInRemoval, id int64) (rows int, err error) {
	if _, err := x.exec(`INSERT INTO ing_archived (kind_code, object_id, archive_id, plan_id, slice_id, task_id, run_id, window_from, window_to,
		selection_id)
		SELECT 'batch', b.id, ?, b.plan_id, b.slice_id, b.task_id, b.run_id, s.window_from, s.window_to, p.selection_id
		FROM ing_task t JOIN ing_task_run_batch b ON b.task_id=t.id JOIN ing_plan_slice s ON s.id=t.slice_id JOIN ing_plan p ON p.id=t.plan_id
		WHERE t.slice_id=? AND (p.selection_id IS NOT NULL OR `+isNamed("b.id")+`)`, archive, id); err != nil {
		return 0, fmt.Errorf("leave stubs of the pages of slice %d: %w", id, err)
	}
	for _, q := range []string{
		`DELETE FROM ing_task_run_batch WHERE task_id=(SELECT t.id FROM ing_task t WHERE t.slice_id=?)`,
		`DELETE FROM ing_task_run WHERE task_id=(SELECT t.id FROM ing_task t WHERE t.slice_id=?)`,
		`DELETE FROM ing_task WHERE slice_id=?`,
		`DELETE FROM ing_plan_slice WHERE id=?`,
	} {
		n, err := x.exec(q, id)
		if err != nil {
			return rows, fmt.Errorf("remove slice %d of plan %d: %w", id, p.id, err)
		}
		rows += int(n)
	}
	return rows, nil
}

// endPlan removes the plan itself, with its trigger and, where it was the last of an activity
// that is over, its cursor. A plan that was made for that activity meanwhile keeps it.
func (x *tx) endPlan(p planInRemoval, u retention.Unit) error {
	if _, err := x.exec(`DELETE FROM ing_plan WHERE id=?`, p.id); err != nil {
		return err
	}
	for _, table := range []string{"ing_plan_total", "ing_plan_group"} {
		if _, err := x.exec(`DELETE FROM `+table+` WHERE plan_id=?`, p.id); err != nil {
			return err
		}
	}
	if _, err := x.exec(`DELETE FROM ing_rate_gate WHERE gate_key=?`, source.PlanRateKey(p.provenance, harvest.PlanID(p.id))); err != nil {
		return err
	}
	if _, err := x.exec(`DELETE FROM ing_schedule_instance WHERE id=? AND plan_id=?`, p.trigger, p.id); err != nil {
		return err
	}
	if u.Closes {
		if err := x.endCursor(p.cursor); err != nil {
			return err
		}
	}
	return x.dropPlanStub(p.id)
}

func (x *tx) endCursor(id int64) error {
	var plans int64
	if err := x.row(`SELECT COUNT(*) FROM ing_plan WHERE cursor_id=?`, id).Scan(&plans); err != nil {
		return err
	}
	if plans > 0 {
		return nil
	}
	for _, q := range []string{
		`DELETE FROM ing_cursor_event WHERE cursor_id=?`,
		`DELETE FROM ing_coverage WHERE cursor_id=?`,
		`DELETE FROM ing_cursor WHERE id=?`,
	} {
		if _, err := x.exec(q, id); err != nil {
			return fmt.Errorf("remove cursor %d: %w", id, err)
		}
	}
	return nil
}

// dropPlanStub removes the stub of a plan that is gone and that no row names any more.
func (x *tx) dropPlanStub(id int64) error {
	_, err := x.exec(`DELETE FROM ing_archived WHERE kind_code='plan' AND object_id=?
		AND NOT EXISTS (SELECT 1 FROM ing_plan p WHERE p.id=?)
		AND NOT EXISTS (SELECT 1 FROM ing_schedule_instance i WHERE i.plan_id=?)
		AND NOT EXISTS (SELECT 1 FROM ing_signal g WHERE g.plan_id=?)`, id, id, id, id)
	return err
}
