package harvest

import "time"

// Precision is the finest grain a source's date filter understands.
type Precision string

// The precisions a source may declare.
const (
	PrecisionDay    Precision = "DAY"
	PrecisionSecond Precision = "SECOND"
	PrecisionMilli  Precision = "MILLI"
	PrecisionMicro  Precision = "MICRO"
)

// Valid reports whether p is a known precision.
func (p Precision) Valid() bool {
	switch p {
	case PrecisionDay, PrecisionSecond, PrecisionMilli, PrecisionMicro:
		return true
	}
	return false
}

// Calendar says how a source counts time: its grain, and the zone its days
// belong to. All cutting of windows goes through it, so that every cut falls
// on a grain and a day is a day of the source's zone, however long it lasts.
// A window may begin or end within a grain, where one planned by another
// calendar ended: it answers for what it says, and asks for whole grains.
type Calendar struct {
	Precision Precision
	Zone      *time.Location
}

func (c Calendar) zone() *time.Location {
	if c.Zone == nil {
		return time.UTC
	}
	return c.Zone
}

// Floor returns the start of the grain that holds t.
func (c Calendar) Floor(t time.Time) time.Time {
	switch c.Precision {
	case PrecisionDay:
		y, m, d := t.In(c.zone()).Date()
		return c.day(y, m, d)
	case PrecisionSecond:
		return Instant(t).Truncate(time.Second)
	case PrecisionMilli:
		return Instant(t).Truncate(time.Millisecond)
	default:
		return Instant(t)
	}
}

// day returns the first instant of a day. Where clocks change at midnight, the
// day may begin at one o'clock, or midnight may come twice: time.Date promises
// neither to find the first nor to stay in the day.
func (c Calendar) day(y int, m time.Month, d int) time.Time {
	utc := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	_, before := utc.Add(-24 * time.Hour).In(c.zone()).Zone()
	_, after := utc.Add(24 * time.Hour).In(c.zone()).Zone()
	// The greater the offset, the earlier its midnight.
	first := utc.Add(-time.Duration(max(before, after)) * time.Second)
	if first.In(c.zone()).Day() == utc.Day() {
		return first
	}
	return utc.Add(-time.Duration(min(before, after)) * time.Second)
}

// Ceil returns the start of the first grain at or after t.
func (c Calendar) Ceil(t time.Time) time.Time {
	f := c.Floor(t)
	if f.Equal(Instant(t)) {
		return f
	}
	return c.Step(f, 1)
}

// Step moves a grain boundary by n grains.
func (c Calendar) Step(t time.Time, n int) time.Time {
	switch c.Precision {
	case PrecisionDay:
		y, m, d := t.In(c.zone()).Date()
		return c.day(y, m, d+n)
	case PrecisionSecond:
		return Instant(t.Add(time.Duration(n) * time.Second))
	case PrecisionMilli:
		return Instant(t.Add(time.Duration(n) * time.Millisecond))
	default:
		return Instant(t.Add(time.Duration(n) * time.Microsecond))
	}
}

// Add moves t by d and lands on a boundary, always making at least the progress
// to the next one when d is positive. Whole days are added on the
// calendar, so a day that lasts 23 or 25 hours is still one step.
func (c Calendar) Add(t time.Time, d time.Duration) time.Time {
	if c.Precision == PrecisionDay {
		return c.Step(t, max(1, int(d/(24*time.Hour))))
	}
	n := c.Floor(t.Add(d))
	if !n.After(t) {
		n = c.Step(c.Floor(t), 1)
	}
	return n
}

// Mid returns the boundary nearest the middle of w, or false if w lies in one grain.
func (c Calendar) Mid(w Window) (time.Time, bool) {
	if c.Precision == PrecisionDay {
		w = c.Grains(w)
		n := c.days(w)
		if n < 2 {
			return time.Time{}, false
		}
		return c.Step(w.From, n/2), true
	}
	m := c.Floor(w.From.Add(w.Duration() / 2))
	if !m.After(w.From) {
		m = c.Step(c.Floor(w.From), 1)
	}
	if !m.Before(w.To) {
		return time.Time{}, false
	}
	return m, true
}

func (c Calendar) days(w Window) int {
	n := int(w.Duration()/(24*time.Hour)) + 1
	for n > 0 && c.Step(w.From, n).After(w.To) {
		n--
	}
	return n
}

// Grains returns the grains that w lies in: what a source is asked for.
func (c Calendar) Grains(w Window) Window { return Window{From: c.Floor(w.From), To: c.Ceil(w.To)} }
