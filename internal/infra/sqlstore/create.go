package sqlstore

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"strings"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
)

// newestSchema is what all migrations together leave in an empty SQLite database.
//
//go:embed schema.sqlite.sql
var newestSchema string

// newestOnServers is what they leave in an empty database of a MySQL server.
//
//go:embed schema.mysql.sql
var newestOnServers string

// createAtOnce makes the newest schema of a database that has none, and notes all migrations as applied. A
// SQLite file takes a seventh of the time that way; and TiDB cannot do some of the steps by which the
// schema has come to be what it is. MySQL goes through them one after the other.
func (s *Store) createAtOnce(ctx context.Context, sources []*goose.Source) (created bool, err error) {
	switch s.d {
	case sqliteDialect:
		return s.createFile(ctx, sources)
	case tidbDialect:
		return true, s.createTables(ctx, sources)
	}
	return false, nil
}

// createFile makes the schema of a new SQLite file in one transaction. A file that has anything in it is
// left alone.
func (s *Store) createFile(ctx context.Context, sources []*goose.Source) (created bool, err error) {
	versions, err := database.NewStore(s.d.goose, goose.DefaultTablename)
	if err != nil {
		return false, fmt.Errorf("make the schema: %w", err)
	}
	err = s.patiently(ctx, "make the schema", func() error {
		created = false
		tx, err := s.w.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback() //nolint:errcheck // nothing is left to do if it fails
		empty, err := isEmpty(ctx, tx)
		if err != nil || !empty {
			return err
		}
		if err := versions.CreateVersionTable(ctx, tx); err != nil {
			return err
		}
		if err := noteApplied(ctx, tx, versions, sources); err != nil {
			return err
		}
		for statement := range strings.SplitSeq(newestSchema, ";\n\n") {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		created = true
		return tx.Commit()
	})
	if err != nil {
		return false, s.explain(fmt.Errorf("make the schema of %s: %w", s.dsn, err))
	}
	return created, nil
}

// isEmpty reports whether a database has no tables.
func isEmpty(ctx context.Context, tx *sql.Tx) (bool, error) {
	var n int
	err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM sqlite_master").Scan(&n)
	return n == 0, err
}

// createTables makes the schema of a TiDB, whose tables are each made by themselves. Where that was broken off
// before, it makes those that are missing.
func (s *Store) createTables(ctx context.Context, sources []*goose.Source) error {
	versions, err := database.NewStore(s.d.goose, goose.DefaultTablename)
	if err != nil {
		return fmt.Errorf("make the schema: %w", err)
	}
	err = s.patiently(ctx, "make the schema", func() error {
		for statement := range strings.SplitSeq(s.d.rewritten(newestOnServers), ";\n\n") {
			if _, err := s.patient(s.w).ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		there, err := s.hasTable(ctx, goose.DefaultTablename)
		if err == nil && !there {
			err = versions.CreateVersionTable(ctx, s.w)
		}
		if err != nil {
			return err
		}
		tx, err := s.w.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback() //nolint:errcheck // nothing is left to do if it fails
		if err := noteApplied(ctx, tx, versions, sources); err != nil {
			return err
		}
		return tx.Commit()
	})
	if err != nil {
		return s.explain(fmt.Errorf("make the schema of %s: %w", s.dsn, err))
	}
	return nil
}

// noteApplied notes that the database has what all migrations make.
func noteApplied(ctx context.Context, tx *sql.Tx, versions database.Store, sources []*goose.Source) error {
	if err := versions.Insert(ctx, tx, database.InsertRequest{Version: 0}); err != nil {
		return err
	}
	for _, src := range sources {
		if err := versions.Insert(ctx, tx, database.InsertRequest{Version: src.Version}); err != nil {
			return err
		}
	}
	return nil
}
