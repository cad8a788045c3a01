package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// StartRun begins an attempt at a task: it closes what older attempts left open, and
// tells where the last committed page of the walk ended, so that a crash costs no more
// than the page that was in flight.
func (s *Store) StartRun(ctx context.Context, l harvest.Lease) (harvest.Resume, error) {
	var res harvest.Resume
	err := s.write(ctx, "start run", func(x *tx) error {
		res = harvest.Resume{BatchNo: 1}
		if err := x.lockSourceOf(l.Task); err != nil {
			return fmt.Errorf("start task %d: %w", l.Task, err)
		}
		n, err := x.exec(`UPDATE ing_task SET status_code='EXECUTING', leased_until=?, updated_at=?
			WHERE id=? AND fence=? AND `+mayBecome(harvest.TaskExecuting)+` AND `+x.notHeld(),
			ts(x.now.Add(l.TTL)), ts(x.now), l.Task, l.Fence)
		if err != nil {
			return fmt.Errorf("start task %d: %w", l.Task, err)
		}
		if n == 0 {
			return x.explainRefusal(l)
		}
		res.Unknown, err = x.hasUnknownPage(l.Task)
		if err != nil {
			return err
		}
		if err := x.abandon(l.Task, l.Fence); err != nil {
			return err
		}
		var slice, plan int64
		var deaths int
		var prov string
		var op harvest.Operation
		var from, to, cutAt ts
		if err := x.row(`SELECT t.attempts, t.deaths, t.spent_runs, t.walk_no, t.slice_id, t.plan_id, t.provenance_code,
			t.operation_code, s.window_from, s.window_to, s.created_at
			FROM ing_task t JOIN ing_plan_slice s ON s.id=t.slice_id WHERE t.id=?`, l.Task).
			Scan(&res.Attempt, &deaths, &res.Spent, &res.Walk, &slice, &plan, &prov, &op, &from, &to, &cutAt); err != nil {
			return fmt.Errorf("read task %d: %w", l.Task, err)
		}
		res.SearchAge = x.now.Sub(cutAt.time())
		res.Died = deaths > 0
		id, err := x.insert(`INSERT INTO ing_task_run (task_id, plan_id, attempt_no, fence, provenance_code, operation_code, lease_owner,
			status_code, window_from, window_to, started_at)
			VALUES (?,?,?,?,?,?,?,'RUNNING',?,?,?)`, l.Task, plan, res.Attempt, l.Fence, prov, op, l.Owner, from, to, ts(x.now))
		if err != nil {
			return fmt.Errorf("insert run: %w", err)
		}
		res.Run = harvest.RunID(id)
		if err := x.readCommitted(l.Task, &res); err != nil || op != harvest.Update {
			return err
		}
		return x.readFrozen(plan, spanOf(op, from, to), &res)
	})
	return res, err
}

// hasUnknownPage reports whether a page of the current walk may have been served and
// was never committed, whoever gave it up. Where the server holds the place of the
// walk, it may have moved past that page.
//
//	pages of the walk   1 SUCCEEDED   2 SUCCEEDED   3 FAILED    fate unknown: asked for, perhaps served
//	                                                3 SKIPPED   it was not asked for
//	                                                3 FAILED    with the code "not asked": the same, as it was written before
//	                                                3 FAILED    with the code "auth_refused": asked for, and not served
func (x *tx) hasUnknownPage(task harvest.TaskID) (bool, error) {
	var n int
	err := x.row(`SELECT COUNT(*) FROM ing_task_run_batch b JOIN ing_task t ON t.id = b.task_id
		WHERE b.task_id=? AND b.walk_no=t.walk_no AND b.phase='SEARCH' AND b.status_code NOT IN ('SUCCEEDED','SKIPPED')
		AND COALESCE(b.error_code, '') NOT IN (?,?)
		AND b.ordinal > COALESCE((SELECT MAX(d.ordinal) FROM ing_task_run_batch d
			WHERE d.task_id=b.task_id AND d.walk_no=b.walk_no AND d.phase='SEARCH' AND d.status_code='SUCCEEDED'), 0)`,
		task, harvest.CodeUnasked, harvest.CodeAuthRefused).Scan(&n)
	if err != nil {
		return false, fmt.Errorf("look for abandoned pages: %w", err)
	}
	return n > 0, nil
}

