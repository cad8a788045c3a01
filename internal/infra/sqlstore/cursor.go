package sqlstore

import (
	"database/sql"
	"fmt"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// cursorRow is a locked cursor.
type cursorRow struct {
	id        harvest.CursorID
	ns        harvest.Namespace
	direction harvest.Direction
	value     harvest.Mark
	version   int64
	observed  string // the newest update time seen so far
}

// lineage is what moved a cursor: a page with all that it belongs to, or what a person
// said.
type lineage struct {
	plan    harvest.PlanID
	slice   harvest.SliceID
	task    harvest.TaskID
	run     harvest.RunID
	batch   harvest.BatchID
	remarks moveRemarks
}

// eventKey is unique for each place that a cursor comes to, so that no move is written
// twice (R33).
func eventKey(cur harvest.CursorID, newValue string) string {
	return harvest.HashKey(fmt.Sprint(int64(cur)), newValue)
}

// lockCursorOf reads the cursor of a slice, and locks it until the transaction ends: two
// slices that finish together move it one after the other, each seeing the other's.
func (x *tx) lockCursorOf(slice harvest.SliceID) (cursorRow, error) {
	var c cursorRow
	var v ts
	var observed sql.NullString
	err := x.row(`SELECT c.id, c.provenance_code, c.operation_code, c.cursor_key, c.namespace_scope_code, c.namespace_key,
		c.direction_code, c.normalized_instant, c.version, c.observed_max_value
		FROM ing_cursor c WHERE c.id = (SELECT s.cursor_id FROM ing_plan_slice s WHERE s.id=?)`+x.s.d.forUpdate, slice).
		Scan(&c.id, &c.ns.Provenance, &c.ns.Operation, &c.ns.CursorKey, &c.ns.Scope, &c.ns.Key, &c.direction, &v, &c.version, &observed)
	if err != nil {
		return c, fmt.Errorf("lock cursor of slice %d: %w", slice, err)
	}
	c.observed = observed.String
	c.value, err = v.cursorMark(c.ns.Operation)
	if err != nil {
		return c, fmt.Errorf("cursor %d: %w", c.id, err)
	}
	return c, nil
}

// notCoveredByOthers is a condition on slices s that leaves out those for which other
// slices answer now: slices of a cancelled plan whose window a newer plan has taken over.
//
//	cancelled plan p      |--- s1 ---|--- s2 ---|--- s3 ---|
//	newer plan q          |------ q ------|               q covers s1 and the beginning of s2
//	the plan after q                      |------ ...     begins where q ends, so s2 is covered whole
//	not left out                                 s3, until that plan is made
//
// A newer plan need not cover s whole: one that holds either end of it is enough,
// since the plan after it goes on where it ends. If nobody planned the remainder it
// would be a hole in the coverage, and no cursor passes a hole.
//
// Of a cancelled UPDATE nothing is kept but gaps that were accepted: its ordinals
// number the candidates of that plan and of no other.
const notCoveredByOthers = `
	AND NOT ` + coveredByOthers

const coveredByOthers = `(s.status_code='CANCELLED' AND EXISTS (SELECT 1 FROM ing_plan p WHERE p.id=s.plan_id AND p.status_code='CANCELLED'
		AND (p.operation_code='UPDATE' AND s.gap_accepted=0
			OR EXISTS (SELECT 1 FROM ing_plan q WHERE q.cursor_id=p.cursor_id AND q.id>p.id
				AND q.status_code NOT IN ('CANCELLED','FAILED')
				AND q.window_from<s.window_to AND q.window_to>s.window_from
				AND (q.window_from<=s.window_from OR q.window_to>=s.window_to)))))`

// advance moves the cursor to the end of the unbroken run of slices that count, from
// where it stands: those that are proven, and gaps that a person accepted.
//
//	cursor             v
//	slices    -- DONE -|- DONE -|- gap, accepted -|- READY -|- DONE -|
//	moves to                                      ^  the run breaks here; the last slice has to wait
//
// The event is written first, then the value, and the cursor never moves back. It costs
// as many rows as the cursor passes, plus one.
func (x *tx) advance(c cursorRow, l lineage) (harvest.Mark, error) {
	w, err := x.endOfProvenRun(c)
	if err != nil {
		return harvest.Mark{}, err
	}
	if !c.direction.Further(c.value, w) {
		return c.value, nil
	}
	if err := x.moveCursor(c, w, l); err != nil {
		return harvest.Mark{}, err
	}
	return w, nil
}

// endOfProvenRun reads how far the unbroken run of slices that count reaches from where
// the cursor stands.
func (x *tx) endOfProvenRun(c cursorRow) (harvest.Mark, error) {
	// Leaf slices touching or past the cursor, nearest first. The slice that
	// touches it begins exactly there, so the index seek starts at it.
	ahead := `s.window_from>=? AND s.window_to>?`
	order := `s.window_from ASC`
	if c.direction == harvest.Backward {
		ahead = `s.window_to<=? AND s.window_from<?`
		order = `s.window_to DESC`
	}
	at := stored(c.value).instant
	var rerr error
	w := harvest.LowWatermark(c.value, c.direction, func(yield func(harvest.Covered) bool) {
		rows, err := x.sql.QueryContext(x.ctx, `SELECT s.window_from, s.window_to, s.status_code, s.gap_accepted FROM ing_plan_slice s
			WHERE s.cursor_id=? AND `+ahead+` AND s.status_code<>'RESLICED'`+notCoveredByOthers+`
			ORDER BY `+order, c.id, at, at)
		if err != nil {
			rerr = err
			return
		}
		rerr = eachUntil(rows, func() (bool, error) {
			slice, err := scanCovered(rows, c.ns.Operation)
			if err != nil {
				return false, err
			}
			return yield(slice), nil
		})
	})
	if rerr != nil {
		return harvest.Mark{}, fmt.Errorf("read coverage: %w", rerr)
	}
	return w, nil
}

// scanCovered reads a slice as the watermark sees it: its span, and whether it counts.
func scanCovered(rows *sql.Rows, op harvest.Operation) (harvest.Covered, error) {
	var from, to ts
	var state harvest.SliceState
	var accepted bool
	if err := rows.Scan(&from, &to, &state, &accepted); err != nil {
		return harvest.Covered{}, err
	}
	return harvest.Covered{
		Span:   spanOf(op, from, to),
		Counts: state == harvest.SliceDone || accepted,
	}, nil
}

// moveCursor writes the event of a move, then the cursor's new value. The caller holds
// the lock on the cursor.
func (x *tx) moveCursor(c cursorRow, w harvest.Mark, l lineage) error {
	at, next := stored(c.value), stored(w)
	observed, late, err := x.seenOnTheWay(c, w)
	if err != nil {
		return err
	}
	l.remarks.Late = late
	remarks, err := l.remarks.text()
	if err != nil {
		return err
	}
	instance, expr, err := x.triggerOf(l)
	if err != nil {
		return err
	}
	if _, err := x.insertInto("ing_cursor_event", []col{
		{"cursor_id", c.id},
		{"provenance_code", c.ns.Provenance},
		{"operation_code", c.ns.Operation},
		{"cursor_key", c.ns.CursorKey},
		{"namespace_scope_code", c.ns.Scope},
		{"namespace_key", c.ns.Key},
		{"direction_code", c.direction},
		{"kind_code", "ADVANCE"},
		{"prev_value", at.value},
		{"new_value", next.value},
		{"prev_instant", at.instant},
		{"new_instant", next.instant},
		{"observed_max_value", null(observed)},
		{"idempotent_key", eventKey(c.id, next.value)},
		{"plan_id", nullID(int64(l.plan))},
		{"slice_id", nullID(int64(l.slice))},
		{"task_id", nullID(int64(l.task))},
		{"run_id", nullID(int64(l.run))},
		{"batch_id", nullID(int64(l.batch))},
		{"schedule_instance_id", instance},
		{"expr_hash", expr},
		{"record_remarks", remarks},
		{"event_time", ts(x.now)},
	}); err != nil {
		return fmt.Errorf("record the cursor's move: %w", err)
	}
	x.happened = append(x.happened, func(o Observer) { o.CursorMoved(c.direction) })
	set, values := assign([]col{
		{"cursor_value", next.value},
		{"normalized_instant", next.instant},
		{"normalized_numeric", next.number},
		{"observed_max_value", null(max(observed, c.observed))},
		{"plan_id", nullID(int64(l.plan))},
		{"slice_id", nullID(int64(l.slice))},
		{"task_id", nullID(int64(l.task))},
		{"run_id", nullID(int64(l.run))},
		{"batch_id", nullID(int64(l.batch))},
		{"schedule_instance_id", instance},
		{"expr_hash", expr},
		{"updated_at", ts(x.now)},
	}, c.id, c.version)
	n, err := x.exec(`UPDATE ing_cursor SET version=version+1, `+set+` WHERE id=? AND version=?`, values...)
	if err != nil {
		return fmt.Errorf("move cursor: %w", err)
	}
	if n == 0 {
		return fmt.Errorf("cursor %d moved under its lock: %w", c.id, harvest.ErrCursorRegress)
	}
	return nil
}

// triggerOf is the trigger of the plan that moved a cursor, and the hash of the
// expression of the slice that did, NULL if a person's word did.
func (x *tx) triggerOf(l lineage) (instance sql.NullInt64, expr sql.NullString, err error) {
	err = x.row(`SELECT (SELECT p.schedule_instance_id FROM ing_plan p WHERE p.id=?), (SELECT s.expr_hash FROM ing_plan_slice s WHERE s.id=?)`,
		l.plan, l.slice).Scan(&instance, &expr)
	if err != nil {
		return instance, expr, fmt.Errorf("read what moved the cursor: %w", err)
	}
	return instance, expr, nil
}

// seenOnTheWay is the newest update time among the records of all slices that the cursor
// passes on its way from where it stands to w, not of the page that happened to come
// last (M12), and how many versions came late there; nil if nobody looked for any. Slices
// that were cut are looked at too: what was proven before the cut lies in their pages.
func (x *tx) seenOnTheWay(c cursorRow, w harvest.Mark) (newestSeen string, late *int64, err error) {
	within := `s.window_from>=? AND s.window_from<?`
	if c.direction == harvest.Backward {
		within = `s.window_to<=? AND s.window_to>?`
	}
	var newest ts
	err = x.row(`SELECT MAX(b.observed_max), SUM(b.late) FROM ing_plan_slice s JOIN ing_task t ON t.slice_id=s.id
		JOIN ing_task_run_batch b ON b.task_id=t.id AND b.status_code='SUCCEEDED'
		WHERE s.cursor_id=? AND `+within+` AND s.status_code IN ('DONE','RESLICED')`,
		c.id, stored(c.value).instant, stored(w).instant).Scan(&newest, &late)
	if err != nil {
		return "", nil, fmt.Errorf("read the newest record seen: %w", err)
	}
	if newest.time().IsZero() {
		return "", late, nil
	}
	return harvest.FormatInstant(newest.time()), late, nil
}

// eachUntil reads rows until f returns false.
func eachUntil(rows *sql.Rows, f func() (bool, error)) error {
	defer rows.Close()
	for rows.Next() {
		more, err := f()
		if err != nil {
			return err
		}
		if !more {
			return nil
		}
	}
	return rows.Err()
}
