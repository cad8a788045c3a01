package executor_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/sim"
)

// detailWatch stands before the oracle and counts the requests for details.
type detailWatch struct {
	next http.RoundTripper
	// takes is how long the n-th request takes before it reaches the oracle.
	takes func(n int) time.Duration

	mu       sync.Mutex
	asked    int // guarded by mu, as those below
	inFlight int
	most     int                   // requests in flight at once
	before   func(r *http.Request) // called before each
}

func (w *detailWatch) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.URL.Path, "/batch") {
		return w.next.RoundTrip(r)
	}
	w.mu.Lock()
	w.asked++
	n := w.asked
	w.inFlight++
	w.most = max(w.most, w.inFlight)
	before := w.before
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.inFlight--
	}()
	if before != nil {
		before(r)
	}
	select {
	case <-time.After(w.takes(n)):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	return w.next.RoundTrip(r)
}

func everySecond(int) time.Duration { return time.Second }

// newParallel is a bench of 130 records in one slice, whose thirteen pages of details
// are asked for so many at a time.
func newParallel(t *testing.T, parallel int, s setup) (*bench, *detailWatch) {
	t.Helper()
	w := &detailWatch{takes: everySecond}
	m := manners["two-phase"].exact()
	m.target = 500
	if s.sim.Records == 0 {
		s.sim.Records = 130
	}
	tweak := s.tweak
	s.tweak = func(spec *source.Spec) {
		spec.Batching.Parallel = parallel
		if tweak != nil {
			tweak(spec)
		}
	}
	outer := s.wrap
	s.wrap = func(next http.RoundTripper) http.RoundTripper {
		w.next = next
		if outer != nil {
			return outer(w)
		}
		return w
	}
	return newBench(t, m, s), w
}

const detailsStored = `SELECT COUNT(*) FROM ing_task_run_batch WHERE phase='DETAIL' AND status_code='SUCCEEDED'`

// mustBeInOrder fails the test if pages of details were not committed in their order, or
// one twice.
func (b *bench) mustBeInOrder() {
	b.t.Helper()
	if n := b.ask(`SELECT COUNT(*) FROM ing_task_run_batch a JOIN ing_task_run_batch b ON a.task_id=b.task_id AND a.walk_no=b.walk_no AND a.phase=b.phase
		WHERE a.status_code='SUCCEEDED' AND b.status_code='SUCCEEDED' AND a.ordinal < b.ordinal AND a.committed_at > b.committed_at`); n != 0 {
		b.t.Errorf("%d pairs of pages were committed out of their order", n)
	}
	if n := b.ask(doubled); n != 0 {
		b.t.Errorf("%d ordinals committed twice", n)
	}
}

// TestR71_DetailsSideBySide: so many requests for details are made at once as the source
// says, whichever of them is answered first, and pages are committed in their order.
func TestR71_DetailsSideBySide(t *testing.T) {
	t.Parallel()
	for _, parallel := range []int{0, 1, 4, 16} {
		for name, takes := range map[string]func(int) time.Duration{
			"alike":           everySecond,
			"the first last":  func(n int) time.Duration { return time.Duration(max(1, 5-n)) * time.Second },
			"the fourth last": func(n int) time.Duration { return []time.Duration{10, 1, 1, 1}[n%4] * time.Second },
		} {
			t.Run(fmt.Sprintf("%d/%s", parallel, name), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					b, w := newParallel(t, parallel, setup{})
					w.takes = takes
					b.exact()
					b.mustBeInOrder()
					if want := min(max(1, parallel), 13); w.most != want {
						t.Errorf("%d requests at once, want %d", w.most, want)
					}
					if n := b.ask(detailsStored); n != 13 || w.asked != 13 {
						t.Errorf("%d pages stored and %d asked for, want 13", n, w.asked)
					}
				})
			})
		}
	}
}

