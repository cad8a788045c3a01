package template

import "time"

// Unit is a part of an instant, as the calendar and the clock have it.
type Unit string

// The units.
const (
	Year        Unit = "year"
	Month       Unit = "month"
	Day         Unit = "day"
	Hour        Unit = "hour"
	Minute      Unit = "minute"
	Second      Unit = "second"
	Millisecond Unit = "millisecond"
	Microsecond Unit = "microsecond"
)

// Units are all of them, the coarsest first.
var Units = []Unit{Year, Month, Day, Hour, Minute, Second, Millisecond, Microsecond}

// layoutSample begins its year, on a Monday.
var layoutSample = time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)

// layoutSteps lead from the sample to instants that differ from it in that unit. The second
// is to the same day of the week, or to the same hour of a clock of twelve: who writes
// no more than these has not told the unit.
var layoutSteps = map[Unit][]time.Time{
	Year:        {layoutSample.AddDate(1, 0, 0), layoutSample.AddDate(6, 0, 0)},
	Month:       {layoutSample.AddDate(0, 1, 0), layoutSample.AddDate(0, 9, 0)},
	Day:         {layoutSample.AddDate(0, 0, 1), layoutSample.AddDate(0, 0, 7)},
	Hour:        {layoutSample.Add(time.Hour), layoutSample.Add(12 * time.Hour)},
	Minute:      {layoutSample.Add(time.Minute)},
	Second:      {layoutSample.Add(time.Second)},
	Millisecond: {layoutSample.Add(time.Millisecond)},
	Microsecond: {layoutSample.Add(time.Microsecond)},
}

// Tells reports whether what a layout writes of an instant tells that unit of it.
func Tells(layout string, u Unit) bool {
	sample := layoutSample.Format(layout)
	for _, other := range layoutSteps[u] {
		if other.Format(layout) == sample {
			return false
		}
	}
	return true
}
