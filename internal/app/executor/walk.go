package executor

import (
	"fmt"
	"slices"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// walk is what a run knows of its walk over the slice: one pass over the pages, from
// the beginning. It is made from what is committed, and forgotten with the run.
type walk struct {
	no int
	// ids are those to ask details for: found by the SEARCH pages of a two-phase
	// walk, or frozen with the plan of an UPDATE.
	ids []string
	// seen are the ids that the walk has found; of a two-phase walk they are those
	// in ids. tombstones are the ids of items that have no details to be asked for:
	// the list says that they were deleted, or their id cannot be read.
	seen       map[uint64]struct{}
	tombstones map[uint64]struct{}
	// endedAt is the position at which this walk was proven over, previousEnd that of
	// the walk before. Both are nil if it was not.
	endedAt     *harvest.Position
	previousEnd *harvest.Position
	// committedAt is the position after the last committed SEARCH page.
	committedAt harvest.Position
	// faultOncePage is the number of the page that had a fault which may happen once,
	// and is fatal the second time. It is 0 if no page had, or the page has come since.
	faultOncePage int
}

// resumeWalk is the walk as it was committed, to go on with.
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
	_, deleted := w.tombstones[h]
	return seen || deleted
}

// addSeen remembers the ids of a one-phase page, and returns the hashes of those that
// the walk had not seen before.
func (w *walk) addSeen(ids []string) []uint64 {
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

// addID puts an id on the list of those to ask details for, if it is not there.
func (w *walk) addID(id string, h uint64) (added bool) {
	if _, ok := w.seen[h]; ok {
		return false
	}
	w.seen[h] = struct{}{}
	w.ids = append(w.ids, id)
	return true
}

// addTombstone remembers that an id has no details, if it does not yet.
func (w *walk) addTombstone(h uint64) (added bool) {
	if _, ok := w.tombstones[h]; ok {
		return false
	}
	w.tombstones[h] = struct{}{}
	return true
}

// isTombstone reports whether the walk's own list has told that an id was deleted.
func (w *walk) isTombstone(id string) bool {
	_, deleted := w.tombstones[harvest.IDHash(id)]
	return deleted
}

// withoutTombstones leaves out the ids that the walk's own list has told to be deleted:
// that they have no details is no surprise.
func (w *walk) withoutTombstones(ids []string) []string {
	return slices.DeleteFunc(ids, w.isTombstone)
}

// committed notes that a SEARCH page is stored, and the position after it.
func (w *walk) committed(ordinal int, after harvest.Position) {
	w.committedAt = after
	if ordinal >= w.faultOncePage {
		w.faultOncePage = 0
	}
}

// escalate is the fault of a page. One that may happen once is fatal if it has happened
// in the walk before, too. Elsewhere the page is asked for a second time at once; but
// where the server holds the position that is not possible, and only another walk
// shows whether the page is as bad as before (R22, R42).
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
