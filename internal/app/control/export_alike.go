package control

import (
	"cmp"
	"context"
	"slices"
)

// AlikeWorks are two works that may be the same.
type AlikeWorks struct{ One, Other int64 }

// addAlike adds to the members of works those of works that they are most like, and tells which
// records are counted to a work for that alone. No work is joined with more than one other: what
// people cut apart, or nobody suggests, would come together by a third.
func (c *Control) addAlike(ctx context.Context, q ExportQuery, members []WorkMember) (all []WorkMember, likely map[int64]bool, err error) {
	alike, err := c.store.AlikeWorks(ctx)
	if err != nil {
		return nil, nil, err
	}
	partner := pairWorks(alike)
	works := make([]int64, 0, 2*len(partner))
	for one, other := range partner {
		works = append(works, one, other)
	}
	slices.Sort(works)
	selected, err := c.store.SelectedOf(ctx, q, works)
	if err != nil {
		return nil, nil, err
	}
	one := make(map[int64]int64, len(partner)) // by the other
	for a, b := range partner {
		one[b] = a
	}
	likely = map[int64]bool{}
	for i, m := range selected {
		if into, joined := one[m.Work]; joined {
			selected[i].Work = into
			likely[m.Record] = true
		}
	}
	rest := slices.DeleteFunc(members, func(m WorkMember) bool {
		_, is := slices.BinarySearch(works, m.Work)
		return is
	})
	all = append(rest, selected...)
	slices.SortFunc(all, func(a, b WorkMember) int { return cmp.Or(cmp.Compare(a.Work, b.Work), cmp.Compare(a.Record, b.Record)) })
	var kept Doubles
	for _, m := range all {
		kept.Add(m)
	}
	kept.Settle()
	return kept.Members, likely, nil
}

// pairWorks joins each work with the one it is most like, the older number first.
func pairWorks(alike []AlikeWorks) map[int64]int64 {
	partner := map[int64]int64{}
	taken := map[int64]bool{}
	for _, a := range alike {
		if taken[a.One] || taken[a.Other] || a.One == a.Other {
			continue
		}
		taken[a.One] = true
		taken[a.Other] = true
		partner[min(a.One, a.Other)] = max(a.One, a.Other)
	}
	return partner
}
