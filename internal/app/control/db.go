package control

import (
	"context"
	"time"
)

// Schema is the version of a database's schema.
type Schema struct {
	Store string `json:"store"`
	// Have is the version it is, Need the one this patra needs.
	Have int64 `json:"schema"`
	Need int64 `json:"schema_needed"`
}

// SchemaOf tells the version of a database's schema.
func SchemaOf(ctx context.Context, db SchemaStore) (Schema, error) {
	have, need, err := db.Schema(ctx)
	if err != nil {
		return Schema{}, err
	}
	return Schema{Store: db.DSN(), Have: have, Need: need}, nil
}

// MigratedStore is one whose schema can be brought up to date.
type MigratedStore interface {
	SchemaStore
	AuditStore
}

// BareStore is a store whose schema may be another than the one that this patra works with.
type BareStore interface {
	MigratedStore
	BackupStore
}

// Migrated is what came of bringing a schema up to date.
type Migrated struct {
	Schema
	// Migrations are those that were applied.
	Migrations []int64 `json:"migrations"`
}

// Migrate brings the schema of a database up to date.
func Migrate(ctx context.Context, db MigratedStore, by By) (Migrated, error) {
	done, err := db.Migrate(ctx)
	if err != nil {
		return Migrated{}, err
	}
	out := Migrated{Migrations: append([]int64{}, done...)}
	out.Schema, err = SchemaOf(ctx, db)
	if err == nil && len(done) > 0 {
		err = db.Audit(ctx, by.line("MIGRATE", "schema"), out.Migrations)
	}
	return out, err
}

// SizeStore tells how large the database is.
type SizeStore interface {
	Sizes(ctx context.Context) (Sizes, error)
}

// Sizes is how large a database is. What it would take too long to measure is absent.
type Sizes struct {
	// Bytes is what it takes on disk, FreeBytes what of that is free for new rows.
	Bytes     *int64      `json:"bytes"`
	FreeBytes *int64      `json:"free_bytes"`
	Tables    []TableSize `json:"tables"`
}

// RowsCap is how far the rows of a table are counted. Every table is counted for one
// answer, so it is less than [CountCap].
const RowsCap = 1000

// TableSize is how large a table is.
type TableSize struct {
	Table string `json:"table"`
	// Rows are counted up to [RowsCap]; More: there are more.
	Rows int64 `json:"rows"`
	More bool  `json:"rows_more,omitzero"`
	// Bytes with its indexes.
	Bytes *int64 `json:"bytes"`
	// Oldest is the time of the row that was written first of those that are there.
	Oldest time.Time `json:"oldest,omitzero"`
}

// Keeping is how long things stay in the database before they are archived.
type Keeping struct {
	// Where archives are; empty: nowhere, and everything stays.
	Where string `json:"archive,omitempty"`
	// TrailSeconds is for plans, slices, tasks, runs, pages, triggers and moves of cursors,
	// VersionsSeconds for versions of records that were replaced; 0: for ever.
	TrailSeconds    int64 `json:"trail_seconds"`
	VersionsSeconds int64 `json:"versions_seconds"`
}

// DBStatus is how the database stands.
type DBStatus struct {
	Schema
	Sizes
	Keeping Keeping `json:"keeping"`
	// LastArchive is the newest archive, absent if there is none.
	LastArchive *ArchiveRow `json:"last_archive,omitempty"`
}

// DBStatus tells how large the database is, how long things stay in it, and when it was
// last relieved of old ones.
func (c *Control) DBStatus(ctx context.Context) (DBStatus, error) {
	var out DBStatus
	var err error
	out.Store = c.store.DSN()
	out.Have, out.Need, err = c.store.Schema(ctx)
	if err != nil {
		return out, err
	}
	out.Sizes, err = c.store.Sizes(ctx)
	if err != nil {
		return out, err
	}
	if c.files != nil && c.keeper != nil {
		out.Keeping.Where = c.files.Where()
		trail, versions := c.keeper.Kept()
		out.Keeping.TrailSeconds = int64(trail.Seconds())
		out.Keeping.VersionsSeconds = int64(versions.Seconds())
	}
	last, err := c.store.Archives(ctx, 0, 1)
	if err != nil {
		return out, err
	}
	if len(last) > 0 {
		row := archiveRow(last[0])
		out.LastArchive = &row
	}
	return out, nil
}
