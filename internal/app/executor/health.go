package executor

import (
	"slices"
	"sync"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// When less is asked of a database that is slow. The middle of the last commits is looked at, so that
// a server which stood still for a moment, and held one commit of every worker, lowers nothing.
const (
	// commitsLookedAt is how many are needed for a verdict.
	commitsLookedAt = 9
	// fewerAfter and moreAfter are how long a verdict is given time to show.
	fewerAfter = 10 * time.Second
	moreAfter  = 15 * time.Second
)

// Health is how many tasks may be in hand, by how the database fares: as many as there are workers, half as many when
// its commits are slow, and one more again with every while in which they are not. There is always one, by whose
// commits it is known how the database fares.
type Health struct {
	most int
	// slow is how long the commit of a page may take.
	slow time.Duration

	mu        sync.Mutex
	allowed   int             // guarded by mu
	took      []time.Duration // guarded by mu; the last commits, oldest first
	changedAt time.Time       // guarded by mu
}

// NewHealth allows as many tasks as there are workers.
func NewHealth(most int, limits harvest.DatabaseLimits) *Health {
	return &Health{most: most, slow: limits.Filled().Write, allowed: most}
}

// mayHave reports whether so many tasks may be in hand.
func (h *Health) mayHave(tasks int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return tasks <= h.allowed
}

// NoteCommit takes note of how long a commit took, and tells how many tasks may be in hand now and how many might before.
func (h *Health) NoteCommit(took time.Duration) (now, before int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before = h.allowed
	h.took = append(h.took, took)
	if len(h.took) > commitsLookedAt {
		h.took = slices.Delete(h.took, 0, 1)
	}
	if len(h.took) < commitsLookedAt {
		return before, before
	}
	middle := slices.Sorted(slices.Values(h.took))[commitsLookedAt/2]
	since := time.Since(h.changedAt)
	switch {
	case middle > h.slow && h.allowed > 1 && since > fewerAfter:
		h.allowed = max(1, h.allowed/2)
		h.took = nil // of those to come fewer are at work
	case middle < h.slow/2 && h.allowed < h.most && since > moreAfter:
		h.allowed++
	default:
		return before, before
	}
	h.changedAt = time.Now()
	return h.allowed, before
}

// noteCommit passes on how long a commit took, and says what follows from it.
func (e *Executor) noteCommit(took time.Duration) {
	now, before := e.health.NoteCommit(took)
	switch {
	case now < before:
		e.log.Warn("the database is slow, so fewer slices are worked on at once", "commit_took", took, "slices", now, "before", before)
	case now > before:
		e.log.Info("the database is no longer slow, so more slices are worked on at once", "slices", now, "workers", e.cfg.Workers)
	}
}
