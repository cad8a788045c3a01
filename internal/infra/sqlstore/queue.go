package sqlstore

import (
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// queue finds the task whose turn it is without reading the whole queue. A head is
// the first task of one partition and priority. The heads are remembered between
// calls, by [harvest.Turns], and the queue's index leads from each to the next
// however many tasks lie between (C21):
//
//	index  | A/HARVEST 100: a1 a2 a3 ... a9000 | A/BACKFILL 300: b1 b2 | B/HARVEST 100: c1 c2 c3 |
//	heads                   ^                                   ^                        ^
//
// Here three rows are read and not nine thousand. Turns chooses among the heads; then
// one row more is read, for the head may have been taken since by another process.
type queue struct {
	*tx
	r         harvest.LeaseRequest
	turns     *harvest.Turns
	mayTake   func(harvest.Partition) bool
	headsRead bool // by this call, so that to read them once more finds nothing new
}

// takeable returns a test that tells of a partition whether its tasks may be taken
// now: its source and endpoint are not held, the request asks for it, and its breaker is not open.
func (x *tx) takeable(r harvest.LeaseRequest, open map[harvest.Partition]harvest.Breaker) (func(harvest.Partition) bool, error) {
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
	paused := map[harvest.EndpointOf]bool{}
	err = x.each(func(rows *sql.Rows) error {
		var at harvest.EndpointOf
		err := rows.Scan(&at.Provenance, &at.Endpoint)
		paused[at] = true
		return err
	}, `SELECT provenance_code, endpoint_name FROM ing_endpoint_state WHERE paused=1 OR stopped=1`)
	if err != nil {
		return nil, err
	}
	return func(p harvest.Partition) bool {
		switch {
		case held[p.Provenance], paused[p.EndpointOf()]:
			return false
		case r.Provenance != "" && p.Provenance != r.Provenance:
			return false
		case r.Operation != "" && p.Operation != r.Operation:
			return false
		case open[p].Bars(x.now):
			return false
		}
		return !slices.ContainsFunc(r.Resting, func(rest harvest.Rest) bool { return rest.Bars(p) })
	}, nil
}

// next finds the task whose turn it is. Remembered heads may be out of date: one
// that has no task left is forgotten, one whose first task is another by now is
// corrected, and each time the choice is made again.
func (q *queue) next() (t taken, found bool, err error) {
	if q.turns.Stale(q.now) {
		if err := q.readHeads(); err != nil {
			return t, false, err
		}
	}
	for {
		h, ok := q.turns.Next(q.now, q.mayTake)
		switch {
		case !ok && q.headsRead:
			return t, false, nil
		case !ok:
			if err := q.readHeads(); err != nil {
				return t, false, err
			}
			continue
		}
		t, due, err := q.firstOf(h)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			q.turns.DropHead(h)
			continue
		case err != nil:
			return t, false, err
		case q.turns.MoveHead(h, due, t.id):
			continue // perhaps another head is first now
		}
		if h.Dead {
			q.turns.DropHead(h)
		}
		t.head = h
		return t, true, nil
	}
}

// firstOf reads the first task at or after a head, and when it was due. Tasks that
// only a newer worker can run are as rare as the minutes in which programs are
// replaced, so the plain statement does not look for them: what it picked is looked
// at, and only then a slower statement passes over them.
func (q *queue) firstOf(h harvest.Head) (t taken, due time.Time, err error) {
	var scheduled ts
	var version int
	var replyFence int64
	read := func(query string, args []any) error {
		return q.row(query, args...).Scan(&t.id, &t.fence, &t.slice, &t.deaths, &t.deathsInHand, &replyFence, &scheduled, &version)
	}
	err = read(q.s.firstSQL(h, q.now))
	if err == nil && version > q.r.SpecVersion {
		err = read(q.s.firstKnownSQL(q.r, h, q.now))
	}
	if h.Dead {
		t.deaths++
		if replyFence == t.fence {
			t.deathsInHand++
		}
	}
	return t, scheduled.time(), err
}

// readHeads reads the first task of each partition and priority, one after the
// other, and keeps those that are due. A partition that may not be taken costs one
// step: its other priorities are passed over.
func (q *queue) readHeads() error {
	began := time.Now()
	var heads []harvest.Head
	at := harvest.Head{Partition: harvest.Partition{Provenance: q.r.Provenance}, Priority: math.MinInt32}
	for {
		h, found, err := q.headAfter(at)
		if err != nil {
			return fmt.Errorf("read the queue: %w", err)
		}
		if !found {
			break
		}
		at = h
		switch {
		case !q.mayTake(h.Partition):
			at.Priority = math.MaxInt32
		case !h.ScheduledAt.After(q.now):
			heads = append(heads, h)
		}
	}
	q.headsRead = true
	q.turns.ReplaceHeads(heads, q.now, time.Since(began))
	return nil
}

