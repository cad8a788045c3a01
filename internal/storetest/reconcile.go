package storetest

import (
	"slices"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// countsProven: only windows that the watermark has passed count as proven, those
// that were accepted unread never; and of the records in a window those that the
// upstream would still count.
func countsProven(l *Lab) {
	l.Plan(0, 4)
	jobs := l.Lease(4)
	gone := Rec("gone", hour(0), hour(9), "gone")
	gone.Status = harvest.RecordGone
	retracted := Rec("retracted", hour(0), hour(9), "retracted")
	retracted.Status = harvest.RecordRetracted
	l.Walk(jobs[0], Rec("a", hour(0), hour(9), "a"), gone, retracted, Rec("edge", hour(1), hour(9), "edge"))
	l.Walk(jobs[2], Rec("b", hour(2), hour(9), "b"))
	proven := func(want ...harvest.Window) {
		l.Helper()
		if got, err := l.Store.Proven(l.ctx(), ns); err != nil || !slices.Equal(got, want) {
			l.Errorf("proven are %v, %v, want %v", got, err, want)
		}
	}
	first, third := harvest.Window{From: hour(0), To: hour(1)}, harvest.Window{From: hour(2), To: hour(3)}
	proven(first)
	l.Refuse(jobs[1])
	if _, err := l.Store.AcceptGap(l.ctx(), jobs[1].Slice, accepted); err != nil {
		l.Fatal(err)
	}
	proven(first, third)
	got, err := l.Store.CountUpdated(l.ctx(), prov, recordType, []harvest.Window{first, third})
	if err != nil || !slices.Equal(got, []int64{2, 1}) {
		l.Errorf("counted %v, %v", got, err)
	}
}
