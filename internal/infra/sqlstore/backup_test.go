package sqlstore_test

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/papertrace/patra/internal/infra/sqlstore"
)

// backupOfAFile: a database that is a file is copied; one on a server is left to the tools of that,
// and nothing is made.
func backupOfAFile(l *Lab) {
	to := filepath.Join(l.TempDir(), "copy.db")
	size, err := l.Store.Backup(l.ctx(), to, func(written, of int64) {})
	is, missing := os.Stat(to)
	if l.Store.Dialect() == "sqlite" {
		if err != nil || missing != nil || is.Size() != size {
			l.Errorf("size %d, %v; the file is %v, %v", size, err, is, missing)
		}
		return
	}
	if refused, ok := errors.AsType[*sqlstore.ConditionError](err); !ok || refused.Kind != "server_backup" || missing == nil {
		l.Errorf("refused with %v; the file is %v", err, is)
	}
}
