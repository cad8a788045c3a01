package sqlstore

import (
	"cmp"
	"database/sql"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/papertrace/patra/internal/domain/work"
)

// lookUp reads which records are found under keys, of those that were not asked for
// yet.
func (l *linking) lookUp(keys []work.LookupKey) error {
	var missing []work.LookupKey
	for _, k := range keys {
		if l.lookedUp[k] {
			continue
		}
		if _, inStep := slices.BinarySearch(l.ofStep, k); inStep {
			continue
		}
		l.lookedUp[k] = true
		missing = append(missing, k)
	}
	slices.Sort(missing)
	if err := l.readHeld(missing); err != nil {
		return err
	}
	for _, k := range missing {
		l.judgeCrowd(k)
	}
	return nil
}

// readHeld reads the index for sorted keys. How many are of a crowd matters for identifiers,
// which are told with it, and for keys that lose records in this step.
func (l *linking) readHeld(keys []work.LookupKey) error {
	isEnough := func(k work.LookupKey) bool { return k.IsAlike() && !l.leaving[k] }
	return reading(l.x.each).find(l.p.Runs, l.sections, keys, isEnough, func(e entry) {
		l.held[e.key] = append(l.held[e.key], holder{e.record, e.source, e.mark})
	})
}

// judgeCrowd sets a key aside under which too many records are.
func (l *linking) judgeCrowd(k work.LookupKey) {
	if n := len(l.held[k]); n > k.Most() {
		l.crowded[k] = n
		delete(l.held, k)
	}
}

// holder is a record that is found under a key, with the place of its source, and with its
// mark if the key has them.
type holder struct {
	record int64
	source int
	mark   work.Mark
}

// holders are the records that are found under a key.
func (l *linking) holders(k work.LookupKey) []int64 {
	out := make([]int64, len(l.held[k]))
	for i, h := range l.held[k] {
		out[i] = h.record
	}
	return out
}

// keyed is a record whose keys are stored in this step.
type keyed struct {
	record   int64
	source   int // its place
	revision int64
	keys     []work.LookupKey
	packed   []byte           // the keys, as they are stored
	old      []work.LookupKey // under which it is found until now
	merged   work.LookupKey   // under which those are found that were merged into it
	mark     work.Mark
	facts    []byte // what is known of it, packed
	known    bool   // something is stored of it
	// isRead: it has to be looked at whatever others have.
	isRead bool
}

// storeKeys writes the keys of records, and returns the records whose works and
// likenesses have to be looked at: those that were read, those new ones that have a key
// in common with others, those that had something in common with them before, and all
// who have a value that has become one of a crowd, or is no longer.
func (l *linking) storeKeys(ids []int64, rows []queueRow) (touched []int64, err error) {
	step, err := l.keysOfStep(ids, rows)
	if err != nil {
		return nil, err
	}
	entries := entriesOf(step)
	for _, e := range entries {
		if e.gone {
			l.leaving[e.key] = true
		}
	}
	l.ofStep = l.lookupsOf(step, entries)
	if err := l.readHeld(l.ofStep); err != nil {
		return nil, err
	}
	clear(l.sections)
	crossed, err := l.changeIndex(entries)
	if err != nil {
		return nil, err
	}
	for k := range l.held {
		l.judgeCrowd(k)
	}
	if err := l.storeRecords(step); err != nil {
		return nil, err
	}
	touched = crossed
	for _, r := range step {
		if r.isRead || l.meetsOthers(r) {
			touched = append(touched, r.record)
		}
		for _, k := range r.old {
			if k.IsID() {
				touched = append(touched, l.holders(k)...)
				l.left = append(l.left, k)
			}
		}
	}
	slices.Sort(touched)
	return slices.Compact(touched), nil
}

