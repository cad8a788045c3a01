package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"time"

	"github.com/papertrace/patra/internal/app/alert"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// pagesLookedAt bounds the pages of a source and operation among which shares are told:
// the newest of them.
const pagesLookedAt = 500

// Traffic tells how the newest pages of a source fared since an instant.
func (s *Store) Traffic(ctx context.Context, code string, since time.Time) (out []alert.Traffic, err error) {
	// The states are no parameters: an index holds for one of them alone, and SQLite would take
	// the statement apart anew with every value that is bound to it.
	const (
		cols    = `status_code, committed_at, http_429, items, quarantined, bad_ids, error_code`
		newest  = `SELECT ` + cols + ` FROM (SELECT ` + cols + ` FROM ing_task_run_batch WHERE provenance_code=? AND operation_code=? AND status_code=`
		ordered = ` AND committed_at>=? ORDER BY committed_at DESC LIMIT ?) `
		good    = newest + `'SUCCEEDED'` + ordered + `good`
		bad     = newest + `'FAILED'` + ordered + `bad`
	)
	for _, op := range []harvest.Operation{harvest.Harvest, harvest.Backfill, harvest.Update} {
		t := alert.Traffic{Operation: op}
		err := s.r.QueryRowContext(ctx, `SELECT COALESCE(SUM(CASE WHEN lost=0 THEN 1 ELSE 0 END),0),
			COALESCE(SUM(CASE WHEN lost=0 AND status_code='FAILED' THEN 1 ELSE 0 END),0), COALESCE(SUM(http_429),0),
			COALESCE(SUM(lost),0), COALESCE(SUM(items+bad_ids),0), COALESCE(SUM(quarantined+bad_ids),0)
			FROM (SELECT status_code, http_429, items, quarantined, bad_ids, CASE WHEN error_code=? THEN 1 ELSE 0 END AS lost
				FROM (`+good+` UNION ALL `+bad+`) pages_of_both ORDER BY committed_at DESC LIMIT ?) newest_pages`,
			harvest.CodeAbandoned, code, op, ts(since), pagesLookedAt, code, op, ts(since), pagesLookedAt, pagesLookedAt).
			Scan(&t.Pages, &t.Failed, &t.Throttled, &t.Lost, &t.Items, &t.Aside)
		if err != nil {
			return nil, fmt.Errorf("look at the pages of %s: %w", code, err)
		}
		if t != (alert.Traffic{Operation: op}) {
			out = append(out, t)
		}
	}
	return out, nil
}

// usualOver is how far back it is looked for what is usual.
const usualOver = 24 * time.Hour

// NoteQueues implements alert.Store.
func (s *Store) NoteQueues(ctx context.Context, looks []alert.QueueLook) error {
	if len(looks) == 0 {
		return nil
	}
	return s.write(ctx, "note queues", func(x *tx) error {
		hour := ts(x.now.Truncate(time.Hour))
		for _, l := range looks {
			n, err := x.exec(`UPDATE ing_queue_history SET looks=looks+1, total=total+?, squares=squares+?
				WHERE provenance_code=? AND operation_code=? AND hour_at=?`, l.Waiting, l.Waiting*l.Waiting, l.Source, l.Operation, hour)
			if err == nil && n == 0 {
				_, err = x.exec(`INSERT INTO ing_queue_history (provenance_code, operation_code, hour_at, looks, total, squares) VALUES (?,?,?,1,?,?)`,
					l.Source, l.Operation, hour, l.Waiting, l.Waiting*l.Waiting)
				err = x.orLostRace(err)
			}
			if err != nil {
				return fmt.Errorf("note the queue of %s: %w", l.Source, err)
			}
		}
		_, err := x.exec(`DELETE FROM ing_queue_history WHERE hour_at<?`, ts(x.now.Add(-usualOver-time.Hour)))
		return err
	})
}

// UsualQueues tells how long queues were in the last day, by source and operation.
func (s *Store) UsualQueues(ctx context.Context) (map[harvest.Partition]alert.Queue, error) {
	out := map[harvest.Partition]alert.Queue{}
	now, err := s.Now(ctx)
	if err != nil {
		return nil, err
	}
	err = s.each(ctx, func(r *sql.Rows) error {
		var p harvest.Partition
		var q alert.Queue
		var total, squares float64
		if err := r.Scan(&p.Provenance, &p.Operation, &q.Looks, &total, &squares); err != nil {
			return err
		}
		n := float64(q.Looks)
		q.Mean = total / n
		q.Deviation = math.Sqrt(max(0, squares/n-q.Mean*q.Mean))
		out[p] = q
		return nil
	}, `SELECT provenance_code, operation_code, SUM(looks), SUM(total), SUM(squares) FROM ing_queue_history WHERE hour_at>=?
		GROUP BY provenance_code, operation_code`, ts(now.Add(-usualOver)))
	if err != nil {
		return nil, fmt.Errorf("read how long queues were: %w", err)
	}
	return out, nil
}
