package sqlstore

import (
	"cmp"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/papertrace/patra/internal/domain/work"
)

// The index of keys says which records are found under a key. A row for each key of each
// record would cost more than all else that linking does, for hardly any is ever found
// again. So entries are kept as sorted runs, in blocks of a thousand: what a step adds
// is a run of its own, or is merged with those before it once several are of its size. Runs
// grow from the last to the first, so there are few, and an entry is written few times.
//
//	run 7  |block|block|block|block|block|block|   all that came first
//	run 9  |block|block|
//	run 12 |block|                                 the last steps
//
// Of entries for one key and one record that of the latest run holds.

// entry says that a record of a source is found under a key, or is no longer.
type entry struct {
	key    work.LookupKey
	record int64
	source int // its number in [workPosition]
	mark   work.Mark
	gone   bool
}

func compareEntries(a, b entry) int {
	if a.key != b.key {
		return cmp.Compare(a.key, b.key)
	}
	return cmp.Compare(a.record, b.record)
}

// storedKey is a key as the column has it, whose numbers have a sign: in the same order.
func storedKey(k work.LookupKey) int64 { return int64(k ^ 1<<63) }

func keyStored(n int64) work.LookupKey { return work.LookupKey(n) ^ 1<<63 }

// keyRun is a sorted run of entries.
type keyRun struct {
	No      int64 `json:"no"`
	Entries int   `json:"entries"`
}

// entriesPerBlock is how many entries are read together.
const entriesPerBlock = 1024

// sourceBits are those of an entry's number in which its source stands.
const sourceBits = 12

// An entry is kept in so many bytes, all of one length, so that it can be found in a block,
// and merged with others, without unpacking these: its key; the record with its source and
// whether it is gone in one number; and its mark, which counts under those keys that have
// one.
const (
	entrySize = 20
	numberAt  = 8
	markAt    = 16
)

// entryList are entries as they are kept.
type entryList []byte

func (l entryList) add(e entry) entryList {
	l = binary.BigEndian.AppendUint64(l, uint64(e.key))
	n := uint64(e.record)<<(sourceBits+1) | uint64(e.source)<<1
	if e.gone {
		n |= 1
	}
	l = binary.BigEndian.AppendUint64(l, n)
	return binary.BigEndian.AppendUint32(l, uint32(e.mark))
}

func (l entryList) count() int { return len(l) / entrySize }

func (l entryList) key(i int) work.LookupKey {
	return work.LookupKey(binary.BigEndian.Uint64(l[i*entrySize:]))
}

func (l entryList) number(i int) uint64 { return binary.BigEndian.Uint64(l[i*entrySize+numberAt:]) }

func (l entryList) at(i int) entry {
	n := l.number(i)
	return entry{
		key: l.key(i), record: int64(n >> (sourceBits + 1)), source: int(n >> 1 & (1<<sourceBits - 1)), gone: n&1 == 1,
		mark: work.Mark(binary.BigEndian.Uint32(l[i*entrySize+markAt:])),
	}
}

// compareFirst compares the first entries of two lists by their keys and records.
func (l entryList) compareFirst(o entryList) int {
	if c := cmp.Compare(l.key(0), o.key(0)); c != 0 {
		return c
	}
	return cmp.Compare(l.number(0)>>(sourceBits+1), o.number(0)>>(sourceBits+1))
}

