package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// newestSpentSQL reads when the newest pages of a source, operation and state ended, and
// what was sent for them.
const newestSpentSQL = `SELECT committed_at, sent, http_429, COALESCE(JSON_EXTRACT(stats, '$.waitMs')+0, 0) FROM ing_task_run_batch
	WHERE provenance_code=? AND operation_code=? AND status_code=? AND committed_at>=? ORDER BY committed_at DESC LIMIT ?`

// PagesByMinute sums up pages by the minute in which they ended, along an index and no
// more than so many of each kind.
func (s *Store) PagesByMinute(ctx context.Context, codes []string, since time.Time, most int) ([]control.RateMinute, bool, error) {
	sums := map[time.Time]*control.RateMinute{}
	more := false
	for _, code := range codes {
		for _, op := range source.Operations {
			for _, state := range []harvest.BatchState{harvest.BatchSucceeded, harvest.BatchFailed} {
				n := 0
				err := s.each(ctx, func(r *sql.Rows) error {
					var at ts
					var sent, throttled int64
					var waited float64
					if err := r.Scan(&at, &sent, &throttled, &waited); err != nil {
						return err
					}
					n++
					minute := at.time().Truncate(time.Minute)
					if sums[minute] == nil {
						sums[minute] = &control.RateMinute{At: control.Time(minute)}
					}
					sum := sums[minute]
					sum.Requests += sent
					sum.HTTP429 += throttled
					sum.Pages++
					sum.Wait += int64(waited)
					return nil
				}, newestSpentSQL, code, op, state, ts(since), most)
				if err != nil {
					return nil, false, fmt.Errorf("sum up pages of %s by the minute: %w", code, err)
				}
				more = more || n == most
			}
		}
	}
	out := make([]control.RateMinute, 0, len(sums))
	for _, sum := range sums {
		out = append(out, *sum)
	}
	slices.SortFunc(out, func(a, b control.RateMinute) int { return time.Time(a.At).Compare(time.Time(b.At)) })
	return out, more, nil
}
