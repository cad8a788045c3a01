package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// taskRowSQL reads tasks t with the window of their slice and whether their plan is open.
var taskRowSQL = `SELECT t.id, t.provenance_code, t.endpoint_name, t.operation_code, t.status_code, t.plan_id, t.slice_id,
	s.window_from, s.window_to, s.slice_spec, t.priority, t.scheduled_at, t.attempts, t.lease_owner, t.leased_until, t.error_code,
	t.error, t.updated_at, ` + isOneOf("p.status_code", harvest.PlansOpen)

const taskJoins = ` JOIN ing_plan_slice s ON s.id=t.slice_id JOIN ing_plan p ON p.id=t.plan_id`

func scanTaskRow(r scanner) (t control.TaskRow, err error) {
	var from, to, due, leased, updated ts
	var owner, code, text sql.NullString
	var spec string
	err = r.Scan(&t.ID, &t.Source, &t.Endpoint, &t.Operation, &t.Status, &t.Plan, &t.Slice, &from, &to, &spec, &t.Priority, &due,
		&t.Attempts, &owner, &leased, &code, &text, &updated, &t.PlanOpen)
	if err != nil {
		return t, err
	}
	t.From = from.mark(t.Operation)
	t.To = to.mark(t.Operation)
	t.DueAt = due.time()
	t.UpdatedAt = updated.time()
	t.Code = harvest.Code(code.String)
	t.Error = text.String
	if owner.Valid {
		t.Lease = &control.TaskLease{Owner: owner.String, Until: leased.time()}
	}
	t.Range, err = rangeText(spec)
	return t, err
}

// Task reads one task.
func (s *Store) Task(ctx context.Context, id harvest.TaskID) (control.TaskRow, error) {
	t, err := scanTaskRow(s.r.QueryRowContext(ctx, taskRowSQL+` FROM ing_task t`+taskJoins+` WHERE t.id=?`, id))
	if errors.Is(err, sql.ErrNoRows) {
		err = harvest.ErrNotFound
	}
	if err != nil {
		return t, fmt.Errorf("task %d: %w", id, err)
	}
	return t, nil
}

// Tasks lists tasks behind a place, one state after the other. Within a state they come
// in the order of an index, so that each page reads as many rows as it shows: that of
// the queue, or of one plan that of its tasks.
func (s *Store) Tasks(ctx context.Context, q control.TaskQuery, after control.TaskPlace, limit int) ([]control.TaskRow, error) {
	out := []control.TaskRow{}
	states := control.TaskOrder
	if at := slices.Index(states, after.State); at >= 0 {
		states = states[at:]
	}
	for _, state := range states {
		if q.State != "" && state != q.State {
			continue
		}
		query, args := s.tasksSQL(q, state, after, limit-len(out))
		after = control.TaskPlace{} // the states behind are read from their beginning
		err := s.each(ctx, func(r *sql.Rows) error {
			t, err := scanTaskRow(r)
			out = append(out, t)
			return err
		}, query, args...)
		if err != nil {
			return nil, fmt.Errorf("list tasks: %w", err)
		}
		if len(out) >= limit {
			break
		}
	}
	return out, nil
}

// tasksSQL lists the tasks of a state behind a place. Which they are an index alone
// tells; what is shown of them is read by their numbers.
func (s *Store) tasksSQL(q control.TaskQuery, state harvest.TaskState, after control.TaskPlace, limit int) (string, []any) {
	where := `t.status_code=?`
	args := []any{state}
	index := s.d.taskIndex
	order := []string{"t.provenance_code", "t.endpoint_name", "t.operation_code", "t.priority", "t.scheduled_at", "t.id"}
	place := []any{after.Source, after.Endpoint, after.Operation, after.Priority, ts(after.Due), after.ID}
	switch {
	case q.Plan != 0:
		where = `t.plan_id=? AND ` + where
		args = []any{q.Plan, state}
		index = s.d.taskPlanIndex
		order = []string{"t.id"}
		place = []any{after.ID}
		if q.Source != "" {
			where += ` AND t.provenance_code=?`
			args = append(args, q.Source)
		}
	case q.Source != "":
		where += ` AND t.provenance_code=?`
		args = append(args, q.Source)
		order = order[1:]
		place = place[1:]
	}
	if after.ID != 0 {
		behind, values := s.d.after(order, place)
		where += ` AND ` + behind
		args = append(args, values...)
	}
	sorted := ` ORDER BY ` + joined(order)
	return taskRowSQL + ` FROM (SELECT t.id FROM ing_task t` + index + ` WHERE ` + where + sorted + ` LIMIT ?) k
		JOIN ing_task t ON t.id=k.id` + taskJoins + sorted, append(args, limit)
}