// keysOfStep are the keys of the records that were read, and of those that are new.
func (l *linking) keysOfStep(ids []int64, rows []queueRow) ([]keyed, error) {
	known := map[int64][]work.LookupKey{}
	if err := l.storedKeys(ids, known); err != nil {
		return nil, err
	}
	if err := l.storedBetween(rows, known); err != nil {
		return nil, err
	}
	most := len(ids)
	for _, row := range rows {
		most += len(row.records)
	}
	out := make([]keyed, 0, most) // never moved: the step points into it
	take := func(r keyed) {
		r.old, r.known = known[r.record]
		if !r.known && (!l.p.isScanning() || r.record > l.p.ScanTo) {
			l.fresh[r.record] = true
		}
		out = append(out, r)
		l.step[r.record] = &out[len(out)-1]
	}
	for some := range chunks(ids, keysPerRead) {
		if err := l.read(some); err != nil {
			return nil, err
		}
		for _, id := range some {
			r := l.meet(id).facts
			if r == nil {
				continue // its rows are gone
			}
			if r.MergedInto != "" {
				l.p.noteMerging(r.Key.Source)
			}
			keys := r.Keys()
			take(keyed{
				record: id, source: l.p.sourceNo(r.Key.Source), revision: r.Revision, keys: keys, packed: packKeys(keys), merged: r.Key.MergedKey(), mark: r.Mark(),
				facts: packFacts(nil, r), isRead: true,
			})
		}
		clear(l.met)
	}
	for _, row := range rows {
		no := l.p.sourceNo(row.source)
		for _, q := range row.records {
			// One that was read has its keys; one that is known was linked with somebody's decision.
			if _, wasLinked := known[q.record]; !q.isNew || wasLinked || l.step[q.record] != nil {
				continue
			}
			take(keyed{
				record: q.record, source: no, revision: 1, keys: unpackKeys(q.keys), packed: q.keys, merged: q.merged, mark: q.mark, facts: q.facts,
			})
		}
	}
	return out, nil
}

const storedSelect = `SELECT record_id, lookup_keys FROM ing_work_record WHERE record_id `

// storedKeys reads the keys under which records are found until now.
func (l *linking) storedKeys(ids []int64, known map[int64][]work.LookupKey) error {
	for args := range inLists(ids) {
		if err := l.readStored(known, storedSelect+`IN (`+list(len(args))+`)`, args...); err != nil {
			return err
		}
	}
	return nil
}

// storedBetween reads the same of records that are new: mostly nothing is stored of any,
// and their numbers stand side by side.
func (l *linking) storedBetween(rows []queueRow, known map[int64][]work.LookupKey) error {
	for _, row := range rows {
		first, last := int64(0), int64(0)
		for _, q := range row.records {
			if !q.isNew {
				continue
			}
			if first == 0 || q.record < first {
				first = q.record
			}
			last = max(last, q.record)
		}
		if first == 0 {
			continue
		}
		if err := l.readStored(known, storedSelect+`BETWEEN ? AND ?`, first, last); err != nil {
			return err
		}
	}
	return nil
}

