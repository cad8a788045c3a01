package sqlstore_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
)

// The tables of schema.mysql.sql and their columns. A generated column is there
// for a unique index over some of the rows, which SQLite makes without one.
var (
	mysqlTable     = regexp.MustCompile("(?s)CREATE TABLE `(\\w+)` \\((.*?)\n\\)")
	mysqlColumn    = regexp.MustCompile("(?m)^ +`(\\w+)` (.*)$")
	mysqlGenerated = " GENERATED ALWAYS "
)

// TestSchema_EnginesHaveTheSameColumns: a migration of SQLite has its twin for
// MySQL, and what the two make has the same tables and columns. It needs no
// server: schema.mysql.sql says what MySQL has.
func TestSchema_EnginesHaveTheSameColumns(t *testing.T) {
	lite := migrationFiles(t, "sqlite")
	if my := migrationFiles(t, "mysql"); !slices.Equal(lite, my) {
		t.Errorf("migrations/sqlite has %v, migrations/mysql %v", lite, my)
	}
	want := sqliteColumns(t)
	got := mysqlColumns(t)
	for _, c := range slices.Sorted(maps.Keys(want)) {
		if !got[c] {
			t.Errorf("%s is in SQLite and not in schema.mysql.sql: write its migration for MySQL, and the dump anew", c)
		}
		delete(got, c)
	}
	for _, c := range slices.Sorted(maps.Keys(got)) {
		t.Errorf("%s is in schema.mysql.sql and not in SQLite", c)
	}
}

func migrationFiles(t *testing.T, engine string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("migrations", engine, "*.sql"))
	if err != nil || len(files) == 0 {
		t.Fatalf("migrations of %s: %d, %v", engine, len(files), err)
	}
	for i, f := range files {
		files[i] = filepath.Base(f)
	}
	return files
}

// sqliteColumns are all columns of a new SQLite database, as TABLE.COLUMN.
func sqliteColumns(t *testing.T) map[string]bool {
	t.Helper()
	dsn := patratest.SQLite.NewDSN(t)
	patratest.Open(t, dsn, sqlstore.Options{})
	out := map[string]bool{}
	for _, c := range texts(t, patratest.Raw(t, dsn), `SELECT m.name || '.' || c.name FROM sqlite_master m, pragma_table_info(m.name) c
		WHERE m.type='table' AND m.name NOT LIKE 'sqlite_%' AND m.name NOT LIKE 'goose_%'`) {
		out[strings.TrimSuffix(c, ";")] = true
	}
	return out
}

// mysqlColumns are the same of MySQL, as the dump of its schema has them.
func mysqlColumns(t *testing.T) map[string]bool {
	t.Helper()
	dump, err := os.ReadFile("schema.mysql.sql")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, table := range mysqlTable.FindAllStringSubmatch(string(dump), -1) {
		for _, column := range mysqlColumn.FindAllStringSubmatch(table[2], -1) {
			if !strings.Contains(column[2], mysqlGenerated) {
				out[table[1]+"."+column[1]] = true
			}
		}
	}
	return out
}
