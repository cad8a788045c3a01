package control

import (
	"fmt"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// Time prints as RFC 3339 in UTC with Z, with a fraction only where there is one.
type Time time.Time

// MarshalText implements encoding.TextMarshaler.
func (t Time) MarshalText() ([]byte, error) {
	return []byte(time.Time(t).UTC().Format("2006-01-02T15:04:05.999999Z")), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *Time) UnmarshalText(text []byte) error { return (*time.Time)(t).UnmarshalText(text) }

func (t Time) String() string {
	b, _ := t.MarshalText()
	return string(b)
}

// ParseTime reads an instant as people write it: RFC 3339, a day, a month or a year, which
// mean their beginning in UTC, today, yesterday, or how long ago it was, such as -7d.
func ParseTime(s string, now time.Time) (time.Time, error) {
	t, _, err := readTime(s, harvest.Calendar{}, now)
	return t, err
}

// readTime is [ParseTime] for a source: where that counts days, a day begins when it does
// in the source's zone. It reports whether a day was named, and not an instant.
func readTime(s string, cal harvest.Calendar, now time.Time) (t time.Time, isDay bool, err error) {
	t, isDay, err = readInstant(s, cal, "2006-01", "2006")
	if err == nil {
		return t, isDay, nil
	}
	days := daysOf(cal)
	switch s {
	case "now":
		return harvest.Instant(now), false, nil
	case "today":
		return days.Floor(now), true, nil
	case "yesterday":
		return days.Step(days.Floor(now), -1), true, nil
	}
	if ago, is := strings.CutPrefix(s, "-"); is {
		if d, err := source.ParseDuration(ago); err == nil && d > 0 {
			return harvest.Instant(now.Add(-d)), false, nil
		}
	}
	return time.Time{}, false, fmt.Errorf("%q is no time: use 2026-01-31T12:00:00Z, 2026-01-31, 2026-01, 2026, today, yesterday, or how long ago, such as -7d", s)
}

// readInstant reads RFC 3339 or a date, or what other layouts say of a day. The day begins
// when it does for the source whose calendar it is.
func readInstant(s string, cal harvest.Calendar, more ...string) (t time.Time, isDay bool, err error) {
	days := daysOf(cal)
	for _, layout := range append([]string{time.DateOnly}, more...) {
		noon, err := time.ParseInLocation(layout+" 15", s+" 12", days.Zone)
		if err == nil {
			return days.Floor(noon), true, nil
		}
	}
	t, err = time.Parse(time.RFC3339Nano, s)
	return harvest.Instant(t), false, err
}

// daysOf is the calendar of whole days in which dates are told to a source: its own days
// where it counts days, else those of UTC.
func daysOf(cal harvest.Calendar) harvest.Calendar {
	if cal.Precision == harvest.PrecisionDay && cal.Zone != nil {
		return cal
	}
	return harvest.Calendar{Precision: harvest.PrecisionDay, Zone: time.UTC}
}
