package decode

import (
	"testing"
	"time"
	"unicode/utf8"
)

func TestNewDate(t *testing.T) {
	for _, c := range []struct {
		y, m, d, want string
		whole         bool
	}{
		{"2023", "", "", "2023", true},
		{"2023", "2", "", "2023-02", true},
		{"2023", "02", "06", "2023-02-06", true},
		{"2023", "Sep", "9", "2023-09-09", true},
		{"2023", "SEPTEMBER", "", "2023-09", true},
		{"2023", "sept.", "", "2023-09", true},
		{" 2023 ", " May ", " 1 ", "2023-05-01", true},
		{"2024", "2", "29", "2024-02-29", true},
		{"2023", "2", "29", "2023-02", false},
		{"2023", "13", "1", "2023", false},
		{"2023", "Winter", "", "2023", false},
		{"2023", "Jan-Feb", "", "2023", false},
		{"2023", "", "5", "2023", false},
		{"87", "1", "", "0087-01", true},
		{"0", "1", "1", "", false},
		{"20230", "", "", "", false},
		{"MMXX", "", "", "", false},
		{"-200", "", "", "", false},
		{"", "1", "1", "", false},
	} {
		d, whole := newDate([]byte(c.y), []byte(c.m), []byte(c.d))
		got := ""
		if d.year > 0 {
			got = string(d.append(nil))
		}
		if got != c.want || whole != c.whole {
			t.Errorf("%s %s %s: got %q %v, want %q %v", c.y, c.m, c.d, got, whole, c.want, c.whole)
		}
	}
}

func TestInstant(t *testing.T) {
	for _, c := range []struct{ format, in, want string }{
		{"RFC3339", "2024-01-02T03:04:05Z", "2024-01-02T03:04:05Z"},
		{"RFC3339", "2024-01-02T03:04:05.1234567+01:00", "2024-01-02T02:04:05.123456Z"},
		{"RFC3339", "2024-01-02", ""},
		{"EPOCH_S", "1700000000", "2023-11-14T22:13:20Z"},
		{"EPOCH_S", "1700000000.5", "2023-11-14T22:13:20.5Z"},
		{"EPOCH_MS", "1700000000123", "2023-11-14T22:13:20.123Z"},
		{"EPOCH_MS", "-1", "1969-12-31T23:59:59.999Z"},
		{"EPOCH_MS", "99999999999999999999", ""},
		{"EPOCH_S", "9223372036854775807", ""},
		{"EPOCH_S", "1e9", ""},
		{"2006/01/02 15:04", "2024/07/04 00:30", "2024-07-04T04:30:00Z"},
		{"Jan 2, 2006", "Jul 4, 2024", "2024-07-04T04:00:00Z"},
		{"YEAR", "1998 Dec-1999 Jan", "1998-01-01T05:00:00Z"},
		{"YEAR", "1984-1985", "1984-01-01T05:00:00Z"},
		{"YEAR", "Fall 2017; 8/15/12; Spring 2017", "2017-01-01T05:00:00Z"},
		{"YEAR", "20170 12", ""},
		{"YEAR", "0000", ""},
		{"YEAR", "", ""},
		{"", "2024-07-04", "2024-07-04T04:00:00Z"},
		{"", "2024/07/04", "2024-07-04T04:00:00Z"},
		{"", "2024-07-04T00:00:00", "2024-07-04T04:00:00Z"},
		{"", "2024-07-04T00:00:00Z", "2024-07-04T00:00:00Z"},
		{"", "2024-07", "2024-07-01T04:00:00Z"},
		{"", "0001-01-01T00:00:00Z", ""},
		{"", "yesterday", ""},
		{"", "2024-02-30", ""},
	} {
		f, err := newTimeForm(c.format)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if at, err := f.instant([]byte(c.in), eastern.Zone); err == nil {
			got = at.Format(time.RFC3339Nano)
		}
		if got != c.want {
			t.Errorf("%s %s: got %s, want %s", c.format, c.in, got, c.want)
		}
	}
}

