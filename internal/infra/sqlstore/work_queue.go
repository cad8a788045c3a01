package sqlstore

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/klauspost/compress/s2"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/work"
)

// Whoever stores records leaves word of them for linking: a row for a page, or several for a
// large one, in the same transaction. What is known of a record that is new, with its keys, is
// stored beside it for good (work_facts.go), while its fields are at hand; the row names these
// records, and others that have to be looked at. Linking takes the rows away in the transaction
// that links what is in them, so neither is ever without the other.

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

var errQueue = errors.New("a row of what is to be linked cannot be read")

// A row of the queue has two zeros, how many chunks there are, the distance of each from the one
// before and which records of it are meant, and then the numbers of the records that have to be
// looked at.

// chunkNamed are records of a chunk that came with one row of the queue.
type chunkNamed struct {
	no int64
	// records are those of the chunk, one bit for each.
	records uint8
}

// count is how many records there are.
func (c chunkNamed) count() int { return bits.OnesCount8(c.records) }

// first is the smallest of the records.
func (c chunkNamed) first() int64 {
	return c.no*recordsPerChunk + int64(bits.TrailingZeros8(c.records))
}

// packQueue writes what a row of the queue has.
func packQueue(chunks []chunkNamed, looks []int64) []byte {
	b := []byte{0, 0}
	b = binary.AppendUvarint(b, uint64(len(chunks)))
	last := int64(0)
	for _, c := range chunks {
		b = binary.AppendUvarint(b, uint64(c.no-last))
		b = append(b, c.records)
		last = c.no
	}
	for _, id := range looks {
		b = binary.AppendUvarint(b, uint64(id))
	}
	return b
}

// isOldQueue reports whether a row was written when rows had all that is known of their records.
func isOldQueue(b []byte) bool { return len(b) < 2 || b[0] != 0 || b[1] != 0 }

// unpackQueue reads what packQueue wrote.
func unpackQueue(b []byte) (chunks []chunkNamed, looks []int64, err error) {
	p := packedNumbers{rest: b[2:]}
	last := int64(0)
	for range p.next() {
		last += int64(p.next())
		if len(p.rest) == 0 {
			return nil, nil, errQueue
		}
		chunks = append(chunks, chunkNamed{last, p.rest[0]})
		p.rest = p.rest[1:]
	}
	for len(p.rest) > 0 {
		looks = append(looks, int64(p.next()))
	}
	if p.isDamaged {
		return nil, nil, errQueue
	}
	return chunks, looks, nil
}

// oldQueueBody is what a row of the queue had when all that is known of its records was in it: of
// each its number, how many keys there are and one more, or 0 if they are not known, the keys, the
// mark, and what is known of it.
type oldQueueBody []byte

// next reads the first record of a row, and returns what stands behind it. What is known of
// the record stays where it is in the row.
func (b oldQueueBody) next() (q queued, rest oldQueueBody, err error) {
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

// mostChunksPerRow is how many chunks a row of the queue names before another is begun: rows are
// linked whole.
const mostChunksPerRow = 128

// queueRecords leaves word of the records that a page has changed, and stores what is known of
// those that are new.
func (x *tx) queueRecords(prov, recordType string, written []change) error {
	var looks []int64
	w := chunkWriter{x: x, source: prov}
	var packed []byte
	for _, c := range written {
		key := work.Key{Source: prov, Type: recordType, ID: c.rec.ID}
		// Fields that are made anew at every call, and those that cannot be read, are left to
		// linking, and whatever is rare.
		if c.effect != harvest.Inserted || c.rec.Map != nil || c.rec.Status == harvest.RecordMerged {
			looks = append(looks, c.id)
			continue
		}
		r, err := work.Read(key, c.rec.Fields)
		if err != nil {
			looks = append(looks, c.id)
			continue
		}
		packed = packFacts(packed[:0], &r)
		err = w.add(queued{record: c.id, isNew: true, merged: key.MergedKey(), keys: packKeys(r.Keys()), mark: r.Mark(), facts: packed})
		if err != nil {
			return err
		}
	}
	if err := w.end(); err != nil {
		return err
	}
	for some := range chunks(looks, scannedAtOnce) {
		if _, err := x.insertQueue(prov, packQueue(nil, some)); err != nil {
			return err
		}
	}
	return nil
}

func (x *tx) insertQueue(prov string, body []byte) (id int64, err error) {
	id, err = x.insert(`INSERT INTO ing_work_queue (provenance_code, body) VALUES (?,?)`, prov, body)
	if err != nil {
		return 0, fmt.Errorf("leave word of records to link: %w", err)
	}
	return id, nil
}

// queueRow is a row of the queue.
type queueRow struct {
	id     int64
	source string
	chunks []chunkNamed
	looks  []int64
}

// count is how many records a row tells of.
func (r queueRow) count() int {
	n := len(r.looks)
	for _, c := range r.chunks {
		n += c.count()
	}
	return n
}

// bytesPerRecord is how much of old rows of the queue, as they are packed, is linked in one step
// at most for every record of the step: what is known of one may be a hundred bytes or four
// thousand. Other rows are short.
const bytesPerRecord = 400

// rowsPerQueueRead is how many rows of the queue are linked at once at most. How long they are is
// looked up in parts: a step mostly has some dozens, and each stands on a page of its own.
const (
	rowsPerQueueRead = 2500
	rowsPerLook      = 50
)

// takeQueue takes the oldest rows out of the queue, with about so many records at most, and of
// those that have to be read as many as are read at once.
func (x *tx) takeQueue(most int) (rows []queueRow, err error) {
	last, err := x.lastOfStep(most)
	if err != nil || last == 0 {
		return nil, err
	}
	count := 0
	looks := 0
	old := map[int]oldQueueBody{} // by the places of their rows
	err = x.each(func(r *sql.Rows) error {
		if count >= most || looks >= scannedAtOnce {
			return errEnough
		}
		var row queueRow
		var body sql.RawBytes
		if err := r.Scan(&row.id, &row.source, &body); err != nil {
			return err
		}
		var err error
		if isOldQueue(body) {
			old[len(rows)], err = unpackOldQueue(body)
			if err != nil {
				return err
			}
			count, looks, err = old[len(rows)].count(count, looks)
		} else {
			row.chunks, row.looks, err = unpackQueue(body)
			count += row.count()
			looks += len(row.looks)
		}
		rows = append(rows, row)
		return err
	}, `SELECT id, provenance_code, body FROM ing_work_queue WHERE id <= ? ORDER BY id`, last)
	if err != nil && !errors.Is(err, errEnough) {
		return nil, fmt.Errorf("read what is to be linked: %w", err)
	}
	for i, body := range old {
		if err := x.storeOld(&rows[i], body); err != nil {
			return nil, err
		}
	}
	done := make([]int64, len(rows))
	for i, row := range rows {
		done[i] = row.id
	}
	for args := range inLists(done) {
		if _, err := x.exec(`DELETE FROM ing_work_queue WHERE id IN (`+list(len(args))+`)`, args...); err != nil {
			return nil, fmt.Errorf("take what is to be linked: %w", err)
		}
	}
	return rows, nil
}

// unpackOldQueue is what an old row has. If it is packed it begins as if it were about record 0.
func unpackOldQueue(b []byte) (oldQueueBody, error) {
	if len(b) == 0 || b[0] != 0 {
		return slices.Clone(b), nil
	}
	plain, err := s2.Decode(nil, b[1:])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errQueue, err)
	}
	return plain, nil
}

