package sim

import (
	"container/heap"
	"slices"
	"sort"
	"time"
)

// kind says how a version came about.
type kind uint8

const (
	kindNew kind = iota + 1
	kindChanged
	kindVolatile
	kindRetracted
	kindNotice
	kindDeleted
)

var kindNames = [...]string{"", "new", "changed", "volatile", "retracted", "notice", "deleted"}

func (k kind) String() string { return kindNames[k] }

// version is one state of one record. Instants are unix seconds: 32 bits last
// until 2106 and keep a million records small.
type version struct {
	updated   uint32 // what the source calls the record's last change
	visible   uint32 // when the source began to show it
	deposited uint32 // updated of the last version whose content changed
	micro     uint32 // fraction of updated, in microseconds
	partner   uint32 // 1 + index of a retraction's other half
	number    uint16 // 1 for the first; 0: nothing visible yet
	content   uint16 // content changes so far
	kind      kind
	retracted bool
	notice    bool
	deleted   bool
	late      bool
}

// record is the version visible now, and the instant the record was made.
type record struct {
	created uint32
	version
}

func (r *record) shown() bool { return r.number > 0 && !r.deleted }

// row is a record as it was when an answer was put together.
type row struct {
	index uint32
	record
	bad bool // to be spoiled: the detail_bad_item fault
}

// population is the truth of one source. It is guarded by Sim.mu.
type population struct {
	name string
	traits
	seed    uint64
	churn   Churn
	records []record
	older   map[uint32][]version // versions that have been superseded
	tips    map[uint32]version   // newest version of records whose newest is still hidden
	hidden  hiddenHeap           // versions to become visible
	start   int64                // of tick 0
	tick    int64                // first tick not yet thrown
	madeOf  [len(kindNames)]int  // versions by kind, made by the clock or by hand after the build
	late    int                  // of those, late ones

	moved  int // grows whenever what is visible changes
	dirty  bool
	sorted []uint64 // updated<<32 | index of all that is shown
}

const tickSeconds = 3600

// traits are what a source's records can do.
type traits struct {
	days     *time.Location // whose days its dates are; nil: they are instants
	deletes  bool
	retracts bool
	volatile bool // some changes are of counts and the like only
	fraction int  // of a second that its instants are told in, in microseconds; 0: whole seconds
}

func traitsOf(source string) traits {
	switch source {
	case PubMed:
		return traits{days: eastern, deletes: true, retracts: true}
	case EuropePMC: // what it has of retractions is what PubMed and Crossref tell
		return traits{days: london, volatile: true}
	case Crossref:
		return traits{retracts: true, volatile: true, fraction: 1000}
	case HAL, DataCite:
		return traits{volatile: true, fraction: 1000}
	case OpenAlex, Zenodo:
		return traits{volatile: true, fraction: 1}
	case ClinicalTrials:
		return traits{days: eastern}
	case PLOS, SemanticScholar, SciELO:
		return traits{days: time.UTC}
	case PMC, ArXiv:
		return traits{days: time.UTC, deletes: true}
	case CORE:
		return traits{volatile: true}
	case DOAJOAI, ZenodoOAI, DataCiteOAI:
		return traits{deletes: true}
	case BioRxiv, MedRxiv:
		return traits{days: time.UTC}
	case Generic:
		return traits{deletes: true, retracts: true, volatile: true}
	}
	return traits{}
}

func newPopulation(name string, cfg Config) *population {
	p := &population{
		name: name, seed: cfg.Seed ^ seedOf(name), churn: *cfg.Churn,
		older: map[uint32][]version{}, tips: map[uint32]version{},
		start: cfg.Now.Unix(), dirty: true,
	}
	p.traits = traitsOf(name)
	p.build(cfg)
	return p
}

// build spreads the first versions over the span, unevenly: days differ by a
// factor of four and one of them is a peak, as days at the real services do.
func (p *population) build(cfg Config) {
	now, span := cfg.Now.Unix(), int64(cfg.Span/time.Second)
	from := now - span
	days := int((span + 86399) / 86400)
	d := roll(p.seed, 1)
	weights, sum := make([]float64, days), 0.0
	peak := d.n(days)
	for i := range weights {
		weights[i] = 0.4 + 1.2*d.float()
		if i == peak {
			weights[i] = 4
		}
		if i == days-1 {
			weights[i] *= float64(span-int64(i)*86400) / 86400
		}
		sum += weights[i]
	}
	p.records = make([]record, 0, cfg.Records+cfg.Records/8)
	cum := 0.0
	for day, w := range weights {
		cum += w
		upTo := int(float64(cfg.Records)*cum/sum + 0.5)
		if day == days-1 {
			upTo = cfg.Records
		}
		first := from + int64(day)*86400
		length := min(int64(86400), now-first)
		base := len(p.records)
		for k := base; k < upTo; k++ {
			at := first + int64((float64(k-base)+d.float())/float64(upTo-base)*float64(length))
			p.birth(min(at, now-1), now)
		}
	}
}

