package sqlstore

import (
	"database/sql"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// keysPerRead bounds the IN list of one read.
const keysPerRead = 500

// storedRecords reads the records of these ids that the store has, and locks them. The
// ids are sorted first, so that all transactions take their locks in one order.
func (x *tx) storedRecords(prov, recordType string, keys []string) (map[string]storedRecord, error) {
	out := make(map[string]storedRecord, min(len(keys), keysPerRead))
	slices.Sort(keys)
	keys = slices.Compact(keys)
	for part := range chunks(keys, keysPerRead) {
		args := make([]any, 0, len(part)+2)
		args = append(args, prov, recordType)
		for _, k := range part {
			args = append(args, k)
		}
		err := x.each(func(r *sql.Rows) error {
			var id string
			var old storedRecord
			var updated, observed, missing ts
			var into sql.NullString
			var hash, raw []byte
			if err := r.Scan(&id, &old.id, &old.revision, &old.Status, &updated, &old.Version.Provider, &observed, &hash, &raw,
				&old.MappingVersion, &missing, &into); err != nil {
				return err
			}
			old.missing = missing.time()
			old.into = into.String
			old.Version.UpdatedAt = updated.time()
			old.Version.ObservedAt = observed.time()
			copy(old.Version.ContentHash[:], hash)
			copy(old.RawSHA256[:], raw)
			out[id] = old
			return nil
		}, `SELECT ext_id, id, revision, status_code, updated_at, provider_version, observed_at, content_hash, raw_sha256,
			mapping_version, missing_since, merged_into
			FROM ing_record`+x.s.d.recordIndex+`
			WHERE provenance_code=? AND record_type=? AND ext_id IN (`+list(len(part))+`)`+x.s.d.forUpdate, args...)
		if err != nil {
			return nil, fmt.Errorf("read stored records: %w", err)
		}
	}
	return out, nil
}

// Rows of a page mostly differ in few columns, and what is bound once for all rows of an
// insert is not bound for each: a value costs about as much to bind as to store. So there
// are two inserts for records and two for versions.
var (
	insertRecordRows = manyRows{
		table: "ing_record",
		same:  `provenance_code, record_type, mapping_version, revision, created_at, changed_at`,
		own:   `ext_id, status_code, updated_at, provider_version, observed_at, content_hash, raw_sha256`,
	}
	insertLikeRecordRows = manyRows{
		table: "ing_record",
		same: `provenance_code, record_type, mapping_version, revision, created_at, changed_at,
			status_code, provider_version, observed_at`,
		own: `ext_id, updated_at, content_hash, raw_sha256`,
	}
)

// insertRecords inserts records that are not stored, and gives each change the id of its
// row: by counting back from the last one where the database numbers them in a row,
// else by reading them back.
func (x *tx) insertRecords(prov, recordType string, cs []change) error {
	now := ts(x.now).text()
	for part := range mappedAlike(chunks(cs, rowsPerInsert)) {
		rows := &insertRecordRows
		same := []any{prov, recordType, part[0].rec.MappingVersion, int64(1), now, now}
		first, alike := recordsAlike(part)
		if alike {
			rows = &insertLikeRecordRows
			same = append(same, string(first.status), first.provider, part[0].observedAt)
		}
		v := rows.valuesOf(x.s.d, len(part), same...)
		for i := range part {
			c := &part[i]
			r := c.rec
			if alike {
				v.add(r.ID, c.updatedAt, r.Version.ContentHash[:], r.RawSHA256[:])
			} else {
				v.add(r.ID, string(r.Status), c.updatedAt, r.Version.Provider, c.observedAt, r.Version.ContentHash[:], r.RawSHA256[:])
			}
		}
		res, err := x.bulk(rows.sql(x.s.d, len(part)), v.values)
		if err != nil {
			return fmt.Errorf("insert records: %w", x.orLostRace(err))
		}
		if x.s.d.idsFollow {
			last, err := res.LastInsertId()
			if err != nil {
				return fmt.Errorf("insert records: %w", err)
			}
			for i := range part {
				part[i].id = last - int64(len(part)-1-i)
			}
		}
	}
	if x.s.d.idsFollow || len(cs) == 0 {
		return nil
	}
	ids := make(map[string]int64, len(cs))
	for part := range chunks(cs, keysPerRead) {
		args := make([]any, 0, len(part)+2)
		args = append(args, prov, recordType)
		for _, c := range part {
			args = append(args, c.rec.ID)
		}
		err := x.each(func(r *sql.Rows) error {
			var id int64
			var ext string
			if err := r.Scan(&id, &ext); err != nil {
				return err
			}
			ids[ext] = id
			return nil
		}, `SELECT id, ext_id FROM ing_record`+x.s.d.recordIndex+`
			WHERE provenance_code=? AND record_type=? AND ext_id IN (`+list(len(part))+`)`, args...)
		if err != nil {
			return fmt.Errorf("read records back: %w", err)
		}
	}
	for i := range cs {
		cs[i].id = ids[cs[i].rec.ID]
	}
	return nil
}

// updateRecords gives stored records their newer versions. One that was gone, missed or
// merged into another is there again.
func (x *tx) updateRecords(cs []change) error {
	for _, c := range cs {
		r := c.rec
		if _, err := x.bulk(updateRecordSQL, []any{
			r.Status, c.revision, ts(r.Version.UpdatedAt), r.Version.Provider, ts(r.Version.ObservedAt),
			r.Version.ContentHash[:], r.RawSHA256[:], r.MappingVersion, ts(x.now), c.id,
		}); err != nil {
			return fmt.Errorf("update record: %w", err)
		}
	}
	return nil
}

const (
	updateRecordSQL = `UPDATE ing_record SET status_code=?, revision=?, updated_at=?, provider_version=?, observed_at=?, content_hash=?,
		raw_sha256=?, mapping_version=?, merged_into=NULL, missing_since=NULL, missing_checks=0, changed_at=?
		WHERE id=?`
	touchRecordSQL  = `UPDATE ing_record SET updated_at=?, provider_version=?, observed_at=?, raw_sha256=? WHERE id=?`
	touchVersionSQL = `UPDATE ing_record_version SET updated_at=?, provider_version=?, observed_at=?, raw_sha256=?, raw=?, fields='', codec_code=?, dictionary_id=?
		WHERE record_id=? AND revision=?`
)

// replaceRecords writes, over the stored version of each record, one that differs from it
// in volatile parts only: it is no revision, and nothing is announced.
func (x *tx) replaceRecords(cs []change, p *packer) error {
	for _, c := range cs {
		r := c.rec
		v := []any{ts(r.Version.UpdatedAt), r.Version.Provider, ts(r.Version.ObservedAt), r.RawSHA256[:]}
		if _, err := x.bulk(touchRecordSQL, append(v, c.id)); err != nil {
			return fmt.Errorf("follow record: %w", err)
		}
		body := c.packedBody(p)
		if _, err := x.bulk(touchVersionSQL, append(v, body.bytes, body.codec, nullID(body.dictionary), c.id, c.revision)); err != nil {
			return fmt.Errorf("follow version: %w", err)
		}
	}
	return nil
}

// observeRecords notes that unchanged records were seen again. All records of
// a page were observed at the same time.
func (x *tx) observeRecords(ids []any, b harvest.Batch) error {
	for part := range chunks(ids, keysPerRead) {
		if _, err := x.exec(`UPDATE ing_record SET observed_at=?
			WHERE id IN (`+list(len(part))+`)`, append([]any{ts(b.OpenedAt)}, part...)...); err != nil {
			return fmt.Errorf("observe records: %w", err)
		}
	}
	return nil
}

var (
	insertVersionRows = manyRows{
		table: "ing_record_version",
		same:  `batch_id, mapping_version, fields, created_at`,
		own: `record_id, revision, effect_code, status_code, updated_at, provider_version, observed_at, content_hash, raw_sha256,
			raw, codec_code, dictionary_id`,
	}
	insertLikeVersionRows = manyRows{
		table: "ing_record_version",
		same: `batch_id, mapping_version, fields, created_at,
			revision, effect_code, status_code, provider_version, observed_at, codec_code, dictionary_id`,
		own: `record_id, updated_at, content_hash, raw_sha256, raw`,
	}
)

// insertVersions keeps every accepted version.
func (x *tx) insertVersions(cs []change, batch harvest.BatchID, p *packer) error {
	now := ts(x.now).text()
	bodies := scratch{packer: p}
	for part := range mappedAlike(thatFit(x.s, cs, change.size)) {
		bodies.set(part)
		rows := &insertVersionRows
		same := []any{int64(batch), part[0].rec.MappingVersion, "", now}
		first, alike := recordsAlike(part)
		alike = alike && versionsAlike(part) && bodies.alike()
		if alike {
			rows = &insertLikeVersionRows
			body := bodies.of(0, part[0])
			same = append(same, part[0].revision, string(part[0].effect), string(first.status), first.provider, part[0].observedAt,
				string(body.codec), nullID(body.dictionary))
		}
		v := rows.valuesOf(x.s.d, len(part), same...)
		for i := range part {
			c := &part[i]
			body := bodies.of(i, *c)
			r := c.rec
			if alike {
				v.add(c.id, c.updatedAt, r.Version.ContentHash[:], r.RawSHA256[:], body.bytes)
			} else {
				v.add(c.id, c.revision, string(c.effect), string(r.Status), c.updatedAt, r.Version.Provider, c.observedAt,
					r.Version.ContentHash[:], r.RawSHA256[:], body.bytes, string(body.codec), nullID(body.dictionary))
			}
		}
		if _, err := x.bulk(rows.sql(x.s.d, len(part)), v.values); err != nil {
			return fmt.Errorf("insert versions: %w", err)
		}
	}
	return nil
}

// likeness is what records of a page mostly have in common.
type likeness struct {
	status   harvest.RecordStatus
	provider int64
	observed time.Time
}

func (c *change) likeness() likeness {
	return likeness{c.rec.Status, c.rec.Version.Provider, c.rec.Version.ObservedAt}
}

// recordsAlike returns what the first record has of that, and whether all others have the same.
func recordsAlike(part []change) (first likeness, alike bool) {
	first = part[0].likeness()
	for i := range part {
		if part[i].likeness() != first {
			return first, false
		}
	}
	return first, true
}

// versionsAlike reports whether all versions have one revision and one effect.
func versionsAlike(part []change) bool {
	for i := range part {
		if part[i].revision != part[0].revision || part[i].effect != part[0].effect {
			return false
		}
	}
	return true
}

// mappedAlike cuts parts on where the mapping changes. All records of a page are mapped by
// one, as a rule.
func mappedAlike(parts iter.Seq[[]change]) iter.Seq[[]change] {
	return func(yield func([]change) bool) {
		for part := range parts {
			from := 0
			for i := range part {
				if part[i].rec.MappingVersion == part[from].rec.MappingVersion {
					continue
				}
				if !yield(part[from:i]) {
					return
				}
				from = i
			}
			if !yield(part[from:]) {
				return
			}
		}
	}
}

// warmStatements are the ones that every page needs, which are prepared at the start.
func (s *Store) warmStatements() []string {
	return []string{
		insertRecordRows.sql(s.d, rowsPerInsert),
		insertLikeRecordRows.sql(s.d, rowsPerInsert),
		insertVersionRows.sql(s.d, rowsPerInsert),
		insertLikeVersionRows.sql(s.d, rowsPerInsert),
		s.announceSQL(), updateRecordSQL, touchRecordSQL, touchVersionSQL,
	}
}
