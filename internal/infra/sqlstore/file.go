package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// file is the file of a SQLite database as it was when it was opened.
type file struct {
	path string
	was  fs.FileInfo
}

// openFile remembers which file stands at path.
func openFile(path string) (*file, error) {
	was, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("look at the database: %w", err)
	}
	return &file{path: path, was: was}, nil
}

// CheckFile returns [harvest.ErrStoreGone] if the database file was deleted,
// moved or replaced since it was opened. SQLite goes on writing to such a file,
// which nobody finds again: nothing may be called done any more (R83). A server
// looks after its files itself.
func (s *Store) CheckFile() error {
	if s.file == nil {
		return nil
	}
	path := s.file.path
	is, err := os.Stat(path)
	switch {
	case err == nil && os.SameFile(is, s.file.was):
		return nil
	case err == nil:
		return &ConditionError{
			Kind: "database_gone", Err: fmt.Errorf("another file was put in the place of the database %s while it was open: %w", path, harvest.ErrStoreGone),
			Next: fmt.Sprintf("end every patra that uses it; then put back the file that was there, or remove %s-wal and %s-shm before the new one is used; then run the command again", path, path),
		}
	case errors.Is(err, fs.ErrNotExist):
		return &ConditionError{
			Kind: "database_gone", Err: fmt.Errorf("the database %s was deleted or moved away while it was open: %w", path, harvest.ErrStoreGone),
			Next: fmt.Sprintf("put the file back, beside its %s-wal if that is still there, and run the command again: it goes on after the last page that the file holds", path),
		}
	}
	return fmt.Errorf("look at the database: %w", err)
}

// makeFile makes the file of a new database, which only its owner may read
// whatever the umask: it holds sealed secrets and addresses. SQLite gives its
// -wal and -shm files the mode of the database. A file that is there keeps its
// mode.
func makeFile(path string) error {
	_, err := os.Stat(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return checkFolder(path)
	}
	dir := filepath.Dir(path)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return &ConditionError{
			Kind: "no_folder", Err: fmt.Errorf("there is no folder %s for the database %s", dir, path),
			Next: fmt.Sprintf("correct the path that --db or PATRA_DB names, or make the folder: mkdir -p %s; nothing was made", dir),
		}
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return &ConditionError{Kind: "read_only", Err: fmt.Errorf("make the database: %w", err), Next: makeWritable}
	}
	return errors.Join(f.Chmod(0o600), f.Close())
}

// checkFolder refuses a folder in the place of a database.
func checkFolder(path string) error {
	is, err := os.Stat(path)
	if err != nil || !is.IsDir() {
		return nil // opening it will tell
	}
	return &ConditionError{
		Kind: "is_folder", Err: fmt.Errorf("the database %s is a folder", path),
		Next: "name a file in it: --db sqlite:" + filepath.Join(path, "patra.db"),
	}
}

// refuseOthers refuses the database of another program, in which a mistyped name would otherwise
// make tables. What keeps it from looking, whoever uses the database next is told.
func (s *Store) refuseOthers(ctx context.Context) error {
	var table string
	err := s.r.QueryRowContext(ctx, `SELECT name FROM sqlite_master WHERE type='table' AND name NOT IN ('goose_db_version','sqlite_sequence')
		AND NOT EXISTS (SELECT 1 FROM sqlite_master WHERE name='ing_plan') LIMIT 1`).Scan(&table)
	if err != nil {
		return nil //nolint:nilerr // none is there, or another statement will tell
	}
	return &ConditionError{
		Kind: "other_database", Err: fmt.Errorf("the database %s is another program's: it has a table %s and none of patra's", s.dsn, table),
		Next: "name a database of patra's, or a file that is not there yet: --db sqlite:./patra.db; nothing was changed",
	}
}
