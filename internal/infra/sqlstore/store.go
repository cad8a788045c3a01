package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// Store is the database. It is safe for concurrent use.
type Store struct {
	d      *dialect
	w      *sql.DB // writes; on SQLite a single connection
	r      *sql.DB // reads
	clock  clock
	log    *slog.Logger
	dsn    string // without password
	hook   func(point string) error
	wall   func() time.Time // a test's clock, nil for the store's own
	stmtMu sync.Mutex
	stmts  map[string]*sql.Stmt // guarded by stmtMu; prepared on w
}

// Options of [Open].
type Options struct {
	Logger *slog.Logger
	// ReadOnly opens for reading only; the schema must be current.
	ReadOnly bool
	// Hook, if set, is called before and after every statement and commit. An
	// error it returns is the outcome of that point: fault tests use it to fail
	// or to kill at the k-th call.
	Hook func(point string) error
	// Wall, if set, is read instead of the store's clock: tests step it.
	Wall func() time.Time
}

// DSNError says that a DSN cannot be used, and what one looks like.
type DSNError struct {
	DSN    string
	Reason string
}

func (e *DSNError) Error() string {
	return fmt.Sprintf("database %q: %s (use sqlite:PATH or mysql://user:password@host:port/database)", e.DSN, e.Reason)
}

// Open connects to the database named by dsn, and on SQLite brings its schema
// up to date. On MySQL an old schema is an [*SchemaError]: see [Store.Migrate].
func Open(ctx context.Context, dsn string, o Options) (*Store, error) {
	s, err := Connect(ctx, dsn, o)
	if err != nil {
		return nil, err
	}
	if err := s.checkSchema(ctx, o.ReadOnly); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := s.checkDurable(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := s.seedClock(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if !o.ReadOnly {
		if err := s.warm(ctx, warmStatements()...); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// Connect is [Open] without a look at the schema.
func Connect(ctx context.Context, dsn string, o Options) (*Store, error) {
	kind, rest, ok := strings.Cut(dsn, ":")
	if !ok || rest == "" {
		return nil, &DSNError{DSN: dsn, Reason: "not a database address"}
	}
	s := &Store{log: o.Logger, hook: o.Hook, wall: o.Wall, stmts: make(map[string]*sql.Stmt)}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	var err error
	switch kind {
	case "sqlite":
		err = s.openSQLite(ctx, rest, o.ReadOnly)
	case "mysql":
		err = s.openMySQL(ctx, dsn)
	default:
		err = &DSNError{DSN: redactDSN(dsn), Reason: fmt.Sprintf("unknown kind %q", kind)}
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Store) openSQLite(ctx context.Context, path string, readOnly bool) error {
	path = strings.TrimPrefix(path, "//")
	s.d, s.dsn = sqliteDialect, "sqlite:"+path
	if !readOnly {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fmt.Errorf("create folder of the database: %w", err)
		}
	} else if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("open database for reading: %w", err)
	}
	u := func(extra string) string {
		return "file:" + (&url.URL{Path: path}).EscapedPath() + "?_pragma=busy_timeout(20000)&_pragma=foreign_keys(0)" + extra
	}
	open := func(extra string, conns int) (*sql.DB, error) {
		db, err := sql.Open("sqlite", u(extra))
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", s.dsn, err)
		}
		db.SetMaxOpenConns(conns)
		db.SetMaxIdleConns(conns)
		db.SetConnMaxLifetime(0)
		return db, nil
	}
	var err error
	if s.r, err = open("&_pragma=query_only(1)", max(2, runtime.NumCPU())); err != nil {
		return err
	}
	if readOnly {
		s.w = s.r
		return s.ping(ctx)
	}
	if s.w, err = open("&_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=cache_size(-32768)&_pragma=wal_autocheckpoint(2000)", 1); err != nil {
		return err
	}
	return s.ping(ctx)
}

func (s *Store) openMySQL(ctx context.Context, dsn string) error {
	s.d, s.dsn = mysqlDialect, redactDSN(dsn)
	u, err := url.Parse(dsn)
	if err != nil {
		return &DSNError{DSN: s.dsn, Reason: "cannot be read"}
	}
	db := strings.Trim(u.Path, "/")
	if u.Host == "" || db == "" || strings.Contains(db, "/") {
		return &DSNError{DSN: s.dsn, Reason: "host or database is missing"}
	}
	cfg := mysql.NewConfig()
	cfg.User = u.User.Username()
	cfg.Passwd, _ = u.User.Password()
	cfg.Net, cfg.Addr, cfg.DBName = "tcp", u.Host, db
	if u.Port() == "" {
		cfg.Addr += ":3306"
	}
	cfg.Collation = "utf8mb4_bin"
	cfg.ClientFoundRows = true   // an update that finds its row has affected it
	cfg.InterpolateParams = true // one round trip; bulk statements are prepared
	cfg.MaxAllowedPacket = 0     // the server's own
	cfg.Timeout = 10 * time.Second
	cfg.Params = map[string]string{"time_zone": "'+00:00'", "sql_mode": "'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'"}
	cfg.Logger = silent{}
	c, err := mysql.NewConnector(cfg)
	if err != nil {
		return &DSNError{DSN: s.dsn, Reason: err.Error()}
	}
	s.w = sql.OpenDB(c)
	s.w.SetMaxOpenConns(16)
	s.w.SetMaxIdleConns(16)
	s.w.SetConnMaxIdleTime(5 * time.Minute)
	s.r = s.w
	return s.ping(ctx)
}

// silent drops the driver's own log lines; its errors come back as errors.
type silent struct{}

func (silent) Print(...any) {}

func (s *Store) ping(ctx context.Context) error {
	if err := s.w.PingContext(ctx); err != nil {
		return errors.Join(s.explain(fmt.Errorf("connect to %s: %w", s.dsn, err)), s.Close())
	}
	return nil
}

func redactDSN(dsn string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		kind, _, _ := strings.Cut(dsn, ":")
		return kind + ":(unreadable)"
	}
	return u.Redacted()
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
	if s.w != nil && s.w != s.r {
		errs = append(errs, s.w.Close())
	}
	if s.r != nil {
		errs = append(errs, s.r.Close())
	}
	return errors.Join(errs...)
}

// DSN is the address of the store, without its password.
func (s *Store) DSN() string { return s.dsn }

// Dialect is sqlite or mysql.
func (s *Store) Dialect() string { return s.d.name }

// Now is the store's time.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	return s.now(func(q string) *sql.Row { return s.r.QueryRowContext(ctx, q) })
}

