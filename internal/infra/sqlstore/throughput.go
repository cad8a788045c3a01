package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// pagesOfThroughput bounds the pages of an operation that are summed up.
const pagesOfThroughput = 500

// PageSums sums up the newest pages of sources along an index. Where one operation has more
// than are looked at, what the others did before its first page is left out: sums of
// different times would not go together.
func (s *Store) PageSums(ctx context.Context, codes []string, since time.Time) (map[string]control.PageSums, error) {
	firsts, err := s.throughputBegins(ctx, codes, since)
	if err != nil {
		return nil, err
	}
	var asked []string
	for _, op := range source.Operations {
		for _, state := range []harvest.BatchState{harvest.BatchSucceeded, harvest.BatchFailed} {
			asked = append(asked, fmt.Sprintf(`SELECT ? AS code, '%s' AS state, COUNT(*), COALESCE(SUM(n.inserted+n.updated),0), COALESCE(SUM(n.sent),0), COALESCE(SUM(n.http_429),0)
				FROM (SELECT inserted, updated, sent, http_429 FROM ing_task_run_batch /*! FORCE INDEX (idx_batch_prov) */
				WHERE provenance_code=? AND operation_code='%s' AND status_code='%s' AND committed_at>=? ORDER BY committed_at DESC LIMIT ?) n`, state, op, state))
		}
	}
	args := func(code string) (out []any) {
		for range asked {
			out = append(out, code, code, ts(later(since, firsts[code])), pagesOfThroughput)
		}
		return out
	}
	out := map[string]control.PageSums{}
	err = s.eachOf(ctx, codes, strings.Join(asked, ` UNION ALL `), args, func(r *sql.Rows) error {
		var code string
		var state harvest.BatchState
		var pages, records, sent, throttled int64
		if err := r.Scan(&code, &state, &pages, &records, &sent, &throttled); err != nil {
			return err
		}
		p := out[code]
		p.First = firsts[code]
		p.More = !p.First.IsZero()
		if state == harvest.BatchSucceeded {
			p.Stored += pages
		} else {
			p.Failed += pages
		}
		p.Records += records
		p.Sent += sent
		p.HTTP429 += throttled
		out[code] = p
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("sum up what came: %w", err)
	}
	return out, nil
}

// throughputBegins is when the last of the pages ended that are looked at of a source, for
// those that have more; of several operations the latest.
func (s *Store) throughputBegins(ctx context.Context, codes []string, since time.Time) (map[string]time.Time, error) {
	var asked []string
	for _, op := range source.Operations {
		for _, state := range []harvest.BatchState{harvest.BatchSucceeded, harvest.BatchFailed} {
			asked = append(asked, fmt.Sprintf(`SELECT code, committed_at FROM (SELECT provenance_code AS code, committed_at FROM ing_task_run_batch /*! FORCE INDEX (idx_batch_prov) */
				WHERE provenance_code=? AND operation_code='%s' AND status_code='%s' AND committed_at>=? ORDER BY committed_at DESC LIMIT 1 OFFSET %d) n`, op, state, pagesOfThroughput-1))
		}
	}
	args := func(code string) (out []any) {
		for range asked {
			out = append(out, code, ts(since))
		}
		return out
	}
	out := map[string]time.Time{}
	err := s.eachOf(ctx, codes, strings.Join(asked, ` UNION ALL `), args, func(r *sql.Rows) error {
		var code string
		var first ts
		if err := r.Scan(&code, &first); err != nil {
			return err
		}
		out[code] = later(out[code], first.time())
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find the first page that is looked at: %w", err)
	}
	return out, nil
}

// later is the later of two instants.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
