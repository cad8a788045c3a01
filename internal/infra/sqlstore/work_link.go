package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/papertrace/patra/internal/domain/work"
)

// LinkWorks links the next records that were stored or changed, about so many at most,
// and says how many it looked at: 0 if none is left. Whatever it changes is one
// transaction, with the position after it, under a lock: several may do it at once, and
// one that dies leaves what was linked before.
func (s *Store) LinkWorks(ctx context.Context, most int) (linked int, err error) {
	waits, err := s.waitsForLinking(ctx)
	if err != nil || !waits {
		return 0, err
	}
	err = s.write(ctx, "link records", func(x *tx) error {
		p, err := x.lockLinking()
		if err != nil {
			return err
		}
		linked, err = x.linkNext(&p, most)
		if err != nil || linked == 0 {
			return err
		}
		return x.saveLinking(p)
	})
	return linked, err
}

// waitsForLinking reports whether there is anything to link: mostly there is not, and
// nobody has to wait for that to be found out.
func (s *Store) waitsForLinking(ctx context.Context) (bool, error) {
	var id int64
	err := s.r.QueryRowContext(ctx, `SELECT id FROM ing_work_queue ORDER BY id LIMIT 1`).Scan(&id)
	if err == nil {
		return true, nil
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return false, fmt.Errorf("look for records to link: %w", err)
	}
	p, found, err := s.readLinking(ctx)
	if err != nil || !found {
		return true, err
	}
	return p.Rules != work.RulesVersion || p.isScanning(), nil
}

// linkNext links the records that come next, of all while these are gone through, else
// of the queue, and moves the position behind them.
func (x *tx) linkNext(p *workPosition, most int) (linked int, err error) {
	if p.isScanning() {
		ids, err := x.nextToScan(p, most)
		if err != nil {
			return 0, err
		}
		if len(ids) > 0 {
			return len(ids), x.linkRecords(p, ids, nil)
		}
	}
	rows, err := x.takeQueue(p.stepSize(most))
	if err != nil {
		return 0, err
	}
	var ids []int64
	for _, row := range rows {
		linked += row.count()
		ids = append(ids, row.looks...)
	}
	if linked == 0 {
		return 0, nil
	}
	return linked, x.linkRecords(p, ids, rows)
}

// RelinkWorks lets all records be looked at once more, from the first.
func (s *Store) RelinkWorks(ctx context.Context) error {
	return s.write(ctx, "link all records again", func(x *tx) error {
		p, err := x.lockLinking()
		if err != nil {
			return err
		}
		p, err = x.scanAll(p)
		if err != nil {
			return err
		}
		return x.saveLinking(p)
	})
}

// scanAll begins anew with the first record. What comes meanwhile is in the feed.
func (x *tx) scanAll(p workPosition) (workPosition, error) {
	p.Rules = work.RulesVersion
	p.Scanned = 0
	if err := x.row(`SELECT COALESCE(MAX(id), 0) FROM ing_record`).Scan(&p.ScanTo); err != nil {
		return p, err
	}
	return p, nil
}

// nextToScan are the numbers of the records that come next while all are gone through.
func (x *tx) nextToScan(p *workPosition, most int) (ids []int64, err error) {
	// A record is read whole here, so fewer make a step than of those whose keys are known.
	most = min(most, scannedAtOnce)
	err = x.each(func(r *sql.Rows) error {
		var id int64
		err := r.Scan(&id)
		ids = append(ids, id)
		return err
	}, `SELECT id FROM ing_record WHERE id > ? AND id <= ? ORDER BY id LIMIT ?`, p.Scanned, p.ScanTo, most)
	p.Scanned = p.ScanTo
	if len(ids) == most {
		p.Scanned = ids[len(ids)-1]
	}
	return ids, err
}

// scannedAtOnce is how many records of all are linked at once.
const scannedAtOnce = 2000

