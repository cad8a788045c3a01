// Package patratest gives tests what they need around patra: databases that
// vanish afterwards, a node over the oracle, and the comparison of both. Only
// tests import it.
package patratest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/papertrace/patra/internal/infra/sqlstore"
)

// Engine is a kind of database that tests run on.
type Engine struct {
	Name    string
	env     string // names the server's address
	address string // of a server that the test has started
}

// SQLite is always there; the servers are if their address is given.
var (
	SQLite  = Engine{Name: "sqlite"}
	MySQL   = Engine{Name: "mysql", env: "PATRA_TEST_MYSQL"}
	MariaDB = Engine{Name: "mariadb", env: "PATRA_TEST_MARIADB"}
	// TiDB takes ten minutes to build, so nobody misses it: make test-tidb asks for it.
	TiDB = Engine{Name: "tidb", env: "PATRA_TEST_TIDB"}
)

// EachEngine runs f as a subtest on every engine, or on the one that PATRA_TEST_ALONE
// names. Engines whose server is not given are skipped, saying so.
func EachEngine(t *testing.T, f func(t *testing.T, e Engine)) {
	t.Helper()
	for _, e := range engines() {
		t.Run(e.Name, func(t *testing.T) { f(t, e) })
	}
}

func engines() []Engine {
	if e, is := alone(); is {
		return []Engine{e}
	}
	return append([]Engine{SQLite}, Servers()...)
}

// Servers are the engines that are servers, or the one that is asked alone.
func Servers() []Engine {
	if e, is := alone(); is {
		return []Engine{e}
	}
	return []Engine{MySQL, MariaDB}
}

// alone is the server that is to be asked and no other engine: make test asks SQLite and
// MariaDB, and what is known of these is not asked again by make test-mysql and make test-tidb.
func alone() (e Engine, is bool) {
	name := os.Getenv("PATRA_TEST_ALONE")
	for _, e := range []Engine{MySQL, TiDB} {
		if e.Name == name {
			return e, true
		}
	}
	if name != "" {
		panic("PATRA_TEST_ALONE is mysql or tidb, not " + name)
	}
	return Engine{}, false
}

// EachKind is EachEngine for tests of what stands above the store: they run on SQLite and
// on one server, MariaDB if it is given. In what the servers differ is the store's
// business, whose own tests run on each; MySQL takes three times the processor time for
// the same statements. PATRA_SOAK=1 runs on all.
func EachKind(t *testing.T, f func(t *testing.T, e Engine)) {
	t.Helper()
	onSQLiteAnd(t, MariaDB, MySQL, f)
}

// EachKindOfTable is EachKind for tests of tables that people fill by SQL: the server is
// MySQL if it is given, to which JSON is a type of its own. To MariaDB it is text, as it
// is to SQLite.
func EachKindOfTable(t *testing.T, f func(t *testing.T, e Engine)) {
	t.Helper()
	onSQLiteAnd(t, MySQL, MariaDB, f)
}

// onSQLiteAnd runs f on SQLite and on a server, or on the other where that is not given.
func onSQLiteAnd(t *testing.T, server, other Engine, f func(t *testing.T, e Engine)) {
	t.Helper()
	if _, is := alone(); is || Soak() {
		EachEngine(t, f)
		return
	}
	if os.Getenv(server.env) == "" {
		server.askedLater(t) // fails where no command would ask it
		server = other
	}
	for _, e := range []Engine{SQLite, server} {
		t.Run(e.Name, func(t *testing.T) { f(t, e) })
	}
}

// DSN returns the address of an empty database, migrated, that is the test's own
// until it ends. It skips the test if the engine's server is not given.
func (e Engine) DSN(t testing.TB) string {
	t.Helper()
	if e == SQLite {
		return "sqlite:" + filepath.Join(t.TempDir(), "patra.db")
	}
	return e.pool(t).take(t)
}

// NewDSN is DSN for tests of the schema: the database is made for this one, and is
// gone when the test ends.
func (e Engine) NewDSN(t testing.TB) string {
	t.Helper()
	if e == SQLite {
		return e.DSN(t)
	}
	p := e.pool(t)
	name := p.create(t)
	t.Cleanup(func() { p.drop(t, name) })
	return p.server + "/" + name
}

// EmptyDSN is DSN for tests of the migrations: the database has no tables yet, and
// is gone when the test ends.
func (e Engine) EmptyDSN(t testing.TB) string {
	t.Helper()
	if e == SQLite {
		return e.DSN(t)
	}
	p := e.pool(t)
	name := p.createEmpty(t)
	t.Cleanup(func() { p.drop(t, name) })
	return p.server + "/" + name
}

// Open opens a store that is closed when the test ends.
func Open(t testing.TB, dsn string, o sqlstore.Options) *sqlstore.Store {
	t.Helper()
	if path, is := strings.CutPrefix(dsn, "sqlite:"); is {
		if err := copyNew(path); err != nil {
			t.Fatalf("new store: %v", err)
		}
	}
	o.Keep = keeping(dsn)
	s, err := sqlstore.Open(t.Context(), dsn, o)
	if err != nil {
		t.Fatalf("open store: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close store: %v", err)
		}
	})
	return s
}

// fresh is a new database as bytes: to make one takes many statements, and under
// the race detector seconds.
var fresh = sync.OnceValues(func() (b []byte, err error) {
	dir, err := os.MkdirTemp("", "patra-new-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "new.db")
	s, err := sqlstore.Open(context.Background(), "sqlite:"+path, sqlstore.Options{})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// copyNew puts a new database where there is none yet.
func copyNew(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	b, err := fresh()
	if err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o600)
}

// Long leaves a test out of `make race`, which runs with -short: what names the
// part that is missing there. `make test` runs it.
func Long(t testing.TB, what string) {
	t.Helper()
	if testing.Short() {
		t.Skipf("left out under -short: %s; make test runs it", what)
	}
}

// Soak reports whether tests run in their long form, which is that of `make soak`: every case
// of a matrix, every point of a walk. In the short form some are left out, by a rule that
// stands at the test.
func Soak() bool { return os.Getenv("PATRA_SOAK") != "" }

// MustVerify fails the test if the store breaks one of its invariants.
func MustVerify(t testing.TB, s *sqlstore.Store) {
	t.Helper()
	found, err := s.Verify(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatalf("verify: %v", err)
	}
	for _, f := range found {
		t.Errorf("%s %s: %s", f.Invariant, f.Object, f.Detail)
	}
}
