package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/app/retention"
)

// archiveHold is the row of ing_meta that says who may archive.
const archiveHold = "archive_hold"

// heldArchive is what it says.
type heldArchive struct {
	Fence int64     `json:"fence"`
	Until time.Time `json:"until,omitzero"`
}

// HoldArchive takes the right to archive, if nobody has it or whoever had it has been
// silent for too long. From then on the fence of whoever had it holds nothing.
func (s *Store) HoldArchive(ctx context.Context, ttl time.Duration) (h retention.Hold, won bool, err error) {
	err = s.write(ctx, "take the right to archive", func(x *tx) error {
		if _, err := x.exec(x.s.d.insertIgnore+` INTO ing_meta (name, value) VALUES (?, '{}')`, archiveHold); err != nil {
			return err
		}
		is, err := x.lockArchiveHold()
		if err != nil {
			return err
		}
		won = !is.Until.After(x.now)
		if !won {
			return nil
		}
		h = retention.Hold{Fence: is.Fence + 1, TTL: ttl}
		return x.setArchiveHold(heldArchive{Fence: h.Fence, Until: x.now.Add(ttl)})
	})
	return h, won, err
}

// LeaveArchive gives the right to archive back.
func (s *Store) LeaveArchive(ctx context.Context, h retention.Hold) error {
	return s.write(ctx, "give back the right to archive", func(x *tx) error {
		if err := x.guardArchive(h); err != nil {
			return err
		}
		return x.setArchiveHold(heldArchive{Fence: h.Fence})
	})
}

// guardArchive begins every write of an archiver: it refuses one whose right another has
// taken over, keeps others from taking it until the transaction ends, and makes it last
// anew.
func (x *tx) guardArchive(h retention.Hold) error {
	is, err := x.lockArchiveHold()
	if err != nil {
		return err
	}
	if is.Fence != h.Fence {
		return retention.ErrFenced
	}
	return x.setArchiveHold(heldArchive{Fence: h.Fence, Until: x.now.Add(h.TTL)})
}

func (x *tx) lockArchiveHold() (is heldArchive, err error) {
	text, err := x.meta(archiveHold, x.s.d.forUpdate)
	if err != nil {
		return is, err
	}
	if err := json.Unmarshal([]byte(text), &is); err != nil {
		return is, fmt.Errorf("read who may archive: %w", err)
	}
	return is, nil
}

func (x *tx) setArchiveHold(is heldArchive) error {
	text, err := jsonText(is)
	if err != nil {
		return err
	}
	_, err = x.exec(`UPDATE ing_meta SET value=? WHERE name=?`, text, archiveHold)
	return err
}

// meta reads a value that the store keeps about itself, empty if there is none.
func (x *tx) meta(name, lock string) (text string, err error) {
	err = x.row(`SELECT value FROM ing_meta WHERE name=?`+lock, name).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return text, err
}
