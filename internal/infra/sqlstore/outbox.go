package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// outboxSwitch is the row of ing_meta that says whether revisions are written down for
// somebody: "1" while there is a target, or the feed is read (R90). A page's commit holds
// it for reading, so that whoever sets it sees every page that was stored without.
const outboxSwitch = "outbox"

// announce writes down the revisions that a page made, if somebody is to be told of them
// (R34). It is one statement, whatever it finds.
func (x *tx) announce(batch harvest.BatchID) error {
	if x.s.d.locksApart {
		if err := x.lockRows(`SELECT value FROM ing_meta WHERE name=?`, outboxSwitch); err != nil {
			return fmt.Errorf("look who is told: %w", err)
		}
	}
	_, err := x.bulk(x.s.announceSQL(), []any{ts(x.now), batch})
	if err != nil {
		return fmt.Errorf("insert outbox: %w", err)
	}
	return nil
}

func (s *Store) announceSQL() string {
	return `INSERT INTO ing_outbox (record_id, revision, created_at) SELECT v.record_id, v.revision, ? FROM ing_record_version v WHERE v.batch_id=?
		AND EXISTS (SELECT 1 FROM ing_meta m WHERE m.name='` + outboxSwitch + `' AND m.value='1'` + s.d.forShare + `) ORDER BY v.id`
}

// lockOutbox takes the right to say who is told, and tells whether anybody is.
func (x *tx) lockOutbox() (on bool, err error) {
	if _, err := x.exec(x.s.d.insertIgnore+` INTO ing_meta (name, value) VALUES (?, '0')`, outboxSwitch); err != nil {
		return false, err
	}
	var value string
	err = x.row(`SELECT value FROM ing_meta WHERE name=?`+x.s.d.forUpdate, outboxSwitch).Scan(&value)
	return value == "1", err
}

func (x *tx) setOutbox(on bool) error {
	value := "0"
	if on {
		value = "1"
	}
	_, err := x.exec(`UPDATE ing_meta SET value=? WHERE name=?`, value, outboxSwitch)
	return err
}

// rowsPerPrune is how many rows of the outbox are removed in one transaction.
const rowsPerPrune = 5000

// openOutbox does f, which adds a target, with the outbox written from then on. Rows of
// an earlier time, when somebody else was told, are removed first: revisions may have
// been stored since without one, and those of a record have no hole (I7).
func (s *Store) openOutbox(ctx context.Context, what string, f func(x *tx) error) error {
	for {
		rest := false
		err := s.write(ctx, what, func(x *tx) error {
			on, err := x.lockOutbox()
			if err != nil {
				return err
			}
			rest = false
			if !on {
				rest, err = x.clearOutbox()
			}
			if err != nil || rest {
				return err
			}
			if err := x.setOutbox(true); err != nil {
				return err
			}
			return f(x)
		})
		if err != nil || !rest {
			return err
		}
	}
}

// clearOutbox removes rows that nobody is to be told of, and reports whether there may be
// more.
func (x *tx) clearOutbox() (rest bool, err error) {
	var last sql.NullInt64
	var n int64
	err = x.row(`SELECT MAX(o.id), COUNT(*) FROM (SELECT id FROM ing_outbox ORDER BY id LIMIT ?) o`, rowsPerPrune).Scan(&last, &n)
	if err != nil || n == 0 {
		return false, err
	}
	_, err = x.exec(`DELETE FROM ing_outbox WHERE id<=?`, last.Int64)
	return n == rowsPerPrune, err
}

// PruneOutbox removes rows that every target has got and that are older than keep, and
// all of them where nobody is told. It reports how many, so many at most. A feed that
// nobody asked for in a month is one that nobody reads.
func (s *Store) PruneOutbox(ctx context.Context, keep, unread time.Duration) (removed int64, err error) {
	err = s.write(ctx, "prune the outbox", func(x *tx) error {
		removed = 0
		on, err := x.lockOutbox()
		if err != nil {
			return err
		}
		if on {
			on, err = x.endUnreadFeed(unread)
		}
		if err != nil {
			return err
		}
		if !on {
			removed, err = x.exec(`DELETE FROM ing_outbox WHERE id IN (SELECT p.id FROM (SELECT id FROM ing_outbox ORDER BY id LIMIT ?) p)`, rowsPerPrune)
			return err
		}
		floor, err := x.outboxFloor()
		if err != nil || floor == 0 {
			return err
		}
		// Places are given in about the order of time: what is behind one that is too young
		// is looked at the next time.
		var last sql.NullInt64
		err = x.row(`SELECT MAX(p.feed_no) FROM (SELECT feed_no, created_at FROM ing_outbox WHERE feed_no<=? ORDER BY feed_no LIMIT ?) p
			WHERE p.created_at<?`, floor, rowsPerPrune, ts(x.now.Add(-keep))).Scan(&last)
		if err != nil || !last.Valid {
			return err
		}
		removed, err = x.exec(`DELETE FROM ing_outbox WHERE feed_no<=?`, last.Int64)
		return err
	})
	return removed, err
}

// endUnreadFeed forgets the feed if nobody asked for it for so long, and reports whether
// anybody is told still.
func (x *tx) endUnreadFeed(unread time.Duration) (on bool, err error) {
	n, err := x.exec(`DELETE FROM ing_outbox_target WHERE kind_code='feed' AND asked_at<?`, ts(x.now.Add(-unread)))
	if err != nil || n == 0 {
		return true, err
	}
	return x.closeOutbox()
}

// closeOutbox has nothing written any more if no target is left, and reports whether one
// is.
func (x *tx) closeOutbox() (on bool, err error) {
	var left int64
	if err := x.row(`SELECT COUNT(*) FROM ing_outbox_target`).Scan(&left); err != nil {
		return false, err
	}
	if left > 0 {
		return true, nil
	}
	return false, x.setOutbox(false)
}

// outboxFloor is the place up to which every target has got everything. The feed keeps
// all it has: who reads it says nowhere how far he has come.
func (x *tx) outboxFloor() (int64, error) {
	var floor sql.NullInt64
	err := x.row(`SELECT MIN(CASE WHEN kind_code='feed' THEN 0 ELSE position END) FROM ing_outbox_target`).Scan(&floor)
	return floor.Int64, err
}

// lastFeedNo is the last place in the stream that was given.
func (x *tx) lastFeedNo() (last int64, err error) {
	err = x.row(`SELECT value FROM ing_meta WHERE name=?`, feedCounter).Scan(&last)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return last, err
}
