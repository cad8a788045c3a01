package source_test

import (
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/schedule"
	"github.com/papertrace/patra/internal/domain/source"
)

func at(t testing.TB, s string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func mustSchedule(t testing.TB, c source.ScheduleConfig) *schedule.Schedule {
	t.Helper()
	s, bad := source.CompileSchedule(source.Definition{Schedule: &c})
	if len(bad) > 0 {
		t.Fatal(bad)
	}
	return s
}

// TestP20_QuietHoursFollowTheClockOnTheWall: Monday to Friday 05:00 to 21:00 in
// New York, over both changes of its clocks, and a night that a change lengthens.
func TestP20_QuietHoursFollowTheClockOnTheWall(t *testing.T) {
	pmc := []schedule.QuietHours{{Days: "Mon-Fri", From: "05:00", To: "21:00"}}
	night := []schedule.QuietHours{{From: "22:00", To: "01:30"}}
	for _, c := range []struct {
		name, zone string
		quiet      []schedule.QuietHours
		now, until string // until empty: not quiet
	}{
		{"winter, before", "America/New_York", pmc, "2026-03-06T09:59:59Z", ""},
		{"winter, at the border", "America/New_York", pmc, "2026-03-06T10:00:00Z", "2026-03-07T02:00:00Z"},
		{"winter, the last second", "America/New_York", pmc, "2026-03-07T01:59:59Z", "2026-03-07T02:00:00Z"},
		{"over at its end", "America/New_York", pmc, "2026-03-07T02:00:00Z", ""},
		{"Saturday", "America/New_York", pmc, "2026-03-07T15:00:00Z", ""},
		{"clocks forward: an hour earlier in UTC", "America/New_York", pmc, "2026-03-09T09:00:00Z", "2026-03-10T01:00:00Z"},
		{"clocks forward: not yet", "America/New_York", pmc, "2026-03-09T08:59:59Z", ""},
		{"clocks back", "America/New_York", pmc, "2026-11-02T09:30:00Z", ""},
		{"clocks back, quiet", "America/New_York", pmc, "2026-11-02T10:00:00Z", "2026-11-03T02:00:00Z"},
		{"over midnight", "America/New_York", night, "2026-07-02T03:00:00Z", "2026-07-02T05:30:00Z"},
		{"01:30 is shown twice: until the second", "America/New_York", night, "2026-11-01T05:45:00Z", "2026-11-01T06:30:00Z"},
		{"over then", "America/New_York", night, "2026-11-01T06:30:00Z", ""},
		{"end is skipped", "Europe/Berlin", []schedule.QuietHours{{From: "23:00", To: "02:30"}}, "2026-03-29T00:30:00Z", "2026-03-29T01:00:00Z"},
		{"beginning is skipped", "Europe/Berlin", []schedule.QuietHours{{From: "02:30", To: "04:00"}}, "2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z"},
		{"one after the other", "UTC", []schedule.QuietHours{{From: "08:00", To: "12:00"}, {From: "12:00", To: "14:00"}}, "2026-03-29T09:00:00Z", "2026-03-29T14:00:00Z"},
		{"a whole day", "UTC", []schedule.QuietHours{{Days: "sun", From: "00:00", To: "24:00"}}, "2026-03-29T09:00:00Z", "2026-03-30T00:00:00Z"},
		{"days over the week's end", "UTC", []schedule.QuietHours{{Days: "Fri-Sun", From: "00:00", To: "00:00"}}, "2026-03-27T09:00:00Z", "2026-03-30T00:00:00Z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := mustSchedule(t, source.ScheduleConfig{Zone: c.zone, Quiet: c.quiet})
			until, quiet := s.QuietUntil(at(t, c.now))
			if quiet != (c.until != "") || quiet && until.UTC().Format(time.RFC3339) != c.until {
				t.Errorf("quiet %t until %s, want %q", quiet, until.UTC().Format(time.RFC3339), c.until)
			}
		})
	}
}

