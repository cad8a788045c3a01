package sqlstore

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/papertrace/patra/internal/app/relay"
	"github.com/papertrace/patra/internal/domain/harvest"
)

var _ relay.Store = (*Store)(nil)

// EnsureTarget implements relay.Store.
func (s *Store) EnsureTarget(ctx context.Context, name, kind string) (isNew bool, err error) {
	var held string
	err = s.r.QueryRowContext(ctx, `SELECT kind_code FROM ing_outbox_target WHERE target_name=?`, name).Scan(&held)
	if err == nil && held == kind {
		return false, nil
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, fmt.Errorf("look for target %s: %w", name, err)
	}
	err = s.openOutbox(ctx, "add a target", func(x *tx) error {
		n, err := x.exec(`UPDATE ing_outbox_target SET kind_code=? WHERE target_name=?`, kind, name)
		if err != nil {
			return err
		}
		isNew = n == 0
		if !isNew {
			return nil
		}
		var there int64 // a server counts no row that says the same already
		if err := x.row(`SELECT COUNT(*) FROM ing_outbox_target WHERE target_name=?`, name).Scan(&there); err != nil || there > 0 {
			isNew = false
			return err
		}
		return x.insertTarget(name, kind)
	})
	return isNew, err
}

// insertTarget adds a target that is told of what comes from now on.
func (x *tx) insertTarget(name, kind string) error {
	last, err := x.lastFeedNo()
	if err != nil {
		return err
	}
	_, err = x.insertInto("ing_outbox_target", []col{
		{"target_name", name},
		{"kind_code", kind},
		{"position", last},
		{"next_at", ts(x.now)},
		{"created_at", ts(x.now)},
	})
	return x.orLostRace(err)
}

// ClaimTarget implements relay.Store. Its fence grows with every owner.
func (s *Store) ClaimTarget(ctx context.Context, c relay.Claim) (l relay.Lease, mine bool, err error) {
	free := func(owner string, until, now ts) bool {
		return owner == "" || owner == c.Owner || !until.time().After(now.time()) || c.Gone != nil && c.Gone(owner)
	}
	read := func(row scanner) (next, until ts, owner string, err error) {
		var who sql.NullString
		err = row.Scan(&l.Target, &l.Fence, &l.Failures, &next, &until, &who)
		return next, until, who.String, err
	}
	const query = `SELECT id, fence, failures, next_at, leased_until, lease_owner FROM ing_outbox_target WHERE target_name=?`
	// Mostly another has it, and there is nothing to write.
	now, err := s.Now(ctx)
	if err != nil {
		return l, false, err
	}
	next, until, owner, err := read(s.r.QueryRowContext(ctx, query, c.Target))
	if errors.Is(err, sql.ErrNoRows) {
		return l, false, nil // somebody removed it
	}
	if err != nil {
		return l, false, fmt.Errorf("look at target %s: %w", c.Target, err)
	}
	if next.time().After(now) || !free(owner, until, ts(now)) {
		return l, false, nil
	}
	err = s.write(ctx, "claim a target", func(x *tx) error {
		mine = false
		next, until, owner, err := read(x.row(query+x.s.d.forUpdate, c.Target))
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil || next.time().After(x.now) || !free(owner, until, ts(x.now)) {
			return err
		}
		n, err := x.exec(`UPDATE ing_outbox_target SET fence=fence+1, lease_owner=?, leased_until=? WHERE id=? AND fence=?`,
			c.Owner, ts(x.now.Add(c.TTL)), l.Target, l.Fence)
		mine = n == 1
		return err
	})
	l.Name = c.Target
	l.Owner = c.Owner
	l.TTL = c.TTL
	l.Fence++
	return l, mine, err
}

