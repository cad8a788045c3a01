package sqlstore

import (
	"database/sql"
	"fmt"
	"slices"

	"github.com/papertrace/patra/internal/domain/work"
)

// lookUp reads which records are found under keys, of those that were not asked for
// yet.
func (l *linking) lookUp(keys []work.LookupKey) error {
	var missing []work.LookupKey
	for _, k := range keys {
		if l.lookedUp[k] || l.heldOfStep.of(k) != nil {
			continue
		}
		if _, inStep := slices.BinarySearch(l.ofStep, k); inStep {
			continue
		}
		l.lookedUp[k] = true
		missing = append(missing, k)
	}
	slices.Sort(missing)
	found, err := l.readHeld(question{keys: missing})
	if err != nil {
		return err
	}
	for len(found) > 0 {
		k := found[0].key
		n := countUpTo(found, k)
		if hs := appendHolders(nil, found[:n]); !l.isCrowd(k, hs) {
			l.heldBesides[k] = hs
		}
		found = found[n:]
	}
	return nil
}

// readHeld reads the index for the keys of a question, and returns what is found in their order. How
// many are of a crowd matters for identifiers, which are told with it, and for keys that lose
// records in this step.
func (l *linking) readHeld(q question) (found []entry, err error) {
	isEnough := func(k work.LookupKey) bool { return k.IsAlike() && !l.leaving[k] }
	return reading(l.x.each).find(l.p.Runs, l.sections, q, isEnough)
}

// appendHolders appends the records of entries.
func appendHolders(hs []holder, es []entry) []holder {
	for _, e := range es {
		hs = append(hs, holder{e.record, e.source, e.mark})
	}
	return hs
}

// holder is a record that is found under a key, with the place of its source, and with its
// mark if the key has them.
type holder struct {
	record int64
	source sourcePlace
	mark   work.Mark
}

// storeKeys writes the keys of records, and returns the records whose works and
// likenesses have to be looked at: those that were read, those new ones that have a key
// in common with others, those that had something in common with them before, all who
// have a value that has become one of a crowd, or is no longer, and those that were found
// to be alike by what has become one.
func (l *linking) storeKeys(ids []int64, rows []queueRow) (touched []int64, err error) {
	if err := l.takeKeys(ids, rows); err != nil {
		return nil, err
	}
	entries := entriesOf(l.step)
	for _, e := range entries {
		if e.gone {
			l.leaving[e.key] = true
		}
	}
	l.ofStep = l.lookupsOf(entries)
	found, err := l.readHeld(question{l.ofStep, askersOf(l.ofStep, entries), len(l.p.Sources)})
	if err != nil {
		return nil, err
	}
	crossed, err := l.changeIndex(entries, found)
	if err != nil {
		return nil, err
	}
	if err := l.storeRecords(); err != nil {
		return nil, err
	}
	parted, err := l.parted()
	if err != nil {
		return nil, err
	}
	touched = append(crossed, parted...)
	for i := range l.step {
		r := &l.step[i]
		if r.read != nil || l.meetsOthers(r) {
			touched = append(touched, r.record)
		}
		for _, k := range r.old() {
			if k.IsID() {
				touched = append(touched, recordsOf(l.heldBy(k))...)
				l.left = append(l.left, k)
			}
		}
	}
	left, err := l.leftByMerged()
	if err != nil {
		return nil, err
	}
	touched = append(touched, left...)
	slices.Sort(touched)
	return slices.Compact(touched), nil
}

// leftByMerged are the members of the works of records that were read again, where a source merges
// records: what such a record was merged into no longer has to do with it, and has no key in common with it.
func (l *linking) leftByMerged() (out []int64, err error) {
	merging := l.mergingSources()
	var again []int64
	for i := range l.step {
		if r := &l.step[i]; r.read != nil && !r.isFresh && merging[r.source] {
			again = append(again, r.record)
		}
	}
	for args := range inLists(again) {
		err := l.x.each(func(r *sql.Rows) error {
			var id int64
			err := r.Scan(&id)
			out = append(out, id)
			return err
		}, `SELECT record_id FROM ing_work_member WHERE work_id IN (SELECT work_id FROM ing_work_member WHERE record_id IN (`+list(len(args))+`))`, args...)
		if err != nil {
			return nil, fmt.Errorf("read works: %w", err)
		}
	}
	return out, nil
}

// entriesOf are the keys that come and go with the records of a step, sorted.
func entriesOf(step stepRecords) []entry {
	out := make([]entry, 0, 5*len(step))
	for i := range step {
		r := &step[i]
		for _, k := range r.keys {
			e := entry{key: k, record: r.record, source: r.source}
			if k.IsMarked() {
				e.mark = r.mark
			}
			// The mark may have changed where the key has not.
			if k.IsMarked() || !slices.Contains(r.old(), k) {
				out = append(out, e)
			}
		}
		for _, k := range r.old() {
			if !slices.Contains(r.keys, k) {
				out = append(out, entry{key: k, record: r.record, source: r.source, gone: true})
			}
		}
	}
	return sortEntries(out)
}

