package planner

import (
	"context"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/pace"
	"github.com/papertrace/patra/internal/domain/source"
)

// Registry knows the contract of a source in force now.
type Registry interface {
	// Through returns the contract for an operation that goes through an endpoint, the
	// source's own choice if that is empty, and for a selection. query is the selection
	// as text; empty means everything.
	Through(ctx context.Context, code string, op harvest.Operation, endpoint, query string) (source.Contract, error)
}

// Store is what the planner needs kept. Every method is one transaction or one
// read. The parts of it are named by what they are used for, and no step of a
// plan sees more of it than its part.
type Store interface {
	Plans
	Triggers
	Clocks
	Backlog
	Records
	Sources
}

// Plans keeps plans, and how far the time of a namespace is planned.
type Plans interface {
	Frontier(ctx context.Context, ns harvest.Namespace) (harvest.Frontier, error)
	// SavePlan returns a live plan with the same key instead of making a second
	// one, and [harvest.ErrFrontierMoved] if another plan was saved since the
	// frontier was read. The slices of the draft are made while they are saved, once more
	// for each time that the transaction is tried.
	SavePlan(ctx context.Context, d harvest.Draft) (harvest.PlanHead, error)
	// PartialPlans names the plans that stopped before the end of their window.
	PartialPlans(ctx context.Context) ([]harvest.PartialPlan, error)
	// PartialPlan finds the one of a namespace, if it has one.
	PartialPlan(ctx context.Context, ns harvest.Namespace) (harvest.OpenPlan, bool, error)
	// ExtendPlan adds slices to it, up to a mark.
	ExtendPlan(ctx context.Context, p harvest.OpenPlan, slices harvest.SliceDrafts, slicedTo harvest.Mark) (harvest.PlanHead, error)
}

// Triggers keeps every trigger, and what came of it. Whoever writes one down has a claim
// on it, and answers it under that claim: a planner that was taken over from gets
// [harvest.ErrLeaseLost] and changes nothing.
type Triggers interface {
	// ReceiveTrigger writes a trigger down. It is [harvest.ErrAnswered] for one that has
	// its answer, and a [harvest.ClaimedError] while another planner is at it.
	ReceiveTrigger(ctx context.Context, t harvest.Trigger, ttl time.Duration) (harvest.Receipt, error)
	RenewTrigger(ctx context.Context, r harvest.Receipt, ttl time.Duration) error
	// LeaveTrigger gives a claim back, for another planner to take the trigger over.
	LeaveTrigger(ctx context.Context, r harvest.Receipt) error
	// LeftTriggers lists what was received and not answered, and that nobody is at.
	LeftTriggers(ctx context.Context, most int) ([]harvest.LeftTrigger, error)
	// ClaimTrigger takes such a trigger over, once.
	ClaimTrigger(ctx context.Context, r harvest.Receipt, ttl time.Duration) (harvest.Receipt, error)
	// Triggered tells what came of a trigger. One that was answered SavePlan and
	// RecordTrigger refuse with [harvest.ErrAnswered].
	Triggered(ctx context.Context, t harvest.Trigger) (harvest.Triggered, error)
	RecordTrigger(ctx context.Context, t harvest.Trigger, outcome harvest.TriggerOutcome, remarks string) error
}

// Clocks tells how far a window may reach: what time it is here, what time it is
// upstream, and how long a source takes to show what it has.
type Clocks interface {
	Now(ctx context.Context) (time.Time, error)
	// ClockSkew is how far the upstream's clock was ahead of the store's when
	// last seen, and whether it ever was. A clock is named by its source, or by
	// a name made of the host that stands in for it.
	ClockSkew(ctx context.Context, clock string) (time.Duration, bool, error)
	NoteSkew(ctx context.Context, clock string, skew time.Duration) error
	// TunedLag is the safety lag that was tuned for a namespace in place of the
	// declared one, if it was.
	TunedLag(ctx context.Context, ns harvest.Namespace, declared time.Duration) (time.Duration, bool, error)
}

// Backlog is the work that is planned and not done, for which a new plan has to
// leave room.
type Backlog interface {
	// NotBegun finds the newest plan of a namespace if there is work to do on it and
	// nothing of it is stored yet.
	NotBegun(ctx context.Context, ns harvest.Namespace) (harvest.PlanID, bool, error)
	// OpenSlices counts the slices of a source and operation that are not
	// done, cut again or given up.
	OpenSlices(ctx context.Context, provenance string, op harvest.Operation) (int64, error)
	// Reserved is what the open tasks of a source will take that have a priority,
	// or a better one, and which of it those of one operation will.
	Reserved(ctx context.Context, provenance string, own harvest.Operation, priority int) (harvest.Reserved, error)
}

// Records are those that were harvested before.
type Records interface {
	// Density is how many records a second of the namespace's time held, over
	// what was harvested last, and whether anything was.
	Density(ctx context.Context, ns harvest.Namespace) (float64, bool, error)
	// Candidates lists the ids of records that are to be read again.
	Candidates(ctx context.Context, provenance, recordType, mapping string, pick harvest.CandidatePick) ([]string, error)
}

// Sources keeps which sources are stopped.
type Sources interface {
	// StopSource keeps everybody from asking a source until a person has looked
	// at it.
	StopSource(ctx context.Context, p harvest.Partition, code harvest.Code, text string) error
}

// Upstream asks a source a question, within its limits.
type Upstream interface {
	Ask(ctx context.Context, s *source.Spec, c source.Call) (source.Answer, error)
	// Allowed is what the provider allows requests for a purpose, as they would be
	// sent now: with a key or without.
	Allowed(ctx context.Context, s *source.Spec, c source.Call) source.Rate
	// Estimate is how many such requests may go out within a horizon.
	Estimate(ctx context.Context, s *source.Spec, c source.Call, horizon time.Duration) (pace.Advice, error)
}
