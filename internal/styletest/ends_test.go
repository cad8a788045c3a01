package styletest

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// TestR57_VersionsInAnyOrderAcrossAttempts: a source filters by a date that its
// items do not have. One of its slices fails for a while and is walked after the
// newer ones; meanwhile records have changed, some of them out of its window.
// Whichever slice it is, what is held at the end is what the oracle has.
func TestR57_VersionsInAnyOrderAcrossAttempts(t *testing.T) {
	w := shapes[slices.IndexFunc(shapes, func(w row) bool { return w.name == "R57 dates: none" })]
	w.pack = strings.Replace(w.pack, "step: 30d", "step: 5d", 1)
	w.count = "none" // nothing is put together
	w.records = 120
	for nth := range 6 {
		t.Run(strconv.Itoa(nth), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				var down atomic.Bool
				var slice []string // the starts of windows, as they are asked for
				down.Store(true)
				r := newRun(t, w, sim.Faults{}, sim.Script{Fault: sim.HTTP503, Times: -1, When: func(q *http.Request) bool {
					from := q.Form.Get("from")
					if !slices.Contains(slice, from) {
						slice = append(slice, from)
					}
					// The first was asked for to see whether anybody is there.
					return down.Load() && len(slice) > nth+1 && slice[nth+1] == from
				}})
				var wg sync.WaitGroup
				wg.Go(func() {
					if err := r.harvest(); err != nil {
						t.Error(err)
					}
				})
				time.Sleep(30 * time.Second)
				if n := scalar(t, r, `SELECT COUNT(*) FROM ing_plan_slice WHERE status_code<>'DONE'`); n != 1 {
					t.Errorf("%d slices are left, want the one that fails", n)
				}
				n := 0
				for row := range r.Sim.Truth(code) {
					n++
					if n%3 == 0 {
						if err := r.Sim.Touch(code, row.ID); err != nil {
							t.Fatal(err)
						}
					}
				}
				r.Sim.Advance(2 * time.Hour)
				down.Store(false)
				wg.Wait()
				if n := scalar(t, r, `SELECT MAX(attempts) FROM ing_task`); n < 2 {
					t.Errorf("the slice was tried %d times", n)
				}
				r.exact()
				if n := scalar(t, r, `SELECT COUNT(*) FROM ing_record WHERE updated_at IS NOT NULL`); n != 0 || r.rep.Records.Updated == 0 {
					t.Errorf("%d records have a date, %+v", n, r.rep.Records)
				}
			})
		})
	}
}

// TestR58_TheDeclaredEndAndNoOther: every walk of every paging style ended with the
// proof its pack declares, though pages show signs of other ends on the way; and
// there is a style for every proof.
func TestR58_TheDeclaredEndAndNoOther(t *testing.T) {
	var mu sync.Mutex
	seen := map[harvest.EndProof]int{}
	t.Run("rows", func(t *testing.T) {
		each(t, paging, func(t *testing.T, w row) {
			bubble(t, func(t *testing.T) {
				r := newRun(t, w, sim.Faults{})
				r.exact()
				rows, err := patratest.Raw(t, r.dsn).QueryContext(t.Context(), `SELECT DISTINCT end_proof FROM ing_task_run_batch WHERE end_proof IS NOT NULL AND phase='SEARCH'`)
				if err != nil {
					t.Fatal(err)
				}
				defer rows.Close()
				for rows.Next() {
					var end harvest.EndProof
					if err := rows.Scan(&end); err != nil {
						t.Fatal(err)
					}
					mu.Lock()
					seen[end]++
					mu.Unlock()
					if !slices.Contains(r.spec.Paging.End, end) {
						t.Errorf("a walk ended with %s, declared is %v", end, r.spec.Paging.End)
					}
				}
				if err := rows.Err(); err != nil {
					t.Fatal(err)
				}
			})
		})
	})
	if t.Failed() {
		return
	}
	for _, end := range []harvest.EndProof{harvest.EndEmpty, harvest.EndNoToken, harvest.EndNoURL, harvest.EndNextEmpty, harvest.EndShortPage, harvest.EndRepeat, harvest.EndHasMore, harvest.EndTotal, harvest.EndOneReply} {
		if seen[end] == 0 {
			t.Errorf("no style ended with %s", end)
		}
	}
}

func scalar(t *testing.T, r *run, q string) (n int) {
	t.Helper()
	if err := patratest.Raw(t, r.dsn).QueryRowContext(t.Context(), q).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
