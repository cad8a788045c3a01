package httpapi

import (
	"context"

	"github.com/papertrace/patra/internal/app/control"
)

type archivedInput struct {
	Key string `query:"key" required:"true" minLength:"1" maxLength:"1024" doc:"What it is found by, such as plan/12, batch/17 or ing-5-17"`
}

// declareDatabase adds how the database stands and what was moved out of it.
func (d *Door) declareDatabase() {
	const tag = "database"
	declare(d, look("/database", tag, "How large the database is, how long things stay in it, and when it was last archived"),
		func(ctx context.Context, _ *nothing) (control.DBStatus, error) { return d.control.DBStatus(ctx) })
	declare(d, look("/archives", tag, "The files that old rows were moved to, the newest first"),
		func(ctx context.Context, in *Page) (control.ArchiveList, error) {
			return d.control.Archives(ctx, in.page())
		})
	declare(d, look("/archives/rows", tag, "The archived rows that belong to something, without the bytes that upstreams sent"),
		func(ctx context.Context, in *archivedInput) (control.ArchivedRows, error) {
			return d.control.ShowArchived(ctx, in.Key, false)
		})
}
