package retention

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/papertrace/patra/internal/domain/source"
)

// Config of a [Keeper].
type Config struct {
	// Trail and Versions are how long each is kept in the database; 0: for ever.
	Trail, Versions time.Duration
	// Every is how long little may wait to be archived, so that files are few.
	Every time.Duration
	// Pause is how long the database is left to others between two transactions.
	Pause time.Duration
	// UnitsPerFile and RowsPerStep bound a file and a transaction.
	UnitsPerFile, RowsPerStep int
}

func (c Config) withDefaults() Config {
	c.Every = cmp.Or(c.Every, 30*24*time.Hour)
	c.Pause = cmp.Or(c.Pause, 20*time.Millisecond)
	c.UnitsPerFile = cmp.Or(c.UnitsPerFile, 1000)
	c.RowsPerStep = cmp.Or(c.RowsPerStep, 200)
	return c
}

// LookEvery is how often it is looked whether something is to be archived.
const LookEvery = 6 * time.Hour

// holdFor is how long an archiver may be silent before another takes over: longer than it
// takes to write the largest file, during which it says nothing.
const holdFor = 30 * time.Minute

// Keeper keeps the database from growing with time.
type Keeper struct {
	cfg   Config
	store Store
	files Files
	log   *slog.Logger
}

// New makes a Keeper. Without files it archives nothing.
func New(cfg Config, store Store, files Files, log *slog.Logger) *Keeper {
	return &Keeper{cfg: cfg.withDefaults(), store: store, files: files, log: log.With("component", "retention")}
}

// Cut is what is old enough today.
func (k *Keeper) Cut(now time.Time) Cut {
	var c Cut
	today := now.UTC().Truncate(24 * time.Hour)
	if k.cfg.Trail > 0 {
		c.Trail = today.Add(-max(k.cfg.Trail, Shortest))
	}
	if k.cfg.Versions > 0 {
		c.Versions = today.Add(-max(k.cfg.Versions, Shortest))
	}
	return c
}

// Kept is how long the trail and replaced versions stay; 0: for ever.
func (k *Keeper) Kept() (trail, versions time.Duration) { return k.cfg.Trail, k.cfg.Versions }

// Tick goes on with an archive that was not finished, and makes others if much is old
// enough, or something was for long.
func (k *Keeper) Tick(ctx context.Context) error {
	if k.files == nil {
		return nil
	}
	now, err := k.store.Now(ctx)
	if err != nil {
		return err
	}
	cut := k.Cut(now)
	_, open, err := k.store.OpenArchive(ctx)
	if err != nil {
		return err
	}
	if !open {
		isDue, err := k.isDue(ctx, cut, now)
		if err != nil || !isDue {
			return err
		}
	}
	_, err = k.Archive(ctx, cut, source.Audit{Actor: "patra", Reason: "older than is kept"})
	if errors.Is(err, ErrBusy) || errors.Is(err, ErrFenced) {
		return nil // another steward does it
	}
	return err
}

// isDue reports whether there is enough for a file, or the last is long ago.
func (k *Keeper) isDue(ctx context.Context, cut Cut, now time.Time) (bool, error) {
	if cut == (Cut{}) {
		return false, nil
	}
	last, err := k.store.Archives(ctx, 0, 1)
	if err != nil {
		return false, err
	}
	units, err := k.store.Due(ctx, Hold{}, cut, k.cfg.UnitsPerFile)
	if err != nil || len(units) == 0 {
		return false, err
	}
	long := len(last) == 0 || now.Sub(last[0].CreatedAt) >= k.cfg.Every
	return long || len(units) >= k.cfg.UnitsPerFile, nil
}

// ErrBusy says that somebody else archives.
var ErrBusy = errors.New("another process archives now; it does all that is due")

// Done is what was archived.
type Done struct {
	Archives []Archive
	Rows     int64
}

// Archive moves all that is old enough to files, for somebody and a reason.
func (k *Keeper) Archive(ctx context.Context, cut Cut, by source.Audit) (done Done, err error) {
	h, won, err := k.store.HoldArchive(ctx, holdFor)
	if err != nil {
		return done, err
	}
	if !won {
		return done, ErrBusy
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		if lerr := k.store.LeaveArchive(ctx, h); lerr != nil && !errors.Is(lerr, ErrFenced) {
			err = errors.Join(err, lerr)
		}
	}()
	if err := k.finish(ctx, h); err != nil {
		return done, err
	}
	if err := k.sweep(ctx); err != nil {
		return done, err
	}
	for {
		a, err := k.archiveOnce(ctx, h, cut, by)
		if err != nil || a.ID == 0 {
			return done, err
		}
		done.Archives = append(done.Archives, a)
		done.Rows += a.Rows
	}
}

