package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sqlite "modernc.org/sqlite"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
)

// Store is the database. It is safe for concurrent use.
type Store struct {
	d       *dialect
	w       *sql.DB // writes; on SQLite a single connection
	r       reader
	slow    *sql.DB // of a server: connections for statements that take long, made when there is one
	clock   clock
	log     *slog.Logger
	dsn     string // without password
	file    *file  // nil for a server
	hook    func(point string) error
	wall    func() time.Time // a test's clock, nil for the store's own
	largest int              // how many bytes the server takes for one value, 0 for any number
	// bodies knows the dictionaries that bodies are packed with.
	bodies *bodies
	// observer is told what is committed, nil for nobody.
	observer atomic.Pointer[Observer]
	// pressure is how the database fares.
	pressureMu sync.Mutex
	pressure   harvest.Pressure // guarded by pressureMu
	stmtMu     sync.Mutex
	stmts      map[string]*sql.Stmt // guarded by stmtMu; prepared on w
}

// Options of [Open].
type Options struct {
	Logger *slog.Logger
	// Workers is how many tasks may be worked on at once, each of which may need a connection to a server.
	Workers int
	// Limits are how slow the database may be before [Store.Strained] says so.
	Limits harvest.DatabaseLimits
	// ReadOnly opens for reading only; the schema must be current.
	ReadOnly bool
	// Hook, if set, is called before and after every statement and commit. An
	// error it returns is the outcome of that point: fault tests use it to fail
	// or to kill at the k-th call.
	Hook func(point string) error
	// Wall, if set, is read instead of the store's clock: tests step it.
	Wall func() time.Time
	// Keep, if set, may hand out connections to SQLite that were closed before, in place
	// of new ones from c. The name is the same for connections that are alike. Tests that
	// open the same file again and again keep what was prepared on it.
	Keep func(name string, c driver.Connector) driver.Connector
}