// TestR71_WhatIsNotStoredHoldsBackWhatIsAsked: pages that came and wait to be stored count
// as pages that are asked for, so that a slow store has the source asked less.
func TestR71_WhatIsNotStoredHoldsBackWhatIsAsked(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		const parallel = 3
		slow := func(point string) error {
			if point == "before commit" {
				time.Sleep(20 * time.Second)
			}
			return nil
		}
		b, w := newParallel(t, parallel, setup{hook: slow})
		w.before = func(*http.Request) {
			// The page whose commit is under way is as good as stored: what follows is asked for beside it.
			if waiting := w.asked - b.ask(detailsStored); waiting > parallel+1 {
				t.Errorf("request %d is made while %d pages are asked for and not stored", w.asked, waiting)
			}
		}
		b.exact()
		b.mustBeInOrder()
		if w.most > parallel {
			t.Errorf("%d requests at once", w.most)
		}
	})
}

// TestR71_FaultsSideBySide: whatever befalls pages that are asked for side by side, what is
// stored is the truth, and no page is committed out of its order.
func TestR71_FaultsSideBySide(t *testing.T) {
	t.Parallel()
	for _, fault := range []sim.Fault{
		sim.DetailMissing, sim.DetailExtra, sim.DetailBadItem, sim.HTTP500, sim.HTTP429RetryAfter, sim.ServedLost, sim.Slow, sim.ResetBeforeHeader,
	} {
		for _, times := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s/%d", fault, times), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					b, _ := newParallel(t, 4, setup{faults: []sim.Script{{Fault: fault, When: detail, After: 2, Times: times}}})
					b.exact()
					b.mustBeInOrder()
					if n := b.ask(`SELECT COUNT(*) FROM ing_bad_id`); n != 0 {
						t.Errorf("%d ids on the list of bad ones", n)
					}
				})
			})
		}
	}
}

// TestR71_PagesBesideOneThatFailsAreGivenUp: they are closed with what was asked for them,
// told apart from the one that failed, and asked for again after it.
func TestR71_PagesBesideOneThatFailsAreGivenUp(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b, w := newParallel(t, 4, setup{})
		w.takes = func(n int) time.Duration {
			if n > 3 {
				return 5 * time.Second
			}
			return time.Second
		}
		seen, third := 0, ""
		isThird := func(r *http.Request) bool {
			if !detail(r) {
				return false
			}
			seen++
			if seen == 3 {
				third = r.Form.Get("ids")
			}
			return r.Form.Get("ids") == third
		}
		b.Sim.Script(sim.Script{Fault: sim.HTTP500, When: isThird, Times: 6})
		b.exact()
		b.mustBeInOrder()
		beside := b.ask(`SELECT COUNT(*) FROM ing_task_run_batch WHERE error_code='asked_beside' AND status_code='SKIPPED' AND error='a page before it was not stored'`)
		failed := b.ask(`SELECT COUNT(*) FROM ing_task_run_batch WHERE status_code='FAILED'`)
		if failed != 1 || beside == 0 || beside > 3 {
			t.Errorf("%d pages failed, want 1; %d were given up beside it", failed, beside)
		}
		if n := b.ask(`SELECT COUNT(*) FROM ing_task_run_batch WHERE status_code='RUNNING'`); n != 0 {
			t.Errorf("%d pages are open", n)
		}
		if sent := b.ask(`SELECT SUM(sent) FROM ing_task_run_batch WHERE phase='DETAIL'`); sent != w.asked {
			t.Errorf("%d requests in the rows of pages, %d were made", sent, w.asked)
		}
	})
}

// TestR71_GuiltyIDsSideBySide: pages that the source refuses for single ids are taken apart
// one at a time, and only these ids end on the list.
func TestR71_GuiltyIDsSideBySide(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		bad := []int{3, 14, 15, 27, 41, 42, 59, 63}
		requests := func(parallel int) int {
			var mu sync.Mutex
			parts, most := 0, 0
			refuse := func(ids []string) int {
				if len(ids) == 8 { // a whole page
					return guilty(400, bad...)(ids)
				}
				count := func(n int) {
					mu.Lock()
					defer mu.Unlock()
					parts += n
					most = max(most, parts)
				}
				count(1)
				defer count(-1)
				time.Sleep(time.Second)
				return guilty(400, bad...)(ids)
			}
			b, f := newRefusedBeside(t, 64, 8, parallel, refuse)
			rep := b.MustHarvest("generic")
			b.mustBeInOrder()
			listed, stored := b.ask(`SELECT COUNT(*) FROM ing_bad_id`), b.ask(`SELECT COUNT(*) FROM ing_record`)
			if rep.Status != "COMPLETED" || listed != len(bad) || stored != 64-len(bad) {
				t.Errorf("%d at once: %s, %d ids listed, %d records", parallel, rep.Status, listed, stored)
			}
			if most != 1 {
				t.Errorf("%d at once: parts of %d pages are asked for at once", parallel, most)
			}
			return len(f.asked)
		}
		if one, four := requests(1), requests(4); one != four {
			t.Errorf("%d requests one by one, %d where four are made at once", one, four)
		}
	})
}

