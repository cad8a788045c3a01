package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// lateness is what a page says of late versions: how many of the versions it took up
// carry an update time, and how many of those came late. late is NULL if the page did
// not look back, and so could not see any.
type lateness struct {
	dated int64
	late  sql.NullInt64
}

// countLate counts the late ones among the versions that a page took up (R11): those
// with an update time in a slice that was proven before this walk began. It looks at
// the slices of the page's own cursor or, for a sentinel, of the cursor it watches.
// Other activities bring what was never harvested, which says nothing of lateness.
// Most pages hold nothing from outside their own window, and cost no read.
func (x *tx) countLate(job harvest.Job, b harvest.Batch, written []change) (out lateness, err error) {
	var cursor sql.NullInt64
	switch job.Operation {
	case harvest.Harvest:
		out.late.Valid = job.Spec.RequestWindow().From.Before(job.Spec.NominalWindow().From)
	case harvest.Backfill:
		if err := x.row(`SELECT watches_cursor_id FROM ing_plan WHERE id=?`, job.Plan).Scan(&cursor); err != nil {
			return out, fmt.Errorf("read what plan %d watches: %w", job.Plan, err)
		}
		if !cursor.Valid {
			return out, nil
		}
		out.late.Valid = true
	default:
		return out, nil
	}
	own := job.Spec.NominalWindow()
	var outside []time.Time
	var from, to time.Time
	for _, c := range written {
		at := c.rec.Version.UpdatedAt
		if c.effect == harvest.Remapped || at.IsZero() {
			continue
		}
		out.dated++
		if !cursor.Valid && !at.Before(own.From) && at.Before(own.To) {
			continue // the slice itself is not done yet
		}
		outside = append(outside, at)
		if from.IsZero() || at.Before(from) {
			from = at
		}
		if at.After(to) {
			to = at
		}
	}
	if len(outside) == 0 {
		return out, nil
	}
	var began ts
	if err := x.row(`SELECT MIN(opened_at) FROM ing_task_run_batch
		WHERE task_id=? AND walk_no=?`, job.Lease.Task, b.Walk).Scan(&began); err != nil {
		return out, fmt.Errorf("read when walk %d began: %w", b.Walk, err)
	}
	if !cursor.Valid {
		if err := x.row(`SELECT cursor_id FROM ing_plan_slice WHERE id=?`, job.Slice).Scan(&cursor); err != nil {
			return out, fmt.Errorf("read slice %d: %w", job.Slice, err)
		}
	}
	rows, err := x.sql.QueryContext(x.ctx, landedSQL, cursor, ts(from), cursor, ts(from))
	if err != nil {
		return out, fmt.Errorf("read coverage: %w", err)
	}
	landed, err := scanLanded(rows, to)
	if err != nil {
		return out, fmt.Errorf("read coverage: %w", err)
	}
	if n := harvest.CountLate(outside, landed, began.time()); n > 0 || out.late.Valid {
		out.late = sql.NullInt64{Int64: n, Valid: true}
	}
	return out, nil
}

// landedSQL reads the leaf slices of a cursor that end after an instant, and what archived
// ones have proven. Both are bound twice.
var landedSQL = `SELECT s.window_from, s.window_to, s.status_code, s.updated_at FROM ing_plan_slice s
	WHERE s.cursor_id=? AND s.window_to>? AND s.status_code<>'RESLICED'` + notCoveredByOthers + notFolded + `
	UNION ALL SELECT v.window_from, v.window_to, 'DONE', v.proven_at FROM ing_coverage v WHERE v.cursor_id=? AND v.window_to>?
	ORDER BY 2, 1`

// scanLanded reads them up to an instant, or to the end if that is zero. A slice
// that is done is not written to again.
func scanLanded(rows *sql.Rows, to time.Time) (out []harvest.SliceProof, err error) {
	err = eachUntil(rows, func() (bool, error) {
		var from, end, at ts
		var state harvest.SliceState
		if err := rows.Scan(&from, &end, &state, &at); err != nil {
			return false, err
		}
		if !to.IsZero() && from.time().After(to) {
			return false, nil
		}
		l := harvest.SliceProof{Window: harvest.Window{From: from.time(), To: end.time()}}
		if state == harvest.SliceDone {
			l.DoneAt = at.time()
		}
		out = append(out, l)
		return true, nil
	})
	return out, err
}

