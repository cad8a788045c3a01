package decode

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/template"
)

// date is a calendar date that may lack its day, or day and month (0).
type date struct{ year, month, day int }

// append writes YYYY, YYYY-MM or YYYY-MM-DD.
func (d date) append(dst []byte) []byte {
	dst = pad(dst, d.year, 4)
	if d.month > 0 {
		dst = pad(append(dst, '-'), d.month, 2)
		if d.day > 0 {
			dst = pad(append(dst, '-'), d.day, 2)
		}
	}
	return dst
}

func pad(dst []byte, n, width int) []byte {
	for p := 1000; width > 0; p /= 10 {
		if p < pow10[width] {
			dst = append(dst, byte('0'+n/p%10))
			width--
		}
	}
	return dst
}

var pow10 = [...]int{1, 10, 100, 1000, 10000}

// midnight is the first instant of the date; what is missing is taken as 1.
func (d date) midnight(z *time.Location) time.Time {
	return harvest.Instant(time.Date(d.year, time.Month(max(1, d.month)), max(1, d.day), 0, 0, 0, 0, z))
}

// newDate puts a date together. Whole reports that every part given was
// readable; a date is cut before the first part that is not.
func newDate(year, month, day []byte) (d date, whole bool) {
	y, ok := small(year)
	if !ok || y < 1 || len(bytes.TrimSpace(year)) > 4 {
		return date{}, false
	}
	d.year = y
	month = bytes.TrimSpace(month)
	if len(month) == 0 {
		return d, len(bytes.TrimSpace(day)) == 0
	}
	m, ok := small(month)
	if !ok {
		m, ok = monthName(month)
	}
	if !ok || m < 1 || m > 12 {
		return d, false
	}
	d.month = m
	day = bytes.TrimSpace(day)
	if len(day) == 0 {
		return d, true
	}
	n, ok := small(day)
	if !ok || n < 1 || n > daysIn(y, m) {
		return d, false
	}
	d.day = n
	return d, true
}

func daysIn(year, month int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// small reads up to nine digits.
func small(b []byte) (int, bool) {
	b = bytes.TrimSpace(b)
	if len(b) > 9 || !digits(b) {
		return 0, false
	}
	n := 0
	for _, c := range b {
		n = n*10 + int(c-'0')
	}
	return n, true
}

func digits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(b) > 0
}

var months = [...]string{
	"january", "february", "march", "april", "may", "june",
	"july", "august", "september", "october", "november", "december",
}

// monthName reads an English month, whole or its first three letters or more.
func monthName(b []byte) (int, bool) {
	b = bytes.TrimSuffix(b, []byte("."))
	if len(b) < 3 {
		return 0, false
	}
	for i, name := range months {
		if len(b) <= len(name) && bytes.EqualFold(b, []byte(name[:len(b)])) {
			return i + 1, true
		}
	}
	return 0, false
}

// listDate reads a JSON array [y, m, d] or [[y, m, d]]. Present is false for
// one that says nothing, such as [[null]].
func (w *walk) listDate(s span) (d date, whole, present bool) {
	b, i := w.body, int(s.start)
	for range 2 {
		if b[i] == '[' {
			i = skipSpace(b, i+1)
		}
	}
	if i == int(s.start) {
		return date{}, false, b[i] != 'n'
	}
	var part [3][]byte
	for k := 0; k < 3 && i < int(s.end) && b[i] != ']'; k++ {
		end := w.skip(i, 0)
		if end < 0 {
			return date{}, false, true
		}
		switch v := b[i:end]; v[0] {
		case 'n':
		case '"':
			part[k] = v[1 : len(v)-1]
		default:
			part[k] = v
		}
		i = skipSpace(b, end)
		if b[i] == ',' {
			i = skipSpace(b, i+1)
		}
	}
	if part[0] == nil {
		return date{}, false, false
	}
	d, whole = newDate(part[0], part[1], part[2])
	return d, whole, true
}

// timeForm is how an instant is written.
type timeForm struct {
	kind       timeKind
	layout     string
	month, day bool // what the layout tells
	// abbreviated: the layout names a zone by its abbreviation alone.
	abbreviated bool
}

type timeKind uint8

const (
	timeNone timeKind = iota
	timeRFC3339
	timeSeconds
	timeMillis
	timeLayout
	timeYear // of a free text
)

// newTimeForm reads a declared format.
func newTimeForm(s string) (timeForm, error) {
	switch s {
	case "":
		return timeForm{}, nil
	case "RFC3339":
		return timeForm{kind: timeRFC3339}, nil
	case "EPOCH_S":
		return timeForm{kind: timeSeconds}, nil
	case "EPOCH_MS":
		return timeForm{kind: timeMillis}, nil
	case "YEAR":
		return timeForm{kind: timeYear}, nil
	}
	f := timeForm{kind: timeLayout, layout: s, month: template.Tells(s, template.Month), day: template.Tells(s, template.Day)}
	if !template.Tells(s, template.Year) {
		return f, fmt.Errorf("format %q is no layout with a year, nor RFC3339, EPOCH_S, EPOCH_MS or YEAR", s)
	}
	if f.day && !f.month {
		return f, fmt.Errorf("format %q has a day but no month", s)
	}
	example := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC).Format(s)
	if _, err := time.Parse(s, example); err != nil {
		return f, fmt.Errorf("format %q cannot be read back: %w", s, err)
	}
	f.abbreviated = namesZoneOnly(s)
	return f, nil
}

