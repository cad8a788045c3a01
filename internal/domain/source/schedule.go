package source

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// ScheduleConfig is the dimension of what a source does by itself.
type ScheduleConfig struct {
	Harvest string `yaml:"harvest" doc:"cron line of the HARVEST, such as 0 * * * * or @hourly"`
	Update  string `yaml:"update" doc:"cron line of the UPDATE, which reads again what is signalled and what was not seen for olderThan"`
	// OlderThan are the records an UPDATE reads again.
	OlderThan Duration `yaml:"olderThan" doc:"records not seen for this long are read again by the UPDATE, default 180d"`
	Zone      string   `yaml:"zone" doc:"time zone of cron lines and quiet hours, default UTC"`
	// Quiet are times at which the source is left alone (P20).
	Quiet []QuietHours `yaml:"quiet" doc:"times of the week at which the source is not asked"`
	// Sentinel walks one proven window a day again, to see what came late (R11).
	Sentinel bool `yaml:"sentinel" doc:"walk one proven window a day again, to see how much comes late"`
}

// QuietHours are a time of day on some days of the week.
type QuietHours struct {
	Days string `yaml:"days" json:"days,omitempty" doc:"such as Mon-Fri or Sat,Sun; not given: every day"`
	From string `yaml:"from" json:"from" doc:"such as 05:00"`
	To   string `yaml:"to" json:"to" doc:"such as 21:00; not after from: of the next day"`
}

// Schedule is a [ScheduleConfig] made ready. It is no part of a plan: when to
// ask is known where triggers are made, and quiet hours where tasks are taken.
type Schedule struct {
	Harvest, Update Cron
	OlderThan       time.Duration
	Zone            *time.Location
	Sentinel        bool
	quiet           []quietSpan
}

// Scheduled is the schedule of an operation of a source, and since when it is
// in force.
type Scheduled struct {
	Source    string
	Operation harvest.Operation
	Schedule  *Schedule
	Since     time.Time
}

// defaultOlderThan is how long a record goes unseen before an UPDATE reads it.
const defaultOlderThan = 180 * 24 * time.Hour

// CompileSchedule makes the schedule of a definition ready, nil if it has none.
func CompileSchedule(d Definition) (*Schedule, Violations) {
	if d.Schedule == nil {
		return nil, nil
	}
	var bad Violations
	fail := func(path string, err error) {
		if err != nil {
			bad = append(bad, Violation{Path: "schedule." + path, Text: err.Error()})
		}
	}
	cfg := *d.Schedule
	s := &Schedule{OlderThan: cmp.Or(cfg.OlderThan.D(), defaultOlderThan), Sentinel: cfg.Sentinel}
	var err error
	if s.Zone, err = time.LoadLocation(cmp.Or(cfg.Zone, "UTC")); err != nil || cfg.Zone == "Local" {
		fail("zone", fmt.Errorf("%q is not a time zone such as America/New_York", cfg.Zone))
		s.Zone = time.UTC
	}
	for _, l := range []struct {
		path, line string
		into       *Cron
	}{{"harvest", cfg.Harvest, &s.Harvest}, {"update", cfg.Update, &s.Update}} {
		if strings.TrimSpace(l.line) != "" {
			*l.into, err = ParseCron(l.line)
			fail(l.path, err)
		}
	}
	if cfg.OlderThan < 0 {
		fail("olderThan", fmt.Errorf("%s is below zero", cfg.OlderThan.D()))
	}
	if cfg.OlderThan > 0 && s.Update.IsZero() {
		fail("olderThan", fmt.Errorf("says what an UPDATE reads, yet there is no update line"))
	}
	for i, q := range cfg.Quiet {
		span, err := q.span()
		fail(fmt.Sprintf("quiet[%d]", i), err)
		s.quiet = append(s.quiet, span)
	}
	if len(bad) == 0 && s.alwaysQuiet() {
		fail("quiet", fmt.Errorf("covers the whole week: the source would never be asked; `patra source pause` does that"))
	}
	return s, bad
}

// Line is the cron line of an operation; the zero line never comes.
func (s *Schedule) Line(op harvest.Operation) Cron {
	switch op {
	case harvest.Harvest:
		return s.Harvest
	case harvest.Update:
		return s.Update
	}
	return Cron{}
}

// Due is the latest time in (since, now] at which an operation was to begin.
// Earlier ones that were missed are made up by it.
func (s *Schedule) Due(op harvest.Operation, since, now time.Time) (time.Time, bool) {
	if line := s.Line(op); !line.IsZero() {
		return line.Last(since, now, s.Zone)
	}
	return time.Time{}, false
}

// quietSpan is a [QuietHours] made ready.
type quietSpan struct {
	days     [7]bool
	from, to time.Duration // of the day's midnight by the clock; to may be of the next
}

var weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

func (q QuietHours) span() (s quietSpan, err error) {
	if s.days, err = q.days(); err != nil {
		return s, err
	}
	if s.from, err = timeOfDay(q.From); err != nil {
		return s, fmt.Errorf("from: %w", err)
	}
	if s.to, err = timeOfDay(q.To); err != nil {
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

func (s *Schedule) alwaysQuiet() bool {
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

// Scheduled reports whether a definition has a schedule, of the whole source or
// of an operation.
func (d Definition) Scheduled() bool {
	for _, o := range d.Tasks {
		if o != nil && o.Schedule != nil {
			return true
		}
	}
	return d.Schedule != nil
}

// Schedules lists the operations with a schedule in force at an instant.
func (c Contents) Schedules(at time.Time) (out []Scheduled, err error) {
	for _, op := range Operations {
		row := choose(c.Rows, DimSchedule, "", op, at).Row
		if row == nil {
			continue
		}
		cfg, ok := row.Body.(*ScheduleConfig)
		if !ok {
			return out, fmt.Errorf("row %d holds a %T", row.ID, row.Body)
		}
		s, bad := CompileSchedule(Definition{Schedule: cfg})
		if len(bad) > 0 {
			return out, bad
		}
		out = append(out, Scheduled{Source: c.Provenance.Code, Operation: op, Schedule: s, Since: row.From})
	}
	return out, nil
}
