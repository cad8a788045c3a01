package styletest

import (
	"flag"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// TestStyles_Exact harvests every row without a fault: all is there, and nothing
// was asked for twice but for a reason the pack gives.
func TestStyles_Exact(t *testing.T) {
	each(t, table(), func(t *testing.T, w row) {
		bubble(t, func(t *testing.T) {
			r := newRun(t, w, sim.Faults{})
			r.exact()
			want := r.probes()
			if w.again != nil {
				want += w.again(r.pages())
			}
			if n := r.repeats(); n != want {
				t.Errorf("%d requests for what was answered before, want %d:\n%s", n, want, r.asked())
			}
			if r.rep.Records.Quarantined > 0 {
				t.Errorf("%d items in quarantine", r.rep.Records.Quarantined)
			}
			if b := r.Sim.Stats().Sources[code].Breaches; b != (sim.Breaches{}) {
				t.Errorf("limits were not kept: %+v", b)
			}
			if w.claim != nil {
				w.claim(t, r)
			}
			r.later()
		})
	})
}

// TestStyles_EveryPagingTypeHasARow: a type that packs may name is harvested here,
// alone and under every fault.
func TestStyles_EveryPagingTypeHasARow(t *testing.T) {
	rows := map[string]int{}
	for _, w := range paging {
		named := regexp.MustCompile(`pagination: \{type: (\w+)`).FindStringSubmatch(w.pack)
		if named == nil {
			rows[string(harvest.PageOffset)]++ // as the pack has it that rows add to
			continue
		}
		rows[named[1]]++
	}
	for _, d := range source.Dictionary() {
		if d.Code != source.DictPaging {
			continue
		}
		for _, item := range d.Items {
			if rows[item.Code] == 0 {
				t.Errorf("no row of paging_test.go is about %s", item.Code)
			}
		}
	}
}

// table is all rows that end well.
func table() []row { return slices.Concat(paging, newest, numbered, keysets, shapes, auths, buckets) }

// faults are the kinds that can befall the generic source and leave nothing
// behind. Not among them: those of other sources, and invalid_utf8, whose item is
// quarantined, not asked for again (R32).
var faults = []sim.Fault{
	sim.HTTP500, sim.HTTP502HTML, sim.HTTP503, sim.HTTP503Date, sim.HTTP504HTML, sim.HTTP429, sim.HTTP429RetryAfter, sim.ResetBeforeHeader,
	sim.ResetMidBody, sim.TruncatedBody, sim.ServedLost, sim.Slow, sim.HTML200, sim.Empty200, sim.Error200, sim.BadJSON, sim.ShortPage,
	sim.EmptyMiddlePage, sim.RepeatedPage, sim.CursorExpired, sim.DetailMissing, sim.DetailExtra, sim.DetailBadItem, sim.TotalWrong, sim.RetryAfterOn200,
}

// plainFaults know nothing of pages: each row meets about one in eight of them, of the
// others about a third, and each of them many rows. PATRA_SOAK=1 puts all of them into every
// row.
var plainFaults = []sim.Fault{
	sim.HTTP500, sim.HTTP502HTML, sim.HTTP503, sim.HTTP503Date, sim.HTTP504HTML, sim.HTTP429, sim.HTTP429RetryAfter, sim.ResetBeforeHeader,
	sim.Slow, sim.HTML200, sim.Empty200, sim.RetryAfterOn200,
}

// oneIn is of how many rows like this one a fault is put into one in the short form. Few rows
// ask for details, so that all of them meet the faults of those.
func (w row) oneIn(f sim.Fault) int {
	switch {
	case slices.Contains(plainFaults, f):
		return 8
	case w.detail != "":
		return 1
	}
	return 3
}

// TestStyles_UnderEachFault puts each kind of fault, once, into the middle of the
// walk of every paging style. A page is asked for again only if the walk began
// again or its slice was cut, and a fault makes neither go on for ever.
func TestStyles_UnderEachFault(t *testing.T) {
	var mu sync.Mutex
	served := map[sim.Fault]int{}
	t.Run("rows", func(t *testing.T) {
		each(t, table(), func(t *testing.T, w row) {
			kinds := w.under
			if slices.ContainsFunc(paging, func(p row) bool { return p.name == w.name }) {
				kinds = faults
			}
			if len(kinds) == 0 {
				return
			}
			var calm *run
			bubble(t, func(t *testing.T) {
				calm = newRun(t, w, sim.Faults{})
				calm.exact()
			})
			for i, f := range kinds {
				if slices.Contains(w.spared, f) || !patratest.Soak() && (i+len(w.name))%w.oneIn(f) != 0 {
					continue
				}
				t.Run(string(f), func(t *testing.T) {
					bubble(t, func(t *testing.T) {
						after := 1
						if calm.pages() < 3 {
							after = 0
						}
						r := newRun(t, w, sim.Faults{}, sim.Script{Fault: f, When: isPage, After: after})
						r.exact()
						if r.Sim.Scripted() > 0 {
							return // it cannot happen to this style
						}
						mu.Lock()
						served[f]++
						mu.Unlock()
						r.bounded(calm, 1)
					})
				})
			}
		})
	})
	if strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		return // some rows were left out
	}
	for _, f := range faults {
		if served[f] == 0 {
			t.Errorf("%s was never served", f)
		}
	}
	t.Logf("runs under each fault: %v", served)
}

