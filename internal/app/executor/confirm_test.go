package executor_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// TestR25_PagesThatShiftLoseNothing removes, adds and moves a row between any
// two pages of the first walk, and of the one that is to confirm it.
func TestR25_PagesThatShiftLoseNothing(t *testing.T) {
	t.Parallel()
	patratest.Long(t, "a matrix of cases without concurrency")
	for _, name := range []string{"page-1", "page-two"} {
		for k := 2; k <= 9; k++ {
			for _, change := range []string{"remove", "move away", "add before", "add behind", "move on"} {
				t.Run(fmt.Sprintf("%s/%s/page %d", name, change, k), func(t *testing.T) {
					bubble(t, func(t *testing.T) {
						m := manners[name]
						m.paging = strings.Replace(m.paging, "total: EXACT, end: [TOTAL, EMPTY]", "total: ROUGH, end: [EMPTY]", 1) // nothing else tells of the loss
						b := newBench(t, m, setup{})
						b.onPage(k, func(*http.Request) { b.shift(change, 0) })
						b.exact()
						if n := b.ask(walks); n < 2 || n > 4 {
							t.Errorf("%d walks", n)
						}
					})
				})
			}
		}
	}
}

// TestR25_OnePageNeedsNoSecondWalk, and neither does a snapshot.
func TestR25_OnePageNeedsNoSecondWalk(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		tweak func(*source.Spec)
		walks int
	}{
		{"one page", func(s *source.Spec) { s.Paging.Size = 100 }, 1},
		{"snapshot", func(s *source.Spec) { s.Paging.Snapshot = true }, 1},
		{"pages", func(*source.Spec) {}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				b := newBench(t, manners["page-1"], setup{tweak: c.tweak})
				b.exact()
				if n := b.ask(walks); n != c.walks {
					t.Errorf("%d walks, want %d", n, c.walks)
				}
			})
		})
	}
}

// TestR25_DetailsWaitForTheSecondWalk: ids that are not confirmed yet are not
// asked for.
func TestR25_DetailsWaitForTheSecondWalk(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, manners["page-two"], setup{})
		b.exact()
		var order []string
		for _, r := range b.Sim.Requests() {
			if r.Params.Get("only") != "count" {
				order = append(order, strings.TrimPrefix(r.Path, "/"))
			}
		}
		// 70 ids: 4 pages and the empty one, twice; then 7 pages of details.
		if want := slices.Concat(slices.Repeat([]string{"items"}, 10), slices.Repeat([]string{"batch"}, 7)); !slices.Equal(order, want) {
			t.Errorf("asked for %v", order)
		}
	})
}

// TestR25_WalksThatKeepDifferingCutTheSlice: three comparisons, then halves.
func TestR25_WalksThatKeepDifferingCutTheSlice(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, manners["page-1"], setup{})
		first := 0
		b.Sim.SetOnRequest(func(r *http.Request) {
			if page(r) && r.Form.Get("page") == "1" {
				first++
				if first > 1 && first <= 4 {
					b.shift("add before", 0)
				}
			}
		})
		rep := b.exact()
		if rep.Slices.Resliced != 1 || rep.Slices.Done != 2 {
			t.Errorf("slices %+v, want 1 cut and 2 done", rep.Slices)
		}
		if n := b.ask(`SELECT COUNT(DISTINCT walk_no) FROM ing_task_run_batch WHERE end_proof IS NOT NULL AND task_id=(SELECT id FROM ing_task WHERE status_code='PARTIAL')`); n != 4 {
			t.Errorf("cut after %d whole walks, want 4: three comparisons", n)
		}
		if s := b.text(`SELECT error_code FROM ing_task WHERE status_code='PARTIAL'`); s != "walks_differ" {
			t.Errorf("cut for %q", s)
		}
	})
}

// TestR25_KillInEitherWalk kills at every call of the store (in CI at every
// 23rd): the first walk is remembered, so two walks are all it takes.
func TestR25_KillInEitherWalk(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"page-1", "page-two"} {
		t.Run(name, func(t *testing.T) {
			killAtEach(t, 23, func(t *testing.T, die *killer) {
				b := newBench(t, manners[name], setup{hook: die.hook, sim: sim.Config{Records: 50}})
				_, _ = b.Harvest(t.Context(), "generic")
				if !die.dead {
					return
				}
				time.Sleep(2 * time.Minute)
				b.again()
				b.MustBeExact("generic", b.MustHarvest("generic"))
				if n, d := b.ask(walks), b.ask(doubled); n != 2 || d != 0 {
					t.Errorf("killed at %d, %q: %d walks, %d ordinals committed twice", die.at, die.point, n, d)
				}
			})
		})
	}
}
