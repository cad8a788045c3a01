package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// Proven lists the windows that the HARVEST of a namespace has proven complete, or
// a BACKFILL of the same endpoint and selection, in order; and those of them that
// were accepted unread. A window counts when its cursor has passed it, so that
// one that was cut by ids counts with all of its parts.
func (s *Store) Proven(
	ctx context.Context, ns harvest.Namespace, endpoint, selection string,
) (proven, accepted []harvest.Window, err error) {
	err = s.each(ctx, func(r *sql.Rows) error {
		var from, to ts
		var unread bool
		if err := r.Scan(&from, &to, &unread); err != nil {
			return err
		}
		w := harvest.Window{From: from.time(), To: to.time()}
		if unread {
			accepted = append(accepted, w)
		} else {
			proven = append(proven, w)
		}
		return nil
	}, `SELECT s.window_from, s.window_to, s.gap_accepted
		FROM ing_plan_slice s JOIN ing_cursor c ON c.id=s.cursor_id JOIN ing_plan p ON p.id=s.plan_id
		WHERE c.provenance_code=? AND c.cursor_key=? AND (s.status_code='DONE' OR s.gap_accepted=1)
		AND (c.operation_code=? AND c.namespace_scope_code=? AND c.namespace_key=? AND s.window_to<=c.normalized_instant
			OR c.operation_code='BACKFILL' AND p.endpoint_name=? AND p.expr_proto_hash=? AND s.window_from>=c.normalized_instant)
		UNION ALL
		SELECT v.window_from, v.window_to, 0 FROM ing_coverage v JOIN ing_cursor c ON c.id=v.cursor_id
		WHERE c.provenance_code=? AND c.cursor_key=? AND (c.operation_code=? AND c.namespace_scope_code=? AND c.namespace_key=?
			OR c.operation_code='BACKFILL' AND EXISTS (SELECT 1 FROM ing_plan p
				WHERE p.cursor_id=c.id AND p.endpoint_name=? AND p.expr_proto_hash=?))
		ORDER BY 1, 2`,
		ns.Provenance, ns.CursorKey, ns.Operation, ns.Scope, ns.Key, endpoint, selection,
		ns.Provenance, ns.CursorKey, ns.Operation, ns.Scope, ns.Key, endpoint, selection)
	if err != nil {
		return nil, nil, fmt.Errorf("proven windows of %s %s: %w", ns.Provenance, ns, err)
	}
	return proven, accepted, nil
}

// Unstored tells what is known of records that a window holds here and not
// upstream, or the other way. What is not stored has no date but that of the
// slice it came with.
func (s *Store) Unstored(ctx context.Context, provenance, recordType string, w harvest.Window) (out harvest.Unstored, err error) {
	fail := func(err error) (harvest.Unstored, error) {
		return harvest.Unstored{}, fmt.Errorf("look into %s of %s: %w", w, provenance, err)
	}
	within := joinBatch("q.batch_id") + ` LEFT JOIN ing_plan_slice s ON s.id=b.slice_id
		LEFT JOIN ing_record r ON r.provenance_code=q.provenance_code AND r.record_type=q.record_type AND r.ext_id=q.ext_id
		WHERE q.provenance_code=? AND q.record_type=? AND COALESCE(s.window_from, z.window_from)<? AND COALESCE(s.window_to, z.window_to)>?`
	args := []any{provenance, recordType, ts(w.To), ts(w.From)}
	// An item that is stored now was read since.
	if err := s.r.QueryRowContext(ctx, `SELECT COUNT(DISTINCT q.raw_sha256)
		FROM ing_quarantine q`+within+` AND r.id IS NULL`, args...).Scan(&out.Quarantined); err != nil {
		return fail(err)
	}
	if err := s.r.QueryRowContext(ctx, `SELECT COUNT(*)
		FROM ing_bad_id q`+within+` AND r.id IS NULL`, args...).Scan(&out.BadIDs); err != nil {
		return fail(err)
	}
	if err := s.r.QueryRowContext(ctx, `SELECT COUNT(*) FROM ing_record WHERE provenance_code=? AND record_type=? AND updated_at>=?
		AND updated_at<? AND missing_checks>0 AND status_code NOT IN ('GONE','MERGED')`,
		provenance, recordType, ts(w.From), ts(w.To)).Scan(&out.Missing); err != nil {
		return fail(err)
	}
	var read ts
	if err := s.r.QueryRowContext(ctx, `SELECT MAX(x.at) FROM (
		SELECT s.updated_at AS at FROM ing_plan_slice s JOIN ing_cursor c ON c.id=s.cursor_id
		WHERE c.provenance_code=? AND c.operation_code<>'UPDATE' AND s.status_code='DONE' AND s.window_from<? AND s.window_to>?
		UNION ALL SELECT v.proven_at FROM ing_coverage v JOIN ing_cursor c ON c.id=v.cursor_id
		WHERE c.provenance_code=? AND c.operation_code<>'UPDATE' AND v.window_from<? AND v.window_to>?) x`,
		provenance, ts(w.To), ts(w.From), provenance, ts(w.To), ts(w.From)).Scan(&read); err != nil {
		return fail(err)
	}
	out.ReadAt = read.time()
	return out, nil
}

// CountUpdated counts, in one pass, the records whose newest version was updated
// in each of the windows. Those must be in order and not overlap. A record that
// the source lists as deleted is one of those it counts; one that it was asked
// for and did not find is not.
func (s *Store) CountUpdated(ctx context.Context, provenance, recordType string, windows []harvest.Window) ([]int64, error) {
	out := make([]int64, len(windows))
	if len(windows) == 0 {
		return out, nil
	}
	err := s.each(ctx, func(r *sql.Rows) error {
		var at ts
		if err := r.Scan(&at); err != nil {
			return err
		}
		i, found := slices.BinarySearchFunc(windows, at.time(), func(w harvest.Window, t time.Time) int {
			switch {
			case t.Before(w.From):
				return 1
			case !t.Before(w.To):
				return -1
			}
			return 0
		})
		if found {
			out[i]++
		}
		return nil
	}, `SELECT updated_at FROM ing_record WHERE provenance_code=? AND record_type=? AND status_code<>'MERGED'
		AND NOT (status_code='GONE' AND missing_checks>0) AND updated_at >= ? AND updated_at < ?`,
		provenance, recordType, ts(windows[0].From), ts(windows[len(windows)-1].To))
	if err != nil {
		return nil, fmt.Errorf("count records of %s: %w", provenance, err)
	}
	return out, nil
}
