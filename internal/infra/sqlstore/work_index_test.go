package sqlstore

import (
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/papertrace/patra/internal/domain/work"
)

// TestWorkIndex_FindsWhatWasAddedAndNotTakenAway: after many steps of all sizes, with keys
// of crowds among them, the index says of every key what a plain map says, also of runs
// without sections.
func TestWorkIndex_FindsWhatWasAddedAndNotTakenAway(t *testing.T) {
	s, err := Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "index.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // a test's own
	rng := rand.New(rand.NewPCG(3, 4))
	held := map[work.LookupKey]map[int64]int{}
	var p workPosition
	for step := range 30 {
		size := 1 + rng.IntN(1+1<<(step%13))
		changes := map[[2]uint64]entry{}
		for range size {
			e := entry{key: work.LookupKey(rng.Uint64()), record: 1 + rng.Int64N(1<<40), source: sourcePlace(rng.IntN(5)), mark: work.Mark(rng.Uint32()), gone: rng.IntN(4) == 0}
			if rng.IntN(3) == 0 { // one of few keys, with one of few records
				e.key = work.LookupKey(rng.IntN(6)) << 61
				e.record = 1 + rng.Int64N(3000)
				e.source = sourcePlace(e.record % 5)
			}
			changes[[2]uint64{uint64(e.key), uint64(e.record)}] = e
		}
		added := slices.SortedFunc(maps.Values(changes), compareEntries)
		for _, e := range added {
			if held[e.key] == nil {
				held[e.key] = map[int64]int{}
			}
			held[e.key][e.record] = int(e.source)
			if e.gone {
				delete(held[e.key], e.record)
			}
		}
		err := s.write(t.Context(), "add", func(x *tx) error { return x.addEntries(&p, added) })
		if err != nil {
			t.Fatal(err)
		}
		if step == 15 { // as in a store from before there were sections
			if _, err := s.w.ExecContext(t.Context(), `DELETE FROM ing_work_section`); err != nil {
				t.Fatal(err)
			}
		}
		for _, share := range []int{1, 50} { // all keys, and few of them
			var keys []work.LookupKey
			want := map[work.LookupKey]map[int64]int{}
			for k, records := range held {
				if rng.IntN(share) == 0 {
					keys = append(keys, k)
					if len(records) > 0 {
						want[k] = records
					}
				}
			}
			slices.Sort(keys)
			got := findAll(t, s, p.Runs, keys, false)
			if !maps.EqualFunc(got, want, maps.Equal) {
				t.Fatalf("step %d: of %d keys other records are found than were added, or fewer", step, len(keys))
			}
			// Of a crowd it is enough to know that it is one; all else is found whole.
			for k, records := range findAll(t, s, p.Runs, keys, true) {
				isCrowd := len(want[k]) > k.Most()
				if isCrowd != (len(records) > k.Most()) || !isCrowd && !maps.Equal(records, want[k]) {
					t.Fatalf("step %d: under a key of %d records are %d if it is enough to know of crowds", step, len(want[k]), len(records))
				}
			}
		}
	}
	if len(p.Runs) > 12 {
		t.Errorf("%d runs: %v", len(p.Runs), p.Runs)
	}
}

// findAll is what the index says of keys.
func findAll(t *testing.T, s *Store, runs []keyRun, keys []work.LookupKey, isEnough bool) map[work.LookupKey]map[int64]int {
	t.Helper()
	out := map[work.LookupKey]map[int64]int{}
	err := s.write(t.Context(), "find", func(x *tx) error {
		found, err := reading(x.each).find(runs, sectionLists{}, keys, func(work.LookupKey) bool { return isEnough })
		for _, e := range found {
			if out[e.key] == nil {
				out[e.key] = map[int64]int{}
			}
			out[e.key][e.record] = int(e.source)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestWorkIndex_ACrowdThatHasShrunkIsFoundWhole: of a key under which too many were, and which
// some have left since, all are found that are still there: whoever stops reading where there
// seem to be too many must not count those who have left.
func TestWorkIndex_ACrowdThatHasShrunkIsFoundWhole(t *testing.T) {
	s, err := Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "index.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // a test's own
	keys := work.SoughtKeys("A crowd of papers that all begin with these words")
	if len(keys) != 1 || !keys[0].IsAlike() {
		t.Fatalf("keys of a title: %v", keys)
	}
	var p workPosition
	add := func(added []entry) {
		t.Helper()
		if err := s.write(t.Context(), "add", func(x *tx) error { return x.addEntries(&p, added) }); err != nil {
			t.Fatal(err)
		}
	}
	const left = 5
	var crowd, gone []entry
	for i := range int64(work.MostAlike + 3) {
		crowd = append(crowd, entry{key: keys[0], record: 1 + i})
	}
	for _, e := range crowd[:left] {
		e.gone = true
		gone = append(gone, e)
	}
	add(crowd)
	add(gone)
	if len(p.Runs) != 2 {
		t.Fatalf("%d runs, the second of which should say who has left", len(p.Runs))
	}
	found := findAll(t, s, p.Runs, keys, true)[keys[0]]
	if len(found) != len(crowd)-left {
		t.Errorf("%d records found of %d that are still there", len(found), len(crowd)-left)
	}
}