func TestSchedule_CompileSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		cfg  source.ScheduleConfig
		want string
	}{
		{source.ScheduleConfig{Harvest: "hourly"}, "schedule.harvest: \"hourly\" has 1 fields; a cron line has five"},
		{source.ScheduleConfig{Update: "0 0 31 2 *"}, "schedule.update: \"0 0 31 2 *\" never comes"},
		{source.ScheduleConfig{Zone: "New York"}, `schedule.zone: "New York" is not a time zone such as America/New_York`},
		{source.ScheduleConfig{Zone: "Local"}, "schedule.zone"},
		{source.ScheduleConfig{Quiet: []schedule.QuietHours{{From: "5", To: "21:00"}}}, `schedule.quiet[0]: from: "5" is not a time of day such as 05:00`},
		{source.ScheduleConfig{Quiet: []schedule.QuietHours{{From: "05:00"}}}, `schedule.quiet[0]: to: "" is not a time of day`},
		{source.ScheduleConfig{Quiet: []schedule.QuietHours{{Days: "Mo-Fr", From: "05:00", To: "21:00"}}}, `schedule.quiet[0]: days: "Mo-Fr" is not a day of the week`},
		{source.ScheduleConfig{Quiet: []schedule.QuietHours{{From: "00:00", To: "24:00"}}}, "schedule.quiet: covers the whole week"},
		{source.ScheduleConfig{OlderThan: source.Duration(time.Hour)}, "schedule.olderThan: says what an UPDATE reads"},
		{source.ScheduleConfig{Update: "@daily", OlderThan: -1}, "schedule.olderThan: -1ns is below zero"},
	} {
		_, bad := source.CompileSchedule(source.Definition{Schedule: &c.cfg})
		if !strings.Contains(bad.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.cfg, bad, c.want)
		}
	}
}

func TestSchedule_IsNoPartOfASpec(t *testing.T) {
	df := *def()
	plain, _, err := source.Compile(df, source.Trigger{Operation: harvest.Harvest})
	if err != nil {
		t.Fatal(err)
	}
	df.Schedule = &source.ScheduleConfig{Harvest: "@hourly", Quiet: []schedule.QuietHours{{From: "05:00", To: "21:00"}}}
	with, _, err := source.Compile(df, source.Trigger{Operation: harvest.Harvest})
	if err != nil {
		t.Fatal(err)
	}
	a, _ := plain.Fingerprint()
	b, _ := with.Fingerprint()
	if a != b {
		t.Error("a schedule changes the fingerprint")
	}
	df.Schedule.Harvest = "sometimes"
	if _, _, err := source.Compile(df, source.Trigger{Operation: harvest.Harvest}); err == nil || !strings.Contains(err.Error(), "schedule.harvest") {
		t.Errorf("a bad line compiles: %v", err)
	}
}

func TestCheck_SchedulesThatCannotBe(t *testing.T) {
	df := *def()
	df.Schedule = &source.ScheduleConfig{Update: "@daily"}
	df.Tasks = map[harvest.Operation]*source.Overrides{harvest.Backfill: {Schedule: &source.ScheduleConfig{Harvest: "@daily"}}}
	bad, _ := source.Check(df, nil, nil)
	for _, want := range []string{"schedule.update: the source has no endpoint with usage DETAIL", "tasks.backfill.schedule.harvest: is the schedule of BACKFILL alone"} {
		if !strings.Contains(bad.Error(), want) {
			t.Errorf("missing %q in %v", want, bad)
		}
	}
	df = *def()
	df.Window.UpdatedAt, df.Schedule = "NONE", &source.ScheduleConfig{Harvest: "@daily"}
	if bad, _ := source.Check(df, nil, nil); !strings.Contains(bad.Error(), "schedule.harvest: window.updatedAt is NONE") {
		t.Errorf("%v", bad)
	}
}
