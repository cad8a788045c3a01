package steward

import (
	"context"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// Sources knows the schedules in force now. With an error it may still return
// those it could read.
type Sources interface {
	Schedules(ctx context.Context) ([]source.Scheduled, error)
}

// Store remembers what was harvested and what was tuned. Every method is one
// transaction or one read.
type Store interface {
	Now(ctx context.Context) (time.Time, error)
	// Watched lists the HARVEST namespaces that were planned of late.
	Watched(ctx context.Context) ([]harvest.Watched, error)
	// ProvenWindows lists the windows that end after since and were proven by an
	// instant, oldest first.
	ProvenWindows(ctx context.Context, cursor harvest.CursorID, since, by time.Time) ([]harvest.Window, error)
	// ClaimSentinel gives the sentinel of a namespace and a day to one caller, and
	// reports whether it is this one.
	ClaimSentinel(ctx context.Context, ns harvest.Namespace, day time.Time) (bool, error)
	// TuneLag keeps a move of the safety lag, for one caller a day and namespace, and
	// reports whether it was this one.
	TuneLag(ctx context.Context, t harvest.Tuning) (bool, error)
	// Lateness tells what was seen of late versions in the last days.
	Lateness(ctx context.Context, cursor harvest.CursorID) (harvest.Lateness, error)
	// TunedLag is the safety lag that was tuned in place of the declared one, if it
	// was.
	TunedLag(ctx context.Context, ns harvest.Namespace, declared time.Duration) (time.Duration, bool, error)
}

// Planner answers a trigger with a plan, if there is something to plan.
type Planner interface {
	Answer(ctx context.Context, t harvest.Trigger) (harvest.TriggerAnswer, error)
}