// readCommitted reads the committed pages of the current walk, and how the walk
// before it ended.
func (x *tx) readCommitted(task harvest.TaskID, res *harvest.Resume) error {
	prior, err := x.walkEnd(task, res.Walk-1)
	if err != nil {
		return err
	}
	res.Prior = prior
	return x.each(func(r *sql.Rows) error {
		var phase harvest.Phase
		var after string
		var ids, end sql.NullString
		var hashes []byte
		var committedAt ts
		if err := r.Scan(&phase, &after, &ids, &hashes, &end, &committedAt); err != nil {
			return err
		}
		pos, err := harvest.ParsePosition(after)
		if err != nil {
			return err
		}
		if phase == harvest.PhaseDetail {
			res.DetailDone++
			res.DetailAt = pos.Offset
			return nil
		}
		res.SearchDone++
		res.Search = pos
		res.SearchAge = x.now.Sub(committedAt.time())
		res.SearchEnd = harvest.EndProof(end.String)
		if ids.String != "" {
			res.IDs = append(res.IDs, strings.Split(ids.String, "\n")...)
		}
		res.Seen = append(res.Seen, hashList(hashes)...)
		return nil
	}, `SELECT phase, after_position, id_list, id_hashes, end_proof, committed_at FROM ing_task_run_batch
		WHERE task_id=? AND status_code='SUCCEEDED' AND walk_no=? ORDER BY phase DESC, ordinal`, task, res.Walk)
}

// walkEnd is the position at which a walk was proven to be over, nil if it was not.
func (x *tx) walkEnd(task harvest.TaskID, walk int) (*harvest.Position, error) {
	var after string
	err := x.row(`SELECT after_position FROM ing_task_run_batch WHERE task_id=? AND status_code='SUCCEEDED' AND walk_no=?
		AND phase='SEARCH' AND end_proof IS NOT NULL`, task, walk).Scan(&after)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the end of walk %d: %w", walk, err)
	}
	pos, err := harvest.ParsePosition(after)
	return &pos, err
}

// abandon closes every run and page of the task that an earlier owner left open, which
// a lower fence shows. After a run that ended as it should there are none.
func (x *tx) abandon(task harvest.TaskID, fence int64) error {
	if _, err := x.exec(`UPDATE ing_task_run_batch SET status_code='FAILED', error_code=?, committed_at=?
		WHERE task_id=? AND fence < ? AND `+mayBecome(harvest.BatchFailed),
		harvest.CodeAbandoned, ts(x.now), task, fence); err != nil {
		return fmt.Errorf("close abandoned pages: %w", err)
	}
	open, err := x.openRuns(`task_id=? AND fence < ?`, task, fence)
	if err != nil {
		return err
	}
	for _, r := range open {
		if err := x.closeRun(r.id, r.fence, harvest.RunFailed, harvest.CodeAbandoned, "", harvest.HealMarks{}); err != nil {
			return err
		}
	}
	if len(open) == 0 {
		return nil
	}
	p, err := x.partitionOfTask(task)
	if err != nil {
		return err
	}
	return x.countFault(fault{
		level: harvest.Transient, partition: p, code: harvest.CodeAbandoned, times: int64(len(open)), remedy: harvest.QueuedAgain,
		text: "a worker ended without a word",
	})
}

