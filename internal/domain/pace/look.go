package pace

import "time"

// Allowed is how many requests a second are allowed at now: what is configured, or
// less after what the upstream said. 0 means without a limit.
func (s State) Allowed(l Limit, now time.Time) float64 {
	perSecond, _ := Relax(s, l, now).rate(l)
	return perSecond
}

// RoomAt is the first instant, not before now, at which one more request fits into a
// quota.
func (s State) RoomAt(q Quota, now time.Time) time.Time {
	first, _ := findLedger(s.openLedgers([]Quota{q}, now), q.Window, q.Zone).firstRoom(now, terms{hard: q.Limit, soft: q.Limit}, 1)
	return first
}

// Used is how much of a quota counts at now.
func (s State) Used(q Quota, now time.Time) (n int64) {
	used := findLedger(s.openLedgers([]Quota{q}, now), q.Window, q.Zone)
	for _, c := range used.Used {
		n += c[1]
	}
	return n
}
