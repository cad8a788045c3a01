package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/app/alert"
	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

var _ alert.Store = (*Store)(nil)

// keptDeliveries is how long a message that was sent or given up is kept.
const keptDeliveries = 30 * 24 * time.Hour

const alertCols = `id, rule_code, subject, provenance_code, state_code, severity_code, message, measured, threshold, next_step,
	since, fired_at, calm_since, cleared_at, firings, flaps, told_code, notified_at, acked_by, acked_at, ack_reason, snoozed_until, snoozed_by`

func scanAlert(scan func(...any) error) (alert.Alert, error) {
	var a alert.Alert
	var source, told, acker, why, snoozer sql.NullString
	var since, fired, calm, cleared, notified, acked, snoozed ts
	err := scan(&a.ID, &a.Rule, &a.Subject, &source, &a.State, &a.Severity, &a.Text, &a.Measured, &a.Threshold, &a.Next, &since, &fired,
		&calm, &cleared, &a.Firings, &a.Flaps, &told, &notified, &acker, &acked, &why, &snoozed, &snoozer)
	a.Source = source.String
	a.Since = since.time()
	a.FiredAt = fired.time()
	a.CalmSince = calm.time()
	a.ClearedAt = cleared.time()
	a.Told = alert.State(told.String)
	a.ToldAt = notified.time()
	a.AckedBy = acker.String
	a.AckedAt = acked.time()
	a.AckReason = why.String
	a.SnoozedUntil = snoozed.time()
	a.SnoozedBy = snoozer.String
	return a, err
}

// UpdateAlerts implements alert.Store. All alerts are locked while they are judged:
// there is one for a rule and its subject, and who comes second sees what the first
// has made of them. A crash leaves the change and its messages, or neither.
func (s *Store) UpdateAlerts(ctx context.Context, targets []alert.Target, judge func(time.Time, []alert.Alert) []alert.Change) error {
	return s.write(ctx, "update alerts", func(x *tx) error {
		var held []alert.Alert
		err := x.each(func(r *sql.Rows) error {
			a, err := scanAlert(r.Scan)
			held = append(held, a)
			return err
		}, `SELECT `+alertCols+` FROM ing_alert ORDER BY id`+x.s.d.forUpdate)
		if err != nil {
			return err
		}
		for _, c := range judge(x.now, held) {
			if err := x.keepAlert(&c.Alert); err != nil {
				return fmt.Errorf("keep alert %s %s: %w", c.Rule, c.Subject, err)
			}
			if err := x.queueMessages(c, targets); err != nil {
				return err
			}
		}
		return nil
	})
}

// keepAlert writes an alert, and gives a new one its number.
func (x *tx) keepAlert(a *alert.Alert) error {
	cols := []col{
		{"rule_code", a.Rule},
		{"subject", clip(a.Subject, 255)},
		{"provenance_code", null(a.Source)},
		{"state_code", a.State},
		{"severity_code", a.Severity},
		{"message", a.Text},
		{"measured", clip(a.Measured, 255)},
		{"threshold", clip(a.Threshold, 255)},
		{"next_step", a.Next},
		{"since", ts(a.Since)},
		{"fired_at", ts(a.FiredAt)},
		{"calm_since", ts(a.CalmSince)},
		{"cleared_at", ts(a.ClearedAt)},
		{"firings", a.Firings},
		{"flaps", a.Flaps},
		{"told_code", null(a.Told)},
		{"notified_at", ts(a.ToldAt)},
		{"acked_by", null(a.AckedBy)},
		{"acked_at", ts(a.AckedAt)},
		{"ack_reason", null(a.AckReason)},
		{"snoozed_until", ts(a.SnoozedUntil)},
		{"snoozed_by", null(a.SnoozedBy)},
		{"updated_at", ts(x.now)},
	}
	if a.ID != 0 {
		set, values := assign(cols, a.ID)
		_, err := x.exec(`UPDATE ing_alert SET `+set+` WHERE id=?`, values...)
		return err
	}
	id, err := x.insertInto("ing_alert", cols)
	a.ID = id
	return x.orLostRace(err)
}

