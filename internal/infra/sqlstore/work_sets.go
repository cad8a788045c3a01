package sqlstore

import (
	"cmp"
	"slices"
)

// sets are numbers that are joined with each other.
type sets struct {
	place map[int64]int // of each number in the lists
	ids   []int64
	up    []int
}

func newSets() *sets { return &sets{place: map[int64]int{}} }

// add takes a number up, and returns its place.
func (s *sets) add(n int64) int {
	at, there := s.place[n]
	if !there {
		at = len(s.ids)
		s.place[n] = at
		s.ids = append(s.ids, n)
		s.up = append(s.up, at)
	}
	return at
}

// top is the place of the number that stands for all that are joined with one.
func (s *sets) top(at int) int {
	for s.up[at] != at {
		s.up[at] = s.up[s.up[at]]
		at = s.up[at]
	}
	return at
}

func (s *sets) join(a, b int64) {
	x := s.top(s.add(a))
	y := s.top(s.add(b))
	s.up[x] = y
}

// groups lists the sets, each sorted, by their smallest number.
func (s *sets) groups() [][]int64 {
	members := make([][]int64, len(s.ids)) // by the places of those that stand for them
	for at, n := range s.ids {
		t := s.top(at)
		members[t] = append(members[t], n)
	}
	out := slices.DeleteFunc(members, func(g []int64) bool { return len(g) == 0 })
	for _, g := range out {
		slices.Sort(g)
	}
	slices.SortFunc(out, func(a, b []int64) int { return cmp.Compare(a[0], b[0]) })
	return out
}
