package sqlstore

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/papertrace/patra/internal/domain/work"
)

// The index of keys says which records are found under a key. A row for each key of each
// record would cost more than all else that linking does, for hardly any is ever found
// again. So entries are kept as sorted runs, in blocks of two hundred: what a step adds
// is a run of its own, or is merged with those before it once several are of its size. Runs
// grow from the last to the first, so there are few, and an entry is written few times.
//
//	run 7  |block|block|block|block|block|block|   all that came first
//	run 9  |block|block|
//	run 12 |block|                                 the last steps
//
// Of entries for one key and one record that of the latest run holds. The blocks of a run
// make sections (work_section.go), which tell of nearly every key that is not there that it
// is not, so that a step reads blocks for what it finds and not for what it looks for.

// entry says that a record of a source is found under a key, or is no longer.
type entry struct {
	key    work.LookupKey
	record int64
	mark   work.Mark
	source sourcePlace
	gone   bool
}

// sourcePlace is the place of a source in [workPosition]. A step holds a few hundred thousand
// entries, so that it is kept short.
type sourcePlace uint16

func compareEntries(a, b entry) int {
	if a.key != b.key {
		return cmp.Compare(a.key, b.key)
	}
	return cmp.Compare(a.record, b.record)
}

// sortEntries sorts entries; those that are equal stay in their order. Keys are numbers spread evenly, so that each entry nearly finds its
// place by the first bits of its key, and few have to be compared.
func sortEntries(es []entry) []entry {
	width := bits.Len(uint(len(es) / entriesPerBucket))
	shift := 64 - width
	ends := make([]int, 1<<width)
	for _, e := range es {
		ends[e.key>>shift]++
	}
	sum := 0
	for i, n := range ends {
		ends[i] = sum
		sum += n
	}
	out := make([]entry, len(es))
	for _, e := range es {
		at := &ends[e.key>>shift]
		out[*at] = e
		*at++
	}
	from := 0
	for _, end := range ends {
		sortFew(out[from:end])
		from = end
	}
	return out
}

// sortFew sorts a few entries; those that are equal stay in their order.
func sortFew(es []entry) {
	if len(es) > 8*entriesPerBucket {
		slices.SortStableFunc(es, compareEntries)
		return
	}
	for i := 1; i < len(es); i++ {
		e := es[i]
		at := i
		for at > 0 && (es[at-1].key > e.key || es[at-1].key == e.key && es[at-1].record > e.record) {
			es[at] = es[at-1]
			at--
		}
		es[at] = e
	}
}

// entriesPerBucket is how many entries that begin alike are sorted by comparing them, about.
const entriesPerBucket = 8

// storedKey is a key as the column has it, whose numbers have a sign: in the same order.
func storedKey(k work.LookupKey) int64 { return int64(k ^ 1<<63) }

func keyStored(n int64) work.LookupKey { return work.LookupKey(n) ^ 1<<63 }

// keyRun is a sorted run of entries.
type keyRun struct {
	No      int64 `json:"no"`
	Entries int   `json:"entries"`
	// BySource: its sections tell of how titles begin which sources have records under it. One that
	// an older patra wrote or merged does not, and that patra takes no notice of it.
	BySource bool `json:"by_source,omitzero"`
}

// entriesPerBlock is how many entries are read together: as many as a page of SQLite holds.
const entriesPerBlock = 200

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

func (l entryList) source(i int) sourcePlace {
	return sourcePlace(l.number(i) >> 1 & (1<<sourceBits - 1))
}

