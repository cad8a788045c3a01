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

// A record that is of a work of several has a row as its member. The links that join it with
// those of smaller numbers are in that row, packed: there are more of them than members, and
// a row for each would cost more than all else that linking writes.

// member is of which work of several a record is, 0 for none, and its links as they are
// stored.
type member struct {
	work  int64
	links []byte
}

// packedLink is a link of a record to another.
type packedLink struct {
	other    int64
	isTo     bool // the other is where the link leads to
	rule     work.Rule
	evidence string
}

// packLink appends a link to those of the record with the larger number. The first byte of
// all is the version of the rules.
func packLink(b []byte, e work.Edge) []byte {
	if len(b) == 0 {
		b = binary.AppendUvarint(b, work.RulesVersion)
	}
	other := uint64(min(e.From, e.To)) << 1
	if e.To < e.From {
		other |= 1
	}
	b = binary.AppendUvarint(b, other)
	b = binary.AppendUvarint(b, uint64(e.Rule))
	evidence := clip(e.Evidence, longestEvidence)
	b = binary.AppendUvarint(b, uint64(len(evidence)))
	return append(b, evidence...)
}

var errLinks = errors.New("the links of a record in a work are damaged")

// unpackLinks reads the links of a record.
func unpackLinks(b []byte) (out []packedLink, err error) {
	p := packedNumbers{rest: b}
	if len(b) > 0 {
		p.next() // the version of the rules
	}
	for len(p.rest) > 0 {
		other := p.next()
		rule := p.next()
		size := p.next()
		if p.isDamaged || size > uint64(len(p.rest)) {
			return nil, errLinks
		}
		out = append(out, packedLink{other: int64(other >> 1), isTo: other&1 == 1, rule: work.Rule(rule), evidence: string(p.rest[:size])})
		p.rest = p.rest[size:]
	}
	if p.isDamaged {
		return nil, errLinks
	}
	return out, nil
}

// ends are the records that a link of a record leads from and to.
func (p packedLink) ends(record int64) (from, to int64) {
	if p.isTo {
		return record, p.other
	}
	return p.other, record
}

// readWorks reads of which works records were.
func (l *linking) readWorks(ids []int64) error {
	var known []int64
	for _, id := range ids {
		m := l.meet(id)
		if !m.isAsked && !l.isFresh(id) {
			known = append(known, id)
		}
		m.isAsked = true
	}
	for args := range inLists(known) {
		err := l.x.each(func(r *sql.Rows) error {
			var id int64
			var was member
			err := r.Scan(&id, &was.work, &was.links)
			l.meet(id).before = was
			return err
		}, `SELECT record_id, work_id, links FROM ing_work_member WHERE record_id IN (`+list(len(args))+`)`, args...)
		if err != nil {
			return fmt.Errorf("read works: %w", err)
		}
	}
	return nil
}

// storeWorks writes the works that records are of now, with their links.
func (l *linking) storeWorks(ids []int64) error {
	since := ts(l.x.now).text()
	var added, removed []int64
	var events [][]any
	for _, id := range ids {
		m := l.meet(id)
		if m.before.work == m.now.work {
			if string(m.before.links) == string(m.now.links) {
				continue
			}
			if _, err := l.x.exec(`UPDATE ing_work_member SET links=? WHERE record_id=?`, m.now.links, id); err != nil {
				return fmt.Errorf("store links: %w", err)
			}
			continue
		}
		if m.before.work != 0 {
			removed = append(removed, id)
		}
		if m.now.work != 0 {
			added = append(added, id)
		}
		was := l.workBefore(id)
		is := l.workOf(id)
		if was != is && !l.isFresh(id) {
			events = append(events, []any{id, was, is, since})
		}
	}
	for args := range inLists(removed) {
		if _, err := l.x.exec(`DELETE FROM ing_work_member WHERE record_id IN (`+list(len(args))+`)`, args...); err != nil {
			return fmt.Errorf("take records out of works: %w", err)
		}
	}
	slices.Sort(added)
	err := insertEach(l.x, `INTO ing_work_member (record_id, work_id, since, links)`, added, func(args []any, id int64) []any {
		m := l.meet(id)
		return append(args, id, m.now.work, since, m.now.links)
	})
	if err != nil {
		return err
	}
	return l.x.insertRows(`INTO ing_work_event (record_id, from_work, to_work, happened_at)`, events)
}

// workOf is the work of which a record is now.
func (l *linking) workOf(id int64) int64 {
	m := l.meet(id)
	if m.isResolved {
		return cmp.Or(m.now.work, id)
	}
	return cmp.Or(m.before.work, id)
}

// workBefore is the work of which a record was.
func (l *linking) workBefore(id int64) int64 { return cmp.Or(l.meet(id).before.work, id) }
