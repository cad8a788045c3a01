package sqlstore

import (
	"database/sql"
	"fmt"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/work"
)

// packFacts appends what is known of a record, nothing if that is much.
func packFacts(b []byte, r *work.Record) []byte {
	before := len(b)
	b = r.Pack(b)
	if len(b)-before > mostFacts {
		return b[:before]
	}
	return b
}

// load takes up what was known of records when they were linked, with the works that they were of,
// or what is known as they are linked now, of those that are not taken up yet.
func (l *linking) load(ids []int64) error {
	var stored, missing []int64
	for _, id := range ids {
		m := l.meet(id)
		if m.facts != nil {
			continue
		}
		r := l.step.find(id)
		if r == nil {
			stored = append(stored, id)
			continue
		}
		m.keys = r.keys
		if !l.unpack(id, r.facts) {
			missing = append(missing, id)
		}
	}
	for args := range inLists(stored) {
		err := l.x.each(func(r *sql.Rows) error {
			var id int64
			var keys, packed sql.RawBytes
			var in sql.NullInt64
			var links []byte
			if err := r.Scan(&id, &keys, &packed, &in, &links); err != nil {
				return err
			}
			m := l.meet(id)
			m.keys = unpackKeys(keys)
			if !m.isAsked {
				m.isAsked = true
				m.before = member{in.Int64, links}
			}
			l.unpack(id, packed)
			return nil
		}, `SELECT r.record_id, r.lookup_keys, r.facts, m.work_id, m.links FROM ing_work_record r
			LEFT JOIN ing_work_member m ON m.record_id=r.record_id WHERE r.record_id IN (`+list(len(args))+`)`, args...)
		if err != nil {
			return fmt.Errorf("read what is known of records: %w", err)
		}
	}
	for _, id := range stored {
		if l.meet(id).facts == nil {
			missing = append(missing, id)
		}
	}
	if err := l.read(missing); err != nil {
		return err
	}
	for _, id := range missing {
		m := l.meet(id)
		if m.facts != nil && m.keys == nil {
			m.keys = m.facts.Keys() // it was not linked yet
		}
	}
	return nil
}

// unpack takes up what is known of a record, and reports whether it could be read.
func (l *linking) unpack(id int64, packed []byte) bool {
	if len(packed) == 0 {
		return false
	}
	r, err := work.Unpack(packed)
	if err != nil {
		return false // by other rules: it is read again
	}
	r.Number = id
	l.meet(id).facts = &r
	return true
}

// read reads what the newest versions of records say.
func (l *linking) read(ids []int64) error {
	for args := range inLists(ids) {
		err := l.x.each(func(r *sql.Rows) error {
			var number, revision int64
			var key work.Key
			var status harvest.RecordStatus
			var into sql.NullString
			var body storedBody
			dest := []any{&number, &key.Source, &key.Type, &key.ID, &status, &into, &revision}
			if err := r.Scan(append(dest, body.dest()...)...); err != nil {
				return err
			}
			doc, err := l.x.s.openFields(l.x.ctx, body)
			if err != nil {
				return fmt.Errorf("record %s %s: %w", key.Source, key.ID, err)
			}
			rec, err := work.Read(key, doc)
			if err != nil {
				// Fields that are not as packs write them say nothing about the work. The
				// record is a work of its own, and others are linked all the same.
				l.x.s.log.Warn("a record could not be looked at for its work", "source", key.Source, "err", err)
				rec = work.Record{Key: key}
			}
			rec.Number = number
			rec.Revision = revision
			if status == harvest.RecordMerged {
				rec.MergedInto = into.String
			}
			l.meet(number).facts = &rec
			return nil
		}, `SELECT r.id, r.provenance_code, r.record_type, r.ext_id, r.status_code, r.merged_into, r.revision, `+bodyCols+`
			FROM ing_record r JOIN ing_record_version v ON v.record_id=r.id AND v.revision=r.revision
			WHERE r.id IN (`+list(len(args))+`)`, args...)
		if err != nil {
			return fmt.Errorf("read records to link: %w", err)
		}
	}
	return nil
}
