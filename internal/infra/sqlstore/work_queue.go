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

// Whoever stores records leaves word of them for linking: a row for a page, or several for a
// large one, in the same transaction. Of a record that is new its keys are in it, which are found while its
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
	keys   []byte // packed
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
	b = binary.AppendUvarint(b, uint64(len(q.keys)/8+1))
	b = binary.BigEndian.AppendUint64(b, uint64(q.merged))
	b = append(b, q.keys...)
	b = binary.BigEndian.AppendUint32(b, uint32(q.mark))
	b = binary.AppendUvarint(b, uint64(len(q.facts)))
	return append(b, q.facts...)
}

var errQueue = errors.New("a row of what is to be linked cannot be read")

// next reads the first record of a row, and returns what stands behind it. What is known of
// the record stays where it is in the row.
func (b queueBody) next() (q queued, rest queueBody, err error) {
	record, n := binary.Uvarint(b)
	if n <= 0 {
		return q, nil, errQueue
	}
	b = b[n:]
	count, n := binary.Uvarint(b)
	if n <= 0 || uint64(len(b)-n)/8 < count {
		return q, nil, errQueue
	}
	b = b[n:]
	q = queued{record: int64(record), isNew: count > 0}
	if !q.isNew {
		return q, b, nil
	}
	q.merged = work.LookupKey(binary.BigEndian.Uint64(b))
	q.keys = b[8 : 8*count : 8*count]
	b = b[8*count:]
	if len(b) < 4 {
		return q, nil, errQueue
	}
	q.mark = work.Mark(binary.BigEndian.Uint32(b))
	size, n := binary.Uvarint(b[4:])
	if n <= 0 || uint64(len(b)-4-n) < size {
		return q, nil, errQueue
	}
	q.facts = b[4+n:][:size:size]
	return q, b[4+n+int(size):], nil
}

// mostFacts is how much of what is known of a record is kept. Papers with thousands of authors
// are read again instead.
const mostFacts = 4 << 10

// fullQueueRow is how long a row of the queue becomes before another is begun, so that a page of
// tens of thousands of records takes no more memory for them than a page of hundreds.
const fullQueueRow = 256 << 10

// queueRecords leaves word of the records that a page has changed.
func (x *tx) queueRecords(prov, recordType string, written []change) error {
	if len(written) == 0 {
		return nil
	}
	body := make(queueBody, 0, min(400*len(written), fullQueueRow+mostFacts))
	var packed []byte
	for _, c := range written {
		if len(body) >= fullQueueRow {
			if err := x.insertQueue(prov, body); err != nil {
				return err
			}
			body = body[:0]
		}
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
		body = body.add(queued{record: c.id, merged: key.MergedKey(), keys: packKeys(r.Keys()), mark: r.Mark(), facts: packed})
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

// bytesPerRecord is how much of the queue, as it is packed, is linked in one step at most for
// every record of the step: what is known of one may be a hundred bytes or four thousand.
const bytesPerRecord = 400

// rowsPerQueueRead is how many rows of the queue are linked at once at most. How long they are is
// looked up in parts: a step mostly has some dozens, and each stands on a page of its own.
const (
	rowsPerQueueRead = 2500
	rowsPerLook      = 50
)

// takeQueue takes the oldest records out of the queue, so many at most, and of those that
// have to be read as many as are read at once. ids are the latter. What a row has beyond
// that stays in it.
func (x *tx) takeQueue(most int) (rows []queueRow, ids []int64, err error) {
	last, err := x.lastOfStep(most)
	if err != nil || last == 0 {
		return nil, nil, err
	}
	count := 0
	var done []int64
	var cut queueBody // what stays in the row behind those that are done
	err = x.each(func(r *sql.Rows) error {
		if len(cut) > 0 || count == most || len(ids) == scannedAtOnce {
			return nil
		}
		var row queueRow
		var body []byte // kept: what is known of records is part of it
		if err := r.Scan(&row.id, &row.source, &body); err != nil {
			return err
		}
		var err error
		cut, err = unpackQueue(body)
		if err != nil {
			return err
		}
		for len(cut) > 0 && count < most && len(ids) < scannedAtOnce {
			q, rest, err := cut.next()
			if err != nil {
				return err
			}
			row.records = append(row.records, q)
			if !q.isNew {
				ids = append(ids, q.record)
			}
			cut = rest
			count++
		}
		rows = append(rows, row)
		if len(cut) == 0 {
			done = append(done, row.id)
		}
		return nil
	}, `SELECT id, provenance_code, body FROM ing_work_queue WHERE id <= ? ORDER BY id`, last)
	if err != nil {
		return nil, nil, fmt.Errorf("read what is to be linked: %w", err)
	}
	for args := range inLists(done) {
		if _, err := x.exec(`DELETE FROM ing_work_queue WHERE id IN (`+list(len(args))+`)`, args...); err != nil {
			return nil, nil, fmt.Errorf("take what is to be linked: %w", err)
		}
	}
	if len(cut) > 0 {
		if _, err := x.exec(`UPDATE ing_work_queue SET body=? WHERE id=?`, cut.pack(), rows[len(rows)-1].id); err != nil {
			return nil, nil, fmt.Errorf("take what is to be linked: %w", err)
		}
	}
	return rows, ids, nil
}

// lastOfStep is the last of the oldest rows of the queue that are not too much for a step
// together, or the first; 0 if there is none.
func (x *tx) lastOfStep(most int) (last int64, err error) {
	size := int64(0)
	largest := int64(bytesPerRecord * max(most, fewestPerStep))
	looked := int64(0) // up to this row
	for range rowsPerQueueRead / rowsPerLook {
		rows := 0
		err = x.each(func(r *sql.Rows) error {
			var more int64
			if err := r.Scan(&looked, &more); err != nil {
				return err
			}
			if last == 0 || size+more <= largest {
				last = looked
			}
			size += more
			rows++
			return nil
		}, `SELECT id, LENGTH(body) FROM ing_work_queue WHERE id > ? ORDER BY id LIMIT ?`, looked, rowsPerLook)
		if err != nil {
			return 0, fmt.Errorf("look for what is to be linked: %w", err)
		}
		if rows < rowsPerLook || size > largest {
			break
		}
	}
	return last, nil
}