// TasksAhead counts the tasks that stand before a queued one in its partition.
func (s *Store) TasksAhead(ctx context.Context, t control.TaskRow, most int64) (n int64, err error) {
	query, args := s.tasksAheadSQL(t, most)
	if err := s.r.QueryRowContext(ctx, query, args...).Scan(&n); err != nil {
		return 0, fmt.Errorf("place of task %d: %w", t.ID, err)
	}
	return n, nil
}

func (s *Store) tasksAheadSQL(t control.TaskRow, most int64) (string, []any) {
	return `SELECT COUNT(*) FROM (SELECT t.id FROM ing_task t` + s.d.taskIndex + `
		WHERE t.status_code='QUEUED' AND t.provenance_code=? AND t.endpoint_name=? AND t.operation_code=?
		AND (t.priority<? OR t.priority=? AND (t.scheduled_at<? OR t.scheduled_at=? AND t.id<?)) LIMIT ?) n`,
		[]any{t.Source, t.Endpoint, t.Operation, t.Priority, t.Priority, ts(t.DueAt), ts(t.DueAt), t.ID, most + 1}
}

// PartitionFacts reads what holds a partition back. An outage after whose last fault a
// PartitionFacts reads what fails and is worked on, by partition. Breakers, outages that
// nothing was stored after, and tasks in hand are few.
func (s *Store) PartitionFacts(ctx context.Context) (map[harvest.Partition]control.PartitionFacts, error) {
	out := map[harvest.Partition]control.PartitionFacts{}
	for _, read := range []func(context.Context, map[harvest.Partition]control.PartitionFacts) error{s.readBreakers, s.readUnanswered, s.readRunning} {
		if err := read(ctx, out); err != nil {
			return nil, fmt.Errorf("look at partitions: %w", err)
		}
	}
	return out, nil
}

func (s *Store) readBreakers(ctx context.Context, to map[harvest.Partition]control.PartitionFacts) error {
	return s.each(ctx, func(r *sql.Rows) error {
		var p harvest.Partition
		var b harvest.Breaker
		var until ts
		err := r.Scan(&p.Provenance, &p.Endpoint, &p.Operation, &b.Spent, &b.After, &until, &b.Trying)
		b.Until = until.time()
		f := to[p]
		f.Breaker = b
		to[p] = f
		return err
	}, `SELECT provenance_code, endpoint_name, operation_code, failures, break_after, rests_until, trying FROM ing_breaker`)
}

func (s *Store) readUnanswered(ctx context.Context, to map[harvest.Partition]control.PartitionFacts) error {
	return s.each(ctx, func(r *sql.Rows) error {
		var p harvest.Partition
		o, err := scanOutage(r.Scan, &p.Provenance, &p.Endpoint, &p.Operation)
		f := to[p]
		f.Outage = o
		to[p] = f
		return err
	}, `SELECT provenance_code, endpoint_name, operation_code, `+outageCols+` FROM ing_outage
		WHERE NOT EXISTS (SELECT 1 FROM ing_task_run_batch b WHERE b.provenance_code=ing_outage.provenance_code
			AND b.operation_code=ing_outage.operation_code AND b.status_code='SUCCEEDED' AND b.committed_at>ing_outage.last_at)`)
}

func (s *Store) readRunning(ctx context.Context, to map[harvest.Partition]control.PartitionFacts) error {
	return s.each(ctx, func(r *sql.Rows) error {
		var p harvest.Partition
		var running int64
		err := r.Scan(&p.Provenance, &p.Endpoint, &p.Operation, &running)
		f := to[p]
		f.Running = control.CountUpTo(running)
		to[p] = f
		return err
	}, `SELECT n.provenance_code, n.endpoint_name, n.operation_code, COUNT(*)
		FROM (SELECT t.provenance_code, t.endpoint_name, t.operation_code FROM ing_task t`+s.d.taskIndex+`
			WHERE `+isOneOf("t.status_code", harvest.TasksInHand)+` LIMIT ?) n
		GROUP BY n.provenance_code, n.endpoint_name, n.operation_code`, countMost)
}

