package harvest

import "time"

// How far the clock of an upstream may be off the store's and still be believed.
// A host that stands in for the source, a simulator or a mirror, may live in a
// time of its own; the source itself does not.
const (
	maxSkew        = 24 * time.Hour
	maxStandInSkew = 10 * 365 * 24 * time.Hour
)

// ClockBelieved reports whether windows may end by a clock that is so far ahead of
// the store's, or behind it if below zero. One that says 1970 would end the first
// window before anything was published, and leave half a century to the next.
func ClockBelieved(skew time.Duration, standIn bool) bool {
	if standIn {
		return skew.Abs() <= maxStandInSkew
	}
	return skew.Abs() <= maxSkew
}
