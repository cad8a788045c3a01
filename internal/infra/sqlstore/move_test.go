package sqlstore_test

import (
	"slices"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// movedFor compares what is stored of why cursors moved, oldest first.
func (l *Lab) movedFor(want ...string) {
	l.Helper()
	var got []string
	for i := range l.Int(`SELECT COUNT(*) FROM ing_cursor_event`) {
		got = append(got, l.Text(`SELECT record_remarks FROM ing_cursor_event ORDER BY id LIMIT 1 OFFSET ?`, i))
	}
	if !slices.Equal(got, want) {
		l.Errorf("cursors moved for\n%q, want\n%q", got, want)
	}
}

// movesOfTheLab are the moves of its only cursor, newest first.
func (l *Lab) movesOfTheLab(wanted control.Moves) []control.CursorEvent {
	l.Helper()
	wanted.Limit = 99
	events, err := l.Store.CursorEvents(l.ctx(), harvest.CursorID(l.Int(`SELECT id FROM ing_cursor`)), wanted)
	if err != nil {
		l.Fatal(err)
	}
	return events
}

// movesSayWhy: each move of a cursor says why it was made, by which page of which run,
// and what came late where it passed; one of an older version says what it said.
func movesSayWhy(l *Lab) {
	l.Plan(0, 3)
	jobs := l.Lease(3)
	l.Refuse(jobs[0])
	l.Walk(jobs[1])
	accepted := source.Audit{Actor: "lab", Action: "accept", Object: prov, Reason: `lost "upstream"`}
	if _, err := l.Store.AcceptGap(l.ctx(), jobs[0].Slice, accepted); err != nil {
		l.Fatal(err)
	}
	r := l.Start(jobs[2])
	r.BatchNo = 7
	l.Commit(jobs[2], Last(l.Open(jobs[2], r)))
	l.movedFor(`{"reason":"HARVEST"}`, `{"reason":"GAP_ACCEPTED","note":"gap accepted: lost \"upstream\""}`, `{"reason":"HARVEST","batchNo":7}`)
	moves := l.movesOfTheLab(control.Moves{})
	if len(moves) != 3 {
		l.Fatalf("%d moves", len(moves))
	}
	if e := moves[0]; e.Reason != "HARVEST" || e.BatchNo != 7 || e.Late != nil || e.Remarks != "" {
		l.Errorf("a page moved it: %+v", e)
	}
	if e := moves[1]; e.Reason != "GAP_ACCEPTED" || e.BatchNo != 0 || e.Remarks != `gap accepted: lost "upstream"` {
		l.Errorf("a person moved it: %+v", e)
	}
	for _, older := range []string{"gap accepted: lost", `{"not":"ours"}`} {
		l.Exec(`UPDATE ing_cursor_event SET record_remarks=?`, older)
		if e := l.movesOfTheLab(control.Moves{})[1]; e.Reason != "" || e.Remarks != older {
			l.Errorf("an older version wrote %q: %+v", older, e)
		}
	}
	l.Exec(`UPDATE ing_cursor_event SET record_remarks=NULL`)
	if e := l.movesOfTheLab(control.Moves{})[1]; e.Reason != "" || e.Remarks != "" {
		l.Errorf("an older version wrote nothing: %+v", e)
	}
}

// movesOfATime: the moves of a cursor can be asked for by the time at which they were
// made, a half-open one either end of which may be left out.
func movesOfATime(l *Lab) {
	l.Plan(0, 3)
	for _, j := range l.Lease(3) {
		l.Walk(j)
	}
	first := l.Int(`SELECT MIN(id) FROM ing_cursor_event`)
	for i := range 4 {
		l.Exec(`UPDATE ing_cursor_event SET event_time=? WHERE id=?`, "2026-03-0"+string(rune('1'+i))+" 00:00:00.000000", first+int64(i))
	}
	day := func(n int) time.Time { return time.Date(2026, time.March, n, 0, 0, 0, 0, time.UTC) }
	for _, c := range []struct {
		from, to time.Time
		days     []int
	}{
		{days: []int{4, 3, 2, 1}},
		{from: day(3), days: []int{4, 3}},
		{to: day(3), days: []int{2, 1}},
		{from: day(2), to: day(4), days: []int{3, 2}},
		{from: day(5)},
	} {
		var got []int
		for _, e := range l.movesOfTheLab(control.Moves{From: c.from, To: c.to}) {
			got = append(got, e.At.Day())
		}
		if !slices.Equal(got, c.days) {
			l.Errorf("moves in [%s, %s): %v, want %v", c.from, c.to, got, c.days)
		}
		timeline, err := l.Store.CursorTimeline(l.ctx(), []harvest.CursorID{harvest.CursorID(l.Int(`SELECT id FROM ing_cursor`))}, c.from, c.to, 0, 9)
		slices.Reverse(c.days)
		if err != nil || !slices.EqualFunc(timeline, c.days, func(e control.TimelineEvent, n int) bool { return e.At.Day() == n }) {
			l.Errorf("the timeline in [%s, %s) has %d moves, want %v (%v)", c.from, c.to, len(timeline), c.days, err)
		}
	}
}
