package sqlstore

import (
	"database/sql"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/papertrace/patra/internal/domain/work"
)

// Blocks of a run that stand side by side are a section. Its row says with which keys they
// begin, and has a filter of all keys in them: most keys that are looked for are in no block,
// and the filter tells so of all but a few in a thousand. Of how titles begin it also tells which
// sources have records under it. What a step reads of the index is therefore two bytes for an
// entry, in rows of 25 KiB, and a block of 4 KiB for each key that it finds.

// blocksPerSection is how many blocks make a section.
const blocksPerSection = 64

// sectionWriter puts a section together.
type sectionWriter struct {
	blocks []block
	bodies []entryList
}

// add adds the block that comes next, whose number is one more than that of the last.
func (w *sectionWriter) add(id int64, body entryList) {
	w.blocks = append(w.blocks, block{id, body.key(0)})
	w.bodies = append(w.bodies, body)
}

// write stores the section and its blocks, and begins another.
func (w *sectionWriter) write(x *tx, run int64) error {
	entries := 0
	rows := make([][]any, len(w.blocks))
	for i, b := range w.blocks {
		entries += w.bodies[i].count()
		rows[i] = []any{b.id, run, storedKey(b.first), []byte(w.bodies[i])}
	}
	if err := x.insertRows(`INTO ing_work_block (id, run_no, first_key, body)`, rows); err != nil {
		return err
	}
	body := binary.AppendUvarint(nil, uint64(w.blocks[0].id))
	body = binary.AppendUvarint(body, uint64(len(w.blocks)))
	for _, b := range w.blocks {
		body = binary.BigEndian.AppendUint64(body, uint64(b.first))
	}
	titles := 0
	for _, l := range w.bodies {
		for i := range l.count() {
			if l.key(i).IsTitle() {
				titles++
			}
		}
	}
	filter := newKeyFilter(entries + titles)
	for _, l := range w.bodies {
		for i := range l.count() {
			filter.add(l.key(i))
			if l.key(i).IsTitle() {
				filter.add(keyOfSource(l.key(i), l.source(i)))
			}
		}
	}
	body = append(body, filter...)
	if _, err := x.exec(`INSERT INTO ing_work_section (run_no, first_key, body) VALUES (?,?,?)`, run, storedKey(w.blocks[0].first), body); err != nil {
		return fmt.Errorf("store a section of keys: %w", err)
	}
	w.blocks = w.blocks[:0]
	w.bodies = w.bodies[:0]
	return nil
}

// keyFilter tells of a key that it is not there, or that it may be: groups of eight words of
// 32 bits, where a key has one group and in each of its words one bit. With twelve bits for a
// key one in three hundred that are not there seems to be.
type keyFilter []byte

const (
	filterBits  = 12 // for a key
	filterGroup = 32 // bytes
)

func newKeyFilter(keys int) keyFilter {
	groups := (keys*filterBits + 8*filterGroup - 1) / (8 * filterGroup)
	return make(keyFilter, filterGroup*groups)
}

// filterSalts make eight numbers of one.
var filterSalts = [8]uint32{0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31}

// place is where the group of a key begins, and what its bits are made of.
func (f keyFilter) place(k work.LookupKey) (at int, seed uint32) {
	h := uint64(k) * 0x9e3779b97f4a7c15
	groups := uint64(len(f) / filterGroup)
	return int(h>>32*groups>>32) * filterGroup, uint32(h)
}

func (f keyFilter) add(k work.LookupKey) {
	at, seed := f.place(k)
	for i, salt := range filterSalts {
		word := f[at+4*i : at+4*i+4]
		binary.LittleEndian.PutUint32(word, binary.LittleEndian.Uint32(word)|1<<(seed*salt>>27))
	}
}

func (f keyFilter) mayHave(k work.LookupKey) bool {
	at, seed := f.place(k)
	for i, salt := range filterSalts {
		if binary.LittleEndian.Uint32(f[at+4*i:])&(1<<(seed*salt>>27)) == 0 {
			return false
		}
	}
	return true
}

