package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// OutboxTargets tells how each target fares, and the feed.
func (s *Store) OutboxTargets(ctx context.Context) ([]control.OutboxTarget, error) {
	now, err := s.Now(ctx)
	if err != nil {
		return nil, err
	}
	out := []control.OutboxTarget{}
	err = s.each(ctx, func(r *sql.Rows) error {
		var t control.OutboxTarget
		var snapshot sql.NullInt64
		var owner, why sql.NullString
		var until, sent, next, asked, created ts
		err := r.Scan(&t.Number, &t.Name, &t.Kind, &t.Position, &snapshot, &owner, &until, &t.Sent, &sent, &t.Failures, &why, &next, &asked, &created)
		t.Everything = snapshot.Valid
		if until.time().After(now) {
			t.Owner = owner.String
		}
		t.LastSentAt = optionalTime(sent)
		t.AskedAt = optionalTime(asked)
		t.Since = control.Time(created)
		t.Error = why.String
		if next.time().After(now) {
			t.RetryAt = optionalTime(next)
		}
		out = append(out, t)
		return err
	}, `SELECT t.id, t.target_name, t.kind_code, t.position, t.snapshot_after, t.lease_owner, t.leased_until, t.sent, t.sent_at, t.failures, t.error,
		t.next_at, t.asked_at, t.created_at FROM ing_outbox_target t ORDER BY t.target_name`)
	if err != nil {
		return nil, fmt.Errorf("list targets of events: %w", err)
	}
	for i := range out {
		if out[i].Kind == "feed" {
			continue
		}
		if err := s.countBacklog(ctx, &out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func optionalTime(t ts) *control.Time {
	if t.time().IsZero() {
		return nil
	}
	return new(control.Time(t))
}

// countBacklog counts what a target has not got yet and what it did not take, and tells
// since when the oldest of it waits.
func (s *Store) countBacklog(ctx context.Context, t *control.OutboxTarget) error {
	err := s.r.QueryRowContext(ctx, `SELECT (SELECT COUNT(*) FROM (SELECT 1 AS n FROM ing_outbox WHERE feed_no>? LIMIT ?) a)
		+(SELECT COUNT(*) FROM (SELECT 1 AS n FROM ing_outbox WHERE feed_no IS NULL LIMIT ?) b),
		(SELECT COUNT(*) FROM (SELECT 1 AS n FROM ing_outbox_held WHERE target_id=? AND state_code='WAITING' LIMIT ?) c),
		(SELECT COUNT(*) FROM (SELECT 1 AS n FROM ing_outbox_held WHERE target_id=? AND state_code='PARKED' LIMIT ?) d)`,
		t.Position, countedAtMost, countedAtMost, t.Number, countedAtMost, t.Number, countedAtMost).Scan(&t.Backlog, &t.Waiting, &t.Parked)
	if err != nil {
		return fmt.Errorf("count the backlog of %s: %w", t.Name, err)
	}
	t.Backlog = min(t.Backlog, countedAtMost)
	if t.Backlog == 0 {
		return nil
	}
	var oldest ts
	err = s.r.QueryRowContext(ctx, `SELECT COALESCE((SELECT created_at FROM ing_outbox WHERE feed_no>? ORDER BY feed_no LIMIT 1),
		(SELECT created_at FROM ing_outbox WHERE feed_no IS NULL ORDER BY id LIMIT 1))`, t.Position).Scan(&oldest)
	if err != nil {
		return fmt.Errorf("look at the backlog of %s: %w", t.Name, err)
	}
	t.OldestAt = optionalTime(oldest)
	return nil
}

const heldFrom = `SELECT h.id, t.target_name, r.provenance_code, r.record_type, r.ext_id, h.revision, h.state_code, h.attempts, h.error, h.next_at, h.created_at
	FROM ing_outbox_held h JOIN ing_outbox_target t ON t.id=h.target_id JOIN ing_record r ON r.id=h.record_id`

func scanHeld(scan func(...any) error) (control.OutboxMessage, error) {
	var m control.OutboxMessage
	var why sql.NullString
	var next, created ts
	err := scan(&m.ID, &m.Target, &m.Source, &m.Type, &m.Record, &m.Revision, &m.State, &m.Attempts, &why, &next, &created)
	m.Error = why.String
	m.Since = control.Time(created)
	if m.State == control.MessageWaiting {
		m.RetryAt = optionalTime(next)
	}
	return m, err
}

// OutboxMessages lists messages that a target refused, and those that wait behind one, in
// the order in which they came, behind one.
func (s *Store) OutboxMessages(ctx context.Context, q control.OutboxQuery, after int64, limit int) ([]control.OutboxMessage, error) {
	where := ` WHERE h.id>?`
	args := []any{after}
	if q.Target != "" {
		where += ` AND t.target_name=?`
		args = append(args, q.Target)
	}
	if q.Parked {
		where += ` AND h.state_code='PARKED'`
	}
	out := []control.OutboxMessage{}
	err := s.each(ctx, func(r *sql.Rows) error {
		m, err := scanHeld(r.Scan)
		out = append(out, m)
		return err
	}, heldFrom+where+` ORDER BY h.id LIMIT ?`, append(args, limit)...)
	if err != nil {
		return nil, fmt.Errorf("list messages of the outbox: %w", err)
	}
	return out, nil
}

// OutboxMessage reads one.
func (s *Store) OutboxMessage(ctx context.Context, id int64) (control.OutboxMessage, error) {
	m, err := scanHeld(s.r.QueryRowContext(ctx, heldFrom+` WHERE h.id=?`, id).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return m, fmt.Errorf("message %d: %w", id, harvest.ErrNotFound)
	}
	if err != nil {
		return m, fmt.Errorf("read message %d: %w", id, err)
	}
	return m, nil
}

// RetryOutbox has messages tried again at once, with all tries before them: one, those of
// a target, or all that are parked or wait. It tells how many.
func (s *Store) RetryOutbox(ctx context.Context, q control.OutboxRetry, a source.Audit) (n int64, err error) {
	err = s.write(ctx, "retry messages", func(x *tx) error {
		where := `1=1`
		args := []any{ts(x.now)}
		if q.ID != 0 {
			where += ` AND id=?`
			args = append(args, q.ID)
		}
		if q.Target != "" {
			where += ` AND target_id=(SELECT t.id FROM ing_outbox_target t WHERE t.target_name=?)`
			args = append(args, q.Target)
		}
		n, err = x.exec(`UPDATE ing_outbox_held SET state_code='WAITING', attempts=0, next_at=? WHERE `+where, args...)
		if err != nil {
			return err
		}
		if n == 0 && q.ID != 0 {
			return fmt.Errorf("message %d: %w", q.ID, harvest.ErrNotFound)
		}
		// A target that rests is tried at once, too.
		set := `UPDATE ing_outbox_target SET next_at=? WHERE kind_code<>'feed'`
		targets := []any{ts(x.now)}
		if q.Target != "" {
			set += ` AND target_name=?`
			targets = append(targets, q.Target)
		}
		if q.ID == 0 {
			if _, err := x.exec(set, targets...); err != nil {
				return err
			}
		}
		return x.audit(a, map[string]any{"messages": n})
	})
	return n, err
}

// AddOutboxTarget has a target kept from now on; everything: what is held is sent to it
// first. Whoever works for it is stopped, so that he sees it.
func (s *Store) AddOutboxTarget(ctx context.Context, name, kind string, everything bool, a source.Audit) error {
	return s.openOutbox(ctx, "add a target", func(x *tx) error {
		var there int64
		if err := x.row(`SELECT COUNT(*) FROM ing_outbox_target WHERE target_name=?`, name).Scan(&there); err != nil {
			return err
		}
		if there == 0 {
			if err := x.insertTarget(name, kind); err != nil {
				return err
			}
		}
		if everything {
			if _, err := x.exec(`UPDATE ing_outbox_target SET snapshot_after=0, fence=fence+1, lease_owner=NULL, leased_until=NULL WHERE target_name=?`, name); err != nil {
				return err
			}
		}
		return x.audit(a, map[string]any{"kind": kind, "everything": everything})
	})
}

// RemoveOutboxTarget forgets a target and what waits for it. Whoever works for it keeps
// nothing more.
func (s *Store) RemoveOutboxTarget(ctx context.Context, name string, a source.Audit) error {
	return s.write(ctx, "remove a target", func(x *tx) error {
		if _, err := x.lockOutbox(); err != nil {
			return err
		}
		var id int64
		err := x.row(`SELECT id FROM ing_outbox_target WHERE target_name=?`+x.s.d.forUpdate, name).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("target %s: %w", name, harvest.ErrNotFound)
		}
		if err != nil {
			return err
		}
		if _, err := x.exec(`DELETE FROM ing_outbox_held WHERE target_id=?`, id); err != nil {
			return err
		}
		if _, err := x.exec(`DELETE FROM ing_outbox_target WHERE id=?`, id); err != nil {
			return err
		}
		if _, err := x.closeOutbox(); err != nil {
			return err
		}
		return x.audit(a, nil)
	})
}
