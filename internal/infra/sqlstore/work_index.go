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
// is a run of its own, or is merged with those before it that are not much larger. Runs
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

// packEntries writes a block: of each entry the distance from the key before, the
// record with its source and whether it is gone in one number, and under those keys that
// have one its mark.
func packEntries(es []entry) []byte {
	out := make([]byte, 0, 15*len(es))
	last := es[0].key
	for _, e := range es {
		out = binary.AppendUvarint(out, uint64(e.key-last))
		n := uint64(e.record)<<(sourceBits+1) | uint64(e.source)<<1
		if e.gone {
			n |= 1
		}
		out = binary.AppendUvarint(out, n)
		if e.key.IsMarked() {
			out = binary.BigEndian.AppendUint32(out, uint32(e.mark))
		}
		last = e.key
	}
	return out
}

var errBlock = errors.New("a block of the index of keys is damaged")

// unpackEntries reads a block that begins with a key, and appends its entries.
func unpackEntries(into []entry, first work.LookupKey, b []byte) ([]entry, error) {
	key := first
	for len(b) > 0 {
		delta, n := binary.Uvarint(b)
		if n <= 0 {
			return into, errBlock
		}
		b = b[n:]
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return into, errBlock
		}
		b = b[n:]
		key += work.LookupKey(delta)
		e := entry{key: key, record: int64(v >> (sourceBits + 1)), source: int(v >> 1 & (1<<sourceBits - 1)), gone: v&1 == 1}
		if key.IsMarked() {
			if len(b) < 4 {
				return into, errBlock
			}
			e.mark = work.Mark(binary.BigEndian.Uint32(b))
			b = b[4:]
		}
		into = append(into, e)
	}
	return into, nil
}

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
func (each reading) readBlocks(wanted []block, f func([]entry)) error {
	var es []entry
	for part := range chunks(wanted, blocksPerRead) {
		ids := make([]any, len(part))
		for i, b := range part {
			ids[i] = b.id
		}
		err := each(func(r *sql.Rows) error {
			var first int64
			var body sql.RawBytes
			if err := r.Scan(&first, &body); err != nil {
				return err
			}
			var err error
			es, err = unpackEntries(es[:0], keyStored(first), body)
			if err != nil {
				return err
			}
			f(es)
			return nil
		}, `SELECT first_key, body FROM ing_work_block WHERE id IN (`+list(len(part))+`) ORDER BY first_key, id`, ids...)
		if err != nil {
			return fmt.Errorf("read blocks of keys: %w", err)
		}
	}
	return nil
}

// blocksOf are those blocks of a run in which sorted keys may stand.
func blocksOf(all []block, keys []work.LookupKey) []block {
	var out []block
	next := 0 // the first block that was not taken
	for _, k := range keys {
		from, _ := slices.BinarySearchFunc(all, k, func(b block, k work.LookupKey) int { return cmp.Compare(b.first, k) })
		for i := max(next, from-1); i < len(all) && all[i].first <= k; i++ {
			out = append(out, all[i])
			next = i + 1
		}
	}
	return out
}

// find reads the entries of sorted keys, and hands on those that hold.
func (each reading) find(runs []keyRun, keys []work.LookupKey, f func(entry)) error {
	var found []entry
	for _, run := range slices.Backward(runs) { // the latest first
		all, err := each.blocks(run.No)
		if err != nil {
			return err
		}
		at := 0
		err = each.readBlocks(blocksOf(all, keys), func(es []entry) {
			for _, e := range es {
				for at < len(keys) && keys[at] < e.key {
					at++
				}
				if at == len(keys) {
					return
				}
				if keys[at] == e.key {
					found = append(found, e)
				}
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

// addEntries adds sorted entries to the index: as a run of their own, or merged with the
// last runs if these are not much larger.
func (x *tx) addEntries(p *workPosition, added []entry) error {
	if len(added) == 0 {
		return nil
	}
	size := len(added)
	keep := len(p.Runs)
	for keep > 0 && p.Runs[keep-1].Entries <= 2*size {
		keep--
		size += p.Runs[keep].Entries
	}
	p.LastRun++
	m := merger{x: x, run: p.LastRun, isFirst: keep == 0, inputs: []*runReader{{x: x, buf: added}}}
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

// runReader reads a run entry by entry.
type runReader struct {
	x    *tx
	rest []block // not read yet
	buf  []entry // read and not taken
}

// fill reads on where nothing is left, and reports whether there is an entry.
func (r *runReader) fill() (bool, error) {
	for len(r.buf) == 0 && len(r.rest) > 0 {
		part := r.rest[:min(len(r.rest), blocksPerRead)]
		r.rest = r.rest[len(part):]
		var es []entry
		err := reading(r.x.each).readBlocks(part, func(more []entry) { es = append(es, more...) })
		if err != nil {
			return false, err
		}
		r.buf = es
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
	pending []entry
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
			if least == nil || compareEntries(r.buf[0], least.buf[0]) < 0 {
				least = r // of equals the latest, which comes first
			}
		}
		m.inputs = live
		if least == nil {
			return m.flush(true)
		}
		e := least.buf[0]
		for _, r := range live {
			if compareEntries(r.buf[0], e) == 0 {
				r.buf = r.buf[1:]
			}
		}
		if e.gone && m.isFirst {
			continue
		}
		m.pending = append(m.pending, e)
		m.written++
		if len(m.pending) == entriesPerBlock {
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
		m.rows = append(m.rows, []any{m.run, storedKey(m.pending[0].key), packEntries(m.pending)})
		m.pending = m.pending[:0]
	}
	if len(m.rows) < blocksPerInsert && !last {
		return nil
	}
	err := m.x.insertRows(`INSERT INTO ing_work_block (run_no, first_key, body)`, m.rows)
	m.rows = m.rows[:0]
	return err
}
