package patratest

import (
	"database/sql"
	"strings"
	"testing"

	sqlite "modernc.org/sqlite"
)

// Raw opens a database beside its store, for tests that change or look at it
// behind the store's back.
func Raw(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	kind, rest, _ := strings.Cut(dsn, ":")
	if kind == "mysql" {
		at := strings.LastIndex(rest, "@")
		host, name, _ := strings.Cut(rest[at+1:], "/")
		rest = strings.TrimPrefix(rest[:at], "//") + "@tcp(" + host + ")/" + name + "?clientFoundRows=true&collation=utf8mb4_bin"
	} else {
		// Writes made to set a scene need not be durable.
		rest = "file:" + rest + "?_txlock=immediate&_pragma=busy_timeout(20000)&_pragma=synchronous(OFF)"
	}
	db, err := openRaw(dsn, kind, rest)
	if err != nil {
		t.Fatalf("open %s: %v", kind, err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return db
}

// openRaw keeps the connections where those of the store are kept.
func openRaw(dsn, kind, address string) (*sql.DB, error) {
	keep := keeping(dsn)
	if keep == nil {
		return sql.Open(kind, address)
	}
	connector, err := sqlite.NewConnector(address)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(keep(address, connector)), nil
}