// count adds how many records an old row tells of, and how many of them have to be looked at.
func (b oldQueueBody) count(records, looks int) (int, int, error) {
	for len(b) > 0 {
		q, rest, err := b.next()
		if err != nil {
			return 0, 0, err
		}
		records++
		if !q.isNew {
			looks++
		}
		b = rest
	}
	return records, looks, nil
}

// storeOld stores what an old row has of its records as it is stored now.
func (x *tx) storeOld(row *queueRow, body oldQueueBody) error {
	w := chunkWriter{x: x, source: row.source, queue: row.id}
	for len(body) > 0 {
		q, rest, err := body.next()
		if err != nil {
			return err
		}
		body = rest
		if !q.isNew {
			row.looks = append(row.looks, q.record)
			continue
		}
		if err := w.add(q); err != nil {
			return err
		}
	}
	if err := w.endChunk(); err != nil {
		return err
	}
	row.chunks = w.named()
	return w.end()
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

// waitingRecords are records that were stored and not linked.
type waitingRecords struct {
	chunks map[int64]uint8 // which of their records, by their numbers
	// Those between are gone through one by one.
	after, upTo int64
}

func (w waitingRecords) isNone() bool { return len(w.chunks) == 0 && w.after >= w.upTo }

func (w waitingRecords) add(record int64) {
	w.chunks[chunkOf(record)] |= 1 << (record % recordsPerChunk)
}

func (w waitingRecords) has(record int64) bool {
	return record > w.after && record <= w.upTo || w.chunks[chunkOf(record)]&(1<<(record%recordsPerChunk)) != 0
}

// waitingForLinking are the records that wait to be linked.
func (s *Store) waitingForLinking(ctx context.Context) (waitingRecords, error) {
	out := waitingRecords{chunks: map[int64]uint8{}}
	p, found, err := s.readLinking(ctx)
	if err != nil {
		return out, err
	}
	out.after = p.Scanned
	out.upTo = p.ScanTo
	if !found || p.Rules != work.RulesVersion {
		out.after = 0
		out.upTo = math.MaxInt64
	}
	err = s.each(ctx, func(r *sql.Rows) error {
		var body sql.RawBytes
		if err := r.Scan(&body); err != nil {
			return err
		}
		if isOldQueue(body) {
			return out.addOld(body)
		}
		chunks, looks, err := unpackQueue(body)
		for _, c := range chunks {
			out.chunks[c.no] |= c.records
		}
		for _, id := range looks {
			out.add(id)
		}
		return err
	}, `SELECT body FROM ing_work_queue`)
	if err != nil {
		return out, fmt.Errorf("read what is to be linked: %w", err)
	}
	return out, nil
}

// addOld adds the records of an old row of the queue.
func (w waitingRecords) addOld(row []byte) error {
	body, err := unpackOldQueue(row)
	if err != nil {
		return err
	}
	for len(body) > 0 {
		q, rest, err := body.next()
		if err != nil {
			return err
		}
		w.add(q.record)
		body = rest
	}
	return nil
}
