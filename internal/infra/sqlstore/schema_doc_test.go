package sqlstore_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
)

var (
	docRow    = regexp.MustCompile("(?m)^\\| `([\\w.]+)` \\| (.+) \\|$")
	docName   = regexp.MustCompile("`(\\w+\\.\\w+)`")
	guideList = regexp.MustCompile(`(?s)INSERT INTO (\w+)\s*\(([^)]*)\)`)
)

// TestSchemaDoc_NamesAreWhereItSays: docs/schema.md says of every name of the design whether both engines have it, what it is
// read off, or why it is not there. Whatever the statements of the design name is in it.
func TestSchemaDoc_NamesAreWhereItSays(t *testing.T) {
	text, err := os.ReadFile("../../../docs/schema.md")
	if err != nil {
		t.Fatal(err)
	}
	engines := map[string]map[string]bool{"SQLite": sqliteNames(t), "MySQL": mysqlNames(t)}
	listed := map[string]bool{}
	for _, row := range docRow.FindAllStringSubmatch(string(text), -1) {
		name, where := row[1], row[2]
		if listed[name] {
			t.Errorf("%s is listed twice", name)
		}
		listed[name] = true
		reason, absent := strings.CutPrefix(where, "not there: ")
		if !absent && where != "there" && !strings.HasPrefix(where, "there, read off `") || absent && len(reason) < 20 {
			t.Errorf("%s: %q says neither where it is nor why it is not", name, where)
		}
		for engine, has := range engines {
			if has[name] == absent {
				t.Errorf("%s is %s, but %s has it: %v", name, where, engine, has[name])
			}
			for _, other := range docName.FindAllStringSubmatch(where, -1) {
				if !has[other[1]] {
					t.Errorf("%s: %s has no %s", name, engine, other[1])
				}
			}
		}
	}
	if len(listed) < 200 {
		t.Errorf("only %d names are listed", len(listed))
	}
	for _, example := range []string{"quick-start", "example"} {
		for _, s := range patratest.GuideStatements(t, example, nil) {
			for _, list := range guideList.FindAllStringSubmatch(s, -1) {
				for column := range strings.SplitSeq(list[2], ",") {
					if name := list[1] + "." + strings.TrimSpace(column); !listed[name] {
						t.Errorf("%s is not listed", name)
					}
				}
			}
		}
	}
}

// sqliteNames are the tables of a new SQLite database and their columns, generated ones too.
func sqliteNames(t *testing.T) map[string]bool {
	t.Helper()
	dsn := patratest.SQLite.NewDSN(t)
	patratest.Open(t, dsn, sqlstore.Options{})
	out := map[string]bool{}
	for _, c := range texts(t, patratest.Raw(t, dsn), `SELECT m.name || '.' || c.name FROM sqlite_master m, pragma_table_xinfo(m.name) c WHERE m.type='table'`) {
		note(out, strings.TrimSuffix(c, ";"))
	}
	return out
}

// mysqlNames are the same of the dump of MySQL's schema.
func mysqlNames(t *testing.T) map[string]bool {
	t.Helper()
	dump, err := os.ReadFile("schema.mysql.sql")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, table := range mysqlTable.FindAllStringSubmatch(string(dump), -1) {
		for _, column := range mysqlColumn.FindAllStringSubmatch(table[2], -1) {
			note(out, table[1]+"."+column[1])
		}
	}
	return out
}

// note remembers a column and its table.
func note(names map[string]bool, column string) {
	table, _, _ := strings.Cut(column, ".")
	names[table] = true
	names[column] = true
}
