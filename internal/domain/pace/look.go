package pace

import "time"

// Allowed is how many requests a second are allowed at now: what is configured, or
// less after what the upstream said. 0 means without a limit.
func (s State) Allowed(l Limit, now time.Time) float64 {
	perSecond, _ := Relax(s, l, now).rate(l)
	return perSecond
}

// Used is how much of a quota counts at now.
func (s State) Used(q Quota, now time.Time) (n int64) {
	used := findLedger(s.openLedgers([]Quota{q}, now), q.Window, q.Zone)
	for _, c := range used.Used {
		n += c[1]
	}
	return n
}
