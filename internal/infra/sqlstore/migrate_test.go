package sqlstore_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
)

// openAt makes a database whose schema is that of an older build.
func openAt(t *testing.T, dsn string, version int64) *sqlstore.Store {
	t.Helper()
	s, err := sqlstore.Connect(t.Context(), dsn, sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if err := s.MigrateTo(t.Context(), version); err != nil {
		t.Fatalf("migrate to %d: %v", version, err)
	}
	return s
}

// newest is the version of this build's schema.
func newest(t *testing.T) int64 {
	t.Helper()
	s, err := sqlstore.Connect(t.Context(), patratest.SQLite.EmptyDSN(t), sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, want, err := s.Schema(t.Context())
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	return want
}

// TestMigrate_ANewFileIsAsEveryMigrationLeavesIt: a file whose schema was made at once has the
// tables, indexes, rows and versions of one that was brought there by one migration after the
// other, and two processes that make it at the same time make it once.
func TestMigrate_ANewFileIsAsEveryMigrationLeavesIt(t *testing.T) {
	stepped := patratest.SQLite.EmptyDSN(t)
	if _, err := openAt(t, stepped, newest(t)).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	atOnce := patratest.SQLite.EmptyDSN(t)
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			s, err := sqlstore.Open(t.Context(), atOnce, sqlstore.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	if want, got := allOf(t, stepped), allOf(t, atOnce); got != want {
		t.Errorf("a new file differs:\n%s", diff(want, got))
	}
}

// allOf is the schema of a SQLite file and its rows, without when they were written.
func allOf(t *testing.T, dsn string) string {
	t.Helper()
	db := patratest.Raw(t, dsn)
	lines := texts(t, db, `SELECT type || ' ' || name || ' of ' || tbl_name || ': ' || COALESCE(sql, '') FROM sqlite_master ORDER BY type, name`)
	for _, table := range Tables(t, db) {
		columns := strings.Join(texts(t, db, `SELECT 'quote(' || name || ')' FROM pragma_table_info('`+table+`') WHERE name NOT IN ('tstamp', 'created_at', 'updated_at')`), "")
		columns = strings.ReplaceAll(strings.TrimSuffix(columns, ";"), ";", "||','||")
		lines = append(lines, texts(t, db, `SELECT '`+table+` ' || `+columns+` FROM `+table+` ORDER BY 1`)...)
	}
	lines = append(lines, texts(t, db, `SELECT version_id || ' ' || is_applied FROM goose_db_version ORDER BY id`)...)
	return strings.Join(lines, "\n")
}

// TestMigrate_OpenBreakersStayOpen: breakers that lay beside the rate keys are found
// in their own table, and rest until the same instant.
func TestMigrate_OpenBreakersStayOpen(t *testing.T) {
	patratest.EachEngine(t, func(t *testing.T, e patratest.Engine) {
		if e == patratest.TiDB {
			t.Skip("a TiDB begins with the newest schema")
		}
		dsn := e.EmptyDSN(t)
		s := openAt(t, dsn, 12)
		db := patratest.Raw(t, dsn)
		soon := time.Now().UTC().Add(time.Hour).Truncate(time.Second)
		rests := []struct {
			partition harvest.Partition
			until     time.Time
		}{
			{harvest.Partition{Provenance: "lab", Endpoint: "search", Operation: harvest.Harvest}, soon},
			{harvest.Partition{Provenance: "lab", Endpoint: "search", Operation: harvest.Backfill}, soon.Add(500 * time.Millisecond)},
			{harvest.Partition{Provenance: "lab", Endpoint: "a/b", Operation: harvest.Update}, soon.Add(123456 * time.Microsecond)},
		}
		plant := func(key, state string) {
			t.Helper()
			if _, err := db.Exec(`INSERT INTO ing_rate_gate (gate_key, state, updated_at) VALUES (?,?,'2024-01-01 00:00:00.000000')`, key, state); err != nil {
				t.Fatal(err)
			}
		}
		for i, r := range rests {
			trying := ""
			if i == 1 {
				trying = `,"trying":true`
			}
			plant("breaker/"+r.partition.String(), `{"spent":4,"until":"`+r.until.Format(time.RFC3339Nano)+`"`+trying+`}`)
		}
		closed := harvest.Partition{Provenance: "lab2", Endpoint: "search", Operation: harvest.Harvest}
		plant("breaker/"+closed.String(), `{"spent":2}`)
		plant("lab", `{"rate":3}`)

		if _, err := s.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, r := range rests {
			until, is, err := s.PassBreaker(t.Context(), r.partition)
			if err != nil || !is || !until.Equal(r.until) {
				t.Errorf("%s: rests %v until %s, want %s (%v)", r.partition, is, until, r.until, err)
			}
		}
		if _, is, err := s.PassBreaker(t.Context(), closed); err != nil || is {
			t.Errorf("%s rests after two failures (%v)", closed, err)
		}
		var failures, trying, rows int
		if err := db.QueryRow(`SELECT SUM(failures), SUM(trying), COUNT(*) FROM ing_breaker`).Scan(&failures, &trying, &rows); err != nil {
			t.Fatal(err)
		}
		if failures != 14 || trying != 1 || rows != 4 {
			t.Errorf("%d breakers with %d failures, %d trying", rows, failures, trying)
		}
		// A third failure opens the one that had two.
		if err := s.CountFailure(t.Context(), closed, harvest.BreakerLimits{}, "http_503", "down"); err != nil {
			t.Fatal(err)
		}
		if _, is, err := s.PassBreaker(t.Context(), closed); err != nil || !is {
			t.Errorf("%s does not rest after three failures (%v)", closed, err)
		}
		// What is the rate gate's own stays.
		state, err := s.ReadGate(t.Context(), "lab")
		if err != nil || string(state) != `{"rate":3}` {
			t.Errorf("the rate key holds %q (%v)", state, err)
		}
		var left int
		if err := db.QueryRow(`SELECT COUNT(*) FROM ing_rate_gate`).Scan(&left); err != nil || left != 1 {
			t.Errorf("%d rows beside the rate keys, want 1 (%v)", left, err)
		}
	})
}
