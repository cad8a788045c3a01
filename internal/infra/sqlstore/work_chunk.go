package sqlstore

import (
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/klauspost/compress/s2"
	"github.com/papertrace/patra/internal/domain/work"
)

// What is known of new records is stored in chunks: those of a page whose numbers are in one
// eighth, so that where a record stands can be told by its number. A row for each record would
// cost more to write, and to read again once others share a key with it. Mostly eight are in a
// row; at the ends of a page there are fewer.

// recordsPerChunk is how many numbers a chunk is for.
const recordsPerChunk = 8

// chunkOf is the number of the chunk that a record belongs to.
func chunkOf(record int64) int64 { return record / recordsPerChunk }

// chunkRow is a row of chunks.
type chunkRow struct {
	named chunkNamed
	keys  []byte
	facts []byte
}

// chunkWriter stores what is known of new records, with word of them for linking.
type chunkWriter struct {
	x      *tx
	source string
	// queue is the row that tells of the records, 0 if there is to be a new one.
	queue int64
	rows  []chunkRow
	last  int64 // the record that was added last
	keys  []byte
	facts []byte
	open  chunkNamed // the chunk that is being filled
}

// add adds a record. What it consists of may be used anew afterwards.
func (w *chunkWriter) add(q queued) error {
	if chunkOf(q.record) != w.open.no || q.record <= w.last {
		if err := w.endChunk(); err != nil {
			return err
		}
	}
	w.open.no = chunkOf(q.record)
	w.open.records |= 1 << (q.record % recordsPerChunk)
	w.last = q.record
	w.keys = append(w.keys, byte(q.record%recordsPerChunk))
	w.keys = binary.AppendUvarint(w.keys, uint64(len(q.keys)/8))
	w.keys = binary.AppendUvarint(w.keys, uint64(len(q.facts)))
	w.keys = binary.BigEndian.AppendUint64(w.keys, uint64(q.merged))
	w.keys = append(w.keys, q.keys...)
	w.keys = binary.BigEndian.AppendUint32(w.keys, uint32(q.mark))
	w.facts = append(w.facts, q.facts...)
	return nil
}

// endChunk ends the chunk that is being filled.
func (w *chunkWriter) endChunk() error {
	if w.open.records == 0 {
		return nil
	}
	w.rows = append(w.rows, chunkRow{named: w.open, keys: slices.Clone(w.keys), facts: s2.Encode(nil, w.facts)})
	w.open = chunkNamed{}
	w.keys = w.keys[:0]
	w.facts = w.facts[:0]
	if len(w.rows) == mostChunksPerRow && w.queue == 0 {
		return w.store()
	}
	return nil
}

// end stores what is left.
func (w *chunkWriter) end() error {
	if err := w.endChunk(); err != nil || len(w.rows) == 0 {
		return err
	}
	return w.store()
}

// named names the chunks that are not stored yet.
func (w *chunkWriter) named() []chunkNamed {
	out := make([]chunkNamed, len(w.rows))
	for i, r := range w.rows {
		out[i] = r.named
	}
	return out
}

// store stores the chunks, and the row of the queue that tells of them.
func (w *chunkWriter) store() error {
	queue := w.queue
	if queue == 0 {
		var err error
		queue, err = w.x.insertQueue(w.source, packQueue(w.named(), nil))
		if err != nil {
			return err
		}
	}
	err := insertEach(w.x, `INTO ing_work_facts (first_record, queue_id, lookup_keys, facts)`, w.rows, func(args []any, r chunkRow) []any {
		return append(args, r.named.first(), queue, r.keys, r.facts)
	})
	if err != nil {
		return fmt.Errorf("store what is known of new records: %w", err)
	}
	w.rows = w.rows[:0]
	return nil
}

var errChunk = errors.New("what is known of records is damaged")

