package control

import (
	"context"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// Store is everything that the views and use cases need kept.
type Store interface {
	PlanStore
}

// PlanStore reads plans and their slices. A plan or a slice that is not there is
// [harvest.ErrNotFound].
type PlanStore interface {
	// Plans lists plans, the newest first: of one source if it is named, and
	// those with a smaller number than before if that is not 0.
	Plans(ctx context.Context, provenance string, before harvest.PlanID, limit int) ([]PlanRow, error)
}

// Sources knows which sources there are.
type Sources interface {
	Codes(ctx context.Context) ([]string, error)
}