// NewWalk begins the slice again: the pages of the walk before no longer count. It
// returns the number of the new walk, and how many walks of the task have failed since
// it was queued. page is the one at which the walk before ended, if it is known
// what was asked for it and what came.
func (s *Store) NewWalk(
	ctx context.Context, l harvest.Lease, reason harvest.Code, failed bool, page *harvest.FailedPage,
) (walk, walks int, err error) {
	detail := ""
	if page != nil {
		detail = page.Error()
	}
	err = s.write(ctx, "begin new walk", func(x *tx) error {
		if err := x.guard(l); err != nil {
			return err
		}
		if err := x.closeBatches(l, page, reason, detail); err != nil {
			return err
		}
		if _, err := x.exec(`UPDATE ing_task SET walk_no=walk_no+1, walks=walks+?, reply_fence=0, updated_at=?
			WHERE id=? AND fence=?`, failed, ts(x.now), l.Task, l.Fence); err != nil {
			return err
		}
		p, err := x.partitionOfTask(l.Task)
		if err != nil {
			return err
		}
		if err := x.countFault(fault{
			level: harvest.Transient, partition: p, code: reason, text: detail, batch: pageOf(page), remedy: harvest.WalkedAgain,
		}); err != nil {
			return err
		}
		return x.row(`SELECT walk_no, walks FROM ing_task WHERE id=?`, l.Task).Scan(&walk, &walks)
	})
	return walk, walks, err
}

// EndRun closes an attempt that did not finish its slice.
func (s *Store) EndRun(ctx context.Context, l harvest.Lease, e harvest.RunEnd) error {
	return s.write(ctx, "end run", func(x *tx) error {
		if err := x.guard(l); err != nil {
			if !errors.Is(err, harvest.ErrHeld) {
				return err
			}
			// The task must be released all the same, or its lease would have to run out.
			return x.releaseHeld(l, e)
		}
		return x.endRun(l, e)
	})
}

// releaseHeld gives back a task whose source is paused or stopped, or closes the run
// of one that was cancelled. Whoever cancelled it may have closed the run too, and a
// commit whose success nobody heard of may have closed everything. Then the statements
// find no row, which is no fault.
func (x *tx) releaseHeld(l harvest.Lease, e harvest.RunEnd) error {
	if err := x.closeBatches(l, e.Page, harvest.CodeHeld, e.Error); err != nil {
		return err
	}
	var task harvest.TaskState
	if err := x.row(`SELECT status_code FROM ing_task WHERE id=?`, l.Task).Scan(&task); err != nil {
		return fmt.Errorf("read task %d: %w", l.Task, err)
	}
	state := harvest.RunPartial
	if task == harvest.TaskCancelled {
		state = harvest.RunCancelled
	}
	if _, err := x.closeOpenRun(e.Run, l.Fence, state, harvest.CodeHeld, e.Error, harvest.HealMarks{}); err != nil {
		return err
	}
	_, err := x.exec(`UPDATE ing_task SET status_code='QUEUED', lease_owner=NULL, leased_until=NULL, deaths=0, deaths_in_hand=0,
		reply_fence=0, updated_at=?
		WHERE id=? AND fence=? AND status_code='EXECUTING' AND `+mayBecome(harvest.TaskQueued),
		ts(x.now), l.Task, l.Fence)
	return err
}

