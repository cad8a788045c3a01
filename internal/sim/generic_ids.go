package sim

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
)

// sequences number what happened to a source: each version that it shows has a number
// of its own, greater than all before. They are given when somebody looks, in the order
// in which versions became visible.
type sequences struct {
	last int64
	of   map[uint32]numbered
}

// numbered is the version of a record that was numbered last.
type numbered struct {
	version  uint16
	sequence int64
}

// number gives numbers to what has none yet.
func (s *sequences) number(p *population) {
	if s.of == nil {
		s.of = map[uint32]numbered{}
	}
	var fresh []uint32
	for i := range p.records {
		if p.records[i].number > s.of[uint32(i)].version {
			fresh = append(fresh, uint32(i))
		}
	}
	slices.SortFunc(fresh, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(p.records[a].visible, p.records[b].visible), cmp.Compare(a, b))
	})
	for _, i := range fresh {
		s.last++
		s.of[i] = numbered{version: p.records[i].number, sequence: s.last}
	}
}

// GenericSequence is the number of what last happened to a record of the generic
// source, 0 if there is none.
func (s *Sim) GenericSequence(id string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, ok := s.upstreams[Generic].(*generic)
	if !ok {
		return 0
	}
	i, ok := g.find(id)
	if !ok {
		return 0
	}
	g.numbers.number(g.people)
	return g.numbers.of[i].sequence
}

// byNumber lists what is numbered from first to last, in that order.
func (g *generic) byNumber(q *request, st GenericStyle) ([]uint32, error) {
	g.numbers.number(g.people)
	first, err := strconv.ParseInt(q.get("first"), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("first: %w", err)
	}
	last, err := strconv.ParseInt(q.get("last"), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("last: %w", err)
	}
	var ids []uint32
	for i := range g.people.records {
		n := g.numbers.of[uint32(i)].sequence
		if listed(&g.people.records[i], st) && n >= first && n <= last {
			ids = append(ids, uint32(i))
		}
	}
	slices.SortFunc(ids, func(a, b uint32) int { return cmp.Compare(g.numbers.of[a].sequence, g.numbers.of[b].sequence) })
	return ids, nil
}

// head tells the greatest number there is.
func (g *generic) head() *reply {
	g.numbers.number(g.people)
	return &reply{status: http.StatusOK, kind: jsonType, head: []byte(`{"greatest":` + strconv.FormatInt(g.numbers.last, 10) + `}`)}
}
