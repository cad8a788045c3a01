package executor

import (
	"fmt"
	"slices"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// walk is one passage over the pages of a slice, and what it has found so far. It
// is made from what is committed and forgotten with the run.
type walk struct {
	no int
	// ids are those to ask details for: found by the SEARCH pages of a two-phase
	// walk, or frozen with the plan of an UPDATE.
	ids []string
	// seen are the ids of the walk, of a two-phase one those in ids. tombstones
	// are those of which its list has told that they were deleted, or nothing
	// that can be read.
	seen       map[uint64]struct{}
	tombstones map[uint64]struct{}
	// endedAt is where this walk was proven over, previousEnd where the one before was.
	endedAt     *harvest.Position
	previousEnd *harvest.Position
	// committedAt is where the walk stood after its last committed SEARCH page.
	committedAt harvest.Position
	// faultOncePage is the page that had a fault which may happen once. It is 0
	// if none had, and again once that page has come.
	faultOncePage int
}

// resumeWalk goes on with the walk that is committed.
func resumeWalk(res harvest.Resume, twoPhase bool) walk {
	w := walk{
		no: res.Walk, ids: res.IDs, previousEnd: res.Prior, committedAt: res.Search,
		seen:       make(map[uint64]struct{}, len(res.Seen)+len(res.IDs)),
		tombstones: make(map[uint64]struct{}),
	}
	for _, h := range res.Seen {
		if twoPhase {
			w.tombstones[h] = struct{}{}
		} else {
			w.seen[h] = struct{}{}
		}
	}
	for _, id := range res.IDs {
		w.seen[harvest.IDHash(id)] = struct{}{}
	}
	if res.SearchEnd != "" && res.SearchEnd != harvest.EndFrozen {
		w.endedAt = &res.Search
	}
	return w
}

// beginAgain is the walk after this one, over the same slice. It has found
// nothing yet, but knows where this one ended and which page had a fault that may
// happen once.
func (w walk) beginAgain(no int) walk {
	return walk{
		no: no, previousEnd: w.endedAt, faultOncePage: w.faultOncePage,
		seen: make(map[uint64]struct{}), tombstones: make(map[uint64]struct{}),
	}
}

// known reports whether an id has come before in this walk, alive or not.
func (w *walk) known(h uint64) bool {
	_, seen := w.seen[h]
	_, buried := w.tombstones[h]
	return seen || buried
}

// see remembers the ids of a one-phase page, and returns the hashes of those that
// the walk had not seen.
func (w *walk) see(ids []string) []uint64 {
	var unseen []uint64
	for _, id := range ids {
		h := harvest.IDHash(id)
		if _, ok := w.seen[h]; ok {
			continue
		}
		w.seen[h] = struct{}{}
		unseen = append(unseen, h)
	}
	return unseen
}

// find puts an id on the list of those to ask details for, if it is not there.
func (w *walk) find(id string, h uint64) (added bool) {
	if _, ok := w.seen[h]; ok {
		return false
	}
	w.seen[h] = struct{}{}
	w.ids = append(w.ids, id)
	return true
}

// bury remembers a tombstone, if it is not remembered yet.
func (w *walk) bury(h uint64) (added bool) {
	if _, ok := w.tombstones[h]; ok {
		return false
	}
	w.tombstones[h] = struct{}{}
	return true
}

// isTombstone reports whether the walk itself has told that an id was deleted.
func (w *walk) isTombstone(id string) bool {
	_, buried := w.tombstones[harvest.IDHash(id)]
	return buried
}

// withoutTombstones leaves out the ids of which the walk itself has told that
// they were deleted: that they have no details is no surprise.
func (w *walk) withoutTombstones(ids []string) []string {
	return slices.DeleteFunc(ids, w.isTombstone)
}

// committed notes that a SEARCH page is stored, and where the walk stands then.
func (w *walk) committed(ordinal int, after harvest.Position) {
	w.committedAt = after
	if ordinal >= w.faultOncePage {
		w.faultOncePage = 0
	}
}

// escalate is the fault of a page, a fatal one if it may happen once and has
// happened before. Where the server holds the place that page was not asked for a
// second time: only another walk shows whether it is as bad as before (R22, R42).
func (w *walk) escalate(ordinal int, err error) error {
	f, _ := harvest.FaultOf(err)
	switch {
	case !f.Once || f.Level != harvest.Transient || f.Reaction != harvest.RestartWalk:
		return err
	case w.faultOncePage > 0:
		return fmt.Errorf("%w: %w", f.Escalated(), err)
	}
	w.faultOncePage = ordinal
	return err
}