// birth adds one record of the build, with what had happened to it by now.
func (p *population) birth(at, now int64) {
	i := uint32(len(p.records))
	d := roll(p.seed, 2, uint64(i))
	v := p.stamp(version{number: 1, kind: kindNew}, at, d.next())
	v.deposited = v.updated
	p.records = append(p.records, record{created: uint32(at), version: v})
	r := &p.records[i]
	// Three in a thousand are notices that retract one of the fifty before.
	if d.n(1000) < 3 && i > 50 && p.retracts {
		w := i - 1 - uint32(d.n(50))
		if work := &p.records[w]; !work.retracted && !work.notice {
			r.kind = kindNotice
			r.notice = true
			r.partner = w + 1
			next := p.next(work.version, kindRetracted, max(at, int64(work.visible)), d.next())
			next.partner = i + 1
			p.older[w] = append(p.older[w], work.version)
			work.version = next
		}
	}
	for p.records[i].content < 3 && d.percent(8) {
		k := kindChanged
		if p.volatile && d.percent(50) {
			k = kindVolatile
		}
		last := int64(r.visible)
		if now-1-last < 60 {
			return
		}
		next := p.next(r.version, k, last+1+int64(d.n(int(now-1-last))), d.next())
		p.older[i] = append(p.older[i], r.version)
		r.version = next
	}
}

// next is the version that follows one, made at an instant.
func (p *population) next(v version, k kind, at int64, luck uint64) version {
	v.number++
	v.kind, v.late = k, false
	deposited := v.deposited
	v = p.stamp(v, at, luck)
	v.deposited = deposited
	if k != kindVolatile {
		v.content++
		v.deposited = v.updated
	}
	if k == kindRetracted {
		v.retracted = true
	}
	return v
}

// stamp gives a version the dates its source would give it at that instant.
func (p *population) stamp(v version, at int64, luck uint64) version {
	v.updated = uint32(at)
	v.visible = uint32(at)
	v.micro = 0
	switch {
	case p.days != nil:
		v.updated = uint32(midnight(at, p.days))
	case p.fraction > 0:
		v.micro = uint32(luck%uint64(1_000_000/p.fraction)) * uint32(p.fraction)
	case p.name == Generic && luck&1 == 0:
		v.micro = uint32(luck >> 8 % 1_000_000)
	}
	return v
}

// advance lets time pass up to an instant. Each hour is thrown once and as a
// whole, so it does not matter in how many steps the clock gets there.
func (p *population) advance(to int64) {
	for p.start+p.tick*tickSeconds < to {
		p.reveal(p.start + p.tick*tickSeconds)
		p.throw(p.tick)
		p.tick++
	}
	p.reveal(to)
}

// throw makes one hour's events.
func (p *population) throw(tick int64) {
	d := roll(p.seed, 3, uint64(tick))
	from := p.start + tick*tickSeconds
	due := func(perDay float64) int {
		return int(perDay*float64(tick+1)/24) - int(perDay*float64(tick)/24)
	}
	at := func() int64 { return from + int64(d.n(tickSeconds)) }
	for range due(p.churn.New) {
		p.arrive(version{number: 1, kind: kindNew}, at(), &d)
	}
	for range due(p.churn.Changed) {
		p.happen(kindChanged, at(), &d)
	}
	if p.volatile {
		for range due(p.churn.Volatile) {
			p.happen(kindVolatile, at(), &d)
		}
	}
	for range due(p.churn.Retracted) {
		if !p.retracts {
			break
		}
		if i, ok := p.pick(&d, func(r *record) bool { return !r.retracted && !r.notice }); ok {
			p.retract(i, at(), d.next())
		}
	}
	if p.deletes {
		for range due(p.churn.Deleted) {
			if i, ok := p.pick(&d, func(r *record) bool { return !r.notice && !r.retracted }); ok {
				p.remove(i, at())
			}
		}
	}
}

// arrive makes a new record and hides it until its time.
func (p *population) arrive(v version, at int64, d *dice) uint32 {
	i := uint32(len(p.records))
	v = p.stamp(v, at, d.next())
	v.deposited = v.updated
	p.records = append(p.records, record{created: uint32(at)})
	p.push(i, p.delay(v, d))
	return i
}

// happen changes one record, chosen by the dice.
func (p *population) happen(k kind, at int64, d *dice) {
	if i, ok := p.pick(d, func(*record) bool { return true }); ok {
		p.push(i, p.delay(p.next(p.tip(i), k, at, d.next()), d))
	}
}

