package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/app/replay"
	"github.com/papertrace/patra/internal/app/retention"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
)

// ArchiveStore knows what was archived and what could be.
type ArchiveStore interface {
	Archives(ctx context.Context, before int64, limit int) ([]retention.Archive, error)
	// DueCounts counts what is old enough to be archived, each up to [CountCap].
	DueCounts(ctx context.Context, c retention.Cut) (ArchiveDue, error)
}

// ErrNoArchive says that there is nowhere to archive to.
var ErrNoArchive = problem.New("there is no directory for archives", problem.Problem{
	Code: "no_archive", Kind: problem.Usage, Next: "name one that outlasts this machine: --archive DIR, or PATRA_ARCHIVE",
})

// ArchivedError says that what was asked for is not in the database any more, and where it
// is.
type ArchivedError struct {
	Object string // such as plan 12
	Key    string // by which the archive finds it
	File   string
	At     time.Time
}

func (e *ArchivedError) Error() string {
	return fmt.Sprintf("%s was archived on %s in %s", e.Object, e.At.UTC().Format(time.DateOnly), e.File)
}

// Problem implements problem.Error.
func (e *ArchivedError) Problem() problem.Problem {
	return problem.Problem{Code: "archived", Kind: problem.NotFound, Title: e.Error(), Next: "patra db archive show " + e.Key}
}

// Is makes it one of the things that are not there.
func (e *ArchivedError) Is(target error) bool { return target == harvest.ErrNotFound }

// tableOf is where the rows of something are kept that has a number.
var tableOf = map[string]string{
	"plan": "ing_plan", "slice": "ing_plan_slice", "task": "ing_task", "run": "ing_task_run", "batch": "ing_task_run_batch",
	"cursor": "ing_cursor", "trigger": "ing_schedule_instance",
}

// sought is something that may be in an archive.
type sought struct {
	object string // what people call it
	key    string // by which an archive finds it
	// table holds rows with the number id, by which archives are left out that cannot have
	// it; empty: all are asked.
	table string
	id    int64
}

// orArchived turns the error about something that is not there into one that says where it
// was archived, if it was.
func (c *Control) orArchived(ctx context.Context, err error, kind string, id int64) error {
	return c.orInArchive(ctx, err, sought{object: fmt.Sprintf("%s %d", kind, id), key: fmt.Sprintf("%s/%d", kind, id), table: tableOf[kind], id: id})
}

// orPageArchived is [Control.orArchived] for a page.
func (c *Control) orPageArchived(ctx context.Context, err error, at replay.Ref) error {
	if at.ID != 0 {
		return c.orArchived(ctx, err, "batch", int64(at.ID))
	}
	name := harvest.Correlation(at.Run, at.No)
	return c.orInArchive(ctx, err, sought{object: "batch " + at.String(), key: name, table: tableOf["run"], id: int64(at.Run)})
}

// orInArchive costs the look into an index for each archive whose rows have such numbers.
// Without a directory for archives nobody can look: the error then names those that may
// have it.
func (c *Control) orInArchive(ctx context.Context, err error, s sought) error {
	if !errors.Is(err, harvest.ErrNotFound) {
		return err
	}
	found := errors.New("found")
	before := int64(0)
	for {
		const page = 100
		list, lerr := c.store.Archives(ctx, before, page)
		if lerr != nil {
			return errors.Join(err, lerr)
		}
		for _, a := range list {
			before = a.ID
			if s.table != "" && !mayHold(a, s) {
				continue
			}
			if c.files == nil {
				return &unreadArchiveError{object: s.object, file: a.File}
			}
			ferr := c.files.Find(ctx, a.File, s.key, func(retention.Line) error { return found })
			if errors.Is(ferr, found) {
				return &ArchivedError{Object: s.object, Key: s.key, File: a.File, At: a.CreatedAt}
			}
			if ferr != nil {
				return fmt.Errorf("%w; it may be in archive %s, which cannot be read: %w", err, a.File, ferr)
			}
		}
		if len(list) < page {
			return err
		}
	}
}

// mayHold reports whether an archive has rows with such a number.
func mayHold(a retention.Archive, s sought) bool {
	rows, holds := a.Contents[s.table]
	return holds && s.id >= rows.First && s.id <= rows.Last
}

// unreadArchiveError says that something is not in the database, and that there are
// archives, but not here.
type unreadArchiveError struct{ object, file string }

func (e *unreadArchiveError) Error() string {
	return fmt.Sprintf("%s is not in the database; it may be in archive %s, and no directory for archives is named", e.object, e.file)
}

// Problem implements problem.Error.
func (e *unreadArchiveError) Problem() problem.Problem {
	return problem.Problem{Code: "no_archive", Kind: problem.NotFound, Title: e.Error(), Next: "name the directory of the archives: --archive DIR, or PATRA_ARCHIVE"}
}

// Is makes it one of the things that are not there.
func (e *unreadArchiveError) Is(target error) bool { return target == harvest.ErrNotFound }

// ShortestKept is the least time that anything stays in the database.
const ShortestKept = retention.Shortest

