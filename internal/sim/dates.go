package sim

import (
	"strconv"
	"time"
	_ "time/tzdata" // PubMed's days are US Eastern wherever the simulator runs
)

// The zones of calendar days: PubMed's and Europe PMC's.
var (
	eastern = zone("America/New_York")
	london  = zone("Europe/London")
)

func zone(name string) *time.Location {
	loc, err := time.LoadLocation(name)
	if err != nil {
		panic("sim: " + name + " is missing from the embedded zone data: " + err.Error())
	}
	return loc
}

// midnight returns the start of the day in a zone that holds the instant.
func midnight(unix int64, in *time.Location) int64 {
	y, m, d := time.Unix(unix, 0).In(in).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, in).Unix()
}

// dayAfter returns the start of the day after the one given by its midnight.
func dayAfter(midnight int64, in *time.Location) int64 {
	y, m, d := time.Unix(midnight, 0).In(in).Date()
	return time.Date(y, m, d+1, 0, 0, 0, 0, in).Unix()
}

// civil is a calendar day; zero month or day means that it is not known.
type civil struct{ year, month, day int }

// civilOf converts days since 1970-01-01 without going through time.Time, which
// is too slow for pages of a thousand works with five dates each.
func civilOf(days int) civil {
	z := days + 719468
	era := z / 146097
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	c := civil{year: yoe + era*400, month: mp + 3, day: doy - (153*mp+2)/5 + 1}
	if mp >= 10 {
		c.month -= 12
	}
	if c.month <= 2 {
		c.year++
	}
	return c
}

// easternCivil returns the Eastern calendar day of an instant.
func easternCivil(unix int64) civil {
	y, m, d := time.Unix(unix, 0).In(eastern).Date()
	return civil{y, int(m), d}
}

// londonCivil returns the calendar day of an instant in London.
func londonCivil(unix int64) civil {
	y, m, d := time.Unix(unix, 0).In(london).Date()
	return civil{y, int(m), d}
}

// number orders calendar days; unknown parts count as the first.
func (c civil) number() int { return c.year*10000 + max(c.month, 1)*100 + max(c.day, 1) }

func appendTwo(b []byte, n int) []byte { return append(b, byte('0'+n/10), byte('0'+n%10)) }

func appendInt(b []byte, n int) []byte { return strconv.AppendInt(b, int64(n), 10) }

// appendPadded writes n with leading zeros.
func appendPadded(b []byte, n, width int) []byte {
	var digits [20]byte
	for i := width - 1; i >= 0; i-- {
		digits[i] = byte('0' + n%10)
		n /= 10
	}
	return append(b, digits[:width]...)
}

// appendInstant writes whole seconds as RFC 3339 with Z, and microseconds if there are any.
func appendInstant(b []byte, unix uint32, micro uint32) []byte {
	c, sec := civilOf(int(unix/86400)), int(unix%86400)
	b = appendPadded(b, c.year, 4)
	b = appendTwo(append(b, '-'), c.month)
	b = appendTwo(append(b, '-'), c.day)
	b = appendTwo(append(b, 'T'), sec/3600)
	b = appendTwo(append(b, ':'), sec/60%60)
	b = appendTwo(append(b, ':'), sec%60)
	if micro != 0 {
		b = appendPadded(append(b, '.'), int(micro), 6)
	}
	return append(b, 'Z')
}
