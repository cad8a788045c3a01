package harvest

import (
	"strconv"
	"time"
)

// Place is a point on the axis of a cursor, as it is shown: an instant, or of an
// UPDATE the number of a candidate.
type Place struct {
	time.Time
	Ordinal bool
}

// PlaceOf is the place of an operation's cursor at t.
func PlaceOf(op Operation, t time.Time) Place { return Place{Time: t, Ordinal: op == Update} }

// String is RFC 3339 in UTC with a fraction only where there is one, or the number.
func (p Place) String() string {
	if p.Ordinal {
		return strconv.FormatInt(OrdinalOf(p.Time), 10)
	}
	return p.UTC().Format("2006-01-02T15:04:05.999999Z")
}

// MarshalText implements encoding.TextMarshaler: a number is a text, too, where
// others have an instant.
func (p Place) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// MarshalJSON implements json.Marshaler, in place of the embedded time's.
func (p Place) MarshalJSON() ([]byte, error) { return []byte(strconv.Quote(p.String())), nil }
