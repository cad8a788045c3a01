package work

import (
	"slices"
)

// MostHolders is how many records may have one identifier. A value that more have is
// somebody's slip and links nothing.
const MostHolders = 25

// MostMembers is how many records one work may have by rules.
const MostMembers = 25

// Decision is what a person said about records: that they are of one work, or that
// those of one part are not of the work of those of the other.
type Decision struct {
	ID    int64
	Split bool
	// Parts are numbers of records. A join has one part, a split two.
	Parts [][]int64
}

// BadValue is an identifier that is not believed, and why.
type BadValue struct {
	ID      ID
	Holders int
	Why     string
}

// Resolved is what comes of records that hang together.
type Resolved struct {
	// Works are the records of each work, by number, the smallest first: it is the
	// number of the work.
	Works [][]int64
	Edges []Edge
	Bad   []BadValue
}

// Resolve finds the works of records that hang together by identifiers or decisions. It
// depends on what they say and not on their order. crowded are identifiers that too
// many have to be believed; nil for none.
func Resolve(records []Record, decisions []Decision, crowded func(ID) bool) Resolved {
	recs := make([]*Record, len(records))
	for i := range records {
		recs[i] = &records[i]
	}
	slices.SortFunc(recs, func(a, b *Record) int { return a.Key.Compare(b.Key) })
	edges, bad := identityEdges(recs, crowded)
	edges = append(edges, redirectEdges(recs)...)
	edges = append(edges, decidedEdges(recs, decisions)...)
	slices.SortFunc(edges, compareEdges)
	works := Partition(recs, edges, decisions)
	edges = stillOpen(edges, works)
	compareSuggested(recs, edges)
	return Resolved{Works: works, Edges: edges, Bad: bad}
}

// compareSuggested says of identifiers that are not believed how alike the records are that
// have them.
func compareSuggested(recs []*Record, edges []Edge) {
	var of map[int64]*Record
	for i := range edges {
		e := &edges[i]
		if e.Polarity != Suggests {
			continue
		}
		if of == nil {
			of = make(map[int64]*Record, len(recs))
			for _, r := range recs {
				of[r.Number] = r
			}
		}
		from, to := of[e.From], of[e.To]
		if from != nil && to != nil {
			e.compareEnds(from, to)
		}
	}
}

// stillOpen leaves out suggestions that are answered: the two are of one work after
// all, or a person has cut them apart.
func stillOpen(edges []Edge, works [][]int64) []Edge {
	of := map[int64]int64{}
	for _, w := range works {
		for _, n := range w {
			of[n] = w[0]
		}
	}
	return slices.DeleteFunc(edges, func(e Edge) bool {
		return e.Polarity == Suggests && (of[e.From] == of[e.To] || e.Why == whyCut)
	})
}

// holder is a record that has a value, and by which claim.
type holder struct {
	record *Record
	claim  Claim
}

// identityEdges are those of all identifiers that several records have.
func identityEdges(recs []*Record, crowded func(ID) bool) (edges []Edge, bad []BadValue) {
	for _, hs := range holdersOf(recs) {
		id := hs[0].claim.ID
		if len(hs) < 2 || crowded != nil && crowded(id) {
			continue
		}
		why := illness(hs)
		if why != "" {
			bad = append(bad, BadValue{ID: id, Holders: len(hs), Why: why})
		}
		for i, x := range hs {
			for _, y := range hs[i+1:] {
				if e, ok := identityEdge(x.record, y.record, x.claim, y.claim, why == ""); ok {
					edges = append(edges, e)
				}
			}
		}
	}
	return edges, bad
}

// fewRecords is up to how many records are gone through for every value that one has.
const fewRecords = 8

// holdersOf lists the records that have a value, for each value, in the order in which the
// values are met.
func holdersOf(recs []*Record) [][]holder {
	var out [][]holder
	place := map[ID]int{}
	for _, r := range recs {
		for _, c := range r.Claims {
			at := -1
			if len(recs) <= fewRecords {
				at = slices.IndexFunc(out, func(hs []holder) bool { return hs[0].claim.ID == c.ID })
			} else if i, met := place[c.ID]; met {
				at = i
			}
			if at < 0 {
				at = len(out)
				out = append(out, nil)
				if len(recs) > fewRecords {
					place[c.ID] = at
				}
			}
			out[at] = append(out[at], holder{r, c})
		}
	}
	return out
}

