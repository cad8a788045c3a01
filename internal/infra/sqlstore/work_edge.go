package sqlstore

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"github.com/papertrace/patra/internal/domain/work"
)

// resolve finds the works of groups of records anew and writes what has changed. It
// returns the records that are of another work than before.
func (l *linking) resolve(groups [][]int64, decided map[int64]work.Decision) (moved []int64, err error) {
	var all []int64
	for _, g := range groups {
		all = append(all, g...)
	}
	for _, id := range all {
		l.resolved[id] = true
	}
	if err := l.readWorks(all); err != nil {
		return nil, err
	}
	var edges []work.Edge
	var bad []work.BadValue
	for _, id := range slices.Sorted(maps.Keys(decided)) {
		l.decisions = append(l.decisions, decided[id])
	}
	for _, g := range groups {
		if len(g) == 1 {
			continue
		}
		records := make([]work.Record, 0, len(g))
		for _, id := range g {
			if r := l.facts[id]; r != nil {
				records = append(records, *r)
			}
		}
		out := work.Resolve(records, l.decisions, func(id work.ID) bool { return l.crowded[work.KeyOf(id)] > 0 })
		for _, members := range out.Works {
			if len(members) == 1 {
				continue
			}
			for _, id := range members {
				l.now[id] = members[0]
			}
		}
		edges = append(edges, out.Edges...)
		bad = append(bad, out.Bad...)
	}
	if err := l.storeEdges("ID", all, edges); err != nil {
		return nil, err
	}
	if err := l.storeBad(all, bad); err != nil {
		return nil, err
	}
	return l.storeWorks(all)
}

// readWorks reads of which works records were.
func (l *linking) readWorks(ids []int64) error {
	var known []int64
	for _, id := range ids {
		if !l.fresh[id] && !l.asked[id] {
			known = append(known, id)
		}
		l.asked[id] = true
	}
	for part := range chunks(known, keysPerRead) {
		err := l.x.each(func(r *sql.Rows) error {
			var id, in int64
			err := r.Scan(&id, &in)
			l.before[id] = in
			return err
		}, `SELECT record_id, work_id FROM ing_work_member WHERE record_id IN (`+list(len(part))+`)`, anys(part)...)
		if err != nil {
			return fmt.Errorf("read works: %w", err)
		}
	}
	return nil
}

// storeWorks writes the works that records are of now.
func (l *linking) storeWorks(ids []int64) (moved []int64, err error) {
	since := ts(l.x.now).text()
	var added, events [][]any
	var removed []int64
	for _, id := range ids {
		was, wasMember := l.before[id]
		is, isMember := l.now[id]
		if was == is && wasMember == isMember {
			continue
		}
		moved = append(moved, id)
		if wasMember {
			removed = append(removed, id)
		} else {
			was = id
		}
		if isMember {
			added = append(added, []any{id, is, since})
		} else {
			is = id
		}
		if was != is && !l.fresh[id] {
			events = append(events, []any{id, was, is, since})
		}
	}
	for part := range chunks(removed, keysPerRead) {
		if _, err := l.x.exec(`DELETE FROM ing_work_member WHERE record_id IN (`+list(len(part))+`)`, anys(part)...); err != nil {
			return nil, fmt.Errorf("take records out of works: %w", err)
		}
	}
	if err := l.x.insertRows(`INSERT INTO ing_work_member (record_id, work_id, since)`, added); err != nil {
		return nil, err
	}
	return moved, l.x.insertRows(`INSERT INTO ing_work_event (record_id, from_work, to_work, happened_at)`, events)
}

const edgeCols = `from_record, to_record, basis_code, polarity_code, rule_no, rules_version, relation_name, evidence, why, score, found_at`

// longestEvidence is how many bytes of evidence are kept.
const longestEvidence = 700

// storeEdges writes the edges of records in place of those that were stored.
func (l *linking) storeEdges(basis string, ids []int64, edges []work.Edge) error {
	var known []int64
	for _, id := range ids {
		if !l.fresh[id] {
			known = append(known, id)
		}
	}
	for part := range chunks(known, keysPerRead) {
		for _, end := range []string{"from_record", "to_record"} {
			if _, err := l.x.exec(`DELETE FROM ing_work_edge WHERE `+end+` IN (`+list(len(part))+`) AND basis_code=?`,
				append(anys(part), basis)...); err != nil {
				return fmt.Errorf("delete edges: %w", err)
			}
		}
	}
	at := ts(l.x.now).text()
	rows := make([][]any, 0, len(edges))
	for _, e := range edges {
		rows = append(rows, []any{
			e.From, e.To, basis, string(e.Polarity), int(e.Rule), work.RulesVersion, string(e.Relation),
			clip(e.Evidence, longestEvidence), clip(e.Why, longestEvidence), int(1000 * e.Score), at,
		})
	}
	return l.x.insertRows(`INSERT INTO ing_work_edge (`+edgeCols+`)`, rows)
}