// Workers lists who has tasks in hand.
func (s *Store) Workers(ctx context.Context, provenance string, now time.Time, most int) ([]control.WorkerRow, error) {
	out := []control.WorkerRow{}
	where := isOneOf("t.status_code", harvest.TasksInHand)
	args := []any{ts(now)}
	if provenance != "" {
		where += ` AND t.provenance_code=?`
		args = append(args, provenance)
	}
	err := s.each(ctx, func(r *sql.Rows) error {
		var w control.WorkerRow
		var until ts
		err := r.Scan(&w.Owner, &w.Tasks, &until, &w.Expired)
		w.Until = control.Time(until.time())
		out = append(out, w)
		return err
	}, `SELECT n.lease_owner, COUNT(*), MIN(n.leased_until), SUM(CASE WHEN n.leased_until<=? THEN 1 ELSE 0 END)
		FROM (SELECT COALESCE(t.lease_owner, '') AS lease_owner, t.leased_until FROM ing_task t`+s.d.taskIndex+` WHERE `+where+` LIMIT ?) n
		GROUP BY n.lease_owner ORDER BY n.lease_owner`, append(args, most)...)
	if err != nil {
		return nil, fmt.Errorf("list workers: %w", err)
	}
	return out, nil
}

// pagesOfPace bounds the pages by which it is told how those of a source and operation
// fare: they are rows, and not only entries of an index.
const pagesOfPace = 1000

// PagesSince sums up the pages of sources that ended since an instant, by source and
// operation. Where there are more than are looked at, the newest stand for all: they are
// counted for the whole time as often as they came in theirs.
func (s *Store) PagesSince(ctx context.Context, codes []string, since time.Time) (map[harvest.Partition]control.PagesFared, error) {
	now, err := s.Now(ctx)
	if err != nil {
		return nil, err
	}
	var asked []string
	for _, op := range source.Operations {
		for _, state := range []harvest.BatchState{harvest.BatchSucceeded, harvest.BatchFailed} {
			asked = append(asked, fmt.Sprintf(`SELECT ? AS code, '%s' AS operation, '%s' AS state, COUNT(*), COALESCE(SUM(n.http_429),0), COALESCE(SUM(n.sent),0),
				MIN(n.committed_at)
				FROM (SELECT http_429, sent, committed_at FROM ing_task_run_batch /*! FORCE INDEX (idx_batch_prov) */
				WHERE provenance_code=? AND operation_code='%s' AND status_code='%s' AND committed_at>? ORDER BY committed_at DESC LIMIT ?) n`,
				op, state, op, state))
		}
	}
	args := func(code string) (out []any) {
		for range asked {
			out = append(out, code, code, ts(since), pagesOfPace)
		}
		return out
	}
	out := map[harvest.Partition]control.PagesFared{}
	err = s.eachOf(ctx, codes, strings.Join(asked, ` UNION ALL `), args, func(r *sql.Rows) error {
		var p harvest.Partition
		var state harvest.BatchState
		var pages, throttled, sent int64
		var first ts
		if err := r.Scan(&p.Provenance, &p.Operation, &state, &pages, &throttled, &sent, &first); err != nil {
			return err
		}
		times := 1.0
		if looked := now.Sub(first.time()); pages == pagesOfPace && looked > 0 {
			times = max(1, float64(now.Sub(since))/float64(looked))
		}
		f := out[p]
		if state == harvest.BatchSucceeded {
			f.Stored = int64(float64(pages) * times)
		} else {
			f.Failed = int64(float64(pages) * times)
		}
		f.HTTP429 += int64(float64(throttled) * times)
		f.Sent += int64(float64(sent) * times)
		out[p] = f
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("sum up pages: %w", err)
	}
	return out, nil
}

// PlannedSources lists the sources of which anything was planned: from each the index
// leads to the next.
func (s *Store) PlannedSources(ctx context.Context) ([]string, error) {
	var out []string
	at := ""
	for {
		err := s.r.QueryRowContext(ctx, `SELECT provenance_code FROM ing_plan WHERE provenance_code>? ORDER BY provenance_code LIMIT 1`, at).Scan(&at)
		if errors.Is(err, sql.ErrNoRows) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("list planned sources: %w", err)
		}
		out = append(out, at)
	}
}