// Lateness reads what was seen of late versions of a HARVEST namespace over the
// last [harvest.LateOver].
func (s *Store) Lateness(ctx context.Context, cursor harvest.CursorID) (harvest.Lateness, error) {
	var provenance string
	err := s.r.QueryRowContext(ctx, `SELECT provenance_code FROM ing_cursor WHERE id=?`, cursor).Scan(&provenance)
	if err != nil {
		return harvest.Lateness{}, fmt.Errorf("read cursor %d: %w", cursor, err)
	}
	all, _, err := s.latenesses(ctx, provenance, math.MaxInt64)
	return all[cursor], err
}

// newestPagesSQL are the newest stored pages of an operation since an instant.
const newestPagesSQL = `SELECT b.plan_id, b.task_id, b.walk_no, b.fresh, b.late, b.inserted+b.updated+b.remapped+b.unchanged AS held
	FROM ing_task_run_batch b /*! FORCE INDEX (idx_batch_prov) */
	WHERE b.provenance_code=? AND b.operation_code=? AND b.status_code='SUCCEEDED' AND b.committed_at>=? ORDER BY b.committed_at DESC LIMIT ?`

// latenesses reads what was seen of late versions of all HARVEST namespaces of a source,
// by no more than so many pages of an operation, the newest; cut: there were more.
func (s *Store) latenesses(ctx context.Context, provenance string, most int64) (all map[harvest.CursorID]harvest.Lateness, cut bool, err error) {
	all = map[harvest.CursorID]harvest.Lateness{}
	now, err := s.Now(ctx)
	if err != nil {
		return nil, false, err
	}
	since := ts(now.Add(-harvest.LateOver))
	var harvested, walked int64 // pages
	// A plan that looked back counts with all its new versions; one that did not,
	// such as the first of a namespace, says nothing.
	err = s.each(ctx, func(r *sql.Rows) error {
		var cursor harvest.CursorID
		var fresh, late, looked, pages int64
		if err := r.Scan(&cursor, &fresh, &late, &looked, &pages); err != nil {
			return err
		}
		harvested += pages
		if looked > 0 {
			l := all[cursor]
			l.LookedBack = true
			l.Fresh += fresh
			l.Late += late
			all[cursor] = l
		}
		return nil
	}, `SELECT p.cursor_id, SUM(b.fresh), COALESCE(SUM(b.late),0), COUNT(b.late), COUNT(*) FROM (`+newestPagesSQL+`) b JOIN ing_plan p ON p.id=b.plan_id
		GROUP BY b.plan_id, p.cursor_id`, provenance, harvest.Harvest, since, most)
	if err != nil {
		return nil, false, fmt.Errorf("read lateness of harvests: %w", err)
	}
	// A walk that began again has seen the same versions again.
	err = s.each(ctx, func(r *sql.Rows) error {
		var watched sql.NullInt64 // only a sentinel watches a cursor
		var sampled, found, pages int64
		if err := r.Scan(&watched, &sampled, &found, &pages); err != nil {
			return err
		}
		walked += pages
		if watched.Valid {
			l := all[harvest.CursorID(watched.Int64)]
			l.SentinelWalked = true
			l.Sampled = sampled
			l.Found = found
			all[harvest.CursorID(watched.Int64)] = l
		}
		return nil
	}, `SELECT p.watches_cursor_id, SUM(CASE WHEN b.walk_no=t.walk_no THEN b.held ELSE 0 END), COALESCE(SUM(b.late),0), COUNT(*)
		FROM (`+newestPagesSQL+`) b JOIN ing_plan p ON p.id=b.plan_id JOIN ing_task t ON t.id=b.task_id GROUP BY p.watches_cursor_id`,
		provenance, harvest.Backfill, since, most)
	if err != nil {
		return nil, false, fmt.Errorf("read lateness of sentinels: %w", err)
	}
	return all, max(harvested, walked) >= most, nil
}

// shownLate is a late rate as it is shown; cut: not all pages were looked at.
func shownLate(l harvest.Lateness, cut bool) *control.LateRate {
	rate, known, why := l.Rate()
	out := &control.LateRate{Cut: cut}
	if known {
		out.Rate = &rate
	} else {
		out.Reason = why
	}
	return out
}