// linking is one step of linking records.
type linking struct {
	x *tx
	p *workPosition
	// step are the records whose keys this step stores, facts what is known of them; pending are those
	// of them, and of others, whose works and likenesses are still to be looked at.
	step    stepRecords
	facts   stepFacts
	pending map[int64]bool
	// heldOfStep and heldBesides are the records found under keys that were looked up, as it is
	// once this step is stored; crowded are keys under which too many are, and how many.
	// Under other keys that were looked up is nobody but the record itself: those in ofStep,
	// sorted, and those in lookedUp.
	heldOfStep  heldList
	heldBesides map[work.LookupKey][]holder
	crowded     map[work.LookupKey]int
	ofStep      []work.LookupKey
	lookedUp    map[work.LookupKey]bool
	// places are the records under the key that is being looked at.
	places []holder
	// parting are the old records under keys of likeness that have become those of a crowd.
	parting []int64
	// left are the keys of identifiers that records had before, leaving all keys under which
	// a record is no longer found.
	left    []work.LookupKey
	leaving map[work.LookupKey]bool
	// sections are those of the runs of the index that were looked at.
	sections sectionLists
	// firstRow and lastRow are the first and the last record that has a row of its own, once
	// that is known.
	firstRow, lastRow int64
	rowsKnown         bool

	linkingPart
}

// linkingPart is what is known of the records of some groups while these are looked at. A
// step goes through its groups part by part, so that it never holds all of them.
type linkingPart struct {
	met map[int64]*met
	// decisions are those that name any of the records.
	decisions []work.Decision
}

// met is what is known of a record that was met.
type met struct {
	facts *work.Record // nil: not read, or there is no such record
	keys  []work.LookupKey
	// before is of which work it was, once that is asked, and now of which it is, once it is
	// resolved.
	before     member
	now        member
	isAsked    bool
	isResolved bool
}

// meet is what is known of a record in this part.
func (l *linking) meet(id int64) *met {
	m := l.met[id]
	if m == nil {
		m = new(met)
		l.met[id] = m
	}
	return m
}

func newLinkingPart() linkingPart { return linkingPart{met: map[int64]*met{}} }

// linkRecords brings keys, works and edges of records up to date, with all that changes
// by it.
// ids are those that have to be read for it, rows those whose keys are known: of these only
// those are read that have a key in common with others.
func (x *tx) linkRecords(p *workPosition, ids []int64, rows []queueRow) error {
	l := &linking{
		x: x, p: p, pending: map[int64]bool{}, heldBesides: map[work.LookupKey][]holder{},
		crowded: map[work.LookupKey]int{}, lookedUp: map[work.LookupKey]bool{},
		leaving: map[work.LookupKey]bool{}, sections: sectionLists{}, linkingPart: newLinkingPart(),
	}
	slices.Sort(ids)
	touched, err := l.storeKeys(slices.Compact(ids), rows)
	if err != nil {
		return err
	}
	if err := l.forgetLeft(); err != nil {
		return err
	}
	for _, id := range touched {
		l.pending[id] = true
	}
	for len(touched) > 0 {
		var some []int64
		some, touched = l.cutPart(touched)
		if err := l.linkPart(some); err != nil {
			return err
		}
	}
	return nil
}

// A part of a step has so many records at most, a quarter of its records if these are fewer,
// and so many bytes of what is known of them; one of which too much is known to be kept counts
// as largeFacts.
const (
	recordsPerPart = 1000
	bytesPerPart   = 512 << 10
	largeFacts     = 4 * mostFacts
)

// cutPart takes those records off the first ones that are looked at together. Records that
// were looked at with others are left out.
func (l *linking) cutPart(touched []int64) (some, rest []int64) {
	size := 0
	most := min(recordsPerPart, 1+len(l.step)/4)
	for i, id := range touched {
		if len(some) == most || size > bytesPerPart {
			return some, touched[i:]
		}
		if !l.pending[id] {
			continue
		}
		some = append(some, id)
		facts := largeFacts
		if r := l.step.find(id); r != nil && r.size > 0 {
			facts = int(r.size)
		}
		size += facts
	}
	return some, nil
}

