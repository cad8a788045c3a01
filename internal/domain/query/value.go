package query

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/template"
)

// InstantLayout writes instants so that text sorts as time (C5).
const InstantLayout = "2006-01-02T15:04:05.000000Z"

func formatInstant(t time.Time) string {
	return t.UTC().Truncate(time.Microsecond).Format(InstantLayout)
}

// Years that instants may lie in: wide enough for any record, and their text
// always has four digits.
const minYear, maxYear = 1000, 9999

var errYears = fmt.Errorf("is outside the years %d to %d", minYear, maxYear-1)

// granule is a span of time as exact as it was written: 2020-05 is a month.
type granule struct{ start, end time.Time }

// The ways a date may be written, and what each spans.
var dateLayouts = []struct {
	layout string
	end    func(time.Time) time.Time
}{
	{"2006", func(t time.Time) time.Time { return t.AddDate(1, 0, 0) }},
	{"2006-01", func(t time.Time) time.Time { return t.AddDate(0, 1, 0) }},
	{"2006/01", func(t time.Time) time.Time { return t.AddDate(0, 1, 0) }},
	{"2006-01-02", func(t time.Time) time.Time { return t.AddDate(0, 0, 1) }},
	{"2006/01/02", func(t time.Time) time.Time { return t.AddDate(0, 0, 1) }},
	{"2006-01-02T15Z07:00", func(t time.Time) time.Time { return t.Add(time.Hour) }},
	{"2006-01-02T15:04Z07:00", func(t time.Time) time.Time { return t.Add(time.Minute) }},
	{"2006-01-02T15:04:05Z07:00", func(t time.Time) time.Time { return t.Add(time.Second) }},
}

var errDate = errors.New("is not a date")

// parseDate reads a date or an instant. Without an offset it is UTC.
func parseDate(s string) (granule, error) {
	text := strings.ToUpper(s)
	for _, l := range dateLayouts {
		t, err := time.Parse(l.layout, text)
		if err != nil && strings.Contains(l.layout, "Z07:00") {
			t, err = time.Parse(strings.TrimSuffix(l.layout, "Z07:00"), text)
		}
		if err != nil {
			continue
		}
		g := granule{t.UTC(), l.end(t.UTC())}
		if strings.ContainsAny(text, ".,") { // a fraction of a second
			g.start = g.start.Truncate(time.Microsecond)
			g.end = g.start.Add(time.Microsecond)
		}
		if g.start.Year() < minYear || g.start.Year() > maxYear {
			return granule{}, errYears
		}
		return g, nil
	}
	return granule{}, errDate
}

const dateHint = "write 2024, 2024-05, 2024-05-31 or 2024-05-31T12:00:00Z"

var yearText = regexp.MustCompile(`^[1-9][0-9]{3}$`)

func parseYear(s string) (int, error) {
	if !yearText.MatchString(s) {
		return 0, errors.New("is not a year")
	}
	return strconv.Atoi(s)
}

var numberText = regexp.MustCompile(`^-?([0-9]{1,38}(\.[0-9]{0,38})?|\.[0-9]{1,38})$`)

// parseNumber gives the one form of a decimal number.
func parseNumber(s string) (string, error) {
	if !numberText.MatchString(s) {
		return "", errors.New("is not a decimal number")
	}
	neg := strings.HasPrefix(s, "-")
	whole, frac, _ := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	whole, frac = strings.TrimLeft(whole, "0"), strings.TrimRight(frac, "0")
	if whole == "" {
		whole = "0"
	}
	if frac != "" {
		whole += "." + frac
	}
	if neg && whole != "0" {
		whole = "-" + whole
	}
	return whole, nil
}

// compareNumbers orders two canonical numbers.
func compareNumbers(a, b string) int {
	x, _ := new(big.Rat).SetString(a)
	y, _ := new(big.Rat).SetString(b)
	if x == nil || y == nil {
		return 0
	}
	return x.Cmp(y)
}

func parseBool(s string) (string, error) {
	switch strings.ToLower(s) {
	case "true", "yes", "y", "1":
		return "true", nil
	case "false", "no", "n", "0":
		return "false", nil
	}
	return "", errors.New("is neither true nor false")
}

// plainText is a value with its white space made plain.
func plainText(s string) string { return strings.Join(strings.Fields(s), " ") }

// cleanText refuses what may not be in a value.
func cleanText(s string) error { return template.Clean(s) }

// isControl is true of control characters and of line and paragraph separators.
func isControl(r rune) bool { return template.IsControl(r) }

// normalRange puts the bounds of r into their one form.
func normalRange(r Range) (Range, error) {
	var err error
	side := func(b *Bound, upper bool) {
		if b.Absent() {
			*b = Bound{At: b.At}
			return
		}
		v, open, e := normalBound(r.Type, b.Value, b.Open, upper)
		if e != nil && err == nil {
			err = boundError{*b, e}
		}
		b.Value, b.Open = v, open
	}
	side(&r.From, false)
	side(&r.To, true)
	if err != nil {
		return r, err
	}
	switch {
	case r.From.Absent() && r.To.Absent():
		return r, errors.New("the range has no bounds")
	case r.From.Absent() || r.To.Absent():
		return r, nil
	}
	empty := false
	switch r.Type {
	case TypeDate:
		empty = r.From.Value >= r.To.Value
	case TypeYear:
		empty = r.From.Value > r.To.Value
	case TypeNumber:
		c := compareNumbers(r.From.Value, r.To.Value)
		empty = c > 0 || c == 0 && (r.From.Open || r.To.Open)
	}
	if empty {
		return r, errors.New("the range is empty: it ends before it begins")
	}
	return r, nil
}

// boundError is a bound that cannot be read.
type boundError struct {
	bound Bound
	err   error
}

func (e boundError) Error() string { return quoted(e.bound.Value) + " " + e.err.Error() }

// normalBound: dates become instants, the lower one in, the upper one out of the
// range; years both in. So whatever was written, equal ranges are equal.
func normalBound(t Type, value string, open, upper bool) (string, bool, error) {
	switch t {
	case TypeDate:
		g, err := parseDate(value)
		if err != nil {
			return value, open, err
		}
		at := g.start
		if open != upper { // past the granule: after a lower open one, or an upper closed one
			at = g.end
		}
		if at.Year() > maxYear {
			return value, open, errYears
		}
		return formatInstant(at), upper, nil
	case TypeYear:
		y, err := parseYear(value)
		if err != nil {
			return value, open, err
		}
		switch {
		case open && upper:
			y--
		case open:
			y++
		}
		if y < minYear || y > maxYear {
			return value, open, errors.New("leaves no year")
		}
		return strconv.Itoa(y), false, nil
	case TypeNumber:
		n, err := parseNumber(value)
		return n, open, err
	case TypeText:
		return plainText(value), open, nil
	}
	return value, open, fmt.Errorf("cannot bound a range of type %s", t)
}
