package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// day is the UTC day of an instant: what is done once a day is done once in it.
func day(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// Watched lists the HARVEST namespaces that were planned within
// [harvest.LateOver].
func (s *Store) Watched(ctx context.Context) ([]harvest.Watched, error) {
	now, err := s.Now(ctx)
	if err != nil {
		return nil, err
	}
	var out []harvest.Watched
	err = s.each(ctx, func(r *sql.Rows) error {
		var w harvest.Watched
		var base sql.NullString
		var tuned, walked ts
		ns := &w.Namespace
		err := r.Scan(&w.Cursor, &ns.Provenance, &ns.Operation, &ns.CursorKey, &ns.Scope, &ns.Key, &w.Snapshot, &base, &tuned, &walked)
		w.BaseURL = base.String
		w.TunedAt = tuned.time()
		w.SentinelAt = walked.time()
		out = append(out, w)
		return err
	}, `SELECT c.id, c.provenance_code, c.operation_code, c.cursor_key, c.namespace_scope_code, c.namespace_key, p.spec_snapshot,
		p.base_url, t.tuned_at, t.sentinel_at
		FROM ing_cursor c CROSS JOIN ing_plan p
		LEFT JOIN ing_tuning t ON t.provenance_code=c.provenance_code AND t.namespace_key=c.namespace_key
		WHERE p.id=(SELECT MAX(q.id) FROM ing_plan q WHERE q.cursor_id=c.id) AND c.operation_code=? AND p.created_at>=? ORDER BY c.id`, harvest.Harvest, ts(now.Add(-harvest.LateOver)))
	if err != nil {
		return nil, fmt.Errorf("list namespaces to watch: %w", err)
	}
	return out, nil
}

// ProvenWindows lists the windows of a cursor that end after since and were
// proven by an instant, oldest first.
func (s *Store) ProvenWindows(ctx context.Context, cursor harvest.CursorID, since, by time.Time) ([]harvest.Window, error) {
	rows, err := s.r.QueryContext(ctx, landedSQL, cursor, ts(since), cursor, ts(since))
	if err != nil {
		return nil, fmt.Errorf("list proven windows: %w", err)
	}
	landed, err := scanLanded(rows, time.Time{})
	if err != nil {
		return nil, fmt.Errorf("list proven windows: %w", err)
	}
	var out []harvest.Window
	for i := 0; i < len(landed); {
		w, proven := landed[i].Window, true
		for ; i < len(landed) && landed[i].Window == w; i++ { // the parts of one window
			proven = proven && !landed[i].DoneAt.IsZero() && !landed[i].DoneAt.After(by)
		}
		if proven {
			out = append(out, w)
		}
	}
	return out, nil
}

// ClaimSentinel gives the sentinel of a namespace and a day to one caller.
func (s *Store) ClaimSentinel(ctx context.Context, ns harvest.Namespace, of time.Time) (won bool, err error) {
	err = s.write(ctx, "claim sentinel", func(x *tx) error {
		if err := x.ensureTuningRow(ns); err != nil {
			return err
		}
		at := x.now
		if at.Before(day(of)) {
			at = day(of) // nobody may find the day free again
		}
		n, err := x.exec(`UPDATE ing_tuning SET sentinel_at=?, updated_at=?
			WHERE provenance_code=? AND namespace_key=? AND (sentinel_at IS NULL OR sentinel_at<?)`,
			ts(at), ts(x.now), ns.Provenance, ns.Key, ts(day(of)))
		won = n == 1
		return err
	})
	return won, err
}

// TuneLag moves the safety lag of a namespace, if it was not moved today, and
// leaves a line in the audit if it is another now. It is runtime state: neither
// the registry nor a fingerprint knows of it (C13).
func (s *Store) TuneLag(ctx context.Context, t harvest.Tuning) (won bool, err error) {
	ns := t.Namespace
	err = s.write(ctx, "tune safety lag", func(x *tx) error {
		if err := x.ensureTuningRow(ns); err != nil {
			return err
		}
		var lag any // NULL: as declared
		if t.To != t.Declared {
			lag = t.To.Microseconds()
		}
		n, err := x.exec(`UPDATE ing_tuning SET declared_lag_us=?, safety_lag_us=?, late_rate=?, tuned_at=?, updated_at=?
			WHERE provenance_code=? AND namespace_key=? AND (tuned_at IS NULL OR tuned_at<?)`,
			t.Declared.Microseconds(), lag, t.Rate, ts(x.now), ts(x.now), ns.Provenance, ns.Key, ts(day(x.now)))
		won = n == 1
		if err != nil || !won || t.To == t.From {
			return err
		}
		return x.audit(source.Audit{
			Actor: "patra", Action: "lag.tune", Object: "source/" + ns.Provenance,
			Reason: fmt.Sprintf("%.2f %% came late in 7 days: safety lag of %s from %s to %s", 100*t.Rate, ns, t.From, t.To),
		}, map[string]any{"namespace": ns.String(), "from": t.From.String(), "to": t.To.String(), "declared": t.Declared.String(), "lateRate": t.Rate})
	})
	return won, err
}

// ensureTuningRow makes sure that the namespace has a row for what is tuned.
func (x *tx) ensureTuningRow(ns harvest.Namespace) error {
	_, err := x.exec(x.s.d.insertIgnore+` INTO ing_tuning (provenance_code, namespace_key, updated_at)
		VALUES (?,?,?)`, ns.Provenance, ns.Key, ts(x.now))
	return err
}

// TunedLag is the safety lag that was tuned for a namespace in place of the
// declared one, if it was. Whoever declares another begins anew with it.
func (s *Store) TunedLag(ctx context.Context, ns harvest.Namespace, declared time.Duration) (time.Duration, bool, error) {
	var us sql.NullInt64
	err := s.r.QueryRowContext(ctx, `SELECT safety_lag_us FROM ing_tuning
		WHERE provenance_code=? AND namespace_key=? AND declared_lag_us=?`, ns.Provenance, ns.Key, declared.Microseconds()).Scan(&us)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, false, fmt.Errorf("read tuned lag: %w", err)
	}
	return time.Duration(us.Int64) * time.Microsecond, us.Valid, nil
}
