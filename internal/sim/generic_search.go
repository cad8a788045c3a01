package sim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// window reads the interval asked for, as microseconds with an open end.
func window(q *request, st GenericStyle) (from, to int64, err error) {
	from, to = 0, int64(1)<<62
	first, last := q.get("from"), q.get("to")
	if st.Filter == "none" && first+last != "" {
		return 0, 0, errors.New("from and to are not known: the list cannot be asked for a window")
	}
	if q.route == "/items/{from}/{to}/{offset}" {
		parts := strings.Split(q.path, "/")
		first, last = parts[2], parts[3]
		for _, day := range []string{first, last} {
			if _, err := time.Parse(time.DateOnly, day); err != nil {
				return 0, 0, err
			}
		}
	}
	if first != "" {
		from, _, err = instant(first)
		if err != nil {
			return 0, 0, err
		}
	}
	if last != "" {
		granule := int64(0)
		to, granule, err = instant(last)
		if err != nil {
			return 0, 0, err
		}
		if st.Bounds == "closed" {
			to += granule
		}
	}
	return from, to, nil
}

// instant reads a day or a moment, in microseconds, and how long it lasts.
func instant(s string) (at, granule int64, err error) {
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return t.UnixMicro(), (24 * time.Hour).Microseconds(), nil
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return 0, 0, fmt.Errorf("instant %q: must be a day or RFC 3339: %w", s, err)
	}
	return t.UnixMicro(), 1, nil
}

// bucketed keeps the ids asked for by bucket=B and buckets=N, those whose hash
// leaves the remainder B when divided by N.
func bucketed(q *request, ids []uint32) ([]uint32, error) {
	b, n := q.get("bucket"), q.get("buckets")
	if b == "" && n == "" {
		return ids, nil
	}
	no, err := strconv.ParseUint(b, 10, 32)
	of, errOf := strconv.ParseUint(n, 10, 32)
	if err != nil || errOf != nil || no >= of {
		return nil, fmt.Errorf("bucket %q of %q: must be numbers, the first below the second", b, n)
	}
	return slices.DeleteFunc(ids, func(i uint32) bool { return mix(uint64(i)+1)%of != no }), nil
}

// search returns the ids with from <= moment < to in the order asked for.
func (g *generic) search(st GenericStyle, from, to int64) []uint32 {
	var ids []uint32
	for i := range g.people.records {
		r := &g.people.records[i]
		if at := moment(&r.version); listed(r, st) && at >= from && at < to {
			ids = append(ids, uint32(i))
		}
	}
	if st.Order == "none" {
		g.calls++
		return shuffled(ids, roll(g.people.seed, 31, g.calls))
	}
	slices.SortFunc(ids, func(a, b uint32) int { return g.compare(st, a, g.moment(b), b) })
	return ids
}

func (g *generic) moment(i uint32) int64 { return moment(&g.people.records[i].version) }

// compare puts a record before or after a place, in the style's order.
func (g *generic) compare(st GenericStyle, i uint32, at int64, id uint32) int {
	switch st.Order {
	case "desc":
		return -cmp.Or(cmp.Compare(g.moment(i), at), cmp.Compare(i, id))
	case "near":
		return cmp.Or(cmp.Compare(at-strayed(id), g.moment(i)-strayed(i)), cmp.Compare(i, id))
	case "day":
		const day = int64(24 * time.Hour / time.Microsecond)
		return cmp.Or(cmp.Compare(at/day, g.moment(i)/day), cmp.Compare(i, id))
	}
	return cmp.Or(cmp.Compare(g.moment(i), at), cmp.Compare(i, id))
}

// strayed is how far a record is from its place in a list that is sorted nearly, in
// microseconds.
func strayed(i uint32) int64 {
	return int64(mix(uint64(i)) % uint64(6*time.Hour/time.Microsecond))
}

// listed says whether a list of that style names the record.
func listed(r *record, st GenericStyle) bool {
	return r.shown() || r.number > 0 && st.announces()
}

func (g *generic) rows(st GenericStyle, ids []uint32) []row {
	out := make([]row, 0, len(ids))
	for _, i := range ids {
		if r := g.people.records[i]; listed(&r, st) {
			out = append(out, row{index: i, record: r})
		}
	}
	return out
}
