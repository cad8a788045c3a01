package sqlstore

import (
	"cmp"
	"database/sql"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/klauspost/compress/s2"
	"github.com/papertrace/patra/internal/domain/work"
)

// keyed is a record whose keys are stored in this step, which has tens of thousands.
type keyed struct {
	record int64
	merged work.LookupKey // under which those are found that were merged into it
	keys   []work.LookupKey
	// read is what is known of one that was read in this step, nil if it is new by the word of
	// its page. Only what was read has to be looked at whatever others have.
	read *readAnew
	// What is known of another are so many bytes of a chunk from a place on; none if it is too
	// much to be kept.
	chunk  int32 // its place in stepFacts
	at     int32
	size   int32
	mark   work.Mark
	source sourcePlace
	// isFresh: it was never linked before, so nothing is stored of its work. That ends when it
	// is linked.
	isFresh bool
	// isShared: another record is found under one of its keys, or beside it.
	isShared bool
}

// readAnew is a record that was read in this step.
type readAnew struct {
	revision int64
	facts    []byte // what is known of it, packed
	was      knownKeys
}

// old are the keys under which a record is found until now.
func (r *keyed) old() []work.LookupKey {
	if r.read == nil {
		return nil
	}
	return r.read.was.keys
}

// stepRecords are the records whose keys are stored in a step, by their numbers.
type stepRecords []keyed

// find is what is stored of a record in this step, nil if it is not of the step. Numbers of new
// records follow each other, so a record mostly stands as far behind the first as its number is.
func (s stepRecords) find(record int64) *keyed {
	if len(s) == 0 {
		return nil
	}
	guess := record - s[0].record
	if guess >= 0 && guess < int64(len(s)) && s[guess].record == record {
		return &s[guess]
	}
	at, found := slices.BinarySearchFunc(s, record, func(r keyed, record int64) int { return cmp.Compare(r.record, record) })
	if !found {
		return nil
	}
	return &s[at]
}

// isFresh reports whether a record was never linked before: nothing is stored of it.
func (l *linking) isFresh(record int64) bool {
	r := l.step.find(record)
	return r != nil && r.isFresh
}

// stepFacts are what is known of the records of a step, chunk by chunk, as it is stored: those that
// share a key with others are looked at several times.
type stepFacts struct {
	packed [][]byte
	room   []byte // for those of many chunks
	// open is what the chunk at a place has, unpacked.
	open   []byte
	openAt int32
	isOpen bool
}

// bytesPerRoom is how much of what is known is kept together.
const bytesPerRoom = 256 << 10

// keep keeps what a chunk has.
func (s *stepFacts) keep(packed []byte) {
	if cap(s.room)-len(s.room) < len(packed) {
		s.room = make([]byte, 0, max(bytesPerRoom, len(packed)))
	}
	from := len(s.room)
	s.room = append(s.room, packed...)
	s.packed = append(s.packed, s.room[from:len(s.room):len(s.room)])
}

// last is the place of the chunk that was kept last.
func (s *stepFacts) last() int32 { return int32(len(s.packed) - 1) }

// of is what is known of a record whose facts were kept, packed as a record is; nothing if they are
// not whole, so that the record is read again.
func (s *stepFacts) of(r *keyed) ([]byte, error) {
	if !s.isOpen || s.openAt != r.chunk {
		s.isOpen = false
		var err error
		s.open, err = s2.Decode(s.open[:cap(s.open)], s.packed[r.chunk])
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errChunk, err)
		}
		s.openAt = r.chunk
		s.isOpen = true
	}
	if int(r.at)+int(r.size) > len(s.open) {
		return nil, nil
	}
	return s.open[r.at : r.at+r.size], nil
}