// ArchiveRow is an archive in a list.
type ArchiveRow struct {
	ID     int64  `json:"id"`
	File   string `json:"file"`
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
	Rows   int64  `json:"rows"`
	// Tables are the rows by table, with the smallest and the greatest number.
	Tables    map[string]retention.Rows `json:"tables"`
	Actor     string                    `json:"actor"`
	Reason    string                    `json:"reason"`
	CreatedAt time.Time                 `json:"created_at"`
	// Done: all that it holds is removed from the database.
	Done bool `json:"done"`
}

func archiveRow(a retention.Archive) ArchiveRow {
	return ArchiveRow{
		ID: a.ID, File: a.File, SHA256: a.SHA256, Bytes: a.Bytes, Rows: a.Rows, Tables: a.Contents, Actor: a.By.Actor, Reason: a.By.Reason,
		CreatedAt: a.CreatedAt, Done: !a.DoneAt.IsZero(),
	}
}

// ArchiveList is a page of archives, the newest first.
type ArchiveList struct {
	Where    string       `json:"where,omitempty"`
	Archives []ArchiveRow `json:"archives"`
	// Next is where the next page begins, empty on the last.
	Next string `json:"next,omitempty"`
}

// Archives lists the files that rows were moved to.
func (c *Control) Archives(ctx context.Context, p Page) (ArchiveList, error) {
	out := ArchiveList{Archives: []ArchiveRow{}}
	before, err := p.Number()
	if err != nil {
		return out, err
	}
	if c.files != nil {
		out.Where = c.files.Where()
	}
	list, err := c.store.Archives(ctx, before, p.Limit+1)
	if err != nil {
		return out, err
	}
	part, next := firstOf(list, p.Limit, func(a retention.Archive) int64 { return a.ID })
	out.Next = next
	for _, a := range part {
		out.Archives = append(out.Archives, archiveRow(a))
	}
	return out, nil
}

// ArchivedRow is a row of an archive.
type ArchivedRow struct {
	File       string         `json:"file"`
	ArchivedAt time.Time      `json:"archived_at"`
	Table      string         `json:"table"`
	Row        map[string]any `json:"row"`
}

// ArchivedRows are the rows of archives that something is found by.
type ArchivedRows struct {
	Key  string        `json:"key"`
	Rows []ArchivedRow `json:"rows"`
	// Capped: there are more.
	Capped bool `json:"capped"`
}

// archivedMost bounds the rows that are shown of an archive.
const archivedMost = 1000

// ErrNotArchived says that no archive has a row of that key.
var ErrNotArchived = problem.New("no archive holds it", problem.Problem{
	Code: "not_archived", Kind: problem.NotFound,
	Next: "keys are such as plan/12, slice/4, task/4, run/5, batch/17, ing-5-17, trigger/3, cursor/2, record/SOURCE/TYPE/ID",
})

// ShowArchived reads the rows that have a key from all archives. Without raw the bytes of
// records as they came are left out.
func (c *Control) ShowArchived(ctx context.Context, key string, raw bool) (ArchivedRows, error) {
	out := ArchivedRows{Key: key, Rows: []ArchivedRow{}}
	if c.files == nil {
		return out, ErrNoArchive
	}
	enough := errors.New("enough")
	before := int64(0)
	for {
		const page = 100
		list, err := c.store.Archives(ctx, before, page)
		if err != nil {
			return out, err
		}
		for _, a := range list {
			before = a.ID
			err := c.files.Find(ctx, a.File, key, func(l retention.Line) error {
				if len(out.Rows) == archivedMost {
					out.Capped = true
					return enough
				}
				row, err := shownRow(l.Row, raw)
				out.Rows = append(out.Rows, ArchivedRow{File: a.File, ArchivedAt: a.CreatedAt, Table: l.Table, Row: row})
				return err
			})
			if err != nil && !errors.Is(err, enough) {
				return out, err
			}
		}
		if len(list) < page || out.Capped {
			break
		}
	}
	if len(out.Rows) == 0 {
		return out, fmt.Errorf("%s: %w", key, ErrNotArchived)
	}
	return out, nil
}

// shownRow is a row by its columns, without what upstreams sent unless that is wanted.
func shownRow(row []byte, raw bool) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(row))
	d.UseNumber()
	var cols map[string]any
	if err := d.Decode(&cols); err != nil {
		return nil, fmt.Errorf("read a row of the archive: %w", err)
	}
	if !raw {
		delete(cols, "raw")
		delete(cols, "reply_sample")
	}
	return cols, nil
}

// ArchiveDue is what is old enough to be archived.
type ArchiveDue struct {
	Plans    Counted `json:"plans"`
	Batches  Counted `json:"batches"`
	Moves    Counted `json:"cursor_events"`
	Triggers Counted `json:"triggers"`
	Versions Counted `json:"record_versions"`
}

// ArchiveOrder says what is to be archived.
type ArchiveOrder struct {
	By
	// Before, if set, takes the place of the times that are configured.
	Before time.Time
}

