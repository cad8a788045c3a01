package sqlstore

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"github.com/papertrace/patra/internal/domain/work"
)

// comparePairs compares records with those that may be related to them or be the same, and
// writes what comes of it. changed are records of which everything is found anew. Those of
// grown are new in works that are as they were otherwise: what was found of the others
// holds, and only what is new is compared.
func (l *linking) comparePairs(grown, changed []int64) error {
	if err := l.compareAnew(changed); err != nil {
		return err
	}
	isChanged := make(map[int64]bool, len(changed))
	for _, id := range changed {
		isChanged[id] = true
	}
	pairs := slices.DeleteFunc(l.meetings(grown), func(p [2]int64) bool { return isChanged[p[0]] || isChanged[p[1]] })
	edges, err := l.comparedWorks(pairs)
	if err != nil || len(edges) == 0 {
		return err
	}
	if err := l.addStoredPairs(edges); err != nil {
		return err
	}
	return l.storeEdges("PAIR", telling(edges))
}

// compareAnew finds all that records have to do with others, in place of what was stored.
func (l *linking) compareAnew(ids []int64) error {
	var keys []work.LookupKey
	for _, id := range ids {
		for _, k := range l.meet(id).keys {
			if at, ok := meetingKey(k); ok {
				keys = append(keys, k, at)
			}
		}
	}
	if err := l.lookUp(keys); err != nil {
		return err
	}
	edges, err := l.comparedWorks(l.meetings(ids))
	if err != nil {
		return err
	}
	if err := l.deleteEdges("PAIR", ids); err != nil {
		return err
	}
	return l.storeEdges("PAIR", telling(edges))
}

// meetingKey is the key under which those are found that a record with a key may have to do
// with, but for what shares an identifier with it; false if there are none.
func meetingKey(k work.LookupKey) (work.LookupKey, bool) {
	if k.IsAlike() {
		return k, true
	}
	return k.Beside()
}

// meetings are the pairs of records, of which one is of some, that may have to do with each
// other, each once. One that is still to be looked at in a later part meets them there.
func (l *linking) meetings(ids []int64) [][2]int64 {
	var out [][2]int64
	for _, id := range ids {
		m := l.meet(id)
		if m.facts == nil {
			continue
		}
		this := l.holderOf(id)
		mine := l.workOf(id)
		for _, k := range m.keys {
			at, ok := meetingKey(k)
			if !ok || l.crowded[k] > 0 { // those on the other side do not look here
				continue
			}
			for _, other := range l.heldBy(at) {
				if other.record == id || !mayMeet(at, this, other) {
					continue
				}
				known := l.met[other.record]
				isHere := known != nil && known.isResolved
				if isHere && l.workOf(other.record) == mine || !isHere && l.pending[other.record] {
					continue
				}
				out = append(out, [2]int64{min(id, other.record), max(id, other.record)})
			}
		}
	}
	slices.SortFunc(out, comparePair)
	return slices.Compact(out)
}

// holderOf is a record as it is found under keys that have marks.
func (l *linking) holderOf(id int64) holder {
	if r := l.step.find(id); r != nil {
		return holder{id, r.source, r.mark}
	}
	r := l.meet(id).facts
	return holder{id, l.p.sourceNo(r.Key.Source), r.Mark()}
}

func comparePair(a, b [2]int64) int { return slices.Compare(a[:], b[:]) }

// workPair names two works, the smaller number first.
type workPair [2]int64

func (l *linking) worksOfPair(a, b int64) workPair {
	x, y := l.workOf(a), l.workOf(b)
	return workPair{min(x, y), max(x, y)}
}

