package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/papertrace/patra/internal/app/retention"
)

// Remove removes some of the rows of a unit, in one transaction, and reports whether there
// are more. A crash between two of them leaves a unit that is partly removed; whoever goes
// on with the archive removes the rest. What is gone already is no error.
func (s *Store) Remove(ctx context.Context, h retention.Hold, archive int64, u retention.Unit, most int) (more bool, err error) {
	err = s.write(ctx, "remove what is archived", func(x *tx) (err error) {
		more = false
		if err := x.guardArchive(h); err != nil {
			return err
		}
		switch u.Kind {
		case retention.Plan:
			more, err = x.removePlan(archive, u, most)
		case retention.Moves:
			err = x.foldMoves(archive, u)
		case retention.Triggers:
			err = x.removeTriggers(u)
		case retention.Versions:
			err = x.removeVersions(u)
		default:
			err = fmt.Errorf("archives know no %q", u.Kind)
		}
		return err
	})
	if err != nil {
		return false, fmt.Errorf("%s %d: %w", u.Kind, u.ID, err)
	}
	return more, nil
}

// foldMoves makes the last of the archived moves of a cursor their CHECKPOINT and removes
// the others (R33). It keeps its id, its place and its time, so that the chain goes on from
// it; what it belonged to may be archived too, and is told by the archive.
func (x *tx) foldMoves(archive int64, u retention.Unit) error {
	var cursor int64
	err := x.row(`SELECT id FROM ing_cursor WHERE id=?`+x.s.d.forUpdate, u.ID).Scan(&cursor)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("lock cursor: %w", err)
	}
	var kind string
	err = x.row(`SELECT kind_code FROM ing_cursor_event WHERE id=? AND cursor_id=?`, u.To, u.ID).Scan(&kind)
	if errors.Is(err, sql.ErrNoRows) || kind == "CHECKPOINT" {
		return nil // it is done
	}
	if err != nil {
		return err
	}
	var n int64
	err = x.row(`SELECT COUNT(*) FROM ing_cursor_event WHERE cursor_id=? AND id<=? AND kind_code<>'CHECKPOINT'`, u.ID, u.To).Scan(&n)
	if err != nil {
		return err
	}
	if n != u.Rows {
		return fmt.Errorf("%d moves were archived and %d are there: %w", u.Rows, n, retention.ErrChanged)
	}
	if _, err := x.exec(`DELETE FROM ing_cursor_event WHERE cursor_id=? AND id<?`, u.ID, u.To); err != nil {
		return err
	}
	remarks, err := moveRemarks{Reason: movedByArchive, Note: fmt.Sprintf("the moves up to here are in archive %d", archive)}.text()
	if err != nil {
		return err
	}
	_, err = x.exec(`UPDATE ing_cursor_event SET kind_code='CHECKPOINT', prev_value=NULL, prev_instant=NULL, plan_id=NULL, slice_id=NULL,
		task_id=NULL, run_id=NULL, batch_id=NULL, schedule_instance_id=NULL, expr_hash=NULL, record_remarks=? WHERE id=?`,
		remarks, u.To)
	return err
}

// removeTriggers removes triggers, and the stubs of plans that no other names.
func (x *tx) removeTriggers(u retention.Unit) error {
	args := idArgs(u.IDs)
	in := `(` + list(len(args)) + `)`
	var plans []int64
	err := x.each(func(r *sql.Rows) error {
		var id int64
		err := r.Scan(&id)
		plans = append(plans, id)
		return err
	}, `SELECT DISTINCT plan_id FROM ing_schedule_instance WHERE plan_id IS NOT NULL AND id IN `+in, args...)
	if err != nil {
		return err
	}
	if _, err := x.exec(`DELETE FROM ing_schedule_instance WHERE id IN `+in, args...); err != nil {
		return err
	}
	for _, id := range plans {
		if err := x.dropPlanStub(id); err != nil {
			return err
		}
	}
	return nil
}

// removeVersions removes versions of records with their rows of the outbox. They must be
// the oldest of their records that are kept.
func (x *tx) removeVersions(u retention.Unit) error {
	args := idArgs(u.IDs)
	in := `(` + list(len(args)) + `)`
	type oldest struct{ record, first, least, most, count int64 }
	var records []oldest
	held := int64(0)
	err := x.each(func(r *sql.Rows) error {
		var o oldest
		err := r.Scan(&o.record, &o.first, &o.least, &o.most, &o.count)
		records = append(records, o)
		held += o.count
		return err
	}, `SELECT r.id, r.first_revision, MIN(v.revision), MAX(v.revision), COUNT(*)
		FROM ing_record_version v JOIN ing_record r ON r.id=v.record_id
		WHERE v.id IN `+in+` AND v.revision<r.revision GROUP BY r.id, r.first_revision ORDER BY r.id`, args...)
	if err != nil {
		return err
	}
	if held == 0 {
		return x.setVersionsLooked(u.To) // it is done
	}
	if held != int64(len(u.IDs)) {
		return fmt.Errorf("%d versions were archived and %d are there: %w", len(u.IDs), held, retention.ErrChanged)
	}
	for _, o := range records {
		if o.first != o.least || o.most-o.least+1 != o.count {
			return fmt.Errorf("versions %d to %d of record %d are not its oldest: %w", o.least, o.most, o.record, retention.ErrChanged)
		}
		if _, err := x.exec(`UPDATE ing_record SET first_revision=? WHERE id=?`, o.most+1, o.record); err != nil {
			return err
		}
	}
	pages, err := x.ids(`SELECT DISTINCT batch_id FROM ing_record_version WHERE id IN `+in, args...)
	if err != nil {
		return err
	}
	if _, err := x.exec(`DELETE FROM ing_outbox WHERE `+outboxOfVersions(in), args...); err != nil {
		return err
	}
	if _, err := x.exec(`DELETE FROM ing_record_version WHERE id IN `+in, args...); err != nil {
		return err
	}
	for _, id := range pages {
		if _, err := x.exec(`DELETE FROM ing_archived WHERE kind_code='batch' AND object_id=? AND selection_id IS NULL
			AND NOT `+isNamed("?"), id, id, id, id, id); err != nil {
			return err
		}
	}
	return x.setVersionsLooked(u.To)
}

// isNamed is the condition that a row that stays names a page.
func isNamed(batch string) string {
	return `(EXISTS (SELECT 1 FROM ing_record_version y WHERE y.batch_id=` + batch + `)
		OR EXISTS (SELECT 1 FROM ing_quarantine y WHERE y.batch_id=` + batch + `)
		OR EXISTS (SELECT 1 FROM ing_bad_id y WHERE y.batch_id=` + batch + `)
		OR EXISTS (SELECT 1 FROM ing_signal y WHERE y.batch_id=` + batch + `))`
}

// ids reads a column of ids.
func (x *tx) ids(query string, args ...any) (ids []int64, err error) {
	err = x.each(func(r *sql.Rows) error {
		var id int64
		err := r.Scan(&id)
		ids = append(ids, id)
		return err
	}, query, args...)
	return ids, err
}
