// Package retention moves what is old out of the database into files, so that the
// database grows with the records it holds and not with the days it has seen.
//
// What is moved is the trail of the work: plans that are done with their slices,
// tasks, runs and pages, triggers, moves of cursors, and versions of records that newer
// ones have replaced. It promises:
//
//   - Nothing is lost: a file is written, synced and read back before the first row of
//     it is removed, and every row is found again by what it belonged to.
//   - Nothing is twice: what a file holds is removed before another one is written,
//     also by whoever goes on after a crash.
//   - Records, cursors with where they stand, what is proven, gaps, quarantine and the
//     audit stay. Of what is proven the slices become intervals.
//   - One at a time archives, under a fence; a harvest beside it is held up by no more
//     than a short transaction at a time.
//
// Which rows are due, and how they are removed, the store knows; the form of the files
// is left to the archive.
package retention

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// Kind is what is archived, and then removed, together.
type Kind string

// The kinds.
const (
	// Plan is a plan that is done, with its trigger, slices, tasks, runs and pages.
	Plan Kind = "plan"
	// Moves are the moves of a cursor up to one, which stays as their CHECKPOINT.
	Moves Kind = "moves"
	// Triggers made no plan, or one that is archived.
	Triggers Kind = "triggers"
	// Versions of records were replaced by newer ones.
	Versions Kind = "versions"
)

// Unit is something that is archived whole.
type Unit struct {
	Kind Kind `json:"kind"`
	// ID is that of the plan, or of the cursor whose moves they are.
	ID int64 `json:"id,omitempty"`
	// To is the last of the moves, or the last version that was looked at.
	To int64 `json:"to,omitempty"`
	// IDs are those of triggers or versions.
	IDs []int64 `json:"ids,omitempty"`
	// Closes: the cursor of the plan goes with it, since no other plan follows.
	Closes bool `json:"closes,omitempty"`
	// Rows is how many rows were written of it.
	Rows int64 `json:"rows"`
}

// Cut is how old something must be to be archived: older than an instant. A zero
// instant keeps all of its sort.
type Cut struct {
	// Trail is for plans, triggers and moves, by when they ended or happened.
	Trail time.Time
	// Versions is for versions of records, by when they were replaced.
	Versions time.Time
}

// Line is a row as an archive holds it.
type Line struct {
	Table string `json:"table"`
	// Keys are what it is found by, such as plan/12 or ing-5-17.
	Keys []string `json:"keys,omitempty"`
	// Row has the columns as they were stored. What is no text is hexadecimal if it is a
	// hash, else an object with the member base64.
	Row json.RawMessage `json:"row"`
}

// Rows tells how many rows of a table an archive holds, and their ids at both ends.
type Rows struct {
	Count int64 `json:"rows"`
	First int64 `json:"first,omitempty"`
	Last  int64 `json:"last,omitempty"`
}

// Written is a file of rows that is synced and was read back.
type Written struct {
	File   string
	SHA256 string
	Bytes  int64
	Rows   int64
}

// Archive is a file that rows were moved to.
type Archive struct {
	ID int64
	Written
	// Contents are the rows by table.
	Contents map[string]Rows
	// Units are those that are still to be removed; none once it is done.
	Units     []Unit
	Cut       Cut
	By        source.Audit
	CreatedAt time.Time
	DoneAt    time.Time
}

// Hold is the right to archive. A greater fence ends it.
type Hold struct {
	Fence int64
	TTL   time.Duration
}

// ErrFenced says that another has taken over the right to archive: nothing was changed.
var ErrFenced = errors.New("another process archives now")

// ErrChanged says that something is not as it was archived: it stays, and nothing was
// changed.
var ErrChanged = errors.New("it has changed since it was archived, so it stays")

// Store is what holds the rows. A write names the hold it is made under and is
// [ErrFenced], changing nothing, once another has taken that over.
type Store interface {
	Now(ctx context.Context) (time.Time, error)
	// HoldArchive takes the right to archive, if nobody has it.
	HoldArchive(ctx context.Context, ttl time.Duration) (Hold, bool, error)
	// LeaveArchive gives it back.
	LeaveArchive(ctx context.Context, h Hold) error
	// NumberFeed gives revisions their place in the feed, so many at most: what has none
	// is not archived.
	NumberFeed(ctx context.Context, most int) (int, error)
	// Due lists what is old enough, so many units at most. Moves come first: plans are
	// due only when no move names them any more.
	Due(ctx context.Context, h Hold, c Cut, most int) ([]Unit, error)
	// RowsOf hands every row of a unit to f.
	RowsOf(ctx context.Context, u Unit, f func(id int64, l Line) error) error
	// SaveArchive keeps what was written, with the units to be removed.
	SaveArchive(ctx context.Context, h Hold, a Archive) (id int64, err error)
	// Remove removes some of the rows of a unit in one transaction and reports whether
	// there are more; [ErrChanged] if they are not as they were archived.
	Remove(ctx context.Context, h Hold, archive int64, u Unit, most int) (more bool, err error)
	// Removed takes units off the list of those to be removed, and closes the archive
	// with a line of the audit when none is left.
	Removed(ctx context.Context, h Hold, archive int64, left []Unit) error
	// OpenArchive is the archive whose rows are not all removed yet, if there is one.
	OpenArchive(ctx context.Context) (Archive, bool, error)
	// Archives lists archives, the newest first: those before one, if that is not 0.
	Archives(ctx context.Context, before int64, limit int) ([]Archive, error)
}

// Files is where archives are.
type Files interface {
	// Where it is, for people.
	Where() string
	// Write makes a file of the rows that write adds, syncs it and reads it back. It has
	// only been begun until Keep gives it its name, but is found by that already.
	Write(ctx context.Context, name string, write func(add func(Line) error) error) (Written, error)
	// Keep gives a file that was written its name. One that has it already stays as it is.
	Keep(ctx context.Context, name string) error
	// Find hands those lines of a file to f that have a key.
	Find(ctx context.Context, name, key string, f func(Line) error) error
	// Check holds a file against its size, and if deep is set against its hash.
	Check(ctx context.Context, w Written, deep bool) error
	// Sweep removes files that were begun long ago and are not to be kept.
	Sweep(ctx context.Context, keep func(name string) bool) error
}

// Shortest is the least that is kept of the trail: what comes late is judged by the
// windows of the last week.
const Shortest = 2 * harvest.LateOver