// TestStyles_UnderTheHeavyMix lets a third of all requests go wrong, first page
// and login included, and the clock move on in between.
func TestStyles_UnderTheHeavyMix(t *testing.T) {
	mix, err := sim.ParseFaults("heavy")
	if err != nil {
		t.Fatal(err)
	}
	mix.Rates = maps.Clone(mix.Rates)
	mix.Sources = nil
	delete(mix.Rates, sim.Viewer400)
	for f := range mix.Rates {
		mix.Rates[f] *= 2.5
	}
	each(t, table(), func(t *testing.T, w row) {
		bubble(t, func(t *testing.T) {
			mix := mix
			mix.Rates = maps.Clone(mix.Rates)
			for _, f := range w.spared {
				delete(mix.Rates, f)
			}
			calm := newRun(t, w, sim.Faults{})
			calm.exact()
			r := newRun(t, w, mix)
			r.exact()
			n := 0
			for _, times := range r.Sim.Stats().Sources[code].Faults {
				n += times
			}
			r.bounded(calm, n)
			r.later()
		})
	})
}

// bounded claims that a harvest under so many faults asked little more than the
// same harvest without, repeated nothing without cause, and did not dawdle.
func (r *run) bounded(calm *run, faults int) {
	r.t.Helper()
	asked, usual := len(r.Sim.Requests()), len(calm.Sim.Requests())
	if most := 3*usual + 3*faults; asked > most {
		r.t.Errorf("%d requests under %d faults, %d without:\n%s", asked, faults, usual, r.asked())
	}
	a, b := r.watch.Progress(), calm.watch.Progress()
	seen := r.Sim.Stats().Sources[code].Faults
	own := seen[sim.RepeatedPage] + seen[sim.EmptyMiddlePage]   // the server's own repetitions
	own += seen[sim.ShortPage]                                  // the last page, asked for again, leads on to another
	own += seen[sim.TokenDropped] + seen[sim.TokenDroppedShort] // a page that seems to be the last is asked for again
	causes := int(max(0, a.Restarts-b.Restarts) + max(0, a.Cuts-b.Cuts))
	if n := r.repeats() - calm.repeats() - own; n > causes*usual {
		r.t.Errorf("%d requests for what was answered before, with %d walks begun again and %d slices cut:\n%s", n, a.Restarts, a.Cuts, r.asked())
	}
	if d := time.Duration(r.rep.Duration) * time.Millisecond; d > 15*time.Minute {
		r.t.Errorf("took %s:\n%s", d, r.asked())
	}
}

// later lets the clock of the oracle move on and harvests what is new.
func (r *run) later() {
	r.t.Helper()
	for range r.row.rounds {
		r.Sim.Advance(4 * 24 * time.Hour)
		r.exact()
		if c := r.rep.Records; c.Inserted == 0 || c.Updated == 0 {
			r.t.Errorf("the clock moved on, yet %+v", c)
		}
	}
}
