package sqlstore_test

import (
	"database/sql"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
)

var update = flag.Bool("update", false, "write schema.*.sql anew")

// TestSchemaFilesAreCurrent keeps schema.sqlite.sql and schema.mysql.sql equal
// to what the migrations make. They are written by -update (the second with
// PATRA_TEST_MYSQL given) and are for people to read; the first is also what a new file
// is made by, at once, so that it has the rows which the migrations leave, and the second
// what tests make their databases on MySQL by.
func TestSchemaFilesAreCurrent(t *testing.T) {
	for _, e := range []patratest.Engine{patratest.SQLite, patratest.MySQL} {
		t.Run(e.Name, func(t *testing.T) {
			dsn := e.EmptyDSN(t)
			openAt(t, dsn, newest(t))
			read := sqliteSchema
			if e == patratest.MySQL {
				read = mysqlSchema
			}
			db := patratest.Raw(t, dsn)
			got := "-- Generated from migrations/" + e.Name + " by go test ./internal/infra/sqlstore -run SchemaFiles -update. Do not edit.\n\n" + strings.Join(read(t, db), "\n\n") + "\n"
			name := "schema." + e.Name + ".sql"
			if *update {
				if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(name)
			if err != nil || string(want) != got {
				t.Errorf("%s is stale (%v): run this test with -update", name, err)
			}
		})
	}
}

func texts(t *testing.T, db *sql.DB, q string) []string {
	t.Helper()
	rows, err := db.Query(q)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.ReplaceAll(s, "\r\n", "\n")+";")
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func sqliteSchema(t *testing.T, db *sql.DB) []string {
	schema := texts(t, db, `SELECT sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' AND name NOT LIKE 'goose_%' AND tbl_name NOT LIKE 'goose_%' AND sql IS NOT NULL ORDER BY tbl_name, type DESC, name`)
	rows := texts(t, db, `SELECT 'INSERT INTO ing_meta (name, value) VALUES (' || quote(name) || ', ' || quote(value) || ')' FROM ing_meta ORDER BY name`)
	return append(schema, rows...)
}

// counters is what SHOW CREATE TABLE tells of the rows and not of the schema.
var counters = regexp.MustCompile(` AUTO_INCREMENT=\d+`)

func mysqlSchema(t *testing.T, db *sql.DB) []string {
	var out []string
	for _, tab := range texts(t, db, `SELECT table_name FROM information_schema.tables WHERE table_schema=DATABASE() AND table_name NOT LIKE 'goose%' ORDER BY table_name`) {
		tab = strings.TrimSuffix(tab, ";")
		var name, create string
		if err := db.QueryRow("SHOW CREATE TABLE "+tab).Scan(&name, &create); err != nil {
			t.Fatal(err)
		}
		out = append(out, counters.ReplaceAllString(create, "")+";")
	}
	return out
}

// manyTasks fills a queue: three sources with a thousand tasks each in one of two
// priorities, and of one source nearly all done.
func manyTasks(t *testing.T, e patratest.Engine, s *sqlstore.Store, db *sql.DB) {
	t.Helper()
	for _, code := range []string{"lab", "lab2", "lab3"} {
		if _, err := s.SavePlan(t.Context(), Draft(harvest.HarvestNamespace(code, "search", "updated", "all"), 0, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	analyze := "ANALYZE"
	if e != patratest.SQLite {
		analyze = "ANALYZE TABLE ing_task"
	}
	for _, q := range []string{
		`UPDATE ing_task SET priority=300 WHERE id % 2 = 0`,
		`UPDATE ing_task SET status_code='SUCCEEDED' WHERE id % 100 <> 0 AND provenance_code='lab2'`,
		analyze,
	} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
}

// TestC21_PickUsesTheIndex: looking for work goes by the queue's index, in its
// order, and reads no table whole.
func TestC21_PickUsesTheIndex(t *testing.T) {
	patratest.EachEngine(t, func(t *testing.T, e patratest.Engine) {
		dsn := e.NewDSN(t)
		s := patratest.Open(t, dsn, sqlstore.Options{})
		db := patratest.Raw(t, dsn)
		manyTasks(t, e, s, db)
		for _, r := range []harvest.LeaseRequest{{Max: 1, SpecVersion: 1}, {Max: 1, SpecVersion: 1, Provenance: "lab", Operation: harvest.Harvest}} {
			how := "EXPLAIN QUERY PLAN "
			if e != patratest.SQLite {
				how = "EXPLAIN "
			}
			for _, st := range s.PickSQL(r) {
				plan := explain(t, db, how+st.SQL, st.Args)
				if !strings.Contains(plan, "idx_task_queue") || strings.Contains(plan, "SCAN t\n") || strings.Contains(plan, "table=t type=ALL") || strings.Contains(plan, "Table scan on t ") {
					t.Errorf("the plan of %s is\n%s", st.SQL, plan)
				}
				// What is next is read in the index's order.
				sorts := strings.Contains(plan, "TEMP B-TREE") || strings.Contains(plan, "filesort") || strings.Contains(plan, "Sort: ")
				if sorts && strings.Contains(st.SQL, "ORDER BY") && !strings.Contains(st.SQL, "LIMIT 1000") {
					t.Errorf("%s is sorted:\n%s", st.SQL, plan)
				}
			}
		}
	})
}

// TestR88_FewRowsAreRead: however many tasks are queued, looking for the next one
// and opening the store read a handful of rows. Servers count them.
func TestR88_FewRowsAreRead(t *testing.T) {
	for _, e := range []patratest.Engine{patratest.MySQL, patratest.MariaDB} {
		t.Run(e.Name, func(t *testing.T) {
			dsn := e.NewDSN(t)
			s := patratest.Open(t, dsn, sqlstore.Options{})
			db := patratest.Raw(t, dsn)
			manyTasks(t, e, s, db)
			db.SetMaxOpenConns(1) // the counts are those of a connection
			for _, st := range append(s.PickSQL(harvest.LeaseRequest{Max: 1, SpecVersion: 1}), s.SeedSQL()...) {
				most := 60
				if strings.Contains(st.SQL, "LIMIT 1000") {
					most = 5000 // only for a worker that is older than the first task
				}
				if n := rowsRead(t, db, st); n > most {
					t.Errorf("%d rows were read by %s", n, st.SQL)
				}
			}
		})
	}
}

// rowsRead is how many rows and index entries a statement asked the engine for.
func rowsRead(t *testing.T, db *sql.DB, st sqlstore.Statement) (n int) {
	t.Helper()
	if _, err := db.Exec("FLUSH STATUS"); err != nil {
		t.Fatal(err)
	}
	explain(t, db, st.SQL, st.Args) // runs it
	rows, err := db.Query("SHOW SESSION STATUS LIKE 'Handler_read%'")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var count int
		if err := rows.Scan(&name, &count); err != nil {
			t.Fatal(err)
		}
		n += count
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return n
}

func explain(t *testing.T, db *sql.DB, q string, args []any) string {
	t.Helper()
	rows, err := db.Query(q, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	cols, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for rows.Next() {
		vals := make([]sql.NullString, len(cols))
		ptrs := make([]any, len(cols))
		for i := range vals {
			ptrs[i] = &vals[i]
		}
		if err := rows.Scan(ptrs...); err != nil {
			t.Fatal(err)
		}
		for i, v := range vals {
			b.WriteString(cols[i] + "=" + v.String + " ")
		}
		b.WriteString("\n")
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestR56_DurabilityIsAsserted: a connection whose commits might be lost is
// refused at the start.
func TestR56_DurabilityIsAsserted(t *testing.T) {
	dsn := patratest.SQLite.DSN(t)
	s := patratest.Open(t, dsn, sqlstore.Options{})
	path := strings.TrimPrefix(dsn, "sqlite:")
	for pragmas, ok := range map[string]bool{
		"_pragma=synchronous(FULL)":   true,
		"_pragma=synchronous(EXTRA)":  true,
		"_pragma=synchronous(NORMAL)": false,
		"_pragma=synchronous(OFF)":    false,
	} {
		db, err := sql.Open("sqlite", "file:"+path+"?"+pragmas)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.DurableOver(db); (err == nil) != ok {
			t.Errorf("%s: %v", pragmas, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	db, err := sql.Open("sqlite", "file:"+path+".other?_pragma=journal_mode(DELETE)&_pragma=synchronous(FULL)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := s.DurableOver(db); err == nil {
		t.Error("a rollback journal was taken")
	}
}

// TestR56_AReplicaIsOnlyRead: a server whose commits might be lost, as replicas are set up, is refused to whoever
// writes, and read by whoever only reads.
func TestR56_AReplicaIsOnlyRead(t *testing.T) {
	t.Parallel()
	server := patratest.StartServer(t)
	dsn := server.Engine().DSN(t)
	if _, err := patratest.Raw(t, dsn).Exec("SET GLOBAL innodb_flush_log_at_trx_commit=2"); err != nil {
		t.Fatal(err)
	}
	_, err := sqlstore.Open(t.Context(), dsn, sqlstore.Options{})
	if err == nil || !strings.Contains(err.Error(), "would not be durable") {
		t.Errorf("a writer had %v", err)
	}
	reader := patratest.Open(t, dsn, sqlstore.Options{ReadOnly: true})
	patratest.MustVerify(t, reader)
}
