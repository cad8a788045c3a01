package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
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
	add(s.deadSQL(r, now))
	add(s.firstSQL(head, now))
	add(s.firstKnownSQL(r, head, now))
	add(s.headAfterSQL(r, head))
	head.Provenance = "aaa" // before all
	add(s.headAfterSQL(r, head))
	return out
}

// SeedSQL are the statements that look for the newest stored time.
func (s *Store) SeedSQL() (out []Statement) {
	for _, q := range s.seedSQL() {
		out = append(out, Statement{SQL: q})
	}
	return out
}

// MigrateTo brings the schema to what an older build had.
func (s *Store) MigrateTo(ctx context.Context, version int64) error {
	p, err := s.provider()
	if err != nil {
		return err
	}
	_, err = p.UpTo(ctx, version)
	return err
}

// DurableOver is the check at start on a connection of the test's own.
func (s *Store) DurableOver(db *sql.DB) error {
	c := &Store{d: s.d, w: db, dsn: s.dsn}
	return c.checkDurable(context.Background())
}

// OpenFrozen opens a store on a server whose clock stands at an instant, as far
// as this store's sessions see it.
func OpenFrozen(ctx context.Context, dsn string, at time.Time) (*Store, error) {
	s, err := Open(ctx, dsn, Options{})
	if err != nil {
		return nil, err
	}
	cfg, err := mysqlConfig(dsn)
	if err != nil {
		return nil, err
	}
	cfg.Params["timestamp"] = fmt.Sprintf("%d.%06d", at.Unix(), at.Nanosecond()/1000)
	frozen, err := openServer(cfg, dsn)
	if err != nil {
		return nil, err
	}
	if err := s.w.Close(); err != nil {
		return nil, err
	}
	s.w = frozen
	s.r.DB = frozen
	s.stmts = map[string]*sql.Stmt{}
	s.clock.last = time.Time{}
	return s, nil
}
