package sqlstore

import (
	"fmt"
	"os"
	"os/user"
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

// DefaultDSN is the embedded store in the user's data directory; empty where no home is known, as in a
// container whose user has no account. It is never in the folder in which patra was started: from
// another one the same command would not find what it has harvested.
func DefaultDSN() string {
	return defaultDSN(os.Getenv("XDG_DATA_HOME"), os.UserHomeDir, homeOfAccount)
}

// defaultDSN puts the database into the data directory, if one is set, and else into the first home
// that is found.
func defaultDSN(data string, homes ...func() (string, error)) string {
	if data != "" {
		return "sqlite:" + filepath.Join(data, "patra", "patra.db")
	}
	for _, find := range homes {
		if home, err := find(); err == nil && filepath.IsAbs(home) {
			return defaultDSN(filepath.Join(home, ".local", "share"))
		}
	}
	return ""
}

// homeOfAccount is the home that the machine has for the user; services and jobs may have none in
// their environment.
func homeOfAccount() (string, error) {
	account, err := user.Current()
	if err != nil {
		return "", fmt.Errorf("find the user's account: %w", err)
	}
	return account.HomeDir, nil
}
