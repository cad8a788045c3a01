package sqlstore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// Candidates lists the ids of records that are to be read again, those longest
// not seen first.
func (s *Store) Candidates(ctx context.Context, provenance, recordType, mapping string, pick harvest.CandidatePick) ([]string, error) {
	if len(pick.IDs) > 0 {
		return pick.IDs, nil
	}
	where, args := ``, []any{provenance, recordType}
	switch {
	case pick.MappingChanged:
		where, args = ` AND mapping_version<>?`, append(args, mapping)
	case !pick.SeenBefore.IsZero():
		where, args = ` AND observed_at<?`, append(args, ts(pick.SeenBefore))
	default:
		return nil, fmt.Errorf("which records are to be read again was not said")
	}
	q := `SELECT ext_id FROM ing_record WHERE provenance_code=? AND record_type=?` + where + ` ORDER BY observed_at, id`
	if pick.Max > 0 {
		q, args = q+` LIMIT ?`, append(args, pick.Max)
	}
	var out []string
	err := s.each(ctx, func(r *sql.Rows) error {
		var id string
		if err := r.Scan(&id); err != nil {
			return err
		}
		out = append(out, id)
		return nil
	}, q, args...)
	if err != nil {
		return nil, fmt.Errorf("list records to read again: %w", err)
	}
	return out, nil
}

func (x *tx) insertCandidates(plan harvest.PlanID, ids []string) error {
	at := 0
	for part := range chunks(ids, rowsPerInsert) {
		args := make([]any, 0, 3*len(part))
		for _, id := range part {
			args = append(args, plan, at, id)
			at++
		}
		if _, err := x.exec(`INSERT INTO ing_plan_candidate (plan_id, ordinal, ext_id) VALUES `+marks(len(part), 3), args...); err != nil {
			return fmt.Errorf("freeze candidates: %w", err)
		}
	}
	return nil
}
