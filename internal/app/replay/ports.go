package replay

import (
	"context"
	"fmt"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// Store reads what is kept of pages, on a connection that cannot write.
type Store interface {
	// BlackBox reads a page with all that is kept of it, its items in the order of their
	// ids and at most so many of each kind, all if that is 0. With raw each has its bytes
	// and fields. A page that is not there is [harvest.ErrNotFound].
	BlackBox(ctx context.Context, ref Ref, most int, raw bool) (*Box, error)
	// StoredPages names the stored pages of a plan or a task behind one, in their order. What
	// is not there is [harvest.ErrNotFound].
	StoredPages(ctx context.Context, of Work, after harvest.BatchID, limit int) ([]harvest.BatchID, error)
}

// Work is a plan, by its key, or a task.
type Work struct {
	PlanKey string
	Task    harvest.TaskID
}

func (w Work) String() string {
	if w.Task != 0 {
		return fmt.Sprintf("task %d", w.Task)
	}
	return "plan " + w.PlanKey
}

// Requests makes requests as they are sent, and sends none.
type Requests interface {
	Render(spec *source.Spec, call source.Call) (source.Rendered, error)
}

// Items takes items apart that were kept as they came.
type Items interface {
	Item(spec *source.Spec, p source.Purpose, raw []byte) (harvest.Item, error)
}

// Upstream asks a source, within its limits and behind those who work.
type Upstream interface {
	Ask(ctx context.Context, s *source.Spec, c source.Call) (source.Answer, error)
}

// Contracts knows how a source is described now.
type Contracts interface {
	Select(ctx context.Context, code string, op harvest.Operation, query string) (source.Contract, error)
}
