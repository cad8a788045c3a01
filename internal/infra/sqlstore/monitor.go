package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// Partitions reads what waits and runs in each partition. Waiting tasks are counted
// along the queue's index and no further than most, so that a long queue costs no
// more than a short one.
func (s *Store) Partitions(
	ctx context.Context, provenance string, op harvest.Operation, now time.Time, most int64,
) ([]control.PartitionState, error) {
	var out []control.PartitionState
	err := s.snapshot(ctx, "read the queue", func(t *sql.Tx) error {
		out = nil
		v := &queueView{ctx: ctx, s: s, t: t, now: now, most: most, states: map[harvest.Partition]*control.PartitionState{}}
		for _, status := range harvest.TasksOpen {
			if err := v.read(status, provenance, op); err != nil {
				return err
			}
		}
		for _, p := range v.order {
			out = append(out, *v.states[p])
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the queue: %w", err)
	}
	return out, nil
}

// queueView reads the queue by partition over one state of the database.
type queueView struct {
	ctx    context.Context
	s      *Store
	t      *sql.Tx
	now    time.Time
	most   int64
	states map[harvest.Partition]*control.PartitionState
	order  []harvest.Partition
}

// read adds the tasks of a state, one partition after the other: from each the index
// leads to the next.
func (v *queueView) read(status harvest.TaskState, provenance string, op harvest.Operation) error {
	at := harvest.Partition{Provenance: provenance}
	for {
		where, args := v.s.d.after([]string{"t.provenance_code", "t.endpoint_name", "t.operation_code"}, []any{at.Provenance, at.Endpoint, string(at.Operation)})
		if provenance != "" {
			where += ` AND t.provenance_code=?`
			args = append(args, provenance)
		}
		err := v.t.QueryRowContext(v.ctx, `SELECT t.provenance_code, t.endpoint_name, t.operation_code FROM ing_task t`+v.s.d.taskIndex+`
			WHERE t.status_code=? AND `+where+`
			ORDER BY t.status_code, t.provenance_code, t.endpoint_name, t.operation_code LIMIT 1`, append([]any{status}, args...)...).
			Scan(&at.Provenance, &at.Endpoint, &at.Operation)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		if op != "" && at.Operation != op {
			continue
		}
		if err := v.count(status, at); err != nil {
			return err
		}
	}
}

// count adds the tasks of a state in a partition.
func (v *queueView) count(status harvest.TaskState, p harvest.Partition) error {
	state := v.state(p)
	const of = ` WHERE t.status_code=? AND t.provenance_code=? AND t.endpoint_name=? AND t.operation_code=?`
	args := []any{status, p.Provenance, p.Endpoint, p.Operation, v.most + 1}
	var n, due int64
	var best sql.NullInt64
	var oldest, next ts
	err := v.t.QueryRowContext(v.ctx, `SELECT COUNT(*), MIN(c.priority), COALESCE(SUM(CASE WHEN c.scheduled_at<=? THEN 1 ELSE 0 END),0),
		MIN(CASE WHEN c.scheduled_at<=? THEN c.scheduled_at END), MIN(CASE WHEN c.scheduled_at>? THEN c.scheduled_at END)
		FROM (SELECT t.priority, t.scheduled_at
		FROM ing_task t`+v.s.d.taskIndex+of+` LIMIT ?) c`, append([]any{ts(v.now), ts(v.now), ts(v.now)}, args...)...).
		Scan(&n, &best, &due, &oldest, &next)
	if err != nil {
		return err
	}
	if status != harvest.TaskQueued {
		state.Running += n
		return nil
	}
	state.Priority = int(best.Int64)
	state.Queued = min(n, v.most)
	state.QueuedCapped = n > v.most
	state.Due = min(due, v.most)
	state.OldestDue = oldest.time()
	state.NextAt = next.time()
	return nil
}

func (v *queueView) state(p harvest.Partition) *control.PartitionState {
	if state := v.states[p]; state != nil {
		return state
	}
	state := &control.PartitionState{QueueRow: control.QueueRow{Source: p.Provenance, Endpoint: p.Endpoint, Operation: p.Operation}}
	v.states[p] = state
	v.order = append(v.order, p)
	return state
}

// CursorTimeline reads the moves of cursors behind one, in their order.
func (s *Store) CursorTimeline(
	ctx context.Context, cursors []harvest.CursorID, from, to time.Time, after int64, limit int,
) ([]control.TimelineEvent, error) {
	out := []control.TimelineEvent{}
	where := `cursor_id IN (` + list(len(cursors)) + `) AND id>?`
	var args []any
	for _, id := range cursors {
		args = append(args, id)
	}
	args = append(args, after)
	within, times := movedWithin(from, to)
	where += within
	args = append(args, times...)
	err := s.each(ctx, func(r *sql.Rows) error {
		var e control.TimelineEvent
		err := scanCursorEvent(r, &e.CursorEvent, &e.Cursor)
		out = append(out, e)
		return err
	}, `SELECT `+cursorEventCols+`, cursor_id FROM ing_cursor_event WHERE `+where+` ORDER BY id LIMIT ?`, append(args, limit)...)
	if err != nil {
		return nil, fmt.Errorf("read the timeline of cursors: %w", err)
	}
	return out, nil
}

// movedWithin is a further condition on moves of cursors: that they were made in a time,
// either end of which may be open.
func movedWithin(from, to time.Time) (where string, args []any) {
	if !from.IsZero() {
		where += ` AND event_time>=?`
		args = append(args, ts(from))
	}
	if !to.IsZero() {
		where += ` AND event_time<?`
		args = append(args, ts(to))
	}
	return where, args
}
