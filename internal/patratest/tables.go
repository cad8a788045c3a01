package patratest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
)

// makeTables makes what all migrations together leave in an empty database of MySQL, which
// schema.mysql.sql has: that is a table each, where the migrations are three times as many
// changes of the schema, of which this server makes fifty in a second. That both come to
// the same is for TestSchemaFilesAreCurrent to show.
func (p *pool) makeTables(t testing.TB, name string) {
	t.Helper()
	dir, err := storeDir()
	if err != nil {
		t.Fatal(err)
	}
	schema, err := os.ReadFile(filepath.Join(dir, "schema.mysql.sql"))
	if err != nil {
		t.Fatal(err)
	}
	versions, err := appliedVersions()
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	c, err := p.admin.Conn(ctx)
	if err != nil {
		t.Fatalf("connect to %s: %v", p.server, err)
	}
	defer c.Close()
	notes, err := database.NewStore(goose.DialectMySQL, goose.DefaultTablename)
	if err != nil {
		t.Fatal(err)
	}
	for statement := range strings.SplitSeq("USE "+name+";\n\n"+string(schema), ";\n\n") {
		if _, err := c.ExecContext(ctx, statement); err != nil {
			t.Fatalf("%s on %s: %v", statement, p.server, err)
		}
	}
	if err := notes.CreateVersionTable(ctx, c); err != nil {
		t.Fatalf("note the schema of %s: %v", name, err)
	}
	for _, v := range versions {
		if err := notes.Insert(ctx, c, database.InsertRequest{Version: v}); err != nil {
			t.Fatalf("note the schema of %s: %v", name, err)
		}
	}
}

// appliedVersions lists the versions that a database has after every migration, from the
// one before the first on.
func appliedVersions() ([]int64, error) {
	files, err := migrations()
	if err != nil {
		return nil, err
	}
	out := []int64{0}
	for _, f := range files {
		number, _, _ := strings.Cut(filepath.Base(f), "_")
		v, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("the migration %s has no number: %w", f, err)
		}
		out = append(out, v)
	}
	return out, nil
}
