package control_test

import (
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
)

// TestParseTime_AsPeopleWriteIt: instants, days, months, years, and times that are told
// from now, which are UTC whatever the zone of now is.
func TestParseTime_AsPeopleWriteIt(t *testing.T) {
	now := time.Date(2026, 3, 1, 1, 30, 0, 0, time.FixedZone("", 2*60*60)) // still February in UTC
	for in, want := range map[string]string{
		"2026-01-31T12:00:00Z":      "2026-01-31T12:00:00Z",
		"2026-01-31T12:00:00+02:00": "2026-01-31T10:00:00Z",
		"2026-01-31":                "2026-01-31T00:00:00Z",
		"2020-05":                   "2020-05-01T00:00:00Z",
		"2020":                      "2020-01-01T00:00:00Z",
		"now":                       "2026-02-28T23:30:00Z",
		"today":                     "2026-02-28T00:00:00Z",
		"yesterday":                 "2026-02-27T00:00:00Z",
		"-7d":                       "2026-02-21T23:30:00Z",
		"-12h":                      "2026-02-28T11:30:00Z",
	} {
		got, err := control.ParseTime(in, now)
		if err != nil || control.Time(got).String() != want {
			t.Errorf("%q is %s, %v, not %s", in, control.Time(got), err, want)
		}
	}
	for _, in := range []string{"gestern", "20", "2026-13", "2026-02-30", "7d", "-", "-0d", "--7d", "+7d", "-7", " 2020"} {
		if got, err := control.ParseTime(in, now); err == nil {
			t.Errorf("%q was read as %s", in, control.Time(got))
		}
	}
}
