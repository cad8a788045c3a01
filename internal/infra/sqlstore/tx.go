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
	// happened are told to who looks on, once they are committed.
	happened []func(Observer)
	// committed is what is done once it has taken effect.
	committed []func()
	// shares are what runs that end in this transaction add to their plans.
	shares []planShare
	// groups are by how much the counts of slices change, moved the slices whose state
	// does, and digits how the slices of plans are counted.
	groups map[groupKey]*groupCount
	moved  []sliceMove
	digits map[harvest.PlanID]int
}

// write runs f in a transaction, again if the database asks for it (a deadlock, say)
// or if f lost a race to insert a row. f must not keep anything of an earlier try.
func (s *Store) write(ctx context.Context, what string, f func(*tx) error) error {
	if err := s.patiently(ctx, what, func() error { return s.writeOnce(ctx, f) }); err != nil {
		return fmt.Errorf("%s: %w", what, s.explain(err))
	}
	return nil
}

// How long the database is tried, and when that is told: SQLite while another
// process holds it, a server while no connection to it lasts. Other conflicts a
// server settles by itself, so there a few tries are enough.
const (
	triedFor  = 2 * time.Minute
	triedTold = 4 * time.Second
	maxTries  = 20
)

// maxRaces is how many races to insert one transaction may lose. Whoever loses one
// finds the other's row when it begins again; it loses the next only if yet another
// row of its own was inserted by somebody meanwhile.
const maxRaces = 5

// errLostRace: another transaction inserted a row after this one had looked for it.
var errLostRace = errors.New("another process was first to insert the row")

// orLostRace is the error of an insert for whose row the transaction has looked
// before, without a lock to keep others from inserting it: a server knows none for a
// row that is not there. If another was first, the transaction begins again and finds
// that row. Where only one writes at a time, and for every other insert, a duplicate
// key is what it says, a [DuplicateError], and trying again does not mend it.
func (x *tx) orLostRace(err error) error {
	if x.s.d.writersRace && x.s.d.isDuplicate(err) {
		return fmt.Errorf("%w: %w", errLostRace, err)
	}
	return err
}

// notePressure takes note of how long a write waited for its turn, and took.
func (s *Store) notePressure(queued, took time.Duration) {
	s.pressureMu.Lock()
	defer s.pressureMu.Unlock()
	s.pressure.Note(time.Now(), queued, took)
}

// Strained says why nothing more should be planned for the sake of the database, by the
// last writes of this process; empty if it may be.
func (s *Store) Strained() string {
	s.pressureMu.Lock()
	defer s.pressureMu.Unlock()
	return s.pressure.Strained(time.Now())
}

// patiently runs f, again if the database asks for it or the connection was
// lost. A connection that is lost before COMMIT has changed nothing: the server
// rolls back, and the lease and its fence still guard the next try. A COMMIT whose
// outcome is unknown is never tried again.
func (s *Store) patiently(ctx context.Context, what string, f func() error) error {
	began := time.Now()
	told := false
	var firstLoss time.Time
	var conflicts, losses, races int
	for {
		err := f()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
		if errors.Is(err, harvest.ErrUnknownOutcome) {
			return err
		}
		var rest, waited time.Duration
		why := "another process holds the database; waiting for it"
		switch {
		case s.d.isLost(err):
			if losses == 0 {
				firstLoss = time.Now()
			}
			losses++
			rest = restAfterLoss(losses)
			waited = time.Since(firstLoss)
			why = "the connection to the database was lost; trying again"
			if waited > triedFor {
				return err
			}
		case s.d.isRetryable(err):
			conflicts++
			rest = min(time.Duration(conflicts)*2*time.Millisecond, 100*time.Millisecond)
			waited = time.Since(began)
			if conflicts >= maxTries && (s.d != sqliteDialect || waited > triedFor) {
				return err
			}
		case errors.Is(err, errLostRace) && races < maxRaces:
			races++
		default:
			return err
		}
		if waited > triedTold && !told {
			s.log.Warn(why, "what", what, "at_most", triedFor, "err", err)
			told = true
		}
		s.log.Debug("tried again", "what", what, "conflicts", conflicts, "losses", losses, "races", races, "err", err)
		if err := sleep(ctx, rest); err != nil {
			return err
		}
	}
}

// restAfterLoss is how long to wait for a connection after so many were lost: at
// first hardly, since one cut says nothing of the next connection, then longer, up
// to what a server that is back may be left unasked.
func restAfterLoss(losses int) time.Duration {
	const shortest, longest = 20 * time.Millisecond, 2 * time.Second
	return min(shortest<<min(losses-1, 10), longest)
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
	asked := time.Now()
	t, err := s.w.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	begun := time.Now()
	defer func() { s.notePressure(begun.Sub(asked), time.Since(begun)) }()
	done := false
	defer func() {
		if !done {
			if rerr := t.Rollback(); rerr != nil && !errors.Is(rerr, sql.ErrTxDone) {
				err = errors.Join(err, fmt.Errorf("roll back: %w", rerr))
			}
		}
	}()
	x := &tx{ctx: ctx, s: s, sql: t}
	x.now, err = x.clock()
	if err != nil {
		return err
	}
	if err := f(x); err != nil {
		return err
	}
	if err := x.writeGroups(); err != nil {
		return err
	}
	if err := x.addShares(); err != nil {
		return err
	}
	if err := s.point("before commit"); err != nil {
		return err
	}
	if err := s.CheckFile(); err != nil {
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
	if o := s.observer.Load(); o != nil {
		for _, tell := range x.happened {
			tell(*o)
		}
	}
	for _, f := range x.committed {
		f()
	}
	return nil
}

// afterCommit has something done once the transaction is over and has taken effect,
// such as telling people of it. It must not touch the store.
func (x *tx) afterCommit(f func()) { x.committed = append(x.committed, f) }

// clock reads the store's time, once per transaction.
func (x *tx) clock() (time.Time, error) {
	return x.s.now(func(q string) scanner { return x.row(q) })
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
func (x *tx) row(query string, args ...any) scanner {
	return x.sql.QueryRowContext(x.ctx, query, args...)
}

// each reads rows one by one.
func (x *tx) each(scan func(*sql.Rows) error, query string, args ...any) error {
	rows, err := x.sql.QueryContext(x.ctx, query, args...)
	return eachRow(rows, err, scan)
}

// lockRows locks the rows that a query finds until the transaction ends.
func (x *tx) lockRows(query string, args ...any) error {
	return x.each(func(*sql.Rows) error { return nil }, query+x.s.d.forUpdate, args...)
}

// each reads rows one by one outside a transaction.
func (s *Store) each(ctx context.Context, scan func(*sql.Rows) error, query string, args ...any) error {
	return s.r.each(ctx, scan, query, args...)
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
		var st *sql.Stmt
		err := s.patiently(ctx, "prepare", func() (err error) {
			st, err = s.w.PrepareContext(ctx, q)
			return err
		})
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