// TestR71_IDWhoseRestIsOverIsAskedForOnce: pages that are asked for side by side all have
// room for it, and one of them takes it.
func TestR71_IDWhoseRestIsOverIsAskedForOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		const other = "g-99999999" // of no page
		bad := []int{3, 14, 15, 27, 41, 42, 59, 63}
		b, f := newRefusedBeside(t, 64, 8, 4, guilty(400, bad...))
		b.MustHarvest("generic")
		b.exec(`UPDATE ing_bad_id SET ext_id=?, check_after='1999-01-01 00:00:00.000000' WHERE ext_id='g-00000003'`, other)
		for n := range 64 {
			if err := b.Sim.Touch("generic", fmt.Sprintf("g-%08d", n)); err != nil {
				t.Fatal(err)
			}
		}
		b.Sim.Advance(time.Hour)
		f.asked = nil
		if rep := b.MustHarvest("generic"); rep.Status != "COMPLETED" {
			t.Fatalf("%+v", rep)
		}
		pages := 0
		for _, ids := range f.asked {
			if len(ids) > 4 && slices.Contains(ids, other) {
				pages++
			}
		}
		if pages != 1 {
			t.Errorf("%d pages asked for the id", pages)
		}
	})
}

// newRefusedBeside is a bench as newRefused makes it, with pages of details side by side.
func newRefusedBeside(t *testing.T, n, batch, parallel int, status func(ids []string) int) (*bench, *refuser) {
	t.Helper()
	f := &refuser{status: status}
	b, _ := newParallel(t, parallel, setup{
		sim: sim.Config{Records: n},
		wrap: func(next http.RoundTripper) http.RoundTripper {
			f.next = next
			return f
		},
		tweak: func(s *source.Spec) {
			s.Batching.IDs, s.Paging.Size = batch, 500
			s.Faults = nil
		},
	})
	return b, f
}

// TestR71_KillSideBySide kills at calls of the store: every page is committed once, and a
// kill costs as many pages as were asked for and not stored.
func TestR71_KillSideBySide(t *testing.T) {
	t.Parallel()
	const parallel = 4
	killAtEach(t, 31, func(t *testing.T, die *killer) {
		b, w := newParallel(t, parallel, setup{hook: die.hook})
		if !b.harvestAfter(die) {
			return
		}
		b.mustBeInOrder()
		if n := b.ask(detailsStored); n != 13 {
			t.Errorf("killed at %d, %q: %d pages of details stored, want 13", die.at, die.point, n)
		}
		if more := w.asked - 13; more > parallel+1 {
			t.Errorf("killed at %d, %q: %d pages of details asked for again", die.at, die.point, more)
		}
	})
}

// TestR71_StopSideBySide: a process that is told to stop stores what it has asked for, asks
// for nothing more, and the next one asks for nothing again.
func TestR71_StopSideBySide(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b, w := newParallel(t, 4, setup{})
		ctx, stop := contextWithStop()
		defer stop()
		w.before = func(*http.Request) {
			if w.asked == 6 {
				stop()
			}
		}
		if _, err := b.Harvest(ctx, "generic"); err != nil && !errors.Is(err, ctx.Err()) {
			t.Fatal(err)
		}
		asked := w.asked
		if n := b.ask(detailsStored); n != asked || n >= 13 {
			t.Errorf("%d pages stored of %d that were asked for", n, asked)
		}
		b.again()
		rep := b.MustHarvest("generic")
		b.MustBeExact("generic", rep)
		if w.asked != 13 {
			t.Errorf("%d requests for 13 pages", w.asked)
		}
	})
}
