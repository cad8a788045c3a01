package control

import (
	"context"
	"time"

	"github.com/papertrace/patra/internal/app/planner"
	"github.com/papertrace/patra/internal/app/reconcile"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// Store is everything that the views and use cases need kept. Lists are never nil,
// so that they print as lists also when they are empty.
type Store interface {
	PlanStore
	MatrixStore
	GapStore
	CursorStore
	AuditStore
	RunStore
	SourceStore
	ScheduleStore
	SearchStore
	StatusStore
	DoctorStore
	RecordStore
	VerifyStore
	TokenStore
	ReplyStore
	FeedStore
	OutboxStore
	QueueStore
	LineageStore
	TimelineStore
	ErrorStore
	AlertStore
	QuarantineStore
	RecordReader
	BlackBoxStore
	ArchiveStore
	CompactStore
	SizeStore
	PulseStore
	ThroughputStore
	reconcile.Store
	PartitionStore
	TaskStore
	TrailStore
	RateStore
	SeriesStore
	WorkStore
	// Coverage is what of each namespace of a source is proven complete, of at most one
	// more than [MostNamespaces].
	Coverage(ctx context.Context, provenance string) ([]Coverage, error)
	// Schema tells the version of the tables, and the one this patra works with.
	Schema(ctx context.Context) (have, need int64, err error)
	// Now is the store's clock.
	Now(ctx context.Context) (time.Time, error)
	// CheckFile tells whether what is kept is still where it was opened.
	CheckFile() error
}

// PlanStore reads plans and their slices, and gives them up. A plan or a slice that
// is not there is [harvest.ErrNotFound].
type PlanStore interface {
	// PlanOfKey finds the plan that goes by a key.
	PlanOfKey(ctx context.Context, key string) (harvest.PlanID, error)
	// Plans lists plans, the newest first.
	Plans(ctx context.Context, q PlanQuery, limit int) ([]PlanRow, error)
	// PlanRemarks are what the planner left with a plan, as they are stored; nil if nothing.
	PlanRemarks(ctx context.Context, id harvest.PlanID) ([]byte, error)
	// PlanPacing is what the trigger of a plan said of how it is worked on.
	PlanPacing(ctx context.Context, id harvest.PlanID) (harvest.Pacing, error)
	Plan(ctx context.Context, id harvest.PlanID) (PlanRow, error)
	// Spec is the description of its source that a plan froze.
	Spec(ctx context.Context, id harvest.PlanID) ([]byte, error)
	// Summary is what plans have come to together.
	Summary(ctx context.Context, ids ...harvest.PlanID) (PlanSummary, error)
	// PlanTotals is the part of it that is shown with a plan.
	PlanTotals(ctx context.Context, id harvest.PlanID) (PlanTotals, error)
	// Slices lists the slices of a plan behind one, in the order they were cut; those that
	// begin within a span in the order of their windows.
	Slices(ctx context.Context, q SliceQuery, after harvest.SliceID, limit int) ([]SliceRow, error)
	Slice(ctx context.Context, id harvest.SliceID) (SliceRow, error)
	// SliceDetail is what only the page of a slice tells.
	SliceDetail(ctx context.Context, id harvest.SliceID) (*SliceDetail, error)
	// Cancel gives up what is not done yet and says how many slices that were;
	// [ErrNotOpen] if there are none. TryCancel tells the same and changes nothing.
	Cancel(ctx context.Context, scope CancelScope, a source.Audit) (int64, error)
	TryCancel(ctx context.Context, scope CancelScope, a source.Audit) (int64, error)
}

// GapStore knows the slices that hold a watermark, and mends them.
type GapStore interface {
	// Gaps lists gaps by cursor, the oldest first, and says behind which slice the next
	// page begins; 0 if there is none.
	Gaps(ctx context.Context, q GapQuery) (gaps []Gap, next harvest.SliceID, err error)
	// RetryGaps queues failed slices again, with cancelled also those that were
	// given up one by one, and says how many.
	RetryGaps(ctx context.Context, provenance string, cancelled bool, a source.Audit) (int64, error)
	// AcceptGap lets the watermark pass a slice and says where it stands then;
	// [ErrNoGap] if it is none. TryAcceptGap tells the same and changes nothing.
	AcceptGap(ctx context.Context, id harvest.SliceID, a source.Audit) (harvest.Mark, error)
	TryAcceptGap(ctx context.Context, id harvest.SliceID) (harvest.Mark, error)
}

// CursorStore reads cursors, their moves and what holds them.
type CursorStore interface {
	// Cursors lists cursors behind one, by source and operation.
	Cursors(ctx context.Context, q CursorQuery, after harvest.CursorID, limit int) ([]CursorRow, error)
	Cursor(ctx context.Context, id harvest.CursorID) (CursorRow, error)
	CursorEvents(ctx context.Context, id harvest.CursorID, wanted Moves) ([]CursorEvent, error)
}

// RunStore knows what there is to do for a source, and makes it ready.
type RunStore interface {
	SourceState(ctx context.Context, provenance string) (harvest.SourceState, error)
	// EndpointState tells whether an endpoint is paused or stopped by itself, HeldEndpoints are all
	// that are, and HoldEndpoint pauses one or resumes it.
	EndpointState(ctx context.Context, at harvest.EndpointOf) (harvest.SourceState, error)
	HeldEndpoints(ctx context.Context) (map[harvest.EndpointOf]harvest.SourceState, error)
	HoldEndpoint(ctx context.Context, at harvest.EndpointOf, paused bool, a source.Audit) error
	// SourceStates is those of all sources that have one.
	SourceStates(ctx context.Context) (map[string]harvest.SourceState, error)
	Work(ctx context.Context, provenance string, op harvest.Operation) (Work, error)
	// Left is how many records the open slices are expected to bring still.
	Left(ctx context.Context, provenance string, op harvest.Operation) (int64, error)
	// OpenPlans are those of a namespace that have slices to work on; PartialPlan
	// is the one that stopped before the end of its window, if one did.
	OpenPlans(ctx context.Context, ns harvest.Namespace) ([]harvest.PlanHead, error)
	PartialPlan(ctx context.Context, ns harvest.Namespace) (harvest.OpenPlan, bool, error)
	Frontier(ctx context.Context, ns harvest.Namespace) (harvest.Frontier, error)
	// LastActivity is the one that was planned last of those whose name is words, or words
	// and what follows a dash; empty if there is none.
	LastActivity(ctx context.Context, provenance string, op harvest.Operation, words string) (string, error)
	// SetBaseURL sends the requests of the open plans of a namespace to a host.
	SetBaseURL(ctx context.Context, ns harvest.Namespace, base string) error
	// RequeueFailed queues failed slices again, and says how many.
	RequeueFailed(ctx context.Context, provenance string, op harvest.Operation) (int64, error)
}

// SourceStore reads what is kept of a source, [harvest.ErrNotFound] if it was never
// applied, and holds it.
type SourceStore interface {
	LoadSource(ctx context.Context, code string) (source.Contents, error)
	// Table is where the rows of a dimension are, as people find them by SQL.
	Table(d source.Dimension) string
	Hold(ctx context.Context, provenance string, paused, stopped bool, a source.Audit) error
}

// RecordStore reads records, in the order of source, type and id, one at a time.
type RecordStore interface {
	Export(ctx context.Context, q ExportQuery, f func(*Exported) error) error
	Doubles(ctx context.Context, q ExportQuery) (Doubles, error)
	// AlikeWorks lists works that are suggested to be the same because their records are
	// alike, the most alike first.
	AlikeWorks(ctx context.Context) ([]AlikeWorks, error)
	// SelectedOf lists the records of works that a query asks for.
	SelectedOf(ctx context.Context, q ExportQuery, works []int64) ([]WorkMember, error)
	// CountUnlinked counts records that were not compared with others yet, or all.
	CountUnlinked(ctx context.Context, q ExportQuery, all bool) (int64, error)
}

// VerifyStore holds what is kept against its own rules. It only reads.
type VerifyStore interface {
	Verify(ctx context.Context) ([]Finding, error)
	// VerifyBodies holds every stored body behind a version against its hash. It
	// calls progress now and then, and returns how far it came however it ends.
	VerifyBodies(ctx context.Context, after int64, progress func(DeepCheck)) ([]Finding, DeepCheck, error)
	// DSN is where it is kept, without a password.
	DSN() string
}

// SchemaStore is a database whose schema was not looked at yet. Migrate returns the
// versions it applied.
type SchemaStore interface {
	DSN() string
	Schema(ctx context.Context) (have, need int64, err error)
	Migrate(ctx context.Context) ([]int64, error)
}

// AuditStore writes a line of the audit, and reads the newest about an object, or
// about everything: all of them, or what people did.
type AuditStore interface {
	Audit(ctx context.Context, a source.Audit, after any) error
	Audits(ctx context.Context, object string, limit int) ([]AuditLine, error)
	// AuditPage reads those with a smaller number than before, if that is not 0.
	AuditPage(ctx context.Context, q AuditQuery) ([]AuditLine, error)
}

// Sources knows which sources there are.
type Sources interface {
	Codes(ctx context.Context) ([]string, error)
	// Preview returns a context under which no lines are left about how contracts
	// were picked: nothing comes of them.
	Preview(ctx context.Context) context.Context
}

// Contracts knows the contract of a source in force now.
type Contracts interface {
	Select(ctx context.Context, code string, op harvest.Operation, query string) (source.Contract, error)
	// Through is Select for an operation that goes through an endpoint which was named.
	Through(ctx context.Context, code string, op harvest.Operation, endpoint, query string) (source.Contract, error)
}

// Planner plans what a trigger asks for: at once, or first shown and then applied
// by the token of what was shown.
type Planner interface {
	// Receive writes a trigger down; Plan or Refuse answers it.
	Receive(ctx context.Context, t harvest.Trigger) (harvest.Trigger, error)
	Refuse(ctx context.Context, t harvest.Trigger, why error) error
	Plan(ctx context.Context, t harvest.Trigger) (planner.Planned, error)
	Preview(ctx context.Context, t harvest.Trigger) (planner.Preview, error)
	Apply(ctx context.Context, token string, t harvest.Trigger) (planner.Planned, error)
}

// QuietHours tells until when an operation of a source is to be left alone, if it is.
type QuietHours interface {
	Rest(ctx context.Context, code string, op harvest.Operation) (harvest.Rest, bool)
}
