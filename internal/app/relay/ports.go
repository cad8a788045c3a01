package relay

import (
	"context"
	"errors"
	"time"
)

// Store keeps what is to be sent and how far each target has come. Every method is one
// transaction, or a read. A write under a lease must return [harvest.ErrLeaseLost],
// changing nothing, once another relay has taken the target over.
type Store interface {
	// EnsureTarget has a target kept, from now on if it is not: what is stored from its
	// commit on is sent to it. It reports whether the target is new.
	EnsureTarget(ctx context.Context, name, kind string) (bool, error)
	// ClaimTarget takes the lease on a target, if nobody has it and its rest is over.
	ClaimTarget(ctx context.Context, c Claim) (Lease, bool, error)
	// NextRevisions reads what is to be sent next, at most so many revisions.
	NextRevisions(ctx context.Context, l Lease, most int) (Batch, error)
	// Settle keeps what became of a batch, and where the target stands now. It renews
	// the lease, or ends it.
	Settle(ctx context.Context, l Lease, o Outcome) error
}

// Claim is what somebody asks the lease on a target for.
type Claim struct {
	Target string
	Owner  string
	TTL    time.Duration
	// Gone reports whether an owner is a process that has ended for certain; may be nil.
	Gone func(owner string) bool
}

// Lease is the right to send to a target. A greater fence ends it.
type Lease struct {
	Target int64
	Name   string
	Owner  string
	Fence  int64
	TTL    time.Duration
	// Failures is how often in a row the target was out.
	Failures int
}

// Batch is what is to be sent next to a target.
type Batch struct {
	// Again were refused before, or wait behind one that was, and are due. They are of
	// different records.
	Again []Revision
	// Fresh come next, in their order. Where Snapshot is set they are of everything that
	// is held, in the order of Record, else of the stream, in the order of No.
	Fresh    []Revision
	Snapshot bool
	// From is where the target stands, and To where it will when all of Fresh is dealt
	// with; both are numbers of records in a snapshot.
	From, To int64
	// Ends: the snapshot is over with these.
	Ends bool
}

// Empty reports whether there is nothing to do.
func (b Batch) Empty() bool { return len(b.Again)+len(b.Fresh) == 0 && b.From == b.To && !b.Ends }

// Outcome is what became of a batch.
type Outcome struct {
	// Snapshot, To and Ends say where the target stands, as in a [Batch].
	Snapshot bool
	To       int64
	Ends     bool
	// Sent is how many messages were taken.
	Sent int
	// Taken are those of them that were refused before, or that pass a parked one.
	Taken []Revision
	// Refused are those that were not taken, for a reason of their own.
	Refused []Refusal
	// Behind wait for an earlier revision of their record.
	Behind []Revision
	// Out is why the target takes nothing at all, empty if it does, and Rest how long
	// it is left alone.
	Out  string
	Rest time.Duration
	// Leave ends the lease.
	Leave bool
}

// Refusal is a message that its target did not take.
type Refusal struct {
	Revision
	Error string
	// Rest is when it is tried again; Parked: it is not, until somebody says so.
	Rest   time.Duration
	Parked bool
}

// Target is where messages go.
type Target interface {
	Name() string
	// Kind is how they are sent: file, stdout, nats, kafka or webhook.
	Kind() string
	// Publish sends messages, each of another record, in any order, and says of each
	// whether it was taken for good: nil, or why not. An error is about the target
	// unless it wraps [ErrRefused] or [ErrFailed]. What was not tried for want of time
	// has [ErrNotTried].
	Publish(ctx context.Context, ms []Message) []error
	// Most is how many messages it takes at once.
	Most() int
	// Close ends what the target holds. It can be used again after that.
	Close() error
}

var (
	// ErrRefused: the target answered that it does not take this message.
	ErrRefused = errors.New("the message was refused")
	// ErrFailed: the target answered, and failed. Whether that is for this message is
	// told by what becomes of others.
	ErrFailed = errors.New("the target failed")
	// ErrDamaged: no event can be made of what is stored.
	ErrDamaged = errors.New("damaged")
	// ErrNotTried: there was no time for it.
	ErrNotTried = errors.New("not tried")
)

// BusyError says that a target wants to be left alone for a while.
type BusyError struct {
	For time.Duration
	Err error
}

func (e *BusyError) Error() string { return e.Err.Error() }

func (e *BusyError) Unwrap() error { return e.Err }