// delay decides when a version made by the clock can be seen.
func (p *population) delay(v version, d *dice) version {
	v.late = d.float() < p.churn.Late
	luck := d.next()
	switch {
	case p.days != nil && v.late:
		v.visible = uint32(dayAfter(int64(v.updated), p.days)) + 2*3600 + uint32(luck%(18*3600))
	case p.days != nil && luck%10 < 4: // with the build of the morning after
		v.visible = uint32(dayAfter(int64(v.updated), p.days)) + 6*3600 + uint32(luck%7200)
	case p.days != nil:
	case v.late:
		v.visible += 600 + uint32(luck%2101)
	default:
		v.visible += 1 + uint32(luck%5)
	}
	return v
}

// retract marks a work and makes its notice; the two appear together.
func (p *population) retract(i uint32, at int64, luck uint64) (notice uint32) {
	notice = uint32(len(p.records))
	v := p.stamp(version{number: 1, kind: kindNotice, notice: true, partner: i + 1}, at, luck)
	v.deposited = v.updated
	p.records = append(p.records, record{created: uint32(at)})
	p.push(notice, v)
	work := p.next(p.tip(i), kindRetracted, at, luck)
	work.partner = notice + 1
	p.push(i, work)
	return notice
}

// remove deletes a record. The last content stays known to the truth.
func (p *population) remove(i uint32, at int64) {
	v := p.tip(i)
	v.number++
	v.kind = kindDeleted
	v.deleted = true
	v.late = false
	v.visible = uint32(at)
	p.push(i, v)
}

// pick finds a shown record that suits.
func (p *population) pick(d *dice, suits func(*record) bool) (uint32, bool) {
	for range 64 {
		if len(p.records) == 0 {
			return 0, false
		}
		i := uint32(d.n(len(p.records)))
		if r := &p.records[i]; r.shown() && suits(r) {
			if t, hidden := p.tips[i]; !hidden || !t.deleted && !t.retracted {
				return i, true
			}
		}
	}
	return 0, false
}

// tip is the newest version there is, visible or not.
func (p *population) tip(i uint32) version {
	if v, ok := p.tips[i]; ok {
		return v
	}
	return p.records[i].version
}

func (p *population) push(i uint32, v version) {
	p.madeOf[v.kind]++
	if v.late {
		p.late++
	}
	p.tips[i] = v
	heap.Push(&p.hidden, hiddenVersion{i, v})
}

// reveal shows what has become visible. A version overtaken by a newer one while
// it was hidden is never seen.
func (p *population) reveal(to int64) {
	for len(p.hidden) > 0 && int64(p.hidden[0].visible) <= to {
		h := heap.Pop(&p.hidden).(hiddenVersion)
		r := &p.records[h.index]
		if h.number > r.number {
			if r.number > 0 {
				p.older[h.index] = append(p.older[h.index], r.version)
			}
			r.version = h.version
			p.dirty = true
			p.moved++
		}
		if t, ok := p.tips[h.index]; ok && t.number == h.number {
			delete(p.tips, h.index)
		}
	}
}

// index returns all that is shown, ordered by (updated, index).
func (p *population) index() []uint64 {
	if p.dirty {
		p.sorted = p.sorted[:0]
		for i := range p.records {
			if r := &p.records[i]; r.shown() {
				p.sorted = append(p.sorted, uint64(r.updated)<<32|uint64(i))
			}
		}
		slices.Sort(p.sorted)
		p.dirty = false
	}
	return p.sorted
}

// between returns the part of the index with from <= updated <= to.
func (p *population) between(from, to int64) []uint64 {
	all := p.index()
	from, to = max(from, 0), min(to, 1<<32-1)
	if to < from {
		return nil
	}
	a := sort.Search(len(all), func(k int) bool { return int64(all[k]>>32) >= from })
	b := sort.Search(len(all), func(k int) bool { return int64(all[k]>>32) > to })
	return all[a:b]
}

// rows copies the shown ones among the records named.
func (p *population) rows(ids []uint32) []row {
	out := make([]row, 0, len(ids))
	for _, i := range ids {
		if r := p.records[i]; r.shown() {
			out = append(out, row{index: i, record: r})
		}
	}
	return out
}

type hiddenVersion struct {
	index uint32
	version
}

// hiddenHeap is ordered by the instant of appearance, then by making.
type hiddenHeap []hiddenVersion

func (h hiddenHeap) Len() int      { return len(h) }
func (h hiddenHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h hiddenHeap) Less(i, j int) bool {
	a, b := &h[i], &h[j]
	if a.visible != b.visible {
		return a.visible < b.visible
	}
	if a.index != b.index {
		return a.index < b.index
	}
	return a.number < b.number
}
func (h *hiddenHeap) Push(x any) { *h = append(*h, x.(hiddenVersion)) }
func (h *hiddenHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
