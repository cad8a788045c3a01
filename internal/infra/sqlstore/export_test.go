package sqlstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// Statement is SQL with its arguments.
type Statement struct {
	SQL  string
	Args []any
}

// PickSQL are the statements that look for tasks.
func (s *Store) PickSQL(r harvest.LeaseRequest) []Statement {
	now, err := s.Now(context.Background())
	if err != nil {
		panic(err)
	}
	var out []Statement
	add := func(q string, args []any) { out = append(out, Statement{q, args}) }
	head := harvest.Head{Partition: harvest.Partition{Provenance: "lab", Endpoint: "search", Operation: harvest.Harvest}, Priority: 100, ScheduledAt: now.Add(-time.Hour)}
	add(s.diedSQL(r, now))
	add(s.firstSQL(head, now))
	add(s.firstKnownSQL(r, head, now))
	add(s.afterSQL(r, head))
	head.Provenance = "aaa" // before all
	add(s.afterSQL(r, head))
	return out
}

// SeedSQL are the statements that look for the newest stored time.
func (s *Store) SeedSQL() (out []Statement) {
	for _, q := range s.seedSQL() {
		out = append(out, Statement{SQL: q})
	}
	return out
}

// DurableOver is the check at start on a connection of the test's own.
func (s *Store) DurableOver(db *sql.DB) error {
	c := &Store{d: s.d, w: db, dsn: s.dsn}
	return c.checkDurable(context.Background())
}
