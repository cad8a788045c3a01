package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/pressly/goose/v3"
)

// tidbDialect is for TiDB, a database of several machines that speaks MySQL. It has the same
// migrations, statements and errors, except for what is written here.
var tidbDialect = speaksMySQL(func(d *dialect) {
	d.name = "tidb"
	d.goose = goose.DialectTiDB
	d.rewritten = forTiDB
	// It knows no lock that readers share, and takes none at all where rows that others hold are to be passed
	// over: here they queue.
	d.forShare = d.forUpdate
	d.skipLocked = d.forUpdate
	d.locksApart = true
	// It has no transactions that may only read; one that only reads sees one state all the same.
	d.snapshot = sql.TxOptions{Isolation: sql.LevelRepeatableRead}
	d.isRetryable = func(err error) bool {
		switch mysqlCode(err) {
		case 8002, 8022, 8028, 9007: // could not lock, could not commit, the schema has changed, somebody else wrote
			return true
		}
		return mysqlDialect.isRetryable(err)
	}
	d.isDenied = func(err error) bool {
		return mysqlCode(err) == 8121 || mysqlDialect.isDenied(err) // the user may not UPDATE, which has a number of its own here
	}
	d.isReadOnly = func(err error) bool { return d.isDenied(err) || mysqlDialect.isReadOnly(err) }
})

func speaksMySQL(change func(*dialect)) *dialect {
	d := *mysqlDialect
	change(&d)
	return &d
}

// recognise finds out which of the databases that speak MySQL has answered.
func (s *Store) recognise(ctx context.Context) error {
	var version string
	err := s.patiently(ctx, "connect", func() error {
		return s.w.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version)
	})
	if err != nil {
		return errors.Join(s.explain(fmt.Errorf("ask %s for its version: %w", s.dsn, err)), s.Close())
	}
	if strings.Contains(version, "TiDB") {
		s.d = tidbDialect
	}
	return nil
}

// forTiDB changes statements that make tables. Every table gives its ids in the order in which they are asked for:
// else each machine of a TiDB takes thirty thousand of them ahead, and a row that is newer may have a
// smaller id than one that was there before it.
func forTiDB(statements string) string {
	return strings.NewReplacer(
		"\nCREATE TABLE `", "\nCREATE TABLE IF NOT EXISTS `",
		") ENGINE=InnoDB ", ") AUTO_ID_CACHE=1 ENGINE=InnoDB ",
		"DEFAULT (utc_timestamp(6))", "DEFAULT CURRENT_TIMESTAMP(6)",
	).Replace(statements)
}

// rewriting is a folder of files, each of them changed as it is read.
type rewriting struct {
	fs.FS
	change func(string) string
}

// Open implements fs.FS.
func (r rewriting) Open(name string) (fs.File, error) {
	f, err := r.FS.Open(name)
	if err != nil || !strings.HasSuffix(name, ".sql") {
		return f, err
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return rewrittenFile{f, strings.NewReader(r.change(string(b)))}, nil
}

// rewrittenFile is a file with another text in it.
type rewrittenFile struct {
	fs.File
	text io.Reader
}

// Read implements fs.File.
func (f rewrittenFile) Read(b []byte) (int, error) { return f.text.Read(b) }
