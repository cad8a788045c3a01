package schedule

import (
	"strings"
	"testing"
	"time"
)

func mustZone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func mustCron(t testing.TB, line string) Cron {
	t.Helper()
	c, err := ParseCron(line)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func at(t testing.TB, s string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestCron_NextTimes lists what follows an instant, in UTC, for zones without
// and with a change of clocks.
func TestCron_NextTimes(t *testing.T) {
	for _, c := range []struct{ name, line, zone, after, want string }{
		{"every hour", "0 * * * *", "UTC", "2026-03-10T15:00:00Z", "03-10T16:00 03-10T17:00"},
		{"strictly after", "@hourly", "UTC", "2026-03-10T14:59:59Z", "03-10T15:00 03-10T16:00"},
		{"step", "*/20 9-10 * * *", "UTC", "2026-03-10T09:30:00Z", "03-10T09:40 03-10T10:00 03-10T10:20 03-10T10:40 03-11T09:00"},
		{"stepped range", "10-50/20 0 * * *", "UTC", "2026-03-10T00:00:00Z", "03-10T00:10 03-10T00:30 03-10T00:50 03-11T00:10"},
		{"list", "5,35 1,13 * * *", "UTC", "2026-03-10T01:05:00Z", "03-10T01:35 03-10T13:05 03-10T13:35 03-11T01:05"},
		{"names", "0 6 * jan,Jul Mon-Fri", "UTC", "2026-01-30T07:00:00Z", "07-01T06:00 07-02T06:00 07-03T06:00 07-06T06:00"},
		{"sunday is 0 and 7", "0 0 * * 7", "UTC", "2026-03-10T00:00:00Z", "03-15T00:00 03-22T00:00"},
		{"a week that ends on sunday", "0 0 * * fri-sun", "UTC", "2026-03-10T00:00:00Z", "03-13T00:00 03-14T00:00 03-15T00:00 03-20T00:00"},
		{"either day", "0 0 13 * fri", "UTC", "2026-03-01T00:00:00Z", "03-06T00:00 03-13T00:00 03-20T00:00"},
		{"day of the month only", "0 0 31 * *", "UTC", "2026-03-31T00:00:00Z", "05-31T00:00 07-31T00:00"},
		{"leap day", "0 0 29 2 *", "UTC", "2097-01-01T00:00:00Z", "02-29T00:00"},
		{"daily", "@daily", "America/New_York", "2026-07-01T12:00:00Z", "07-02T04:00 07-03T04:00"},
		{"weekly", "@weekly", "Europe/Berlin", "2026-07-01T12:00:00Z", "07-04T22:00 07-11T22:00"},
		// New York: 2026-03-08 02:00 EST -> 03:00 EDT at 07:00Z; back on 2026-11-01 02:00 EDT -> 01:00 EST at 06:00Z.
		{"skipped time comes after the skip", "30 2 * * *", "America/New_York", "2026-03-07T12:00:00Z", "03-08T07:00 03-09T06:30"},
		{"skipped times come once", "*/15 2,3 * * *", "America/New_York", "2026-03-08T06:00:00Z", "03-08T07:00 03-08T07:15 03-08T07:30 03-08T07:45 03-09T06:00"},
		{"hourly over a skip", "0 * * * *", "America/New_York", "2026-03-08T05:30:00Z", "03-08T06:00 03-08T07:00 03-08T08:00"},
		{"doubled time comes once", "30 1 * * *", "America/New_York", "2026-10-31T12:00:00Z", "11-01T05:30 11-02T06:30"},
		{"asked within the second showing", "45 1 * * *", "America/New_York", "2026-11-01T06:10:00Z", "11-02T06:45"},
		{"hourly over a doubled hour", "0 * * * *", "America/New_York", "2026-11-01T04:30:00Z", "11-01T05:00 11-01T07:00 11-01T08:00"},
		// Berlin: 2026-03-29 02:00 -> 03:00 at 01:00Z; back on 2026-10-25 03:00 -> 02:00 at 01:00Z.
		{"skipped in Berlin", "30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "03-29T01:00 03-30T00:30"},
		{"doubled in Berlin", "30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "10-25T00:30 10-26T01:30"},
		{"a skipped day in Samoa", "0 12 * * *", "Pacific/Apia", "2011-12-29T23:00:00Z", "12-30T10:00 12-30T22:00 12-31T22:00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			line := mustCron(t, c.line)
			zone := mustZone(t, c.zone)
			from := at(t, c.after)
			var got []string
			for range strings.FieldsSeq(c.want) {
				next, ok := line.Next(from, zone)
				if !ok {
					t.Fatal("never")
				}
				got, from = append(got, next.Format("01-02T15:04")), next
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("got  %s\nwant %s", strings.Join(got, " "), c.want)
			}
		})
	}
}

func TestCron_RefusesWithReasons(t *testing.T) {
	for line, want := range map[string]string{
		"":                       "five",
		"* * * *":                "4 fields",
		"0 0 * * * *":            "6 fields",
		"60 * * * *":             `minute "60": "60" is not a number from 0 to 59`,
		"0 24 * * *":             "from 0 to 23",
		"0 0 0 * *":              "from 1 to 31",
		"0 0 * 13 *":             "or a name from jan to dec",
		"0 0 * * funday":         "or a name from sun to sat",
		"0 0 * * 8":              "from 0 to 7",
		"*/0 * * * *":            "a step is a number",
		"*/ * * * *":             "a step is a number",
		"5/10 * * * *":           "write 5-59/10",
		"30-10 * * * *":          "runs backwards",
		"1- * * * *":             "is not a number",
		"-1 * * * *":             "is not a number",
		"+1 * * * *":             "is not a number",
		"1,,2 * * * *":           "is not a number",
		"0 0 30 2 *":             "never comes",
		"0 0 31 4,6,9,11 *":      "never comes",
		"@fortnightly":           "@weekly",
		strings.Repeat("1", 300): "longer than",
	} {
		if _, err := ParseCron(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", line, err, want)
		}
	}
}

// TestCron_MissedTimesAreOne: after a long time away only the latest counts.
func TestCron_MissedTimesAreOne(t *testing.T) {
	utc := time.UTC
	for _, c := range []struct{ line, since, now, want string }{
		{"0 * * * *", "2026-03-01T10:00:00Z", "2026-03-10T15:20:00Z", "2026-03-10T15:00:00Z"},
		{"0 * * * *", "2026-03-10T15:00:00Z", "2026-03-10T15:59:59Z", ""},
		{"0 * * * *", "2026-03-10T15:00:00Z", "2026-03-10T16:00:00Z", "2026-03-10T16:00:00Z"},
		{"* * * * *", "2020-03-10T15:00:00Z", "2026-03-10T16:00:30Z", "2026-03-10T16:00:00Z"},
		{"0 0 1 1 *", "2020-03-10T15:00:00Z", "2026-12-10T16:00:30Z", "2026-01-01T00:00:00Z"},
		{"0 0 29 2 *", "2020-03-10T15:00:00Z", "2026-12-10T16:00:30Z", "2024-02-29T00:00:00Z"},
		{"0 0 29 2 *", "2024-02-29T00:00:00Z", "2026-12-10T16:00:30Z", ""},
		{"0 * * * *", "2026-03-10T18:00:00Z", "2026-03-10T16:00:00Z", ""}, // the clock was put back
	} {
		got, ok := mustCron(t, c.line).Last(at(t, c.since), at(t, c.now), utc)
		if text := got.Format(time.RFC3339); ok != (c.want != "") || ok && text != c.want {
			t.Errorf("%s in (%s, %s]: %s %t, want %s", c.line, c.since, c.now, text, ok, c.want)
		}
	}
}

// FuzzCron: whatever is read never panics, and what follows an instant follows
// it, soon, on a minute the line names, with nothing between.
func FuzzCron(f *testing.F) {
	for _, line := range []string{"0 * * * *", "*/7 1-5 * feb-apr mon", "@weekly", "0 0 29 2 *", "30 2 * * *", "* * 31 * 0"} {
		for zone := range 4 {
			f.Add(line, int64(1772953200), uint8(zone)) // New York's clocks go forward
			f.Add(line, int64(1793511000), uint8(zone)) // and back
		}
	}
	zones := []*time.Location{time.UTC, mustZone(f, "America/New_York"), mustZone(f, "Europe/Berlin"), mustZone(f, "Australia/Lord_Howe")}
	f.Fuzz(func(t *testing.T, line string, unix int64, zone uint8) {
		c, err := ParseCron(line)
		if err != nil {
			return
		}
		z, after := zones[int(zone)%len(zones)], time.Unix(unix%(1<<33), 0)
		began := time.Now()
		next, ok := c.Next(after, z)
		if took := time.Since(began); took > time.Second {
			t.Errorf("%q took %s", line, took)
		}
		if !ok {
			t.Fatalf("%q never comes after %s", line, after)
		}
		if !next.After(after) {
			t.Errorf("%q after %s: %s", line, after, next)
		}
		if last, ok := c.Last(after, next, z); !ok || !last.Equal(next) {
			t.Errorf("%q: the last in (%s, %s] is %s %t", line, after, next, last, ok)
		}
		if last, ok := c.Last(after, next.Add(-time.Second), z); ok {
			t.Errorf("%q: %s came before the next, %s", line, last, next)
		}
		if wall := next.In(z); c.minute&(1<<wall.Minute()) == 0 || c.hour&(1<<wall.Hour()) == 0 || c.month&(1<<wall.Month()) == 0 {
			// Only where the clocks skipped the time that was meant.
			if _, before := next.In(z).Add(-time.Second).Zone(); before == zoneOffset(wall) {
				t.Errorf("%q comes at %s", line, wall)
			}
		}
	})
}

func zoneOffset(t time.Time) int {
	_, s := t.Zone()
	return s
}
