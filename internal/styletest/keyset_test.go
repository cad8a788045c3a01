package styletest

import (
	"testing"
	"time"

	"github.com/papertrace/patra/internal/sim"
)

// keysetDays is the window of a source that tells days, and has many records of each.
const keysetDays = `window:
  key: updated
  filters: {from: updated, to: updated}
  precision: DAY
  bound: OPEN
  updatedAt: PATH
  safetyLag: 1d
  align: 1d
  baseline: 30d
`

const (
	keysetQuery    = "from: ${date(page.after, '2006-01-02T15:04:05.999999Z07:00')}\nafter_id: ${page.afterId}"
	keysetDayQuery = "from: ${date(page.after, '2006-01-02')}\nto: ${date(window.to, '2006-01-02')}\nafter_id: ${page.afterId}"
)

// keysets are sources that are asked for what comes after a record, by its date and its
// id (R75).
var keysets = []row{
	{
		name:     "R75 KEYSET",
		oracle:   sim.GenericStyle{Paging: "keyset"},
		pack:     `pagination: {type: KEYSET, pageSize: 20, order: "updated asc, id asc", total: ROUGH, end: EMPTY_PAGE}`,
		query:    keysetQuery,
		response: "total:",
		prepare:  crowd,
		rounds:   2,
	},
	{
		name:     "R75 KEYSET, has_more",
		oracle:   sim.GenericStyle{Paging: "keyset"},
		pack:     `pagination: {type: KEYSET, pageSize: 20, order: "updated asc, id asc", total: ROUGH, end: HAS_MORE}`,
		query:    keysetQuery,
		response: "total:\nhasMore: has_more",
		prepare:  crowd,
		rounds:   2,
	},
	{
		name:    "R75 KEYSET, pages as the server likes, deletions are told",
		oracle:  sim.GenericStyle{Paging: "keyset", Sizes: "varying", Most: 17, Deletions: "flag"},
		pack:    `pagination: {type: KEYSET, pageSize: 20, order: "updated asc, id asc", total: ROUGH, end: EMPTY_PAGE}`,
		query:   keysetQuery,
		prepare: crowd,
		response: "total:\n" +
			"deleted: {path: deleted, in: [true]}",
		rounds: 2,
	},
	{
		name:     "R75 KEYSET, by days",
		oracle:   sim.GenericStyle{Paging: "keyset", Dates: "day"},
		pack:     keysetDays + `pagination: {type: KEYSET, pageSize: 20, order: "updated asc, id asc", total: ROUGH, end: EMPTY_PAGE}`,
		query:    keysetDayQuery,
		response: "total:\nupdatedAt: {path: updated, format: '2006-01-02', key: updated}",
		count:    "none",
		records:  900,
		prepare:  crowd,
		rounds:   2,
	},
	{
		name:     "R75 KEYSET in two phases",
		oracle:   sim.GenericStyle{Paging: "keyset"},
		pack:     "batching: {idBatchSize: 10}\n" + `pagination: {type: KEYSET, pageSize: 20, order: "updated asc, id asc", total: ROUGH, end: EMPTY_PAGE}`,
		query:    keysetQuery,
		response: "version:\ntotal:",
		detail:   batchDetail,
		prepare:  crowd,
		rounds:   1,
	},
	{
		name:     "R75 KEYSET, cut while it is walked",
		oracle:   sim.GenericStyle{Paging: "keyset"},
		pack:     "cuts: {pagesSoft: 3, pagesHard: 4}\n" + `pagination: {type: KEYSET, pageSize: 20, order: "updated asc, id asc", total: ROUGH, end: EMPTY_PAGE}`,
		query:    keysetQuery,
		response: "total:",
		records:  200,
		rounds:   1,
		again:    func(int) int { return 0 },
	},
}

// crowd puts more records into one instant than three pages hold.
func crowd(r *run) {
	at := r.Sim.Now().Add(-5 * 24 * time.Hour)
	for range 70 {
		if _, err := r.Sim.AddLate(code, at, at); err != nil {
			r.t.Fatal(err)
		}
	}
}

// TestR75_CompositeWhileTheSourceChanges harvests lists that are asked for what comes
// after (date, id), with more records of one instant than pages hold, while records are
// added, changed and deleted between any two pages, under faults and without: exact.
func TestR75_CompositeWhileTheSourceChanges(t *testing.T) {
	heavy := heavyFaults(t)
	for _, c := range []struct {
		name                   string
		adds, changes, deletes int // before each page
		mix                    sim.Faults
	}{
		{name: "additions", adds: 25},
		{name: "changes", changes: 3},
		{name: "deletions", deletes: 2},
		{name: "more deletions than a page has", deletes: 25},
		{name: "all of it", adds: 25, changes: 2, deletes: 2},
		{name: "all of it and heavy faults", adds: 25, changes: 2, deletes: 2, mix: heavy},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, keysets, func(t *testing.T, w row) {
				bubble(t, func(t *testing.T) {
					if c.deletes > 2 {
						w.records = max(w.records, 400)
					}
					r := newRun(t, w, c.mix)
					m := &mover{r: r, adds: c.adds, changes: c.changes, deletes: c.deletes, most: 12}
					r.Sim.SetOnRequest(m.move)
					r.exact()
					r.Sim.SetOnRequest(nil)
					if m.moved == 0 {
						t.Error("nothing moved")
					}
					for range 2 {
						r.Sim.Advance(4 * 24 * time.Hour)
						r.exact()
					}
				})
			})
		})
	}
}

// TestR75_CompositeOutOfOrderIsNotClaimed: where the list is not sorted by id within an
// instant, or goes by the date alone, records would be passed over. The window stays open
// and says why.
func TestR75_CompositeOutOfOrderIsNotClaimed(t *testing.T) {
	for name, spoil := range map[string]func(w *row){
		"by dates that are finer than those it tells": func(w *row) {
			w.query = "from: ${iso(page.after)}\nafter_id: ${page.afterId}\nstyle: offset"
		},
		"asked by the date alone": func(w *row) { w.query = "from: ${iso(page.after)}\nother: ${page.afterId}" },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := keysets[0]
				spoil(&w)
				r := newRun(t, w, sim.Faults{})
				if err := r.harvest(); err != nil {
					t.Fatal(err)
				}
				if r.rep.Slices.Done > 0 && r.rep.Status == "COMPLETED" {
					t.Fatalf("claimed: %+v", r.rep)
				}
				if n := scalar(t, r, `SELECT COUNT(*) FROM ing_task_run WHERE error LIKE '%not_sorted%'`); n == 0 {
					t.Errorf("does not say why: %+v\n%s", r.rep, r.asked())
				}
			})
		})
	}
}
