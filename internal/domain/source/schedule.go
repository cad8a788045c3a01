package source

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/schedule"
)

// ScheduleConfig is the dimension of what a source does by itself.
type ScheduleConfig struct {
	Harvest string `yaml:"harvest" doc:"cron line of the HARVEST, such as 0 * * * * or @hourly"`
	Update  string `yaml:"update" doc:"cron line of the UPDATE, which reads again what is signalled and what was not seen for olderThan"`
	// OlderThan are the records an UPDATE reads again.
	OlderThan Duration `yaml:"olderThan" doc:"records not seen for this long are read again by the UPDATE, default 180d"`
	Zone      string   `yaml:"zone" doc:"time zone of cron lines and quiet hours, default UTC"`
	// Quiet are times at which the source is left alone (P20).
	Quiet []schedule.QuietHours `yaml:"quiet" doc:"times of the week at which the source is not asked"`
	// Sentinel walks one proven window a day again, to see what came late (R11).
	Sentinel bool `yaml:"sentinel" doc:"walk one proven window a day again, to see how much comes late"`
}

// Scheduled is the schedule of an operation of a source, and since when it is
// in force.
type Scheduled struct {
	Source    string
	Operation harvest.Operation
	Schedule  *schedule.Schedule
	Since     time.Time
}

// DefaultOlderThan is how long a record goes unseen before an UPDATE reads it.
const DefaultOlderThan = 180 * 24 * time.Hour

// CompileSchedule makes the schedule of a definition ready, nil if it has none.
func CompileSchedule(d Definition) (*schedule.Schedule, Violations) {
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
	s := &schedule.Schedule{OlderThan: cmp.Or(cfg.OlderThan.D(), DefaultOlderThan), Sentinel: cfg.Sentinel}
	var err error
	s.Zone, err = time.LoadLocation(cmp.Or(cfg.Zone, "UTC"))
	if err != nil || cfg.Zone == "Local" {
		fail("zone", fmt.Errorf("%q is not a time zone such as America/New_York", cfg.Zone))
		s.Zone = time.UTC
	}
	for _, l := range []struct {
		path, line string
		into       *schedule.Cron
	}{{"harvest", cfg.Harvest, &s.Harvest}, {"update", cfg.Update, &s.Update}} {
		if strings.TrimSpace(l.line) != "" {
			*l.into, err = schedule.ParseCron(l.line)
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
		fail(fmt.Sprintf("quiet[%d]", i), s.KeepQuiet(q))
	}
	if len(bad) == 0 && s.AlwaysQuiet() {
		fail("quiet", fmt.Errorf("covers the whole week: the source would never be asked; `patra source pause` does that"))
	}
	return s, bad
}

// Scheduled reports whether a definition has something begin by itself, for the whole
// source or for an operation.
func (d Definition) Scheduled() bool {
	for _, o := range d.Tasks {
		if o != nil && o.Schedule.begins() {
			return true
		}
	}
	return d.Schedule.begins()
}

// begins reports whether a schedule has something begin by itself. Quiet hours and a
// sentinel are of what was begun.
func (c *ScheduleConfig) begins() bool {
	return c != nil && (c.Harvest != "" || c.Update != "")
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

// Standing lists what is asked for by itself: the rows there are, and what packs
// suggest for as long as no row of that name says otherwise.
func Standing(packs []Scheduled, rows []schedule.Standing) []schedule.Standing {
	own := make(map[string]bool, len(rows))
	for _, r := range rows {
		own[r.Name] = true
	}
	out := slices.Clone(rows)
	for _, p := range packs {
		if s, ok := p.suggests(); ok && !own[s.Name] {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b schedule.Standing) int {
		return cmp.Or(strings.Compare(a.Source, b.Source), strings.Compare(a.Name, b.Name))
	})
	return out
}

// suggests is the line that a pack has for the operation, if it has one.
func (p Scheduled) suggests() (schedule.Standing, bool) {
	line := p.Schedule.Line(p.Operation)
	s := schedule.Standing{
		Name: schedule.SuggestedName(p.Source, p.Operation), Source: p.Source, Operation: p.Operation,
		Cron: line, Zone: p.Schedule.Zone, Enabled: true, Suggested: true, Since: p.Since,
	}
	if p.Operation == harvest.Update {
		s.Wants = schedule.Wants{OlderThan: p.Schedule.OlderThan, Signals: true}
	}
	return s, !line.IsZero()
}

// QuietUntil tells until when an operation of a source is to be left alone, for the
// quiet hours of its pack; zero if it is not.
func QuietUntil(packs []Scheduled, code string, op harvest.Operation, now time.Time) time.Time {
	for _, p := range packs {
		if p.Source != code || p.Operation != op {
			continue
		}
		if until, quiet := p.Schedule.QuietUntil(now); quiet {
			return until
		}
	}
	return time.Time{}
}