// lookupsOf are the keys that matter for the records of a step, sorted: their own, those
// beside them, and where their sources merge records those of what was merged into them.
func (l *linking) lookupsOf(entries []entry) []work.LookupKey {
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
	merging := l.mergingSources()
	for i := range l.step {
		r := &l.step[i]
		if merging[r.source] {
			out = append(out, r.merged)
			isSorted = false
		}
		for _, k := range r.old() { // those that stay have no entry
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

// askersOf tells of each key of how titles begin for which source a step that adds entries asks, or
// that it is for several. Every key that comes or goes is among the keys; both are sorted.
func askersOf(keys []work.LookupKey, entries []entry) []sourcePlace {
	out := make([]sourcePlace, len(keys))
	for i, k := range keys {
		n := countUpTo(entries, k)
		some := entries[:n]
		entries = entries[n:]
		out[i] = anySource
		if !k.IsTitle() || n == 0 {
			continue
		}
		isOther := func(e entry) bool { return e.source != some[0].source }
		if !slices.ContainsFunc(some, isOther) {
			out[i] = some[0].source
		}
	}
	return out
}

// mergingSources tells of each source, by its place, whether it may have merged records.
func (l *linking) mergingSources() []bool {
	out := make([]bool, len(l.p.Sources))
	for i, code := range l.p.Sources {
		out[i] = l.p.mayHaveMerged(code)
	}
	return out
}

// changeIndex writes the keys that come and go, sorted, and takes up who is found under keys
// that several have: those of found, which were read of the index, and those that come. It
// returns the records with a value that has become one of a crowd, or is no longer.
func (l *linking) changeIndex(entries, found []entry) (crossed []int64, err error) {
	come := entries
	for len(come) > 0 || len(found) > 0 {
		// A key and the one beside it follow each other.
		var first work.LookupKey
		if len(found) == 0 || len(come) > 0 && come[0].key < found[0].key {
			first = come[0].key
		} else {
			first = found[0].key
		}
		last := first
		if beside, ok := first.Beside(); ok {
			last = max(first, beside)
		}
		n := countUpTo(come, last)
		m := countUpTo(found, last)
		// Most are alone under their key, and nobody points to them. Who points somewhere is looked for
		// from there as well.
		if m > 0 || n > 1 || come[0].key.IsPointer() {
			more, err := l.changePlace(come[:n], found[:m])
			if err != nil {
				return nil, err
			}
			crossed = append(crossed, more...)
		}
		come = come[n:]
		found = found[m:]
	}
	l.heldOfStep.settle()
	return crossed, l.x.addEntries(l.p, entries)
}

// countUpTo is how many of sorted entries have a key up to the last.
func countUpTo(es []entry, last work.LookupKey) int {
	n := 0
	for n < len(es) && es[n].key <= last {
		n++
	}
	return n
}

// changePlace takes up who is found under a key and the one beside it, by what was read of the
// index and the entries that come, both sorted.
func (l *linking) changePlace(come, found []entry) (crossed []int64, err error) {
	for _, e := range come {
		l.step.find(e.record).isShared = true
	}
	for len(come) > 0 || len(found) > 0 {
		var k work.LookupKey
		if len(found) == 0 || len(come) > 0 && come[0].key < found[0].key {
			k = come[0].key
		} else {
			k = found[0].key
		}
		n := countUpTo(come, k)
		m := countUpTo(found, k)
		l.places = appendHolders(l.places[:0], found[:m])
		before := len(l.places)
		l.places = withChanges(l.places, come[:n])
		more, err := l.crossed(k, before, l.places)
		if err != nil {
			return nil, err
		}
		crossed = append(crossed, more...)
		if !l.isCrowd(k, l.places) && len(l.places) > 0 {
			l.heldOfStep.add(k, l.places)
		}
		come = come[n:]
		found = found[m:]
	}
	return crossed, nil
}

// crossed returns the records that are found under a key if it has become that of a crowd, or is
// no longer, and that means something for them. Those under a key of likeness that has become one
// are taken up as parting.
func (l *linking) crossed(k work.LookupKey, before int, hs []holder) (crossed []int64, err error) {
	if before > k.Most() == (len(hs) > k.Most()) {
		return nil, nil
	}
	if before > k.Most() {
		if _, err := l.x.exec(`DELETE FROM ing_work_value WHERE key_no=?`, int64(k)); err != nil {
			return nil, fmt.Errorf("forget a value: %w", err)
		}
	}
	switch {
	case !k.IsAlike():
		return recordsOf(hs), nil
	case before > k.Most():
		return meeting(k, hs), nil
	}
	l.parting = append(l.parting, meeting(k, hs)...)
	return nil, nil
}

// parted are, of the records under keys of likeness that have become those of a crowd, those
// between which something is stored. They do not meet there any more, so that what was found
// there must go; where nothing was, nothing changes.
func (l *linking) parted() (out []int64, err error) {
	known := slices.DeleteFunc(distinct(l.parting), l.isFresh)
	for args := range inLists(known) {
		err := l.x.each(func(r *sql.Rows) error {
			var from, to int64
			err := r.Scan(&from, &to)
			if _, both := slices.BinarySearch(known, to); both {
				out = append(out, from, to)
			}
			return err
		}, `SELECT from_record, to_record FROM ing_work_edge WHERE from_record IN (`+list(len(args))+`) AND basis_code='PAIR'`, args...)
		if err != nil {
			return nil, fmt.Errorf("read edges: %w", err)
		}
	}
	return out, nil
}

// meeting are the records under a key of likeness that may be like another under it.
func meeting(k work.LookupKey, hs []holder) (out []int64) {
	for i, a := range hs {
		for j, b := range hs {
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
func (l *linking) meetsOthers(r *keyed) bool {
	if l.p.mayHaveMerged(l.p.Sources[r.source]) && len(l.heldBy(r.merged)) > 0 {
		return true
	}
	if !r.isShared {
		return false
	}
	for _, k := range r.keys {
		if l.crowded[k] > 0 && k.IsID() {
			return true // it has to be listed as a value that too many have
		}
		if beside, ok := k.Beside(); ok && len(l.heldBy(beside)) > 0 {
			return true
		}
		if k.IsPointer() {
			continue // who points to the same has nothing to do with it
		}
		for _, other := range l.heldBy(k) {
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
