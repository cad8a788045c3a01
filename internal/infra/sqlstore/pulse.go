package sqlstore

import (
	"context"

	"github.com/papertrace/patra/internal/app/control"
)

// Pulse reads the newest number of each kind of thing.
func (s *Store) Pulse(ctx context.Context) (control.Pulse, error) {
	var p control.Pulse
	err := s.r.QueryRowContext(ctx, `SELECT
		COALESCE((SELECT MAX(id) FROM ing_task_run_batch), 0), COALESCE((SELECT MAX(id) FROM ing_task_run), 0),
		COALESCE((SELECT MAX(id) FROM ing_plan), 0), COALESCE((SELECT MAX(id) FROM ing_cursor_event), 0),
		COALESCE((SELECT MAX(id) FROM ing_alert_delivery), 0), COALESCE((SELECT MAX(id) FROM sys_audit), 0)`).
		Scan(&p.Batches, &p.Runs, &p.Plans, &p.Moves, &p.Messages, &p.Changes)
	return p, err
}
