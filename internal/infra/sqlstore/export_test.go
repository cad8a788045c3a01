package sqlstore

import (
	"context"
	"database/sql"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// PickSQL is the statement that looks for tasks, with its arguments.
func (s *Store) PickSQL(r harvest.LeaseRequest) (string, []any) {
	now, err := s.Now(context.Background())
	if err != nil {
		panic(err)
	}
	return s.pick(r, now)
}

// DurableOver is the check at start on a connection of the test's own.
func (s *Store) DurableOver(db *sql.DB) error {
	c := &Store{d: s.d, w: db, dsn: s.dsn}
	return c.checkDurable(context.Background())
}