// linkPart finds works and likenesses of records, and of all that hang together with them.
func (l *linking) linkPart(ids []int64) error {
	l.linkingPart = newLinkingPart()
	groups, decided, err := l.gather(ids)
	if err != nil {
		return err
	}
	grown, changed, err := l.resolve(groups, decided)
	if err != nil {
		return err
	}
	if err := l.comparePairs(grown, changed); err != nil {
		return err
	}
	for _, g := range groups {
		for _, id := range g {
			delete(l.pending, id)
			if r := l.step.find(id); r != nil {
				r.isFresh = false
			}
		}
	}
	return nil
}

func anys[T any](s []T) []any {
	out := make([]any, len(s))
	for i, v := range s {
		out[i] = v
	}
	return out
}

// gather finds all records that hang together with those touched, by identifiers, by
// mergers at their source and by decisions, and sorts them into groups that have
// nothing to do with each other.
func (l *linking) gather(touched []int64) (groups [][]int64, decided map[int64]work.Decision, err error) {
	sets := newSets()
	decided = map[int64]work.Decision{}
	anyDecided, err := l.x.hasDecisions()
	if err != nil {
		return nil, nil, err
	}
	frontier := slices.Clone(touched)
	seen := map[int64]bool{}
	for len(frontier) > 0 {
		for _, id := range frontier {
			seen[id] = true
			sets.add(id)
		}
		if err := l.load(frontier); err != nil {
			return nil, nil, err
		}
		next, err := l.neighbours(frontier, sets)
		if err != nil {
			return nil, nil, err
		}
		if anyDecided {
			more, err := l.decidedWith(frontier, decided, sets)
			if err != nil {
				return nil, nil, err
			}
			next = append(next, more...)
		}
		frontier = frontier[:0]
		slices.Sort(next)
		for _, id := range slices.Compact(next) {
			if !seen[id] {
				frontier = append(frontier, id)
			}
		}
	}
	return sets.groups(), decided, nil
}

// neighbours are the records that share an identifier with some, or were merged.
func (l *linking) neighbours(ids []int64, sets *sets) ([]int64, error) {
	var keys []work.LookupKey
	var out []int64
	for _, id := range ids {
		m := l.meet(id)
		r := m.facts
		if r == nil {
			continue // its rows are gone, so it belongs to nothing
		}
		if r.MergedInto != "" {
			to, err := l.x.recordNumber(work.Key{Source: r.Key.Source, Type: r.Key.Type, ID: r.MergedInto})
			if err != nil {
				return nil, err
			}
			takesPart, err := l.takesPart(to)
			if err != nil {
				return nil, err
			}
			if takesPart {
				sets.join(id, to)
				out = append(out, to)
			}
		}
		keys = l.appendGroupKeys(keys, m)
	}
	if err := l.lookUp(keys); err != nil {
		return nil, err
	}
	for _, id := range ids {
		m := l.meet(id)
		if m.facts == nil {
			continue
		}
		keys = l.appendGroupKeys(keys[:0], m)
		for _, k := range keys {
			for _, other := range l.heldBy(k) {
				if other.record != id {
					sets.join(id, other.record)
					out = append(out, other.record)
				}
			}
		}
	}
	return out, nil
}

// takesPart reports whether a record is of this step or was linked before. One that still waits to be
// linked finds those that were merged into it when its turn comes.
func (l *linking) takesPart(id int64) (bool, error) {
	if id == 0 || l.step.find(id) != nil {
		return id != 0, nil
	}
	known := map[int64]knownKeys{}
	err := l.linkedKeys([]int64{id}, nil, known)
	_, wasLinked := known[id]
	return wasLinked, err
}

// appendGroupKeys appends the keys under which those are found that hang together with a
// record: its identifiers, and where its source merges records what was merged into it.
func (l *linking) appendGroupKeys(keys []work.LookupKey, m *met) []work.LookupKey {
	if l.p.mayHaveMerged(m.facts.Key.Source) {
		keys = append(keys, m.facts.Key.MergedKey())
	}
	for _, k := range m.keys {
		if k.IsID() {
			keys = append(keys, k)
		}
	}
	return keys
}

// recordNumber is the number of a record, 0 if there is none.
func (x *tx) recordNumber(k work.Key) (id int64, err error) {
	err = x.row(`SELECT id FROM ing_record WHERE provenance_code=? AND record_type=? AND ext_id=?`, k.Source, k.Type, k.ID).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return id, err
}
