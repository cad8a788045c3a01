package sqlstore

import (
	"fmt"
	"maps"
	"slices"

	"github.com/papertrace/patra/internal/domain/work"
)

// resolve finds the works of groups of records anew and writes what has changed. grown are
// the new records of groups in which nothing else has changed, changed are all records of
// the others.
func (l *linking) resolve(groups [][]int64, decided map[int64]work.Decision) (grown, changed []int64, err error) {
	var all []int64
	for _, g := range groups {
		all = append(all, g...)
	}
	for _, id := range all {
		l.meet(id).isResolved = true
	}
	if err := l.readWorks(all); err != nil {
		return nil, nil, err
	}
	for _, id := range slices.Sorted(maps.Keys(decided)) {
		l.decisions = append(l.decisions, decided[id])
	}
	var edges []work.Edge
	var bad []work.BadValue
	for _, g := range groups {
		out := l.resolveGroup(g)
		edges = append(edges, out.Edges...)
		bad = append(bad, out.Bad...)
		if !l.hasOnlyGrown(g) {
			changed = append(changed, g...)
			continue
		}
		for _, id := range g {
			if l.isFresh(id) {
				grown = append(grown, id)
			}
		}
	}
	if err := l.deleteEdges("ID", changed); err != nil {
		return nil, nil, err
	}
	if err := l.storeEdges("ID", edges); err != nil {
		return nil, nil, err
	}
	if err := l.storeBad(changed, bad); err != nil {
		return nil, nil, err
	}
	return grown, changed, l.storeWorks(all)
}

// resolveGroup finds the works of a group, and their links. It returns what else follows
// from its identifiers.
func (l *linking) resolveGroup(g []int64) work.Resolved {
	if len(g) == 1 {
		return work.Resolved{}
	}
	records := make([]work.Record, 0, len(g))
	for _, id := range g {
		if r := l.meet(id).facts; r != nil {
			records = append(records, *r)
		}
	}
	out := work.Resolve(records, l.decisions, func(id work.ID) bool { return l.crowded[work.KeyOf(id)] > 0 })
	for _, members := range out.Works {
		if len(members) == 1 {
			continue
		}
		for _, id := range members {
			l.meet(id).now.work = members[0]
		}
	}
	out.Edges = slices.DeleteFunc(out.Edges, func(e work.Edge) bool {
		if e.Polarity != work.Links {
			return false
		}
		at := l.meet(max(e.From, e.To))
		at.now.links = packLink(at.now.links, e)
		return true
	})
	return out
}

// hasOnlyGrown reports whether a group is one work of before, or one record, and records
// that are new; and whether that work is as it was, but for these. What is stored of such
// a group holds: between records of one work there is nothing but links, and these are the
// same.
func (l *linking) hasOnlyGrown(g []int64) bool {
	first := int64(0)
	for _, id := range g {
		if l.isFresh(id) {
			continue
		}
		if l.pending[id] || l.isDecided(id) {
			return false
		}
		if first == 0 {
			first = id
		}
		if l.workBefore(id) != l.workBefore(first) || l.workOf(id) != l.workOf(first) {
			return false
		}
		m := l.meet(id)
		if m.before.work != 0 && (m.now.work == 0 || string(m.before.links) != string(m.now.links)) {
			return false
		}
	}
	return true
}

// isDecided reports whether somebody has decided about a record.
func (l *linking) isDecided(id int64) bool {
	return slices.ContainsFunc(l.decisions, func(d work.Decision) bool {
		return slices.ContainsFunc(d.Parts, func(part []int64) bool { return slices.Contains(part, id) })
	})
}

const edgeCols = `from_record, to_record, basis_code, polarity_code, rule_no, rules_version, relation_name, evidence, why, score, found_at`

// longestEvidence is how many bytes of evidence are kept.
const longestEvidence = 700

