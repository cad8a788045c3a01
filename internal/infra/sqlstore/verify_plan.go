package sqlstore

import (
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// checkTiling reports plans whose leaf slices do not tile the window, as far as it was
// cut, without a hole or an overlap.
//
//	HARVEST, UPDATE   window_from |--- sliced ---| sliced_to ........ window_to
//	BACKFILL          window_from ........ sliced_to |--- sliced ---| window_to
//
// Where sliced_to of a BACKFILL is the end of its window, the plan is of a time when none
// could be cut in part, and all of it was cut.
func (v *verifier) checkTiling() error {
	plan := int64(0)
	of := harvest.Part{}
	parts := []harvest.Part(nil)
	closePlan := func() {
		if plan == 0 {
			return
		}
		if err := harvest.Tile(of, parts); err != nil {
			v.report(fmt.Sprintf("plan %d", plan), "%v", err)
		}
	}
	err := v.each(func(r *sql.Rows) error {
		var id int64
		var op harvest.Operation
		var spec sql.NullString
		var wf, wt, from, to ts
		if err := r.Scan(&id, &op, &wf, &wt, &spec, &from, &to); err != nil {
			return err
		}
		if id != plan {
			closePlan()
			plan = id
			of = harvest.Part{Span: spanOf(op, wf, wt)}
			parts = parts[:0]
		}
		if !spec.Valid {
			return nil
		}
		var s harvest.SliceSpec
		if err := json.Unmarshal([]byte(spec.String), &s); err != nil {
			v.report(fmt.Sprintf("plan %d", plan), "a slice cannot be read: %v", err)
			return nil
		}
		p := s.Part()
		if of := spanOf(op, from, to); p.Span != of {
			v.report(fmt.Sprintf("plan %d", plan), "a slice says %s and %s", p.Span, of)
		}
		parts = append(parts, p)
		return nil
	}, `SELECT p.id, p.operation_code,
			CASE WHEN p.operation_code='BACKFILL' AND p.sliced_to<p.window_to THEN p.sliced_to ELSE p.window_from END,
			CASE p.operation_code WHEN 'BACKFILL' THEN p.window_to ELSE p.sliced_to END,
			s.slice_spec, s.window_from, s.window_to
		FROM ing_plan p LEFT JOIN ing_plan_slice s ON s.plan_id=p.id AND s.status_code<>'RESLICED'
		WHERE p.status_code NOT IN ('DRAFT','FAILED') AND NOT `+isSealed("p.id")+` ORDER BY p.id`)
	closePlan()
	return err
}

// checkFingerprints reports plans whose snapshot is not the one they were made with.
func (v *verifier) checkFingerprints() error {
	return v.each(func(r *sql.Rows) error {
		var id int64
		var want string
		var snap []byte
		if err := r.Scan(&id, &want, &snap); err != nil {
			return err
		}
		if got := source.FingerprintBytes(snap); got != want {
			v.report(fmt.Sprintf("plan %d", id), "snapshot hashes to %s, recorded is %s", got, want)
		}
		return nil
	}, `SELECT id, spec_fingerprint, spec_snapshot FROM ing_plan ORDER BY id`)
}

// checkFences reports slices with several tasks, and runs and pages that were written
// under a fence which their task, or run, did not have.
func (v *verifier) checkFences() error {
	if err := v.reportRows("slice", `SELECT slice_id, 'has more than one task' FROM ing_task GROUP BY slice_id
		HAVING COUNT(*) > 1`); err != nil {
		return err
	}
	if err := v.reportRows("run", `SELECT r.id, 'was written under a fence its task never had'
		FROM ing_task_run r JOIN ing_task t ON t.id=r.task_id WHERE r.fence > t.fence`); err != nil {
		return err
	}
	if err := v.reportRows("batch", `SELECT b.id, 'was written under another fence than its run'
		FROM ing_task_run_batch b JOIN ing_task_run r ON r.id=b.run_id WHERE b.fence <> r.fence`); err != nil {
		return err
	}
	return v.reportRows("run", `SELECT r.id, 'is RUNNING under a fence that has moved on' FROM ing_task_run r
		JOIN ing_task t ON t.id=r.task_id WHERE r.status_code='RUNNING' AND t.status_code IN ('QUEUED','SUCCEEDED','FAILED','PARTIAL')`)
}

// checkOrdinals reports walks whose committed pages are not numbered 1 to n, or do not
// begin each where the one before ended.
func (v *verifier) checkOrdinals() error {
	key := ""
	want := 1
	last := ""
	return v.each(func(r *sql.Rows) error {
		var task, walk, id int64
		var ordinal int
		var phase, before string
		var after sql.NullString
		if err := r.Scan(&id, &task, &walk, &phase, &ordinal, &before, &after); err != nil {
			return err
		}
		k := fmt.Sprintf("task %d walk %d %s", task, walk, phase)
		if k != key {
			key = k
			want = 1
			last = before
		}
		if ordinal != want {
			v.report(key, "batch %d has ordinal %d, expected %d", id, ordinal, want)
		}
		if before != last {
			v.report(key, "batch %d does not begin where the one before ended", id)
		}
		want = ordinal + 1
		last = after.String
		return nil
	}, `SELECT id, task_id, walk_no, phase, ordinal, before_position, after_position FROM ing_task_run_batch
		WHERE status_code='SUCCEEDED' ORDER BY task_id, walk_no, phase, ordinal`)
}

// checkProofs reports slices that are DONE without an end proof, and tasks that did not
// ask for the details of every id they found.
func (v *verifier) checkProofs() error {
	if err := v.reportRows("slice", `SELECT s.id, 'is DONE although its last walk has no end proof'
		FROM ing_plan_slice s JOIN ing_task t ON t.slice_id=s.id
		WHERE s.status_code='DONE' AND NOT EXISTS (SELECT 1 FROM ing_task_run_batch b
		WHERE b.task_id=t.id AND b.walk_no=t.walk_no AND b.status_code='SUCCEEDED' AND b.end_proof IS NOT NULL)`); err != nil {
		return err
	}
	if err := v.reportRows("slice", `SELECT s.id, 'is DONE without a task, and was not split off a proven prefix'
		FROM ing_plan_slice s LEFT JOIN ing_task t ON t.slice_id=s.id
		WHERE s.status_code='DONE' AND t.id IS NULL AND s.parent_id IS NULL`); err != nil {
		return err
	}
	// A prefix begins where the slice it was split off began, and that one has
	// pages to prove it by.
	if err := v.reportRows("slice", `SELECT s.id, 'is DONE without a task, and is no beginning that its parent has walked'
		FROM ing_plan_slice s JOIN ing_plan_slice p ON p.id=s.parent_id LEFT JOIN ing_task t ON t.slice_id=s.id
		WHERE s.status_code='DONE' AND t.id IS NULL AND (p.status_code<>'RESLICED' OR p.window_from<>s.window_from OR NOT EXISTS
			(SELECT 1 FROM ing_task pt JOIN ing_task_run_batch b ON b.task_id=pt.id AND b.walk_no=pt.walk_no
			AND b.status_code='SUCCEEDED' WHERE pt.slice_id=p.id))`); err != nil {
		return err
	}
	if err := v.reportRows("slice", `SELECT s.id, CONCAT('is ', s.status_code, ' while its task is ', t.status_code)
		FROM ing_plan_slice s JOIN ing_task t ON t.slice_id=s.id
		WHERE (s.status_code='DONE') <> (t.status_code='SUCCEEDED')
		OR (s.status_code='RESLICED') <> (t.status_code='PARTIAL')`); err != nil {
		return err
	}
	if err := v.reportRows("task", `SELECT t.id, CONCAT('found ', SUM(CASE WHEN b.phase='SEARCH' THEN b.asked ELSE 0 END),
		' ids and asked for ', SUM(CASE WHEN b.phase='DETAIL' THEN b.asked ELSE 0 END))
		FROM ing_task t JOIN ing_task_run_batch b ON b.task_id=t.id AND b.walk_no=t.walk_no AND b.status_code='SUCCEEDED'
		WHERE t.status_code='SUCCEEDED' AND t.operation_code<>'UPDATE'
		GROUP BY t.id
		HAVING SUM(CASE WHEN b.phase='SEARCH' THEN b.asked ELSE 0 END)
			<> SUM(CASE WHEN b.phase='DETAIL' THEN b.asked ELSE 0 END)`); err != nil {
		return err
	}
	return v.checkCandidates()
}

// checkCandidates reports UPDATE plans that do not have the candidates which their window
// counts, each once, and slices of them that are done and have not asked for all of
// their own (R9).
func (v *verifier) checkCandidates() error {
	if err := v.each(func(r *sql.Rows) error {
		var id, n, distinct, least, most int64
		var from, to ts
		if err := r.Scan(&id, &from, &to, &n, &distinct, &least, &most); err != nil {
			return err
		}
		first := from.mark(harvest.Update).Ordinal()
		want := to.mark(harvest.Update).Ordinal() - first
		if n != want || distinct != want || least != first || most != first+want-1 {
			v.report(fmt.Sprintf("plan %d", id), "is of %d candidates and froze %d, %d of them distinct, numbered %d to %d",
				want, n, distinct, least, most)
		}
		return nil
	}, `SELECT p.id, p.window_from, p.window_to, COUNT(c.ordinal), COUNT(DISTINCT c.ext_id), COALESCE(MIN(c.ordinal),0),
		COALESCE(MAX(c.ordinal),0)
		FROM ing_plan p LEFT JOIN ing_plan_candidate c ON c.plan_id=p.id WHERE p.operation_code='UPDATE'
		AND NOT `+isSealed("p.id")+`
		GROUP BY p.id, p.window_from, p.window_to`); err != nil {
		return err
	}
	return v.each(func(r *sql.Rows) error {
		var id, asked int64
		var from, to ts
		if err := r.Scan(&id, &from, &to, &asked); err != nil {
			return err
		}
		if want := to.mark(harvest.Update).Ordinal() - from.mark(harvest.Update).Ordinal(); asked != want {
			v.report(fmt.Sprintf("task %d", id), "has %d candidates and asked for %d", want, asked)
		}
		return nil
	}, `SELECT t.id, s.window_from, s.window_to, SUM(b.asked) FROM ing_task t JOIN ing_plan_slice s ON s.id=t.slice_id
		JOIN ing_task_run_batch b ON b.task_id=t.id AND b.walk_no=t.walk_no AND b.status_code='SUCCEEDED'
		WHERE t.status_code='SUCCEEDED' AND t.operation_code='UPDATE' GROUP BY t.id, s.window_from, s.window_to`)
}
