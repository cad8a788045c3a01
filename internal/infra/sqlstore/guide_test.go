package sqlstore_test

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
)

// runGuide runs an example of the registry's design on one connection, as somebody at a prompt does.
func runGuide(t *testing.T, e patratest.Engine, db *sql.DB, example string) (inserts int) {
	t.Helper()
	statements := patratest.GuideStatements(t, example, nil)
	if e == patratest.SQLite {
		statements = patratest.WithoutVariables(statements)
	}
	c := oneConn(t, db)
	for _, s := range statements {
		if _, err := c.ExecContext(t.Context(), s); err != nil {
			t.Errorf("%v\n%s", err, s)
			continue
		}
		if strings.HasPrefix(s, "INSERT") {
			inserts++
		}
	}
	return inserts
}

func oneConn(t *testing.T, db *sql.DB) *sql.Conn {
	t.Helper()
	c, err := db.Conn(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// TestR71_TheGuidesInsertsRun: the eleven INSERTs of the registry's design run as they are printed, on SQLite with
// its variables put in.
func TestR71_TheGuidesInsertsRun(t *testing.T) {
	patratest.EachEngine(t, func(t *testing.T, e patratest.Engine) {
		for example, want := range map[string]int{"quick-start": 3, "example": 8} {
			dsn := e.NewDSN(t)
			patratest.Open(t, dsn, sqlstore.Options{})
			if got := runGuide(t, e, patratest.Raw(t, dsn), example); got != want {
				t.Errorf("%s: %d INSERTs of %d ran", example, got, want)
			}
		}
	})
}

// TestR71_TheGuidesQueriesRead: the statements by which the design reads what is in force find the rows that its
// INSERTs wrote, in whatever case an operation is asked for. SQLite has neither variables nor selects in brackets nor UTC_TIMESTAMP: it reads them without.
func TestR71_TheGuidesQueriesRead(t *testing.T) {
	patratest.EachEngine(t, func(t *testing.T, e patratest.Engine) {
		if e == patratest.TiDB {
			t.Skip("TiDB has no SELECT ... INTO @variable, by which these queries begin")
		}
		forSQLite := func(statements []string) []string {
			if e != patratest.SQLite {
				return statements
			}
			return patratest.ReadBySQLite(statements)
		}
		dsn := e.NewDSN(t)
		patratest.Open(t, dsn, sqlstore.Options{})
		db := patratest.Raw(t, dsn)
		runGuide(t, e, db, "example")
		more := []string{
			`SET @pid = (SELECT id FROM reg_provenance WHERE provenance_code='pubmed')`,
			`SET @endpoint_id = (SELECT id FROM reg_prov_endpoint_def WHERE endpoint_name='esearch')`,
			`SET @taskType = 'update'`,
			`INSERT INTO reg_prov_batching_cfg (provenance_id, scope_code, effective_from, id_batch_size) VALUES (@pid, 'SOURCE', '2025-01-01', 200)`,
			`INSERT INTO reg_prov_retry_cfg (provenance_id, scope_code, effective_from, max_retry_times) VALUES (@pid, 'SOURCE', '2025-01-01', 3)`,
			`INSERT INTO reg_prov_rate_limit_cfg (provenance_id, scope_code, effective_from, rate_tokens_per_second) VALUES (@pid, 'SOURCE', '2025-01-01', 1)`,
			`INSERT INTO reg_prov_credential (provenance_id, scope_code, effective_from, credential_name, secret_kind_code, secret_ref, endpoint_id)
				VALUES (@pid, 'SOURCE', '2025-01-01', 'bound', 'ENV', 'SOME_KEY', @endpoint_id), (@pid, 'SOURCE', '2025-01-01', 'free', 'ENV', 'OTHER_KEY', NULL)`,
		}
		c := oneConn(t, db)
		for _, s := range forSQLite(more) {
			if _, err := c.ExecContext(t.Context(), s); err != nil {
				t.Fatalf("%v\n%s", err, s)
			}
		}
		for _, q := range []struct {
			example string
			put     map[string]string
			column  string
			want    string
		}{
			{"read-one", nil, "page_size_param_name", "retmax"},
			{"read-by-task", map[string]string{"code": "'crossref'", "taskType": "'HARVEST'"}, "cursor_param_name", "cursor"},
			{"credential", nil, "credential_name", "bound"},
			{"contract", nil, "path_template", "/eutils/esearch.fcgi"},
			{"overlap", map[string]string{"pid": "@pid", "scope_code": "'TASK'", "task_type_key": "'update'", "from": "'2026-01-01'", "to": "NULL"}, "1", "1"},
			{"overlap", map[string]string{"pid": "@pid", "scope_code": "'TASK'", "task_type_key": "'update'", "from": "'2024-01-01'", "to": "'2025-01-01'"}, "1", ""},
		} {
			statements := forSQLite(append(slices.Clone(more[:3]), patratest.GuideStatements(t, q.example, q.put)...))
			if got := readGuide(t, c, statements, q.column); got != q.want {
				t.Errorf("%s: %s is %q, want %q", q.example, q.column, got, q.want)
			}
		}
	})
}

// readGuide runs statements, of which the last reads, and returns a column of the first row that it finds.
func readGuide(t *testing.T, c *sql.Conn, statements []string, column string) string {
	t.Helper()
	last := len(statements) - 1
	for _, s := range statements[:last] {
		if _, err := c.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%v\n%s", err, s)
		}
	}
	rows, err := c.QueryContext(t.Context(), statements[last])
	if err != nil {
		t.Fatalf("%v\n%s", err, statements[last])
	}
	defer func() {
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}()
	names, err := rows.Columns()
	if err != nil || !rows.Next() {
		return ""
	}
	values := make([]sql.RawBytes, len(names))
	dest := make([]any, len(names))
	for i := range values {
		dest[i] = &values[i]
	}
	if err := rows.Scan(dest...); err != nil {
		t.Fatal(err)
	}
	return string(values[slices.Index(names, column)])
}
