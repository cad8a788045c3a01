package pace

import "time"

// Told is the budget of a provider by its own words: so many units until it is filled
// again. Whoever else uses the same key is seen in it, and what we miscounted.
type Told struct {
	Until time.Time `json:"u"`
	// Left is what is left beside the slots that were reserved since. Most is the most
	// that was ever left in this window.
	Left int64 `json:"l"`
	Most int64 `json:"m"`
}

// holds reports whether the budget was told for a time that is not over.
func (t Told) holds(now time.Time) bool { return now.Before(t.Until) }

// admits reports whether a request of the claim may go out before the budget is filled
// again. What is kept back of it is a part of the most there ever was.
func (t Told) admits(l Limit, cost int64) bool {
	least := int64(0)
	if l.Claim.CanWait {
		least = int64(l.Reserve * float64(t.Most))
	}
	return t.Left-cost >= least
}

// Tell takes the provider's word for what is left to us until its budget is filled
// again. Within one window it only takes away: slots that were reserved meanwhile and
// requests in flight are not in it yet.
func Tell(s State, now time.Time, left int64, in time.Duration) State {
	if in <= 0 || left < 0 {
		return s
	}
	until := now.Add(min(in, maxReset) + resetSlack)
	left = max(0, left-int64(len(s.Seats)))
	if !s.Told.holds(now) || until.Sub(s.Told.Until) > 2*resetSlack {
		s.Told = Told{Until: until, Left: left, Most: left}
		return s
	}
	s.Told.Left = min(s.Told.Left, left)
	return s
}
