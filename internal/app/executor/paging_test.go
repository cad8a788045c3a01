package executor_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// page matches pages but not counts.
func page(r *http.Request) bool { return r.Form.Get("only") != "count" }

// stateful are the manners whose position the server holds.
var stateful = map[string]bool{"token-const": true, "scroll": true, "url-held": true}

// TestR22_LostAnswerLosesNothing drops the answer to each page in turn after
// the oracle has served it.
func TestR22_LostAnswerLosesNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"token", "token-end", "token-const", "scroll", "empty-token", "url", "url-held", "offset-total", "two-phase"} {
		for k := range 4 {
			t.Run(fmt.Sprintf("%s/page %d", name, k+1), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					b := newBench(t, manners[name], setup{faults: []sim.Script{{Fault: sim.ServedLost, When: page, After: k}}})
					b.exact()
					if b.Sim.Scripted() != 0 {
						t.Fatal("the fault was never served")
					}
					want := 1
					if stateful[name] && k > 0 {
						want = 2
						// What came after the loss must be a walk of its own.
						log := b.Sim.Requests()
						for i, r := range log {
							if r.Fault == sim.ServedLost && (log[i+1].Params.Get("token") != "" || log[i+1].Params.Get("scroll_id") != "") {
								t.Error("the lost page was asked for again")
							}
						}
					}
					if name == "url-held" {
						want++ // its last page cannot be asked for again, so another walk has to end alike
					}
					if n := b.ask(walks); n != want {
						t.Errorf("%d walks, want %d", n, want)
					}
				})
			})
		}
	}
}

// TestR22_ThreeIdenticalPagesBeginANewWalk: two alike may be chance.
func TestR22_ThreeIdenticalPagesBeginANewWalk(t *testing.T) {
	t.Parallel()
	for times, want := range map[int]int{1: 1, 2: 2} {
		bubble(t, func(t *testing.T) {
			b := newBench(t, manners["token-const"], setup{faults: []sim.Script{{Fault: sim.RepeatedPage, Times: times}}})
			b.exact()
			if n := b.ask(walks); n != want {
				t.Errorf("page repeated %d times: %d walks, want %d", times, n, want)
			}
		})
	}
}

// TestR22_EndlessRepetitionEnds: a source that never moves on costs a bounded
// number of requests, leaves gaps and is stopped; once it is mended and resumed,
// everything comes.
func TestR22_EndlessRepetitionEnds(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, manners["token-const"], setup{
			faults: []sim.Script{{Fault: sim.RepeatedPage, Times: -1}},
			tweak:  func(s *source.Spec) { s.Window.MinStep = source.Duration(10 * 24 * time.Hour) },
		})
		rep := b.MustHarvest("generic")
		if rep.Status != "PARTIAL" || len(rep.Gaps) == 0 {
			t.Errorf("ended as %s with gaps %v", rep.Status, rep.Gaps)
		}
		if n := b.pages(); n >= 200 {
			t.Errorf("%d pages asked for", n)
		}
		if !strings.HasPrefix(rep.State.Reason, "schema_drift") {
			t.Errorf("stopped for %q", rep.State.Reason)
		}
		b.Sim.ClearScripts()
		if err := b.Node.Store.HoldSource(t.Context(), "generic", false, false, ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		b.exact()
	})
}

// TestR23_ExpiredTokenBeginsANewWalk lets the token expire at every page.
func TestR23_ExpiredTokenBeginsANewWalk(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"token", "token-end", "token-const", "scroll", "url"} {
		for k := range 3 {
			t.Run(fmt.Sprintf("%s/page %d", name, k+2), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					b := newBench(t, manners[name], setup{faults: []sim.Script{{Fault: sim.CursorExpired, After: k}}})
					b.exact()
					if n := b.ask(walks); n != 2 || b.Sim.Scripted() != 0 {
						t.Errorf("%d walks, want 2", n)
					}
				})
			})
		}
	}
}

// TestR23_DeclaredLifeSparesTheDeadToken leaves a walk after each of its pages.
// Gone on with in time, it goes on; later, it begins again by the source's own
// way, and nothing the pages of the walk before gave is ever sent.
func TestR23_DeclaredLifeSparesTheDeadToken(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"token", "token-end", "token-const", "scroll", "url"} {
		for _, c := range []struct {
			away     time.Duration
			dead     bool
			reaction string
		}{{4 * time.Minute, false, "RESTART"}, {6 * time.Minute, true, "RESTART"}, {6 * time.Minute, true, "CUT"}} {
			for k := 1; k <= 3; k++ {
				t.Run(fmt.Sprintf("%s/%s/%s/page %d", name, c.reaction, c.away, k), func(t *testing.T) {
					bubble(t, func(t *testing.T) { leaveWalk(t, name, k, c.away, c.dead, c.reaction) })
				})
			}
		}
	}
}