// What an abbreviation of a zone means only the zone itself can say: PST is not UTC, and CST is
// one thing in Chicago and another in Shanghai.
func TestTimeForm_AbbreviationsOfZones(t *testing.T) {
	const named = "Mon, 02 Jan 2006 15:04:05 MST"
	for _, c := range []struct{ layout, in, want string }{
		{named, "Mon, 02 Jan 2006 15:04:05 UTC", "2006-01-02T15:04:05Z"},
		{named, "Mon, 02 Jan 2006 15:04:05 GMT", "2006-01-02T15:04:05Z"},
		{named, "Tue, 04 Jul 2006 15:04:05 GMT", "2006-07-04T15:04:05Z"},
		{named, "Mon, 02 Jan 2006 15:04:05 GMT+3", ""},
		{named, "Mon, 02 Jan 2006 15:04:05 EST", "2006-01-02T20:04:05Z"},
		{named, "Tue, 04 Jul 2006 15:04:05 EDT", "2006-07-04T19:04:05Z"},
		{named, "Tue, 04 Jul 2006 15:04:05 EST", ""},
		{named, "Mon, 02 Jan 2006 15:04:05 PST", ""},
		{named, "Mon, 02 Jan 2006 15:04:05 +03", ""},
		{named + " -0700", "Mon, 02 Jan 2006 15:04:05 WET +0000", "2006-01-02T15:04:05Z"},
		{"2006-01-02T15:04:05-07:00", "2006-01-02T15:04:05+00:00", "2006-01-02T15:04:05Z"},
	} {
		form, err := newTimeForm(c.layout)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		at, err := form.instant([]byte(c.in), eastern.Zone)
		if err == nil {
			got = at.Format(time.RFC3339Nano)
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.in, got, c.want)
		}
	}
	form, err := newTimeForm(named)
	if err != nil {
		t.Fatal(err)
	}
	if d, ok := form.date([]byte("Mon, 02 Jan 2006 15:04:05 PST"), time.UTC); !ok || string(d.append(nil)) != "2006-01-02" {
		t.Errorf("the day of a field is %v, %v: it is told, whatever the zone", d, ok)
	}
}

func TestTimeForm_Refused(t *testing.T) {
	for _, s := range []string{"15:04", "RFC822", "02 2006", "Jan"} {
		if _, err := newTimeForm(s); err == nil {
			t.Errorf("%q was accepted", s)
		}
	}
}

func FuzzDate(f *testing.F) {
	for _, s := range []string{"2024-01-02T03:04:05Z", "1700000000.25", "2024", "Sep", "31", "2024/07/04"} {
		f.Add(s, "2", "29", "2006-01-02")
	}
	f.Fuzz(func(t *testing.T, a, b, c, layout string) {
		if d, whole := newDate([]byte(a), []byte(b), []byte(c)); whole {
			s := string(d.append(nil))
			full := [...]string{4: "2006", 7: "2006-01", 10: "2006-01-02"}
			back, err := time.Parse(full[len(s)], s)
			if err != nil || back.Format(full[len(s)]) != s {
				t.Errorf("%q %q %q gives %q: %v", a, b, c, s, err)
			}
		}
		for _, name := range []string{"", "RFC3339", "EPOCH_S", "EPOCH_MS", layout} {
			form, err := newTimeForm(name)
			if err != nil {
				continue
			}
			if at, err := form.instant([]byte(a), eastern.Zone); err == nil {
				if y := at.Year(); y < 1 || y > 9999 || at.Nanosecond()%1000 != 0 || at.Location() != time.UTC {
					t.Errorf("%q as %q gives %v", a, name, at)
				}
			}
			if d, ok := form.date([]byte(a), eastern.Zone); ok && !utf8.Valid(d.append(nil)) {
				t.Errorf("%q as %q gives %v", a, name, d)
			}
		}
	})
}
