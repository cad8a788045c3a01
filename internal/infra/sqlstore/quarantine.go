package sqlstore

import (
	"fmt"
	"maps"
	"slices"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// quarantineRow is a row of ing_quarantine to be written.
type quarantineRow struct {
	harvest.Quarantined
	code string
}

// insertQuarantine keeps the items of a page that cannot be stored as records. An item
// has one row for each cause, however often it comes and by however many walks: the
// row then only learns which page brought it last.
func (x *tx) insertQuarantine(job harvest.Job, b harvest.Batch) error {
	if len(b.Quarantined) == 0 {
		return nil
	}
	prov := job.Provenance
	rows := quarantineRows(b)
	byCode := hashesByCode(rows)
	for _, code := range slices.Sorted(maps.Keys(byCode)) {
		if err := x.noteSeenAgain(prov, b, code, byCode[code]); err != nil {
			return err
		}
	}
	const cols = `batch_id, provenance_code, record_type, ext_id, code, path, detail, raw, raw_sha256, created_at, seen_at`
	for part := range thatFit(x.s, rows, func(r quarantineRow) int { return len(r.Raw) + len(r.Problem.Detail) }) {
		args := make([]any, 0, len(part)*columns(cols))
		for _, q := range part {
			packed, detail := x.packQuarantined(q)
			args = append(args, b.ID, prov, b.RecordType, nullBytes(q.ID, 512), q.code, null(clip(q.Problem.Path, 255)),
				null(detail), packed, q.RawSHA256[:], ts(x.now), ts(x.now))
		}
		// Another walk may be inserting the same item at this moment.
		if _, err := x.exec(x.s.d.insertIgnore+` INTO ing_quarantine (`+cols+`)
			VALUES `+marks(len(part), columns(cols)), args...); err != nil {
			return fmt.Errorf("quarantine: %w", err)
		}
	}
	return x.noteItems(job, b)
}

func quarantineRows(b harvest.Batch) []quarantineRow {
	rows := make([]quarantineRow, len(b.Quarantined))
	for i, q := range b.Quarantined {
		rows[i] = quarantineRow{Quarantined: q, code: clip(q.Problem.Code, 64)}
	}
	return rows
}

// packQuarantined packs an item. Of one that is larger than the server takes only the hash
// is kept, which the detail then tells.
func (x *tx) packQuarantined(q quarantineRow) (packed []byte, detail string) {
	packed = pack(q.Raw)
	if x.s.tooLarge(len(packed)) {
		return []byte{}, fmt.Sprintf("%s (its %d bytes are not kept, only their hash)", q.Problem.Detail, len(q.Raw))
	}
	return packed, q.Problem.Detail
}

func hashesByCode(rows []quarantineRow) map[string][]any {
	out := make(map[string][]any)
	for _, r := range rows {
		out[r.code] = append(out[r.code], r.RawSHA256[:])
	}
	return out
}

// noteSeenAgain notes on items that are in quarantine already that this page brought them.
func (x *tx) noteSeenAgain(prov string, b harvest.Batch, code string, hashes []any) error {
	for part := range chunks(hashes, rowsPerInsert) {
		args := append([]any{b.ID, ts(x.now), prov, b.RecordType, code}, part...)
		if _, err := x.exec(`UPDATE ing_quarantine SET batch_id=?, seen_at=?
			WHERE provenance_code=? AND record_type=? AND code=? AND raw_sha256 IN (`+list(len(part))+`)`, args...); err != nil {
			return fmt.Errorf("quarantine: %w", err)
		}
	}
	return nil
}
