package harvest

import (
	"errors"
	"fmt"
	"time"
)

// Phase of a walk.
type Phase string

// The phases. A one-phase source has only SEARCH.
const (
	PhaseSearch Phase = "SEARCH"
	PhaseDetail Phase = "DETAIL"
)

// BatchOpen claims a page: a line in the trail and nothing else.
type BatchOpen struct {
	Run     RunID
	BatchNo int
	Walk    int
	Phase   Phase
	Ordinal int
	Before  Position
}

// Correlation names a page of a run wherever it is told of: in logs, and to the
// upstream with the request.
func Correlation(run RunID, batchNo int) string { return fmt.Sprintf("ing-%d-%d", run, batchNo) }

// OpenedBatch is a claimed page.
type OpenedBatch struct {
	BatchOpen
	ID BatchID
	// OpenedAt is the store's time: what is fetched now was observed no earlier.
	OpenedAt time.Time
}

// Batch is a page ready to be committed.
type Batch struct {
	OpenedBatch
	After      Position
	RecordType string

	Records     []Record
	Quarantined []Quarantined
	// Filtered are the ids of items that came and are not what was asked for, by the
	// plan's query or by the window where the source cannot be asked for one: they are
	// counted and not stored. Undecided is how many of Records cannot tell whether they
	// are what the query asks for.
	Filtered  []string
	Undecided int

	// IDs found by a SEARCH page of a two-phase walk.
	IDs []string
	// Seen are the hashes of the ids on a one-phase page, and of those a
	// two-phase one says were deleted or that cannot be read.
	Seen []uint64
	// Asked and Missing account for a DETAIL page: ids asked for, and those
	// that came back neither as record nor in quarantine.
	Asked   int
	Missing []string
	// Unread are the ids that this page of the search named and of which nothing came, also
	// those that were not asked for because they rest on the list of bad ids.
	Unread []string
	// Mended are ids of the list of bad ids that were answered for after all.
	Mended []string
	// Absent are those of Missing that the upstream says are not there, which
	// it may also refuse to tell. Only an UPDATE takes them for more than bad
	// ids (R31).
	Absent []string
	// Merged are ids of an UPDATE that were answered with another record.
	Merged []Merged
	// Signals are what the page's records say about others; those of records
	// that are new or changed count.
	Signals []Signal

	// End proves the walk over.
	End EndProof
	// Finish says that with this page every id of the slice is accounted for.
	Finish bool

	// Repeated is how many ids of a SEARCH page the same walk had seen before.
	Repeated int

	ObservedMax time.Time
	Evidence    Evidence
}

// BadIDs are ids that were once found to have no details: those still at rest,
// and those due to be asked for again (R27).
type BadIDs struct{ Resting, Due []string }

// Merged is an id that goes on as another one.
type Merged struct{ ID, Into string }

// Quarantined is an item that could not be kept.
type Quarantined struct {
	ID        string
	Problem   Problem
	Raw       []byte
	RawSHA256 [32]byte
}

// SampleSize is how much of a reply is kept of a page that is not stored.
const SampleSize = 1 << 10

// Evidence is what lets a page be explained and asked for again. Where the page took
// several tries, status, headers and reply are those of the last one that was sent.
type Evidence struct {
	Request string
	// IDs are those that the request asked for, if it was one for details: with them
	// it can be made again.
	IDs []string
	// Credential is the name of the key it went with, empty if it went without.
	Credential    string
	RequestSHA256 string
	ReplySHA256   string
	HTTPStatus    int
	// Headers are those of the reply that tell what it is and what its source
	// asks for.
	Headers map[string]string
	// Sample is the beginning of the reply, at most SampleSize bytes of it, without
	// the secrets that it was asked with. It is stored with a page that failed.
	Sample   []byte
	Sent     int
	Retried  int
	HTTP429  int
	HTTP5xx  int
	Bytes    int64
	WaitGate time.Duration
	Network  time.Duration
	// Rate is what the rate gate said of the last request, nil if it was not asked, and
	// Gate what it had to do with all of them.
	Rate *RateNote
	Gate RateSums
	// ConcurrencyDown is 1 of the page by which it became known that fewer slices of its
	// source are to be worked on at once.
	ConcurrencyDown int
}

// FailedPage is the error of a page that was claimed and is not stored: why that is,
// what was asked for it and what came.
type FailedPage struct {
	Batch BatchID
	// Asked: the upstream may have served the page. It has not if no request went
	// out, or if it was refused for its key alone.
	Asked    bool
	Evidence Evidence
	Cause    error
	// Beside are the pages that were asked for beside it and are given up with it.
	Beside []FailedPage
}

func (p *FailedPage) Error() string { return p.Cause.Error() }

func (p *FailedPage) Unwrap() error { return p.Cause }

// Because is the same page with another cause, which the first one has led to.
func (p *FailedPage) Because(cause error) error {
	if p == nil {
		return cause
	}
	failed := *p
	failed.Cause = cause
	return &failed
}

// Skipped reports whether nothing at all was sent for the page.
func (p *FailedPage) Skipped() bool { return !p.Asked && p.Evidence.Sent == 0 }

// FailedPageOf finds the page in err, nil if it is about none.
func FailedPageOf(err error) *FailedPage {
	p, _ := errors.AsType[*FailedPage](err)
	return p
}

// Counts is the account of a page (I8).
type Counts struct {
	Inserted    int64 `json:"inserted"`
	Updated     int64 `json:"updated"`
	Remapped    int64 `json:"remapped"`
	Unchanged   int64 `json:"unchanged"`
	Stale       int64 `json:"stale"`
	Filtered    int64 `json:"filtered"`
	Quarantined int64 `json:"quarantined"`
	// Undecided are those of the stored and the unchanged that do not tell whether
	// they are what the plan's query asks for.
	Undecided int64 `json:"undecided,omitzero"`
	// Not items of a page but what an UPDATE finds out without one (R31):
	// records not found this time, found gone, and gone on as another one.
	Missing int64 `json:"missing,omitzero"`
	Gone    int64 `json:"gone,omitzero"`
	Merged  int64 `json:"merged,omitzero"`
}

// Read is how many records were read that are wanted and whole: new, changed, or held
// already.
func (c Counts) Read() int64 { return c.Inserted + c.Updated + c.Remapped + c.Unchanged + c.Stale }

// Count adds one effect.
func (c *Counts) Count(e Effect) {
	switch e {
	case Inserted:
		c.Inserted++
	case Updated:
		c.Updated++
	case Remapped:
		c.Remapped++
	case Unchanged:
		c.Unchanged++
	case Stale:
		c.Stale++
	}
}

// Items is the sum.
func (c Counts) Items() int64 {
	return c.Inserted + c.Updated + c.Remapped + c.Unchanged + c.Stale + c.Filtered + c.Quarantined
}

// Committed is what a commit did.
type Committed struct {
	Counts Counts
	// Next are the pages opened together with this commit, in the order that was given.
	Next []OpenedBatch
	// Done reports that the slice is proven complete; Watermark is then the
	// cursor's value, moved or not.
	Done      bool
	Watermark Mark
	// Fresh are the new versions of a page that looked back, and Late those of them
	// that came late. A page that did not look back has neither.
	Fresh, Late int64
}