// ArchivePreview is what would be archived.
type ArchivePreview struct {
	Applied bool   `json:"applied"`
	Where   string `json:"where"`
	// What of the trail and of the versions of records is older; absent if all of it is kept.
	TrailBefore    time.Time  `json:"trail_before,omitzero"`
	VersionsBefore time.Time  `json:"versions_before,omitzero"`
	Due            ArchiveDue `json:"due"`
	Token          string     `json:"token,omitempty"`
}

// ArchiveReport is what was archived.
type ArchiveReport struct {
	Applied  bool         `json:"applied"`
	Where    string       `json:"where"`
	Rows     int64        `json:"rows"`
	Archives []ArchiveRow `json:"archives"`
}

// tooYoungError refuses an instant that is too near.
type tooYoungError struct{ latest time.Time }

func (e *tooYoungError) Error() string {
	return fmt.Sprintf("what happened after %s is kept in the database", e.latest.UTC().Format(time.DateOnly))
}

// Problem implements problem.Error.
func (e *tooYoungError) Problem() problem.Problem {
	return problem.Problem{Code: "too_young", Kind: problem.Usage, Title: e.Error(), Next: "choose an earlier --before: what comes late is judged by the last days"}
}

func (c *Control) archiveCut(ctx context.Context, o ArchiveOrder) (cut retention.Cut, err error) {
	if c.files == nil || c.keeper == nil {
		return cut, ErrNoArchive
	}
	now, err := c.store.Now(ctx)
	if err != nil || o.Before.IsZero() {
		return c.keeper.Cut(now), err
	}
	if latest := now.Add(-retention.Shortest); o.Before.After(latest) {
		return cut, &tooYoungError{latest}
	}
	return retention.Cut{Trail: o.Before, Versions: o.Before}, nil
}

// PreviewArchive tells what [Control.Archive] would move to files.
func (c *Control) PreviewArchive(ctx context.Context, o ArchiveOrder) (ArchivePreview, error) {
	out, err := c.archivePreview(ctx, o)
	if err != nil {
		return out, err
	}
	out.Token, err = c.seenToken(ctx, "ARCHIVE", "archive", out)
	return out, err
}

func (c *Control) archivePreview(ctx context.Context, o ArchiveOrder) (out ArchivePreview, err error) {
	cut, err := c.archiveCut(ctx, o)
	if err != nil {
		return out, err
	}
	out.Where = c.files.Where()
	out.TrailBefore = cut.Trail
	out.VersionsBefore = cut.Versions
	out.Due, err = c.store.DueCounts(ctx, cut)
	return out, err
}

// Archive moves what is old enough to files, and removes it from the database once those
// are written.
func (c *Control) Archive(ctx context.Context, o ArchiveOrder) (ArchiveReport, error) {
	out := ArchiveReport{Applied: true, Archives: []ArchiveRow{}}
	if o.Token != "" {
		shown, err := c.archivePreview(ctx, o)
		if err != nil {
			return out, err
		}
		if err := c.checkSeen(ctx, o.Token, "ARCHIVE", "archive", shown); err != nil {
			return out, err
		}
	}
	cut, err := c.archiveCut(ctx, o)
	if err != nil {
		return out, err
	}
	out.Where = c.files.Where()
	done, err := c.keeper.Archive(ctx, cut, o.line("ARCHIVE", "archive"))
	out.Rows = done.Rows
	for _, a := range done.Archives {
		row := archiveRow(a)
		row.Done = true
		out.Archives = append(out.Archives, row)
	}
	if errors.Is(err, retention.ErrBusy) {
		err = errArchiveBusy
	}
	return out, err
}

// ArchiveWhatIsOld is what patra does by itself: it archives what the configured times say, if
// there is enough of it or it has waited for long.
func (c *Control) ArchiveWhatIsOld(ctx context.Context) error { return c.keeper.Tick(ctx) }

var errArchiveBusy = problem.New("another process archives now", problem.Problem{
	Code: "archive_busy", Kind: problem.Conflict, Next: "it does all that is due by its own settings; try again in half an hour, nothing was changed",
})

// checkArchives holds the files of all archives against what was written, as far as their
// size or, if deep is set, to the last bit.
func (c *Control) checkArchives(ctx context.Context, deep bool) (found []Finding, err error) {
	before := int64(0)
	for {
		const page = 100
		list, err := c.store.Archives(ctx, before, page)
		if err != nil {
			return found, err
		}
		for _, a := range list {
			before = a.ID
			detail := "there is no directory for archives: name it with --archive"
			if c.files != nil {
				cerr := c.files.Check(ctx, a.Written, deep)
				if cerr == nil {
					continue
				}
				detail = cerr.Error()
			}
			if ctx.Err() != nil {
				return found, context.Cause(ctx)
			}
			found = append(found, Finding{
				Invariant: "ARCHIVE", Rule: "an archive is where it was written, and as it was", Object: "archive " + a.File, Detail: detail,
			})
		}
		if len(list) < page {
			return found, nil
		}
	}
}
