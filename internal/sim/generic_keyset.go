package sim

import (
	"cmp"
	"slices"
	"strconv"
)

// afterKey serves a page of what comes after a record: of the records from the date
// from on, without those of that date whose ids are not greater than after_id. They are
// sorted by the date that they show, and then by id. The total is that of what is left.
func (g *generic) afterKey(q *request, st GenericStyle, from, to int64) *reply {
	first := uint32(0)
	if id := q.get("after_id"); id != "" {
		last, known := g.find(id)
		if !known {
			return refuse("after_id " + strconv.Quote(id) + " is no id")
		}
		first = last + 1
	}
	var ids []uint32
	for i := range g.people.records {
		at := g.shownAt(st, uint32(i))
		isAfter := at > from || at == from && uint32(i) >= first
		if listed(&g.people.records[i], st) && isAfter && at < to {
			ids = append(ids, uint32(i))
		}
	}
	slices.SortFunc(ids, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(g.shownAt(st, a), g.shownAt(st, b)), cmp.Compare(a, b))
	})
	size := varied(st, len(ids), g.size(q, st))
	if q.fault == ShortPage {
		size = max(1, size/2)
	}
	part := cut(ids, 0, size)
	more := `"has_more":` + strconv.FormatBool(len(part) < len(ids))
	return g.sheet(q, st, sheet{ids: part, total: len(ids), first: first == 0, fields: []string{more}})
}

// shownAt is the date that an item shows, in microseconds.
func (g *generic) shownAt(st GenericStyle, i uint32) int64 {
	return g.shape(st).updatedAt(g.people.records[i].version).UnixMicro()
}
