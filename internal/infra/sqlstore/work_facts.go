package sqlstore

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/klauspost/compress/s2"
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

// load takes up what was known of records when they were linked, or what is known as they are
// linked now, of those that are not taken up yet.
func (l *linking) load(ids []int64) error {
	var others, inChunks []int64
	for _, id := range ids {
		m := l.meet(id)
		if m.facts != nil {
			continue
		}
		switch r := l.step.find(id); {
		case r == nil:
			others = append(others, id)
		case r.read != nil:
			m.keys = r.keys
			l.unpack(id, r.read.facts)
		default:
			m.keys = r.keys
			facts, err := l.facts.of(r)
			if err != nil {
				return err
			}
			l.unpack(id, facts)
		}
	}
	inRows, err := l.loadRows(others)
	if err != nil {
		return err
	}
	for _, id := range others {
		if !inRows[id] {
			inChunks = append(inChunks, id)
		}
	}
	if err := l.loadChunks(distinct(inChunks)); err != nil {
		return err
	}
	var missing []int64
	for _, id := range ids {
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

// loadRows takes up what is known of records that have rows of their own, and says of which it is.
func (l *linking) loadRows(ids []int64) (met map[int64]bool, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	if !l.rowsKnown {
		// What was read again is mostly a part of all, or nothing.
		err := l.x.row(`SELECT COALESCE(MIN(record_id), 0), COALESCE(MAX(record_id), -1) FROM ing_work_record`).Scan(&l.firstRow, &l.lastRow)
		if err != nil {
			return nil, fmt.Errorf("read what is known of records: %w", err)
		}
		l.rowsKnown = true
	}
	ids = slices.DeleteFunc(slices.Clone(ids), func(id int64) bool { return id < l.firstRow || id > l.lastRow })
	met = map[int64]bool{}
	for args := range inLists(ids) {
		err := l.x.each(func(r *sql.Rows) error {
			var id int64
			var keys, packed sql.RawBytes
			if err := r.Scan(&id, &keys, &packed); err != nil {
				return err
			}
			met[id] = true
			l.meet(id).keys = unpackKeys(keys)
			l.unpack(id, packed)
			return nil
		}, `SELECT record_id, lookup_keys, facts FROM ing_work_record WHERE record_id IN (`+list(len(args))+`)`, args...)
		if err != nil {
			return nil, fmt.Errorf("read what is known of records: %w", err)
		}
	}
	return met, nil
}

// loadChunks takes up what is known of sorted records since they came.
func (l *linking) loadChunks(ids []int64) error {
	var facts []byte
	return l.x.readChunks(`first_record, lookup_keys, facts`, ids, func(r *sql.Rows) error {
		var first int64
		var keys, packed sql.RawBytes
		if err := r.Scan(&first, &keys, &packed); err != nil {
			return err
		}
		isOpen := false
		var failed error
		err := eachOfChunk(first, keys, func(c chunkRecord) {
			if _, asked := slices.BinarySearch(ids, c.record); !asked || failed != nil {
				return
			}
			l.meet(c.record).keys = unpackKeys(c.keys)
			if !isOpen {
				isOpen = true
				facts, failed = s2.Decode(facts[:cap(facts)], packed)
			}
			if c.factsAt+c.facts <= len(facts) {
				l.unpack(c.record, facts[c.factsAt:c.factsAt+c.facts])
			}
		})
		return errors.Join(err, failed)
	}, func(id int64) bool { return l.meet(id).keys != nil })
}

// unpack takes up what is known of a record. What was packed by other rules is left, and
// the record is read again.
func (l *linking) unpack(id int64, packed []byte) {
	if len(packed) == 0 {
		return
	}
	r, err := work.Unpack(packed)
	if err != nil {
		return
	}
	r.Number = id
	l.meet(id).facts = &r
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
			rec, err := work.Read(key, bytes.Clone(doc)) // what is kept of it would hold the whole body
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
