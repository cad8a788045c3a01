package source

import (
	"slices"
	"sync"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/query"
)

// ItemSorter sorts the items of pages into records and quarantine.
type ItemSorter struct {
	spec    *Spec
	mapping string
	// hasNotices: records of the source may say that others were retracted or
	// corrected.
	hasNotices bool
	// filter decides what of a query the source does not; nil if there is nothing.
	filter *Filter
}

// SorterOf is the sorter of the items of a source.
func SorterOf(spec *Spec) (ItemSorter, error) {
	filter, err := FilterOf(spec)
	return ItemSorter{
		spec: spec, mapping: spec.Mapping.Version(), filter: filter,
		hasNotices: slices.ContainsFunc(spec.Mapping.Fields, func(f Field) bool { return harvest.IsSignal(f.Name) }),
	}, err
}

// SortInto sorts the items of a page into the batch: those that can be stored become
// its records, the others go to quarantine. Those that are not what the plan's query
// asks for are only named, so that it is known that they came.
func (s ItemSorter) SortInto(p *harvest.Page, b *harvest.Batch) {
	b.Records = make([]harvest.Record, 0, len(p.Items))
	hasher, _ := hashers.Get().(*harvest.Hasher)
	if hasher == nil {
		hasher = new(harvest.Hasher)
	}
	defer hashers.Put(hasher)
	for some := range slices.Chunk(p.Items, hashedAtOnce) {
		hashes := hasher.Of(some)
		for i := range some {
			s.sort(&some[i], hashes[i], b)
		}
	}
}

var hashers sync.Pool // of *harvest.Hasher, whose memory is used again

// hashedAtOnce is how many items are hashed together: enough of them to go side by side,
// and few enough to stay near the processor until they are looked at.
const hashedAtOnce = 32

// sort puts one item where it belongs.
func (s ItemSorter) sort(it *harvest.Item, hashes harvest.ItemHashes, b *harvest.Batch) {
	if it.Problem != nil {
		b.Quarantined = append(b.Quarantined, harvest.Quarantined{ID: it.ID, Problem: *it.Problem, Raw: it.Raw, RawSHA256: hashes.Raw})
		return
	}
	if it.UpdatedAt.After(b.ObservedMax) {
		b.ObservedMax = it.UpdatedAt
	}
	observed := b.OpenedAt
	if !it.ObservedAt.IsZero() {
		observed = it.ObservedAt
	}
	r := harvest.Record{
		ID:        it.ID,
		Version:   harvest.Version{UpdatedAt: it.UpdatedAt, Provider: it.Version, ObservedAt: observed, ContentHash: hashes.Content},
		RawSHA256: hashes.Raw, Raw: it.Raw, Fields: it.Fields, Map: it.Map, Status: it.Status, MappingVersion: s.mapping,
	}
	if s.leavesOut(&r, b) {
		return
	}
	b.Records = append(b.Records, r)
	if s.hasNotices {
		b.Signals = s.signals(&b.Records[len(b.Records)-1], b.Signals)
	}
}

// leavesOut holds a record against what of the plan's query its source does not decide.
// One that cannot tell is kept, and counted.
func (s ItemSorter) leavesOut(r *harvest.Record, b *harvest.Batch) bool {
	if s.filter == nil {
		return false
	}
	switch s.filter.Judge(r) {
	case query.False:
		b.Filtered = append(b.Filtered, r.ID)
		return true
	case query.Unknown:
		b.Undecided++
	}
	return false
}

// AddSorted adds the items of a further reply to the batch. One that is in quarantine
// with it already comes only once.
func (s ItemSorter) AddSorted(p *harvest.Page, b *harvest.Batch) {
	more := harvest.Batch{OpenedBatch: b.OpenedBatch}
	s.SortInto(p, &more)
	b.Records = append(b.Records, more.Records...)
	b.Signals = append(b.Signals, more.Signals...)
	b.Filtered = append(b.Filtered, more.Filtered...)
	b.Undecided += more.Undecided
	for _, q := range more.Quarantined {
		if !slices.ContainsFunc(b.Quarantined, func(o harvest.Quarantined) bool { return o.RawSHA256 == q.RawSHA256 }) {
			b.Quarantined = append(b.Quarantined, q)
		}
	}
	if more.ObservedMax.After(b.ObservedMax) {
		b.ObservedMax = more.ObservedMax
	}
}

// Bare is an item of a search that only names records: it has no fields, and nothing is
// mapped. Only a tombstone, or an item whose id cannot be read, is kept as that.
func Bare(it harvest.Item) harvest.Item {
	it.Fields = []byte("{}")
	it.Map = nil
	return it
}

// signals adds to out what a record says about others, whose ids are brought into the
// form that records have. What a record says about itself is its own status.
func (s ItemSorter) signals(r *harvest.Record, out []harvest.Signal) []harvest.Signal {
	for _, g := range r.Signals() {
		id, err := s.spec.ID.Canonical(g.Target)
		if err != nil || id == r.ID {
			continue
		}
		g.Target = id
		out = append(out, g)
	}
	return out
}