// from is the place of the first entry, from a place on, whose key is not before one. It
// stands near by mostly, so the steps grow.
func (l entryList) from(place int, k work.LookupKey) int {
	step := 1
	for place+step < l.count() && l.key(place+step) < k {
		place += step
		step *= 2
	}
	low := place
	high := min(place+step, l.count())
	for low < high {
		middle := (low + high) / 2
		if l.key(middle) < k {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

var errBlock = errors.New("a block of the index of keys is damaged")

// block is where entries stand that begin with a key.
type block struct {
	id    int64
	first work.LookupKey
}

// blocks lists the blocks of a run in their order. The index of the table has all that
// is read.
func (each reading) blocks(run int64) (out []block, err error) {
	err = each(func(r *sql.Rows) error {
		var id, first int64
		err := r.Scan(&first, &id)
		out = append(out, block{id, keyStored(first)})
		return err
	}, `SELECT first_key, id FROM ing_work_block WHERE run_no=? ORDER BY first_key, id`, run)
	if err != nil {
		return nil, fmt.Errorf("list blocks of keys: %w", err)
	}
	return out, nil
}

// blocksPerRead is how many blocks are read at once.
const blocksPerRead = 64

// readBlocks reads blocks and hands on their entries, block by block in their order.
func (each reading) readBlocks(wanted []block, f func(entryList)) error {
	for part := range chunks(wanted, blocksPerRead) {
		ids := make([]int64, len(part))
		for i, b := range part {
			ids[i] = b.id
		}
		for args := range inLists(ids) {
			err := each(func(r *sql.Rows) error {
				var body sql.RawBytes
				if err := r.Scan(&body); err != nil {
					return err
				}
				if len(body)%entrySize != 0 {
					return errBlock
				}
				f(entryList(body))
				return nil
			}, `SELECT body FROM ing_work_block WHERE id IN (`+list(len(args))+`) ORDER BY first_key, id`, args...)
			if err != nil {
				return fmt.Errorf("read blocks of keys: %w", err)
			}
		}
	}
	return nil
}

// blocksOf are those blocks of a run in which sorted keys may stand.
func blocksOf(all []block, keys []work.LookupKey) []block {
	var out []block
	for i, b := range all {
		// The key with which the next block begins may stand in this one, too.
		last := ^work.LookupKey(0)
		if i+1 < len(all) {
			last = all[i+1].first
		}
		at, _ := slices.BinarySearch(keys, b.first)
		if at == len(keys) {
			break
		}
		keys = keys[at:]
		if keys[0] <= last {
			out = append(out, b)
		}
	}
	return out
}

// blockLists are the blocks of runs that were listed already.
type blockLists map[int64][]block

// find reads the entries of sorted keys, and hands on those that hold. lists may be nil.
func (each reading) find(runs []keyRun, lists blockLists, keys []work.LookupKey, f func(entry)) error {
	if len(keys) == 0 {
		return nil
	}
	var found []entry
	for _, run := range slices.Backward(runs) { // the latest first
		all, listed := lists[run.No]
		if !listed {
			var err error
			all, err = each.blocks(run.No)
			if err != nil {
				return err
			}
			if lists != nil {
				lists[run.No] = all
			}
		}
		at := 0
		err := each.readBlocks(blocksOf(all, keys), func(l entryList) {
			place := 0
			last := l.key(l.count() - 1)
			for at < len(keys) && place < l.count() {
				place = l.from(place, keys[at])
				for ; place < l.count() && l.key(place) == keys[at]; place++ {
					found = append(found, l.at(place))
				}
				if keys[at] >= last {
					break // there may be more of it in the next block
				}
				at++
			}
		})
		if err != nil {
			return err
		}
	}
	slices.SortStableFunc(found, compareEntries)
	for i, e := range found {
		if i > 0 && compareEntries(found[i-1], e) == 0 {
			continue // a later run has said it
		}
		if !e.gone {
			f(e)
		}
	}
	return nil
}

// runsPerMerge is how many runs of one size make one.
const runsPerMerge = 4

// addEntries adds sorted entries to the index: as a run of their own, or merged with the
// last runs if enough of them are not much larger.
func (x *tx) addEntries(p *workPosition, added []entry) error {
	if len(added) == 0 {
		return nil
	}
	keep := keptRuns(p.Runs, len(added))
	p.LastRun++
	packed := make(entryList, 0, entrySize*len(added))
	for _, e := range added {
		packed = packed.add(e)
	}
	m := merger{x: x, run: p.LastRun, isFirst: keep == 0, inputs: []*runReader{{x: x, buf: packed}}}
	for _, old := range slices.Backward(p.Runs[keep:]) {
		blocks, err := reading(x.each).blocks(old.No)
		if err != nil {
			return err
		}
		m.inputs = append(m.inputs, &runReader{x: x, rest: blocks})
	}
	if err := m.merge(); err != nil {
		return err
	}
	for _, old := range p.Runs[keep:] {
		if _, err := x.exec(`DELETE FROM ing_work_block WHERE run_no=?`, old.No); err != nil {
			return fmt.Errorf("delete a run of keys: %w", err)
		}
	}
	p.Runs = p.Runs[:keep]
	if m.written > 0 {
		p.Runs = append(p.Runs, keyRun{No: m.run, Entries: m.written})
	}
	return nil
}

// keptRuns is how many of the first runs stay as they are if a run of a size is added.
func keptRuns(runs []keyRun, size int) int {
	keep := len(runs)
	for {
		first := keep
		sum := size
		for first > 0 && runs[first-1].Entries <= 2*size {
			first--
			sum += runs[first].Entries
		}
		if keep-first < runsPerMerge-1 {
			return keep
		}
		keep = first
		size = sum
	}
}

// runReader reads a run entry by entry.
type runReader struct {
	x    *tx
	rest []block   // not read yet
	buf  entryList // read and not taken
	own  entryList // where buf is kept
}

// blocksPerFill is how many blocks of a run are read at once while it is merged.
const blocksPerFill = 16

// fill reads on where nothing is left, and reports whether there is an entry.
func (r *runReader) fill() (bool, error) {
	for len(r.buf) == 0 && len(r.rest) > 0 {
		part := r.rest[:min(len(r.rest), blocksPerFill)]
		r.rest = r.rest[len(part):]
		r.own = r.own[:0]
		err := reading(r.x.each).readBlocks(part, func(more entryList) { r.own = append(r.own, more...) })
		if err != nil {
			return false, err
		}
		r.buf = r.own
	}
	return len(r.buf) > 0, nil
}

// merger merges runs into one.
type merger struct {
	x       *tx
	run     int64
	isFirst bool         // nothing is below the run, so what is gone need not be told
	inputs  []*runReader // the latest first
	written int
	pending entryList
	rows    [][]any
}

func (m *merger) merge() error {
	for {
		var least *runReader
		live := m.inputs[:0]
		for _, r := range m.inputs {
			some, err := r.fill()
			if err != nil {
				return err
			}
			if !some {
				continue
			}
			live = append(live, r)
			if least == nil || r.buf.compareFirst(least.buf) < 0 {
				least = r // of equals the latest, which comes first
			}
		}
		m.inputs = live
		if least == nil {
			return m.flush(true)
		}
		first := least.buf[:entrySize]
		for _, r := range live {
			if r != least && r.buf.compareFirst(first) == 0 {
				r.buf = r.buf[entrySize:]
			}
		}
		least.buf = least.buf[entrySize:]
		if m.isFirst && first.number(0)&1 == 1 {
			continue
		}
		m.pending = append(m.pending, first...)
		m.written++
		if m.pending.count() == entriesPerBlock {
			if err := m.flush(false); err != nil {
				return err
			}
		}
	}
}

// blocksPerInsert is how many blocks are written at once.
const blocksPerInsert = 16

// flush writes a block, and the rows that are full or the last.
func (m *merger) flush(last bool) error {
	if len(m.pending) > 0 {
		m.rows = append(m.rows, []any{m.run, storedKey(m.pending.key(0)), []byte(m.pending)})
		m.pending = make(entryList, 0, entrySize*entriesPerBlock)
	}
	if len(m.rows) < blocksPerInsert && !last {
		return nil
	}
	err := m.x.insertRows(`INSERT INTO ing_work_block (run_no, first_key, body)`, m.rows)
	m.rows = m.rows[:0]
	return err
}
