package sqlstore

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/papertrace/patra/internal/domain/work"
)

// TestWorkStep_GrowsWithWhatIsLinked: a step has a share of the records that are linked already,
// neither too few for what it reads of the index nor more than it is asked for.
func TestWorkStep_GrowsWithWhatIsLinked(t *testing.T) {
	t.Parallel()
	const most = 50_000
	for linked, want := range map[int]int{0: 25_000, 50_000: 25_000, 100_000: 25_000, 160_000: 40_000, 10_000_000: most} {
		p := workPosition{Runs: []keyRun{{Entries: linked * keysPerRecord / 2}, {Entries: linked * keysPerRecord / 2}}}
		if got := p.stepSize(most); got != want {
			t.Errorf("%d records are linked: a step has %d, want %d", linked, got, want)
		}
	}
	empty := workPosition{}
	if got := empty.stepSize(7); got != 7 {
		t.Errorf("a step of 7 at most has %d", got)
	}
}

// TestWorkStep_FindsItsRecords: records of a step are found by their numbers, whether these
// follow each other or not, and no others.
func TestWorkStep_FindsItsRecords(t *testing.T) {
	t.Parallel()
	for name, numbers := range map[string][]int64{
		"none": {}, "one": {7}, "side by side": {7, 8, 9, 10}, "with gaps": {1, 2, 5, 6, 90, 1 << 40}, "a gap before the last": {3, 4, 5, 7},
	} {
		var step stepRecords
		for _, n := range numbers {
			step = append(step, keyed{record: n})
		}
		for _, n := range []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 90, 91, 1 << 40} {
			r := step.find(n)
			if (r != nil) != slices.Contains(numbers, n) || r != nil && r.record != n {
				t.Errorf("%s: record %d is found as %+v", name, n, r)
			}
		}
	}
}

// TestWorkIndex_EntriesAreSorted: entries are sorted by keys and records, whatever bits their keys
// begin with, and those that are equal stay in their order.
func TestWorkIndex_EntriesAreSorted(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	for _, count := range []int{0, 1, 7, 8, 100, 5000} {
		es := make([]entry, count)
		for i := range es {
			es[i] = entry{key: work.LookupKey(rng.Uint64()), record: 1 + rng.Int64N(9), mark: work.Mark(i)}
			if rng.IntN(3) == 0 {
				es[i].key = work.LookupKey(rng.Uint64N(4)) << (62 * rng.IntN(2))
			}
		}
		want := slices.Clone(es)
		slices.SortStableFunc(want, compareEntries)
		if got := sortEntries(es); !slices.Equal(got, want) {
			t.Errorf("%d entries are not sorted", count)
		}
	}
}
