package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// What the runs of a slice have come to is kept with the slice, and in the index that
// drawings of many slices read: the sums of 40,000 slices cost no look at their pages. A
// run adds its own in the transaction in which it ends; one that goes on is not in it.

// sliceShare is what one run adds to its slice. Records are those of stored pages, the
// rest is of all pages that were asked for.
type sliceShare struct {
	id      harvest.SliceID
	records int64
	asked   int64 // pages for which a request was sent
	latency int64 // how long these took together, in milliseconds
	http429 int64
}

// empty reports whether nothing was asked for.
func (s sliceShare) empty() bool { return s.records+s.asked+s.http429 == 0 }

// How pages of a run are summed up for its slice.
const (
	sliceAsked   = `COALESCE(SUM(CASE WHEN sent>0 THEN 1 ELSE 0 END),0)`
	sliceLatency = `COALESCE(SUM(CASE WHEN sent>0 THEN JSON_EXTRACT(stats, '$.latencyMs')+0 END),0)`
	sliceRecords = `COALESCE(SUM(CASE WHEN status_code='SUCCEEDED' THEN inserted+updated+remapped+unchanged+stale ELSE 0 END),0)`
)

// addSliceShare adds what a run that ends has come to to its slice.
func (x *tx) addSliceShare(s sliceShare) error {
	if s.empty() {
		return nil
	}
	_, err := x.exec(`UPDATE ing_plan_slice SET records=records+?, pages_asked=pages_asked+?, latency_ms=latency_ms+?, http_429=http_429+? WHERE id=?`,
		s.records, s.asked, s.latency, s.http429, s.id)
	if err != nil {
		return fmt.Errorf("add to the sums of slice %d: %w", s.id, err)
	}
	return nil
}

// SliceDetail reads what was asked of a slice, and what its ended runs came to.
func (s *Store) SliceDetail(ctx context.Context, id harvest.SliceID) (*control.SliceDetail, error) {
	out := new(control.SliceDetail)
	var expected sql.NullInt64
	var cut string
	err := s.r.QueryRowContext(ctx, `SELECT s.expr_snapshot, p.expr_proto_snapshot, s.slice_spec, s.expected, s.records, s.pages_asked, s.latency_ms, s.http_429
		FROM ing_plan_slice s JOIN ing_plan p ON p.id=s.plan_id WHERE s.id=?`, id).
		Scan(&out.Localized, &out.Prototype, &cut, &expected, &out.Records, &out.Asked, &out.Latency, &out.HTTP429)
	if err != nil {
		return nil, fmt.Errorf("detail of slice %d: %w", id, err)
	}
	if expected.Valid {
		out.Expected = expected.Int64
		out.Estimated = 1
	}
	var spec harvest.SliceSpec
	if err := json.Unmarshal([]byte(cut), &spec); err != nil {
		return nil, fmt.Errorf("read slice %d: %w", id, err)
	}
	out.Budget = spec.Budget
	return out, nil
}

// checkSliceSums reports slices whose sums are not what the pages of their ended runs say.
// Of a plan that is being archived some pages are gone already.
func (v *verifier) checkSliceSums() error {
	return v.reportRows("slice", `SELECT s.id, 'has sums that are not those of its pages'
		FROM ing_plan_slice s LEFT JOIN (SELECT slice_id, `+sliceRecords+` AS records, `+sliceAsked+` AS asked, `+sliceLatency+` AS latency, SUM(http_429) AS refused
			FROM (SELECT b.slice_id, b.status_code, b.sent, b.stats, b.inserted, b.updated, b.remapped, b.unchanged, b.stale, b.http_429
				FROM ing_task_run_batch b JOIN ing_task_run r ON r.id=b.run_id WHERE r.status_code<>'RUNNING') pages GROUP BY slice_id) k ON k.slice_id=s.id
		WHERE NOT `+isSealed("s.plan_id")+` AND (s.records<>COALESCE(k.records,0) OR s.pages_asked<>COALESCE(k.asked,0)
			OR s.latency_ms<>COALESCE(k.latency,0) OR s.http_429<>COALESCE(k.refused,0))`)
}