func (l *linking) readStored(known map[int64][]work.LookupKey, query string, args ...any) error {
	err := l.x.each(func(r *sql.Rows) error {
		var id int64
		var packed sql.RawBytes
		if err := r.Scan(&id, &packed); err != nil {
			return err
		}
		known[id] = unpackKeys(packed)
		return nil
	}, query, args...)
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

func unpackKeys(b []byte) []work.LookupKey {
	out := make([]work.LookupKey, 0, len(b)/8)
	for ; len(b) >= 8; b = b[8:] {
		out = append(out, work.LookupKey(binary.BigEndian.Uint64(b)))
	}
	return out
}

// entriesOf are the keys that come and go with the records of a step, sorted.
func entriesOf(step []keyed) []entry {
	out := make([]entry, 0, 5*len(step))
	for i := range step {
		r := &step[i]
		for _, k := range r.keys {
			e := entry{key: k, record: r.record, source: r.source}
			if k.IsMarked() {
				e.mark = r.mark
			}
			// The mark may have changed where the key has not.
			if k.IsMarked() || !slices.Contains(r.old, k) {
				out = append(out, e)
			}
		}
		for _, k := range r.old {
			if !slices.Contains(r.keys, k) {
				out = append(out, entry{key: k, record: r.record, source: r.source, gone: true})
			}
		}
	}
	slices.SortFunc(out, compareEntries)
	return out
}

// lookupsOf are the keys that matter for the records of a step, sorted: their own, those
// beside them, and where their sources merge records those of what was merged into them.
func (l *linking) lookupsOf(step []keyed, entries []entry) []work.LookupKey {
	out := make([]work.LookupKey, 0, 2*len(entries))
	for _, e := range entries {
		// A key and the one beside it follow each other: what is sorted stays so.
		beside, ok := e.key.Beside()
		switch {
		case !ok:
			out = append(out, e.key)
		case len(out) == 0 || out[len(out)-1] != max(e.key, beside):
			out = append(out, min(e.key, beside), max(e.key, beside))
		}
	}
	isSorted := true
	for i := range step {
		r := &step[i]
		if l.p.mayHaveMerged(l.p.Sources[r.source]) {
			out = append(out, r.merged)
			isSorted = false
		}
		for _, k := range r.old { // those that stay have no entry
			out = append(out, k)
			if beside, ok := k.Beside(); ok {
				out = append(out, beside)
			}
			isSorted = false
		}
	}
	if !isSorted || !slices.IsSorted(out) {
		slices.Sort(out)
	}
	return slices.Compact(out)
}

// changeIndex writes the keys that come and go, sorted, and keeps what was read of the index
// up to date. It returns the records with a value that has become one of a crowd, or is no
// longer.
func (l *linking) changeIndex(entries []entry) (crossed []int64, err error) {
	for i := 0; i < len(entries); {
		n := i + 1
		for n < len(entries) && entries[n].key == entries[i].key {
			n++
		}
		// Most are alone under their key, and nobody points to them: who does was found, or
		// stands next.
		alone := n == i+1 && len(l.held[entries[i].key]) == 0 && !entries[i].key.IsPointer()
		if beside, ok := entries[i].key.Beside(); ok && (len(l.held[beside]) > 0 || n < len(entries) && entries[n].key == beside) {
			alone = false
		}
		if !alone {
			more, err := l.changeHeld(entries[i:n])
			if err != nil {
				return nil, err
			}
			crossed = append(crossed, more...)
		}
		i = n
	}
	return crossed, l.x.addEntries(l.p, entries)
}

// changeHeld keeps up to date who is found under a key, by the entries that come. It
// returns those records if the key has become that of a crowd, or is no longer, and
// that means something for them.
func (l *linking) changeHeld(es []entry) (crossed []int64, err error) {
	k := es[0].key
	before := len(l.held[k])
	gone := map[int64]bool{}
	for _, e := range es {
		if e.gone {
			gone[e.record] = true
			continue
		}
		h := holder{e.record, e.source, e.mark}
		if i := slices.IndexFunc(l.held[k], func(h holder) bool { return h.record == e.record }); i >= 0 {
			l.held[k][i] = h
		} else {
			l.held[k] = append(l.held[k], h)
		}
	}
	if len(gone) > 0 {
		l.held[k] = slices.DeleteFunc(l.held[k], func(h holder) bool { return gone[h.record] })
	}
	if before > k.Most() == (len(l.held[k]) > k.Most()) {
		return nil, nil
	}
	if before > k.Most() {
		if _, err := l.x.exec(`DELETE FROM ing_work_value WHERE key_no=?`, int64(k)); err != nil {
			return nil, fmt.Errorf("forget a value: %w", err)
		}
	}
	if k.IsAlike() {
		return l.meeting(k), nil
	}
	return l.holders(k), nil
}

// meeting are the records under a key of likeness that may be like another under it.
func (l *linking) meeting(k work.LookupKey) (out []int64) {
	for i, a := range l.held[k] {
		for j, b := range l.held[k] {
			if i != j && mayMeet(k, a, b) {
				out = append(out, a.record)
				break
			}
		}
	}
	return out
}

// meetsOthers reports whether a new record has a key in common with another that may
// mean something.
func (l *linking) meetsOthers(r keyed) bool {
	if len(l.held[r.merged]) > 0 {
		return true
	}
	for _, k := range r.keys {
		if l.crowded[k] > 0 && k.IsID() {
			return true // it has to be listed as a value that too many have
		}
		if beside, ok := k.Beside(); ok && len(l.held[beside]) > 0 {
			return true
		}
		if k.IsPointer() {
			continue // who points to the same has nothing to do with it
		}
		for _, other := range l.held[k] {
			if other.record != r.record && mayMeet(k, holder{r.record, r.source, r.mark}, other) {
				return true
			}
		}
	}
	return false
}

// mayMeet reports whether two records under a key may have to do with each other.
func mayMeet(k work.LookupKey, a, b holder) bool {
	if !k.IsMarked() {
		return true
	}
	oneSource := a.source == b.source
	if k.IsTitle() && oneSource {
		return false // two of one source with one title are held apart there
	}
	return a.mark.MayBeLike(b.mark, oneSource)
}

// storeRecords notes which records were looked at, and with which keys.
func (l *linking) storeRecords(step []keyed) error {
	added := make([]*keyed, 0, len(step))
	for i := range step {
		r := &step[i]
		if !r.known {
			added = append(added, r)
			continue
		}
		if _, err := l.x.exec(`UPDATE ing_work_record SET revision=?, lookup_keys=?, facts=? WHERE record_id=?`,
			r.revision, r.packed, r.facts, r.record); err != nil {
			return fmt.Errorf("store keys of a record: %w", err)
		}
	}
	slices.SortFunc(added, func(a, b *keyed) int { return cmp.Compare(a.record, b.record) })
	return insertEach(l.x, `INSERT INTO ing_work_record (record_id, revision, lookup_keys, facts)`, added, func(args []any, r *keyed) []any {
		return append(args, r.record, r.revision, r.packed, r.facts)
	})
}
