package executor_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// TestR18_NothingCommitsAfterAHold pauses and stops the source, and cancels the
// task, while each page is in flight.
func TestR18_NothingCommitsAfterAHold(t *testing.T) {
	t.Parallel()
	holds := map[string]func(b *bench) error{
		"pause": func(b *bench) error { return b.Node.Store.HoldSource(background, "generic", true, false, "test") },
		"stop":  func(b *bench) error { return b.Node.Store.HoldSource(background, "generic", false, true, "test") },
		"cancel": func(b *bench) (err error) {
			b.sql(func(db *sql.DB) error {
				for _, table := range []string{"ing_task", "ing_plan_slice"} {
					_, e := db.Exec(`UPDATE ` + table + ` SET status_code='CANCELLED'`)
					err = errors.Join(err, e)
				}
				return nil
			})
			return err
		},
	}
	for what, hold := range holds {
		for _, name := range []string{"token", "two-phase"} {
			for k := 1; k <= 4; k++ {
				t.Run(fmt.Sprintf("%s/%s/page %d", what, name, k), func(t *testing.T) {
					bubble(t, func(t *testing.T) {
						b := newBench(t, manners[name], setup{})
						kept := -1
						b.onPage(k, func(*http.Request) {
							if err := hold(b); err != nil {
								t.Error(err)
							}
							kept = b.ask(committed)
						})
						rep := b.MustHarvest("generic")
						if n := b.ask(committed); n != kept || kept != k-1 {
							t.Errorf("%d pages committed, %d when held at page %d", n, kept, k)
						}
						if n := b.ask(`SELECT COUNT(*) FROM ing_task WHERE lease_owner IS NOT NULL AND status_code<>'CANCELLED' OR status_code='EXECUTING'`); n != 0 {
							t.Error("the task was not let go")
						}
						if n := b.ask(`SELECT COUNT(*) FROM ing_task_run WHERE status_code='RUNNING'`); n != 0 {
							t.Error("the run was left open")
						}
						if w := b.watermark(); !w.Equal(rep.Window.From.Time()) {
							t.Errorf("the watermark moved to %s", w)
						}
						b.Sim.SetOnRequest(nil)
						if what == "cancel" {
							b.exec(`UPDATE ing_task SET status_code='QUEUED', lease_owner=NULL, leased_until=NULL`)
							b.exec(`UPDATE ing_plan_slice SET status_code='READY'`)
							b.sql(func(db *sql.DB) error {
								patratest.Recount(t, db)
								return nil
							})
						} else if err := b.Node.Store.HoldSource(t.Context(), "generic", false, false, ""); err != nil {
							t.Fatal(err)
						}
						b.exact()
					})
				})
			}
		}
	}
}

// TestExecutor_ShutdownReleasesItsTasks: the page in hand is finished if it
// comes in time, and given up if not; either way nobody waits for a lease.
func TestExecutor_ShutdownReleasesItsTasks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		delay  time.Duration
		within time.Duration
		kept   int
	}{{2 * time.Second, 3 * time.Second, 2}, {time.Hour, 6 * time.Second, 1}} {
		for _, workers := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s/%d workers", c.delay, workers), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					m := manners["token"]
					m.target = 20 // several slices wait for a worker
					b := newBench(t, m, setup{
						node:   node.Config{Workers: workers, LeaseTTL: time.Hour},
						tweak:  func(s *source.Spec) { s.HTTP.TotalTimeout, s.HTTP.ReadTimeout = 0, 0; s.Paging.Size = 5 },
						faults: []sim.Script{{Fault: sim.Slow, When: page, After: workers, Times: -1, Delay: c.delay}},
					})
					ctx, stop := context.WithCancel(t.Context())
					time.AfterFunc(time.Second, stop)
					began := time.Now()
					if _, err := b.Harvest(ctx, "generic"); err != nil {
						t.Fatal(err)
					}
					if d := time.Since(began) - time.Second; d > c.within {
						t.Errorf("ended %s after the stop", d)
					}
					if n := b.ask(committed); n < c.kept {
						t.Errorf("%d pages committed, want %d or more", n, c.kept)
					}
					if n := b.ask(`SELECT COUNT(*) FROM ing_task WHERE status_code NOT IN ('QUEUED','SUCCEEDED') OR lease_owner IS NOT NULL OR leased_until IS NOT NULL`); n != 0 {
						t.Errorf("%d tasks were not released", n)
					}
					b.Sim.ClearScripts()
					b.again()
					began = time.Now()
					b.exact()
					if d := time.Since(began); d > 10*time.Minute {
						t.Errorf("the next run took %s: it waited for a lease", d)
					}
				})
			})
		}
	}
}

