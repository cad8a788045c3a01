package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// mergeAbsences merges what an UPDATE did not find, or found under another id (R31),
// and returns the ids of which a stored record now says so. Rows are never deleted: that
// a record is gone, or was merged into another, is a revision like any other.
func (x *tx) mergeAbsences(prov string, b harvest.Batch, existing map[string]storedRecord, c *harvest.Counts) (map[string]bool, error) {
	settled := make(map[string]bool)
	var observed []any
	for _, m := range b.Merged {
		old, ok := existing[m.ID]
		if !ok {
			continue
		}
		settled[m.ID] = true
		switch {
		case old.Version.ObservedAt.After(b.OpenedAt): // seen under its own id since
		case old.Status == harvest.RecordMerged && old.into == m.Into:
			observed = append(observed, old.id)
		default:
			c.Merged++
			if err := x.revise(prov, old, b, harvest.RecordMerged, m.Into); err != nil {
				return nil, err
			}
		}
	}
	for _, id := range b.Absent {
		old, ok := existing[id]
		if !ok || settled[id] {
			continue
		}
		settled[id] = true
		switch harvest.JudgeAbsence(old.StoredRecord, old.missing, b.OpenedAt) {
		case harvest.AbsentKnown:
			observed = append(observed, old.id)
		case harvest.AbsentOnce:
			c.Missing++
			if _, err := x.exec(`UPDATE ing_record SET missing_since=COALESCE(missing_since, ?), missing_checks=missing_checks+1
				WHERE id=?`, ts(b.OpenedAt), old.id); err != nil {
				return nil, fmt.Errorf("note missing record: %w", err)
			}
		case harvest.AbsentGone:
			c.Gone++
			if err := x.revise(prov, old, b, harvest.RecordGone, ""); err != nil {
				return nil, err
			}
		}
	}
	return settled, x.observeRecords(observed, b)
}

// revise gives a record a status that no item of the page says: a revision with the
// content that the record had last, observed with this page.
func (x *tx) revise(prov string, old storedRecord, b harvest.Batch, status harvest.RecordStatus, into string) error {
	if _, err := x.exec(`INSERT INTO ing_record_version (record_id, revision, effect_code, status_code, updated_at, provider_version, observed_at,
			content_hash, raw_sha256, mapping_version, batch_id, raw, fields, codec_code, dictionary_id, created_at)
		SELECT record_id, revision+1, 'updated', ?, updated_at, provider_version, ?, content_hash, raw_sha256, mapping_version,
			?, raw, fields, codec_code, dictionary_id, ?
		FROM ing_record_version WHERE record_id=? AND revision=?`,
		status, ts(b.OpenedAt), b.ID, ts(x.now), old.id, old.revision); err != nil {
		return fmt.Errorf("insert version: %w", err)
	}
	checks := `missing_checks=missing_checks+1`
	if status != harvest.RecordGone {
		checks = `missing_since=NULL, missing_checks=0`
	}
	if _, err := x.exec(`UPDATE ing_record SET status_code=?, revision=?, observed_at=?, merged_into=?, `+checks+`, changed_at=?
		WHERE id=?`,
		status, old.revision+1, ts(b.OpenedAt), nullBytes(into, 512), ts(x.now), old.id); err != nil {
		return fmt.Errorf("update record: %w", err)
	}
	_, err := x.insertQueue(prov, packQueue(nil, []int64{old.id}))
	return err
}

// forgetMissing forgets that records were missed before: they have been found again.
func (x *tx) forgetMissing(ids []any) error {
	for part := range chunks(ids, keysPerRead) {
		if _, err := x.exec(`UPDATE ing_record SET missing_since=NULL, missing_checks=0
			WHERE id IN (`+list(len(part))+`)`, part...); err != nil {
			return fmt.Errorf("found records: %w", err)
		}
	}
	return nil
}

// HoldsAny reports whether there is any record of a source.
func (s *Store) HoldsAny(ctx context.Context, provenance string) (is bool, err error) {
	err = s.r.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM ing_record WHERE provenance_code=?)`, provenance).Scan(&is)
	if err != nil {
		return false, fmt.Errorf("look for records of %s: %w", provenance, err)
	}
	return is, nil
}

// Witnesses names up to three records of the source that were there when they were last
// asked for, and that are none of ids. They are asked for beside ids: if they come, what
// does not come is really absent. It takes the one after the first of ids, the last of
// all and the first of all, since records that lie side by side tend to vanish together.
func (s *Store) Witnesses(ctx context.Context, provenance, recordType string, ids []string) (out []string, err error) {
	for _, pick := range []struct {
		where, order string
		args         []any
	}{
		{` AND ext_id>?`, ``, []any{ids[0]}},
		{``, ` DESC`, nil},
		{``, ``, nil},
	} {
		args := append([]any{provenance, recordType}, pick.args...)
		known := slices.Concat(ids, out)
		found := false
		err := s.each(ctx, func(r *sql.Rows) error {
			var id string
			if err := r.Scan(&id); err != nil {
				return err
			}
			if !found && !slices.Contains(known, id) {
				found = true
				out = append(out, id)
			}
			return nil
		}, `SELECT ext_id FROM ing_record WHERE provenance_code=? AND record_type=? AND status_code='ACTIVE'
			AND missing_checks=0`+pick.where+` ORDER BY ext_id`+pick.order+` LIMIT ?`,
			append(args, len(known)+1)...)
		if err != nil {
			return nil, fmt.Errorf("look for witnesses: %w", err)
		}
	}
	return out, nil
}