// deleteEdges deletes the edges of records that are stored.
func (l *linking) deleteEdges(basis string, ids []int64) error {
	var known []int64
	for _, id := range ids {
		if !l.isFresh(id) {
			known = append(known, id)
		}
	}
	for args := range inLists(known) {
		for _, end := range []string{"from_record", "to_record"} {
			if _, err := l.x.exec(`DELETE FROM ing_work_edge WHERE `+end+` IN (`+list(len(args))+`) AND basis_code=?`,
				append(slices.Clip(args), basis)...); err != nil {
				return fmt.Errorf("delete edges: %w", err)
			}
		}
	}
	return nil
}

// storeEdges writes edges.
func (l *linking) storeEdges(basis string, edges []work.Edge) error {
	at := ts(l.x.now).text()
	return insertEach(l.x, `INTO ing_work_edge (`+edgeCols+`)`, edges, func(args []any, e work.Edge) []any {
		return append(
			args, e.From, e.To, basis, string(e.Polarity), int(e.Rule), work.RulesVersion, string(e.Relation),
			clip(e.Evidence, longestEvidence), clip(e.Why, longestEvidence), int(1000*e.Score), at,
		)
	})
}

// storeBad writes which values are not believed, in place of what was known of them and of
// those that records of groups have which have changed.
func (l *linking) storeBad(changed []int64, bad []work.BadValue) error {
	values := map[work.LookupKey]work.ID{}
	var forgotten []int64
	for _, id := range changed {
		r := l.meet(id).facts
		if r == nil {
			continue
		}
		for _, c := range r.Claims {
			k := work.KeyOf(c.ID)
			if _, twice := values[k]; !twice {
				forgotten = append(forgotten, int64(k))
				values[k] = c.ID
			}
		}
	}
	at := ts(l.x.now).text()
	var rows [][]any
	for _, b := range bad {
		k := work.KeyOf(b.ID)
		forgotten = append(forgotten, int64(k))
		rows = append(rows, []any{int64(k), clip(b.ID.String(), longestEvidence), b.Holders, clip(b.Why, longestEvidence), at})
	}
	for _, m := range l.met {
		if !m.isResolved || m.facts == nil || !l.hasCrowded(m.keys) {
			continue
		}
		for _, c := range m.facts.Claims {
			values[work.KeyOf(c.ID)] = c.ID
		}
	}
	for k, id := range values {
		if n := l.crowded[k]; n > 0 {
			forgotten = append(forgotten, int64(k))
			rows = append(rows, []any{int64(k), clip(id.String(), longestEvidence), n, "too many records have it", at})
		}
	}
	if err := l.x.forgetValues(forgotten); err != nil {
		return err
	}
	return l.x.insertRows(`INTO ing_work_value (key_no, value_text, holders, why, found_at)`, rows)
}

// hasCrowded reports whether any key is of an identifier that too many have.
func (l *linking) hasCrowded(keys []work.LookupKey) bool {
	return slices.ContainsFunc(keys, func(k work.LookupKey) bool { return k.IsID() && l.crowded[k] > 0 })
}

// forgetLeft forgets what is known of values that records had before, and no crowd has. Of one that a crowd
// has still, it stores how many these are now.
func (l *linking) forgetLeft() error {
	var numbers []int64
	for _, k := range l.left {
		n := l.crowded[k]
		if n == 0 {
			numbers = append(numbers, int64(k))
			continue
		}
		if _, err := l.x.exec(`UPDATE ing_work_value SET holders=? WHERE key_no=?`, n, int64(k)); err != nil {
			return fmt.Errorf("count who has a value: %w", err)
		}
	}
	return l.x.forgetValues(numbers)
}

func (x *tx) forgetValues(numbers []int64) error {
	for args := range inLists(numbers) {
		if _, err := x.exec(`DELETE FROM ing_work_value WHERE key_no IN (`+list(len(args))+`)`, args...); err != nil {
			return fmt.Errorf("forget values: %w", err)
		}
	}
	return nil
}