// endRun closes the run and decides what becomes of its task: it is queued again, or
// its slice is given up as a gap, and with some faults its source is stopped.
func (x *tx) endRun(l harvest.Lease, e harvest.RunEnd) error {
	if e.Outcome == harvest.Released && e.Code == harvest.CodeCredentialUnreadable {
		hopeless, err := x.nobodyReadsKey(l.Task, e.Run)
		if err != nil {
			return err
		}
		if hopeless {
			e.Outcome = harvest.Stopped
		}
	}
	if err := x.closeBatches(l, e.Page, e.Code, e.Error); err != nil {
		return err
	}
	state := harvest.RunFailed
	if e.Outcome == harvest.Released {
		state = harvest.RunPartial // nothing went wrong, and nobody gave it up
	}
	opened, err := x.tellBreaker(l.Task, e)
	if err != nil {
		return err
	}
	var spent int
	var slice harvest.SliceID
	var prov string
	err = x.row(`SELECT spent_runs, slice_id, provenance_code FROM ing_task WHERE id=?`, l.Task).Scan(&spent, &slice, &prov)
	if err != nil {
		return err
	}
	if e.Outcome == harvest.Spent {
		spent++
	}
	marks := harvest.HealMarks{CircuitOpen: opened}
	remedy := harvest.LeftGap
	switch {
	case e.Outcome == harvest.Released, e.Outcome == harvest.Spent && spent < harvest.MaxSpentRuns:
		remedy = harvest.QueuedAgain
	case e.Code == harvest.CodeForbidden:
		forbidden, err := x.forbiddenBefore(prov, l.Task)
		if err != nil {
			return err
		}
		if forbidden+1 >= harvest.MaxForbidden {
			remedy = harvest.SourceStopped
			if err := x.stopSource(prov, fmt.Sprintf("%s: %d slices in a row were forbidden", e.Code, forbidden+1)); err != nil {
				return err
			}
		}
	case e.Outcome == harvest.Stopped:
		remedy = harvest.SourceStopped
		p, err := x.partitionOfTask(l.Task)
		if err != nil {
			return err
		}
		if err := x.stop(p, e.Code, e.Error); err != nil {
			return err
		}
	}
	if remedy == harvest.SourceStopped {
		marks.SourceStopped = e.Code
	}
	if err := x.closeRun(e.Run, l.Fence, state, e.Code, e.Error, marks); err != nil {
		return err
	}
	if remedy == harvest.QueuedAgain {
		if err := x.queueAgain(l, e, prov, spent); err != nil {
			return err
		}
		return x.countRunFault(l.Task, e, remedy)
	}
	if err := x.failTask(l, slice, e.Code, e.Error); err != nil {
		return err
	}
	return x.countRunFault(l.Task, e, remedy)
}

// nobodyReadsKey reports whether for long enough no process could read what the task needs: its runs, down to
// the one that goes on, ended for want of it, and no page of the source was stored since the first of them.
func (x *tx) nobodyReadsKey(task harvest.TaskID, now harvest.RunID) (bool, error) {
	var first ts
	err := x.row(`SELECT MIN(started_at) FROM ing_task_run WHERE task_id=? AND id >
		(SELECT COALESCE(MAX(r.id), 0) FROM ing_task_run r WHERE r.task_id=? AND r.id<? AND (COALESCE(r.error_code, '')<>? OR r.status_code='FAILED'))`,
		task, task, now, harvest.CodeCredentialUnreadable).Scan(&first)
	if err != nil {
		return false, fmt.Errorf("read the runs of task %d: %w", task, err)
	}
	if x.now.Sub(first.time()) < harvest.UnreadableFor {
		return false, nil
	}
	p, err := x.partitionOfTask(task)
	if err != nil {
		return false, err
	}
	var stored int
	err = x.row(`SELECT COUNT(*) FROM (SELECT 1 FROM ing_task_run_batch WHERE provenance_code=? AND operation_code=?
		AND status_code='SUCCEEDED' AND committed_at>=? LIMIT 1) newer`, p.Provenance, p.Operation, first).Scan(&stored)
	if err != nil {
		return false, fmt.Errorf("look for pages of %s: %w", p, err)
	}
	return stored == 0, nil
}

// queueAgain puts the task back into the queue, to be taken after a while. A source that
// asked to be left alone for very long is paused instead of being waited for.
func (x *tx) queueAgain(l harvest.Lease, e harvest.RunEnd, prov string, spent int) error {
	delay := e.Delay
	if e.Outcome == harvest.Spent {
		delay = max(delay, harvest.RetryRun(spent))
	}
	if e.Outcome == harvest.Spent || spent == 0 {
		// A wait hides no fault that came before it: whoever asks why the task
		// is late wants to know what the upstream said last.
		if _, err := x.exec(`UPDATE ing_task SET error_code=?, error=? WHERE id=? AND fence=?`,
			null(clip(e.Code, 64)), null(e.Error), l.Task, l.Fence); err != nil {
			return fmt.Errorf("note why task %d waits: %w", l.Task, err)
		}
	}
	err := x.become(fmt.Sprintf("task %d", l.Task), `UPDATE ing_task SET status_code='QUEUED', scheduled_at=?,
		lease_owner=NULL, leased_until=NULL, deaths=0, deaths_in_hand=0, reply_fence=0, spent_runs=?,
		walks=CASE WHEN ?='SPENT' THEN 0 ELSE walks END, updated_at=?
		WHERE id=? AND fence=? AND `+mayBecome(harvest.TaskQueued),
		ts(x.now.Add(delay)), spent, e.Outcome, ts(x.now), l.Task, l.Fence)
	if err != nil || delay <= harvest.LongestWait {
		return err
	}
	return x.pauseSource(prov, fmt.Sprintf("%s: asked to stay away for %s", e.Code, delay))
}

