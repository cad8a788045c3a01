package control

import (
	"time"

	"github.com/papertrace/patra/internal/app/alert"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// Levels is how full the queues are at a moment and how far behind the cursors.
type Levels struct {
	Queued  []QueueLevel
	Cursors []CursorLevel
	// Resting are the partitions whose breaker is open, Held the sources that are
	// paused or stopped, and the endpoints that are by themselves: a source has none.
	Resting []harvest.Partition
	Held    []harvest.EndpointOf
	// Alerts are those that fire, by rule.
	Alerts []AlertLevel
	// Targets are those who are told of revisions, and Outbox the longest backlog among
	// them, up to the store's bound.
	Targets []OutboxTarget
	Outbox  int64
}

// QueueLevel is how many tasks of a partition wait.
type QueueLevel struct {
	harvest.Partition
	Tasks int64
}

// CursorLevel is how far the cursor of a partition that is furthest behind is behind,
// among those of one scope that are to follow the present.
type CursorLevel struct {
	harvest.Partition
	Scope  harvest.Scope
	Behind time.Duration
}

// AlertLevel is how many alerts of a rule fire.
type AlertLevel struct {
	Rule     alert.Code
	Severity alert.Severity
	Firing   int64
}