// comparedWorks compares pairs of records that are of two works, and returns what comes of
// it by the works.
func (l *linking) comparedWorks(pairs [][2]int64) (map[workPair][]work.Edge, error) {
	ids := make([]int64, 0, 2*len(pairs))
	for _, p := range pairs {
		ids = append(ids, p[0], p[1])
	}
	ids = distinct(ids)
	if err := l.load(ids); err != nil {
		return nil, err
	}
	if err := l.readWorks(ids); err != nil {
		return nil, err
	}
	pairs = slices.DeleteFunc(pairs, func(p [2]int64) bool {
		return l.workOf(p[0]) == l.workOf(p[1]) || work.AreCut(l.decisions, p[0], p[1])
	})
	out := map[workPair][]work.Edge{}
	for _, p := range pairs {
		a := l.meet(p[0]).facts
		b := l.meet(p[1]).facts
		if a == nil || b == nil {
			continue
		}
		if more := work.Compare(a, b); len(more) > 0 {
			in := l.worksOfPair(p[0], p[1])
			out[in] = append(out[in], more...)
		}
	}
	for in, edges := range out {
		if !work.AreJoined(l.decisions, l.workOf, in[0], in[1]) {
			continue
		}
		// A person has said how they are related, so nothing is left to suggest.
		out[in] = slices.DeleteFunc(edges, func(e work.Edge) bool { return e.Polarity == work.Suggests })
	}
	return out, nil
}

// distinct sorts numbers and leaves out those that come again.
func distinct(ids []int64) []int64 {
	slices.Sort(ids)
	return slices.Compact(ids)
}

// addStoredPairs adds to the edges between works of which some are new those that were
// stored between them, and deletes these: what all of them say together is stored anew.
func (l *linking) addStoredPairs(edges map[workPair][]work.Edge) error {
	concerned := map[int64]bool{}
	for in := range edges {
		concerned[in[0]] = true
		concerned[in[1]] = true
	}
	var old []int64 // of works that have new records
	for id, m := range l.met {
		if m.isResolved && !l.isFresh(id) && concerned[l.workOf(id)] {
			old = append(old, id)
		}
	}
	stored := map[int64][2]int64{}
	var ends []int64
	for args := range inLists(distinct(old)) {
		for _, end := range []string{"from_record", "to_record"} {
			err := l.x.each(func(r *sql.Rows) error {
				var id int64
				var p [2]int64
				err := r.Scan(&id, &p[0], &p[1])
				stored[id] = p
				ends = append(ends, p[0], p[1])
				return err
			}, `SELECT id, from_record, to_record FROM ing_work_edge WHERE `+end+` IN (`+list(len(args))+`) AND basis_code='PAIR'`, args...)
			if err != nil {
				return fmt.Errorf("read edges: %w", err)
			}
		}
	}
	if err := l.readWorks(distinct(ends)); err != nil {
		return err
	}
	maps.DeleteFunc(stored, func(_ int64, p [2]int64) bool { return len(edges[l.worksOfPair(p[0], p[1])]) == 0 })
	var pairs [][2]int64
	var gone []int64
	for id, p := range stored {
		gone = append(gone, id)
		pairs = append(pairs, [2]int64{min(p[0], p[1]), max(p[0], p[1])})
	}
	slices.SortFunc(pairs, comparePair)
	again, err := l.comparedWorks(slices.Compact(pairs))
	if err != nil {
		return err
	}
	for in, more := range again {
		edges[in] = append(edges[in], more...)
	}
	for args := range inLists(distinct(gone)) {
		if _, err := l.x.exec(`DELETE FROM ing_work_edge WHERE id IN (`+list(len(args))+`)`, args...); err != nil {
			return fmt.Errorf("delete edges: %w", err)
		}
	}
	return nil
}

// telling are the edges between works that say something, in an order that depends on the
// works alone.
func telling(edges map[workPair][]work.Edge) []work.Edge {
	var out []work.Edge
	for _, in := range slices.SortedFunc(maps.Keys(edges), func(a, b workPair) int { return slices.Compare(a[:], b[:]) }) {
		out = append(out, work.Telling(edges[in])...)
	}
	return out
}