// failTask gives up the task, and its slice as a gap. The more often the slice was
// given up before, the later it is queued again.
func (x *tx) failTask(l harvest.Lease, slice harvest.SliceID, code harvest.Code, detail string) error {
	if err := x.failSlice(slice, string(code)+": "+detail); err != nil {
		return err
	}
	var fails int
	if err := x.row(`SELECT fail_count FROM ing_plan_slice WHERE id=?`, slice).Scan(&fails); err != nil {
		return err
	}
	return x.become(fmt.Sprintf("task %d", l.Task), `UPDATE ing_task SET status_code='FAILED', scheduled_at=?,
		lease_owner=NULL, leased_until=NULL, error_code=?, error=?, updated_at=?
		WHERE id=? AND fence=? AND `+mayBecome(harvest.TaskFailed),
		ts(x.now.Add(harvest.RetryGap(fails))), null(clip(code, 64)), null(detail), ts(x.now), l.Task, l.Fence)
}

// failSlice makes a slice a gap, and says why.
func (x *tx) failSlice(id harvest.SliceID, reason string) error {
	x.moved = append(x.moved, sliceMove{id, harvest.SliceReady, harvest.SliceFailed})
	return x.become(fmt.Sprintf("slice %d", id), `UPDATE ing_plan_slice SET status_code='FAILED', fail_count=fail_count+1,
		reason=?, updated_at=?
		WHERE id=? AND `+mayBecome(harvest.SliceFailed),
		null(reason), ts(x.now), id)
}

// forbiddenBefore counts how many slices of the source in a row were forbidden, from
// the one that ended last backwards, this task's not counted. It counts no further than
// what would stop the source (R42).
func (x *tx) forbiddenBefore(prov string, task harvest.TaskID) (n int, err error) {
	rows, err := x.sql.QueryContext(x.ctx, `SELECT error_code FROM ing_task
		WHERE provenance_code=? AND id<>? AND status_code IN ('SUCCEEDED','FAILED','PARTIAL')
		ORDER BY updated_at DESC, id DESC LIMIT ?`,
		prov, task, harvest.MaxForbidden-1)
	if err != nil {
		return 0, fmt.Errorf("read how slices ended: %w", err)
	}
	err = eachUntil(rows, func() (bool, error) {
		var code sql.NullString
		if err := rows.Scan(&code); err != nil || harvest.Code(code.String) != harvest.CodeForbidden {
			return false, err
		}
		n++
		return true, nil
	})
	return n, err
}

// pauseSource has nothing of the source asked until a person resumes it.
func (x *tx) pauseSource(prov, reason string) error {
	if err := x.ensureSourceRow(prov); err != nil {
		return err
	}
	_, err := x.exec(`UPDATE ing_source_state SET paused=1, reason=?, since=?, updated_at=?
		WHERE provenance_code=?`, null(reason), ts(x.now), ts(x.now), prov)
	return err
}

// stopSource marks the source as stopped by a fault, until a person has looked at it.
func (x *tx) stopSource(prov, reason string) error {
	if err := x.ensureSourceRow(prov); err != nil {
		return err
	}
	_, err := x.exec(`UPDATE ing_source_state SET stopped=1, reason=?, since=?, updated_at=?
		WHERE provenance_code=?`, null(reason), ts(x.now), ts(x.now), prov)
	return err
}

// ensureSourceRow makes sure that the source has a row for its state.
func (x *tx) ensureSourceRow(prov string) error {
	_, err := x.exec(x.s.d.insertIgnore+` INTO ing_source_state (provenance_code, updated_at) VALUES (?,?)`, prov, ts(x.now))
	return err
}