// illness says why a value is not believed, empty if it is.
func illness(hs []holder) string {
	bySource := map[string]*Record{}
	for _, h := range hs {
		r := h.record
		// Notices under the DOI of what they are about, and stubs, are told apart elsewhere;
		// what is called identical with the holder of the value does not have it itself.
		if r.Class == Notice || r.Dead || h.claim.Strength == Alias {
			continue
		}
		if before, twice := bySource[r.Key.Source]; twice && !merged(before, r) && compatible(before.Class, r.Class) {
			return "two records of " + r.Key.Source + " have it"
		}
		bySource[r.Key.Source] = r
	}
	if len(hs) <= 3 {
		return ""
	}
	for i, x := range hs {
		for _, y := range hs[i+1:] {
			if x.claim.Strength != Alias && y.claim.Strength != Alias && compatible(x.record.Class, y.record.Class) && !agree(x.record, y.record) {
				return "more than three records have it, and they do not agree"
			}
		}
	}
	return ""
}

// merged reports whether a source has merged one record into the other.
func merged(a, b *Record) bool {
	if a.Key.Source != b.Key.Source || a.Key.Type != b.Key.Type {
		return false
	}
	return a.MergedInto == b.Key.ID || b.MergedInto == a.Key.ID || a.MergedInto != "" && a.MergedInto == b.MergedInto
}

// redirectEdges join what a source has merged.
func redirectEdges(recs []*Record) []Edge {
	var out []Edge
	for i, a := range recs {
		for _, b := range recs[i+1:] {
			if (a.MergedInto != "" || b.MergedInto != "") && merged(a, b) {
				out = append(out, edgeOf(a, b, RuleRedirect, Links, "merged by "+a.Key.Source))
			}
		}
	}
	return out
}

// decidedEdges join what people have joined, each record with the first of its class. A
// preprint and its article stay two works however they are joined: they are related.
func decidedEdges(recs []*Record, decisions []Decision) []Edge {
	byNumber := numbered(recs)
	var out []Edge
	for _, d := range decisions {
		if d.Split || len(d.Parts) != 1 {
			continue
		}
		var here []*Record
		for _, n := range d.Parts[0] {
			if r := byNumber[n]; r != nil {
				here = append(here, r)
			}
		}
		slices.SortFunc(here, func(a, b *Record) int { return a.Key.Compare(b.Key) })
		for i := 1; i < len(here); i++ {
			out = append(out, joinedByPerson(here[:i], here[i]))
		}
	}
	return out
}

// joinedByPerson is the edge by which a record is joined with others that come before it.
func joinedByPerson(before []*Record, r *Record) Edge {
	const evidence = "joined by a person"
	alike := slices.IndexFunc(before, func(b *Record) bool { return compatible(b.Class, r.Class) })
	if alike >= 0 {
		return edgeOf(before[alike], r, RulePerson, Links, evidence)
	}
	for _, b := range before {
		pre, art := b, r
		if pre.Class == Article {
			pre, art = art, pre
		}
		if pre.Class == Preprint && art.Class == Article {
			e := directed(pre, art, RulePerson, Relates, evidence)
			e.Relation = PreprintOf
			return e
		}
	}
	return edgeOf(before[0], r, RulePerson, Links, evidence)
}

// AreJoined reports whether a person has joined records of two works: numbers of records by
// the works that they are of.
func AreJoined(decisions []Decision, workOf func(int64) int64, one, other int64) bool {
	for _, d := range decisions {
		if d.Split || len(d.Parts) != 1 {
			continue
		}
		holds := func(w int64) bool {
			return slices.ContainsFunc(d.Parts[0], func(n int64) bool { return workOf(n) == w })
		}
		if holds(one) && holds(other) {
			return true
		}
	}
	return false
}

func numbered(recs []*Record) map[int64]*Record {
	out := make(map[int64]*Record, len(recs))
	for _, r := range recs {
		out[r.Number] = r
	}
	return out
}
