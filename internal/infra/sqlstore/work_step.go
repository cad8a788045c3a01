package sqlstore

import (
	"cmp"
	"database/sql"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/papertrace/patra/internal/domain/work"
)

// keyed is a record whose keys are stored in this step.
type keyed struct {
	record   int64
	source   sourcePlace
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
	// isFresh: it was never linked before, so nothing is stored of its work. That ends when it
	// is linked.
	isFresh bool
	// isShared: another record is found under one of its keys, or beside it.
	isShared bool
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

// takeKeys takes up the keys of the records that were read, and of those that are new.
func (l *linking) takeKeys(ids []int64, rows []queueRow) error {
	known := map[int64][]work.LookupKey{}
	if err := l.storedKeys(ids, known); err != nil {
		return err
	}
	if err := l.storedBetween(rows, known); err != nil {
		return err
	}
	most := len(ids)
	for _, row := range rows {
		most += len(row.records)
	}
	l.step = make(stepRecords, 0, most)
	take := func(r keyed) {
		r.old, r.known = known[r.record]
		r.isFresh = !r.known && (!l.p.isScanning() || r.record > l.p.ScanTo)
		l.step = append(l.step, r)
	}
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
			// One that is known was linked with somebody's decision.
			if _, wasLinked := known[q.record]; !q.isNew || wasLinked {
				continue
			}
			take(keyed{
				record: q.record, source: no, revision: 1, keys: unpackKeys(q.keys), packed: q.keys, merged: q.merged, mark: q.mark, facts: q.facts,
			})
		}
	}
	slices.SortFunc(l.step, func(a, b keyed) int {
		if a.record == b.record && a.isRead {
			return -1
		}
		return cmp.Compare(a.record, b.record)
	})
	// Of one that is new and was read all the same what was read holds.
	l.step = slices.CompactFunc(l.step, func(a, b keyed) bool { return a.record == b.record })
	return nil
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

// storeRecords notes which records were looked at, and with which keys.
func (l *linking) storeRecords() error {
	added := make([]*keyed, 0, len(l.step))
	for i := range l.step {
		r := &l.step[i]
		if !r.known {
			added = append(added, r)
			continue
		}
		if _, err := l.x.exec(`UPDATE ing_work_record SET revision=?, lookup_keys=?, facts=? WHERE record_id=?`,
			r.revision, r.packed, r.facts, r.record); err != nil {
			return fmt.Errorf("store keys of a record: %w", err)
		}
	}
	return insertEach(l.x, `INTO ing_work_record (record_id, revision, lookup_keys, facts)`, added, func(args []any, r *keyed) []any {
		return append(args, r.record, r.revision, r.packed, r.facts)
	})
}
