package patratest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/papertrace/patra/internal/infra/sqlstore"
)

// pool is the databases of one server that tests have done with. To make one
// takes a hundred statements that change the schema, to empty one hardly
// anything. The list of them is kept on the server, in a database of its own, so
// that the next process takes them up. Which migrations made a database is part
// of its name: another schema gets others.
type pool struct {
	server string
	schema string
	admin  *sql.DB
	// atOnce: a new database gets the newest schema at once, and not by every migration.
	atOnce bool
}

var databases atomic.Int64

// askedLater reports whether another command runs the test on this server, which is not given
// here. Where PATRA_TEST_LATER says what make test-mysql runs, a test that asks MySQL and is
// not among these fails: nobody would ask it.
func (e Engine) askedLater(t testing.TB) bool {
	t.Helper()
	later := os.Getenv("PATRA_TEST_LATER")
	if e != MySQL || later == "" {
		return false
	}
	name, _, _ := strings.Cut(t.Name(), "/")
	test := strings.TrimSuffix(filepath.Base(os.Args[0]), ".test") + "." + name
	if !slices.Contains(strings.Fields(later), test) {
		t.Fatalf("nothing runs %s on MySQL: add it to scripts/test-mysql.sh", test)
	}
	return true
}

func (e Engine) pool(t testing.TB) *pool {
	t.Helper()
	server := cmp.Or(e.address, os.Getenv(e.env))
	switch {
	case server != "":
	case e.askedLater(t):
		t.Skip("make test-mysql runs it on MySQL")
	default:
		t.Skipf("no %s server: set %s, or run make test with it installed", e.Name, e.env)
	}
	schema, err := schemaName()
	if err != nil {
		t.Fatalf("read the migrations: %v", err)
	}
	admin, err := sql.Open("mysql", strings.Replace(strings.TrimPrefix(server, "mysql://"), "@", "@tcp(", 1)+")/")
	if err != nil {
		t.Fatalf("open %s: %v", server, err)
	}
	t.Cleanup(func() {
		if err := admin.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	p := &pool{server: server, schema: schema, admin: admin, atOnce: e == MySQL}
	p.exec(t, "CREATE DATABASE IF NOT EXISTS patra_pool")
	p.exec(t, "CREATE TABLE IF NOT EXISTS patra_pool.spare (name VARCHAR(64) PRIMARY KEY) ENGINE=InnoDB")
	return p
}

// schemaName tells one set of migrations from another.
var schemaName = sync.OnceValues(func() (string, error) {
	files, err := migrations()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return "", err
		}
		h.Write(b)
	}
	return fmt.Sprintf("patra_%x", h.Sum(nil)[:4]), nil
})

// migrations lists the files of those for servers, in their order.
func migrations() ([]string, error) {
	dir, err := storeDir()
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "migrations/mysql/*.sql"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no migrations in %s (%w)", dir, err)
	}
	return files, nil
}

// storeDir is the folder of the store's code.
func storeDir() (string, error) {
	_, here, _, ok := runtime.Caller(0)
	if !ok {
		return "", errors.New("this file does not know where it is")
	}
	return filepath.Join(filepath.Dir(here), "../infra/sqlstore"), nil
}

// take returns the address of a database that was put back, or of a new one. It
// is put back when the test ends, unless the test failed: who knows what it did.
func (p *pool) take(t testing.TB) string {
	t.Helper()
	name := p.spare(t)
	if name == "" {
		name = p.create(t)
	}
	t.Cleanup(func() {
		if t.Failed() {
			p.drop(t, name)
			return
		}
		p.exec(t, "INSERT INTO patra_pool.spare (name) VALUES (?)", name)
	})
	return p.server + "/" + name
}

// notConverted is what MySQL says of its list of connections while one of them runs
// a statement with bytes in it that are no text: the list shows statements, too.
const notConverted = 3854