// NextRevisions implements relay.Store. Where the stream is read to its end, places in it
// are given to what was committed since.
func (s *Store) NextRevisions(ctx context.Context, l relay.Lease, most int) (b relay.Batch, err error) {
	now, err := s.Now(ctx)
	if err != nil {
		return b, err
	}
	var snapshot sql.NullInt64
	var position int64
	err = s.r.QueryRowContext(ctx, `SELECT position, snapshot_after FROM ing_outbox_target WHERE id=?`, l.Target).Scan(&position, &snapshot)
	if errors.Is(err, sql.ErrNoRows) {
		return b, fmt.Errorf("target %s was removed: %w", l.Name, harvest.ErrLeaseLost)
	}
	if err != nil {
		return b, fmt.Errorf("look at target %s: %w", l.Name, err)
	}
	b.Again, err = s.heldRevisions(ctx, l.Target, ts(now), most)
	if err != nil {
		return b, err
	}
	if snapshot.Valid {
		err := s.snapshotOf(ctx, l.Target, position, snapshot.Int64, most, &b)
		return b, err
	}
	if err := s.streamOf(ctx, l.Target, position, most, &b); err != nil {
		return b, err
	}
	if len(b.Fresh) == 0 && b.To == b.From {
		given, err := s.numberStream(ctx, most)
		if err != nil || given == 0 {
			return b, err
		}
		return b, s.streamOf(ctx, l.Target, position, most, &b)
	}
	return b, nil
}

// eventBytes is how many bytes of fields a batch of messages has, and one revision more.
const eventBytes = 4 << 20

// eventCols are what [eventScan] reads of a version v of a record r; v may be absent.
const eventCols = `r.id, r.provenance_code, r.record_type, r.ext_id, COALESCE(v.revision, 0), v.effect_code, v.status_code,
	CASE WHEN v.status_code='MERGED' THEN r.merged_into END, v.updated_at, v.raw_sha256, ` + lineageOfBatch + `, v.batch_id, v.mapping_version,
	v.observed_at, v.created_at, v.raw, v.fields, COALESCE(v.codec_code, ''), v.dictionary_id`

// eventScan is where a row with eventCols is read to.
type eventScan struct {
	relay.Revision
	effect, status, into, mapping sql.NullString
	updated, fetched, stored      ts
	batch                         sql.NullInt64
	sha                           []byte
	body                          storedBody
}

func (e *eventScan) dest(more ...any) []any {
	out := []any{
		&e.Record, &e.Source, &e.Type, &e.ID, &e.Number, &e.effect, &e.status, &e.into, &e.updated, &e.sha,
		&e.Plan, &e.Slice, &e.Task, &e.Run, &e.batch, &e.mapping, &e.fetched, &e.stored,
	}
	return append(append(out, e.body.dest()...), more...)
}

// revision is what was read; is: the version is held.
func (e *eventScan) revision(ctx context.Context, s *Store) (r relay.Revision, is bool, err error) {
	r = e.Revision
	if r.Number == 0 {
		return r, false, nil
	}
	r.Fields, err = s.openFields(ctx, e.body)
	is, damaged := unreadable(err)
	switch {
	case damaged:
		r.Unreadable = fmt.Errorf("%w: %w", relay.ErrDamaged, err)
	case is:
		r.Unreadable = err
	case err != nil:
		return r, false, fmt.Errorf("record %s %s: %w", r.Source, r.ID, err)
	}
	r.Effect = e.effect.String
	r.Status = harvest.RecordStatus(e.status.String)
	r.MergedInto = e.into.String
	r.MappingVersion = e.mapping.String
	r.Batch = harvest.BatchID(e.batch.Int64)
	r.UpdatedAt = e.updated.time()
	r.FetchedAt = e.fetched.time()
	r.StoredAt = e.stored.time()
	r.RawSHA256 = hex.EncodeToString(e.sha)
	return r, true, nil
}

// heldOf are, for the record of a row, whether a target waits with one of its revisions
// or has parked one; the id of the target is bound twice.
const heldOf = `EXISTS (SELECT 1 FROM ing_outbox_held w WHERE w.target_id=? AND w.record_id=r.id AND w.state_code='WAITING'),
	EXISTS (SELECT 1 FROM ing_outbox_held w WHERE w.target_id=? AND w.record_id=r.id AND w.state_code='PARKED')`

