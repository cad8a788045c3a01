package sqlstore

import (
	"math/bits"
	"slices"

	"github.com/papertrace/patra/internal/domain/work"
)

// heldList are the records that are found under the keys of a step, one key after the other: a
// step knows some hundred thousand, for which a table would be several times as large and slow to
// collect.
type heldList struct {
	keys    []work.LookupKey // sorted
	ends    []int32          // where the holders of each end
	holders []holder
	// starts are where keys begin that have the same first bits.
	starts []int32
	shift  int
}

// add adds who is found under a key, which is larger than those that were added.
func (h *heldList) add(k work.LookupKey, hs []holder) {
	h.keys = append(h.keys, k)
	h.holders = append(h.holders, hs...)
	h.ends = append(h.ends, int32(len(h.holders)))
}

// settle makes what was added be found.
func (h *heldList) settle() {
	width := bits.Len(uint(len(h.keys) / keysPerStart))
	h.shift = 64 - width
	h.starts = make([]int32, 1<<width+1)
	for _, k := range h.keys {
		h.starts[k>>h.shift+1]++
	}
	for i := 1; i < len(h.starts); i++ {
		h.starts[i] += h.starts[i-1]
	}
}

// keysPerStart is how many keys begin with the same bits, about.
const keysPerStart = 4

// of are the records under a key.
func (h *heldList) of(k work.LookupKey) []holder {
	if len(h.starts) == 0 {
		return nil
	}
	for at := h.starts[k>>h.shift]; at < h.starts[k>>h.shift+1]; at++ {
		if h.keys[at] == k {
			from := int32(0)
			if at > 0 {
				from = h.ends[at-1]
			}
			return h.holders[from:h.ends[at]:h.ends[at]]
		}
	}
	return nil
}

// heldBy are the records that are found under a key, if it was looked up and is of no crowd.
func (l *linking) heldBy(k work.LookupKey) []holder {
	if hs := l.heldOfStep.of(k); hs != nil {
		return hs
	}
	return l.heldBesides[k]
}

// isCrowd sets a key aside under which too many records are, and reports whether it did.
func (l *linking) isCrowd(k work.LookupKey, hs []holder) bool {
	if len(hs) <= k.Most() {
		return false
	}
	l.crowded[k] = len(hs)
	return true
}

// recordsOf are the records of holders.
func recordsOf(hs []holder) []int64 {
	out := make([]int64, len(hs))
	for i, h := range hs {
		out[i] = h.record
	}
	return out
}

// withChanges are the records under a key as they are once those that come or go have.
func withChanges(hs []holder, come []entry) []holder {
	for _, e := range come {
		at := slices.IndexFunc(hs, func(h holder) bool { return h.record == e.record })
		h := holder{e.record, e.source, e.mark}
		switch {
		case e.gone && at >= 0:
			hs = slices.Delete(hs, at, at+1)
		case e.gone:
		case at >= 0:
			hs[at] = h
		default:
			hs = append(hs, h)
		}
	}
	return hs
}
