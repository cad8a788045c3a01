package sqlstore

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// makeDataDir makes the folder of the default database. Any other database is put
// only into a folder that is there: a path that was mistyped is no reason to
// harvest into a new place.
func makeDataDir(dsn string) error {
	if dsn != DefaultDSN() {
		return nil
	}
	path := strings.TrimPrefix(dsn, "sqlite:")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the folder of the database: %w", err)
	}
	return nil
}

// DefaultDSN is the embedded store in the user's data directory.
func DefaultDSN() string {
	dir := os.Getenv("XDG_DATA_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			home = "."
		}
		dir = filepath.Join(home, ".local", "share")
	}
	return "sqlite:" + filepath.Join(dir, "patra", "patra.db")
}