// streamOf reads what comes behind a place in the stream. A version that is archived was
// replaced by one that comes later, and is passed over.
func (s *Store) streamOf(ctx context.Context, target, after int64, most int, b *relay.Batch) error {
	b.From = after
	b.To = after
	size := 0
	err := s.each(ctx, func(rows *sql.Rows) error {
		var e eventScan
		if err := rows.Scan(e.dest(&e.No, &e.Waits, &e.Passes)...); err != nil {
			return err
		}
		if size > eventBytes {
			return errEnough
		}
		r, is, err := e.revision(ctx, s)
		if err != nil {
			return err
		}
		b.To = e.No
		if is {
			size += len(r.Fields)
			b.Fresh = append(b.Fresh, r)
		}
		return nil
	}, `SELECT `+eventCols+`, o.feed_no, `+heldOf+`
		FROM ing_outbox o JOIN ing_record r ON r.id=o.record_id
		LEFT JOIN ing_record_version v ON v.record_id=o.record_id AND v.revision=o.revision`+joinBatch("v.batch_id")+`
		WHERE o.feed_no > ? ORDER BY o.feed_no LIMIT ?`, target, target, after, most)
	if err != nil && !errors.Is(err, errEnough) {
		return fmt.Errorf("read the stream: %w", err)
	}
	return nil
}

// snapshotOf reads everything that is held, record by record. A record with revisions in
// the stream that the target has not got yet comes with the one before the first of them:
// so the stream goes on from it, and what was stored since the target was added comes
// once and in order.
func (s *Store) snapshotOf(ctx context.Context, target, position, after int64, most int, b *relay.Batch) error {
	b.Snapshot = true
	b.From = after
	b.To = after
	b.Ends = true
	size := 0
	seen := 0
	err := s.each(ctx, func(rows *sql.Rows) error {
		var e eventScan
		if err := rows.Scan(e.dest(&e.Waits, &e.Passes)...); err != nil {
			return err
		}
		if size > eventBytes {
			b.Ends = false
			return errEnough
		}
		seen++
		b.To = e.Record
		r, is, err := e.revision(ctx, s)
		if err != nil {
			return err
		}
		if is {
			size += len(r.Fields)
			b.Fresh = append(b.Fresh, r)
		}
		return nil
	}, `SELECT `+eventCols+`, `+heldOf+` FROM (
			SELECT c.id, c.provenance_code, c.record_type, c.ext_id, c.merged_into, COALESCE(
				(SELECT MIN(o.revision)-1 FROM ing_outbox o WHERE o.record_id=c.id AND (o.feed_no IS NULL OR o.feed_no>?)), c.revision) AS comes_with
			FROM ing_record c WHERE c.id > ? ORDER BY c.id LIMIT ?) r
		LEFT JOIN ing_record_version v ON v.record_id=r.id AND v.revision=r.comes_with`+joinBatch("v.batch_id")+`
		ORDER BY r.id`, target, target, position, after, most)
	if err != nil && !errors.Is(err, errEnough) {
		return fmt.Errorf("read what is held: %w", err)
	}
	b.Ends = b.Ends && seen < most
	return nil
}

// heldRevisions reads what is to be tried again: of each record the first revision that
// waits, if it is due.
func (s *Store) heldRevisions(ctx context.Context, target int64, now ts, most int) (out []relay.Revision, err error) {
	err = s.each(ctx, func(rows *sql.Rows) error {
		var e eventScan
		var revision int64
		if err := rows.Scan(e.dest(&revision, &e.Attempts)...); err != nil {
			return err
		}
		r, _, err := e.revision(ctx, s)
		out = append(out, r)
		return err
	}, `SELECT `+eventCols+`, h.revision, h.attempts
		FROM ing_outbox_held h JOIN ing_record r ON r.id=h.record_id
		JOIN ing_record_version v ON v.record_id=h.record_id AND v.revision=h.revision`+joinBatch("v.batch_id")+`
		WHERE h.target_id=? AND h.state_code='WAITING' AND h.next_at<=?
		AND NOT EXISTS (SELECT 1 FROM ing_outbox_held w WHERE w.target_id=h.target_id AND w.record_id=h.record_id AND w.state_code='WAITING' AND w.revision<h.revision)
		ORDER BY h.next_at, h.id LIMIT ?`, target, now, most)
	if err != nil {
		return nil, fmt.Errorf("read what is to be sent again: %w", err)
	}
	return out, nil
}

