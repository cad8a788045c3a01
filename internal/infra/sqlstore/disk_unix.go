//go:build linux || darwin || freebsd

package sqlstore

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// freeBeside is how many bytes this user may still write to the disk of a file, if
// that is known.
func freeBeside(path string) (int64, bool) {
	var fs unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(path), &fs); err != nil {
		return 0, false
	}
	return int64(fs.Bavail) * int64(fs.Bsize), true
}