// takeKeys takes up the keys of the records that were read, and of those that are new.
func (l *linking) takeKeys(ids []int64, rows []queueRow) error {
	known := map[int64]knownKeys{}
	if err := l.linkedKeys(ids, rows, known); err != nil {
		return err
	}
	if err := l.readBefore(rows, known); err != nil {
		return err
	}
	most := len(ids)
	for _, row := range rows {
		most += row.count()
	}
	l.step = make(stepRecords, 0, most)
	isFirst := func(id int64) bool { return !l.p.isScanning() || id > l.p.ScanTo }
	for some := range chunks(ids, keysPerRead) {
		if err := l.read(some); err != nil {
			return err
		}
		for _, id := range some {
			r := l.meet(id).facts
			if r == nil {
				continue // its rows are gone
			}
			if r.MergedInto != "" {
				l.p.noteMerging(r.Key.Source)
			}
			was, isKnown := known[id]
			read := readAnew{revision: r.Revision, facts: packFacts(nil, r), was: was}
			l.step = append(l.step, keyed{
				record: id, merged: r.Key.MergedKey(), keys: r.Keys(), read: &read, size: int32(len(read.facts)), mark: r.Mark(),
				source: l.p.sourceNo(r.Key.Source), isFresh: !isKnown && isFirst(id),
			})
		}
		clear(l.met)
	}
	var room []work.LookupKey // for the keys of many records
	for _, row := range rows {
		no := l.p.sourceNo(row.source)
		err := l.x.newKeys(row, &l.facts, func(c chunkRecord) {
			// One that was read before came too late.
			if _, wasLinked := known[c.record]; wasLinked {
				return
			}
			if cap(room)-len(room) < len(c.keys)/8 {
				room = make([]work.LookupKey, 0, keysPerRoom+len(c.keys)/8)
			}
			from := len(room)
			room = appendKeys(room, c.keys)
			l.step = append(l.step, keyed{
				record: c.record, merged: c.merged, keys: room[from:len(room):len(room)],
				chunk: l.facts.last(), at: int32(c.factsAt), size: int32(c.facts), mark: c.mark, source: no, isFresh: isFirst(c.record),
			})
		})
		if err != nil {
			return err
		}
	}
	slices.SortFunc(l.step, func(a, b keyed) int {
		if a.record == b.record && a.read != nil {
			return -1
		}
		return cmp.Compare(a.record, b.record)
	})
	// Of one that is new and was read all the same what was read holds.
	l.step = slices.CompactFunc(l.step, func(a, b keyed) bool { return a.record == b.record })
	return nil
}

// newKeys hands on the records that a row of the queue names as new, and keeps what is known of them.
func (x *tx) newKeys(row queueRow, kept *stepFacts, f func(chunkRecord)) error {
	take := func(r *sql.Rows) error {
		var first, queue int64
		var keys, facts sql.RawBytes
		if err := r.Scan(&first, &queue, &keys, &facts); err != nil || queue != row.id {
			return err
		}
		kept.keep(facts)
		return eachOfChunk(first, keys, f)
	}
	const cols = `first_record, queue_id, lookup_keys, facts`
	firsts := make([]int64, len(row.chunks))
	for i, c := range row.chunks {
		firsts[i] = c.first()
	}
	firsts = distinct(firsts)
	// Mostly nobody else has stored records meanwhile.
	if n := len(firsts); n >= fewestChunksOfARange && chunkOf(firsts[n-1])-chunkOf(firsts[0]) < 2*int64(n) {
		return x.chunkRows(cols, `BETWEEN ? AND ?`, []any{firsts[0], firsts[n-1]}, take)
	}
	return x.chunksThatBegin(cols, firsts, take)
}

// knownKeys are the keys under which a record is found until now, and whether they are in a row of
// its own.
type knownKeys struct {
	keys   []work.LookupKey
	hasRow bool
}