// queueMessages writes what is to be sent about a change, and forgets what was sent
// long ago.
func (x *tx) queueMessages(c alert.Change, targets []alert.Target) error {
	if c.Tell == "" {
		return nil
	}
	payload, err := jsonText(c.Message())
	if err != nil {
		return err
	}
	for _, t := range targets {
		_, err := x.insertInto("ing_alert_delivery", []col{
			{"alert_id", c.ID},
			{"target_name", t.Name},
			{"payload", payload},
			{"next_at", ts(x.now)},
			{"created_at", ts(x.now)},
		})
		if err != nil {
			return fmt.Errorf("queue a message for %s: %w", t.Name, err)
		}
	}
	_, err = x.exec(`DELETE FROM ing_alert_delivery WHERE ended_at<?`, ts(x.now.Add(-keptDeliveries)))
	return err
}

// DueDelivery implements alert.Store.
func (s *Store) DueDelivery(ctx context.Context, target string) (alert.Delivery, bool, error) {
	d := alert.Delivery{Target: target}
	now, err := s.Now(ctx)
	if err != nil {
		return d, false, err
	}
	var payload string
	var next, created ts
	err = s.r.QueryRowContext(ctx, `SELECT id, alert_id, payload, attempts, next_at, created_at FROM ing_alert_delivery
		WHERE ended_at IS NULL AND target_name=? ORDER BY id LIMIT 1`, target).Scan(&d.ID, &d.Alert, &payload, &d.Attempts, &next, &created)
	if errors.Is(err, sql.ErrNoRows) {
		return d, false, nil
	}
	if err != nil {
		return d, false, fmt.Errorf("look for messages to %s: %w", target, err)
	}
	if err := json.Unmarshal([]byte(payload), &d.Message); err != nil {
		return d, false, fmt.Errorf("read message %d: %w", d.ID, err)
	}
	d.Waited = now.Sub(created.time())
	return d, !next.time().After(now), nil
}

// ClaimDelivery implements alert.Store.
func (s *Store) ClaimDelivery(ctx context.Context, d alert.Delivery, during time.Duration) (mine bool, err error) {
	err = s.write(ctx, "claim a message", func(x *tx) error {
		n, err := x.exec(`UPDATE ing_alert_delivery SET attempts=attempts+1, next_at=?
			WHERE id=? AND attempts=? AND ended_at IS NULL AND next_at<=?`, ts(x.now.Add(during)), d.ID, d.Attempts, ts(x.now))
		mine = n == 1
		return err
	})
	return mine, err
}

// EndDelivery implements alert.Store.
func (s *Store) EndDelivery(ctx context.Context, d alert.Delivery, o alert.Outcome) error {
	return s.write(ctx, "end a message", func(x *tx) error {
		var sent, ended ts
		if o.Sent {
			sent = ts(x.now)
		}
		if o.Sent || o.RetryIn == 0 {
			ended = ts(x.now)
		}
		_, err := x.exec(`UPDATE ing_alert_delivery SET sent_at=?, ended_at=?, next_at=?, error=? WHERE id=? AND attempts=?`,
			sent, ended, ts(x.now.Add(o.RetryIn)), null(o.Error), d.ID, d.Attempts)
		return err
	})
}

// Alerts lists all alerts. There is one for a rule and its subject, so that there are
// not more the longer patra runs.
func (s *Store) Alerts(ctx context.Context) ([]alert.Alert, error) {
	out := []alert.Alert{}
	err := s.each(ctx, func(r *sql.Rows) error {
		a, err := scanAlert(r.Scan)
		out = append(out, a)
		return err
	}, `SELECT `+alertCols+` FROM ing_alert ORDER BY id`)
	if err != nil {
		return nil, fmt.Errorf("list alerts: %w", err)
	}
	return out, nil
}

// Alert reads one.
func (s *Store) Alert(ctx context.Context, id int64) (alert.Alert, error) {
	a, err := scanAlert(s.r.QueryRowContext(ctx, `SELECT `+alertCols+` FROM ing_alert WHERE id=?`, id).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return a, fmt.Errorf("alert %d: %w", id, harvest.ErrNotFound)
	}
	if err != nil {
		return a, fmt.Errorf("read alert %d: %w", id, err)
	}
	return a, nil
}

