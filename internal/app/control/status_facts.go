package control

import (
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// SourceFacts is what the store knows of a source.
type SourceFacts struct {
	Now         time.Time
	State       harvest.SourceState
	Planned     bool // anything ever was
	LastSuccess time.Time
	Outages     []PartitionOutage
	Rests       []PartitionRest
	// HeldEndpoints are those that are paused or stopped by themselves, by name. None of
	// the tasks that are queued for them is ready, or the next one.
	HeldEndpoints []HeldEndpoint
	// Queued tasks, those of them that could be taken now and since when the first
	// could; Running are in somebody's hands.
	Queued, Ready, Running Counted
	ReadySince             time.Time
	// Gaps are the windows that hold a watermark, as [Control.Gaps] lists them.
	Gaps Counted
	// OthersRun: tasks of other sources are in somebody's hands.
	OthersRun bool
	// NextAt is when the first of those queued for later is due, and NextCode what
	// is known of why it waits.
	NextAt      time.Time
	NextCode    harvest.Code
	Quarantined Counted
	// NoDetails are the ids that a search named and of which the source gave nothing.
	NoDetails Counted
	// Sent are the requests of the last minute, as far as their pages are over.
	Sent Counted
	// FailedTrigger is what the newest trigger said if it failed.
	FailedTrigger string
	TriggeredAt   time.Time
	// Restarted is the fault for which a slice that is worked on was begun again or cut,
	// nil if none was. The source answers, but not so that the slice can be finished.
	Restarted *Restart
	// Harvested is the cursor of a HARVEST that moved last; ID 0: there is none.
	Harvested CursorFacts
}

// HeldEndpoint is an endpoint that is paused or stopped by itself.
type HeldEndpoint struct {
	harvest.EndpointOf
	harvest.SourceState
}

// Restart is why a slice was begun again, when and how often; 0 times: it is a part of
// one that was cut for that.
type Restart struct {
	Task  harvest.TaskID
	Code  harvest.Code
	Text  string
	At    time.Time
	Count int
	// Until is when whoever works on it, or will, is heard of at the latest.
	Until time.Time
}

// CursorFacts is how far a cursor has come.
type CursorFacts struct {
	ID        harvest.CursorID
	Watermark time.Time
}

// PartitionOutage is an outage of a partition.
type PartitionOutage struct {
	harvest.Partition
	harvest.Outage
}

// PartitionRest is a partition whose breaker is open.
type PartitionRest struct {
	harvest.Partition
	harvest.Breaker
}

// LineFacts is what the store knows of a cursor.
type LineFacts struct {
	// Moves are the last ones, the newest first.
	Moves []CursorMove
	// Gap is the oldest window that holds it until it is mended, if one does.
	Gap *Gap
}

// CursorMove is where a cursor came to, and when.
type CursorMove struct {
	To, At time.Time
}
