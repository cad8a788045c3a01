package patratest

import (
	"database/sql"
	"net/url"
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
		u, err := url.Parse(dsn)
		if err != nil {
			t.Fatal(err)
		}
		user := u.User.Username()
		if password, is := u.User.Password(); is {
			user += ":" + password // as it is: what reads it here knows no escapes
		}
		// A statement with values is sent as one, and not prepared, run and closed.
		rest = user + "@tcp(" + u.Host + ")" + u.Path + "?clientFoundRows=true&collation=utf8mb4_bin&interpolateParams=true"
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

// Recount makes the counts of slices those of the slices, which a test has changed behind
// the back of the store.
func Recount(t testing.TB, db *sql.DB) {
	t.Helper()
	for _, q := range []string{
		`DELETE FROM ing_plan_group`,
		`INSERT INTO ing_plan_group (plan_id, place, status_code, slices, expected, estimated, records, pages_asked, latency_ms, http_429, first_from, last_to)
			SELECT s.plan_id, SUBSTR(s.window_from, 1, p.group_digits) AS place, s.status_code, COUNT(*), COALESCE(SUM(s.expected),0), COUNT(s.expected),
			SUM(s.records), SUM(s.pages_asked), SUM(s.latency_ms), SUM(s.http_429), MIN(s.window_from), MAX(s.window_to)
			FROM ing_plan p JOIN ing_plan_slice s ON s.plan_id=p.id WHERE p.group_digits>0 GROUP BY s.plan_id, place, s.status_code`,
	} {
		if _, err := db.Exec(q); err != nil {
			t.Fatalf("count slices: %v", err)
		}
	}
}