func leaveWalk(t *testing.T, name string, k int, away time.Duration, dead bool, reaction string) {
	m := manners[name]
	m.paging = strings.Replace(m.paging, "}", ", tokenLifetime: PT5M}", 1)
	m.faults = "  - {code: token_expired, status: 410, level: L1, reaction: " + reaction + "}\n"
	b := newBench(t, m, setup{sim: sim.Config{CursorLife: 5 * time.Minute}})
	ctx, stop := contextWithStop()
	defer stop()
	b.onPage(k, func(*http.Request) { stop() })
	if rep, err := b.Harvest(ctx, "generic"); err != nil || rep.Status == "COMPLETED" || b.ask(committed) != k {
		t.Fatalf("the walk was not left after page %d: %v, %+v", k, err, rep)
	}
	b.Sim.SetOnRequest(nil)
	left := len(b.Sim.Requests())
	time.Sleep(away)
	b.again()
	rep := b.exact()
	for _, r := range b.Sim.Requests()[left:] {
		if r.Params.Get("only") == "count" {
			continue // of the plan for what has come meanwhile
		}
		if continued := r.Params.Get("token") != "" || r.Params.Get("scroll_id") != ""; continued == dead {
			t.Errorf("after %s the walk went on with %v", away, r.Params)
		}
		break
	}
	cut := dead && reaction == "CUT"
	if n, want := b.ask(walks), map[bool]int{true: 2, false: 1}[dead && !cut]; n != want {
		t.Errorf("%d walks, want %d", n, want)
	}
	if (rep.Slices.Resliced > 0) != cut {
		t.Errorf("slices %+v", rep.Slices)
	}
}

// TestR23_ThreeWalksThenTheSliceIsCut for walks that never come past page 2.
func TestR23_ThreeWalksThenTheSliceIsCut(t *testing.T) {
	t.Parallel()
	for _, kind := range []sim.Fault{sim.CursorExpired, sim.TotalWrong} {
		t.Run(string(kind), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var first int
				b := newBench(t, manners["token-const"], setup{})
				b.Sim.Script(sim.Script{Fault: kind, Times: 3, When: func(r *http.Request) bool {
					if kind == sim.TotalWrong {
						return page(r) && r.Form.Get("token") == ""
					}
					first++
					return page(r)
				}})
				rep := b.exact()
				if rep.Slices.Resliced != 1 || rep.Slices.Done != 2 {
					t.Errorf("slices %+v, want 1 cut and 2 done", rep.Slices)
				}
				if n := b.ask(`SELECT MAX(walk_no) FROM ing_task WHERE status_code='PARTIAL'`); n != 4 {
					t.Errorf("the slice was cut with walk %d, want after 3 whole walks", n-1)
				}
			})
		})
	}
}

// TestR24_OddPagesProveNothing: short and empty pages in the middle, an error
// in a 200, a total that is not reached.
func TestR24_OddPagesProveNothing(t *testing.T) {
	t.Parallel()
	patratest.Long(t, "a matrix of cases without concurrency")
	for _, c := range []struct {
		name  string
		fault sim.Fault
		walks int
	}{
		{"token", sim.ShortPage, 1},
		{"token-const", sim.ShortPage, 1},
		{"scroll", sim.ShortPage, 1},
		{"url", sim.ShortPage, 1},
		{"token", sim.EmptyMiddlePage, 1},       // carries a token: go on
		{"url", sim.EmptyMiddlePage, 1},         // carries a link: go on
		{"token-const", sim.EmptyMiddlePage, 2}, // declared as the end, but the total says no
		{"scroll", sim.EmptyMiddlePage, 2},
		{"token", sim.Error200, 1},
		{"offset-total", sim.Error200, 1},
		{"token", sim.Empty200, 1},
		{"token", sim.HTML200, 1},
		{"token-const", sim.Error200, 2},
		{"token-const", sim.TotalWrong, 2},
		{"token", sim.TotalWrong, 1}, // ROUGH: it decides nothing
	} {
		t.Run(fmt.Sprintf("%s/%s", c.name, c.fault), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				after := 1
				if c.fault == sim.ShortPage || c.fault == sim.EmptyMiddlePage || c.fault == sim.TotalWrong {
					after = 0 // suits only a page in the middle, or the first
				}
				b := newBench(t, manners[c.name], setup{faults: []sim.Script{{Fault: c.fault, When: page, After: after}}})
				b.exact()
				if n := b.ask(walks); n != c.walks || b.Sim.Scripted() != 0 {
					t.Errorf("%d walks, want %d; scripts left %d", n, c.walks, b.Sim.Scripted())
				}
			})
		})
	}
}

