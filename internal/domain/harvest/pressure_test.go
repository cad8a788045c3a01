package harvest_test

import (
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// TestHealing_ASlowDatabaseIsPlannedNothingFor: by how long writes wait for their turn and
// how long they take, just below and just above, and over when they are quick again or when
// nothing is known any more.
func TestHealing_ASlowDatabaseIsPlannedNothingFor(t *testing.T) {
	for _, c := range []struct {
		name         string
		limits       harvest.DatabaseLimits
		writes       int
		queued, took time.Duration
		later        time.Duration
		want         bool
	}{
		{"waits as long as it may", harvest.DatabaseLimits{}, 10, 200 * time.Millisecond, time.Second, 0, false},
		{"waits longer", harvest.DatabaseLimits{}, 10, 201 * time.Millisecond, time.Second, 0, true},
		{"takes as long as it may", harvest.DatabaseLimits{}, 10, 0, 3 * time.Second, 0, false},
		{"takes longer", harvest.DatabaseLimits{}, 10, 0, 3*time.Second + time.Millisecond, 0, true},
		{"waits as long as it was told", harvest.DatabaseLimits{Wait: time.Second}, 10, time.Second, time.Second, 0, false},
		{"waits longer than it was told", harvest.DatabaseLimits{Wait: time.Second}, 10, 1001 * time.Millisecond, time.Second, 0, true},
		{"takes as long as it was told", harvest.DatabaseLimits{Write: 50 * time.Millisecond}, 10, 0, 50 * time.Millisecond, 0, false},
		{"takes longer than it was told", harvest.DatabaseLimits{Write: 50 * time.Millisecond}, 10, 0, 51 * time.Millisecond, 0, true},
		{"too few to tell", harvest.DatabaseLimits{}, 9, time.Second, time.Minute, 0, false},
		{"a minute ago", harvest.DatabaseLimits{}, 20, time.Second, time.Minute, time.Minute, false},
		{"within the minute", harvest.DatabaseLimits{}, 20, time.Second, time.Minute, time.Minute - 1, true},
	} {
		p := harvest.Pressure{Limits: c.limits}
		for range c.writes {
			p.Note(t0, c.queued, c.took)
		}
		why := p.Strained(t0.Add(c.later))
		if (why != "") != c.want {
			t.Errorf("%s: %q", c.name, why)
		}
		for range 20 {
			p.Note(t0, 0, 0)
		}
		if why := p.Strained(t0); why != "" {
			t.Errorf("%s, and then quick again: %s", c.name, why)
		}
	}
}
