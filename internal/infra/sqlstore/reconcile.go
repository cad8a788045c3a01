package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// Proven lists the windows of a namespace that are proven complete, in order.
func (s *Store) Proven(ctx context.Context, ns harvest.Namespace) ([]harvest.Window, error) {
	var out []harvest.Window
	err := s.each(ctx, func(r *sql.Rows) error {
		var from, to ts
		if err := r.Scan(&from, &to); err != nil {
			return err
		}
		out = append(out, harvest.Window{From: from.time(), To: to.time()})
		return nil
	}, `SELECT s.window_from, s.window_to FROM ing_plan_slice s JOIN ing_cursor c ON c.id=s.cursor_id
		WHERE c.provenance_code=? AND c.operation_code=? AND c.cursor_key=? AND c.namespace_scope_code=? AND c.namespace_key=?
		AND s.status_code='DONE' AND s.window_to <= c.normalized_instant ORDER BY s.window_from, s.window_to`,
		ns.Provenance, ns.Operation, ns.CursorKey, ns.Scope, ns.Key)
	if err != nil {
		return nil, fmt.Errorf("proven windows of %s %s: %w", ns.Provenance, ns, err)
	}
	return out, nil
}

// CountUpdated counts, in one pass, the records whose newest version was updated
// in each of the windows. Those must be in order and not overlap.
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
	}, `SELECT updated_at FROM ing_record WHERE provenance_code=? AND record_type=? AND status_code NOT IN ('GONE','MERGED') AND updated_at >= ? AND updated_at < ?`,
		provenance, recordType, ts(windows[0].From), ts(windows[len(windows)-1].To))
	if err != nil {
		return nil, fmt.Errorf("count records of %s: %w", provenance, err)
	}
	return out, nil
}