// storeBad writes which values are not believed, in place of what was known of those
// that these records have.
func (l *linking) storeBad(ids []int64, bad []work.BadValue) error {
	values := map[work.LookupKey]work.ID{}
	var known []work.LookupKey
	for _, id := range ids {
		r := l.facts[id]
		if r == nil {
			continue
		}
		for _, c := range r.Claims {
			k := work.KeyOf(c.ID)
			if _, twice := values[k]; !twice && (len(l.held[k]) > 1 || l.crowded[k] > 0 || !l.fresh[id]) {
				known = append(known, k)
				values[k] = c.ID
			}
		}
	}
	forgotten := slices.Clone(known)
	for _, k := range l.left {
		if l.crowded[k] == 0 { // those of a crowd have it still
			forgotten = append(forgotten, k)
		}
	}
	for part := range chunks(forgotten, keysPerRead) {
		args := make([]any, len(part))
		for i, k := range part {
			args[i] = int64(k)
		}
		if _, err := l.x.exec(`DELETE FROM ing_work_value WHERE key_no IN (`+list(len(part))+`)`, args...); err != nil {
			return fmt.Errorf("forget values: %w", err)
		}
	}
	at := ts(l.x.now).text()
	var rows [][]any
	for _, b := range bad {
		rows = append(rows, []any{int64(work.KeyOf(b.ID)), clip(b.ID.String(), longestEvidence), b.Holders, clip(b.Why, longestEvidence), at})
	}
	for _, k := range known {
		if n := l.crowded[k]; n > 0 {
			rows = append(rows, []any{int64(k), clip(values[k].String(), longestEvidence), n, "too many records have it", at})
		}
	}
	return l.x.insertRows(`INSERT INTO ing_work_value (key_no, value_text, holders, why, found_at)`, rows)
}

// comparePairs compares the records of works that were touched with those that may be
// related to them or be the same, and writes what comes of it.
func (l *linking) comparePairs(touched []int64) error {
	ids := l.wholeWorks(touched)
	if err := l.load(ids); err != nil {
		return err
	}
	lookups := make(map[int64][]work.LookupKey, len(ids))
	var keys []work.LookupKey
	for _, id := range ids {
		r := l.facts[id]
		if r == nil {
			continue
		}
		for _, k := range r.Keys() {
			if k.IsAlike() {
				lookups[id] = append(lookups[id], k)
			} else if beside, ok := k.Beside(); ok {
				lookups[id] = append(lookups[id], beside)
			}
		}
		keys = append(keys, lookups[id]...)
	}
	if err := l.lookUp(keys); err != nil {
		return err
	}
	pairs := map[[2]int64]bool{}
	var others []int64
	for id, list := range lookups {
		this := holder{id, l.facts[id].Mark()}
		for _, k := range list {
			for _, other := range l.held[k] {
				if other.record == id || !l.mayMeet(k, this, other) {
					continue
				}
				pairs[[2]int64{min(id, other.record), max(id, other.record)}] = true
				others = append(others, other.record)
			}
		}
	}
	slices.Sort(others)
	others = slices.Compact(others)
	if err := l.readWorks(others); err != nil {
		return err
	}
	maps.DeleteFunc(pairs, func(p [2]int64, _ bool) bool {
		return l.workOf(p[0]) == l.workOf(p[1]) || work.AreCut(l.decisions, p[0], p[1])
	})
	others = others[:0]
	for p := range pairs {
		others = append(others, p[0], p[1])
	}
	slices.Sort(others)
	if err := l.load(slices.Compact(others)); err != nil {
		return err
	}
	edges := map[[2]int64][]work.Edge{}
	for p := range pairs {
		a, b := l.facts[p[0]], l.facts[p[1]]
		in := [2]int64{l.workOf(p[0]), l.workOf(p[1])}
		if a != nil && b != nil {
			slices.Sort(in[:])
			edges[in] = append(edges[in], work.Compare(a, b)...)
		}
	}
	var out []work.Edge
	for _, in := range slices.SortedFunc(maps.Keys(edges), func(a, b [2]int64) int { return slices.Compare(a[:], b[:]) }) {
		out = append(out, work.Telling(edges[in])...)
	}
	return l.storeEdges("PAIR", ids, out)
}

// wholeWorks are all records of the works that records are of, of those that were
// resolved.
func (l *linking) wholeWorks(ids []int64) []int64 {
	wanted := map[int64]bool{}
	for _, id := range ids {
		wanted[l.workOf(id)] = true
	}
	var out []int64
	for id := range l.resolved {
		if wanted[l.workOf(id)] {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// workOf is the work of which a record is now.
func (l *linking) workOf(id int64) int64 {
	if is, member := l.now[id]; member {
		return is
	}
	if was, member := l.before[id]; member && !l.resolved[id] {
		return was
	}
	return id
}
