package scheduler

import (
	"context"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/schedule"
	"github.com/papertrace/patra/internal/domain/source"
)

// Sources knows the schedules in force now. With an error it may still return
// those it could read.
type Sources interface {
	Schedules(ctx context.Context) ([]source.Scheduled, error)
}

// QuietStore tells the time, and which sources are held.
type QuietStore interface {
	Now(ctx context.Context) (time.Time, error)
	// Held reports whether a source is paused or stopped, and why.
	Held(ctx context.Context, provenance string) (why string, held bool, err error)
}

// Store remembers what was triggered, and by its clock what is due.
type Store interface {
	QuietStore
	// LastTriggered is what came of the newest trigger of a job, by log id;
	// zero if there was none.
	LastTriggered(ctx context.Context, scheduler, job string) (harvest.Triggered, error)
	// LastPlanned is what came of the newest trigger of a job that has a plan; zero
	// if none has.
	LastPlanned(ctx context.Context, scheduler, job string) (harvest.Triggered, error)
	// Unfinished reports whether there is work on a plan that needs nobody's doing.
	Unfinished(ctx context.Context, id harvest.PlanID) (bool, error)
	// Standing lists the standing selections that were set. With an error it may
	// still return those it could read.
	Standing(ctx context.Context) ([]schedule.Standing, error)
}

// Planner answers a trigger. It keeps what came of it, a failure too, under the
// trigger's scheduler, job and log id, and answers no trigger twice: a second
// time nothing is planned and the answer is marked Before.
type Planner interface {
	Answer(ctx context.Context, t harvest.Trigger) (harvest.TriggerAnswer, error)
}