// TestR42_ErrorTwiceStopsTheSource: once may be a hiccup, twice is a change, also
// where only a new walk shows it.
func TestR42_ErrorTwiceStopsTheSource(t *testing.T) {
	t.Parallel()
	for _, kind := range []sim.Fault{sim.Error200, sim.HTML200} {
		t.Run(string(kind), func(t *testing.T) {
			every(t, []string{"token", "token-const", "scroll"}, func(t *testing.T, m manner) {
				b := newBench(t, m, setup{faults: []sim.Script{{Fault: kind, Times: -1, When: func(r *http.Request) bool {
					return page(r) && r.Form.Get("token")+r.Form.Get("scroll_id") != ""
				}}}})
				rep := b.MustHarvest("generic")
				walks := 1
				if m.style != "token" {
					walks = 2
				}
				b.stopped(rep, walks)
				if n := b.pages(); n != 2+walks {
					t.Errorf("%d pages asked for, want %d", n, 2+walks)
				}
			})
		})
	}
}

// TestR42_HiccupsApartStopNothing: a page behind the one that failed has come.
func TestR42_HiccupsApartStopNothing(t *testing.T) {
	t.Parallel()
	every(t, []string{"token", "token-const", "scroll"}, func(t *testing.T, m manner) {
		asked := 0
		b := newBench(t, m, setup{faults: []sim.Script{{Fault: sim.HTML200, Times: 2, When: func(r *http.Request) bool {
			if !page(r) {
				return false
			}
			asked++
			return asked == 2 || asked == 5 // the second page, then the third or fourth
		}}}})
		b.exact()
		if b.Sim.Scripted() != 0 {
			t.Error("not served")
		}
	})
}

// stopped checks that the source waits for a person, and that of the slice
// only the pages before the fault were kept.
func (b *bench) stopped(rep *control.Report, kept int) {
	b.t.Helper()
	if !rep.State.Stopped {
		b.t.Errorf("the source was not stopped: %+v", rep)
	}
	if n := b.ask(committed); n != kept {
		b.t.Errorf("%d pages committed, want %d", n, kept)
	}
	if w := b.watermark(); !w.Equal(rep.Window.From.Time()) {
		b.t.Errorf("the watermark moved to %s", w)
	}
}

// TestR24_MissingItemsPathIsNoEmptyPage: an absent list is another schema.
func TestR24_MissingItemsPathIsNoEmptyPage(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, manners["offset-empty"], setup{tweak: func(s *source.Spec) { s.Search.Response.Items = []string{"rows"} }})
		rep := b.MustHarvest("generic")
		b.stopped(rep, 0)
	})
}

// TestR25_ShiftingRowsLoseNothing removes, adds and moves one row, and two, before,
// at and behind the seam, between any two pages. One row that is gone the overlap
// of two pages would cover by itself; that two are gone only the seam tells.
func TestR25_ShiftingRowsLoseNothing(t *testing.T) {
	t.Parallel()
	patratest.Long(t, "a matrix of cases without concurrency")
	for _, name := range []string{"offset-total", "offset-empty", "hasmore"} {
		for k := 2; k <= 4; k++ {
			for _, change := range []string{"remove", "remove seam", "move away", "add before", "add behind", "move on"} {
				for _, rows := range []int{1, 2} {
					t.Run(fmt.Sprintf("%s/%s/%d rows/page %d", name, change, rows, k), func(t *testing.T) {
						shifts(t, name, change, k, rows)
					})
				}
			}
		}
	}
}

// TestR25_TheSeamIsLookedAt is the part of the matrix above that nothing but the
// seam can see, short enough for every run.
func TestR25_TheSeamIsLookedAt(t *testing.T) {
	t.Parallel()
	for _, change := range []string{"remove", "move away"} {
		t.Run(change, func(t *testing.T) { shifts(t, "offset-empty", change, 3, 2) })
	}
}

// shifts lets rows shift before page k is served, and wants another walk.
func shifts(t *testing.T, name, change string, k, rows int) {
	bubble(t, func(t *testing.T) {
		b := newBench(t, manners[name], setup{})
		b.onPage(k, func(*http.Request) {
			for range rows {
				b.shift(change, (k-1)*19)
			}
		})
		b.exact()
		want := 2
		if change == "add behind" {
			want = 1
		}
		if n := b.ask(walks); n != want {
			t.Errorf("%d walks, want %d", n, want)
		}
	})
}