// linkedKeys reads the keys of records that were linked before.
func (l *linking) linkedKeys(ids []int64, rows []queueRow, known map[int64]knownKeys) error {
	for args := range inLists(ids) {
		if err := l.ownRows(known, `IN (`+list(len(args))+`)`, args...); err != nil {
			return err
		}
	}
	inStep := map[int64]bool{}
	for _, row := range rows {
		inStep[row.id] = true
	}
	waits := map[int64]bool{} // by rows of the queue
	ids = slices.DeleteFunc(slices.Clone(ids), func(id int64) bool { return known[id].hasRow })
	type inChunk struct {
		queue int64
		keys  []work.LookupKey
	}
	stored := map[int64]inChunk{}
	isFound := func(id int64) bool {
		_, found := stored[id]
		return found
	}
	err := l.x.readChunks(`first_record, queue_id, lookup_keys`, ids, func(r *sql.Rows) error {
		var first, queue int64
		var keys sql.RawBytes
		if err := r.Scan(&first, &queue, &keys); err != nil {
			return err
		}
		return eachOfChunk(first, keys, func(c chunkRecord) {
			if _, asked := slices.BinarySearch(ids, c.record); asked {
				stored[c.record] = inChunk{queue, unpackKeys(c.keys)}
			}
		})
	}, isFound)
	if err != nil {
		return err
	}
	var queues []int64
	for _, f := range stored {
		queues = append(queues, f.queue)
	}
	for args := range inLists(distinct(queues)) {
		err := l.x.each(func(r *sql.Rows) error {
			var id int64
			err := r.Scan(&id)
			waits[id] = true
			return err
		}, `SELECT id FROM ing_work_queue WHERE id IN (`+list(len(args))+`)`, args...)
		if err != nil {
			return fmt.Errorf("look for what is to be linked: %w", err)
		}
	}
	for id, f := range stored {
		if !waits[f.queue] && !inStep[f.queue] {
			known[id] = knownKeys{keys: f.keys}
		}
	}
	return nil
}

// readBefore reads the keys of records that are new by the word of their page and were read and
// linked before that came up: mostly there is none.
func (l *linking) readBefore(rows []queueRow, known map[int64]knownKeys) error {
	for _, row := range rows {
		if len(row.chunks) == 0 {
			continue
		}
		first, last := row.chunks[0].no, row.chunks[0].no
		for _, c := range row.chunks {
			first = min(first, c.no)
			last = max(last, c.no)
		}
		if err := l.ownRows(known, `BETWEEN ? AND ?`, first*recordsPerChunk, (last+1)*recordsPerChunk-1); err != nil {
			return err
		}
	}
	return nil
}

// ownRows reads the keys of records that have rows of their own.
func (l *linking) ownRows(known map[int64]knownKeys, where string, args ...any) error {
	err := l.x.each(func(r *sql.Rows) error {
		var id int64
		var packed sql.RawBytes
		if err := r.Scan(&id, &packed); err != nil {
			return err
		}
		known[id] = knownKeys{unpackKeys(packed), true}
		return nil
	}, `SELECT record_id, lookup_keys FROM ing_work_record WHERE record_id `+where, args...)
	if err != nil {
		return fmt.Errorf("read keys of records: %w", err)
	}
	return nil
}

func packKeys(keys []work.LookupKey) []byte {
	out := make([]byte, 0, 8*len(keys))
	for _, k := range keys {
		out = binary.BigEndian.AppendUint64(out, uint64(k))
	}
	return out
}

func unpackKeys(b []byte) []work.LookupKey { return appendKeys(make([]work.LookupKey, 0, len(b)/8), b) }

// keysPerRoom is how many keys are kept together.
const keysPerRoom = 4096

// appendKeys appends keys that are packed.
func appendKeys(out []work.LookupKey, b []byte) []work.LookupKey {
	for ; len(b) >= 8; b = b[8:] {
		out = append(out, work.LookupKey(binary.BigEndian.Uint64(b)))
	}
	return out
}

// storeRecords stores what was read of records. What is known of others is stored since they came.
func (l *linking) storeRecords() error {
	var added []*keyed
	for i := range l.step {
		r := &l.step[i]
		switch {
		case r.read == nil:
		case !r.read.was.hasRow:
			added = append(added, r)
		default:
			if _, err := l.x.exec(`UPDATE ing_work_record SET revision=?, lookup_keys=?, facts=? WHERE record_id=?`,
				r.read.revision, packKeys(r.keys), r.read.facts, r.record); err != nil {
				return fmt.Errorf("store keys of a record: %w", err)
			}
		}
	}
	return insertEach(l.x, `INTO ing_work_record (record_id, revision, lookup_keys, facts)`, added, func(args []any, r *keyed) []any {
		return append(args, r.record, r.read.revision, packKeys(r.keys), r.read.facts)
	})
}
