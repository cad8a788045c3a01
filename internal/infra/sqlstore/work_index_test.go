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
			if rng.IntN(3) == 0 { // how a title begins that one source has, or several
				title := rng.Uint64N(60)
				e.key = work.LookupKey(title*0x9e3779b97f4a7c15) | 3
				e.source = sourcePlace(title % 5)
				if title > 40 && rng.IntN(20) == 0 {
					e.source = sourcePlace(rng.IntN(5))
				}
				e.record = 1 + 5*rng.Int64N(200) + int64(e.source)
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
		if step == 10 {
			makeOld(t, s, &p)
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
			got := findAll(t, s, p.Runs, question{keys: keys}, false)
			if !maps.EqualFunc(got, want, maps.Equal) {
				t.Fatalf("step %d: of %d keys other records are found than were added, or fewer", step, len(keys))
			}
			// Of a crowd it is enough to know that it is one; all else is found whole.
			for k, records := range findAll(t, s, p.Runs, question{keys: keys}, true) {
				isCrowd := len(want[k]) > k.Most()
				if isCrowd != (len(records) > k.Most()) || !isCrowd && !maps.Equal(records, want[k]) {
					t.Fatalf("step %d: under a key of %d records are %d if it is enough to know of crowds", step, len(want[k]), len(records))
				}
			}
			askedBySources(t, s, &p, keys, want)
		}
	}
	if len(p.Runs) > 12 {
		t.Errorf("%d runs: %v", len(p.Runs), p.Runs)
	}
}

// makeOld makes runs as they were when their sections did not tell which sources have records under a
// key.
func makeOld(t *testing.T, s *Store, p *workPosition) {
	t.Helper()
	err := s.write(t.Context(), "make old", func(x *tx) error {
		for i, run := range p.Runs {
			p.Runs[i].BySource = false
			all, err := reading(x.each).sectionsOf(run.No)
			if err != nil {
				return err
			}
			for _, in := range all {
				var body []byte
				if err := x.row(`SELECT body FROM ing_work_section WHERE id=?`, in.id).Scan(&body); err != nil {
					return err
				}
				if err := in.open(body); err != nil {
					return err
				}
				var blocks []int64
				for _, b := range in.blocks {
					blocks = append(blocks, b.id)
				}
				filter := newKeyFilter(len(blocks) * entriesPerBlock)
				err := reading(x.each).readBlocks(blocks, func(l entryList) {
					for i := range l.count() {
						filter.add(l.key(i))
					}
				})
				if err != nil {
					return err
				}
				body = append(body[:len(body)-len(in.filter)], filter...)
				if _, err := x.exec(`UPDATE ing_work_section SET body=? WHERE id=?`, body, in.id); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// askedBySources: a source that asks for how titles begin is told of all who begin so if there are others
// among them; where there is nobody else it may be told of none.
func askedBySources(t *testing.T, s *Store, p *workPosition, keys []work.LookupKey, want map[work.LookupKey]map[int64]int) {
	t.Helper()
	for source := range 5 {
		from := make([]sourcePlace, len(keys))
		for i, k := range keys {
			from[i] = anySource
			if k.IsTitle() {
				from[i] = sourcePlace(source)
			}
		}
		got := findAll(t, s, p.Runs, question{keys, from, 5}, false)
		for _, k := range keys {
			isAlone := k.IsTitle()
			for _, other := range want[k] {
				isAlone = isAlone && other == source
			}
			if !maps.Equal(got[k], want[k]) && (!isAlone || len(got[k]) > 0) {
				t.Fatalf("source %d asks for key %x: %d records are found of %d, others among them: %v", source, k, len(got[k]), len(want[k]), !isAlone)
			}
		}
	}
}

// findAll is what the index says of keys.
func findAll(t *testing.T, s *Store, runs []keyRun, q question, isEnough bool) map[work.LookupKey]map[int64]int {
	t.Helper()
	out := map[work.LookupKey]map[int64]int{}
	err := s.write(t.Context(), "find", func(x *tx) error {
		found, err := reading(x.each).find(runs, sectionLists{}, q, func(work.LookupKey) bool { return isEnough })
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
	found := findAll(t, s, p.Runs, question{keys: keys}, true)[keys[0]]
	if len(found) != len(crowd)-left {
		t.Errorf("%d records found of %d that are still there", len(found), len(crowd)-left)
	}
}
