package styletest

import (
	"testing"
	"time"

	"github.com/papertrace/patra/internal/sim"
)

// idWindow is that of a source which can be asked for ids that grow.
const idWindow = `window:
  key: sequence
  strategy: ID_RANGE
  updatedAt: PATH
  target: 60
`

const headEndpoint = `usage: HEAD
path: /items
format: JSON
query: {filter: id, only: head}
response: {total: greatest}
`

// numbered are sources that are harvested by ids that grow (R75).
var numbered = []row{
	{
		name:    "R75 ids, by OFFSET",
		oracle:  sim.GenericStyle{Paging: "offset", Filter: "id"},
		pack:    idWindow + `pagination: {type: OFFSET, pageSize: 20, order: "sequence asc", total: ROUGH, end: EMPTY_PAGE}`,
		query:   "from:\nto:\nfirst: ${range.from}\nlast: ${range.last}\noffset: ${page.offset}",
		count:   "none",
		detail:  headEndpoint,
		records: 200,
		rounds:  2,
	},
	{
		name:     "R75 ids, by PAGE, deletions are told",
		oracle:   sim.GenericStyle{Paging: "page", Base: 1, Filter: "id", Deletions: "flag"},
		pack:     idWindow + `pagination: {type: PAGE, pageSize: 20, firstPage: 1, total: ROUGH, end: EMPTY_PAGE}`,
		query:    "from:\nto:\nfirst: ${range.from}\nlast: ${range.last}\npage: ${page.no}",
		response: "deleted: {path: deleted, in: [true]}",
		count:    "none",
		detail:   headEndpoint,
		records:  200,
		rounds:   2,
		again:    confirmed,
	},
	{
		name:     "R75 ids, by SCROLL",
		oracle:   sim.GenericStyle{Paging: "scroll", Filter: "id"},
		pack:     idWindow + `pagination: {type: SCROLL, pageSize: 20, total: EXACT, end: EMPTY_PAGE}`,
		query:    "from:\nto:\nfirst: ${range.from}\nlast: ${range.last}\nscroll_id: ${page.token}",
		response: "nextToken: scroll_id",
		count:    "none",
		detail:   headEndpoint,
		records:  200,
		rounds:   2,
	},
	{
		name:    "R75 ids, more than a walk can reach",
		oracle:  sim.GenericStyle{Paging: "offset", Filter: "id", Depth: 40, Beyond: "cut"},
		pack:    "window:\n  key: sequence\n  strategy: ID_RANGE\n  updatedAt: PATH\n  target: 40\n" + `pagination: {type: OFFSET, pageSize: 20, order: "sequence asc", total: ROUGH, end: EMPTY_PAGE, maxItems: 40}`,
		query:   "from:\nto:\nfirst: ${range.from}\nlast: ${range.last}\noffset: ${page.offset}",
		count:   "none",
		detail:  headEndpoint,
		records: 200,
		rounds:  1,
		again:   func(int) int { return 1 }, // a page of one record begins with what it ends with
	},
}

// TestR75_IDsWhileTheSourceChanges harvests sources by ids that grow while records are
// added, changed and deleted between any two pages, under faults and without: exact.
func TestR75_IDsWhileTheSourceChanges(t *testing.T) {
	heavy := heavyFaults(t)
	for _, c := range []struct {
		name                   string
		adds, changes, deletes int // before each page
		mix                    sim.Faults
	}{
		{name: "additions", adds: 25},
		{name: "changes", changes: 3},
		{name: "deletions", deletes: 2},
		{name: "all of it", adds: 2, changes: 2, deletes: 2},
		{name: "all of it and heavy faults", adds: 2, changes: 2, deletes: 2, mix: heavy},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, numbered, func(t *testing.T, w row) {
				bubble(t, func(t *testing.T) {
					r := newRun(t, w, c.mix)
					m := &mover{r: r, adds: c.adds, changes: c.changes, deletes: c.deletes, most: 12}
					r.Sim.SetOnRequest(m.move)
					r.exact()
					r.Sim.SetOnRequest(nil)
					if m.moved == 0 {
						t.Error("nothing moved")
					}
					r.Sim.Advance(4 * 24 * time.Hour)
					r.exact()
				})
			})
		})
	}
}

// TestR75_TheGreatestIDIsFrozenWithThePlan: what comes while a plan is worked on has
// greater ids, and is none of its business.
func TestR75_TheGreatestIDIsFrozenWithThePlan(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRun(t, numbered[0], sim.Faults{})
		m := &mover{r: r, adds: 5, most: 100}
		r.Sim.SetOnRequest(m.move)
		r.exact()
		r.Sim.SetOnRequest(nil)
		now := r.Sim.Now()
		added := 0
		for row := range r.Sim.Truth(code) {
			if row.UpdatedAt.Equal(now) {
				added++
			}
		}
		greatest := r.rep.Watermark.ID() - 1
		if added == 0 || r.rep.Records.Inserted > greatest {
			t.Errorf("%d came meanwhile, %d are stored of a plan up to id %d", added, r.rep.Records.Inserted, greatest)
		}
		for _, q := range r.Sim.Requests() {
			if last := q.Params.Get("last"); q.Params.Get("only") != "head" && len(last) > len(r.rep.Watermark.String()) {
				t.Errorf("asked up to %s, though the plan ends at %s", last, r.rep.Watermark)
			}
		}
	})
}