// now reads the clock: the server's where there is one, else the process's.
func (s *Store) now(row func(string) *sql.Row) (time.Time, error) {
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
	if s.w == s.r && s.d == sqliteDialect { // read-only
		return nil
	}
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
	var flush int
	if err := s.w.QueryRowContext(ctx, "SELECT @@innodb_flush_log_at_trx_commit").Scan(&flush); err != nil {
		return fmt.Errorf("read innodb_flush_log_at_trx_commit: %w", err)
	}
	if flush != 1 {
		return fmt.Errorf("%s runs with innodb_flush_log_at_trx_commit=%d: commits would not be durable; set it to 1", s.dsn, flush)
	}
	return nil
}

// seedClock takes up the newest time the store has seen: that of its tasks, and
// of the last row of what is only ever added to.
func (s *Store) seedClock(ctx context.Context) error {
	for _, q := range []string{
		`SELECT MAX(updated_at) FROM ing_task`,
		`SELECT MAX(updated_at) FROM ing_source_state`,
		`SELECT triggered_at FROM ing_schedule_instance ORDER BY id DESC LIMIT 1`,
		`SELECT started_at FROM ing_task_run ORDER BY id DESC LIMIT 1`,
		`SELECT opened_at FROM ing_task_run_batch ORDER BY id DESC LIMIT 1`,
		`SELECT event_time FROM ing_cursor_event ORDER BY id DESC LIMIT 1`,
	} {
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
	switch {
	case err == nil:
		return nil
	case s.d.isFull(err):
		return &ConditionError{Kind: "disk_full", Err: err, Next: "free disk space and run the command again; nothing was half-written"}
	case s.d.isReadOnly(err):
		return &ConditionError{Kind: "read_only", Err: err, Next: "make the database and its folder writable, or choose another with --db"}
	}
	return err
}

// ConditionError is a state of the world outside that an operator can mend.
type ConditionError struct {
	Kind string
	Next string
	Err  error
}

func (e *ConditionError) Error() string { return e.Err.Error() }

func (e *ConditionError) Unwrap() error { return e.Err }

// tx is one write transaction.
type tx struct {
	ctx context.Context
	s   *Store
	sql *sql.Tx
	now time.Time
}

// write runs f in a transaction, again if the database asks for it (deadlock,
// a lost race to insert). f must not keep anything of an earlier try.
func (s *Store) write(ctx context.Context, what string, f func(*tx) error) error {
	for try := 1; ; try++ {
		err := s.writeOnce(ctx, f)
		if err == nil {
			return nil
		}
		if try < 20 && ctx.Err() == nil && s.d.isRetryable(err) && !errors.Is(err, harvest.ErrUnknownOutcome) {
			s.log.Debug("transaction tried again", "what", what, "try", try, "err", err)
			if err := sleep(ctx, time.Duration(try)*2*time.Millisecond); err != nil {
				return err
			}
			continue
		}
		return fmt.Errorf("%s: %w", what, s.explain(err))
	}
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
// inside a transaction: on SQLite that holds the only writing connection.
func (s *Store) warm(ctx context.Context, queries ...string) error {
	s.stmtMu.Lock()
	defer s.stmtMu.Unlock()
	for _, q := range queries {
		if s.stmts[q] != nil {
			continue
		}
		st, err := s.w.PrepareContext(ctx, q)
		if err != nil {
			return fmt.Errorf("prepare: %w", err)
		}
		s.stmts[q] = st
	}
	return nil
}

func (s *Store) prepared(query string) *sql.Stmt {
	s.stmtMu.Lock()
	defer s.stmtMu.Unlock()
	return s.stmts[query]
}
