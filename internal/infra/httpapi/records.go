package httpapi

import (
	"context"

	"github.com/papertrace/patra/internal/app/control"
)

type feedInput struct {
	After int64 `query:"after" minimum:"0" default:"0" doc:"What next said in the answer before"`
	Limit int   `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"At most so many; fewer where they are large"`
}

// declareRecords adds the feed of records.
func (d *Door) declareRecords() {
	declare(d, look("/changes", "records", "Every revision of every record once, in the order in which they became visible"),
		func(ctx context.Context, in *feedInput) (control.ChangeList, error) {
			return d.control.Changes(ctx, in.After, in.Limit)
		})
}
