package harvest

import "time"

// DefaultSlowPage is how long a page may take in the mean where its source does not say it.
const DefaultSlowPage = 3 * time.Second

// Slowness is how many slices of a partition one process works on at once, by how long
// their pages take: half as many as are in hand where the last ten took too long in the mean, and one
// more again with each ten that did not.
//
//	4 at once, 5 s a page    2 at once, 3.2 s    1 at once, 2 s    2 at once, 2.1 s ...
//	4 at once, 8 s a page    2 at once, 8 s      4 at once         for an hour: it was in vain
//
// A source that takes as long for its pages when it is asked for fewer is not strained by
// us. To ask it for fewer would only take longer.
type Slowness struct {
	// Most is how many there are at once where nothing is slow.
	Most int

	fewer int // how many fewer there are than most
	took  []time.Duration
	// before is the mean for which there are fewer.
	before    time.Duration
	vainUntil time.Time
	// unsettled: there are still more in hand than may be. Pages that were begun before
	// settledAt tell of that time.
	unsettled bool
	settledAt time.Time
}

// vainFor is how long nothing is tried again that did not help.
const vainFor = time.Hour

// Allowed is how many slices may be worked on at once.
func (s *Slowness) Allowed() int { return s.Most - s.fewer }

// Note takes a page into account that took so long, with so many slices in hand, and
// reports whether fewer are worked on from now on. limit is how long a page may take, 0 for
// the platform's.
func (s *Slowness) Note(now time.Time, took, limit time.Duration, inHand int) (lowered bool) {
	if limit == 0 {
		limit = DefaultSlowPage
	}
	if s.unsettled {
		s.unsettled = inHand > s.Allowed()
		s.settledAt = now
		return false
	}
	if now.Add(-took).Before(s.settledAt) {
		return false
	}
	s.took = append(s.took, took)
	if len(s.took) < slowOver {
		return false
	}
	mean := MeanOf(s.took)
	s.took = nil
	switch {
	case mean <= limit:
		s.fewer = max(0, s.fewer-1)
	case s.fewer > 0 && mean > s.before*4/5:
		s.fewer = 0
		s.vainUntil = now.Add(vainFor)
	case min(inHand, s.Allowed()) > 1 && !now.Before(s.vainUntil):
		s.before = mean
		s.unsettled = true
		s.fewer = s.Most - min(inHand, s.Allowed())/2
		return true
	}
	return false
}
