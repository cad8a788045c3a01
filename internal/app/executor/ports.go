package executor

import (
	"context"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// Store is what the executor needs kept. Every method is one transaction. Every
// write names the lease it is made under and must return [harvest.ErrLeaseLost],
// changing nothing, once another worker has taken that lease over, and
// [harvest.ErrHeld] if the task was cancelled or its source paused or stopped.
// [harvest.ErrUnknownOutcome] means that a commit may or may not have happened.
type Store interface {
	// LeaseTasks takes tasks that may be worked on, at most as many as asked for.
	LeaseTasks(ctx context.Context, r harvest.LeaseRequest) ([]harvest.Job, error)
	RenewLease(ctx context.Context, l harvest.Lease) error
	// StartRun begins an attempt, and tells where the last one ended.
	StartRun(ctx context.Context, l harvest.Lease) (harvest.Resume, error)
	// MarkReply notes that a reply is about to be taken apart, and tells whether the
	// task still needs such marks.
	MarkReply(ctx context.Context, l harvest.Lease) (marked bool, err error)
	// OpenBatch claims a page before it is asked for.
	OpenBatch(ctx context.Context, l harvest.Lease, o harvest.BatchOpen) (harvest.OpenedBatch, error)
	// CommitBatch stores a page and claims with it those that are asked for next.
	// ready is called when all but the commit itself is done, and only once however
	// often the transaction is tried.
	CommitBatch(
		ctx context.Context, j harvest.Job, b harvest.Batch, next []harvest.BatchOpen, ready func(harvest.Committed),
	) (harvest.Committed, error)
	// NewWalk begins the slice again; walks counts the walks that failed since
	// the task was queued, the one before included if it did. page is the one at
	// which that ended, nil if all that was asked for is stored.
	NewWalk(ctx context.Context, l harvest.Lease, reason harvest.Code, failed bool, page *harvest.FailedPage) (walk, walks int, err error)
	// EndRun closes an attempt that did not finish its slice.
	EndRun(ctx context.Context, l harvest.Lease, e harvest.RunEnd) error
	// Reslice closes the attempt and puts children in the place of the slice, which
	// together answer for all that it answered for.
	Reslice(
		ctx context.Context, j harvest.Job, e harvest.RunEnd,
		children []harvest.SliceDraft, pagingType harvest.PagingType, pageSize int,
	) error
	// PlanCost tells what a plan has cost so far, and how many slices are proven
	// within a window of it.
	PlanCost(ctx context.Context, id harvest.PlanID, within harvest.Window) (harvest.PlanCost, error)
	// PageCosts tells what the newest pages of a task cost, at most so many and oldest
	// first, stored or not.
	PageCosts(ctx context.Context, task harvest.TaskID, most int) ([]harvest.PageCost, error)
	// BadIDs says which of ids are on the list of bad ids, and names up to most
	// others on it that are due to be asked for again.
	BadIDs(ctx context.Context, provenance, recordType string, ids []string, most int) (harvest.BadIDs, error)
	// Witnesses names a few records of the source that were there when they were
	// last asked for and are none of ids.
	Witnesses(ctx context.Context, provenance, recordType string, ids []string) ([]string, error)
	// Spec is the description that a plan was made with, as it was frozen.
	Spec(ctx context.Context, id harvest.PlanID) ([]byte, error)
}

// Upstream asks a source a question, within its limits and with the retries it
// declares. An error wraps a [harvest.Fault] that says what it means; the
// answer's traffic counts also then.
type Upstream interface {
	Ask(ctx context.Context, s *source.Spec, c source.Call) (source.Answer, error)
}
