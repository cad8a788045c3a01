package pace

import (
	"slices"
	"time"
)

// SeatFor is how long a seat is held without being renewed. A process that died
// leaves its seats to the others after that time.
const SeatFor = 10 * time.Second

// queueFor is how long a process keeps its place among those that wait for a
// seat without asking again.
const queueFor = 3 * time.Second

// Seat is the right to have one request in flight.
type Seat struct {
	// Fence is its number, which no other seat of the key ever has: who gives
	// back or renews names it, so nobody does so for another's.
	Fence int64     `json:"f"`
	Until time.Time `json:"u"`
}

// Waiter is a process that found no seat free.
type Waiter struct {
	Who   int64     `json:"w"`
	Until time.Time `json:"u"`
}

// Sit takes a seat for a process, or a place among those that wait for one. The
// processes that wait have their turns in the order in which they came. Fence 0
// with ok is no seat: none is needed.
func Sit(s State, l Limit, who int64, now time.Time) (_ State, fence int64, ok bool) {
	seats := l.Seats
	if s.Failing(l) {
		seats = 1
	}
	if seats == 0 {
		return s, 0, true
	}
	s = s.forget(now)
	ahead := slices.IndexFunc(s.Waiters, func(w Waiter) bool { return w.Who == who })
	waits := ahead >= 0
	if !waits {
		ahead = len(s.Waiters)
	}
	if len(s.Seats)+ahead >= seats {
		w := Waiter{who, now.Add(queueFor)}
		switch {
		case !waits:
			s.Waiters = append(s.Waiters, w)
		case s.Waiters[ahead].Until.Sub(now) < queueFor/2: // else it is not worth a write
			s.Waiters[ahead] = w
		}
		return s, 0, false
	}
	if waits {
		s.Waiters = slices.Delete(s.Waiters, ahead, ahead+1)
	}
	s.Fence++
	s.Seats = append(s.Seats, Seat{s.Fence, now.Add(SeatFor)})
	return s, s.Fence, true
}

// Renew holds a seat for longer, and tells how long it is held now: nothing if it
// ran out and others have taken all there are.
func Renew(s State, l Limit, fence int64, now time.Time) (State, time.Duration) {
	s = s.forget(now)
	i := slices.IndexFunc(s.Seats, func(t Seat) bool { return t.Fence == fence })
	if i < 0 {
		if len(s.Seats) >= max(l.Seats, 1) {
			return s, 0
		}
		i = len(s.Seats)
		s.Seats = append(s.Seats, Seat{Fence: fence, Until: now})
	}
	if s.Seats[i].Until.Sub(now) < SeatFor*2/3 { // else it is not worth a write
		s.Seats[i].Until = now.Add(SeatFor)
	}
	return s, s.Seats[i].Until.Sub(now)
}

// Leave gives a seat back. One that ran out is another's by now, or nobody's.
func Leave(s State, fence int64) State {
	s.Seats = slices.DeleteFunc(slices.Clone(s.Seats), func(t Seat) bool { return t.Fence == fence })
	return s
}

// Quit gives a place among those that wait for a seat back.
func Quit(s State, who int64) State {
	s.Waiters = slices.DeleteFunc(slices.Clone(s.Waiters), func(w Waiter) bool { return w.Who == who })
	return s
}

// forget drops seats and places that ran out. What is left shares nothing with s.
func (s State) forget(now time.Time) State {
	s.Seats = slices.DeleteFunc(slices.Clone(s.Seats), func(t Seat) bool { return !t.Until.After(now) })
	s.Waiters = slices.DeleteFunc(slices.Clone(s.Waiters), func(w Waiter) bool { return !w.Until.After(now) })
	return s
}
