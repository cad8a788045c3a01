package sqlstore

import (
	"database/sql"
	"errors"
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
func (x *tx) mayTake(r harvest.LeaseRequest, open map[string]harvest.Breaker) (func(harvest.Partition) bool, error) {
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
		case open[breakerKey(p)].Bars(x.now):
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
		var at ts
		query, args := q.s.first(q.r, h, q.now)
		err := q.row(query, args...).Scan(&t.id, &t.fence, &t.slice, &t.barren, &at)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			q.turns.Gone(h)
			continue
		case err != nil:
			return t, false, err
		case q.turns.Moved(h, at.time(), t.id):
			continue // perhaps another is first now
		}
		if h.Dead {
			q.turns.Gone(h)
		}
		t.head = h
		return t, true, nil
	}
}

// heads reads the first task of each partition and priority.
func (q *queue) heads() error {
	began := time.Now()
	var heads []harvest.Head
	query, args := q.s.headsSQL(q.r, q.now)
	if err := q.each(q.scan(&heads, false), query, args...); err != nil {
		return err
	}
	q.read = true
	q.turns.Read(heads, q.now, time.Since(began))
	return nil
}

// died reads the tasks whose owner is gone. At most as many are held as there
// are workers anywhere.
func (q *queue) died() error {
	var heads []harvest.Head
	query, args := q.s.diedSQL(q.r, q.now)
	if err := q.each(q.scan(&heads, true), query, args...); err != nil {
		return err
	}
	q.turns.Died(heads)
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

// wanted is the part of a condition that comes from the request.
func wanted(r harvest.LeaseRequest) (string, []any) {
	q, args := ` AND t.spec_version <= ?`, []any{r.SpecVersion}
	if r.Provenance != "" {
		q, args = q+` AND t.provenance_code=?`, append(args, r.Provenance)
	}
	if r.Operation != "" {
		q, args = q+` AND t.operation_code=?`, append(args, r.Operation)
	}
	return q, args
}

func (s *Store) headsSQL(r harvest.LeaseRequest, now time.Time) (string, []any) {
	where, args := wanted(r)
	return `SELECT t.provenance_code, t.endpoint_name, t.operation_code, t.priority, MIN(t.scheduled_at), MIN(t.id) FROM ing_task t` + s.d.taskIndex + `
		WHERE t.status_code='QUEUED' AND t.scheduled_at <= ?` + where + ` GROUP BY t.provenance_code, t.endpoint_name, t.operation_code, t.priority`, append([]any{ts(now)}, args...)
}

func (s *Store) diedSQL(r harvest.LeaseRequest, now time.Time) (string, []any) {
	where, args := wanted(r)
	return `SELECT t.provenance_code, t.endpoint_name, t.operation_code, t.priority, t.scheduled_at, t.id FROM ing_task t` + s.d.taskIndex + `
		WHERE t.status_code IN ('DISPATCHED','EXECUTING') AND t.leased_until < ?` + where, append([]any{ts(now)}, args...)
}

// first is the statement that finds the first task at or after a head.
func (s *Store) first(r harvest.LeaseRequest, h harvest.Head, now time.Time) (string, []any) {
	const cols = `SELECT t.id, t.fence, t.slice_id, t.barren, t.scheduled_at FROM ing_task t`
	if h.Dead {
		return cols + ` WHERE t.id=? AND t.status_code IN ('DISPATCHED','EXECUTING') AND t.leased_until < ?` + s.d.skipLocked, []any{h.Task, ts(now)}
	}
	return cols + s.d.taskIndex + ` WHERE t.status_code='QUEUED' AND t.priority=? AND t.scheduled_at >= ? AND t.scheduled_at <= ?
		AND t.provenance_code=? AND t.endpoint_name=? AND t.operation_code=? AND t.spec_version <= ? ORDER BY t.scheduled_at, t.id LIMIT 1` + s.d.skipLocked,
		[]any{h.Priority, ts(h.ScheduledAt), ts(now), h.Provenance, h.Endpoint, h.Operation, r.SpecVersion}
}
