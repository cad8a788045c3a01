package styletest

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/sim"
)

// newestWindow is that of a source which can only sort by date.
const newestWindow = `window:
  key: updated
  precision: SECOND
  updatedAt: PATH
  safetyLag: 10m
  baseline: 10d
`

// newestDays is that of one which sorts by the day.
const newestDays = `window:
  key: updated
  precision: DAY
  updatedAt: PATH
  safetyLag: 1d
  align: 1d
  baseline: 10d
`

// asPlanned: the planner has looked at the first page, which is the same for every window.
func asPlanned(int) int { return 1 }

// newest are sources that cannot be asked for a window: their lists have the newest
// records first (R75).
var newest = []row{
	{
		name:     "R75 OFFSET, newest first",
		oracle:   sim.GenericStyle{Paging: "offset", Order: "desc", Filter: "none"},
		pack:     newestWindow + `pagination: {type: OFFSET, pageSize: 20, order: "updated desc, id desc", end: [SORTED_PAST, EMPTY_PAGE]}`,
		query:    "from:\nto:\noffset: ${page.offset}",
		response: "total:",
		count:    "none",
		records:  300,
		span:     60 * 24 * time.Hour,
		rounds:   2,
		again:    asPlanned,
	},
	{
		name:     "R75 OFFSET, newest day first, by days",
		oracle:   sim.GenericStyle{Paging: "offset", Order: "day", Filter: "none"},
		pack:     newestDays + `pagination: {type: OFFSET, pageSize: 20, order: "updated desc, id", end: [SORTED_PAST, EMPTY_PAGE]}`,
		query:    "from:\nto:\noffset: ${page.offset}",
		response: "total:",
		count:    "none",
		records:  400,
		span:     60 * 24 * time.Hour,
		rounds:   2,
		again:    asPlanned,
	},
	{
		name:     "R75 OFFSET, newest first, some a little out of place",
		oracle:   sim.GenericStyle{Paging: "offset", Order: "near", Filter: "none"},
		pack:     newestWindow + `pagination: {type: OFFSET, pageSize: 20, order: "updated desc, id", end: [SORTED_PAST, EMPTY_PAGE]}`,
		query:    "from:\nto:\noffset: ${page.offset}",
		response: "total:",
		count:    "none",
		records:  400,
		span:     60 * 24 * time.Hour,
		rounds:   2,
		again:    asPlanned,
	},
	{
		name:     "R75 TOKEN, newest first",
		oracle:   sim.GenericStyle{Paging: "token", Order: "desc", Filter: "none"},
		pack:     newestWindow + `pagination: {type: TOKEN, pageSize: 20, order: "updated desc, id desc", end: [SORTED_PAST, NO_TOKEN]}`,
		query:    "from:\nto:\ntoken: ${page.token}",
		response: "nextToken: next_token\ntotal:",
		count:    "none",
		records:  300,
		span:     60 * 24 * time.Hour,
		rounds:   2,
		again:    asPlanned,
	},
	{
		name:     "R75 PAGE, newest first, in two walks",
		oracle:   sim.GenericStyle{Paging: "page", Base: 1, Order: "desc", Filter: "none"},
		pack:     newestWindow + `pagination: {type: PAGE, pageSize: 20, firstPage: 1, order: "updated desc, id desc", end: [SORTED_PAST, EMPTY_PAGE]}`,
		query:    "from:\nto:\npage: ${page.no}",
		response: "total:",
		count:    "none",
		records:  300,
		span:     60 * 24 * time.Hour,
		rounds:   2,
		again:    func(pages int) int { return asPlanned(pages) + confirmed(pages) },
	},
	{
		name:     "R75 a list that ends within the window",
		oracle:   sim.GenericStyle{Paging: "offset", Order: "desc", Filter: "none"},
		pack:     newestWindow + `pagination: {type: OFFSET, pageSize: 20, order: "updated desc, id desc", end: [SORTED_PAST, EMPTY_PAGE]}`,
		query:    "from:\nto:\noffset: ${page.offset}",
		response: "total:",
		count:    "none",
		records:  150,
		span:     5 * 24 * time.Hour,
		rounds:   1,
		again:    asPlanned,
	},
	{
		name:     "R75 two phases, newest first",
		oracle:   sim.GenericStyle{Paging: "offset", Order: "desc", Filter: "none"},
		pack:     newestWindow + "batching: {idBatchSize: 10}\n" + `pagination: {type: OFFSET, pageSize: 20, order: "updated desc, id desc", end: [SORTED_PAST, EMPTY_PAGE]}`,
		query:    "from:\nto:\noffset: ${page.offset}",
		response: "version:\ntotal:",
		count:    "none",
		detail:   batchDetail,
		records:  300,
		span:     60 * 24 * time.Hour,
		rounds:   1,
		again:    asPlanned,
	},
}

// heavyFaults are the heavy faults that any source can have.
func heavyFaults(t *testing.T) sim.Faults {
	t.Helper()
	heavy, err := sim.ParseFaults("heavy")
	if err != nil {
		t.Fatal(err)
	}
	heavy.Sources = nil
	delete(heavy.Rates, sim.Viewer400)
	return heavy
}

