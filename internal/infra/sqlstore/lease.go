package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// LeaseTasks takes up to r.Max tasks by compare-and-set, in the order of
// [harvest.Turns]: tasks that are due and queued, or held by someone whose lease has
// run out (R15). Their source must be neither paused nor stopped, and have no more
// tasks in hand than it may. A task with a reply of which in hand too many owners died
// becomes a gap instead (R16).
func (s *Store) LeaseTasks(ctx context.Context, r harvest.LeaseRequest) ([]harvest.Job, error) {
	var jobs []harvest.Job
	var turns *harvest.Turns
	err := s.write(ctx, "lease tasks", func(x *tx) error {
		jobs = nil
		turns = r.Turns.Clone() // a transaction that is tried again begins with the old ones
		b, err := x.readBars()
		if err != nil {
			return err
		}
		mayTake := x.takeable(r, b)
		hand, err := x.readInHand(r, b.most)
		if err != nil {
			return err
		}
		if r.Provenance != "" && !hand.hasRoom(harvest.Partition{Provenance: r.Provenance, Operation: r.Operation}) {
			return nil // the queue need not be read to say so
		}
		// A partition whose breaker is open is tried with one task, not with several.
		tried := map[harvest.Partition]bool{}
		q := &queue{tx: x, r: r, turns: turns, seen: map[harvest.TaskID]taken{}, mayTake: func(p harvest.Partition) bool {
			return !tried[p] && hand.hasRoom(p) && mayTake(p)
		}}
		for range r.Max {
			t, found, err := q.next()
			if err != nil {
				return fmt.Errorf("look for tasks: %w", err)
			}
			if !found {
				break
			}
			if t.deathsInHand >= harvest.MaxDeaths {
				if err := x.poison(t); err != nil {
					return err
				}
				continue
			}
			if breaker, isOpen := b.open[t.head.Partition]; isOpen {
				tried[t.head.Partition] = true
				ours, err := x.tryBreaker(t.head.Partition, breaker)
				if err != nil {
					return err
				}
				if !ours {
					continue
				}
			}
			n, err := x.exec(`UPDATE ing_task SET status_code='DISPATCHED', fence=fence+1, attempts=attempts+1, deaths=?,
				deaths_in_hand=?, lease_owner=?, leased_until=?, updated_at=?
				WHERE id=? AND fence=? AND `+mayBecome(harvest.TaskDispatched),
				t.deaths, t.deathsInHand, r.Owner, ts(x.now.Add(r.TTL)), ts(x.now), t.id, t.fence)
			if err != nil {
				return fmt.Errorf("take task %d: %w", t.id, err)
			}
			if n == 0 {
				continue // somebody was faster
			}
			turns.CountTaken(t.head, x.now)
			hand.countTaken(t.head.Partition)
			j, err := x.readJob(t.id)
			if err != nil {
				return err
			}
			j.Lease = harvest.Lease{Task: t.id, Fence: t.fence + 1, Owner: r.Owner, TTL: r.TTL}
			jobs = append(jobs, j)
		}
		return nil
	})
	if err == nil && r.Turns != nil {
		*r.Turns = *turns
	}
	return jobs, err
}

// taken is a task that is about to be taken, as it was found.
type taken struct {
	id    harvest.TaskID
	fence int64
	slice harvest.SliceID
	// deaths counts the owners in a row that died, the last one included, and
	// deathsInHand those of them that had a reply in hand.
	deaths, deathsInHand int
	// head is what led to it.
	head harvest.Head
}

// readJob reads what a worker has to know of a task.
func (x *tx) readJob(id harvest.TaskID) (harvest.Job, error) {
	var j harvest.Job
	var spec string
	var base, remarks sql.NullString
	err := x.row(`SELECT t.schedule_instance_id, t.plan_id, t.slice_id, t.provenance_code, t.endpoint_name, t.operation_code, s.slice_spec, p.spec_fingerprint, p.base_url, p.record_remarks,
		COALESCE(p.selection_id, 0)
		FROM ing_task t JOIN ing_plan_slice s ON s.id = t.slice_id JOIN ing_plan p ON p.id = t.plan_id WHERE t.id=?`, id).
		Scan(&j.Instance, &j.Plan, &j.Slice, &j.Provenance, &j.Endpoint, &j.Operation, &spec, &j.Fingerprint, &base, &remarks,
			&j.Selection)
	if err != nil {
		return j, fmt.Errorf("read task %d: %w", id, err)
	}
	j.BaseURL = base.String
	j.Trace = traceOf(remarks)
	if err := json.Unmarshal([]byte(spec), &j.Spec); err != nil {
		return j, fmt.Errorf("slice of task %d: %w", id, err)
	}
	return j, nil
}

// traceOf is where in a tree of spans a plan stands, by what was remarked of it; empty if
// nowhere. Remarks are for people: whatever else they are, they are no error.
func traceOf(remarks sql.NullString) string {
	var r struct {
		Trace string `json:"traceparent"`
	}
	if !strings.Contains(remarks.String, `"traceparent"`) || json.Unmarshal([]byte(remarks.String), &r) != nil {
		return ""
	}
	return r.Trace
}

