package harvest

import (
	"slices"
	"time"
)

// A source that cannot be asked for a window, but lists its records by the date of
// their change, newest first, is read from the top of that list (R75):
//
//	top |--newer than the window--|-------window-------|--a page before it--| ...
//	         left out                    stored              the end
//
// While it is read, records that are added or changed come in at the top and push
// the others down: some come twice, none is lost. Deletions pull the others up past
// the place that the next page is asked for. So pages overlap by a record, and a page
// counts only if it has at least one record that came before: what came before lies
// above all that is still to come, so the page begins no further down than that.

// stepsBack reports whether the page begins behind the place up to which everything
// was read. Then nothing of it counts, and the walk goes back by a page to find that
// place again. A page from the top of the list always joins.
func (s *step) stepsBack(seen func(uint64) bool) bool {
	if !s.paging.NewestFirst || !s.paging.Seam() {
		return false
	}
	joins := s.from.Offset == 0 || slices.ContainsFunc(s.page.IDs, func(id string) bool { return seen(IDHash(id)) })
	if joins {
		s.to.Back = 0
		return false
	}
	s.to.Back++
	s.to.Pages++
	s.to.Offset = max(0, s.from.Offset-int64(max(1, s.paging.Size)))
	return true
}

// followDates notes how many records in a row lie before the window, and refuses a
// list that is not in order. It takes the ids that are new to the walk: a record that
// comes again was pushed down, and tells nothing.
//
// A list may be ordered more coarsely than its dates tell, so that neighbours are the
// wrong way round. That is no harm: the walk ends after a whole page before the window.
// A record of the window that is newer, by a grain of its source's time, than those of
// two pages before is more than that, and then no page proves that nothing of the
// window comes later.
func (s *step) followDates(i int, id string) {
	at := Instant(s.page.updatedAt(i))
	w := s.paging.Window
	switch {
	case at.IsZero():
		s.to.Past = 0
		return
	case at.Before(w.From):
		s.to.Past++
	default:
		s.to.Past = 0
	}
	if w.Contains(at) {
		s.to.Within++
		if s.paging.Confirms() {
			s.to.Set = s.to.Set.add(id, at)
		}
		if low := s.from.LowBefore; !low.IsZero() && s.paging.Calendar.Floor(at).After(low) {
			s.to.Unsorted = true
		}
	}
	if s.to.Top.IsZero() {
		s.to.Top = s.paging.Calendar.Floor(at)
	}
	if s.to.Low.IsZero() || at.Before(s.to.Low) {
		s.to.Low = at
	}
}

// refuseUnsorted leaves a walk over a list that is declared to have its newest
// records first, and has not.
func (s *step) refuseUnsorted() error {
	s.to.LowBefore = s.from.Low
	if s.to.Unsorted {
		return walkFault(RestartWalk, CodeNotSorted)
	}
	return nil
}

// sortedPast reports whether the walk over a list that has its newest records first is
// past the window: everything on the page lies before it, and with what came last no
// fewer records than a page was asked to hold. By less, such as one record that is in
// the wrong place, or a page that came short, nothing is proven. Nor is it where the
// list has not been seen to go back in time: a source may pass over the order that it
// is asked for.
func (s *step) sortedPast() bool {
	if !s.paging.NewestFirst || len(s.page.IDs) == 0 || s.to.Past < int64(s.paging.Size) {
		return false
	}
	var before time.Time
	rises, falls := 0, 0
	for i := range s.page.IDs {
		at := Instant(s.page.updatedAt(i))
		if at.IsZero() || !at.Before(s.paging.Window.From) {
			return false
		}
		at = s.paging.Calendar.Floor(at)
		switch {
		case i == 0:
		case at.After(before):
			rises++
		case at.Before(before):
			falls++
		}
		before = at
	}
	return 2*rises <= falls && before.Before(s.to.Top)
}

// Outside reports whether an item that came with a page is none of what the slice asks
// for, because its source cannot be asked for a window. An item without a date may
// be, and is kept.
func (p Paging) Outside(updatedAt time.Time) bool {
	return p.NewestFirst && !updatedAt.IsZero() && !p.Window.Contains(Instant(updatedAt))
}
