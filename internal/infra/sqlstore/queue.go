package sqlstore

import (
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// queue finds the task whose turn it is, without reading the whole queue: the
// first task of each partition and priority is remembered between calls, and
// from there the queue's index leads to the next (C21).
type queue struct {
	*tx
	r     harvest.LeaseRequest
	turns *harvest.Turns
	may   func(harvest.Partition) bool
	read  bool // the heads are of this call
}

// mayTake tells of a partition whether its tasks may be taken now.
func (x *tx) mayTake(r harvest.LeaseRequest, open map[harvest.Partition]harvest.Breaker) (func(harvest.Partition) bool, error) {
	held := map[string]bool{}
	err := x.each(func(rows *sql.Rows) error {
		var code string
		err := rows.Scan(&code)
		held[code] = true
		return err
	}, `SELECT provenance_code FROM ing_source_state WHERE paused=1 OR stopped=1`)
	if err != nil {
		return nil, err
	}
	return func(p harvest.Partition) bool {
		switch {
		case held[p.Provenance], r.Provenance != "" && p.Provenance != r.Provenance, r.Operation != "" && p.Operation != r.Operation:
			return false
		case open[p].Bars(x.now):
			return false
		}
		for _, rest := range r.Resting {
			if rest.Provenance == p.Provenance && rest.Operation == p.Operation {
				return false
			}
		}
		return true
	}, nil
}

// next is the task whose turn it is.
func (q *queue) next() (t taken, any bool, err error) {
	if q.turns.Stale(q.now) {
		if err := q.heads(); err != nil {
			return t, false, err
		}
	}
	for {
		h, ok := q.turns.Next(q.now, q.may)
		switch {
		case !ok && q.read:
			return t, false, nil
		case !ok:
			if err := q.heads(); err != nil {
				return t, false, err
			}
			continue
		}
		t, at, err := q.first(h)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			q.turns.DropHead(h)
			continue
		case err != nil:
			return t, false, err
		case q.turns.MoveHead(h, at, t.id):
			continue // perhaps another is first now
		}
		if h.Dead {
			q.turns.DropHead(h)
		}
		t.head = h
		return t, true, nil
	}
}

// first is the first task at or after a head. Tasks that only a newer worker can
// run are met as seldom as programs are replaced, so they are looked for in what
// was picked, and passed over only then.
func (q *queue) first(h harvest.Head) (t taken, at time.Time, err error) {
	var due ts
	var version int
	var marked int64
	read := func(query string, args []any) error {
		return q.row(query, args...).Scan(&t.id, &t.fence, &t.slice, &t.deaths, &t.inHand, &marked, &due, &version)
	}
	err = read(q.s.firstSQL(h, q.now))
	if err == nil && version > q.r.SpecVersion {
		err = read(q.s.firstKnownSQL(q.r, h, q.now))
	}
	if h.Dead {
		t.deaths++
		if marked == t.fence {
			t.inHand++
		}
	}
	return t, due.time(), err
}

// heads reads the first task of each partition and priority that may be taken,
// one after the other: from each the queue's index leads to the next, however many
// tasks lie between. A partition that may not be taken costs one step.
func (q *queue) heads() error {
	began := time.Now()
	var heads []harvest.Head
	at := harvest.Head{Partition: harvest.Partition{Provenance: q.r.Provenance}, Priority: math.MinInt32}
	for {
		h, any, err := q.after(at)
		if err != nil {
			return fmt.Errorf("read the queue: %w", err)
		}
		if !any {
			break
		}
		at = h
		switch {
		case !q.may(h.Partition):
			at.Priority = math.MaxInt32
		case !h.ScheduledAt.After(q.now):
			heads = append(heads, h)
		}
	}
	q.read = true
	q.turns.ReplaceHeads(heads, q.now, time.Since(began))
	return nil
}

// after is the first task behind those of a partition and priority.
func (q *queue) after(at harvest.Head) (next harvest.Head, any bool, err error) {
	var found []harvest.Head
	query, args := q.s.afterSQL(q.r, at)
	if err := q.each(q.scan(&found, false), query, args...); err != nil || len(found) == 0 {
		return next, false, err
	}
	return found[0], true, nil
}

// died reads the tasks whose owner is gone. At most as many are held as there
// are workers anywhere.
func (q *queue) died() error {
	var heads []harvest.Head
	query, args := q.s.diedSQL(q.r, q.now)
	if err := q.each(q.scan(&heads, true), query, args...); err != nil {
		return err
	}
	q.turns.ReplaceDead(heads)
	return nil
}

