package harvest

import (
	"cmp"
	"fmt"
	"time"
)

// DatabaseLimits are how slow a database may be before it is spared for a while. Each is
// of a mean, and 0 is the platform's: 200 ms and 3 s.
type DatabaseLimits struct {
	// Wait is how long a write may wait for its turn.
	Wait time.Duration
	// Write is how long it may take.
	Write time.Duration
}

// Filled has the platform's limits where the process was told none.
func (l DatabaseLimits) Filled() DatabaseLimits {
	return DatabaseLimits{Wait: cmp.Or(l.Wait, 200*time.Millisecond), Write: cmp.Or(l.Write, 3*time.Second)}
}

const (
	// leastWrites are needed for a verdict, and mostWrites looked at.
	leastWrites = 10
	mostWrites  = 20
	// writesWithin is how old they may be: who plans nothing writes little.
	writesWithin = time.Minute
)

// Pressure is how a database fares, by the last writes of a process.
type Pressure struct {
	// Limits are how slow it may be.
	Limits DatabaseLimits

	writes []timedWrite
}

type timedWrite struct {
	at           time.Time
	queued, took time.Duration
}

// Note takes a write into account that waited and took so long.
func (p *Pressure) Note(at time.Time, queued, took time.Duration) {
	p.writes = append(p.writes, timedWrite{at: at, queued: queued, took: took})
	if len(p.writes) > mostWrites {
		p.writes = append(p.writes[:0], p.writes[1:]...)
	}
}

// Strained says why nothing more should be planned at now, empty if it may be. It is over
// when writes are quick again, or when there were none for a while.
func (p *Pressure) Strained(now time.Time) string {
	var queued, took []time.Duration
	for _, w := range p.writes {
		if now.Sub(w.at) < writesWithin {
			queued = append(queued, w.queued)
			took = append(took, w.took)
		}
	}
	if len(queued) < leastWrites {
		return ""
	}
	limits := p.Limits.Filled()
	if mean := MeanOf(queued); mean > limits.Wait {
		return fmt.Sprintf("the database is busy: writes wait %s for their turn, more than %s", mean.Round(time.Millisecond), limits.Wait)
	}
	if mean := MeanOf(took); mean > limits.Write {
		return fmt.Sprintf("the database is slow: writes take %s, more than %s", mean.Round(time.Millisecond), limits.Write)
	}
	return ""
}
