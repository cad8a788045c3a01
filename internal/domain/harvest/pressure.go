package harvest

import (
	"fmt"
	"time"
)

// How slow a database may be before nothing more is planned for a while. Both are means.
const (
	// MaxQueueTime is how long a write may wait for its turn.
	MaxQueueTime = 200 * time.Millisecond
	// MaxWriteTime is how long it may take.
	MaxWriteTime = 3 * time.Second
)

const (
	// leastWrites are needed for a verdict, and mostWrites looked at.
	leastWrites = 10
	mostWrites  = 20
	// writesWithin is how old they may be: who plans nothing writes little.
	writesWithin = time.Minute
)

// Pressure is how a database fares, by the last writes of a process.
type Pressure struct {
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
	if mean := MeanOf(queued); mean > MaxQueueTime {
		return fmt.Sprintf("the database is busy: writes wait %s for their turn, more than %s", mean.Round(time.Millisecond), MaxQueueTime)
	}
	if mean := MeanOf(took); mean > MaxWriteTime {
		return fmt.Sprintf("the database is slow: writes take %s, more than %s", mean.Round(time.Millisecond), MaxWriteTime)
	}
	return ""
}
