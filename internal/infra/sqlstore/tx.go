package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// tx is one write transaction.
type tx struct {
	ctx context.Context
	s   *Store
	sql *sql.Tx
	now time.Time
	// fresh are the versions of a page that were taken up.
	fresh []change
}

// write runs f in a transaction, again if the database asks for it (deadlock,
// a lost race to insert). f must not keep anything of an earlier try.
func (s *Store) write(ctx context.Context, what string, f func(*tx) error) error {
	if err := s.patiently(ctx, what, func() error { return s.writeOnce(ctx, f) }); err != nil {
		return fmt.Errorf("%s: %w", what, s.explain(err))
	}
	return nil
}

// How long SQLite is tried while another process holds it, and when that is
// told. A server settles such things by itself, so there a few tries are enough.
const (
	lockedFor  = 2 * time.Minute
	lockedTold = 4 * time.Second
	maxTries   = 20
)

// patiently runs f, again if the database asks for it.
func (s *Store) patiently(ctx context.Context, what string, f func() error) error {
	began, told := time.Now(), false
	for try := 1; ; try++ {
		err := f()
		switch waited := time.Since(began); {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case !s.d.isRetryable(err) || errors.Is(err, harvest.ErrUnknownOutcome):
			return err
		case try >= maxTries && (s.d != sqliteDialect || waited > lockedFor):
			return err
		case waited > lockedTold && !told:
			s.log.Warn("another process holds the database; waiting for it", "what", what, "at_most", lockedFor)
			told = true
		}
		s.log.Debug("tried again", "what", what, "try", try, "err", err)
		if err := sleep(ctx, min(time.Duration(try)*2*time.Millisecond, 100*time.Millisecond)); err != nil {
			return err
		}
	}
}

// errTrial takes a trial back.
var errTrial = errors.New("only a trial")

// change runs f in a transaction, which a trial takes back: it refuses what the
// change itself would refuse, finds what it would do, and leaves nothing.
func (s *Store) change(ctx context.Context, what string, trial bool, f func(*tx) error) error {
	err := s.write(ctx, what, func(x *tx) error {
		if err := f(x); err != nil || !trial {
			return err
		}
		return errTrial
	})
	if errors.Is(err, errTrial) {
		return nil
	}
	return err
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

func (s *Store) writeOnce(ctx context.Context, f func(*tx) error) (err error) {
	if err := s.point("before begin"); err != nil {
		return err
	}
	t, err := s.w.BeginTx(ctx, &sql.TxOptions{Isolation: s.d.isolation})
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	done := false
	defer func() {
		if !done {
			if rerr := t.Rollback(); rerr != nil && !errors.Is(rerr, sql.ErrTxDone) {
				err = errors.Join(err, fmt.Errorf("roll back: %w", rerr))
			}
		}
	}()
	x := &tx{ctx: ctx, s: s, sql: t}
	if x.now, err = x.clock(); err != nil {
		return err
	}
	if err := f(x); err != nil {
		return err
	}
	if err := s.point("before commit"); err != nil {
		return err
	}
	done = true
	if err := t.Commit(); err != nil {
		if s.d.isDefinite(err) {
			return fmt.Errorf("commit: %w", err)
		}
		// Nobody knows whether it took effect; never apply it again on a guess.
		return fmt.Errorf("commit: %w: %w", harvest.ErrUnknownOutcome, err)
	}
	if err := s.point("after commit"); err != nil {
		return fmt.Errorf("commit: %w: %w", harvest.ErrUnknownOutcome, err)
	}
	return nil
}

// clock reads the store's time, once per transaction.
func (x *tx) clock() (time.Time, error) {
	return x.s.now(func(q string) *sql.Row { return x.row(q) })
}

func (s *Store) point(name string) error {
	if s.hook == nil {
		return nil
	}
	return s.hook(name)
}

// exec runs a statement and returns how many rows it changed.
func (x *tx) exec(query string, args ...any) (int64, error) {
	res, err := x.run(query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// insert runs an insert of one row and returns its id.
func (x *tx) insert(query string, args ...any) (int64, error) {
	res, err := x.run(query, args...)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

func (x *tx) run(query string, args ...any) (sql.Result, error) {
	if err := x.s.point("before " + query); err != nil {
		return nil, err
	}
	res, err := x.sql.ExecContext(x.ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return res, x.s.point("after " + query)
}

// bulk runs one of the statements that [Store.warm] prepared, or any other.
func (x *tx) bulk(query string, args []any) (sql.Result, error) {
	if err := x.s.point("before " + query); err != nil {
		return nil, err
	}
	var res sql.Result
	var err error
	if st := x.s.prepared(query); st != nil {
		res, err = x.sql.StmtContext(x.ctx, st).ExecContext(x.ctx, args...)
	} else {
		res, err = x.sql.ExecContext(x.ctx, query, args...)
	}
	if err != nil {
		return nil, err
	}
	return res, x.s.point("after " + query)
}

// row reads one row.
func (x *tx) row(query string, args ...any) *sql.Row {
	return x.sql.QueryRowContext(x.ctx, query, args...)
}

// each reads rows one by one.
func (x *tx) each(scan func(*sql.Rows) error, query string, args ...any) error {
	rows, err := x.sql.QueryContext(x.ctx, query, args...)
	return eachRow(rows, err, scan)
}

// each reads rows one by one outside a transaction.
func (s *Store) each(ctx context.Context, scan func(*sql.Rows) error, query string, args ...any) error {
	rows, err := s.r.QueryContext(ctx, query, args...)
	return eachRow(rows, err, scan)
}

func eachRow(rows *sql.Rows, err error, scan func(*sql.Rows) error) error {
	if err != nil {
		return err
	}
	for rows.Next() {
		if err := scan(rows); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// warm prepares a statement that comes again and again. It must not be called
// inside a transaction: on SQLite that holds the only writing connection. While
// it waits for that it holds no lock, for the transaction may ask for one too.
func (s *Store) warm(ctx context.Context, queries ...string) error {
	for _, q := range queries {
		if s.prepared(q) != nil {
			continue
		}
		st, err := s.w.PrepareContext(ctx, q)
		if err != nil {
			return fmt.Errorf("prepare: %w", err)
		}
		s.stmtMu.Lock()
		if s.stmts[q] == nil {
			s.stmts[q], st = st, nil
		}
		s.stmtMu.Unlock()
		if st != nil { // another was first
			if err := st.Close(); err != nil {
				return fmt.Errorf("prepare: %w", err)
			}
		}
	}
	return nil
}

func (s *Store) prepared(query string) *sql.Stmt {
	s.stmtMu.Lock()
	defer s.stmtMu.Unlock()
	return s.stmts[query]
}