func (l entryList) at(i int) entry {
	n := l.number(i)
	return entry{
		key: l.key(i), record: int64(n >> (sourceBits + 1)), source: l.source(i), gone: n&1 == 1,
		mark: work.Mark(binary.BigEndian.Uint32(l[i*entrySize+markAt:])),
	}
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
	if p.LastBlock == 0 { // blocks that were there before had numbers that nobody kept
		if err := x.row(`SELECT COALESCE(MAX(id), 0) FROM ing_work_block`).Scan(&p.LastBlock); err != nil {
			return fmt.Errorf("find the last block of keys: %w", err)
		}
	}
	m := merger{x: x, p: p, run: p.LastRun, isFirst: keep == 0, inputs: []*runReader{{x: x, added: added}}}
	for _, old := range slices.Backward(p.Runs[keep:]) {
		blocks, err := reading(x.each).blocks(old.No)
		if err != nil {
			return err
		}
		ids := make([]int64, len(blocks))
		for i, b := range blocks {
			ids[i] = b.id
		}
		m.inputs = append(m.inputs, &runReader{x: x, rest: ids})
	}
	if err := m.merge(); err != nil {
		return err
	}
	for _, old := range p.Runs[keep:] {
		for _, table := range []string{"ing_work_block", "ing_work_section"} {
			if _, err := x.exec(`DELETE FROM `+table+` WHERE run_no=?`, old.No); err != nil {
				return fmt.Errorf("delete a run of keys: %w", err)
			}
		}
	}
	p.Runs = p.Runs[:keep]
	if m.written > 0 {
		p.Runs = append(p.Runs, keyRun{No: m.run, Entries: m.written, BySource: true})
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
	rest []int64 // blocks that were not read yet
	// added are those that are no run yet, and not packed yet.
	added []entry
	buf   entryList // read and not taken
	own   entryList // where buf is kept
	// key and record are those of the first entry that was not taken, once it was read.
	key    work.LookupKey
	record uint64
}

// blocksPerFill is how many blocks of a run are read at once while it is merged, or entries for so
// many packed.
const blocksPerFill = 64

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
	if len(r.buf) == 0 && len(r.added) > 0 {
		n := min(len(r.added), blocksPerFill*entriesPerBlock)
		r.own = r.own[:0]
		for _, e := range r.added[:n] {
			r.own = r.own.add(e)
		}
		r.added = r.added[n:]
		r.buf = r.own
	}
	if len(r.buf) == 0 {
		return false, nil
	}
	r.key = r.buf.key(0)
	r.record = r.buf.number(0) >> (sourceBits + 1)
	return true, nil
}

// compare compares the first entries of two readers by their keys and records.
func (r *runReader) compare(o *runReader) int {
	if r.key != o.key {
		return cmp.Compare(r.key, o.key)
	}
	return cmp.Compare(r.record, o.record)
}

// merger merges runs into one.
type merger struct {
	x       *tx
	p       *workPosition
	run     int64
	isFirst bool         // nothing is below the run, so what is gone need not be told
	inputs  []*runReader // the latest first
	written int
	pending entryList // of the block that is being filled
	section sectionWriter
}

func (m *merger) merge() error {
	for _, r := range m.inputs {
		if _, err := r.fill(); err != nil {
			return err
		}
	}
	m.leaveOver()
	for len(m.inputs) > 0 {
		least := m.inputs[0]
		for _, r := range m.inputs[1:] {
			if r.compare(least) < 0 { // of equals the latest holds, which comes first
				least = r
			}
		}
		first := least.buf[:entrySize]
		if !m.isFirst || first.number(0)&1 == 0 {
			m.pending = append(m.pending, first...)
			m.written++
		}
		if m.pending.count() == entriesPerBlock {
			if err := m.flush(false); err != nil {
				return err
			}
		}
		if err := m.pass(least.key, least.record); err != nil {
			return err
		}
	}
	return m.flush(true)
}

// pass goes on behind what runs say of a key and a record.
func (m *merger) pass(key work.LookupKey, record uint64) error {
	isOver := false
	for _, r := range m.inputs {
		if r.key != key || r.record != record {
			continue
		}
		r.buf = r.buf[entrySize:]
		some, err := r.fill()
		if err != nil {
			return err
		}
		isOver = isOver || !some
	}
	if isOver {
		m.leaveOver()
	}
	return nil
}

// leaveOver leaves out runs that are at their end.
func (m *merger) leaveOver() {
	m.inputs = slices.DeleteFunc(m.inputs, func(r *runReader) bool { return len(r.buf) == 0 })
}

// flush writes the section that is full, or the last.
func (m *merger) flush(last bool) error {
	if len(m.pending) > 0 {
		m.p.LastBlock++
		m.section.add(m.p.LastBlock, m.pending)
		m.pending = make(entryList, 0, entrySize*entriesPerBlock)
	}
	if len(m.section.blocks) == 0 || len(m.section.blocks) < blocksPerSection && !last {
		return nil
	}
	return m.section.write(m.x, m.run)
}