// keyOfSource stands for a key under which a source has records.
func keyOfSource(k work.LookupKey, source sourcePlace) work.LookupKey {
	return k ^ work.LookupKey(uint64(source)+1)*0xbf58476d1ce4e5b9
}

// section are blocks of a run that stand side by side, from a key on.
type section struct {
	id    int64
	first work.LookupKey
	// blocks and filter are there while the section is open.
	blocks []block
	filter keyFilter
}

// block is where entries stand that begin with a key.
type block struct {
	id    int64
	first work.LookupKey
}

func (s section) firstKey() work.LookupKey { return s.first }
func (b block) firstKey() work.LookupKey   { return b.first }

// sectionsOf lists the sections of a run in their order. One that was written before there
// were sections is told as one, without a filter.
func (each reading) sectionsOf(run int64) (out []section, err error) {
	err = each(func(r *sql.Rows) error {
		var id, first int64
		err := r.Scan(&first, &id)
		out = append(out, section{id: id, first: keyStored(first)})
		return err
	}, `SELECT first_key, id FROM ing_work_section WHERE run_no=? ORDER BY first_key, id`, run)
	if err != nil {
		return nil, fmt.Errorf("list sections of keys: %w", err)
	}
	if len(out) > 0 {
		return out, nil
	}
	blocks, err := each.blocks(run)
	if err != nil || len(blocks) == 0 {
		return nil, err
	}
	return []section{{first: blocks[0].first, blocks: blocks}}, nil
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

// openSections opens sections, and returns those that were not open: a run without sections is told as
// one that always is.
func (each reading) openSections(wanted []*section) (opened []*section, err error) {
	byID := map[int64]*section{}
	var ids []int64
	for _, s := range wanted {
		if s.blocks == nil {
			byID[s.id] = s
			ids = append(ids, s.id)
			opened = append(opened, s)
		}
	}
	read := func(where string, args ...any) error {
		err := each(func(r *sql.Rows) error {
			var id int64
			var body []byte // kept: the filter is part of it
			if err := r.Scan(&id, &body); err != nil {
				return err
			}
			return byID[id].open(body)
		}, `SELECT id, body FROM ing_work_section WHERE id `+where, args...)
		if err != nil {
			return fmt.Errorf("read sections of keys: %w", err)
		}
		return nil
	}
	// Those of a run were written one after the other.
	if n := len(ids); n > 0 && ids[n-1]-ids[0] == int64(n-1) {
		return opened, read(`BETWEEN ? AND ?`, ids[0], ids[n-1])
	}
	for args := range inLists(ids) {
		if err := read(`IN (`+list(len(args))+`)`, args...); err != nil {
			return nil, err
		}
	}
	return opened, nil
}

// mayHaveBeside reports whether any source but one may have records under the key of a title in an open
// section.
func (s *section) mayHaveBeside(k work.LookupKey, one sourcePlace, sources int) bool {
	if s.filter == nil {
		return true
	}
	for other := range sourcePlace(sources) {
		if other != one && s.filter.mayHave(keyOfSource(k, other)) {
			return true
		}
	}
	return false
}

// close forgets what open took up.
func (s *section) close() {
	s.blocks = nil
	s.filter = nil
}

// open takes up what the row of a section says.
func (s *section) open(body []byte) error {
	id, n := binary.Uvarint(body)
	if n <= 0 {
		return errBlock
	}
	body = body[n:]
	count, n := binary.Uvarint(body)
	if n <= 0 || uint64(len(body)-n)/8 < count {
		return errBlock
	}
	body = body[n:]
	s.blocks = make([]block, count)
	for i := range s.blocks {
		s.blocks[i] = block{int64(id) + int64(i), work.LookupKey(binary.BigEndian.Uint64(body[8*i:]))}
	}
	s.filter = keyFilter(body[8*count:])
	if len(s.filter) == 0 || len(s.filter)%filterGroup != 0 {
		return errBlock
	}
	return nil
}

// How blocks are read: those of a run were written one after the other, so that many that stand
// side by side are a range of numbers, which costs less than to look for each. Others are read so
// many at once.
const (
	blocksPerRead  = 64
	fewestOfARange = 4
)

// readBlocks reads blocks and hands on their entries, block by block in their order.
func (each reading) readBlocks(wanted []int64, f func(entryList)) error {
	take := func(r *sql.Rows) error {
		var body sql.RawBytes
		if err := r.Scan(&body); err != nil {
			return err
		}
		if len(body)%entrySize != 0 {
			return errBlock
		}
		f(entryList(body))
		return nil
	}
	var apart []int64
	readApart := func() error {
		for args := range inLists(apart) {
			if err := each(take, `SELECT body FROM ing_work_block WHERE id IN (`+list(len(args))+`) ORDER BY id`, args...); err != nil {
				return fmt.Errorf("read blocks of keys: %w", err)
			}
		}
		apart = apart[:0]
		return nil
	}
	for len(wanted) > 0 {
		n := sideBySide(wanted)
		some := wanted[:n]
		wanted = wanted[n:]
		if n >= fewestOfARange || len(apart)+n > blocksPerRead {
			if err := readApart(); err != nil {
				return err
			}
		}
		if n < fewestOfARange {
			apart = append(apart, some...)
			continue
		}
		if err := each(take, `SELECT body FROM ing_work_block WHERE id BETWEEN ? AND ? ORDER BY id`, some[0], some[n-1]); err != nil {
			return fmt.Errorf("read blocks of keys: %w", err)
		}
	}
	return readApart()
}

// sideBySide is how many of the first blocks have numbers that follow each other.
func sideBySide(blocks []int64) int {
	n := 1
	for n < len(blocks) && blocks[n] == blocks[n-1]+1 {
		n++
	}
	return n
}

// eachWith hands on those of some that stand side by side in which sorted keys may be, by
// their places, with these keys and the place of the first of them.
func eachWith[T interface{ firstKey() work.LookupKey }](all []T, keys []work.LookupKey, f func(place, at int, keys []work.LookupKey)) {
	before := 0
	for i := range all {
		at, _ := slices.BinarySearch(keys, all[i].firstKey())
		keys = keys[at:]
		before += at
		if len(keys) == 0 {
			return
		}
		// The key with which the next begins may stand in this one, too.
		end := len(keys)
		if i+1 < len(all) {
			last := all[i+1].firstKey()
			var found bool
			end, found = slices.BinarySearch(keys, last)
			if found {
				end++
			}
		}
		if end > 0 {
			f(i, before, keys[:end])
		}
	}
}

// sectionLists are the sections of runs that were listed already.
type sectionLists map[int64][]section

// question are sorted keys that are looked for.
type question struct {
	keys []work.LookupKey
	// from is beside each key the source of all for whom it is looked for, or anySource; nil if it is
	// that for all keys. Two records of one source with one title are held apart there: under the
	// key of a title nothing is found for a source that has it alone.
	from    []sourcePlace
	sources int // how many there are
}

// anySource stands for several sources, or those that are not known.
const anySource = ^sourcePlace(0)

// mostSources is up to how many sources it is looked up which of them have records under a key.
const mostSources = 64

// ofAny tells of each key whether it is looked for for any source, nil if all are.
func (q question) ofAny() []bool {
	if q.from == nil || q.sources > mostSources {
		return nil
	}
	out := make([]bool, len(q.keys))
	for i, from := range q.from {
		out[i] = from == anySource
	}
	return out
}

// spot is a block in which a key seems to be.
type spot struct {
	at    int32 // the place of the key in the question
	block int64
}

// part are the keys of a question that may be in a section, from a place on.
type part struct {
	in   *section
	at   int
	keys []work.LookupKey
}

// seeming are the blocks of a run in which keys of a question seem to be, both in their order. matters
// tells of each key whether what is found under it has to be read; nil if all has. It is told of
// keys under which a source that did not ask has records.
func (each reading) seeming(run keyRun, lists sectionLists, q question, matters []bool) (out []spot, err error) {
	all, listed := lists[run.No]
	if !listed {
		all, err = each.sectionsOf(run.No)
		if err != nil {
			return nil, err
		}
		if lists != nil {
			lists[run.No] = all
		}
	}
	var parts []part
	eachWith(all, q.keys, func(i, at int, keys []work.LookupKey) { parts = append(parts, part{&all[i], at, keys}) })
	for some := range chunks(parts, sectionsAtOnce) {
		wanted := make([]*section, len(some))
		for i, p := range some {
			wanted[i] = p.in
		}
		opened, err := each.openSections(wanted)
		if err != nil {
			return nil, err
		}
		for _, p := range some {
			from := len(out)
			out = p.appendSpots(out)
			if matters == nil {
				continue
			}
			for _, s := range out[from:] {
				if !matters[s.at] {
					matters[s.at] = !run.BySource || p.in.mayHaveBeside(q.keys[s.at], q.from[s.at], q.sources)
				}
			}
		}
		for _, s := range opened {
			s.close()
		}
	}
	return out, nil
}

// appendSpots appends the blocks of an open section in which keys seem to be.
func (p part) appendSpots(out []spot) []spot {
	var found []work.LookupKey
	var places []int
	for i, k := range p.keys {
		if p.in.filter == nil || p.in.filter.mayHave(k) {
			found = append(found, k)
			places = append(places, p.at+i)
		}
	}
	eachWith(p.in.blocks, found, func(j, at int, keys []work.LookupKey) {
		for i := range keys {
			out = append(out, spot{int32(places[at+i]), p.in.blocks[j].id})
		}
	})
	return out
}

// sectionsAtOnce is how many sections are held while keys are looked for in them. An index of
// millions of records has hundreds, of which a step needs nearly all, each once.
const sectionsAtOnce = 64

// find reads the entries of the keys of a question, and returns those that hold, sorted. lists may
// be nil. Of a key under which more are found than mean anything ([work.LookupKey.Most]) only so many
// are returned that this can be seen, if isEnough says so of it.
func (each reading) find(runs []keyRun, lists sectionLists, q question, isEnough func(work.LookupKey) bool) (found []entry, err error) {
	if len(q.keys) == 0 {
		return nil, nil
	}
	// Whether a source has a title alone is known once all runs were looked at.
	matters := q.ofAny()
	spots := make([][]spot, len(runs))
	for i, run := range runs {
		spots[i], err = each.seeming(run, lists, q, matters)
		if err != nil {
			return nil, err
		}
	}
	gone := 0
	crowds := map[work.LookupKey]bool{}
	for i := range slices.Backward(runs) { // the latest first
		var blocks []int64
		var seeming []work.LookupKey
		for _, s := range spots[i] {
			k := q.keys[s.at]
			if matters != nil && !matters[s.at] || crowds[k] {
				continue
			}
			// A block may have several keys, and a key stand in several blocks.
			if len(blocks) == 0 || blocks[len(blocks)-1] != s.block {
				blocks = append(blocks, s.block)
			}
			if len(seeming) == 0 || seeming[len(seeming)-1] != k {
				seeming = append(seeming, k)
			}
		}
		spots[i] = nil
		at := 0
		live := 0 // of the entries of a key in this run
		err := each.readBlocks(blocks, func(l entryList) {
			place := 0
			last := l.key(l.count() - 1)
			for at < len(seeming) && place < l.count() {
				k := seeming[at]
				place = l.from(place, k)
				for ; place < l.count() && l.key(place) == k && !crowds[k]; place++ {
					e := l.at(place)
					found = append(found, e)
					if e.gone {
						gone++
						continue
					}
					live++
					// A later run may have said of so many at most that they are gone.
					if live > k.Most()+gone && isEnough(k) {
						crowds[k] = true
					}
				}
				if k >= last && !crowds[k] {
					break // there may be more of it in the next block
				}
				at++
				live = 0
			}
		})
		if err != nil {
			return nil, err
		}
	}
	// Of what several runs say of one key and record the latest stands first, and holds.
	found = slices.CompactFunc(sortEntries(found), func(a, b entry) bool { return compareEntries(a, b) == 0 })
	return slices.DeleteFunc(found, func(e entry) bool { return e.gone }), nil
}
