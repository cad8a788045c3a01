package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Backup writes a copy of the database, as it stands at one instant, into a file that is not there yet,
// and returns its size. Others go on working meanwhile; what they write stays in the log until the
// copy is whole. Nothing stands under that name before it is, and was looked through. While that
// takes long, tell is called with how many bytes are written, and of about how many.
func (s *Store) Backup(ctx context.Context, to string, tell func(written, of int64)) (size int64, err error) {
	if s.file == nil {
		return 0, &ConditionError{
			Kind: "server_backup", Err: errors.New("only a SQLite database is copied by patra, and this one is on a server"),
			Next: "copy it with the tools of the server in one consistent snapshot, such as mysqldump --single-transaction",
		}
	}
	to, err = filepath.Abs(to) // SQLite takes a name that begins with file: for something else
	if err != nil {
		return 0, fmt.Errorf("back up to %s: %w", to, err)
	}
	if _, err := os.Lstat(to); err == nil {
		return 0, isThere(to)
	}
	copied, err := os.CreateTemp(filepath.Dir(to), filepath.Base(to)+".*.tmp") // that only its owner may read
	if err != nil {
		return 0, fmt.Errorf("back up: %w", err)
	}
	defer func() {
		journal := copied.Name() + "-journal" // SQLite leaves it where the disk is full
		err = errors.Join(err, copied.Close(), removeIfThere(copied.Name()), removeIfThere(journal))
	}()
	stop := s.watchCopy(copied, tell)
	err = copyDatabase(ctx, s.file.path, copied.Name())
	stop()
	if err != nil {
		return 0, s.explain(fmt.Errorf("back up %s: %w", s.dsn, err))
	}
	is, err := copied.Stat()
	if err == nil {
		err = copied.Sync()
	}
	if err == nil {
		err = giveName(copied.Name(), to)
	}
	if errors.Is(err, fs.ErrExist) {
		return 0, isThere(to)
	}
	if err != nil {
		return 0, fmt.Errorf("back up: %w", err)
	}
	return is.Size(), nil
}

// giveName puts a file under a name that is not taken. A rename would put it over another file, so it
// is for disks that know no links, such as sticks and some network drives.
func giveName(file, name string) error {
	err := os.Link(file, name)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, taken := os.Lstat(name); !errors.Is(taken, fs.ErrNotExist) {
		return err
	}
	return os.Rename(file, name)
}

func removeIfThere(file string) error {
	err := os.Remove(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// watchCopy tells every five seconds how large a copy of the database has become, until it is stopped.
func (s *Store) watchCopy(copied *os.File, tell func(written, of int64)) (stop func()) {
	tick := time.NewTicker(5 * time.Second)
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			is, err := copied.Stat()
			whole, wholeErr := os.Stat(s.file.path)
			if err == nil && wholeErr == nil {
				tell(is.Size(), whole.Size())
			}
		}
	})
	return func() {
		tick.Stop()
		close(done)
		watching.Wait()
	}
}

func isThere(path string) error {
	return &ConditionError{
		Kind: "file_exists", Err: fmt.Errorf("%s is there already, and no copy is put over it", path),
		Next: "name a new file, for instance with the day in its name",
	}
}

// copyDatabase copies one database into an empty file, and looks through the copy.
func copyDatabase(ctx context.Context, from, to string) error {
	at := func(path string) string { return "file:" + (&url.URL{Path: path}).EscapedPath() + "?mode=rw" }
	err := onDatabase(at(from)+"&_pragma=busy_timeout(2000)", func(db *sql.DB) error {
		_, err := db.ExecContext(ctx, "VACUUM INTO ?", to)
		return err
	})
	if err != nil {
		return err
	}
	return onDatabase(at(to)+"&_pragma=query_only(1)", func(db *sql.DB) error {
		var found string
		if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&found); err != nil {
			return fmt.Errorf("look through the copy: %w", err)
		}
		if found != "ok" {
			return fmt.Errorf("look through the copy: %s", found)
		}
		return nil
	})
}

// onDatabase uses a SQLite file by a connection of its own.
func onDatabase(dsn string, use func(*sql.DB) error) error {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return err
	}
	return errors.Join(use(db), db.Close())
}
