package pace

import (
	"slices"
	"time"
)

// SeatFor is how long a seat is held without being renewed. A process that died
// leaves its seats to the others after that time.
const SeatFor = 10 * time.Second

// queueFor is how long a process keeps its place in the queue for a seat without asking
// again.
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

// TakeSeat takes a seat for a process, or a place in the queue of those that wait for
// one, which are served in the order in which they came. ok with fence 0 means that no
// seat is needed.
func TakeSeat(s State, l Limit, who int64, now time.Time) (_ State, fence int64, ok bool) {
	seats := l.Seats
	if s.Failing(l) || s.inReserve(l, now) {
		seats = 1
	}
	if seats == 0 {
		return s, 0, true
	}
	s = s.dropExpired(now)
	ahead := slices.IndexFunc(s.Waiters, func(w Waiter) bool { return w.Who == who })
	queued := ahead >= 0
	if !queued {
		ahead = len(s.Waiters)
	}
	if len(s.Seats)+ahead >= seats {
		w := Waiter{who, now.Add(queueFor)}
		switch {
		case !queued:
			s.Waiters = append(s.Waiters, w)
		case s.Waiters[ahead].Until.Sub(now) < queueFor/2: // else it is not worth a write
			s.Waiters[ahead] = w
		}
		return s, 0, false
	}
	if queued {
		s.Waiters = slices.Delete(s.Waiters, ahead, ahead+1)
	}
	s.Fence++
	s.Seats = append(s.Seats, Seat{s.Fence, now.Add(SeatFor)})
	return s, s.Fence, true
}

// RenewSeat holds a seat for longer, and tells for how long it is held now: 0 if it ran
// out and others have taken all there are.
func RenewSeat(s State, l Limit, fence int64, now time.Time) (State, time.Duration) {
	s = s.dropExpired(now)
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

// GiveSeatBack ends the right to a seat. One that ran out is another's by now, or
// nobody's, and nothing changes.
func GiveSeatBack(s State, fence int64) State {
	s.Seats = slices.DeleteFunc(slices.Clone(s.Seats), func(t Seat) bool { return t.Fence == fence })
	return s
}

// LeaveQueue gives up a place in the queue for a seat.
func LeaveQueue(s State, who int64) State {
	s.Waiters = slices.DeleteFunc(slices.Clone(s.Waiters), func(w Waiter) bool { return w.Who == who })
	return s
}

// dropExpired drops seats and places in the queue that ran out. What is left shares no
// memory with s.
func (s State) dropExpired(now time.Time) State {
	s.Seats = slices.DeleteFunc(slices.Clone(s.Seats), func(t Seat) bool { return !t.Until.After(now) })
	s.Waiters = slices.DeleteFunc(slices.Clone(s.Waiters), func(w Waiter) bool { return !w.Until.After(now) })
	return s
}