// Settle implements relay.Store. Its first statement is the guard: it renews the lease
// and says where the target stands, and finds no row once another has the target.
func (s *Store) Settle(ctx context.Context, l relay.Lease, o relay.Outcome) error {
	return s.write(ctx, "settle what was sent", func(x *tx) error {
		if err := x.moveTarget(l, o); err != nil {
			return err
		}
		for part := range chunks(o.Taken, rowsPerInsert) {
			if err := x.dropHeld(l, part); err != nil {
				return err
			}
		}
		for part := range chunks(o.Behind, rowsPerInsert) {
			if err := x.holdBehind(l, part); err != nil {
				return err
			}
		}
		for _, f := range o.Refused {
			if err := x.holdRefused(l, f); err != nil {
				return err
			}
		}
		return nil
	})
}

// moveTarget says where a target stands.
func (x *tx) moveTarget(l relay.Lease, o relay.Outcome) error {
	cols := []col{{"leased_until", ts(x.now.Add(l.TTL))}}
	if o.Leave {
		cols = []col{{"leased_until", nil}, {"lease_owner", nil}}
	}
	switch {
	case o.To < 0: // it stands where it stood
	case o.Snapshot && o.Ends:
		cols = append(cols, col{"snapshot_after", nil})
	case o.Snapshot:
		cols = append(cols, col{"snapshot_after", o.To})
	default:
		cols = append(cols, col{"position", o.To})
	}
	switch {
	case o.Out != "":
		cols = append(cols, col{"failures", l.Failures + 1}, col{"error", null(o.Out)}, col{"next_at", ts(x.now.Add(o.Rest))})
	case o.Sent > 0:
		cols = append(cols, col{"failures", 0}, col{"error", nil})
	}
	if o.Sent > 0 {
		cols = append(cols, col{"sent_at", ts(x.now)})
	}
	set, values := assign(cols, o.Sent, l.Target, l.Fence)
	n, err := x.exec(`UPDATE ing_outbox_target SET `+set+`, sent=sent+? WHERE id=? AND fence=?`, values...)
	if err != nil {
		return fmt.Errorf("guard target %s: %w", l.Name, err)
	}
	if n == 0 {
		return fmt.Errorf("target %s: %w", l.Name, harvest.ErrLeaseLost)
	}
	return nil
}

// dropHeld forgets what was taken, with what was parked before it: the newer revision
// says all that the older did.
func (x *tx) dropHeld(l relay.Lease, part []relay.Revision) error {
	for _, r := range part {
		if _, err := x.exec(`DELETE FROM ing_outbox_held WHERE target_id=? AND record_id=? AND revision<=?`, l.Target, r.Record, r.Number); err != nil {
			return fmt.Errorf("forget what was sent: %w", err)
		}
	}
	return nil
}

const heldCols = `target_id, record_id, revision, state_code, next_at, created_at`

// holdBehind has revisions wait for earlier ones of their records.
func (x *tx) holdBehind(l relay.Lease, part []relay.Revision) error {
	args := make([]any, 0, len(part)*columns(heldCols))
	now := ts(x.now).text()
	for _, r := range part {
		args = append(args, l.Target, r.Record, r.Number, "WAITING", now, now)
	}
	if _, err := x.exec(x.s.d.insertIgnore+` INTO ing_outbox_held (`+heldCols+`) VALUES `+marks(len(part), columns(heldCols)), args...); err != nil {
		return fmt.Errorf("hold what waits: %w", err)
	}
	return nil
}

// holdRefused has a message tried again later, or parks it.
func (x *tx) holdRefused(l relay.Lease, f relay.Refusal) error {
	if err := x.holdBehind(l, []relay.Revision{f.Revision}); err != nil {
		return err
	}
	state := "WAITING"
	if f.Parked {
		state = "PARKED"
	}
	_, err := x.exec(`UPDATE ing_outbox_held SET state_code=?, attempts=?, error=?, next_at=? WHERE target_id=? AND record_id=? AND revision=?`,
		state, f.Attempts, null(f.Error), ts(x.now.Add(f.Rest)), l.Target, f.Record, f.Number)
	if err != nil {
		return fmt.Errorf("hold what was refused: %w", err)
	}
	return nil
}
