// Package schedule knows when a source is asked by itself: cron lines, and the
// quiet hours at which it is left alone, both by the clocks of a time zone.
//
// It promises that what the clock on the wall shows twice comes once, and that what
// it skips is not lost: lines come at the instant after the skip.
package schedule

import (
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// Schedule is when a source is asked by itself, and when it is left alone. It is
// no part of a plan: when to ask is known where triggers are made, and quiet hours
// where tasks are taken.
type Schedule struct {
	Harvest, Update Cron
	OlderThan       time.Duration
	Zone            *time.Location
	Sentinel        bool
	quiet           []quietSpan
}

// Line is the cron line of an operation; the zero line never comes.
func (s *Schedule) Line(op harvest.Operation) Cron {
	switch op {
	case harvest.Harvest:
		return s.Harvest
	case harvest.Update:
		return s.Update
	}
	return Cron{}
}
