package harvest

import (
	"fmt"
	"time"
)

// Identifiers, one type each so that they cannot be mixed up.
type (
	// InstanceID names a trigger as it was recorded.
	InstanceID int64
	// PlanID names a plan.
	PlanID int64
	// SliceID names a slice.
	SliceID int64
	// TaskID names a task.
	TaskID int64
	// RunID names an attempt.
	RunID int64
	// BatchID names a page.
	BatchID int64
	// CursorID names a namespace's cursor.
	CursorID int64
	// SelectionID names a query of a source.
	SelectionID int64
)

// Lease is the right to work on a task. Every write names it, and is refused
// once the task's fence has moved past it.
type Lease struct {
	Task  TaskID
	Fence int64
	Owner string
	TTL   time.Duration
}

// Job is a leased task with what is needed to run it.
type Job struct {
	Lease Lease
	// Instance is the trigger that the plan was made for.
	Instance    InstanceID
	Plan        PlanID
	Slice       SliceID
	Provenance  string
	Endpoint    string // by which its partition is named
	Operation   Operation
	Spec        SliceSpec
	Fingerprint string // of the plan's spec snapshot
	BaseURL     string // the plan's, empty for the spec's own
	Trace       string // where in a tree of spans the plan stands, if anywhere
	// Selection is what the plan's query selects; 0 if it asks for everything.
	Selection SelectionID
}

// Partition is the one that the task takes turns in.
func (j Job) Partition() Partition {
	return Partition{Provenance: j.Provenance, Endpoint: j.Endpoint, Operation: j.Operation}
}

// Reserved is what open tasks will take.
type Reserved struct {
	// OpenWork is that of all operations, Own that of the one asked about.
	OpenWork
	Own OpenWork
	// WaitsUntil is when the first of them goes on, and Now the store's clock.
	WaitsUntil, Now time.Time
}

// OpenWork is what open tasks will take.
type OpenWork struct {
	// Pages are the requests for their pages or ids, Records those whose details
	// are asked for besides, where that was not known when they were planned.
	Pages, Records int64
}

// Add sums two.
func (w OpenWork) Add(o OpenWork) OpenWork {
	return OpenWork{Pages: w.Pages + o.Pages, Records: w.Records + o.Records}
}

// LeaseRequest says what a worker is willing to take.
type LeaseRequest struct {
	Owner string
	TTL   time.Duration
	Max   int
	// Provenance and Operation restrict the choice if set.
	Provenance string
	Operation  Operation
	// SpecVersion is the newest snapshot form the worker can run.
	SpecVersion int
	// Resting are left alone.
	Resting []Rest
	// Gone, if set, reports that an owner is known to have ended: its tasks are
	// not waited for, though their leases have not run out. It must be quick.
	Gone func(owner string) bool
	// Turns, if given, are kept from one request to the next: partitions take
	// turns over all of them, and the queue is not read for each.
	Turns *Turns
}

// Rest is a time in which an operation of a source is left alone, as in quiet hours. With
// an endpoint it is only that which rests (R72).
type Rest struct {
	Provenance string
	Endpoint   string
	Operation  Operation
	Until      time.Time
}

// Bars reports whether a partition is left alone.
func (r Rest) Bars(p Partition) bool {
	return r.Provenance == p.Provenance && r.Operation == p.Operation && (r.Endpoint == "" || r.Endpoint == p.Endpoint)
}

// Fault is the error of a request that is not sent since its source is left alone.
func (r Rest) Fault() error {
	f := Fault{Level: Transient, Reaction: GiveUp, Code: CodeQuiet}
	return fmt.Errorf("%s is left alone until %s: %w", r.Provenance, FormatInstant(r.Until), f)
}

// Resume is where a run begins: after the last committed page of the walk.
type Resume struct {
	Run     RunID
	Attempt int
	// Spent counts the attempts in a row before this one that transient faults ended.
	Spent int
	// Died: an owner before this one died, and nothing was brought since.
	Died bool
	Walk int
	// BatchNo is the next free batch number of the run.
	BatchNo int
	// Search is the position after the last committed SEARCH page. SearchDone counts
	// these pages; SearchEnd is set once the walk was proven over.
	Search     Position
	SearchDone int
	SearchEnd  EndProof
	// SearchAge is how long ago that page was committed; before the first one,
	// how long the slice has been there.
	SearchAge time.Duration
	// Prior is where the walk before was proven over, nil if it was not.
	Prior *Position
	// IDs found so far by the SEARCH pages of a two-phase walk, in order.
	IDs []string
	// Seen are the hashes of the ids of one-phase pages, and of those two-phase
	// ones said were deleted.
	Seen []uint64
	// DetailDone counts committed DETAIL pages, DetailAt the ids they covered.
	DetailDone int
	DetailAt   int64
	// Unknown reports that a page may have been asked for and was never
	// accounted for: the attempt before ended with it in flight.
	Unknown bool
}

