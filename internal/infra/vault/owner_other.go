//go:build !unix

package vault

import "io/fs"

// trusted: files have no owner here that could be told.
func trusted(fs.FileInfo) bool { return true }
