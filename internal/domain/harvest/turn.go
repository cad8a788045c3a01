package harvest

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Quantum is how many tasks of one partition are taken in its turn, before the other
// partitions of the same priority have theirs (R19). It is small, so that a source
// with ten thousand slices does not keep one with three waiting, and more than one,
// so that within a turn the oldest still goes first.
//
//	partition A   a1 a2 a3 a4 a5 a6 ... a10000
//	partition B   b1 b2 b3
//	taken         a1 a2 a3 a4  b1 b2 b3  a5 a6 a7 a8  a9 ...
//
// A source with a weight has so many times as many in its turn.
const Quantum = 4

// Ageing: each ageEvery of waiting counts as ageStep better.
const (
	ageEvery = 30 * time.Minute
	ageStep  = 100
)

// EffectivePriority is the priority of a task that has waited: each half hour counts
// as 100 better, up to the priority of a HARVEST, at which a BACKFILL arrives after an
// hour. There all are equal and partitions take turns, so that nothing starves,
// however much was queued before it.
func EffectivePriority(priority int, waited time.Duration) int {
	best := min(priority, Harvest.Priority())
	return max(best, priority-ageStep*int(max(0, waited)/ageEvery))
}

// Partition is what takes turns: all tasks of one source, endpoint and operation.
type Partition struct {
	Provenance, Endpoint string
	Operation            Operation
}

func (p Partition) String() string {
	return p.Provenance + "/" + p.Endpoint + "/" + string(p.Operation)
}

// Head is the first task that may be taken of those with one partition and priority.
type Head struct {
	Partition
	Priority    int
	ScheduledAt time.Time
	Task        TaskID
	// Dead: the task was taken before, by an owner whose lease has run out. It stands
	// for itself alone, beside the head of its partition.
	Dead bool
}

// before is the order within a priority.
func (h Head) before(o Head) int {
	if c := h.ScheduledAt.Compare(o.ScheduledAt); c != 0 {
		return c
	}
	return int(h.Task - o.Task)
}

// Turns says whose task is next: one of the best effective priority; among these, of
// the partition whose turn it is; and of that partition, the task that is due longest
// (R19). It remembers the heads of the partitions for a while, so that to look for a
// task does not mean to read the queue. What it remembers may be out of date by then:
// the store checks each head before a task is leased.
//
// Each process has turns of its own, for one kind of request. So each is fair to the
// partitions by itself. Only one goroutine may use it.
type Turns struct {
	// Weights are how many turns' worth of tasks a source has in each of its turns, where that is not one.
	Weights map[string]int

	heads  []Head
	until  time.Time      // when the heads are read again
	rounds map[int]*round // by effective priority
}

// round is the time in which every partition with work has one turn. It remembers how
// many tasks each has had of its turn, and which partition had the last.
type round struct {
	taken map[Partition]int
	last  Partition
}

// Clone is a copy to be changed by a transaction, which may come to nothing.
func (t *Turns) Clone() *Turns {
	c := &Turns{rounds: map[int]*round{}}
	if t == nil {
		return c
	}
	c.Weights = t.Weights
	c.heads, c.until = slices.Clone(t.heads), t.until
	for k, r := range t.rounds {
		c.rounds[k] = &round{taken: maps.Clone(r.taken), last: r.last}
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

// ReplaceHeads replaces the heads by those just read from the queue, which took so
// long.
func (t *Turns) ReplaceHeads(heads []Head, now time.Time, took time.Duration) {
	t.heads = heads
	t.until = now.Add(max(headsFor, headsShare*took))
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
	if h, ok := earliest(best, func(h Head) bool { return r.taken[h.Partition] < t.quantum(h.Partition) }); ok {
		return h, true
	}
	// Every partition had its turn. The one that had the last does not begin the
	// next round, unless it is alone.
	if h, ok := earliest(best, func(h Head) bool { return h.Partition != r.last }); ok {
		return h, true
	}
	return earliest(best, func(Head) bool { return true })
}

// quantum is how many tasks a partition has in its turn.
func (t *Turns) quantum(p Partition) int { return Quantum * max(1, t.Weights[p.Provenance]) }

func (t *Turns) round(class int) *round {
	r := t.rounds[class]
	if r == nil {
		r = &round{taken: map[Partition]int{}}
		t.rounds[class] = r
	}
	return r
}

// earliest finds the head that is due longest, of those that are ok.
func earliest(heads []Head, ok func(Head) bool) (Head, bool) {
	var out Head
	found := false
	for _, h := range heads {
		if ok(h) && (!found || h.before(out) < 0) {
			out, found = h, true
		}
	}
	return out, found
}

// MoveHead remembers that the head h is another task by now, due at an instant, and
// reports whether that is a later one: then it may not be its turn any more.
func (t *Turns) MoveHead(h Head, at time.Time, task TaskID) bool {
	moved := h
	moved.ScheduledAt = at
	moved.Task = task
	if i := slices.Index(t.heads, h); i >= 0 {
		t.heads[i] = moved
	}
	return h.before(moved) < 0
}

// DropHead forgets a head: no task of it is left.
func (t *Turns) DropHead(h Head) {
	if i := slices.Index(t.heads, h); i >= 0 {
		t.heads = slices.Delete(t.heads, i, i+1)
	}
}

// CountTaken counts a task that was taken for the turn of its partition.
func (t *Turns) CountTaken(h Head, now time.Time) {
	r := t.round(EffectivePriority(h.Priority, now.Sub(h.ScheduledAt)))
	if r.taken[h.Partition] >= t.quantum(h.Partition) {
		clear(r.taken) // the next round begins
	}
	r.taken[h.Partition]++
	r.last = h.Partition
}

// ParsePriority reads a priority by its word. The words stand for the priorities of
// the operations (C1); the dictionary of the registry calls the one between MEDIUM.
func ParsePriority(word string) (int, bool) {
	switch strings.ToUpper(word) {
	case "HIGH":
		return Harvest.Priority(), true
	case "NORMAL", "MEDIUM":
		return Update.Priority(), true
	case "LOW":
		return Backfill.Priority(), true
	}
	return 0, false
}

// PriorityWord is the word for a priority as it is shown.
func PriorityWord(priority int) string {
	switch {
	case priority <= Harvest.Priority():
		return "high"
	case priority <= Update.Priority():
		return "normal"
	}
	return "low"
}