// chunkRecord is a record of a chunk as it is stored: its facts are some bytes of all that the
// chunk has, from a place on.
type chunkRecord struct {
	record  int64
	merged  work.LookupKey
	mark    work.Mark
	keys    []byte // packed
	factsAt int
	facts   int
}

// eachOfChunk goes through the records of a chunk.
func eachOfChunk(first int64, keys []byte, f func(chunkRecord)) error {
	at := 0
	for len(keys) > 0 {
		r := chunkRecord{record: chunkOf(first)*recordsPerChunk + int64(keys[0]), factsAt: at}
		count, n := binary.Uvarint(keys[1:])
		if n <= 0 {
			return errChunk
		}
		keys = keys[1+n:]
		size, n := binary.Uvarint(keys)
		if n <= 0 || size > 2*mostFacts {
			return errChunk
		}
		keys = keys[n:]
		if uint64(len(keys))/8 < count+1 || len(keys)-8*int(count) < 12 {
			return errChunk
		}
		r.merged = work.LookupKey(binary.BigEndian.Uint64(keys))
		r.keys = keys[8 : 8+8*count]
		keys = keys[8+8*count:]
		r.mark = work.Mark(binary.BigEndian.Uint32(keys))
		keys = keys[4:]
		r.facts = int(size)
		at += r.facts
		f(r)
	}
	return nil
}

// fewestChunksOfARange is how many chunks that stand side by side are read as a range; widestGap
// is how many that are not wanted may stand between two.
const (
	fewestChunksOfARange = 4
	widestGap            = 1
)

// readChunks reads columns of the rows of chunks in which sorted records may be; others may be
// among them. isFound says of a record whether it was met.
func (x *tx) readChunks(cols string, ids []int64, take func(*sql.Rows) error, isFound func(int64) bool) error {
	var apart []int64
	for len(ids) > 0 {
		n, chunks := sideBySideChunks(ids)
		some := ids[:n]
		ids = ids[n:]
		if chunks < fewestChunksOfARange {
			apart = append(apart, some...)
			continue
		}
		if err := x.chunkRows(cols, `BETWEEN ? AND ?`, []any{chunkOf(some[0]) * recordsPerChunk, some[n-1]}, take); err != nil {
			return err
		}
	}
	// Most chunks begin with the first of their numbers.
	firsts := make([]int64, 0, len(apart))
	for _, id := range apart {
		firsts = append(firsts, chunkOf(id)*recordsPerChunk)
	}
	if err := x.chunksThatBegin(cols, slices.Compact(firsts), take); err != nil {
		return err
	}
	firsts = firsts[:0]
	for _, id := range apart {
		if isFound(id) {
			continue
		}
		for first := chunkOf(id)*recordsPerChunk + 1; first <= id; first++ {
			firsts = append(firsts, first)
		}
	}
	return x.chunksThatBegin(cols, distinct(firsts), take)
}

// sideBySideChunks is how many of the first of sorted records are in chunks that stand side by
// side, and how many chunks that are.
func sideBySideChunks(ids []int64) (records, chunks int) {
	last := chunkOf(ids[0])
	chunks = 1
	for i, id := range ids {
		no := chunkOf(id)
		if no > last+1+widestGap {
			return i, chunks
		}
		if no > last {
			chunks++
			last = no
		}
	}
	return len(ids), chunks
}

// chunksThatBegin reads the chunks that begin with some records.
func (x *tx) chunksThatBegin(cols string, firsts []int64, take func(*sql.Rows) error) error {
	for args := range inLists(firsts) {
		if err := x.chunkRows(cols, `IN (`+list(len(args))+`)`, args, take); err != nil {
			return err
		}
	}
	return nil
}

func (x *tx) chunkRows(cols, where string, args []any, take func(*sql.Rows) error) error {
	err := x.each(take, `SELECT `+cols+` FROM ing_work_facts WHERE first_record `+where+` ORDER BY first_record`, args...)
	if err != nil {
		return fmt.Errorf("read what is known of records: %w", err)
	}
	return nil
}