func (q *queue) scan(to *[]harvest.Head, dead bool) func(*sql.Rows) error {
	return func(rows *sql.Rows) error {
		h := harvest.Head{Dead: dead}
		var at ts
		if err := rows.Scan(&h.Provenance, &h.Endpoint, &h.Operation, &h.Priority, &at, &h.Task); err != nil {
			return err
		}
		h.ScheduledAt = at.time()
		*to = append(*to, h)
		return nil
	}
}

// afterSQL finds what follows a partition and priority in the order of the queue's
// index: one row of it.
func (s *Store) afterSQL(r harvest.LeaseRequest, at harvest.Head) (string, []any) {
	where, args := s.d.after([]string{"t.provenance_code", "t.endpoint_name", "t.operation_code", "t.priority"}, []any{at.Provenance, at.Endpoint, at.Operation, at.Priority})
	if r.Provenance != "" {
		where += " AND t.provenance_code=?"
		args = append(args, r.Provenance)
	}
	return `SELECT t.provenance_code, t.endpoint_name, t.operation_code, t.priority, t.scheduled_at, t.id
		FROM ing_task t` + s.d.taskIndex + `
		WHERE t.status_code='QUEUED' AND ` + where + `
		ORDER BY t.status_code, t.provenance_code, t.endpoint_name, t.operation_code, t.priority, t.scheduled_at, t.id LIMIT 1`, args
}

// diedSQL finds the tasks whose owner is gone.
func (s *Store) diedSQL(r harvest.LeaseRequest, now time.Time) (string, []any) {
	query := `SELECT t.provenance_code, t.endpoint_name, t.operation_code, t.priority, t.scheduled_at, t.id
		FROM ing_task t` + s.d.taskIndex + `
		WHERE ` + isOneOf("t.status_code", harvest.TasksInHand) + ` AND t.leased_until < ? AND t.spec_version <= ?`
	args := []any{ts(now), r.SpecVersion}
	if r.Provenance != "" {
		query += ` AND t.provenance_code=?`
		args = append(args, r.Provenance)
	}
	if r.Operation != "" {
		query += ` AND t.operation_code=?`
		args = append(args, r.Operation)
	}
	return query, args
}

// What is read of a task to take it, and where those of a head lie in the index.
const (
	takenSQL = `SELECT t.id, t.fence, t.slice_id, t.deaths, t.deaths_in_hand, t.reply_fence, t.scheduled_at, t.spec_version
		FROM ing_task t`
	ofHeadSQL = ` WHERE t.status_code='QUEUED' AND t.provenance_code=? AND t.endpoint_name=? AND t.operation_code=? AND t.priority=?
		AND t.scheduled_at >= ? AND t.scheduled_at <= ?`
	inOrderSQL = ` ORDER BY t.scheduled_at, t.id`
)

func ofHead(h harvest.Head, now time.Time) []any {
	return []any{h.Provenance, h.Endpoint, h.Operation, h.Priority, ts(h.ScheduledAt), ts(now)}
}

// firstSQL finds the first task at or after a head.
func (s *Store) firstSQL(h harvest.Head, now time.Time) (string, []any) {
	if h.Dead {
		return takenSQL + ` WHERE t.id=? AND ` + isOneOf("t.status_code", harvest.TasksInHand) + `
			AND t.leased_until < ?` + s.d.skipLocked, []any{h.Task, ts(now)}
	}
	return takenSQL + s.d.taskIndex + ofHeadSQL + inOrderSQL + ` LIMIT 1` + s.d.skipLocked, ofHead(h, now)
}

// firstKnownSQL likewise, but finds one that the worker can run, if it is among
// the next thousand: behind more of them it waits for a newer worker.
func (s *Store) firstKnownSQL(r harvest.LeaseRequest, h harvest.Head, now time.Time) (string, []any) {
	return takenSQL + ` WHERE t.status_code='QUEUED' AND t.spec_version <= ?
		AND t.id IN (SELECT id FROM (SELECT t.id FROM ing_task t` + s.d.taskIndex + ofHeadSQL + inOrderSQL + ` LIMIT 1000) n)` +
		inOrderSQL + ` LIMIT 1` + s.d.skipLocked, append([]any{r.SpecVersion}, ofHead(h, now)...)
}
