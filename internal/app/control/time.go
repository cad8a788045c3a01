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
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly, "2006-01", "2006"} {
		if t, err := time.Parse(layout, s); err == nil {
			return harvest.Instant(t), nil
		}
	}
	now = now.UTC()
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	switch s {
	case "now":
		return harvest.Instant(now), nil
	case "today":
		return today, nil
	case "yesterday":
		return today.AddDate(0, 0, -1), nil
	}
	if ago, is := strings.CutPrefix(s, "-"); is {
		if d, err := source.ParseDuration(ago); err == nil && d > 0 {
			return harvest.Instant(now.Add(-d)), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time: use 2026-01-31T12:00:00Z, 2026-01-31, 2026-01, 2026, today, yesterday, or how long ago, such as -7d", s)
}
