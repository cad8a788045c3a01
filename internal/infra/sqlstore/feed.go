package sqlstore

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
)

// feedCounter is the row that whoever gives places in the feed holds, with the last
// place that was given.
const feedCounter = "feed_no"

// NumberFeed gives places in the feed to revisions that were committed and have none.
//
// The ids of the outbox would not do: a server gives them when a row is inserted, and
// a transaction with smaller ids may commit after one with greater ones was read.
// Places are given to what is committed, by one at a time, who lets the next come
// only after his own commit. So whoever sees a place sees all before it, and none is
// given later that is smaller. Revisions of one record keep their order, since each
// is inserted after the one before it was committed.
func (s *Store) NumberFeed(ctx context.Context, most int) (int, error) {
	var goesOn bool
	err := s.r.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM ing_outbox_target WHERE kind_code='feed' AND snapshot_after IS NOT NULL)`).Scan(&goesOn)
	if err != nil {
		return 0, fmt.Errorf("number the feed: %w", err)
	}
	given, err := s.numberStream(ctx, most)
	if err != nil || given > 0 || !goesOn {
		return given, err
	}
	err = s.write(ctx, "feed what is held", func(x *tx) error { return x.feedWhatIsHeld(most) })
	if err != nil {
		return 0, err
	}
	return s.numberStream(ctx, most)
}

// numberStream gives places to revisions that have none.
func (s *Store) numberStream(ctx context.Context, most int) (given int, err error) {
	var one int64
	err = s.r.QueryRowContext(ctx, `SELECT id FROM ing_outbox WHERE feed_no IS NULL LIMIT 1`).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil // mostly there is nothing to do, and nobody to wait for
	}
	if err != nil {
		return 0, fmt.Errorf("number the feed: %w", err)
	}
	err = s.write(ctx, "number the feed", func(x *tx) error {
		last, err := x.lockFeed()
		if err != nil {
			return err
		}
		ids, err := x.ids(`SELECT id FROM ing_outbox WHERE feed_no IS NULL ORDER BY id LIMIT ?`, most)
		if err != nil {
			return err
		}
		given = len(ids)
		for part := range chunks(ids, rowsPerInsert) {
			if err := x.placeInFeed(part, last); err != nil {
				return err
			}
			last += int64(len(part))
		}
		_, err = x.exec(`UPDATE ing_meta SET value=? WHERE name=?`, strconv.FormatInt(last, 10), feedCounter)
		return err
	})
	return given, err
}

// feedWhatIsHeld goes on to write down what was held when the feed began, the newest
// revision of every record that has no row, until some were written or it is done. The
// row of the feed is locked, so that one does so at a time. The
// records are locked first, so that no newer revision is written down before.
func (x *tx) feedWhatIsHeld(most int) error {
	for {
		var id int64
		var after sql.NullInt64
		err := x.row(`SELECT id, snapshot_after FROM ing_outbox_target WHERE kind_code='feed'`+x.s.d.forUpdate).Scan(&id, &after)
		if errors.Is(err, sql.ErrNoRows) || err == nil && !after.Valid {
			return nil
		}
		if err != nil {
			return err
		}
		records, err := x.ids(`SELECT id FROM ing_record WHERE id>? ORDER BY id LIMIT ?`+x.s.d.forUpdate, after.Int64, most)
		if err != nil {
			return err
		}
		if len(records) == 0 {
			_, err := x.exec(`UPDATE ing_outbox_target SET snapshot_after=NULL WHERE id=?`, id)
			return err
		}
		to := records[len(records)-1]
		n, err := x.exec(`INSERT INTO ing_outbox (record_id, revision, created_at) SELECT r.id, r.revision, ? FROM ing_record r
			WHERE r.id>? AND r.id<=? AND NOT EXISTS (SELECT 1 FROM ing_outbox o WHERE o.record_id=r.id) ORDER BY r.id`, ts(x.now), after.Int64, to)
		if err != nil {
			return err
		}
		if _, err := x.exec(`UPDATE ing_outbox_target SET snapshot_after=? WHERE id=?`, to, id); err != nil {
			return err
		}
		if n > 0 {
			return nil
		}
	}
}

// feedName is what the feed is called among the targets.
const feedName = "feed"

// noteAskedEvery is how often it is noted that somebody asks for the feed.
const noteAskedEvery = time.Hour

// UseFeed has revisions written down for the feed from now on, and what is held after
// them, if they are not. [control.ErrFeedGone] if what comes behind a place is not there
// any more.
func (s *Store) UseFeed(ctx context.Context, after int64) error {
	var begin int64
	var asked ts
	err := s.r.QueryRowContext(ctx, `SELECT position, asked_at FROM ing_outbox_target WHERE kind_code='feed'`).Scan(&begin, &asked)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("look at the feed: %w", err)
	}
	isUsed := err == nil
	if after > 0 && (!isUsed || after < begin) {
		return control.ErrFeedGone
	}
	if !isUsed {
		return s.openOutbox(ctx, "begin the feed", (*tx).beginFeed)
	}
	now, err := s.Now(ctx)
	if err != nil || now.Sub(asked.time()) < noteAskedEvery {
		return err
	}
	return s.write(ctx, "note that the feed is read", func(x *tx) error {
		_, err := x.exec(`UPDATE ing_outbox_target SET asked_at=? WHERE kind_code='feed'`, ts(x.now))
		return err
	})
}

// beginFeed adds the feed. It begins behind the last row that was removed.
func (x *tx) beginFeed() error {
	var there, begin int64
	if err := x.row(`SELECT COUNT(*) FROM ing_outbox_target WHERE kind_code='feed'`).Scan(&there); err != nil || there > 0 {
		return err
	}
	last, err := x.lastFeedNo()
	if err != nil {
		return err
	}
	err = x.row(`SELECT COALESCE(MIN(feed_no)-1, ?) FROM ing_outbox WHERE feed_no IS NOT NULL`, last).Scan(&begin)
	if err != nil {
		return err
	}
	_, err = x.insertInto("ing_outbox_target", []col{
		{"target_name", feedName},
		{"kind_code", "feed"},
		{"position", begin},
		{"snapshot_after", 0},
		{"next_at", ts(x.now)},
		{"asked_at", ts(x.now)},
		{"created_at", ts(x.now)},
	})
	return x.orLostRace(err)
}

// lockFeed takes the right to give places until the transaction ends, and tells the
// last one that was given.
func (x *tx) lockFeed() (last int64, err error) {
	if _, err := x.exec(x.s.d.insertIgnore+` INTO ing_meta (name, value) VALUES (?, '0')`, feedCounter); err != nil {
		return 0, err
	}
	var text string
	if err := x.row(`SELECT value FROM ing_meta WHERE name=?`+x.s.d.forUpdate, feedCounter).Scan(&text); err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

// placeInFeed gives rows of the outbox the places behind one, in their order.
func (x *tx) placeInFeed(ids []int64, behind int64) error {
	var cases strings.Builder
	args := make([]any, 0, 3*len(ids))
	for i, id := range ids {
		cases.WriteString(" WHEN ? THEN ?")
		args = append(args, id, behind+int64(i)+1)
	}
	for _, id := range ids {
		args = append(args, id)
	}
	_, err := x.exec(`UPDATE ing_outbox SET feed_no=CASE id`+cases.String()+` END WHERE id IN (`+list(len(ids))+`)`, args...)
	return err
}

// errEnough ends a reading before its last row.
var errEnough = errors.New("enough was read")

// Feed reads the revisions behind a place in the feed, in order, each as it was then.
func (s *Store) Feed(
	ctx context.Context, after int64, limit int, f func(no int64, effect string, e *control.Exported) (bool, error),
) error {
	err := s.each(ctx, func(r *sql.Rows) error {
		var e control.Exported
		var no int64
		var effect string
		var updated, fetched ts
		var sha []byte
		var into sql.NullString
		var body storedBody
		dest := []any{
			&no, &effect, &e.Provenance, &e.Type, &e.ID, &e.Status, &into, &e.Revision, &updated, &sha,
			&e.Plan, &e.Slice, &e.Task, &e.Run, &e.Batch, &e.MappingVersion, &fetched,
		}
		err := r.Scan(append(dest, body.dest()...)...)
		if err != nil {
			return err
		}
		e.Fields, err = s.openFields(ctx, body)
		if err != nil {
			return fmt.Errorf("record %s %s: %w", e.Provenance, e.ID, err)
		}
		e.UpdatedAt = updated.time()
		e.FetchedAt = fetched.time()
		e.RawSHA256 = hex.EncodeToString(sha)
		e.MergedInto = into.String
		more, err := f(no, effect, &e)
		if err == nil && !more {
			err = errEnough
		}
		return err
	}, `SELECT o.feed_no, v.effect_code, r.provenance_code, r.record_type, r.ext_id, v.status_code,
		CASE WHEN v.status_code='MERGED' THEN r.merged_into END,
		v.revision, v.updated_at, v.raw_sha256, `+lineageOfBatch+`, v.batch_id, v.mapping_version,
		v.observed_at, `+bodyCols+`
		FROM ing_outbox o JOIN ing_record r ON r.id=o.record_id
		JOIN ing_record_version v ON v.record_id=o.record_id AND v.revision=o.revision`+joinBatch("v.batch_id")+`
		WHERE o.feed_no > ? ORDER BY o.feed_no LIMIT ?`, after, limit)
	if err != nil && !errors.Is(err, errEnough) {
		return fmt.Errorf("read the feed: %w", err)
	}
	return nil
}