// finish removes what an archive holds that was written and not finished.
func (k *Keeper) finish(ctx context.Context, h Hold) error {
	for {
		a, open, err := k.store.OpenArchive(ctx)
		if err != nil || !open {
			return err
		}
		k.log.Info("going on with an archive", "archive", a.ID, "file", a.File, "left", len(a.Units))
		if err := k.files.Keep(ctx, a.File); err != nil {
			return fmt.Errorf("keep archive %s: %w", a.File, err)
		}
		if err := k.remove(ctx, h, a); err != nil {
			return err
		}
	}
}

// sweep removes files that were begun by somebody who died before the store knew of them.
// Nothing of them was removed from the store.
func (k *Keeper) sweep(ctx context.Context) error {
	known := map[string]bool{}
	before := int64(0)
	for {
		const page = 500
		list, err := k.store.Archives(ctx, before, page)
		if err != nil {
			return err
		}
		for _, a := range list {
			known[a.File] = true
			before = a.ID
		}
		if len(list) < page {
			return k.files.Sweep(ctx, func(name string) bool { return known[name] })
		}
	}
}

// archiveOnce writes one file and removes what it holds. An archive without an id says that
// nothing was due.
func (k *Keeper) archiveOnce(ctx context.Context, h Hold, cut Cut, by source.Audit) (Archive, error) {
	for {
		n, err := k.store.NumberFeed(ctx, 1000)
		if err != nil {
			return Archive{}, err
		}
		if n < 1000 {
			break
		}
	}
	units, err := k.store.Due(ctx, h, cut, k.cfg.UnitsPerFile)
	if err != nil || len(units) == 0 {
		return Archive{}, err
	}
	now, err := k.store.Now(ctx)
	if err != nil {
		return Archive{}, err
	}
	a := Archive{Units: units, Cut: cut, By: by, Contents: map[string]Rows{}}
	// The fence makes the name one of this archiver alone: another who took over from it
	// writes other files, whatever this one still does.
	name := fmt.Sprintf("patra-%s-%d.jsonl.zst", now.UTC().Format("20060102T150405.000000"), h.Fence)
	a.Written, err = k.files.Write(ctx, name, func(add func(Line) error) error {
		for i := range units {
			if err := k.writeUnit(ctx, &units[i], a.Contents, add); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return Archive{}, fmt.Errorf("write archive %s: %w", name, err)
	}
	a.ID, err = k.store.SaveArchive(ctx, h, a)
	if err != nil {
		return Archive{}, err
	}
	if err := k.files.Keep(ctx, a.File); err != nil {
		return Archive{}, fmt.Errorf("keep archive %s: %w", a.File, err)
	}
	k.log.Info("archived", "archive", a.ID, "file", a.File, "rows", a.Rows, "bytes", a.Bytes)
	return a, k.remove(ctx, h, a)
}

// writeUnit adds the rows of a unit to a file, and counts them.
func (k *Keeper) writeUnit(ctx context.Context, u *Unit, contents map[string]Rows, add func(Line) error) error {
	u.Rows = 0
	return k.store.RowsOf(ctx, *u, func(id int64, l Line) error {
		u.Rows++
		c := contents[l.Table]
		c.Count++
		if id != 0 && (c.First == 0 || id < c.First) {
			c.First = id
		}
		c.Last = max(c.Last, id)
		contents[l.Table] = c
		return add(l)
	})
}

// unitsPerNote is after how many units the store notes that they are removed.
const unitsPerNote = 50

// remove removes what an archive holds, in small steps with pauses between them.
func (k *Keeper) remove(ctx context.Context, h Hold, a Archive) error {
	for i, u := range a.Units {
		if err := k.removeUnit(ctx, h, a, u); err != nil {
			return err
		}
		if left := a.Units[i+1:]; len(left) > 0 && (i+1)%unitsPerNote == 0 {
			if err := k.store.Removed(ctx, h, a.ID, left); err != nil {
				return err
			}
		}
	}
	return k.store.Removed(ctx, h, a.ID, []Unit{})
}

// removeUnit removes one unit. One that has changed stays in the store as it is.
func (k *Keeper) removeUnit(ctx context.Context, h Hold, a Archive, u Unit) error {
	for {
		more, err := k.store.Remove(ctx, h, a.ID, u, k.cfg.RowsPerStep)
		if errors.Is(err, ErrChanged) {
			k.log.Warn("what was archived is kept in the database too", "archive", a.ID, "kind", u.Kind, "id", u.ID, "err", err)
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(k.cfg.Pause):
		}
		if !more {
			return nil
		}
	}
}
