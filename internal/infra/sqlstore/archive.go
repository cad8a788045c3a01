package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/papertrace/patra/internal/app/retention"
)

// SaveArchive keeps what was written to a file, with what is to be removed now. From here
// on the rows of the file are never written to another: whoever comes after a crash goes on
// with removing them.
func (s *Store) SaveArchive(ctx context.Context, h retention.Hold, a retention.Archive) (id int64, err error) {
	contents, err := jsonText(a.Contents)
	if err != nil {
		return 0, err
	}
	units, err := jsonText(a.Units)
	if err != nil {
		return 0, err
	}
	err = s.write(ctx, "save archive", func(x *tx) error {
		if err := x.guardArchive(h); err != nil {
			return err
		}
		id, err = x.insertInto("ing_archive", []col{
			{"file_name", a.File},
			{"sha256", a.SHA256},
			{"bytes", a.Bytes},
			{"row_count", a.Rows},
			{"contents", contents},
			{"units", units},
			{"status_code", "WRITTEN"},
			{"trail_before", ts(a.Cut.Trail)},
			{"versions_before", ts(a.Cut.Versions)},
			{"actor", a.By.Actor},
			{"reason", a.By.Reason},
			{"created_at", ts(x.now)},
		})
		return err
	})
	return id, err
}

// Removed takes what was removed off the list of an archive. When nothing is left the
// archive is done, with a line of the audit.
func (s *Store) Removed(ctx context.Context, h retention.Hold, archive int64, left []retention.Unit) error {
	units, err := jsonText(left)
	if err != nil {
		return err
	}
	return s.write(ctx, "note what was removed", func(x *tx) error {
		if err := x.guardArchive(h); err != nil {
			return err
		}
		if len(left) > 0 {
			_, err := x.exec(`UPDATE ing_archive SET units=? WHERE id=? AND status_code='WRITTEN'`, units, archive)
			return err
		}
		n, err := x.exec(`UPDATE ing_archive SET units='[]', status_code='DONE', done_at=? WHERE id=? AND status_code='WRITTEN'`, ts(x.now), archive)
		if err != nil || n == 0 {
			return err
		}
		a, err := scanArchive(x.row(`SELECT `+archiveCols+` FROM ing_archive WHERE id=?`, archive))
		if err != nil {
			return err
		}
		by := a.By
		by.Action = "ARCHIVE"
		by.Object = fmt.Sprintf("archive/%d", archive)
		return x.audit(by, map[string]any{"file": a.File, "sha256": a.SHA256, "rows": a.Rows, "contents": a.Contents})
	})
}

const archiveCols = `id, file_name, sha256, bytes, row_count, contents, units, trail_before, versions_before, actor, reason, created_at, done_at`

func scanArchive(r scanner) (a retention.Archive, err error) {
	var contents, units string
	var trail, versions, created, done ts
	err = r.Scan(&a.ID, &a.File, &a.SHA256, &a.Bytes, &a.Rows, &contents, &units, &trail, &versions, &a.By.Actor, &a.By.Reason,
		&created, &done)
	if err != nil {
		return a, err
	}
	a.Cut.Trail = trail.time()
	a.Cut.Versions = versions.time()
	a.CreatedAt = created.time()
	a.DoneAt = done.time()
	if err := json.Unmarshal([]byte(contents), &a.Contents); err != nil {
		return a, fmt.Errorf("contents of archive %d: %w", a.ID, err)
	}
	if err := json.Unmarshal([]byte(units), &a.Units); err != nil {
		return a, fmt.Errorf("units of archive %d: %w", a.ID, err)
	}
	return a, nil
}

// OpenArchive is the archive whose rows are not all removed yet, if there is one.
func (s *Store) OpenArchive(ctx context.Context) (a retention.Archive, is bool, err error) {
	a, err = scanArchive(s.r.QueryRowContext(ctx, `SELECT `+archiveCols+` FROM ing_archive WHERE status_code='WRITTEN' ORDER BY id LIMIT 1`))
	if errors.Is(err, sql.ErrNoRows) {
		return a, false, nil
	}
	if err != nil {
		return a, false, fmt.Errorf("look for an archive that is not done: %w", err)
	}
	return a, true, nil
}

// Archives lists archives, the newest first: those before one, if that is not 0.
func (s *Store) Archives(ctx context.Context, before int64, limit int) ([]retention.Archive, error) {
	where := `1=1`
	var args []any
	if before > 0 {
		where = `id<?`
		args = append(args, before)
	}
	out := []retention.Archive{}
	err := s.each(ctx, func(r *sql.Rows) error {
		a, err := scanArchive(r)
		out = append(out, a)
		return err
	}, `SELECT `+archiveCols+` FROM ing_archive WHERE `+where+` ORDER BY id DESC LIMIT ?`, append(args, limit)...)
	if err != nil {
		return nil, fmt.Errorf("list archives: %w", err)
	}
	return out, nil
}
