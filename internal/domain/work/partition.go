package work

import (
	"slices"
)

// part is a work that grows.
type part struct {
	members []*Record
	// What a work has one of at most.
	doi, pmid, arxiv ID
	class            Class
	// decided: a person joined some of it, so what rules allow does not bind it.
	decided bool
}

func newPart(r *Record) *part {
	return &part{members: []*Record{r}, doi: r.Own(DOI), pmid: r.said(PMID), arxiv: r.said(ArXiv), class: r.Class}
}

// Partition joins records along the edges, in their order, as long as nothing speaks
// against it, and returns the numbers of each work's records. An edge that would join
// what must stay apart becomes a suggestion in place. The edges are sorted by the
// caller.
func Partition(recs []*Record, edges []Edge, decisions []Decision) [][]int64 {
	of := make(map[int64]*part, len(recs))
	for _, r := range recs {
		of[r.Number] = newPart(r)
	}
	apart := forbidden(decisions)
	for i := range edges {
		e := &edges[i]
		a, b := of[e.From], of[e.To]
		if e.Polarity != Links || a == nil || b == nil || a == b {
			continue
		}
		if why := apart.between(a, b); why != "" {
			e.Polarity = Suggests
			e.Why = why
			continue
		}
		if why := limits(a, b, e, edges, of); why != "" {
			e.Polarity = Suggests
			e.Why = why
			continue
		}
		join(a, b, e.Rule == RulePerson)
		for _, r := range b.members {
			of[r.Number] = a
		}
	}
	// An edge whose ends came together by others before it could be judged is as it was;
	// one that was judged while they were apart, and others joined them later, links too.
	for i := range edges {
		e := &edges[i]
		if e.Polarity == Suggests && e.Why == whyBridge && of[e.From] != nil && of[e.From] == of[e.To] {
			e.Polarity = Links
			e.Why = ""
		}
	}
	return worksOf(recs, of)
}

func join(a, b *part, decided bool) {
	a.members = append(a.members, b.members...)
	a.decided = a.decided || b.decided || decided
	if a.doi.IsZero() {
		a.doi = b.doi
	}
	if a.pmid.IsZero() {
		a.pmid = b.pmid
	}
	if a.arxiv.IsZero() {
		a.arxiv = b.arxiv
	}
	if a.class == Unknown {
		a.class = b.class
	}
}

const whyCut = "a person has cut them apart"

const whyBridge = "it alone would join two works that hold together without it"

// limits says why rules must not join two parts, empty if they may.
func limits(a, b *part, e *Edge, edges []Edge, of map[int64]*part) string {
	if e.Rule == RulePerson {
		return ""
	}
	switch {
	case differ(a.doi, b.doi) && e.Rule != RuleRedirect && e.Rule != RuleAlias:
		return "each has a DOI of its own: " + a.doi.Value + ", " + b.doi.Value
	case differ(a.pmid, b.pmid) && e.Rule != RuleRedirect:
		return "each has a PMID of its own: " + a.pmid.Value + ", " + b.pmid.Value
	case differ(a.arxiv, b.arxiv) && e.Rule != RuleRedirect:
		return "each has a number of its own at arXiv: " + a.arxiv.Value + ", " + b.arxiv.Value
	case !compatible(a.class, b.class):
		return "one is of class " + string(a.class) + ", the other " + string(b.class)
	case len(a.members)+len(b.members) > MostMembers:
		return "the work would have too many records"
	}
	if e.Rule >= RulePubMedDOI && e.Rule != RuleEuropePMC && len(a.members) > 1 && len(b.members) > 1 && between(a, b, edges, of) == 1 {
		return whyBridge
	}
	return ""
}

func differ(a, b ID) bool { return !a.IsZero() && !b.IsZero() && a != b }

// between counts the pairs of records that link two parts.
func between(a, b *part, edges []Edge, of map[int64]*part) int {
	pairs := map[[2]int64]bool{}
	for _, e := range edges {
		if e.Polarity != Links {
			continue
		}
		x, y := of[e.From], of[e.To]
		if x == a && y == b || x == b && y == a {
			pairs[[2]int64{min(e.From, e.To), max(e.From, e.To)}] = true
		}
	}
	return len(pairs)
}

// AreCut reports whether a person has cut two records apart.
func AreCut(decisions []Decision, a, b int64) bool {
	for _, d := range decisions {
		if !d.Split || len(d.Parts) != 2 {
			continue
		}
		for _, way := range [][2]int64{{a, b}, {b, a}} {
			if slices.Contains(d.Parts[0], way[0]) && slices.Contains(d.Parts[1], way[1]) {
				return true
			}
		}
	}
	return false
}

// cuts are the pairs of records that people have cut apart.
type cuts map[[2]int64]bool

func forbidden(decisions []Decision) cuts {
	out := cuts{}
	for _, d := range decisions {
		if !d.Split || len(d.Parts) != 2 {
			continue
		}
		for _, x := range d.Parts[0] {
			for _, y := range d.Parts[1] {
				out[[2]int64{min(x, y), max(x, y)}] = true
			}
		}
	}
	return out
}

func (c cuts) between(a, b *part) string {
	if len(c) == 0 {
		return ""
	}
	for _, x := range a.members {
		for _, y := range b.members {
			if c[[2]int64{min(x.Number, y.Number), max(x.Number, y.Number)}] {
				return whyCut
			}
		}
	}
	return ""
}

// worksOf lists the parts, each by its numbers, in the order of the smallest.
func worksOf(recs []*Record, of map[int64]*part) [][]int64 {
	seen := map[*part]bool{}
	var out [][]int64
	for _, r := range recs {
		p := of[r.Number]
		if seen[p] {
			continue
		}
		seen[p] = true
		numbers := make([]int64, len(p.members))
		for i, m := range p.members {
			numbers[i] = m.Number
		}
		slices.Sort(numbers)
		out = append(out, numbers)
	}
	slices.SortFunc(out, func(a, b []int64) int { return int(a[0] - b[0]) })
	return out
}
