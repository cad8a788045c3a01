package sim

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
)

// history serves what has happened to the records, one event for each version that
// could be seen, ordered by (date, id):
//
//	{"events":[{"id":..,"event":"add|update|delete","date":..,"v":N}],"total":N,"offset":N}
func (g *generic) history(q *request, st GenericStyle) *reply {
	from, to, err := window(q, st)
	if err != nil {
		return refuse(err.Error())
	}
	var rows []row
	add := func(i uint32, v version) {
		if at := moment(&v); v.number > 0 && at >= from && at < to {
			rows = append(rows, row{index: i, record: record{version: v}})
		}
	}
	for i := range g.people.records {
		for _, v := range g.people.older[uint32(i)] {
			add(uint32(i), v)
		}
		add(uint32(i), g.people.records[i].version)
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(moment(&a.version), moment(&b.version)), cmp.Compare(a.index, b.index), cmp.Compare(a.number, b.number))
	})
	p := sheet{total: len(rows), pos: number(q, "offset", 0)}
	p.first = p.pos == 0
	if rep := outOfReach(st, p.pos, len(rows)); rep != nil {
		return rep
	}
	rows = rows[min(p.pos, len(rows)):]
	rows = rows[:min(varied(st, p.pos, g.size(q, st)), len(rows))]
	rep := &reply{status: http.StatusOK, kind: jsonType, rows: rows, between: ",", records: len(rows), write: g.shape(st).event}
	fields := []string{`"offset":` + strconv.Itoa(p.pos)}
	if total := totalField(st, p); total != "" {
		fields = append([]string{total}, fields...)
	}
	rep.wrap(st, "", "events", fields)
	return rep
}

func (s shape) event(b []byte, r *row) []byte {
	b = s.appendID(append(b, `{"id":"`...), r.index)
	kind := "update"
	switch {
	case r.deleted:
		kind = "delete"
	case r.number == 1:
		kind = "add"
	}
	b = append(b, `","event":"`+kind+`","date":"`...)
	b = s.appendDate(b, &r.version, r.deleted)
	b = s.appendNumber(append(b, `","v":`...), int(r.number))
	return append(b, '}')
}