// headAfter reads the first task behind all those of a partition and priority.
func (q *queue) headAfter(at harvest.Head) (next harvest.Head, found bool, err error) {
	var heads []harvest.Head
	query, args := q.s.headAfterSQL(q.r, at)
	if err := q.each(collectHeads(&heads, false), query, args...); err != nil || len(heads) == 0 {
		return next, false, err
	}
	return heads[0], true, nil
}

// readDead reads the tasks whose owner is gone, each of them a head of its own.
// There are at most as many as there were workers anywhere.
func (q *queue) readDead() error {
	var heads []harvest.Head
	query, args := q.s.deadSQL(q.r, q.now)
	if err := q.each(collectHeads(&heads, true), query, args...); err != nil {
		return err
	}
	q.turns.ReplaceDead(heads)
	return nil
}

// collectHeads returns a scan that appends each row to a list.
func collectHeads(to *[]harvest.Head, dead bool) func(*sql.Rows) error {
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

// headSQL reads a task as a head.
const headSQL = `SELECT t.provenance_code, t.endpoint_name, t.operation_code, t.priority, t.scheduled_at, t.id FROM ing_task t`

// noTaskIsLater is a time at which no task is ever due.
var noTaskIsLater = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

// headAfterSQL finds the first task behind those of a partition and priority, in the
// order of the queue's index: one row of it. The time is compared as well, though it tells
// nothing apart: SQLite looks for the first row that is not less than what is compared and
// goes on from there, so that it would go through all tasks of the partition.
func (s *Store) headAfterSQL(r harvest.LeaseRequest, at harvest.Head) (string, []any) {
	where, args := s.d.after(
		[]string{"t.provenance_code", "t.endpoint_name", "t.operation_code", "t.priority", "t.scheduled_at"},
		[]any{at.Provenance, at.Endpoint, at.Operation, at.Priority, ts(noTaskIsLater)},
	)
	if r.Provenance != "" {
		where += " AND t.provenance_code=?"
		args = append(args, r.Provenance)
	}
	return headSQL + s.d.taskIndex + `
		WHERE t.status_code='QUEUED' AND ` + where + `
		ORDER BY t.status_code, t.provenance_code, t.endpoint_name, t.operation_code, t.priority, t.scheduled_at, t.id
		LIMIT 1`, args
}

// deadSQL finds the tasks that are in hand under a lease which has run out.
func (s *Store) deadSQL(r harvest.LeaseRequest, now time.Time) (string, []any) {
	query := headSQL + s.d.taskIndex + `
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

// What is read of a task to take it, and where the tasks of a head lie in the index:
// those of its partition and priority that are due, from the head on.
const (
	takenSQL = `SELECT t.id, t.fence, t.slice_id, t.deaths, t.deaths_in_hand, t.reply_fence, t.scheduled_at, t.spec_version
		FROM ing_task t`
	ofHeadSQL = `
		WHERE t.status_code='QUEUED' AND t.provenance_code=? AND t.endpoint_name=? AND t.operation_code=? AND t.priority=?
		AND t.scheduled_at >= ? AND t.scheduled_at <= ?`
	inOrderSQL = `
		ORDER BY t.scheduled_at, t.id`
)

// ofHead are the values that ofHeadSQL binds.
func ofHead(h harvest.Head, now time.Time) []any {
	return []any{h.Provenance, h.Endpoint, h.Operation, h.Priority, ts(h.ScheduledAt), ts(now)}
}

// firstSQL finds the first task at or after a head.
func (s *Store) firstSQL(h harvest.Head, now time.Time) (string, []any) {
	if h.Dead {
		return takenSQL + `
			WHERE t.id=? AND ` + isOneOf("t.status_code", harvest.TasksInHand) + ` AND t.leased_until < ?` + s.d.skipLocked,
			[]any{h.Task, ts(now)}
	}
	return takenSQL + s.d.taskIndex + ofHeadSQL + inOrderSQL + ` LIMIT 1` + s.d.skipLocked, ofHead(h, now)
}

// firstKnownSQL finds the first task at or after a head that this worker can run, if
// it is among the next thousand: behind more that it cannot run it waits for a newer
// worker.
func (s *Store) firstKnownSQL(r harvest.LeaseRequest, h harvest.Head, now time.Time) (string, []any) {
	nextThousand := `SELECT t.id FROM ing_task t` + s.d.taskIndex + ofHeadSQL + inOrderSQL + ` LIMIT 1000`
	return takenSQL + `
		WHERE t.status_code='QUEUED' AND t.spec_version <= ? AND t.id IN (SELECT id FROM (` + nextThousand + `) n)` +
		inOrderSQL + ` LIMIT 1` + s.d.skipLocked, append([]any{r.SpecVersion}, ofHead(h, now)...)
}
