package schedule

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// QuietHours are a time of day on some days of the week.
type QuietHours struct {
	Days string `yaml:"days" json:"days,omitempty" doc:"such as Mon-Fri or Sat,Sun; not given: every day"`
	From string `yaml:"from" json:"from" doc:"such as 05:00"`
	To   string `yaml:"to" json:"to" doc:"such as 21:00; not after from: of the next day"`
}

// quietSpan is a [QuietHours] made ready.
type quietSpan struct {
	days     [7]bool
	from, to time.Duration // of the day's midnight by the clock; to may be of the next
}

var weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

func (q QuietHours) span() (s quietSpan, err error) {
	s.days, err = q.days()
	if err != nil {
		return s, err
	}
	s.from, err = timeOfDay(q.From)
	if err != nil {
		return s, fmt.Errorf("from: %w", err)
	}
	s.to, err = timeOfDay(q.To)
	if err != nil {
		return s, fmt.Errorf("to: %w", err)
	}
	if s.to <= s.from {
		s.to += 24 * time.Hour
	}
	return s, nil
}

// days reads Mon-Fri or Sat,Sun.
func (q QuietHours) days() ([7]bool, error) {
	var out [7]bool
	if strings.TrimSpace(q.Days) == "" {
		return [7]bool{true, true, true, true, true, true, true}, nil
	}
	for part := range strings.SplitSeq(q.Days, ",") {
		a, b, isRange := strings.Cut(strings.ToLower(strings.TrimSpace(part)), "-")
		first := slices.Index(weekdays, strings.TrimSpace(a))
		last := first
		if isRange {
			last = slices.Index(weekdays, strings.TrimSpace(b))
		}
		if first < 0 || last < 0 {
			return out, fmt.Errorf("days: %q is not a day of the week such as Mon, or a range of them such as Mon-Fri", strings.TrimSpace(part))
		}
		for d := first; ; d = (d + 1) % 7 {
			out[d] = true
			if d == last {
				break
			}
		}
	}
	return out, nil
}

func timeOfDay(s string) (time.Duration, error) {
	if s == "24:00" {
		return 24 * time.Hour, nil
	}
	t, err := time.Parse("15:04", s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a time of day such as 05:00", s)
	}
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, nil
}

// KeepQuiet leaves the source alone at these hours, too.
func (s *Schedule) KeepQuiet(q QuietHours) error {
	span, err := q.span()
	if err != nil {
		return err
	}
	s.quiet = append(s.quiet, span)
	return nil
}

// maxQuiet is how many quiet times that follow each other are looked through: a
// week of days, some of which are in parts.
const maxQuiet = 64

// QuietUntil reports whether the source is to be left alone at an instant, and
// until when. A time that the clocks show twice is quiet from the first to the
// last of them.
func (s *Schedule) QuietUntil(now time.Time) (time.Time, bool) {
	until, quiet := now, false
	for range maxQuiet { // one quiet time may end where the next begins
		end, is := s.quietAt(until)
		if !is {
			break
		}
		until, quiet = end, true
	}
	return until, quiet
}

// AlwaysQuiet reports whether no time of the week is left.
func (s *Schedule) AlwaysQuiet() bool {
	// Not in a week in which clocks are changed.
	at := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	until, _ := s.QuietUntil(at)
	return until.Sub(at) > 8*24*time.Hour
}

func (s *Schedule) quietAt(now time.Time) (time.Time, bool) {
	y, m, d := now.In(s.Zone).Date()
	for _, q := range s.quiet {
		for back := range 2 { // begun today, or yesterday and over midnight
			day := time.Date(y, m, d-back, 0, 0, 0, 0, time.UTC)
			if !q.days[day.Weekday()] {
				continue
			}
			begin, end := firstShown(day.Add(q.from), s.Zone), lastShown(day.Add(q.to), s.Zone)
			if !now.Before(begin) && now.Before(end) {
				return end, true
			}
		}
	}
	return time.Time{}, false
}