// shift changes the truth when rows up to seam have been read.
func (b *bench) shift(change string, seam int) {
	var ids []string
	var at []time.Time
	for r := range b.Sim.Truth("generic") {
		if r.Deleted {
			continue
		}
		i := len(at)
		for i > 0 && at[i-1].After(r.UpdatedAt) {
			i--
		}
		ids = append(ids[:i], append([]string{r.ID}, ids[i:]...)...)
		at = append(at[:i], append([]time.Time{r.UpdatedAt}, at[i:]...)...)
	}
	now := b.Sim.Now()
	var err error
	switch change {
	case "remove":
		err = b.Sim.Delete("generic", ids[3])
	case "remove seam":
		err = b.Sim.Delete("generic", ids[min(seam, len(ids)-1)])
	case "move away":
		err = b.Sim.Touch("generic", ids[5])
	case "add before":
		_, err = b.Sim.AddLate("generic", at[7].Add(time.Second), now)
	case "add behind":
		_, err = b.Sim.AddLate("generic", at[len(at)-1].Add(-time.Second), now)
	case "move on":
		err = b.Sim.TouchLate("generic", ids[4], at[len(at)-1].Add(-2*time.Second), now)
	}
	if err != nil {
		b.t.Error(err)
	}
}

// TestR25_RowAddedBehindIsNotCutOffByTheOldTotal: the total of the first page
// is reached one row too early if a row comes in between.
func TestR25_RowAddedBehindIsNotCutOffByTheOldTotal(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		// 20 + 19 rows: two pages to the brim.
		b := newBench(t, manners["offset-total"], setup{sim: sim.Config{Records: 39}})
		b.onPage(2, func(*http.Request) { b.shift("add behind", 19) })
		b.exact()
	})
}

// TestP12_NoRequestGoesPastTheWall: the oracle states no total, so that only the
// place of a page, or the items seen, tell that the source's depth is reached.
func TestP12_NoRequestGoesPastTheWall(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"offset-empty", "page-1", "token", "url", "scroll"} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				m := manners[name]
				m.blind = true
				m.query = strings.TrimPrefix(m.query+"\n      total: absent", "\n      ")
				m.paging = strings.NewReplacer("total: EXACT", "total: ROUGH", "[TOTAL, EMPTY]", "[EMPTY]").Replace(m.paging)
				b := newBench(t, m, setup{tweak: func(s *source.Spec) { s.Paging.MaxItems = 40 }})
				rep := b.exact()
				if rep.Slices.Resliced == 0 {
					t.Error("nothing was cut")
				}
				pages := map[string]map[string]bool{} // by window; the last is asked for twice
				for _, r := range b.Sim.Requests() {
					reach := 0
					if _, err := fmt.Sscan(r.Params.Get("offset"), &reach); err == nil {
						reach += 20
					} else if _, err := fmt.Sscan(r.Params.Get("page"), &reach); err == nil {
						reach *= 20
					}
					w := r.Params.Get("from") + "/" + r.Params.Get("to")
					if pages[w] == nil {
						pages[w] = map[string]bool{}
					}
					pages[w][r.Params.Get("token")] = true
					if reach > 40 || (name == "token" || name == "url") && len(pages[w]) > 2 {
						t.Errorf("asked for %v", r.Params)
					}
				}
			})
		})
	}
}

// TestR26_PageSizeIsFrozen: a pack with other pages acts on the next plan only.
func TestR26_PageSizeIsFrozen(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		m := manners["offset-total"]
		b := newBench(t, m, setup{})
		ctx, stop := contextWithStop()
		b.onPage(3, func(*http.Request) { stop() })
		if _, err := b.Harvest(ctx, "generic"); err != nil {
			t.Fatal(err)
		}
		m.paging = strings.Replace(m.paging, "pageSize: 20", "pageSize: 10", 1)
		small := newBench(t, m, setup{})
		b.c.Packs = small.c.Packs
		b.again()
		b.exact()
		for _, r := range b.Sim.Requests() {
			if s := r.Params.Get("size"); page(&http.Request{Form: r.Params}) && s != "20" {
				t.Errorf("a page of %s was asked for", s)
			}
		}
		if n := b.ask(walks); n != 1 {
			t.Errorf("%d walks: the position was lost", n)
		}
	})
}
