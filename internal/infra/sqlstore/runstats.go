package sqlstore

import (
	"database/sql"
	"fmt"
	"strings"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// openRun is an attempt that nobody has closed.
type openRun struct {
	id    harvest.RunID
	fence int64
}

// openRuns lists the attempts that are open under a condition; mostly there is none.
func (x *tx) openRuns(where string, args ...any) ([]openRun, error) {
	var out []openRun
	err := x.each(func(r *sql.Rows) error {
		var o openRun
		if err := r.Scan(&o.id, &o.fence); err != nil {
			return err
		}
		out = append(out, o)
		return nil
	}, `SELECT id, fence FROM ing_task_run WHERE status_code='RUNNING' AND `+where+` ORDER BY id`, args...)
	if err != nil {
		return nil, fmt.Errorf("look for open runs: %w", err)
	}
	return out, nil
}

// closeRun ends an attempt that must be open. Its pages are closed before: what they
// tell is summed up with it.
func (x *tx) closeRun(id harvest.RunID, fence int64, state harvest.RunState, code harvest.Code, detail string, marks harvest.HealMarks) error {
	n, err := x.closeOpenRun(id, fence, state, code, detail, marks)
	if err != nil {
		return err
	}
	if n == 0 {
		return notAsLeft(fmt.Sprintf("run %d", id))
	}
	return nil
}

// closeOpenRun ends an attempt if it is open, and tells how many that were.
func (x *tx) closeOpenRun(id harvest.RunID, fence int64, state harvest.RunState, code harvest.Code, detail string, marks harvest.HealMarks) (int64, error) {
	sum, share, err := x.runStats(id)
	if err != nil {
		return 0, err
	}
	marks.ConcurrencyDown = sum.ConcurrencyDown
	sum.HealMarks = marks
	sum.HasNext = state != harvest.RunSucceeded
	stats, err := jsonText(sum)
	if err != nil {
		return 0, err
	}
	n, err := x.exec(`UPDATE ing_task_run SET status_code=?, error_code=?, error=?, stats=?, finished_at=?
		WHERE id=? AND fence=? AND `+mayBecome(state),
		state, null(clip(code, 64)), null(detail), stats, ts(x.now), id, fence)
	if err != nil {
		return 0, fmt.Errorf("close run %d: %w", id, err)
	}
	if n > 0 {
		x.shares = append(x.shares, share)
	}
	return n, nil
}

// sumsOf sums up numbers in the stats of pages; pages of before they were kept have none.
func sumsOf(keys ...string) string {
	sums := make([]string, len(keys))
	for i, key := range keys {
		sums[i] = `SUM(JSON_EXTRACT(stats, '$.` + key + `')+0)`
	}
	return strings.Join(sums, ", ")
}

// runStats sums up the pages of a run, and what it adds to the totals of its plan and
// of its slice.
func (x *tx) runStats(id harvest.RunID) (s harvest.RunStats, share planShare, err error) {
	var latency, slowest, waited, spent sql.NullFloat64
	var plan, slice sql.NullInt64
	into := []any{
		&s.Sent, &s.Items, &s.Inserted, &s.Updated, &s.Skipped, &s.Quarantined, &s.Retried, &s.HTTP429, &s.HTTP5xx, &s.Bytes,
		&s.Pages, &s.PagesFailed, &latency, &slowest, &waited, &plan, &slice,
	}
	var sums [7]sql.NullFloat64
	for i := range sums {
		into = append(into, &sums[i])
	}
	into = append(into, &share.slice.asked, &spent)
	err = x.row(`SELECT COALESCE(SUM(sent),0), COALESCE(SUM(items),0), COALESCE(SUM(inserted),0), COALESCE(SUM(updated+remapped),0),
		COALESCE(SUM(unchanged+stale+filtered),0), COALESCE(SUM(quarantined),0), COALESCE(SUM(retried),0), COALESCE(SUM(http_429),0),
		COALESCE(SUM(http_5xx),0), COALESCE(SUM(bytes),0),
		COALESCE(SUM(CASE WHEN status_code='SUCCEEDED' THEN 1 ELSE 0 END),0),
		COALESCE(SUM(CASE WHEN status_code='FAILED' THEN 1 ELSE 0 END),0),
		AVG(CASE WHEN sent>0 THEN JSON_EXTRACT(stats, '$.latencyMs')+0 END),
		MAX(JSON_EXTRACT(stats, '$.latencyMs')+0), SUM(JSON_EXTRACT(stats, '$.waitMs')+0), MAX(plan_id), MAX(slice_id),
		`+sumsOf("permitsTotal", "retryAfterHits", "demoteEvents", "quotaSoftHits", "quotaHardHits", "retryAfterMs", "concurrencyDown")+`,
		`+sliceAsked+`, `+sliceLatency+`, `+storedSums+`
		FROM ing_task_run_batch WHERE run_id=?`, id).
		Scan(append(into, share.fields()...)...)
	if err != nil {
		return s, share, fmt.Errorf("sum up run %d: %w", id, err)
	}
	share.plan = harvest.PlanID(plan.Int64)
	share.slice.id = harvest.SliceID(slice.Int64)
	share.slice.latency = int64(spent.Float64)
	share.slice.http429 = s.HTTP429
	share.slice.records = share.records.Read()
	s.AvgLatency = int64(latency.Float64)
	s.MaxLatency = int64(slowest.Float64)
	s.WaitTotal = int64(waited.Float64)
	s.RateSums = harvest.RateSums{
		Permits: int64(sums[0].Float64), RetryAfter: int64(sums[1].Float64), Demoted: int64(sums[2].Float64),
		QuotaSoft: int64(sums[3].Float64), QuotaHard: int64(sums[4].Float64), RetryAfterMs: int64(sums[5].Float64),
	}
	s.ConcurrencyDown = int64(sums[6].Float64)
	if s.PagesFailed == 0 {
		return s, share, nil
	}
	err = x.each(func(r *sql.Rows) error {
		var e harvest.RunError
		if err := r.Scan(&e.Code, &e.Pages); err != nil {
			return err
		}
		s.Errors = append(s.Errors, e)
		return nil
	}, `SELECT COALESCE(error_code, ''), COUNT(*) FROM ing_task_run_batch
		WHERE run_id=? AND status_code='FAILED' GROUP BY error_code ORDER BY error_code`, id)
	if err != nil {
		return s, share, fmt.Errorf("sum up the faults of run %d: %w", id, err)
	}
	return s, share, nil
}
