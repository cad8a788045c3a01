package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	sqlite "modernc.org/sqlite"
)

// counted is a connection that counts what is prepared on it and closed again.
type counted struct {
	sqliteConn
	prepared map[string]int
	open     int
}

func (c *counted) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	st, err := c.sqliteConn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	c.prepared[query]++
	c.open++
	return &countedStmt{sqliteStmt: st.(sqliteStmt), conn: c}, nil
}

type countedStmt struct {
	sqliteStmt
	conn *counted
}

func (s *countedStmt) Close() error {
	s.conn.open--
	return s.sqliteStmt.Close()
}

// countedConnector hands out the one connection.
type countedConnector struct {
	driver.Connector
	conn *counted
}

func (c countedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c.conn.sqliteConn = conn.(sqliteConn)
	return c.conn, nil
}

func remembering(t *testing.T) (*sql.DB, *counted) {
	t.Helper()
	connector, err := sqlite.NewConnector("file:" + filepath.Join(t.TempDir(), "a.db"))
	if err != nil {
		t.Fatal(err)
	}
	conn := &counted{prepared: map[string]int{}}
	db := sql.OpenDB(rememberingConnector{countedConnector{connector, conn}})
	db.SetMaxOpenConns(1)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if conn.open != 0 {
			t.Errorf("%d statements were left open", conn.open)
		}
	})
	must(t, db, `CREATE TABLE n (i INTEGER PRIMARY KEY, s TEXT)`)
	for i := range 5 {
		must(t, db, `INSERT INTO n (i, s) VALUES (?, ?)`, i, fmt.Sprint("s", i))
	}
	return db, conn
}

func must(t *testing.T, db interface {
	Exec(string, ...any) (sql.Result, error)
}, query string, args ...any,
) {
	t.Helper()
	if _, err := db.Exec(query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// TestStatements_ArePreparedOnce: whatever is said again is not taken apart again, in
// transactions and outside of them, with other arguments each time; what failed is.
func TestStatements_ArePreparedOnce(t *testing.T) {
	db, conn := remembering(t)
	const insert, read = `INSERT INTO n (i, s) VALUES (?, ?)`, `SELECT s FROM n WHERE i = ?`
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	must(t, tx, insert, 10, "in a transaction")
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		var s string
		if err := db.QueryRow(read, i).Scan(&s); err != nil || s != fmt.Sprint("s", i) {
			t.Errorf("%d: %q, %v", i, s, err)
		}
	}
	var none string
	if err := db.QueryRow(read, 10).Scan(&none); err != sql.ErrNoRows {
		t.Errorf("what was rolled back: %q, %v", none, err)
	}
	if conn.prepared[insert] != 1 || conn.prepared[read] != 1 {
		t.Errorf("prepared %v", conn.prepared)
	}
	if _, err := db.Exec(insert, 1, "is there"); err == nil || !strings.Contains(err.Error(), "UNIQUE") {
		t.Errorf("a duplicate: %v", err)
	}
	must(t, db, insert, 11, "after one that failed")
	if conn.prepared[insert] != 2 {
		t.Errorf("prepared %v", conn.prepared)
	}
}

// TestStatements_InUseTwice: rows that are still read are not disturbed by the same
// question, asked between them.
func TestStatements_InUseTwice(t *testing.T) {
	db, conn := remembering(t)
	const read = `SELECT i FROM n WHERE i >= ? ORDER BY i`
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback() //nolint:errcheck // only read
	list := func(from int, between func()) (seen []int) {
		rows, err := tx.Query(read, from)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var i int
			if err := rows.Scan(&i); err != nil {
				t.Fatal(err)
			}
			seen = append(seen, i)
			between()
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		return seen
	}
	outer := list(0, func() {
		if inner := list(3, func() {}); fmt.Sprint(inner) != "[3 4]" {
			t.Errorf("within: %v", inner)
		}
	})
	if fmt.Sprint(outer) != "[0 1 2 3 4]" || conn.prepared[read] != 2 {
		t.Errorf("%v, prepared %v", outer, conn.prepared)
	}
}

// TestStatements_SchemaMayChange: a column that another adds, or a table that is made
// anew, is seen by statements from before.
func TestStatements_SchemaMayChange(t *testing.T) {
	db, _ := remembering(t)
	columns := func() int {
		rows, err := db.Query(`SELECT * FROM n`)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		names, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	before := columns()
	must(t, db, `ALTER TABLE n ADD COLUMN more TEXT`)
	if before != 2 || columns() != 3 {
		t.Errorf("%d columns, then %d", before, columns())
	}
	must(t, db, `DROP TABLE n`)
	if _, err := db.Query(`SELECT * FROM n`); err == nil || !strings.Contains(err.Error(), "no such table") {
		t.Errorf("a table that is gone: %v", err)
	}
}

// TestStatements_AreBounded: however many different ones there are, few are kept.
func TestStatements_AreBounded(t *testing.T) {
	db, conn := remembering(t)
	for i := range 3 * rememberedStatements {
		must(t, db, fmt.Sprintf(`UPDATE n SET s = 'x' WHERE i = %d`, i))
		if conn.open > rememberedStatements {
			t.Fatalf("%d statements are kept", conn.open)
		}
	}
	before := conn.open
	must(t, db, `UPDATE n SET s = '`+strings.Repeat("x", longestRemembered)+`'`)
	if conn.open != before {
		t.Error("one that is long was kept")
	}
}
