package control

import (
	"context"
	"time"
)

// BackupStore is a database that can be copied while others work with it.
type BackupStore interface {
	DSN() string
	Now(ctx context.Context) (time.Time, error)
	// Backup copies the database into a new file, tells how far it is while that takes long, and
	// returns its size.
	Backup(ctx context.Context, to string, tell func(written, of int64)) (int64, error)
}

// Backup is a copy of the database.
type Backup struct {
	Store string `json:"store"`
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
	// At is when the copying began: the copy has everything that was stored before.
	At time.Time `json:"at"`
}

// BackUp copies a database into a file that is not there yet, while others work with it. While
// that takes long, tell is called with how many bytes are written, and of about how many.
func BackUp(ctx context.Context, db BackupStore, file string, tell func(written, of int64)) (Backup, error) {
	out := Backup{Store: db.DSN(), File: file}
	var err error
	out.At, err = db.Now(ctx)
	if err != nil {
		return out, err
	}
	out.Bytes, err = db.Backup(ctx, file, tell)
	return out, err
}