// poison gives up a task that may kill whoever works on it: its slice becomes a gap.
func (x *tx) poison(t taken) error {
	const reason = "process after process ended while it took the same reply apart, which may be what kills them; " +
		"run the command again to try once more"
	n, err := x.exec(`UPDATE ing_task SET status_code='FAILED', fence=fence+1, scheduled_at=?, error_code=?, error=?, lease_owner=NULL,
		leased_until=NULL, updated_at=?
		WHERE id=? AND fence=? AND `+mayBecome(harvest.TaskFailed),
		ts(x.now.Add(harvest.RetryGap(12))), harvest.CodePoison, reason, ts(x.now), t.id, t.fence)
	if err != nil || n == 0 { // none: somebody was faster
		return err
	}
	if err := x.abandon(t.id, t.fence+1); err != nil {
		return err
	}
	if err := x.countRunFault(t.id, harvest.RunEnd{Outcome: harvest.Refused, Code: harvest.CodePoison, Error: reason}, harvest.LeftGap); err != nil {
		return err
	}
	x.s.log.Error("task is poison", "task", t.id, "slice", t.slice)
	err = x.failSlice(t.slice, string(harvest.CodePoison)+": "+reason)
	if errors.Is(err, harvest.ErrTransition) {
		// Everybody looks for work here, and must not stop for a slice that is not
		// as its task says. The task is given up, and `patra verify` names the slice.
		x.s.log.Error("the slice of a task that is poison was not open", "task", t.id, "slice", t.slice, "err", err)
		return nil
	}
	return err
}

// guard is the first statement of every write under a lease (R14): it renews the
// lease, and finds no row once another owner has taken the task, the task was
// cancelled, or the source was paused or stopped (R18). Its row stays locked until the
// commit, so nobody can take the task between the guard and what follows it.
func (x *tx) guard(l harvest.Lease) error {
	if err := x.lockSourceOf(l.Task); err != nil {
		return fmt.Errorf("guard task %d: %w", l.Task, err)
	}
	n, err := x.exec(`UPDATE ing_task SET leased_until=? WHERE id=? AND fence=? AND status_code='EXECUTING' AND `+x.notHeld(),
		ts(x.now.Add(l.TTL)), l.Task, l.Fence)
	if err != nil {
		return fmt.Errorf("guard task %d: %w", l.Task, err)
	}
	if n == 1 {
		return nil
	}
	return x.explainRefusal(l)
}

// notHeld is the part of the guard that looks at the source and at the endpoint. Their
// rows stay locked until the commit, so that a pause is over only when nothing that
// passed the guard before it is still to be committed. The rows are there since the
// plan was saved.
func (x *tx) notHeld() string {
	return `(SELECT COALESCE(MAX(ss.paused + ss.stopped), 0) FROM ing_source_state ss
		WHERE ss.provenance_code = ing_task.provenance_code` + x.s.d.forShare + `) = 0
		AND (SELECT COALESCE(MAX(es.paused + es.stopped), 0) FROM ing_endpoint_state es
		WHERE es.provenance_code = ing_task.provenance_code AND es.endpoint_name = ing_task.endpoint_name` + x.s.d.forShare + `) = 0`
}

// lockSourceOf locks the rows of a task's source and endpoint until the commit, where the guard by itself would not.
func (x *tx) lockSourceOf(task harvest.TaskID) error {
	if !x.s.d.locksApart {
		return nil
	}
	err := x.lockRows(`SELECT ss.provenance_code FROM ing_source_state ss
		WHERE ss.provenance_code=(SELECT t.provenance_code FROM ing_task t WHERE t.id=?)`, task)
	if err != nil {
		return err
	}
	return x.lockRows(`SELECT es.endpoint_name FROM ing_endpoint_state es
		WHERE es.provenance_code=(SELECT t.provenance_code FROM ing_task t WHERE t.id=?)
		AND es.endpoint_name=(SELECT t.endpoint_name FROM ing_task t WHERE t.id=?)`, task, task)
}

// explainRefusal says why a guard found no row.
func (x *tx) explainRefusal(l harvest.Lease) error {
	var fence int64
	var state harvest.TaskState
	err := x.row(`SELECT fence, status_code FROM ing_task WHERE id=?`, l.Task).Scan(&fence, &state)
	switch {
	case err != nil:
		return fmt.Errorf("read task %d: %w", l.Task, err)
	case fence != l.Fence:
		return fmt.Errorf("task %d: fence is %d, lease has %d: %w", l.Task, fence, l.Fence, harvest.ErrLeaseLost)
	case state == harvest.TaskExecuting, state == harvest.TaskDispatched:
		return fmt.Errorf("task %d: its source or endpoint is paused or stopped: %w", l.Task, harvest.ErrHeld)
	default:
		return fmt.Errorf("task %d is %s: %w", l.Task, state, harvest.ErrHeld)
	}
}

// RenewLease keeps the lease; it never touches the fence.
func (s *Store) RenewLease(ctx context.Context, l harvest.Lease) error {
	return s.write(ctx, "renew lease", func(x *tx) error {
		if err := x.guard(l); err != nil {
			return err
		}
		_, err := x.exec(`UPDATE ing_task SET renewals=renewals+1 WHERE id=? AND fence=?`, l.Task, l.Fence)
		return err
	})
}

// MarkReply notes that the reply of a page is in hand, before anything is done with
// it. Whoever dies under the mark may have been killed by that reply, and only such
// deaths make poison (R16); the page's commit takes the mark away. A task of which no
// owner has died, or which has got on since, is not marked, and marked is false.
func (s *Store) MarkReply(ctx context.Context, l harvest.Lease) (marked bool, err error) {
	err = s.write(ctx, "mark reply", func(x *tx) error {
		if err := x.guard(l); err != nil {
			return err
		}
		n, err := x.exec(`UPDATE ing_task SET reply_fence=fence WHERE id=? AND fence=? AND deaths>0`, l.Task, l.Fence)
		marked = n > 0
		return err
	})
	return marked, err
}
