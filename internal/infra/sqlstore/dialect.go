package sqlstore

import (
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/pressly/goose/v3"
	sqlite "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

//go:embed migrations/sqlite/*.sql migrations/mysql/*.sql
var migrations embed.FS

// dialect is what differs between the databases.
type dialect struct {
	name string
	// files is the folder of its migrations, rewritten, if set, what is changed in each of them.
	files     string
	rewritten func(statements string) string
	goose     goose.Dialect
	// forUpdate is appended to a read that must lock its rows. SQLite has one
	// writer, who took the lock at BEGIN.
	forUpdate string
	// forShare likewise, letting others read but not change them.
	forShare string
	// locksApart: a lock within a subquery is not taken, so that a statement before it has to.
	locksApart bool
	// skipLocked likewise, passing over rows that others hold.
	skipLocked string
	// insertIgnore begins an insert that does nothing if the row is there.
	insertIgnore string
	// insertMany begins an insert of many rows in a transaction that ends if it fails. SQLite
	// need not keep what each page was before it, so that rows before the one that fails could
	// be taken back alone.
	insertMany string
	// orElse follows an insert that, where a row with these key columns is there,
	// assigns what is written behind it instead.
	orElse func(key string) string
	// offered is the value of a column that such an insert came with.
	offered func(column string) string
	// now is the clock's SQL, empty where the process's clock is the store's.
	now string
	// recordIndex and taskIndex are hints that keep the planner on the key of
	// ing_record and on the queue's index.
	recordIndex, taskIndex string
	// Likewise on the indexes along which lists are read in pages.
	taskPlanIndex, gapIndex, cursorIndex, planIndex, runIndex, sliceIndex, itemIndex, sourceItemIndex string
	sliceStateIndex, sliceWindowIndex, planStateIndex, runPlanIndex                                   string
	// after is the condition that columns, compared in their order, lie behind
	// values, in the form in which the database reads the range of an index.
	after func(columns []string, values []any) (string, []any)
	// idsFollow: the rows of one insert get consecutive ids, and LastInsertId
	// is that of the last. MySQL promises no such thing under every setting.
	idsFollow bool
	// numbersMarks: a mark may have a number, and so one value stand in many places.
	numbersMarks bool
	// snapshot is how a transaction begins whose reads all see one state of the database.
	snapshot    sql.TxOptions
	isRetryable func(error) bool
	// isDuplicate reports that a row with the same unique key is there already.
	isDuplicate func(error) bool
	// writersRace: several transactions write at once, so that one may insert the
	// row that another has just looked for and not found.
	writersRace bool
	// isLost reports that there is no connection, or no longer.
	isLost func(error) bool
	// isDefinite reports that a failed COMMIT certainly changed nothing.
	isDefinite func(error) bool
	isReadOnly func(error) bool
	// isDenied: the user has no right to it, on this table or at all.
	isDenied func(error) bool
	isFull   func(error) bool
}

func (d *dialect) fs() fs.FS {
	sub, err := fs.Sub(migrations, "migrations/"+d.files)
	if err != nil { // embedded, so it is there
		panic(err)
	}
	if d.rewritten == nil {
		return sub
	}
	return rewriting{sub, d.rewritten}
}

var sqliteDialect = &dialect{
	name:         "sqlite",
	files:        "sqlite",
	goose:        goose.DialectSQLite3,
	insertIgnore: "INSERT OR IGNORE",
	insertMany:   "INSERT OR FAIL",
	orElse:       func(key string) string { return "ON CONFLICT (" + key + ") DO UPDATE SET" },
	offered:      func(column string) string { return "excluded." + column },
	after: func(columns []string, values []any) (string, []any) {
		return "(" + strings.Join(columns, ", ") + ") > (" + list(len(values)) + ")", values
	},
	planIndex:  " INDEXED BY idx_plan_list",
	sliceIndex: " INDEXED BY idx_slice_plan",

	sliceStateIndex:  " INDEXED BY idx_slice_status",
	sliceWindowIndex: " INDEXED BY idx_slice_window",
	runPlanIndex:     " INDEXED BY idx_run_plan",
	planStateIndex:   " INDEXED BY idx_plan_state",

	itemIndex:    " INDEXED BY idx_quarantine_list",
	idsFollow:    true, // one writer, and a new rowid is the greatest plus one
	numbersMarks: true,
	snapshot:     sql.TxOptions{ReadOnly: true},
	isRetryable: func(err error) bool {
		c, ok := sqliteCode(err)
		return ok && (c&0xff == sqlite3.SQLITE_BUSY || c&0xff == sqlite3.SQLITE_LOCKED)
	},
	isDuplicate: func(err error) bool {
		c, ok := sqliteCode(err)
		return ok && (c == sqlite3.SQLITE_CONSTRAINT_UNIQUE || c == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
	},
	isLost: func(error) bool { return false }, // a file has none
	isDefinite: func(err error) bool {
		_, ok := sqliteCode(err)
		return ok
	},
	isReadOnly: func(err error) bool {
		c, ok := sqliteCode(err)
		return ok && (c&0xff == sqlite3.SQLITE_READONLY || c&0xff == sqlite3.SQLITE_CANTOPEN || c&0xff == sqlite3.SQLITE_PERM)
	},
	isDenied: func(error) bool { return false }, // a file has no users
	isFull: func(err error) bool {
		c, ok := sqliteCode(err)
		return ok && (c&0xff == sqlite3.SQLITE_FULL || c == sqlite3.SQLITE_IOERR_WRITE)
	},
}

func sqliteCode(err error) (int, bool) {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return 0, false
	}
	return e.Code(), true
}

var mysqlDialect = &dialect{
	name:         "mysql",
	files:        "mysql",
	goose:        goose.DialectMySQL,
	forUpdate:    " FOR UPDATE",
	forShare:     " LOCK IN SHARE MODE",
	skipLocked:   " FOR UPDATE SKIP LOCKED",
	insertIgnore: "INSERT IGNORE",
	insertMany:   "INSERT",
	orElse:       func(string) string { return "ON DUPLICATE KEY UPDATE" },
	offered:      func(column string) string { return "VALUES(" + column + ")" },
	after: func(columns []string, values []any) (string, []any) {
		var ranges []string
		var args []any
		for n := range columns {
			ranges = append(ranges, strings.Join(append(slices.Clone(columns[:n]), columns[n]), "=? AND ")+">?")
			args = append(args, values[:n+1]...)
		}
		return "(" + strings.Join(ranges, " OR ") + ")", args
	},
	now:           askServerClock,
	recordIndex:   " FORCE INDEX (uk_record_key)",
	taskIndex:     " FORCE INDEX (idx_task_queue)",
	taskPlanIndex: " FORCE INDEX (idx_task_plan)",
	gapIndex:      " FORCE INDEX (idx_slice_gap)",
	cursorIndex:   " FORCE INDEX (uk_cursor_ns)",
	planIndex:     " FORCE INDEX (idx_plan_list)",
	runIndex:      " FORCE INDEX (idx_run_list)",
	runPlanIndex:  " FORCE INDEX (idx_run_plan)",
	sliceIndex:    " FORCE INDEX (idx_slice_plan)",
	itemIndex:     " FORCE INDEX (idx_quarantine_list)",

	sourceItemIndex:  " FORCE INDEX (idx_quarantine_open)",
	sliceStateIndex:  " FORCE INDEX (idx_slice_status)",
	sliceWindowIndex: " FORCE INDEX (idx_slice_window)",
	planStateIndex:   " FORCE INDEX (idx_plan_state)",

	snapshot: sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead},
	isRetryable: func(err error) bool {
		switch mysqlCode(err) {
		case 1213, 1205, 1020, 1467: // deadlock, lock wait, changed since read, no number for a new row (MariaDB)
			return true
		}
		return false
	},
	isDuplicate: func(err error) bool { return mysqlCode(err) == 1062 },
	writersRace: true,
	isLost:      isLostConnection,
	isDefinite:  func(err error) bool { return mysqlCode(err) != 0 },
	isReadOnly: func(err error) bool {
		switch mysqlCode(err) {
		case 1290, 1836, 1792, 1044, 1142:
			return true
		}
		return false
	},
	isDenied: func(err error) bool {
		switch mysqlCode(err) {
		case 1044, 1142, 1143: // of a database, a table, a column
			return true
		}
		return false
	},
	isFull: func(err error) bool {
		switch mysqlCode(err) {
		case 1021, 1114:
			return true
		}
		return false
	},
}

func mysqlCode(err error) uint16 {
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return e.Number
	}
	return 0
}

// marks returns "(?,?),(?,?)" for rows rows of cols values.
func marks(rows, cols int) string {
	one := "(" + strings.TrimSuffix(strings.Repeat("?,", cols), ",") + ")"
	return strings.TrimSuffix(strings.Repeat(one+",", rows), ",")
}

// list returns "?,?,?".
func list(n int) string { return strings.TrimSuffix(strings.Repeat("?,", n), ",") }

// joined is a list of columns.
func joined(columns []string) string { return strings.Join(columns, ", ") }

// columns counts the names in a column list.
func columns(s string) int { return strings.Count(s, ",") + 1 }

func (d *dialect) String() string { return fmt.Sprintf("dialect %s", d.name) }
