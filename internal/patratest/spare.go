package patratest

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	sqlite "modernc.org/sqlite"
)

// shelf is the SQLite databases of this process that tests have done with, and the
// connections to them. To read a schema and to prepare statements takes SQLite longer
// than a small test needs for all the rest; a database that was emptied is as good as
// a new one, and its connections know everything already.
type shelf struct {
	mu   sync.Mutex
	dir  string                   // guarded by mu; empty until the first database is made
	made int                      // guarded by mu
	free []*spareDatabase         // guarded by mu
	idle map[string][]driver.Conn // guarded by mu; closed by their stores, by what they are like
}

// spareDatabase is one file, with a connection that empties it.
type spareDatabase struct {
	path  string
	conn  driver.Conn
	empty []driver.Stmt
}

var spares = shelf{idle: map[string][]driver.Conn{}}

// SpareDSN is DSN for tests that do not look at the files of the database: it may be
// one that an earlier test has done with, emptied. Packages that ask for it end by
// [Main].
func (e Engine) SpareDSN(t testing.TB) string {
	t.Helper()
	if e != SQLite {
		return e.DSN(t)
	}
	d, err := spares.take()
	if err != nil {
		t.Fatalf("spare database: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() { // who knows what it did
			return
		}
		spares.putBack(d)
	})
	return "sqlite:" + d.path
}

// Main runs the tests of a package with many small stores, and removes the databases
// they shared. What such tests hold is little and what they throw away is much, so
// that they collect less often; processes they begin do as ever.
func Main(m *testing.M) {
	debug.SetGCPercent(400)
	code := m.Run()
	if err := spares.remove(); err != nil {
		fmt.Fprintln(os.Stderr, "remove the databases of the tests:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// take returns a database without rows: one that was put back, or a new one.
func (s *shelf) take() (*spareDatabase, error) {
	s.mu.Lock()
	if n := len(s.free); n > 0 {
		d := s.free[n-1]
		s.free = s.free[:n-1]
		s.mu.Unlock()
		return d, d.clear()
	}
	defer s.mu.Unlock()
	if s.dir == "" {
		dir, err := os.MkdirTemp("", "patra-spare-")
		if err != nil {
			return nil, err
		}
		s.dir = dir
	}
	s.made++
	return newSpare(filepath.Join(s.dir, fmt.Sprintf("%d.db", s.made)))
}

func (s *shelf) putBack(d *spareDatabase) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, d)
}

// owns reports whether a file is one of the databases here.
func (s *shelf) owns(path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dir != "" && filepath.Dir(path) == s.dir
}

// remove deletes all files. What is still connected to them ends with the process.
func (s *shelf) remove() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == "" {
		return nil
	}
	return os.RemoveAll(s.dir)
}

// newSpare makes a database and prepares what empties it.
func newSpare(path string) (*spareDatabase, error) {
	if err := copyNew(path); err != nil {
		return nil, err
	}
	connector, err := sqlite.NewConnector("file:" + path + "?_pragma=busy_timeout(20000)&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)")
	if err != nil {
		return nil, err
	}
	d := &spareDatabase{path: path}
	d.conn, err = connector.Connect(context.Background())
	if err != nil {
		return nil, err
	}
	tables, err := d.tables()
	if err != nil {
		return nil, err
	}
	statements := []string{"BEGIN IMMEDIATE"}
	for _, table := range tables {
		statements = append(statements, "DELETE FROM "+table)
	}
	statements = append(statements, "COMMIT")
	for _, q := range statements {
		st, err := d.conn.Prepare(q)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", q, err)
		}
		d.empty = append(d.empty, st)
	}
	return d, nil
}

// tables lists those that tests fill: not the schema's version, nor the codes, which
// come with it.
func (d *spareDatabase) tables() (out []string, err error) {
	st, err := d.conn.Prepare(`SELECT name FROM sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'goose_%'
		AND name NOT LIKE 'sys_dict_%' AND name <> 'reg_expr_field_dict'`)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	rows, err := st.(driver.StmtQueryContext).QueryContext(context.Background(), nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for {
		name := make([]driver.Value, 1)
		if rows.Next(name) != nil {
			return out, nil
		}
		out = append(out, fmt.Sprint(name[0]))
	}
}

// clear deletes every row.
func (d *spareDatabase) clear() error {
	for _, st := range d.empty {
		if _, err := st.(driver.StmtExecContext).ExecContext(context.Background(), nil); err != nil {
			return fmt.Errorf("empty %s: %w", d.path, err)
		}
	}
	return nil
}

// keeping returns what keeps the connections to a database of the shelf, or nil for
// any other.
func keeping(dsn string) func(string, driver.Connector) driver.Connector {
	path, is := strings.CutPrefix(dsn, "sqlite:")
	if !is || !spares.owns(path) {
		return nil
	}
	return func(name string, c driver.Connector) driver.Connector {
		return keepingConnector{Connector: c, name: name}
	}
}

// keepingConnector hands out connections that were closed before it makes new ones.
type keepingConnector struct {
	driver.Connector
	name string
}

// Connect implements driver.Connector.
func (c keepingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	spares.mu.Lock()
	idle := spares.idle[c.name]
	if n := len(idle); n > 0 {
		conn := idle[n-1]
		spares.idle[c.name] = idle[:n-1]
		spares.mu.Unlock()
		return conn, nil
	}
	spares.mu.Unlock()
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	inner, ok := conn.(everyConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("a connection of type %T cannot be kept", conn), conn.Close())
	}
	return &keptConn{everyConn: inner, name: c.name}, nil
}

// everyConn is what a connection to SQLite can do, so that none of it is lost behind
// another.
type everyConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.Pinger
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
}

// keptConn is a connection that is not closed but put aside.
type keptConn struct {
	everyConn
	name string
}

// Close implements driver.Conn. A transaction that is still open, because whoever began
// it was stopped half-way, ends here as it would with the connection.
func (c *keptConn) Close() error {
	if !c.IsValid() {
		return c.everyConn.Close()
	}
	if _, err := c.ExecContext(context.Background(), "ROLLBACK", nil); err != nil && !strings.Contains(err.Error(), "no transaction is active") {
		return errors.Join(err, c.everyConn.Close())
	}
	spares.mu.Lock()
	defer spares.mu.Unlock()
	spares.idle[c.name] = append(spares.idle[c.name], c)
	return nil
}