// TestR16_WaitingForAWorkerIsNoAttempt: tasks that nobody has begun are not
// leased, or each owner that let one lie would count as killed by it.
func TestR16_WaitingForAWorkerIsNoAttempt(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		m := manners["token"]
		m.target = 20
		b := newBench(t, m, setup{
			node:   node.Config{LeaseTTL: 3 * time.Second},
			faults: []sim.Script{{Fault: sim.Slow, When: page, Times: -1, Delay: 20 * time.Second}},
		})
		b.exact()
		if n := b.ask(`SELECT MAX(attempts) FROM ing_task`); n != 1 {
			t.Errorf("a task was taken %d times by one patient worker", n)
		}
	})
}

// TestExecutor_UpstreamClockBehindProvesNothing: an upstream that has not
// reached the end of the window cannot say that it is complete.
func TestExecutor_UpstreamClockBehindProvesNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"token", "two-phase", "offset-empty"} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				m := manners[name]
				m.blind = true
				// The planner is told of no skew, and gets no answer that would
				// tell it better.
				b := newBench(t, m, setup{
					sim: sim.Config{Now: time.Now().Add(-2 * time.Hour)}, node: node.Config{Poll: 5 * time.Minute},
					faults: []sim.Script{{Fault: sim.ResetBeforeHeader, Times: 5}},
				})
				if err := b.Node.Store.NoteSkew(t.Context(), "@"+harvest.HashKey("generic", b.Base+"/generic")[:32], 0); err != nil {
					t.Fatal(err)
				}
				go func() { // the upstream's clock reaches the window's end
					time.Sleep(90 * time.Minute)
					if n := b.ask(`SELECT COUNT(*) FROM ing_plan_slice WHERE status_code='DONE'`); n != 0 {
						t.Error("proven by an upstream that lives in the past")
					}
					if _, err := b.Sim.AddLate("generic", b.Sim.Now().Add(time.Hour), b.Sim.Now().Add(time.Hour)); err != nil {
						t.Error(err)
					}
					b.Sim.Advance(3 * time.Hour)
				}()
				b.exact()
				if n := b.ask(`SELECT COUNT(*) FROM ing_record`); n != 71 {
					t.Errorf("%d records, want 71", n)
				}
			})
		})
	}
}

// TestR43_RefusedPageLeavesAGap: page 3 is always refused; what lies behind it
// is never asked for and the watermark stays.
func TestR43_RefusedPageLeavesAGap(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		m := manners["offset-total"]
		m.target = 500
		b := newBench(t, m, setup{sim: sim.Config{Records: 191}})
		b.Sim.SetOnRequest(func(r *http.Request) {
			if r.Form.Get("offset") == "38" {
				r.Form.Set("order", "none such") // answered with 400
			}
		})
		rep := b.MustHarvest("generic")
		b.gap(rep, 1, "http_400")
		b.Sim.SetOnRequest(nil)
		time.Sleep(2 * time.Minute)
		b.exact()
	})
}

// TestR43_TenSpentRunsLeaveAGap: page 3 always fails; the task rests between
// the runs, longer each time, until it is given up.
func TestR43_TenSpentRunsLeaveAGap(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		m := manners["offset-total"]
		m.target = 500
		b := newBench(t, m, setup{
			sim:    sim.Config{Records: 191},
			faults: []sim.Script{{Fault: sim.HTTP500, Match: "offset=38", Times: -1}},
		})
		began := time.Now()
		rep := b.MustHarvest("generic")
		b.gap(rep, 10, "http_500")
		if d := time.Since(began); d < 511*time.Second {
			t.Errorf("ten runs within %s: no rest between", d)
		}
		if n := b.ask(`SELECT COUNT(*) FROM ing_task_run_batch WHERE status_code='SUCCEEDED'`); n != 2 {
			t.Errorf("%d pages committed, want 2", n)
		}
		b.Sim.ClearScripts()
		time.Sleep(2 * time.Minute)
		b.exact()
	})
}

// gap checks that the slice failed after so many runs and that no page behind
// the third was asked for.
func (b *bench) gap(rep *control.Report, runs int, code string) {
	b.t.Helper()
	if rep.Status != "PARTIAL" || len(rep.Gaps) != 1 || !strings.Contains(rep.Gaps[0].Reason, code) {
		b.t.Errorf("%s, gaps %+v", rep.Status, rep.Gaps)
	}
	if n := b.ask(`SELECT COUNT(*) FROM ing_task_run WHERE status_code='FAILED'`); n != runs {
		b.t.Errorf("%d runs, want %d", n, runs)
	}
	if w := b.watermark(); !w.Equal(rep.Window.From.Time()) {
		b.t.Errorf("the watermark moved to %s", w)
	}
	for _, r := range b.Sim.Requests() {
		if o := r.Params.Get("offset"); o != "" && o != "0" && o != "19" && o != "38" {
			b.t.Errorf("offset %s was asked for", o)
		}
	}
	if n := b.ask(`SELECT COUNT(*) FROM ing_task WHERE status_code='FAILED' AND lease_owner IS NULL`); n != 1 {
		b.t.Error("the task is not failed")
	}
}