// RunOutcome is how an attempt that did not finish its slice ends.
type RunOutcome string

// The outcomes.
const (
	// Released cleanly: the gate, a pause, a shutdown. Somebody goes on later.
	Released RunOutcome = "RELEASED"
	// Spent: transient faults outlasted the patience; queued again with backoff.
	Spent RunOutcome = "SPENT"
	// Refused: the request will not get better; the slice is a gap.
	Refused RunOutcome = "REFUSED"
	// Stopped: the source must be looked at by a person before anything goes on.
	Stopped RunOutcome = "STOPPED"
)

// RunEnd closes an attempt.
type RunEnd struct {
	Run     RunID
	Outcome RunOutcome
	// Delay before the task may be taken again.
	Delay time.Duration
	Code  Code
	Error string
	// Page is the one in hand that is not stored, nil if there was none.
	Page *FailedPage
	// Throttled: the upstream is there and asked for fewer requests, which is the
	// rate gate's matter and no failure.
	Throttled bool
	// Breaker is when the partition rests, by the source.
	Breaker BreakerLimits
}

// RunStats is what an attempt asked for and what came of it, summed up over its pages
// when it ends.
type RunStats struct {
	Sent        int64 `json:"reqCount"`
	Items       int64 `json:"retCount"`
	Inserted    int64 `json:"inserted"`
	Updated     int64 `json:"updated"` // or mapped anew
	Skipped     int64 `json:"skipped"` // known, older than what is known, or not wanted
	Quarantined int64 `json:"failed"`
	Retried     int64 `json:"retryCount"`
	HTTP429     int64 `json:"429Count"`
	HTTP5xx     int64 `json:"5xxCount"`
	Bytes       int64 `json:"bytes"`
	// Latencies are those of a page, all its tries together.
	AvgLatency int64 `json:"avgLatencyMs"`
	MaxLatency int64 `json:"maxLatencyMs"`
	WaitTotal  int64 `json:"waitTotalMs"` // at the rate gate
	RateSums

	Pages       int64 `json:"pagesVisited"`
	PagesFailed int64 `json:"pagesFailed"`
	// HasNext: the slice was not over when the run ended.
	HasNext bool `json:"hasNextLast"`
	HealMarks
	Errors []RunError `json:"errors,omitempty"`
}

// HealMarks say what patra did by itself about trouble in a run, besides what the sums say.
type HealMarks struct {
	// ConcurrencyDown counts the times that fewer slices were worked on at once.
	ConcurrencyDown int64 `json:"concurrencyDown,omitzero"`
	// Resliced is why the slice was cut, SourceStopped why the source was stopped.
	Resliced      Code `json:"resliced,omitempty"`
	SourceStopped Code `json:"sourceStopped,omitempty"`
	// CircuitOpen: with this run the partition began to rest.
	CircuitOpen bool `json:"circuit_open,omitzero"`
}

// RunError is why pages of a run were not stored, and how many.
type RunError struct {
	Code  Code  `json:"code"`
	Pages int64 `json:"pages"`
}

// MaxDeaths is how many owners in a row may die with a reply of the task in hand
// before it is taken for poison (R16). A death before that is bad luck: no page can
// have killed who had none.
const MaxDeaths = 5

// MaxSpentRuns is how many attempts in a row may be spent on transient faults
// before the slice becomes a gap (R43).
const MaxSpentRuns = 10

// MaxWalks is how often a slice is begun again before it is cut (R23, R24).
const MaxWalks = 3

// LongestWait is the longest time an upstream may ask us to stay away before the
// source is paused instead (R39).
const LongestWait = 24 * time.Hour

// UnreadableFor is how long processes may fail one after the other to read the credential of a source, without a page of it
// stored by anybody, before the source is stopped: until then the fault may be theirs alone.
const UnreadableFor = 15 * time.Minute

// MaxForbidden slices in a row that end with HTTP 403 mean that the source has shut
// us out (R42); one may be a slice's own.
const MaxForbidden = 3

// RetryGap is how long a failed slice rests before it is tried again: doubling
// from one minute up to a day (R4).
func RetryGap(failures int) time.Duration {
	const most = 24 * time.Hour
	if failures > 11 {
		return most
	}
	return min(time.Minute<<max(0, failures-1), most)
}

// RetryRun is how long a task rests after an attempt spent on transient faults.
func RetryRun(spent int) time.Duration {
	const most = 10 * time.Minute
	if spent > 10 {
		return most
	}
	return min(time.Second<<max(0, spent-1), most)
}
