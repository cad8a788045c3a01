package schedule

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// Cron is a cron line: minute, hour, day of the month, month, day of the week.
// As in every cron, a day counts if either of the two day fields names it when
// both are given.
//
// Lines speak of the clock on the wall. Where that clock is put forward, times
// it skips come once, at the instant after the skip; where it is put back, times
// it shows twice come once, the first time.
type Cron struct {
	text                           string
	minute, hour, day, month, wday uint64
	anyDay, anyWday                bool
}

// cronField is what one place of a line may hold.
type cronField struct {
	name     string
	min, max int
	words    []string // of min and what follows
}

var cronFields = [5]cronField{
	{"minute", 0, 59, nil},
	{"hour", 0, 23, nil},
	{"day of the month", 1, 31, nil},
	{"month", 1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{"day of the week", 0, 7, weekdays}, // 7 is Sunday, too
}

var cronWords = map[string]string{
	"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
	"@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}

// maxCron is the longest line that is read.
const maxCron = 255

// ParseCron reads a line such as "30 4 * * mon-fri", or one of @hourly, @daily,
// @weekly, @monthly and @yearly. A line that never comes is refused.
func ParseCron(s string) (Cron, error) {
	c := Cron{text: strings.Join(strings.Fields(s), " ")}
	if len(s) > maxCron {
		return c, fmt.Errorf("a cron line of %d bytes is longer than %d", len(s), maxCron)
	}
	line := strings.ToLower(c.text)
	if strings.HasPrefix(line, "@") {
		long, ok := cronWords[line]
		if !ok {
			return c, fmt.Errorf("%q is not known: use @hourly, @daily, @weekly, @monthly or @yearly, or five fields such as 0 * * * *", c.text)
		}
		line = long
	}
	parts := strings.Fields(line)
	if len(parts) != len(cronFields) {
		return c, fmt.Errorf("%q has %d fields; a cron line has five: minute, hour, day of the month, month, day of the week, such as 0 * * * *", c.text, len(parts))
	}
	for i, into := range []*uint64{&c.minute, &c.hour, &c.day, &c.month, &c.wday} {
		set, err := cronFields[i].parse(parts[i])
		if err != nil {
			return c, fmt.Errorf("%s %q: %w", cronFields[i].name, parts[i], err)
		}
		*into = set
	}
	c.wday |= c.wday >> 7 & 1
	c.anyDay, c.anyWday = strings.HasPrefix(parts[2], "*"), strings.HasPrefix(parts[4], "*")
	if _, ok := c.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), time.UTC); !ok {
		return c, fmt.Errorf("%q never comes: no such day is in those months", c.text)
	}
	return c, nil
}

// String is the line as written.
func (c Cron) String() string { return c.text }

// IsZero reports whether there is no line.
func (c Cron) IsZero() bool { return c.text == "" }

// parse reads a list of values, ranges and steps into a set of bits.
func (f cronField) parse(s string) (set uint64, err error) {
	for part := range strings.SplitSeq(s, ",") {
		span, step, stepped := strings.Cut(part, "/")
		n := 1
		if stepped {
			n, err = cronNumber(step)
			if err != nil || n < 1 || n > f.max {
				return 0, fmt.Errorf("a step is a number from 1 to %d, not %q", f.max, step)
			}
		}
		first, last := f.min, f.max
		if span != "*" {
			a, b, isRange := strings.Cut(span, "-")
			first, err = f.value(a)
			if err != nil {
				return 0, err
			}
			last = first
			switch {
			case isRange:
				last, err = f.value(b)
				if err != nil {
					return 0, err
				}
				if last == 0 && first > 0 && f.max == 7 {
					last = 7 // a week that ends on Sunday
				}
			case stepped:
				return 0, fmt.Errorf("a step needs a range: write %d-%d/%s", first, f.max, step)
			}
			if last < first {
				return 0, fmt.Errorf("the range %s runs backwards", span)
			}
		}
		for v := first; v <= last; v += n {
			set |= 1 << v
		}
	}
	return set, nil
}

func (f cronField) value(s string) (int, error) {
	for i, w := range f.words {
		if s == w {
			return f.min + i, nil
		}
	}
	n, err := cronNumber(s)
	if err != nil || n < f.min || n > f.max {
		names := ""
		if f.words != nil {
			names = fmt.Sprintf(", or a name from %s to %s", f.words[0], f.words[len(f.words)-1])
		}
		return 0, fmt.Errorf("%q is not a number from %d to %d%s", s, f.min, f.max, names)
	}
	return n, nil
}

// cronNumber reads one or two digits and nothing else.
func cronNumber(s string) (int, error) {
	if len(s) > 2 || strings.Trim(s, "0123456789") != "" {
		return 0, strconv.ErrSyntax
	}
	return strconv.Atoi(s)
}

// Next is the first time after an instant at which the line comes, by the clocks
// of a zone; false if it never does.
func (c Cron) Next(after time.Time, zone *time.Location) (time.Time, bool) {
	// What the clock shows, as if it were UTC: a line that moves evenly. Times up
	// to what it shows now have come; later ones may have too, if the clock was
	// put back since.
	at := wallOf(after.In(zone)).Truncate(time.Minute).Add(time.Minute)
	for range 2 * 24 * 60 { // more minutes than any clock was ever put back
		t, ok := c.match(at)
		if !ok {
			return time.Time{}, false
		}
		if i := firstShown(t, zone); i.After(after) {
			return i, true
		}
		at = t.Add(time.Minute)
	}
	return time.Time{}, false
}

// Last is the latest time in (since, now] at which the line came.
func (c Cron) Last(since, now time.Time, zone *time.Location) (time.Time, bool) {
	const day = 24 * time.Hour
	for _, back := range []time.Duration{time.Hour, day, 40 * day, 400 * day, 9 * 366 * day} {
		from, all := now.Add(-back), false
		if !from.After(since) {
			from, all = since, true
		}
		var last time.Time
		for {
			t, ok := c.Next(from, zone)
			if !ok || t.After(now) {
				break
			}
			last, from = t, t
		}
		if all || !last.IsZero() {
			return last, !last.IsZero()
		}
	}
	return time.Time{}, false
}

// match is the first wall time from at on that the line names.
func (c Cron) match(at time.Time) (time.Time, bool) {
	for end := at.Year() + 9; at.Year() <= end; { // two leap years may be eight years apart
		y, m, d := at.Date()
		switch {
		case c.month&(1<<m) == 0:
			at = time.Date(y, m+1, 1, 0, 0, 0, 0, time.UTC)
			continue
		case !c.onDay(d, at.Weekday()):
			at = time.Date(y, m, d+1, 0, 0, 0, 0, time.UTC)
			continue
		}
		hour, minute := at.Hour(), at.Minute()
		if c.hour&(1<<hour) != 0 {
			if n, ok := following(c.minute, minute); ok {
				return time.Date(y, m, d, hour, n, 0, 0, time.UTC), true
			}
		}
		n, ok := following(c.hour, hour+1)
		if !ok {
			at = time.Date(y, m, d+1, 0, 0, 0, 0, time.UTC)
			continue
		}
		at = time.Date(y, m, d, n, 0, 0, 0, time.UTC)
	}
	return time.Time{}, false
}

func (c Cron) onDay(d int, w time.Weekday) bool {
	day, wday := c.day&(1<<d) != 0, c.wday&(1<<w) != 0
	if c.anyDay || c.anyWday {
		return day && wday
	}
	return day || wday
}

// following is the smallest member of a set that is at least n.
func following(set uint64, n int) (int, bool) {
	set &= ^uint64(0) << n
	return bits.TrailingZeros64(set), set != 0
}
