package alert

import (
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// Facts is what is known at a moment of all sources. None of it costs more with every
// page, slice or record there is.
type Facts struct {
	Now     time.Time
	Sources []SourceFacts
	Targets []TargetFacts
}

// TargetFacts is what is known of a target of events.
type TargetFacts struct {
	Name string
	// Backlog is how many revisions it has not got, the oldest stored at OldestAt.
	Backlog  int64
	OldestAt time.Time
	// Failures is how often in a row it took nothing, and Error what it said.
	Failures int
	Error    string
	// Served: a relay works for it.
	Served bool
	// Parked messages are not tried any more.
	Parked int64
}

// StoppedEndpoint is an endpoint that a fatal fault stopped, then, and why.
type StoppedEndpoint struct {
	Name string // SOURCE/ENDPOINT
	At   time.Time
	By   string
}

// SourceFacts is what is known of a source. What is zero or absent is not so.
type SourceFacts struct {
	Code string
	// Stopped: a fatal fault stopped it, then, and why.
	Stopped   bool
	StoppedAt time.Time
	StoppedBy string
	// StoppedEndpoints are those that a fatal fault stopped, and not the whole source.
	StoppedEndpoints []StoppedEndpoint
	// Held: it is stopped, or somebody paused it, or that is so of every endpoint that
	// its work goes through.
	Held bool
	// Outage is what its upstream says in place of answering.
	Outage *harvest.Outage
	// Stuck is the fault for which its work is begun again and again, though it
	// answers, and StuckBy what it said; empty: none.
	Stuck   harvest.Code
	StuckBy string
	// FailedTrigger is why nothing could be planned when it was tried last.
	FailedTrigger string
	TriggeredAt   time.Time
	Lines         []Line
	// Untaken tasks could be worked on since then, and nobody does.
	Untaken      int64
	UntakenSince time.Time
	// Gaps are windows that were left unread and hold a watermark; GapsMore: there
	// are more than were counted.
	Gaps      int64
	GapsMore  bool
	OldestGap string
	GapWhy    string
	Quotas    []Quota
	Traffic   []Traffic
	Queues    []Queue
	Rivals    []Rival
	// Unread is why its description could not be read, nil if it was. Of Rivals nothing is
	// known then.
	Unread error
}

// Line is how far a standing HARVEST is behind.
type Line struct {
	Schedule   string
	Lag, Limit time.Duration
	// Late: the lag is over its limit, since then; CatchingUp: and gets less.
	Late       bool
	CatchingUp bool
	// Held: the endpoint it goes through is stopped, or somebody paused it.
	Held      bool
	LateSince time.Time
	// ProvenTo is where its cursor stands.
	ProvenTo time.Time
}

// Quota is what is left of a quota.
type Quota struct {
	Window      string
	Limit, Left int64
	// Reserve is the part of it that is kept back from what can wait, 0 to 1.
	Reserve float64
}

// Traffic is how the newest pages of a source and operation fared, those that ended in
// the last minutes and no more than some hundreds of them.
type Traffic struct {
	Operation harvest.Operation
	Pages     int64 // those that were stored or failed
	Failed    int64 // without those whose worker was lost
	Throttled int64 // replies that asked for fewer requests
	Lost      int64 // pages whose worker died or lost its lease
	Items     int64
	Aside     int64 // of them put into quarantine, or named and not had
}

// TrafficOver is how far back [Traffic] looks.
const TrafficOver = 5 * time.Minute

// Queue is how many tasks of an operation wait, and how many usually do.
type Queue struct {
	Operation harvest.Operation
	Waiting   int64
	More      bool // there are more than were counted
	// Looks is how often it was looked at in the last day; Mean and Deviation are of
	// what was found.
	Looks           int64
	Mean, Deviation float64
}

// Rival is a part of a source's description for which several rows are in force.
type Rival struct {
	Dimension string
	Why       string
}