// namesZoneOnly reports whether a layout tells the abbreviation of a zone, and not its
// distance to UTC.
func namesZoneOnly(layout string) bool {
	in := func(zone string, offset int) string {
		return time.Date(2001, 1, 1, 0, 0, 0, 0, time.FixedZone(zone, offset)).Format(layout)
	}
	named := in("AAA", 0) != in("BBB", 0)
	measured := in("AAA", 0) != in("AAA", 3600)
	return named && !measured
}

var errNoTime = errors.New("not a time")

// usual are the forms tried where none is declared (P28); a fraction of a second
// may follow any clock.
var usual = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02", "2006/01/02", "2006-01", "2006/01", "2006",
	"2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02T15:04:05Z0700", "2006-01-02 15:04:05Z07:00",
}

// instant reads v; days and clocks without an offset are of zone z. An abbreviation that
// zone z does not have at that time is refused: which of the zones of this name is meant
// cannot be known, and the library takes it for UTC.
func (f timeForm) instant(v []byte, z *time.Location) (time.Time, error) {
	t, err := f.read(v, z)
	if err == nil && f.abbreviated && !f.knowsZone(v, t, z) {
		return time.Time{}, errNoTime
	}
	return t, err
}

// knowsZone reports whether the abbreviation in v is UTC, or what zone z is called at t.
func (f timeForm) knowsZone(v []byte, t time.Time, z *time.Location) bool {
	plain, err := time.ParseInLocation(f.layout, string(bytes.TrimSpace(v)), time.UTC)
	if err != nil {
		return false
	}
	written, _ := plain.Zone()
	name, _ := t.In(z).Zone()
	return written == "UTC" || written == "GMT" || written == name
}

// read is the instant that v is, if its abbreviation of a zone is one that z knows.
func (f timeForm) read(v []byte, z *time.Location) (time.Time, error) {
	v = bytes.TrimSpace(v)
	if len(v) > 64 && f.kind != timeYear {
		return time.Time{}, errNoTime
	}
	var t time.Time
	var err error
	switch f.kind {
	case timeYear:
		t = time.Date(firstYear(v), 1, 1, 0, 0, 0, 0, z)
	case timeSeconds:
		t, err = epoch(v, time.Second)
	case timeMillis:
		t, err = epoch(v, time.Millisecond)
	case timeRFC3339:
		t, err = time.Parse(time.RFC3339Nano, string(v))
	case timeLayout:
		t, err = time.ParseInLocation(f.layout, string(v), z)
	default:
		for _, layout := range usual {
			t, err = time.ParseInLocation(layout, string(v), z)
			if err == nil {
				break
			}
		}
	}
	if err != nil || t.UTC().Year() < 1 || t.UTC().Year() > 9999 || t.IsZero() {
		return time.Time{}, errNoTime
	}
	return harvest.Instant(t), nil
}

// date reads v for a field that holds a date: as much of it as is told. Its day is
// told whatever zone is named.
func (f timeForm) date(v []byte, z *time.Location) (date, bool) {
	t, err := f.read(v, z)
	if err != nil {
		return date{}, false
	}
	switch f.kind {
	case timeRFC3339: // the day as it is written
		d, _ := time.Parse(time.RFC3339Nano, string(bytes.TrimSpace(v)))
		t = d
	case timeYear:
		return date{year: t.In(z).Year()}, true
	case timeLayout:
		t = t.In(z)
		switch {
		case !f.month:
			return date{year: t.Year()}, true
		case !f.day:
			return date{year: t.Year(), month: int(t.Month())}, true
		}
	default:
		t = t.In(z)
	}
	return date{t.Year(), int(t.Month()), t.Day()}, true
}

// firstYear finds four digits that stand alone, as in "1998 Dec-1999 Jan" and
// "Fall 2017; 8/15/12", or 0.
func firstYear(v []byte) int {
	for i := 0; i < len(v); i++ {
		n := 0
		for i+n < len(v) && v[i+n] >= '0' && v[i+n] <= '9' {
			n++
		}
		if n == 4 {
			y, _ := small(v[i : i+4])
			return y
		}
		i += n
	}
	return 0
}

// epoch reads a count of units since 1970, with decimals if need be.
func epoch(v []byte, unit time.Duration) (time.Time, error) {
	whole, frac, _ := bytes.Cut(v, []byte("."))
	n, err := strconv.ParseInt(string(whole), 10, 64)
	if err != nil || len(frac) > 0 && !digits(frac) {
		return time.Time{}, errNoTime
	}
	per := int64(time.Second / unit)
	if n/per > 1<<38 || n/per < -(1<<38) {
		return time.Time{}, errNoTime
	}
	var part int64 // of a unit, in nanoseconds
	for i, scale := 0, int64(unit)/10; i < len(frac) && scale > 0; i, scale = i+1, scale/10 {
		part += int64(frac[i]-'0') * scale
	}
	if len(whole) > 0 && whole[0] == '-' {
		part = -part
	}
	return time.Unix(n/per, n%per*int64(unit)+part), nil
}
