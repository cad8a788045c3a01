package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// LeaseTasks takes up to r.Max tasks by compare-and-set: tasks that are due and
// queued, or held by someone whose lease has run out (R15), in a source that is
// neither paused nor stopped and has no more in hand than it may, by the order of [harvest.Turns]. A task that too
// many died with, a reply of it in hand, becomes a gap instead (R16).
func (s *Store) LeaseTasks(ctx context.Context, r harvest.LeaseRequest) ([]harvest.Job, error) {
	var jobs []harvest.Job
	var turns *harvest.Turns
	err := s.write(ctx, "lease tasks", func(x *tx) error {
		jobs, turns = nil, r.Turns.Clone()
		open, err := x.openBreakers()
		if err != nil {
			return err
		}
		may, err := x.mayTake(r, open)
		if err != nil {
			return err
		}
		hand, err := x.inHand(r)
		if err != nil {
			return err
		}
		if r.Provenance != "" && !hand.room(harvest.Partition{Provenance: r.Provenance, Operation: r.Operation}) {
			return nil // the queue need not be read to say so
		}
		tried := map[harvest.Partition]bool{} // one task tries for all of the partition
		q := &queue{tx: x, r: r, turns: turns, may: func(p harvest.Partition) bool { return !tried[p] && hand.room(p) && may(p) }}
		if err := q.died(); err != nil {
			return err
		}
		for range r.Max {
			t, any, err := q.next()
			if err != nil {
				return fmt.Errorf("look for tasks: %w", err)
			}
			if !any {
				break
			}
			if t.inHand >= harvest.MaxDeaths {
				if err := x.poison(t); err != nil {
					return err
				}
				continue
			}
			if b, resting := open[t.head.Partition]; resting {
				tried[t.head.Partition] = true
				if ok, err := x.try(t.head.Partition, b); err != nil {
					return err
				} else if !ok {
					continue
				}
			}
			n, err := x.exec(`UPDATE ing_task SET status_code='DISPATCHED', fence=fence+1, attempts=attempts+1, deaths=?,
				deaths_in_hand=?, lease_owner=?, leased_until=?, updated_at=?
				WHERE id=? AND fence=?
				AND `+mayBecome(harvest.TaskDispatched), t.deaths, t.inHand, r.Owner, ts(x.now.Add(r.TTL)), ts(x.now), t.id, t.fence)
			if err != nil {
				return fmt.Errorf("take task %d: %w", t.id, err)
			}
			if n == 0 {
				continue // somebody was faster
			}
			turns.CountTaken(t.head, x.now)
			hand.took(t.head.Partition)
			j, err := x.job(t.id)
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

type taken struct {
	id    harvest.TaskID
	fence int64
	slice harvest.SliceID
	// deaths of owners in a row, inHand those of them that had a reply in hand; the
	// last owner's is included.
	deaths, inHand int

	head harvest.Head
}

func (x *tx) job(id harvest.TaskID) (harvest.Job, error) {
	var j harvest.Job
	var spec string
	var base sql.NullString
	err := x.row(`SELECT t.plan_id, t.slice_id, t.provenance_code, t.operation_code, s.slice_spec, p.spec_fingerprint, p.base_url
		FROM ing_task t JOIN ing_plan_slice s ON s.id = t.slice_id JOIN ing_plan p ON p.id = t.plan_id WHERE t.id=?`, id).
		Scan(&j.Plan, &j.Slice, &j.Provenance, &j.Operation, &spec, &j.Fingerprint, &base)
	if err != nil {
		return j, fmt.Errorf("read task %d: %w", id, err)
	}
	j.BaseURL = base.String
	if err := json.Unmarshal([]byte(spec), &j.Spec); err != nil {
		return j, fmt.Errorf("slice of task %d: %w", id, err)
	}
	return j, nil
}

func (x *tx) poison(t taken) error {
	const reason = "process after process ended while it took the same reply apart, which may be what kills them; run the command again to try once more"
	n, err := x.exec(`UPDATE ing_task SET status_code='FAILED', fence=fence+1, scheduled_at=?, error_code=?, error=?, lease_owner=NULL,
		leased_until=NULL, updated_at=?
		WHERE id=? AND fence=?
		AND `+mayBecome(harvest.TaskFailed), ts(x.now.Add(harvest.RetryGap(12))), harvest.CodePoison, reason, ts(x.now), t.id, t.fence)
	if err != nil || n == 0 { // none: somebody was faster
		return err
	}
	if err := x.abandon(t.id, t.fence+1); err != nil {
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

// guard is the first statement of every write under a lease (R14): it renews
// the lease, and finds no row once the fence has moved, the task was
// cancelled, or the source was paused or stopped (R18).
func (x *tx) guard(l harvest.Lease) error {
	n, err := x.exec(`UPDATE ing_task SET leased_until=? WHERE id=? AND fence=? AND status_code='EXECUTING' AND `+x.notHeld(),
		ts(x.now.Add(l.TTL)), l.Task, l.Fence)
	if err != nil {
		return fmt.Errorf("guard task %d: %w", l.Task, err)
	}
	if n == 1 {
		return nil
	}
	return x.refused(l)
}

// notHeld is the part of the guard that looks at the source. Its row stays
// locked until the commit, so that a pause is over only when nothing that
// passed the guard before it is still to be committed. The row is there since
// the plan was saved.
func (x *tx) notHeld() string {
	return `(SELECT COALESCE(MAX(ss.paused + ss.stopped), 0) FROM ing_source_state ss
		WHERE ss.provenance_code = ing_task.provenance_code` + x.s.d.forShare + `) = 0`
}

// refused says why a guard found no row.
func (x *tx) refused(l harvest.Lease) error {
	var fence int64
	var state harvest.TaskState
	err := x.row(`SELECT fence, status_code FROM ing_task WHERE id=?`, l.Task).Scan(&fence, &state)
	switch {
	case err != nil:
		return fmt.Errorf("read task %d: %w", l.Task, err)
	case fence != l.Fence:
		return fmt.Errorf("task %d: fence is %d, lease has %d: %w", l.Task, fence, l.Fence, harvest.ErrLeaseLost)
	case state == harvest.TaskExecuting, state == harvest.TaskDispatched:
		return fmt.Errorf("task %d: its source is paused or stopped: %w", l.Task, harvest.ErrHeld)
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
// deaths make poison (R16); the page's commit takes the mark away. A task that has
// got on since an owner died is left unmarked.
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
