package node

import (
	"context"
	"log/slog"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/infra/sqlstore"
)

// outages keeps what requests that were not answered say of a source. It is for
// people to look at: a note that cannot be written holds nothing up.
type outages struct {
	store *sqlstore.Store
	log   *slog.Logger
}

func (o outages) unanswered(ctx context.Context, p harvest.Partition, u harvest.Unanswered) {
	if err := o.store.NoteUnanswered(ctx, p, u); err != nil {
		o.log.DebugContext(ctx, "a fault was not noted", "partition", p.String(), "code", u.Code, "err", err)
	}
}

func (o outages) answered(ctx context.Context, p harvest.Partition) {
	if err := o.store.NoteAnswer(ctx, p); err != nil {
		o.log.DebugContext(ctx, "the end of an outage was not noted", "partition", p.String(), "err", err)
	}
}