// spare takes a database off the list and empties it; there may be none. One that
// somebody is still connected to, such as a killed process, is left for later.
func (p *pool) spare(t testing.TB) string {
	t.Helper()
	found, err := column(context.Background(), p.admin, `SELECT name FROM patra_pool.spare WHERE name LIKE ? AND name NOT IN
		(SELECT db FROM information_schema.processlist WHERE db IS NOT NULL) LIMIT 1`, p.schema+`\_%`)
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok && e.Number == notConverted {
		return ""
	}
	if err != nil {
		t.Fatalf("look for a spare database on %s: %v", p.server, err)
	}
	if len(found) == 0 {
		return ""
	}
	name := found[0]
	if p.exec(t, "DELETE FROM patra_pool.spare WHERE name=?", name) != 1 {
		return p.spare(t) // another process was faster
	}
	for _, table := range p.texts(t, "SELECT table_name FROM information_schema.tables WHERE table_schema=? AND table_name <> 'goose_db_version'", name) {
		p.exec(t, "DELETE FROM "+name+"."+table)
	}
	// Ids are seen outside, in requests and reports: they begin anew. To say so changes
	// the schema, which takes longer than all the rest: only tables that gave ids are told.
	for _, table := range p.countedUp(t, name) {
		p.exec(t, "ALTER TABLE "+name+"."+table+" AUTO_INCREMENT=1")
	}
	p.migrate(t, name)
	return name
}

// countedUp lists the tables of a database whose next id is not the first. MySQL
// answers that from notes a day old unless told to look; MariaDB always looks, and
// passes over what is written for MySQL 8 and later.
func (p *pool) countedUp(t testing.TB, name string) []string {
	t.Helper()
	ctx := context.Background()
	c, err := p.admin.Conn(ctx)
	if err != nil {
		t.Fatalf("connect to %s: %v", p.server, err)
	}
	defer c.Close()
	if _, err := c.ExecContext(ctx, "/*!80000 SET SESSION information_schema_stats_expiry=0 */"); err != nil {
		t.Fatalf("have %s look at its tables: %v", p.server, err)
	}
	out, err := column(ctx, c, "SELECT table_name FROM information_schema.tables WHERE table_schema=? AND auto_increment > 1 AND table_name <> 'goose_db_version'", name)
	if err != nil {
		t.Fatalf("look for ids given in %s: %v", name, err)
	}
	return out
}

// create makes a database.
func (p *pool) create(t testing.TB) string {
	t.Helper()
	name := p.createEmpty(t)
	if p.atOnce {
		p.makeTables(t, name)
	}
	p.migrate(t, name)
	return name
}

// createEmpty makes a database without tables.
func (p *pool) createEmpty(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("%s_%d_%d_%d", p.schema, os.Getpid(), time.Now().UnixMicro(), databases.Add(1))
	p.exec(t, "CREATE DATABASE "+name)
	return name
}

// migrate makes the schema and the dictionary of codes.
func (p *pool) migrate(t testing.TB, name string) {
	t.Helper()
	ctx := context.Background()
	s, err := sqlstore.Connect(ctx, p.server+"/"+name, sqlstore.Options{})
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	if _, err := s.Migrate(ctx); err != nil {
		t.Fatalf("migrate: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
}

func (p *pool) drop(t testing.TB, name string) {
	t.Helper()
	p.exec(t, "DROP DATABASE "+name)
}

// exec runs a statement and returns how many rows it changed.
func (p *pool) exec(t testing.TB, q string, args ...any) int64 {
	t.Helper()
	res, err := p.admin.Exec(q, args...)
	if err != nil {
		t.Fatalf("%s on %s: %v", q, p.server, err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		t.Fatalf("%s on %s: %v", q, p.server, err)
	}
	return n
}

// texts reads a column.
func (p *pool) texts(t testing.TB, q string, args ...any) []string {
	t.Helper()
	out, err := column(context.Background(), p.admin, q, args...)
	if err != nil {
		t.Fatalf("%s on %s: %v", q, p.server, err)
	}
	return out
}

// asked is a server, or one connection to it.
type asked interface {
	QueryContext(ctx context.Context, q string, args ...any) (*sql.Rows, error)
}

func column(ctx context.Context, db asked, q string, args ...any) (out []string, err error) {
	rows, err := db.QueryContext(ctx, q, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return out, err
		}
		out = append(out, s)
	}
	return out, rows.Err()
}
