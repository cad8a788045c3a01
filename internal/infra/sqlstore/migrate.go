package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/pressly/goose/v3"
)

// SchemaError says that the database and this build do not fit together.
type SchemaError struct {
	Have, Want int64
	DSN        string
}

func (e *SchemaError) Error() string {
	if e.Have > e.Want {
		return fmt.Sprintf("%s has schema %d, this patra knows %d: it was written by a newer patra", e.DSN, e.Have, e.Want)
	}
	return fmt.Sprintf("%s has schema %d, this patra needs %d", e.DSN, e.Have, e.Want)
}

// Problem implements problem.Error.
func (e *SchemaError) Problem() problem.Problem {
	next := "patra db migrate --db " + e.DSN
	if e.Have > e.Want {
		next = "use the patra that wrote it, or a newer one; nothing was changed"
	}
	return problem.Problem{Code: "schema", Kind: problem.Conflict, Title: e.Error(), Next: next}
}

func (s *Store) provider() (*goose.Provider, error) {
	p, err := goose.NewProvider(s.d.goose, s.patient(s.w), s.d.fs(), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	return p, nil
}

// Schema returns the schema version the database has and the one this build wants.
func (s *Store) Schema(ctx context.Context) (have, want int64, err error) {
	p, err := s.provider()
	if err != nil {
		return 0, 0, err
	}
	for _, src := range p.ListSources() {
		want = max(want, src.Version)
	}
	// A server takes longer to look for a table than to read this one, which hardly ever
	// is not there.
	var v sql.NullInt64
	if err := s.r.QueryRowContext(ctx, "SELECT MAX(version_id) FROM goose_db_version WHERE is_applied = 1").Scan(&v); err != nil {
		there, terr := s.hasTable(ctx, "goose_db_version")
		if terr != nil || !there {
			return 0, want, terr
		}
		return 0, 0, fmt.Errorf("read schema version: %w", err)
	}
	return v.Int64, want, nil
}

func (s *Store) hasTable(ctx context.Context, name string) (bool, error) {
	q := "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = ?"
	if s.d != sqliteDialect {
		q = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?"
	}
	var n int
	if err := s.r.QueryRowContext(ctx, q, name).Scan(&n); err != nil {
		return false, fmt.Errorf("look for table %s: %w", name, err)
	}
	return n > 0, nil
}

// Migrate brings the schema and the dictionary up to date and returns the
// versions applied. A new SQLite file gets the newest schema at once.
func (s *Store) Migrate(ctx context.Context) ([]int64, error) {
	have, want, err := s.Schema(ctx)
	if err != nil {
		return nil, err
	}
	if have > want {
		return nil, &SchemaError{Have: have, Want: want, DSN: s.dsn}
	}
	if have == want {
		return nil, s.seedDictionary(ctx)
	}
	unlock, err := s.lockSchema(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	p, err := s.provider()
	if err != nil {
		return nil, err
	}
	var out []int64
	created := false
	if have == 0 {
		created, err = s.createAtOnce(ctx, p.ListSources())
		if err != nil {
			return nil, err
		}
	}
	if created {
		for _, src := range p.ListSources() {
			out = append(out, src.Version)
		}
	} else {
		out, err = s.applyMigrations(ctx, p)
		if err != nil {
			return nil, err
		}
	}
	return out, s.seedDictionary(ctx)
}

// applyMigrations applies those that the database does not have, one after the other, and
// returns their versions.
func (s *Store) applyMigrations(ctx context.Context, p *goose.Provider) ([]int64, error) {
	var res []*goose.MigrationResult
	err := s.patiently(ctx, "migrate", func() (err error) {
		res, err = p.Up(ctx)
		return err
	})
	if err != nil {
		return nil, s.explain(fmt.Errorf("migrate %s: %w", s.dsn, err))
	}
	var out []int64
	for _, r := range res {
		out = append(out, r.Source.Version)
	}
	return out, nil
}

// lockSchema keeps two processes from migrating a server at once. On SQLite
// each migration is a transaction of the only writer.
func (s *Store) lockSchema(ctx context.Context) (unlock func(), err error) {
	if s.d == sqliteDialect {
		return func() {}, nil
	}
	c, err := s.patient(s.w).Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("lock the schema: %w", err)
	}
	var got sql.NullInt64
	err = c.QueryRowContext(ctx, "SELECT GET_LOCK(CONCAT('patra.', DATABASE()), 120)").Scan(&got)
	if err == nil && got.Int64 != 1 {
		err = errors.New("another process is migrating; try again when it is done")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock the schema: %w", err), c.Close())
	}
	return func() {
		_, err := c.ExecContext(context.WithoutCancel(ctx), "DO RELEASE_LOCK(CONCAT('patra.', DATABASE()))")
		if err := errors.Join(err, c.Close()); err != nil {
			s.log.Warn("schema lock not released", "err", err)
		}
	}, nil
}

// checkSchema migrates SQLite by itself and refuses anything else that is not current.
func (s *Store) checkSchema(ctx context.Context, readOnly bool) error {
	have, want, err := s.Schema(ctx)
	if err != nil {
		return s.explain(err)
	}
	switch {
	case have == want:
		return nil
	case have < want && s.d == sqliteDialect && !readOnly:
		_, err := s.Migrate(ctx)
		var serr *SchemaError
		if err != nil && !errors.As(err, &serr) {
			// Another process may have migrated meanwhile.
			if h, w, e := s.Schema(ctx); e == nil && h == w {
				return nil
			}
		}
		return err
	default:
		return &SchemaError{Have: have, Want: want, DSN: s.dsn}
	}
}
