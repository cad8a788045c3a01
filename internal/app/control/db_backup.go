package control

import (
	"context"
	"time"
)

// Backup is a copy of the database.
type Backup struct {
	Store string `json:"store"`
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
	// At is when the copying began: the copy has everything that was stored before.
	At time.Time `json:"at"`
	// Archive is the directory of archives, which the copy does not have; empty if none was made.
	Archive string `json:"archive,omitempty"`
}

// BackUp copies the database into a file that is not there yet, while others work with it. While
// that takes long, tell is called with how many bytes are written, and of about how many.
func (c *Control) BackUp(ctx context.Context, file string, tell func(written, of int64)) (Backup, error) {
	out := Backup{Store: c.store.DSN(), File: file}
	var err error
	out.At, err = c.store.Now(ctx)
	if err != nil {
		return out, err
	}
	archives, err := c.store.Archives(ctx, 0, 1)
	if err != nil {
		return out, err
	}
	if len(archives) > 0 && c.files != nil {
		out.Archive = c.files.Where()
	}
	out.Bytes, err = c.store.Backup(ctx, file, tell)
	return out, err
}
