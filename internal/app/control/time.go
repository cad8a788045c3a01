package control

import "time"

// Time prints as RFC 3339 in UTC with Z, with a fraction only where there is one.
type Time time.Time

// MarshalText implements encoding.TextMarshaler.
func (t Time) MarshalText() ([]byte, error) {
	return []byte(time.Time(t).UTC().Format("2006-01-02T15:04:05.999999Z")), nil
}

func (t Time) String() string {
	b, _ := t.MarshalText()
	return string(b)
}
