package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// KeptItems hands items in quarantine to f one by one with the bytes that came, in the
// order in which they were put aside. One whose bytes were not kept is left out.
func (s *Store) KeptItems(ctx context.Context, p harvest.KeptPick, f func(harvest.KeptItem) error) error {
	where := `q.discarded_at IS NULL AND q.provenance_code=? AND q.record_type=?`
	args := []any{p.Provenance, p.RecordType}
	if len(p.Numbers) > 0 {
		where += ` AND q.id IN (` + list(len(p.Numbers)) + `)`
		for _, n := range p.Numbers {
			args = append(args, n)
		}
	}
	if len(p.IDs) > 0 {
		where += ` AND q.ext_id IN (` + list(len(p.IDs)) + `)`
		for _, id := range p.IDs {
			args = append(args, id)
		}
	}
	err := s.each(ctx, func(r *sql.Rows) error {
		var k harvest.KeptItem
		var id, phase sql.NullString
		var packed []byte
		var observed ts
		if err := r.Scan(&k.Number, &id, &packed, &phase, &observed); err != nil {
			return err
		}
		if len(packed) == 0 {
			return nil
		}
		k.ID = id.String
		k.Phase = harvest.Phase(phase.String)
		k.ObservedAt = observed.time()
		var err error
		k.Raw, err = unpack(packed)
		if err != nil {
			return fmt.Errorf("item %d: %w", k.Number, err)
		}
		return f(k)
	}, `SELECT q.id, q.ext_id, q.raw, b.phase, COALESCE(b.opened_at, q.seen_at)
		FROM ing_quarantine q LEFT JOIN ing_task_run_batch b ON b.id=q.batch_id
		WHERE `+where+` ORDER BY q.id`, args...)
	if err != nil {
		return fmt.Errorf("read quarantine of %s: %w", p.Provenance, err)
	}
	return nil
}

// NameKept gives items in quarantine the ids of their records, which can be read now,
// so that a plan for these ids finds them.
func (s *Store) NameKept(ctx context.Context, ids map[int64]string, a source.Audit) error {
	return s.write(ctx, "name items in quarantine", func(x *tx) error {
		for _, number := range slices.Sorted(maps.Keys(ids)) {
			if _, err := x.exec(`UPDATE ing_quarantine SET ext_id=? WHERE id=?`, nullBytes(ids[number], 512), number); err != nil {
				return err
			}
		}
		return x.audit(a, ids)
	})
}

// isKept reports whether the pages of a job are answered from quarantine.
func isKept(job harvest.Job) bool { return job.BaseURL == source.Kept }

// takeOutOfQuarantine removes the items that a page brought out of quarantine: they are
// records now, or older than the records that are held. The selections that waited for these
// records have been joined by them; one that still names an item met it without an id.
func (x *tx) takeOutOfQuarantine(prov string, b harvest.Batch) error {
	hashes := make([]any, len(b.Records))
	for i := range b.Records {
		hashes[i] = b.Records[i].RawSHA256[:]
	}
	for part := range chunks(hashes, rowsPerInsert) {
		args := append([]any{prov, b.RecordType}, part...)
		items := ` FROM ing_quarantine WHERE provenance_code=? AND record_type=? AND raw_sha256 IN (` + list(len(part)) + `)`
		if _, err := x.exec(`DELETE FROM ing_selection_item WHERE item_id IN (SELECT id`+items+`)`, args...); err != nil {
			return fmt.Errorf("forget items of selections: %w", err)
		}
		if _, err := x.exec(`DELETE`+items, args...); err != nil {
			return fmt.Errorf("take items out of quarantine: %w", err)
		}
	}
	return nil
}