// AlertMessages lists what was sent about an alert, the newest first.
func (s *Store) AlertMessages(ctx context.Context, id int64, limit int) ([]control.AlertMessage, error) {
	out := []control.AlertMessage{}
	err := s.each(ctx, func(r *sql.Rows) error {
		var m control.AlertMessage
		var payload string
		var why sql.NullString
		var at, sent, ended ts
		if err := r.Scan(&m.Target, &payload, &m.Attempts, &why, &at, &sent, &ended); err != nil {
			return err
		}
		var message alert.Message
		if err := json.Unmarshal([]byte(payload), &message); err != nil {
			return err
		}
		m.State = message.State
		m.Error = why.String
		m.At = control.Time(at)
		m.GivenUp = !ended.time().IsZero() && sent.time().IsZero()
		if !sent.time().IsZero() {
			m.SentAt = new(control.Time(sent))
		}
		out = append(out, m)
		return nil
	}, `SELECT target_name, payload, attempts, error, created_at, sent_at, ended_at FROM ing_alert_delivery
		WHERE alert_id=? ORDER BY id DESC LIMIT ?`, id, limit)
	if err != nil {
		return nil, fmt.Errorf("messages about alert %d: %w", id, err)
	}
	return out, nil
}

// AlertTargets tells how the messages to each target fare.
func (s *Store) AlertTargets(ctx context.Context) ([]control.AlertTarget, error) {
	out := []control.AlertTarget{}
	err := s.each(ctx, func(r *sql.Rows) error {
		var t control.AlertTarget
		var sent ts
		var why sql.NullString
		err := r.Scan(&t.Name, &t.Waiting, &t.GivenUp, &sent, &why)
		if !sent.time().IsZero() {
			t.LastSentAt = new(control.Time(sent))
		}
		t.Error = why.String
		out = append(out, t)
		return err
	}, `SELECT d.target_name, SUM(CASE WHEN d.ended_at IS NULL THEN 1 ELSE 0 END),
		SUM(CASE WHEN d.ended_at IS NOT NULL AND d.sent_at IS NULL THEN 1 ELSE 0 END), MAX(d.sent_at),
		(SELECT w.error FROM ing_alert_delivery w WHERE w.ended_at IS NULL AND w.target_name=d.target_name ORDER BY w.id LIMIT 1)
		FROM ing_alert_delivery d GROUP BY d.target_name`)
	if err != nil {
		return nil, fmt.Errorf("list targets of alerts: %w", err)
	}
	return out, nil
}

// AckAlert notes that somebody knows of an alert.
func (s *Store) AckAlert(ctx context.Context, id int64, a source.Audit) error {
	return s.write(ctx, "acknowledge alert", func(x *tx) error {
		n, err := x.exec(`UPDATE ing_alert SET acked_by=?, acked_at=?, ack_reason=?, updated_at=? WHERE id=? AND state_code='FIRING'`,
			clip(a.Actor, 255), ts(x.now), null(a.Reason), ts(x.now), id)
		if err != nil {
			return err
		}
		if n == 0 {
			return control.ErrAlertOver
		}
		return x.audit(a, map[string]any{"acknowledged": true})
	})
}

// SnoozeAlert has nothing sent about an alert until an instant.
func (s *Store) SnoozeAlert(ctx context.Context, id int64, until time.Time, a source.Audit) error {
	return s.write(ctx, "snooze alert", func(x *tx) error {
		by := null(clip(a.Actor, 255))
		if until.IsZero() {
			by = nil
		}
		n, err := x.exec(`UPDATE ing_alert SET snoozed_until=?, snoozed_by=?, updated_at=? WHERE id=?`, ts(until), by, ts(x.now), id)
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("alert %d: %w", id, harvest.ErrNotFound)
		}
		return x.audit(a, map[string]any{"snoozed_until": ts(until).text()})
	})
}