// Open connects to the database named by dsn, and on SQLite brings its schema
// up to date. On MySQL an old schema is an [*SchemaError]: see [Store.Migrate].
func Open(ctx context.Context, dsn string, o Options) (*Store, error) {
	s, err := Connect(ctx, dsn, o)
	if err != nil {
		return nil, err
	}
	err = s.checkSchema(ctx, o.ReadOnly)
	if old, ok := errors.AsType[*SchemaError](err); ok && o.ReadOnly && s.d == sqliteDialect && old.Have > 0 && old.Have < old.Want {
		// SQLite migrates by itself, for a reader too.
		w := o
		w.ReadOnly = false
		err = migrate(ctx, dsn, w)
		if err == nil {
			err = s.checkSchema(ctx, true)
		}
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := s.readPacket(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := s.seedClock(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if !o.ReadOnly {
		if err := s.checkDurable(ctx); err != nil {
			return nil, errors.Join(err, s.Close())
		}
		// A user of the server who may not write records prepares to write none.
		if err := s.warm(ctx, s.warmStatements()...); err != nil && !s.d.isReadOnly(err) {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// migrate brings the schema of a database up to date.
func migrate(ctx context.Context, dsn string, o Options) error {
	s, err := Connect(ctx, dsn, o)
	if err != nil {
		return err
	}
	_, err = s.Migrate(ctx)
	return errors.Join(err, s.Close())
}

// Connect is [Open] without a look at the schema.
func Connect(ctx context.Context, dsn string, o Options) (*Store, error) {
	if dsn == "" {
		return nil, &DSNError{Reason: "none is named, and the user has no home folder for one"}
	}
	kind, rest, ok := strings.Cut(dsn, ":")
	if !ok || rest == "" {
		return nil, &DSNError{DSN: redactDSN(dsn), Reason: "not a database address"}
	}
	s := &Store{log: o.Logger, hook: o.Hook, wall: o.Wall, stmts: make(map[string]*sql.Stmt)}
	s.pressure.Limits = o.Limits
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.r.s = s
	s.bodies = newBodies(s)
	var err error
	switch kind {
	case "sqlite":
		if !o.ReadOnly {
			err = makeDataDir(dsn)
		}
		if err == nil {
			err = s.openSQLite(ctx, rest, o)
		}
	case "mysql":
		err = s.openMySQL(ctx, dsn, o)
	default:
		err = &DSNError{DSN: redactDSN(dsn), Reason: fmt.Sprintf("unknown kind %q", kindOf(dsn))}
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Store) openSQLite(ctx context.Context, path string, o Options) error {
	path = strings.TrimPrefix(path, "//")
	readOnly := o.ReadOnly
	s.d, s.dsn = sqliteDialect, "sqlite:"+path
	if !readOnly {
		if err := makeFile(path); err != nil {
			return err
		}
	} else if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("open database for reading: %w", err)
	} else if err := checkFolder(path); err != nil {
		return err
	}
	setPagesAside()
	var err error
	s.file, err = openFile(path)
	if err != nil {
		return err
	}
	u := func(extra string) string {
		// Waiting for a lock cannot be interrupted, so it is in short pieces;
		// writers wait on in patiently.
		return "file:" + (&url.URL{Path: path}).EscapedPath() + "?_pragma=busy_timeout(2000)&_pragma=foreign_keys(0)" + extra
	}
	open := func(extra string, conns int) (*sql.DB, error) {
		connector, err := sqlite.NewConnector(u(extra))
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", s.dsn, err)
		}
		var remembering driver.Connector = rememberingConnector{connector}
		if o.Keep != nil {
			remembering = o.Keep(u(extra), remembering)
		}
		db := sql.OpenDB(remembering)
		db.SetMaxOpenConns(conns)
		db.SetMaxIdleConns(conns)
		db.SetConnMaxLifetime(0)
		return db, nil
	}
	// A connection that is rarely needed is not kept: it holds megabytes.
	openRarely := func(extra string) (*sql.DB, error) {
		db, err := open(extra, 1)
		if err == nil {
			db.SetMaxIdleConns(-1)
		}
		return db, err
	}
	// The file is there: a connection that finds none must not make another.
	reading := "&mode=rw&_pragma=query_only(1)"
	s.r.DB, err = open(reading, max(2, runtime.NumCPU()))
	if err != nil {
		return err
	}
	if readOnly {
		_, err := s.r.ExecContext(ctx, "SELECT 1 FROM sqlite_master LIMIT 1")
		if s.d.isReadOnly(err) {
			// Nothing can be written beside it, not even a lock.
			reading = "&mode=ro"
			if log, err := os.Stat(path + "-wal"); err != nil || log.Size() == 0 {
				reading += "&immutable=1"
			}
			reading += "&_pragma=query_only(1)"
			if err := s.r.Close(); err != nil {
				return fmt.Errorf("open %s: %w", s.dsn, err)
			}
			s.r.DB, err = open(reading, max(2, runtime.NumCPU()))
			if err != nil {
				return err
			}
		}
		s.bodies.db, err = openRarely(reading)
		if err != nil {
			return err
		}
		s.w = s.r.DB
		if err := s.ping(ctx); err != nil {
			return err
		}
		if err := s.refuseOthers(ctx); err != nil {
			return errors.Join(err, s.Close())
		}
		return nil
	}
	s.bodies.db, err = openRarely(reading)
	if err != nil {
		return err
	}
	// Before the first connection that writes, for that makes the database one with a log.
	if err := s.refuseOthers(ctx); err != nil {
		return errors.Join(err, s.Close())
	}
	writing := fmt.Sprintf("&mode=rw&_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=cache_size(-%d)&_pragma=wal_autocheckpoint(%d)", ordinaryCache, logPages)
	s.w, err = open(writing, 1)
	if err != nil {
		return err
	}
	return s.ping(ctx)
}

// ping is the first contact. Where nobody answers, the address is wrong as likely
// as not: that is told at once.
func (s *Store) ping(ctx context.Context) error {
	var unanswered error
	err := s.patiently(ctx, "connect", func() error {
		err := s.w.PingContext(ctx)
		if isUnanswered(err) {
			unanswered = err
			return nil
		}
		return err
	})
	err = errors.Join(err, unanswered)
	if err != nil {
		return errors.Join(s.explain(fmt.Errorf("connect to %s: %w", s.dsn, err)), s.Close())
	}
	return nil
}

// Close releases the connections.
func (s *Store) Close() error {
	s.stmtMu.Lock()
	var errs []error
	for _, st := range s.stmts {
		errs = append(errs, st.Close())
	}
	s.stmts = map[string]*sql.Stmt{}
	s.stmtMu.Unlock()
	if s.w != nil && s.w != s.r.DB {
		errs = append(errs, s.w.Close())
	}
	if s.r.DB != nil {
		errs = append(errs, s.r.Close())
	}
	if s.slow != nil {
		errs = append(errs, s.slow.Close())
	} else if s.bodies.db != nil {
		errs = append(errs, s.bodies.db.Close())
	}
	return errors.Join(errs...)
}

// DSN is the address of the store, without its password.
func (s *Store) DSN() string { return s.dsn }

// Dialect is sqlite or mysql.
func (s *Store) Dialect() string { return s.d.name }

// Now is the store's time.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	return s.now(func(q string) scanner { return s.r.QueryRowContext(ctx, q) })
}

// now reads the clock: the server's where there is one, else the process's.
func (s *Store) now(row func(string) scanner) (time.Time, error) {
	switch {
	case s.wall != nil:
		return s.clock.observe(s.wall()), nil
	case s.d.now == "":
		return s.clock.observe(time.Now()), nil
	}
	var t ts
	if err := row(s.d.now).Scan(&t); err != nil {
		return time.Time{}, fmt.Errorf("read the store's clock: %w", err)
	}
	return s.clock.observe(t.time()), nil
}

// checkDurable asserts that a commit is on disk when it returns (R56).
func (s *Store) checkDurable(ctx context.Context) error {
	if s.d == sqliteDialect {
		var mode string
		var sync int
		if err := s.w.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil {
			return fmt.Errorf("read journal mode: %w", err)
		}
		if err := s.w.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&sync); err != nil {
			return fmt.Errorf("read sync setting: %w", err)
		}
		if mode != "wal" || sync < 2 {
			return fmt.Errorf("%s runs with journal %s and synchronous %d: commits would not be durable", s.dsn, mode, sync)
		}
		return nil
	}
	if s.d == tidbDialect { // it tells a setting of MySQL that means nothing to it
		return nil
	}
	var flush int
	if err := s.r.QueryRowContext(ctx, "SELECT @@innodb_flush_log_at_trx_commit").Scan(&flush); err != nil {
		return fmt.Errorf("read innodb_flush_log_at_trx_commit: %w", err)
	}
	if flush != 1 {
		return fmt.Errorf("%s runs with innodb_flush_log_at_trx_commit=%d: commits would not be durable; set it to 1", s.dsn, flush)
	}
	return nil
}

// seedSQL finds the newest time that was stored, without reading what has grown
// long: the tasks in hand, and the last rows of what is only ever added to.
func (s *Store) seedSQL() []string {
	return []string{
		`SELECT MAX(t.updated_at) FROM ing_task t` + s.d.taskIndex + ` WHERE ` + isOneOf("t.status_code", harvest.TasksInHand),
		`SELECT updated_at FROM ing_task ORDER BY id DESC LIMIT 1`,
		`SELECT MAX(updated_at) FROM ing_source_state`,
		`SELECT MAX(updated_at) FROM ing_endpoint_state`,
		`SELECT triggered_at FROM ing_schedule_instance ORDER BY id DESC LIMIT 1`,
		`SELECT answered_at FROM ing_schedule_instance ORDER BY id DESC LIMIT 1`,
		`SELECT started_at FROM ing_task_run ORDER BY id DESC LIMIT 1`,
		`SELECT opened_at FROM ing_task_run_batch ORDER BY id DESC LIMIT 1`,
		`SELECT MAX(b.committed_at) FROM (SELECT committed_at FROM ing_task_run_batch ORDER BY id DESC LIMIT 50) b`,
		`SELECT event_time FROM ing_cursor_event ORDER BY id DESC LIMIT 1`,
	}
}

// seedClock takes up the newest time the store has seen.
func (s *Store) seedClock(ctx context.Context) error {
	for _, q := range s.seedSQL() {
		var t ts
		if err := s.r.QueryRowContext(ctx, q).Scan(&t); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("read the newest stored time: %w", err)
		}
		s.clock.seed(t.time())
	}
	return nil
}

// explain adds what to do next to errors whose cause is outside of patra.
func (s *Store) explain(err error) error {
	if err == nil {
		return nil
	}
	if gone := s.CheckFile(); errors.Is(gone, harvest.ErrStoreGone) {
		return gone
	}
	switch {
	case s.d.isFull(err):
		return &ConditionError{Kind: "disk_full", Err: err, Next: "free disk space and run the command again; nothing was half-written"}
	case s.d == sqliteDialect && s.d.isRetryable(err):
		return &ConditionError{Kind: "locked", Err: err, Next: "another process holds the database: wait for it or end it, then run the command again; nothing was changed"}
	case s.d.isLost(err):
		return &ConditionError{Kind: "unreachable", Err: err, Next: "is the database server running, and are host and port of --db right? Then run the command again; it goes on where it stopped"}
	case s.d.isDenied(err):
		return &ConditionError{Kind: "not_granted", Err: err, Next: grantIt}
	case s.d.isReadOnly(err):
		return &ConditionError{Kind: "read_only", Err: err, Next: makeWritable}
	case s.d.isDuplicate(err):
		return &DuplicateError{Err: err}
	}
	return err
}

const grantIt = "give the user of the database what its role needs: `patra db grants ROLE` prints it; what no role may do, a command of a person with all rights does"

const makeWritable = "make the database and its folder writable, or choose another with --db"

// DuplicateError says that a row was to be written whose unique key another row has.
// The keys are there so that nothing is stored twice: nothing was changed, and the
// same again would be refused again.
type DuplicateError struct{ Err error }

func (e *DuplicateError) Error() string { return "such a row is there already: " + e.Err.Error() }

func (e *DuplicateError) Unwrap() error { return e.Err }

// Problem implements problem.Error.
func (e *DuplicateError) Problem() problem.Problem {
	return problem.Problem{
		Code: "duplicate_key", Kind: problem.Failed, Title: e.Error(),
		Next: "nothing was changed; `patra verify` says whether what is stored is whole",
	}
}

// ConditionError is a state of the world outside that an operator can mend.
type ConditionError struct {
	Kind string
	Next string
	Err  error
}

func (e *ConditionError) Error() string { return e.Err.Error() }

func (e *ConditionError) Unwrap() error { return e.Err }

// misnamed are the conditions that come of what a command line names, and are mended there.
var misnamed = []string{"is_folder", "no_folder", "other_database", "file_exists", "server_backup"}

// Problem implements problem.Error.
func (e *ConditionError) Problem() problem.Problem {
	kind := problem.Failed
	if slices.Contains(misnamed, e.Kind) {
		kind = problem.Usage
	}
	return problem.Problem{Code: e.Kind, Kind: kind, Title: e.Error(), Next: e.Next}
}

// Is makes every such state one in which the store takes nothing from anybody.
func (e *ConditionError) Is(target error) bool { return target == harvest.ErrStoreAway }