// TestR75_NewestFirstWhileTheSourceChanges harvests lists that have their newest
// records first, while records are added, changed and deleted between any two pages,
// under faults and without: exact all the same.
func TestR75_NewestFirstWhileTheSourceChanges(t *testing.T) {
	heavy := heavyFaults(t)
	for _, c := range []struct {
		name                   string
		adds, changes, deletes int // before each page
		mix                    sim.Faults
	}{
		{name: "additions", adds: 3},
		{name: "more additions than a page has", adds: 25},
		{name: "changes", changes: 3},
		{name: "deletions", deletes: 2},
		{name: "more deletions than a page has", deletes: 25},
		{name: "all of it", adds: 2, changes: 2, deletes: 2},
		{name: "all of it and heavy faults", adds: 2, changes: 2, deletes: 2, mix: heavy},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, newest, func(t *testing.T, w row) {
				bubble(t, func(t *testing.T) {
					w.rounds = 0
					if c.deletes > 2 {
						w.records *= 4
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
						if w.oracle.Order != "near" {
							r.exact()
							continue
						}
						if r.unsorted() {
							return // so much at once is further from its place than a page, and not claimed
						}
						r.complete(nil)
					}
				})
			})
		})
	}
}

// unsorted harvests, and reports whether the list was found to be out of order. Then
// nothing of the window may be claimed.
func (r *run) unsorted() bool {
	r.t.Helper()
	before := r.rep.Watermark.String()
	if err := r.harvest(); err != nil {
		r.t.Fatal(err)
	}
	if r.rep.Status == "COMPLETED" {
		return false
	}
	said := scalar(r.t, r, `SELECT COUNT(*) FROM ing_task_run WHERE error LIKE '%not_sorted%'`)
	if said == 0 || r.rep.Watermark.String() != before || r.rep.Slices.Done > 0 {
		r.t.Errorf("not completed for another cause, or claimed: %+v", r.rep)
	}
	return true
}

// mover changes the truth before pages are answered.
type mover struct {
	r                      *run
	adds, changes, deletes int
	moved, most            int // pages before which it does
}

func (m *mover) move(q *http.Request) {
	if !isPage(q) || m.moved >= m.most {
		return
	}
	m.moved++
	now := m.r.Sim.Now()
	for range m.adds {
		if _, err := m.r.Sim.AddLate(code, now, now); err != nil {
			m.r.t.Error(err)
		}
	}
	// What is nearest to the top of the list moves all that is below.
	var ids []string
	for row := range m.r.Sim.Truth(code) {
		if !row.Deleted && row.UpdatedAt.Before(now) {
			ids = append(ids, row.ID)
		}
	}
	at := m.moved * 7
	next := func() string {
		at += 13
		return ids[at%len(ids)]
	}
	for range m.changes {
		if err := m.r.Sim.Touch(code, next()); err != nil {
			m.r.t.Error(fmt.Errorf("change: %w", err))
		}
	}
	gone := map[string]bool{}
	for range m.deletes {
		id := next()
		if gone[id] {
			continue
		}
		gone[id] = true
		if err := m.r.Sim.Delete(code, id); err != nil {
			m.r.t.Error(fmt.Errorf("delete: %w", err))
		}
	}
}

// TestR75_WhatLiesOutsideIsCountedAsFiltered: what a list has besides the window is
// counted, and neither stored nor taken for read.
func TestR75_WhatLiesOutsideIsCountedAsFiltered(t *testing.T) {
	each(t, newest, func(t *testing.T, w row) {
		bubble(t, func(t *testing.T) {
			r := newRun(t, w, sim.Faults{})
			now := r.Sim.Now()
			for range 3 { // newer than the window, which ends before now
				if _, err := r.Sim.AddLate(code, now, now); err != nil {
					t.Fatal(err)
				}
			}
			r.exact()
			stored := scalar(t, r, `SELECT COUNT(*) FROM ing_record`)
			c := r.rep.Records
			if c.Filtered < 3 || c.Inserted != int64(stored) {
				t.Errorf("filtered %d, %d new of %d that are stored", c.Filtered, c.Inserted, stored)
			}
			seen := scalar(t, r, `SELECT SUM(filtered) FROM ing_task_run_batch`)
			if int64(seen) != c.Filtered {
				t.Errorf("pages have filtered %d, the plan %d", seen, c.Filtered)
			}
		})
	})
}

// TestR75_AListOutOfOrderIsNotClaimed: where a list is not sorted as its pack says, no
// page proves anything. The window stays open, and says why.
func TestR75_AListOutOfOrderIsNotClaimed(t *testing.T) {
	for _, order := range []string{"none", "asc"} {
		t.Run(order, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newest[0]
				w.oracle.Order = order
				r := newRun(t, w, sim.Faults{})
				if err := r.harvest(); err != nil {
					t.Fatal(err)
				}
				if r.rep.Slices.Done > 0 {
					t.Fatalf("claimed: %+v", r.rep)
				}
				if !r.unsorted() {
					t.Errorf("claimed at last: %+v", r.rep)
				}
			})
		})
	}
}
