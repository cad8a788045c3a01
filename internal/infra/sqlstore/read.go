package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
)

// scanner is a row to be read.
type scanner interface {
	Scan(dest ...any) error
}

// reader reads outside of transactions. A statement that changes nothing is
// simply run again when the connection is lost.
type reader struct {
	*sql.DB
	s *Store
}

// QueryRowContext reads one row; nothing is asked before it is scanned.
func (r reader) QueryRowContext(ctx context.Context, query string, args ...any) scanner {
	return &lazyRow{r: r, ctx: ctx, query: query, args: args}
}

type lazyRow struct {
	r     reader
	ctx   context.Context
	query string
	args  []any
}

// Scan implements scanner.
func (l *lazyRow) Scan(dest ...any) error {
	return l.r.s.patiently(l.ctx, "read", func() error {
		return l.r.DB.QueryRowContext(l.ctx, l.query, l.args...).Scan(dest...)
	})
}

// QueryContext begins to read rows.
func (r reader) QueryContext(ctx context.Context, query string, args ...any) (rows *sql.Rows, err error) {
	err = r.s.patiently(ctx, "read", func() (err error) {
		rows, err = r.DB.QueryContext(ctx, query, args...)
		return err
	})
	return rows, err
}

// each hands rows to scan one by one. It begins again only while scan has seen
// none: what scan made of a row cannot be taken back here.
func (r reader) each(ctx context.Context, scan func(*sql.Rows) error, query string, args ...any) error {
	var late error // came after a row was handed out
	err := r.s.patiently(ctx, "read", func() error {
		handed := false
		rows, err := r.DB.QueryContext(ctx, query, args...)
		err = eachRow(rows, err, func(rows *sql.Rows) error {
			handed = true
			return scan(rows)
		})
		if handed {
			late, err = err, nil
		}
		return err
	})
	return errors.Join(err, late)
}

// namesAtOnce bounds the names that one statement asks about.
const namesAtOnce = 40

// eachOf asks the same about each of some names in one statement, since what a server
// needs most of its time for is to be asked. args are what is bound for one of them; a
// row has to say by itself which of them it is about. The query may have no ORDER BY and
// no LIMIT but within a FROM.
func (s *Store) eachOf(ctx context.Context, names []string, query string, args func(name string) []any, scan func(*sql.Rows) error) error {
	for some := range chunks(names, namesAtOnce) {
		var all []any
		for _, name := range some {
			all = append(all, args(name)...)
		}
		asked := slices.Repeat([]string{query}, len(some))
		if err := s.each(ctx, scan, strings.Join(asked, ` UNION ALL `), all...); err != nil {
			return err
		}
	}
	return nil
}

// snapshot runs f over one state of the database, again on another connection if
// that is lost. f must not keep anything of an earlier try.
func (s *Store) snapshot(ctx context.Context, what string, f func(*sql.Tx) error) error {
	return s.patiently(ctx, what, func() error {
		t, err := s.r.BeginTx(ctx, &s.d.snapshot)
		if err != nil {
			return err
		}
		defer t.Rollback() //nolint:errcheck // nothing was written
		return f(t)
	})
}
