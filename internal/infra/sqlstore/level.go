package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// Observer is told what a store has committed. Its methods must be quick.
type Observer interface {
	// CursorMoved: a cursor went on in its direction.
	CursorMoved(d harvest.Direction)
	// PartitionRests: the breaker of a partition has opened, or stays open for longer.
	PartitionRests(p harvest.Partition)
}

// Observe has an onlooker told what is committed from now on, in place of another.
func (s *Store) Observe(o Observer) { s.observer.Store(&o) }

// countedAtMost bounds what is counted row by row.
const countedAtMost = 10_000

// Levels tells how full the queues are and how far behind the cursors. It reads the
// part of an index that is open, never what is done.
func (s *Store) Levels(ctx context.Context) (control.Levels, error) {
	var l control.Levels
	now, err := s.Now(ctx)
	if err != nil {
		return l, err
	}
	for _, read := range []func(context.Context, time.Time, *control.Levels) error{s.queueLevels, s.cursorLevels, s.breakerLevels, s.alertLevels, s.otherLevels} {
		if err := read(ctx, now, &l); err != nil {
			return l, fmt.Errorf("read levels: %w", err)
		}
	}
	return l, nil
}

func (s *Store) queueLevels(ctx context.Context, _ time.Time, l *control.Levels) error {
	return s.each(ctx, func(r *sql.Rows) error {
		var q control.QueueLevel
		if err := r.Scan(&q.Provenance, &q.Endpoint, &q.Operation, &q.Tasks); err != nil {
			return err
		}
		l.Queued = append(l.Queued, q)
		return nil
	}, `SELECT provenance_code, endpoint_name, operation_code, COUNT(*) FROM ing_task WHERE status_code='QUEUED'
		GROUP BY provenance_code, endpoint_name, operation_code`)
}

// cursorLevels reads the cursors that are to follow the present: those that some
// scheduler asks for still, ours or an outside one. What was asked for once by hand
// is behind for ever, and nobody minds.
func (s *Store) cursorLevels(ctx context.Context, now time.Time, l *control.Levels) error {
	return s.each(ctx, func(r *sql.Rows) error {
		var c control.CursorLevel
		var oldest ts
		var endpoint sql.NullString
		if err := r.Scan(&c.Provenance, &c.Operation, &c.Scope, &endpoint, &oldest); err != nil {
			return err
		}
		c.Endpoint = endpoint.String
		c.Behind = max(0, now.Sub(oldest.time()))
		l.Cursors = append(l.Cursors, c)
		return nil
	}, `SELECT n.provenance_code, n.operation_code, n.namespace_scope_code, n.endpoint_name, MIN(n.normalized_instant) FROM (
			SELECT c.provenance_code, c.operation_code, c.namespace_scope_code, c.normalized_instant,
				(SELECT p.endpoint_name FROM ing_plan p WHERE p.cursor_id=c.id ORDER BY p.window_to DESC LIMIT 1) AS endpoint_name
			FROM ing_cursor c WHERE c.operation_code='HARVEST' AND c.cursor_type_code='TIME' AND c.normalized_instant IS NOT NULL
			AND EXISTS (SELECT 1 FROM ing_plan p JOIN ing_schedule_instance i ON i.id=p.schedule_instance_id
				LEFT JOIN ing_schedule h ON h.schedule_name=i.scheduler_job_id
				WHERE p.cursor_id=c.id AND i.scheduler_code IS NOT NULL AND (h.id IS NULL OR h.removed_at IS NULL AND h.enabled=1))) n
		GROUP BY n.provenance_code, n.operation_code, n.namespace_scope_code, n.endpoint_name`)
}

func (s *Store) breakerLevels(ctx context.Context, _ time.Time, l *control.Levels) error {
	return s.each(ctx, func(r *sql.Rows) error {
		var p harvest.Partition
		if err := r.Scan(&p.Provenance, &p.Endpoint, &p.Operation); err != nil {
			return err
		}
		l.Resting = append(l.Resting, p)
		return nil
	}, `SELECT provenance_code, endpoint_name, operation_code FROM ing_breaker WHERE failures >= break_after`)
}

func (s *Store) alertLevels(ctx context.Context, _ time.Time, l *control.Levels) error {
	return s.each(ctx, func(r *sql.Rows) error {
		var a control.AlertLevel
		if err := r.Scan(&a.Rule, &a.Severity, &a.Firing); err != nil {
			return err
		}
		l.Alerts = append(l.Alerts, a)
		return nil
	}, `SELECT rule_code, severity_code, COUNT(*) FROM ing_alert WHERE state_code='FIRING' GROUP BY rule_code, severity_code`)
}

// otherLevels reads which sources and endpoints are held, and how much of the outbox waits.
func (s *Store) otherLevels(ctx context.Context, _ time.Time, l *control.Levels) error {
	err := s.each(ctx, func(r *sql.Rows) error {
		var held harvest.EndpointOf
		if err := r.Scan(&held.Provenance, &held.Endpoint); err != nil {
			return err
		}
		l.Held = append(l.Held, held)
		return nil
	}, `SELECT provenance_code, '' FROM ing_source_state WHERE paused=1 OR stopped=1
		UNION ALL SELECT provenance_code, endpoint_name FROM ing_endpoint_state WHERE paused=1 OR stopped=1`)
	if err != nil {
		return err
	}
	l.Targets, err = s.OutboxTargets(ctx)
	for _, t := range l.Targets {
		l.Outbox = max(l.Outbox, t.Backlog)
	}
	return err
}
