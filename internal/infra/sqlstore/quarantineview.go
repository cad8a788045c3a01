package sqlstore

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// quarantineCols are read from ing_quarantine q and the record of the same id, r.
const quarantineCols = `q.id, q.provenance_code, q.record_type, q.ext_id, q.code, q.path, q.detail, q.batch_id, q.created_at, q.seen_at,
	q.raw_sha256, q.discarded_at, r.observed_at`

// joinRecord finds that record by its key.
func (s *Store) joinRecord() string {
	return ` LEFT JOIN ing_record r` + s.d.recordIndex + ` ON r.provenance_code=q.provenance_code AND r.record_type=q.record_type AND r.ext_id=q.ext_id`
}

func scanQuarantineRow(r scanner, more ...any) (control.QuarantineRow, error) {
	var row control.QuarantineRow
	var record, path, detail sql.NullString
	var first, last, discarded, read ts
	var sha []byte
	to := []any{&row.ID, &row.Source, &row.Type, &record, &row.Code, &path, &detail, &row.Batch, &first, &last, &sha, &discarded, &read}
	err := r.Scan(append(to, more...)...)
	row.Record = record.String
	row.Path = path.String
	row.Detail = detail.String
	row.First = control.Time(first.time())
	row.Last = control.Time(last.time())
	row.RawSHA256 = hex.EncodeToString(sha)
	if !discarded.time().IsZero() {
		row.DiscardedAt = new(control.Time(discarded.time()))
	}
	row.ReadSince = read.time().After(last.time())
	return row, err
}

// QuarantineRows reads items in quarantine, the newest first.
func (s *Store) QuarantineRows(ctx context.Context, q control.QuarantineQuery) ([]control.QuarantineRow, error) {
	out := []control.QuarantineRow{}
	query, args := s.quarantineSQL(q)
	err := s.each(ctx, func(r *sql.Rows) error {
		row, err := scanQuarantineRow(r)
		out = append(out, row)
		return err
	}, query, args...)
	if err != nil {
		return nil, fmt.Errorf("list quarantine: %w", err)
	}
	return out, nil
}

// quarantineSQL lists items. Those of all sources are read along an index of what is not
// discarded, those of a source along its own; a record or some numbers are found at once.
func (s *Store) quarantineSQL(q control.QuarantineQuery) (string, []any) {
	where := `q.discarded_at IS NULL`
	index := ""
	switch {
	case q.Discarded:
		where = `q.discarded_at IS NOT NULL`
	case q.Record != "" || len(q.Items) > 0:
	case q.Source == "":
		index = s.d.itemIndex
	default:
		index = s.d.sourceItemIndex
	}
	var args []any
	for _, c := range []struct{ column, value string }{
		{"q.provenance_code", q.Source}, {"q.code", string(q.Code)}, {"q.ext_id", q.Record},
	} {
		if c.value != "" {
			where += ` AND ` + c.column + `=?`
			args = append(args, c.value)
		}
	}
	if len(q.Items) > 0 {
		where += ` AND q.id IN (` + list(len(q.Items)) + `)`
		for _, id := range q.Items {
			args = append(args, id)
		}
	}
	if q.Before != 0 {
		where += ` AND q.id<?`
		args = append(args, q.Before)
	}
	return `SELECT ` + quarantineCols + ` FROM (SELECT q.id AS item_id FROM ing_quarantine q` + index + ` WHERE ` + where + `
		ORDER BY q.id DESC LIMIT ?) k JOIN ing_quarantine q ON q.id=k.item_id` + s.joinRecord() + ` ORDER BY q.id DESC`, append(args, q.Limit)
}

// QuarantineItem reads an item in quarantine with its bytes. Of one that was discarded,
// or that was too large to be kept, there are none.
func (s *Store) QuarantineItem(ctx context.Context, id int64) (control.QuarantineRow, []byte, error) {
	var packed []byte
	row, err := scanQuarantineRow(s.r.QueryRowContext(ctx, `SELECT `+quarantineCols+`, q.raw FROM ing_quarantine q`+s.joinRecord()+` WHERE q.id=?`, id), &packed)
	if errors.Is(err, sql.ErrNoRows) {
		err = harvest.ErrNotFound
	}
	var raw []byte
	if err == nil && len(packed) > 0 {
		raw, err = unpack(packed)
	}
	if err != nil {
		return row, nil, fmt.Errorf("item %d in quarantine: %w", id, err)
	}
	return row, raw, nil
}

// Discard takes the bytes of an item in quarantine away. Its row stays, so that the
// same item is known when it comes again.
func (s *Store) Discard(ctx context.Context, id int64, a source.Audit) error {
	return s.write(ctx, "discard an item", func(x *tx) error {
		n, err := x.exec(`UPDATE ing_quarantine SET discarded_at=?, raw=? WHERE id=? AND discarded_at IS NULL`, ts(x.now), []byte{}, id)
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("item %d in quarantine: %w", id, harvest.ErrNotFound)
		}
		return x.audit(a, map[string]int64{"item": id})
	})
}
