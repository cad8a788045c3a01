package sqlstore

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/domain/source"
)

var (
	tableText  = regexp.MustCompile("(?s)CREATE TABLE `(\\w+)` \\((.*?)\n\\)")
	columnText = regexp.MustCompile("(?m)^ +`(\\w+)` ")
)

// registryColumns are the columns of the registry's tables, by table, as the dump
// of the schema has them.
func registryColumns(t *testing.T) map[string][]string {
	t.Helper()
	dump, err := os.ReadFile("schema.mysql.sql")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, table := range tableText.FindAllStringSubmatch(string(dump), -1) {
		if !strings.HasPrefix(table[1], "reg_") {
			continue
		}
		for _, c := range columnText.FindAllStringSubmatch(table[2], -1) {
			out[table[1]] = append(out[table[1]], c[1])
		}
	}
	return out
}

// TestRegistry_EveryKeyHasItsColumn: each key of a description is kept in a column
// of its own, and no column is named for a key that is not there.
func TestRegistry_EveryKeyHasItsColumn(t *testing.T) {
	there := registryColumns(t)
	for _, d := range source.Dimensions() {
		taken := map[string]string{}
		for _, c := range there[dimensionTable[d]] {
			taken[c] = "nothing"
		}
		keys, err := source.Keys(d)
		if err != nil || len(keys) == 0 {
			t.Fatalf("%s: %v, %v", d, keys, err)
		}
		known := map[string]bool{}
		for _, k := range keys {
			known[k] = true
			c := column(d, k)
			if by := taken[c]; by != "nothing" {
				t.Errorf("%s: key %s is kept in column %s, which is not there or holds %q", d, k, c, by)
			}
			taken[c] = k
		}
		for k, c := range columnOf[d] {
			if !known[k] {
				t.Errorf("%s: column %s is named for key %s, which is not there", d, c, k)
			}
		}
	}
}

// TestColumns_AreNamedByTheStore: where a source is described no column of the
// registry is spelled out.
func TestColumns_AreNamedByTheStore(t *testing.T) {
	columns := map[string]bool{}
	for _, list := range registryColumns(t) {
		for _, c := range list {
			columns[c] = strings.Contains(c, "_")
		}
	}
	// Two kinds of codes are called as a column is.
	for _, kind := range source.Dictionary() {
		delete(columns, string(kind.Code))
	}
	if len(columns) < 100 {
		t.Fatalf("only %d columns seen", len(columns))
	}
	word := regexp.MustCompile(`\w+`)
	paths, err := filepath.Glob("../../domain/source/*.go")
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d files seen, %v", len(paths), err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, is := n.(*ast.BasicLit)
			if !is || lit.Kind != token.STRING {
				return true
			}
			for _, w := range word.FindAllString(lit.Value, -1) {
				if columns[w] {
					t.Errorf("%s names the column %s", files.Position(lit.Pos()), w)
				}
			}
			return true
		})
	}
}
