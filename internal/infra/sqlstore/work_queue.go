package sqlstore

import (
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/klauspost/compress/s2"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/work"
)

// Whoever stores records leaves word of them for linking: a row for a page, in the same
// transaction. Of a record that is new its keys are in it, which are found while its
// fields are at hand; of others only that they have to be looked at. Linking takes the
// rows away in the transaction that links what is in them, so neither is ever without
// the other.

// queued is a record that was stored and not linked.
type queued struct {
	record int64
	// isNew: it is the first revision, with these keys, and those that were merged into
	// it are found under merged.
	isNew  bool
	merged work.LookupKey
	keys   []work.LookupKey
	mark   work.Mark
	// facts are what is known of it, packed; empty if they are too many to be kept.
	facts []byte
}

// queueBody writes what a row of the queue has: of each record its number, how many keys
// there are and one more, or 0 if they are not known, the keys, the mark, and what is
// known of it.
type queueBody []byte

func (b queueBody) look(record int64) queueBody {
	b = binary.AppendUvarint(b, uint64(record))
	return binary.AppendUvarint(b, 0)
}

func (b queueBody) add(q queued) queueBody {
	b = binary.AppendUvarint(b, uint64(q.record))
	b = binary.AppendUvarint(b, uint64(len(q.keys)+1))
	b = binary.BigEndian.AppendUint64(b, uint64(q.merged))
	for _, k := range q.keys {
		b = binary.BigEndian.AppendUint64(b, uint64(k))
	}
	b = binary.BigEndian.AppendUint32(b, uint32(q.mark))
	b = binary.AppendUvarint(b, uint64(len(q.facts)))
	return append(b, q.facts...)
}

var errQueue = errors.New("a row of what is to be linked cannot be read")

// read lists the records of a row. What is known of them stays where it is in the row.
func (b queueBody) read(into []queued) ([]queued, error) {
	for len(b) > 0 {
		record, n := binary.Uvarint(b)
		if n <= 0 {
			return into, errQueue
		}
		b = b[n:]
		count, n := binary.Uvarint(b)
		if n <= 0 || uint64(len(b)-n)/8 < count {
			return into, errQueue
		}
		b = b[n:]
		q := queued{record: int64(record), isNew: count > 0}
		if q.isNew {
			q.merged = work.LookupKey(binary.BigEndian.Uint64(b))
			q.keys = unpackKeys(b[8 : 8*count])
			b = b[8*count:]
			if len(b) < 4 {
				return into, errQueue
			}
			q.mark = work.Mark(binary.BigEndian.Uint32(b))
			size, n := binary.Uvarint(b[4:])
			if n <= 0 || uint64(len(b)-4-n) < size {
				return into, errQueue
			}
			q.facts = b[4+n:][:size:size]
			b = b[4+n+int(size):]
		}
		into = append(into, q)
	}
	return into, nil
}

// What is known of records is kept up to these sizes: of one, and of all in a row of the
// queue. Papers with thousands of authors are read again instead.
const (
	mostFacts      = 4 << 10
	mostFactsOfRow = 4 << 20
)

// queueRecords leaves word of the records that a page has changed.
func (x *tx) queueRecords(prov, recordType string, written []change) error {
	if len(written) == 0 {
		return nil
	}
	body := make(queueBody, 0, 56*len(written)+min(350*len(written), 1<<20))
	var packed []byte
	for _, c := range written {
		key := work.Key{Source: prov, Type: recordType, ID: c.rec.ID}
		// Fields that are made anew at every call, and those that cannot be read, are left to
		// linking, and whatever is rare.
		if c.effect != harvest.Inserted || c.rec.Map != nil || c.rec.Status == harvest.RecordMerged {
			body = body.look(c.id)
			continue
		}
		r, err := work.Read(key, c.rec.Fields)
		if err != nil {
			body = body.look(c.id)
			continue
		}
		packed = packFacts(packed[:0], &r)
		if len(body)+len(packed) > mostFactsOfRow {
			packed = packed[:0]
		}
		body = body.add(queued{record: c.id, merged: key.MergedKey(), keys: r.Keys(), mark: r.Mark(), facts: packed})
	}
	return x.insertQueue(prov, body)
}

func (x *tx) insertQueue(prov string, body queueBody) error {
	if _, err := x.exec(`INSERT INTO ing_work_queue (provenance_code, body) VALUES (?,?)`, prov, body.pack()); err != nil {
		return fmt.Errorf("leave word of records to link: %w", err)
	}
	return nil
}

// packedQueue begins a body that is packed with S2. No other does: it would be about record
// 0, and there is none.
const packedQueue = 0

// packQueueFrom is how long a body must be to be packed.
const packQueueFrom = 256

// pack makes a long body smaller: what is known of records has many words in common.
func (b queueBody) pack() []byte {
	if len(b) < packQueueFrom {
		return b
	}
	out := make([]byte, 1+s2.MaxEncodedLen(len(b)))
	out[0] = packedQueue
	return out[:1+len(s2.Encode(out[1:], b))]
}

// unpackQueue is what was packed, or what was not.
func unpackQueue(b []byte) (queueBody, error) {
	if len(b) == 0 || b[0] != packedQueue {
		return b, nil
	}
	plain, err := s2.Decode(nil, b[1:])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errQueue, err)
	}
	return plain, nil
}

// queueRow is a row of the queue.
type queueRow struct {
	id      int64
	source  string
	records []queued
}

const queueSelect = `SELECT id, provenance_code, body FROM ing_work_queue WHERE id > ? ORDER BY id LIMIT ?`

func scanQueue(r *sql.Rows) (row queueRow, err error) {
	var body []byte // kept: what is known of records is part of it
	if err := r.Scan(&row.id, &row.source, &body); err != nil {
		return row, err
	}
	plain, err := unpackQueue(body)
	if err != nil {
		return row, err
	}
	row.records, err = plain.read(nil)
	return row, err
}

// rowsPerQueueRead is how many rows of the queue are read at once.
const rowsPerQueueRead = 16

// takeQueue takes the oldest rows out of the queue, of so many records, or a row that has
// more.
func (x *tx) takeQueue(most int) (rows []queueRow, err error) {
	after := int64(0)
	count := 0
	for count < most {
		before := len(rows)
		err := x.each(func(r *sql.Rows) error {
			row, err := scanQueue(r)
			if err != nil {
				return err
			}
			after = row.id
			if count < most {
				rows = append(rows, row)
			}
			count += len(row.records)
			return nil
		}, queueSelect, after, rowsPerQueueRead)
		if err != nil {
			return nil, fmt.Errorf("read what is to be linked: %w", err)
		}
		if len(rows) == before {
			break
		}
	}
	ids := make([]any, len(rows))
	for i, row := range rows {
		ids[i] = row.id
	}
	for part := range chunks(ids, keysPerRead) {
		if _, err := x.exec(`DELETE FROM ing_work_queue WHERE id IN (`+list(len(part))+`)`, part...); err != nil {
			return nil, fmt.Errorf("take what is to be linked: %w", err)
		}
	}
	return rows, nil
}
