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
	// seen are tasks that this call has read to correct their heads. They are locked by
	// that, so that they stay as they were read.
	seen map[harvest.TaskID]taken
}

// bars is what is stored of sources that keeps tasks from being taken.
type bars struct {
	held   map[string]bool                       // sources that are paused or stopped
	paused map[harvest.EndpointOf]bool           // endpoints likewise
	open   map[harvest.Partition]harvest.Breaker // of partitions that rest or are being tried
	most   map[string]int                        // how many tasks of a source may be in hand; one that is not there has no bound
}

// readBars reads them in one statement, since whoever looks for a task asks first of all for
// them. Hardly ever is there more than a few rows to tell.
func (x *tx) readBars() (*bars, error) {
	b := &bars{
		held: map[string]bool{}, paused: map[harvest.EndpointOf]bool{},
		open: map[harvest.Partition]harvest.Breaker{}, most: map[string]int{},
	}
	err := x.each(func(rows *sql.Rows) error {
		var p harvest.Partition
		var held bool
		var most int
		var breaker harvest.Breaker
		var until ts
		err := rows.Scan(&p.Provenance, &p.Endpoint, &p.Operation, &held, &most, &breaker.Spent, &breaker.After, &until, &breaker.Trying)
		switch {
		case err != nil:
			return err
		case p.Operation != "":
			breaker.Until = until.time()
			b.open[p] = breaker
		case p.Endpoint != "":
			b.paused[p.EndpointOf()] = held
		default:
			b.held[p.Provenance] = held
			if most > 0 {
				b.most[p.Provenance] = most
			}
		}
		return nil
	}, barsSQL)
	if err != nil {
		return nil, fmt.Errorf("read what keeps tasks from being taken: %w", err)
	}
	return b, nil
}

// barsSQL reads sources, endpoints and partitions, each named by what it is made of.
const barsSQL = `
	SELECT provenance_code, '' endpoint_name, '' operation_code, paused+stopped>0 held, max_walks, 0 failures, 0 break_after, NULL rests_until, 0 trying
	FROM ing_source_state WHERE paused=1 OR stopped=1 OR max_walks>0
	UNION ALL
	SELECT provenance_code, endpoint_name, '', 1, 0, 0, 0, NULL, 0
	FROM ing_endpoint_state WHERE paused=1 OR stopped=1
	UNION ALL
	SELECT provenance_code, endpoint_name, operation_code, 0, 0, failures, break_after, rests_until, trying
	FROM ing_breaker WHERE failures >= break_after`

// takeable returns a test that tells of a partition whether its tasks may be taken
// now: its source and endpoint are not held, the request asks for it, and its breaker is not open.
func (x *tx) takeable(r harvest.LeaseRequest, b *bars) func(harvest.Partition) bool {
	return func(p harvest.Partition) bool {
		switch {
		case b.held[p.Provenance], b.paused[p.EndpointOf()]:
			return false
		case r.Provenance != "" && p.Provenance != r.Provenance:
			return false
		case r.Operation != "" && p.Operation != r.Operation:
			return false
		case b.open[p].Bars(x.now):
			return false
		}
		return !slices.ContainsFunc(r.Resting, func(rest harvest.Rest) bool { return rest.Bars(p) })
	}
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
		if t, ok := q.seen[h.Task]; ok {
			delete(q.seen, h.Task)
			t.head = h
			return t, true, nil
		}
		t, due, err := q.firstOf(h)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			q.turns.DropHead(h)
			continue
		case err != nil:
			return t, false, err
		case q.turns.MoveHead(h, due, t.id):
			q.seen[t.id] = t
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

// readHeads reads the tasks whose owner is gone, each of them a head of its own, and the
// first task of each partition and priority, one after the other, of which it keeps those
// that are due. A partition that may not be taken costs one step: its other priorities are
// passed over.
func (q *queue) readHeads() error {
	began := time.Now()
	var heads []harvest.Head
	dead, args := q.s.deadSQL(q.r, q.now)
	if err := q.each(collectHeads(&heads, true), dead, args...); err != nil {
		return fmt.Errorf("read the queue: %w", err)
	}
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

// deadSQL finds the tasks that are in hand under a lease which has run out. It reads all that
// are in hand, as many as there are workers anywhere.
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
