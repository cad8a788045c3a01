package control

import (
	"context"
	"time"
)

// RateMinute is what was sent for a rate key in one minute, of the pages that ended in it.
type RateMinute struct {
	At Time `json:"at"`
	// Requests were sent, HTTP429 of their answers said that it was too much, and Pages
	// waited together for Wait milliseconds at the gate.
	Requests int64 `json:"requests"`
	HTTP429  int64 `json:"http_429"`
	Pages    int64 `json:"pages"`
	Wait     int64 `json:"wait_ms"`
}

// RateSeries is what was sent for the sources of a rate key, minute by minute; minutes in
// which no page ended are left out.
type RateSeries struct {
	At      Time         `json:"at"`
	Since   Time         `json:"since"`
	Minutes []RateMinute `json:"minutes"`
	// More: there are more pages than were looked at, and the oldest are left out.
	More bool `json:"more,omitzero"`
}

// SeriesStore sums up pages by the minute in which they ended.
type SeriesStore interface {
	// PagesByMinute sums up the newest pages of sources that ended since, at most so many of
	// each source, operation and state, and says whether there are more.
	PagesByMinute(ctx context.Context, codes []string, since time.Time, most int) ([]RateMinute, bool, error)
}

const (
	// seriesOver is how far back a series reaches.
	seriesOver = time.Hour
	// seriesPages bounds the pages that it looks at.
	seriesPages = 2000
)

// RateSeries shows what was sent in the last hour for the sources of a rate key.
func (c *Control) RateSeries(ctx context.Context, codes []string) (RateSeries, error) {
	out := RateSeries{Minutes: []RateMinute{}}
	for _, code := range codes {
		if err := c.known(ctx, code); err != nil {
			return out, err
		}
	}
	now, err := c.store.Now(ctx)
	if err != nil {
		return out, err
	}
	out.At = Time(now)
	since := now.Add(-seriesOver).Truncate(time.Minute)
	out.Since = Time(since)
	minutes, more, err := c.store.PagesByMinute(ctx, codes, since, seriesPages)
	if err != nil {
		return out, err
	}
	out.Minutes = append(out.Minutes, minutes...)
	out.More = more
	return out, nil
}
