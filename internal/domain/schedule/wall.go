package schedule

import "time"

// wallOf is what the clocks of t's zone show, as if it were UTC.
func wallOf(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// firstShown is when the clocks of a zone first show a wall time, and if they
// skip it the instant at which they do.
func firstShown(wall time.Time, zone *time.Location) time.Time {
	y, m, d := wall.Date()
	t := time.Date(y, m, d, wall.Hour(), wall.Minute(), wall.Second(), wall.Nanosecond(), zone)
	start, end := t.ZoneBounds()
	if wallOf(t).Equal(wall) {
		if first := wall.Add(-offsetBefore(start)); !start.IsZero() && first.Before(start) && wallOf(first.In(zone)).Equal(wall) {
			return first
		}
		return t.UTC()
	}
	for _, change := range []time.Time{start, end} { // skipped at one of the two
		if !change.IsZero() && !wall.Before(change.Add(offsetBefore(change))) && wall.Before(change.Add(offset(change))) {
			return change.UTC()
		}
	}
	return t.UTC()
}

// lastShown is like firstShown for the last time they show it.
func lastShown(wall time.Time, zone *time.Location) time.Time {
	t := firstShown(wall, zone)
	_, end := t.In(zone).ZoneBounds()
	if again := wall.Add(-offset(end)); !end.IsZero() && !again.Before(end) && wallOf(again.In(zone)).Equal(wall) {
		return again
	}
	return t
}

func offset(t time.Time) time.Duration {
	_, s := t.Zone()
	return time.Duration(s) * time.Second
}

func offsetBefore(t time.Time) time.Duration { return offset(t.Add(-time.Second)) }
