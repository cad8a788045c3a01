package harvest

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Quantum is how many tasks of one partition are taken before every other
// partition of the same priority that has work got as many (R19). It is small, so
// that a source with ten thousand slices does not keep one with three waiting, and
// more than one, so that within a turn the oldest still goes first.
const Quantum = 4

// Ageing: each ageEvery of waiting counts as ageStep better.
const (
	ageEvery = 30 * time.Minute
	ageStep  = 100
)

// EffectivePriority is the place in the queue of a task that has waited: each
// half hour counts as 100 better, up to the place of a HARVEST. There all are
// equal, partitions take turns, and so nothing starves, however much lies before
// it: a BACKFILL is there after an hour.
func EffectivePriority(priority int, waited time.Duration) int {
	best := min(priority, Harvest.Priority())
	return max(best, priority-ageStep*int(max(0, waited)/ageEvery))
}

// Partition is what takes turns: the tasks of one source, endpoint and operation.
type Partition struct {
	Provenance, Endpoint string
	Operation            Operation
}

func (p Partition) String() string {
	return p.Provenance + "/" + p.Endpoint + "/" + string(p.Operation)
}

// Head is the first task of a partition and priority that may be taken.
type Head struct {
	Partition
	Priority    int
	ScheduledAt time.Time
	Task        TaskID
	// Dead: this one task was taken before, by somebody whose lease has run out.
	Dead bool
}

// before is the order within a priority.
func (h Head) before(o Head) int {
	if c := h.ScheduledAt.Compare(o.ScheduledAt); c != 0 {
		return c
	}
	return int(h.Task - o.Task)
}

// Turns says whose task is next: the best effective priority; there the partition
// whose turn it is; and of that the task that is due longest (R19). It remembers
// the heads of the partitions for a while, so that looking for a task does not
// mean reading the queue. What it remembers may have moved on: the store looks.
//
// Each process has turns of its own, for one kind of request; two of them are
// each fair, if not to each other. Only one goroutine may use it.
type Turns struct {
	heads  []Head
	until  time.Time      // when the heads are read again
	rounds map[int]*round // by effective priority
}

// round is what every partition with work has once: its turn.
type round struct {
	had  map[Partition]int
	last Partition
}

// Clone is a copy to try on; a transaction may come to nothing.
func (t *Turns) Clone() *Turns {
	c := &Turns{rounds: map[int]*round{}}
	if t == nil {
		return c
	}
	c.heads, c.until = slices.Clone(t.heads), t.until
	for k, r := range t.rounds {
		c.rounds[k] = &round{had: maps.Clone(r.had), last: r.last}
	}
	return c
}

// Heads are read again after headsFor, or a multiple of what reading them took.
const (
	headsFor   = time.Second
	headsShare = 50
)

// Stale reports that the heads are to be read.
func (t *Turns) Stale(now time.Time) bool { return !now.Before(t.until) }

// Read replaces what is known of the queue.
func (t *Turns) Read(heads []Head, now time.Time, took time.Duration) {
	t.heads = slices.Concat(heads, t.dead())
	t.until = now.Add(max(headsFor, headsShare*took))
}

// Died replaces what is known of tasks whose owner is gone.
func (t *Turns) Died(heads []Head) {
	t.heads = slices.DeleteFunc(t.heads, func(h Head) bool { return h.Dead })
	t.heads = append(t.heads, heads...)
}

func (t *Turns) dead() (out []Head) {
	for _, h := range t.heads {
		if h.Dead {
			out = append(out, h)
		}
	}
	return out
}

// Next is the head whose turn it is, among those that may be taken.
func (t *Turns) Next(now time.Time, may func(Partition) bool) (Head, bool) {
	var best []Head
	class := 0
	for _, h := range t.heads {
		if !may(h.Partition) {
			continue
		}
		p := EffectivePriority(h.Priority, now.Sub(h.ScheduledAt))
		if len(best) == 0 || p < class {
			best, class = best[:0], p
		}
		if p == class {
			best = append(best, h)
		}
	}
	if len(best) == 0 {
		return Head{}, false
	}
	r := t.round(class)
	if h, ok := first(best, func(h Head) bool { return r.had[h.Partition] < Quantum }); ok {
		return h, true
	}
	// Everybody had a turn: who had the last does not begin the next round.
	if h, ok := first(best, func(h Head) bool { return h.Partition != r.last }); ok {
		return h, true
	}
	return first(best, func(Head) bool { return true })
}

func (t *Turns) round(class int) *round {
	r := t.rounds[class]
	if r == nil {
		r = &round{had: map[Partition]int{}}
		t.rounds[class] = r
	}
	return r
}

func first(heads []Head, ok func(Head) bool) (Head, bool) {
	var out Head
	found := false
	for _, h := range heads {
		if ok(h) && (!found || h.before(out) < 0) {
			out, found = h, true
		}
	}
	return out, found
}

// Moved reports whether the head h has moved on to a later task than it was, and
// remembers where it is.
func (t *Turns) Moved(h Head, at time.Time, task TaskID) bool {
	is := h
	is.ScheduledAt, is.Task = at, task
	if i := slices.Index(t.heads, h); i >= 0 {
		t.heads[i] = is
	}
	return h.before(is) < 0
}

// Gone forgets a head: nothing of it is left.
func (t *Turns) Gone(h Head) {
	if i := slices.Index(t.heads, h); i >= 0 {
		t.heads = slices.Delete(t.heads, i, i+1)
	}
}

// Took counts a task that was taken into its partition's turn.
func (t *Turns) Took(h Head, now time.Time) {
	r := t.round(EffectivePriority(h.Priority, now.Sub(h.ScheduledAt)))
	if r.had[h.Partition] >= Quantum {
		clear(r.had) // the next round
	}
	r.had[h.Partition]++
	r.last = h.Partition
}

// ParsePriority reads a place in the queue by its word: the words stand for the
// places of the operations (C1).
func ParsePriority(word string) (int, bool) {
	switch strings.ToUpper(word) {
	case "HIGH":
		return Harvest.Priority(), true
	case "MEDIUM", "NORMAL":
		return Update.Priority(), true
	case "LOW":
		return Backfill.Priority(), true
	}
	return 0, false
}

// PriorityWord is the word for a place in the queue.
func PriorityWord(priority int) string {
	switch {
	case priority <= Harvest.Priority():
		return "high"
	case priority <= Update.Priority():
		return "medium"
	}
	return "low"
}
