package sqlstore

import (
	"database/sql/driver"
	"fmt"
	"sync"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// clock turns readings into store time: UTC microseconds that never go back
// within this process, however the machine's clock is stepped (R17). It takes
// the process's clock where the database has none.
type clock struct {
	mu   sync.Mutex
	last time.Time // guarded by mu; newest time handed out
	at   time.Time // guarded by mu; when, with its monotonic reading
}

// observe returns reading, or if that lies before what was handed out already,
// the last time handed out plus what has passed since by the monotonic clock.
func (c *clock) observe(reading time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	here := time.Now()
	now := harvest.Instant(reading)
	if now.Before(c.last) {
		now = harvest.Instant(c.last.Add(here.Sub(c.at)))
	}
	c.last, c.at = now, here
	return now
}

// seed makes sure that no time before t is handed out.
func (c *clock) seed(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.After(c.last) {
		c.last, c.at = t, time.Now()
	}
}

// stamp is how an instant is written in both databases: text that sorts as
// time in SQLite and is a DATETIME(6) literal in MySQL.
const stamp = "2006-01-02 15:04:05.000000"

// ts is an instant on its way into or out of the database. The zero time is NULL.
type ts time.Time

// Value implements driver.Valuer.
func (t ts) Value() (driver.Value, error) { return t.text(), nil }

// text is what is stored: to be taken once where many rows share an instant.
func (t ts) text() any {
	if time.Time(t).IsZero() {
		return nil
	}
	return harvest.Instant(time.Time(t)).Format(stamp)
}

// Scan implements sql.Scanner.
func (t *ts) Scan(v any) error {
	var s string
	switch x := v.(type) {
	case nil:
		*t = ts{}
		return nil
	case string:
		s = x
	case []byte:
		s = string(x)
	case time.Time:
		*t = ts(harvest.Instant(x))
		return nil
	default:
		return fmt.Errorf("instant of type %T", v)
	}
	p, err := parseInstant(s)
	if err != nil {
		return fmt.Errorf("stored instant %q: %w", s, err)
	}
	*t = ts(p)
	return nil
}

// parseInstant reads what patra stores, and what people write into SQLite, which keeps it as
// it is.
func parseInstant(s string) (time.Time, error) {
	p, err := time.Parse(stamp, s)
	if err == nil {
		return p, nil
	}
	for _, layout := range []string{time.DateOnly, time.DateTime, time.RFC3339} {
		written, other := time.Parse(layout, s)
		if other == nil {
			return harvest.Instant(written), nil
		}
	}
	return p, err
}

func (t ts) time() time.Time { return time.Time(t) }
