package styletest

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// TestR64_AMissingTokenEndsNoWalk takes the token or link off each page in turn,
// full and short, and the total, in every paging style: whatever page it is, all
// there is comes, and little more is asked for than without. Without PATRA_SOAK=1 it is one
// page of each walk, the last of every second.
func TestR64_AMissingTokenEndsNoWalk(t *testing.T) {
	tells := slices.DeleteFunc(slices.Clone(shapes), func(w row) bool { return !strings.HasPrefix(w.name, "total:") })
	each(t, slices.Concat(paging, tells), func(t *testing.T, w row) {
		var calm *run
		bubble(t, func(t *testing.T) {
			calm = newRun(t, w, sim.Faults{})
			calm.exact()
		})
		for i, f := range []sim.Fault{sim.TokenDropped, sim.TokenDroppedShort, sim.TotalDropped} {
			if slices.Contains(w.spared, f) {
				continue
			}
			for page, served := 0, true; served && page < calm.pages(); page++ {
				one := calm.pages() - 1
				if (i+len(w.name))%2 == 0 {
					one = len(w.name) % calm.pages()
				}
				if !patratest.Soak() && page != one {
					continue
				}
				t.Run(fmt.Sprint(f, " page ", page+1), func(t *testing.T) {
					bubble(t, func(t *testing.T) {
						r := newRun(t, w, sim.Faults{}, sim.Script{Fault: f, When: isPage, After: page})
						r.exact()
						r.bounded(calm, 1)
						served = r.Sim.Scripted() == 0 // else it cannot happen to this style
					})
				})
			}
		}
	})
}

// TestR64_ServedByTheOracle: the same for the shipped packs that the oracle
// serves, with pages of twenty and with those they ask for. Without PATRA_SOAK=1 it is the
// first and the last page of a walk.
func TestR64_ServedByTheOracle(t *testing.T) {
	// Where sizes are asked for, one of none or one only counts; details are no list.
	isList := func(q *http.Request) bool {
		for _, size := range []string{"retmax", "rows", "pageSize", "limit", "per_page", "size", "page[size]"} {
			if n := q.Form.Get(size); n == "0" || n == "1" {
				return false
			}
		}
		return !strings.HasSuffix(q.URL.Path, "/efetch.fcgi")
	}
	for _, code := range oracles() {
		for _, size := range []int{0, 20} {
			t.Run(fmt.Sprint(code, " pages of ", size), func(t *testing.T) {
				t.Parallel()
				read := func(t *testing.T, scripts ...sim.Script) (lists int, served bool) {
					t.Helper()
					bubble(t, func(t *testing.T) {
						pack := patratest.ShippedPack(t, code, func(s *source.Spec) {
							patratest.Fast(s)
							s.Paging.Size = cmp.Or(size, s.Paging.Size)
							s.Window.Baseline = source.Duration(80 * 24 * time.Hour)
							if s.Window.Step > 0 { // few slices, of several pages
								s.Window.Step = max(s.Window.Step, source.Duration(40*24*time.Hour))
							}
						})
						r := patratest.NewRig(t, patratest.RigConfig{
							DSN: patratest.SQLite.SpareDSN(t),
							Sim: sim.Config{
								Sources: []string{code}, Records: 70, Seed: 7, LimitRPS: -1, KeepLog: -1, Span: 60 * 24 * time.Hour, ListSize: size,
							},
							Packs: map[string]registry.Pack{code: pack},
							Node:  node.Config{Workers: 1, Poll: 10 * time.Second},
						})
						r.Sim.SetOnRequest(func(q *http.Request) {
							if isList(q) {
								lists++
							}
						})
						r.Sim.Script(scripts...)
						rep := r.MustHarvest(code)
						if rep.Status != "COMPLETED" {
							t.Errorf("%s after %d pages: %+v", rep.Status, lists, rep.Slices)
						}
						r.MustBeExact(code, rep)
						served = r.Sim.Scripted() == 0
					})
					return lists, served
				}
				calm, _ := read(t)
				for _, f := range losable(t, code) {
					for page := range calm {
						if !patratest.Soak() && page > 0 && page < calm-1 {
							continue
						}
						t.Run(fmt.Sprint(f, " page ", page+1), func(t *testing.T) {
							lists, served := read(t, sim.Script{Fault: f, When: isList, After: page})
							// Where all fits a page there may be no token to lose.
							if page == 0 && !served && (size > 0 || f != sim.TokenDropped) {
								t.Error("the oracle left nothing out")
							}
							if lists > 3*calm+3 {
								t.Errorf("%d pages were asked for, %d without the fault", lists, calm)
							}
						})
					}
				}
			})
		}
	}
}
