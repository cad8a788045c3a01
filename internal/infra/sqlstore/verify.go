package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// maxFindings bounds what one invariant reports; a broken store would
// otherwise list every row.
const maxFindings = 100

// verifier collects the findings of one invariant after the other.
type verifier struct {
	ctx context.Context
	s   *Store
	tx  *sql.Tx
	// The invariant that is being checked, and how many findings it has so far.
	invariant string
	rule      string
	found     int

	findings []control.Finding
}

// Verify is the integrity check: invariants I1 to I10 and orphans (C11), which
// docs/rulings.md explains. It only reads, all of it from one snapshot where the database
// can give one.
func (s *Store) Verify(ctx context.Context) ([]control.Finding, error) {
	t, err := s.patient(s.r.DB).BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: snapshotLevel(s.d)})
	if err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	defer t.Rollback() //nolint:errcheck // nothing was written
	v := &verifier{ctx: ctx, s: s, tx: t}
	for _, c := range []struct {
		name, rule string
		check      func() error
	}{
		{"I1", "the moves of a cursor form one chain", v.checkChains},
		{"I2", "all that a watermark has passed is proven, or a gap that was accepted", v.checkCoverage},
		{"I3", "the slices of a plan tile its window", v.checkTiling},
		{"I4", "a slice has one task, and what is written carries the fence of its owner", v.checkFences},
		{"I5", "the pages of a walk follow each other without a hole", v.checkOrdinals},
		{"I6", "a slice is done if its end is proven, and only then", v.checkProofs},
		{"I7", "a record has one row, and a version and an event for each revision", v.checkRevisions},
		{"I8", "every item of a page is accounted for", v.checkAccounts},
		{"I9", "only harvests move the cursor of a harvest", v.checkLineage},
		{"I10", "a plan's description is the one it was made with", v.checkFingerprints},
		{"C11", "every row belongs to one that exists", v.checkOrphans},
	} {
		v.invariant = c.name
		v.rule = c.rule
		v.found = 0
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("verify that %s: %w", c.rule, err)
		}
	}
	return v.findings, nil
}

// snapshotLevel is the isolation under which all reads of a transaction see one state of
// the database.
func snapshotLevel(d *dialect) sql.IsolationLevel {
	if d == mysqlDialect {
		return sql.LevelRepeatableRead
	}
	return sql.LevelDefault
}

// report keeps a finding, if the invariant does not have too many already.
func (v *verifier) report(object, format string, args ...any) {
	v.found++
	if v.found > maxFindings {
		return
	}
	v.findings = append(v.findings, control.Finding{
		Invariant: v.invariant,
		Rule:      v.rule,
		Object:    object,
		Detail:    fmt.Sprintf(format, args...),
	})
}

// each reads rows of the snapshot one by one.
func (v *verifier) each(scan func(*sql.Rows) error, q string, args ...any) error {
	rows, err := v.tx.QueryContext(v.ctx, q, args...)
	return eachRow(rows, err, scan)
}

// cursorHead is a cursor as it is checked. Where it began and where it stands are kept
// both as they are stored and as what that text means.
type cursorHead struct {
	id                  harvest.CursorID
	op                  harvest.Operation
	name                string
	dir                 harvest.Direction
	init, at            harvest.Mark
	initValue, nowValue string
}

// cursors reads all cursors.
func (v *verifier) cursors() ([]cursorHead, error) {
	var out []cursorHead
	err := v.each(func(r *sql.Rows) error {
		var c cursorHead
		var prov, scope, key string
		var at ts
		if err := r.Scan(&c.id, &prov, &c.op, &scope, &key, &c.dir, &c.initValue, &c.nowValue, &at); err != nil {
			return err
		}
		c.name = fmt.Sprintf("cursor %d (%s %s/%s)", c.id, prov, scope, key)
		c.at = at.mark(c.op)
		var err error
		c.init, err = parseMark(c.op, c.initValue)
		if err != nil {
			v.report(c.name, "init value %q cannot be read", c.initValue)
		}
		out = append(out, c)
		return nil
	}, `SELECT id, provenance_code, operation_code, namespace_scope_code, namespace_key, direction_code, init_value, cursor_value,
		normalized_instant
		FROM ing_cursor ORDER BY id`)
	return out, err
}

// checkChains reports cursors whose events do not form one chain: each goes on where the
// one before ended, and further, and the last ends at the cursor's value.
func (v *verifier) checkChains() error {
	cs, err := v.cursors()
	if err != nil {
		return err
	}
	for _, c := range cs {
		last := ""
		lastAt := harvest.Mark{}
		n := 0
		err := v.each(func(r *sql.Rows) error {
			var id int64
			var kind string
			var prev sql.NullString
			var next string
			var instant ts
			if err := r.Scan(&id, &kind, &prev, &next, &instant); err != nil {
				return err
			}
			at := instant.mark(c.op)
			switch {
			case n == 0 && (prev.Valid || kind == "ADVANCE"):
				v.report(c.name, "first event %d is not a beginning", id)
			case n > 0 && prev.String != last:
				v.report(c.name, "event %d goes on from %q, the one before ended at %q", id, prev.String, last)
			case n > 0 && !lastAt.IsZero() && !at.IsZero() && !c.dir.Further(lastAt, at):
				v.report(c.name, "event %d moves from %s to %s, not %s", id, last, next, c.dir)
			}
			if next != stored(at).value {
				v.report(c.name, "event %d says %s and %s", id, next, stored(at).value)
			}
			last = next
			lastAt = at
			n++
			return nil
		}, `SELECT id, kind_code, prev_value, new_value, new_instant FROM ing_cursor_event WHERE cursor_id=? ORDER BY id`, c.id)
		if err != nil {
			return err
		}
		if last != c.nowValue || lastAt != c.at {
			v.report(c.name, "value is %s, the last event says %s", c.nowValue, last)
		}
	}
	return nil
}

// checkCoverage reports cursors that are not at the end of the unbroken run of slices,
// from where they began, that are done or were accepted as gaps.
func (v *verifier) checkCoverage() error {
	cs, err := v.cursors()
	if err != nil {
		return err
	}
	for _, c := range cs {
		if c.init.IsZero() || c.at.IsZero() {
			continue // it was reported that the one or the other cannot be read
		}
		order := "1, 2"
		if c.dir == harvest.Backward {
			order = "2 DESC, 1 DESC"
		}
		var rerr error
		reach := harvest.LowWatermark(c.init, c.dir, func(yield func(harvest.Covered) bool) {
			rows, err := v.tx.QueryContext(v.ctx, `SELECT s.window_from, s.window_to, s.status_code, s.gap_accepted
				FROM ing_plan_slice s WHERE s.cursor_id=? AND s.status_code<>'RESLICED'`+notCoveredByOthers+notFolded+`
				UNION ALL SELECT v.window_from, v.window_to, 'DONE', 0 FROM ing_coverage v WHERE v.cursor_id=?
				ORDER BY `+order, c.id, c.id)
			if err != nil {
				rerr = err
				return
			}
			rerr = eachUntil(rows, func() (bool, error) {
				slice, err := scanCovered(rows, c.op)
				if err != nil {
					return false, err
				}
				return yield(slice), nil
			})
		})
		if rerr != nil {
			return rerr
		}
		if c.dir.Further(reach, c.at) {
			v.report(c.name, "watermark %s lies past what is proven, %s", stored(c.at).value, stored(reach).value)
		}
		if c.dir.Further(c.at, reach) {
			v.report(c.name, "watermark %s lags behind what is proven, %s", stored(c.at).value, stored(reach).value)
		}
	}
	return nil
}

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

// reportRows reports every row of a query that should find none: its id, and what is
// wrong with it.
func (v *verifier) reportRows(what, q string) error {
	return v.each(func(r *sql.Rows) error {
		var id, detail string
		if err := r.Scan(&id, &detail); err != nil {
			return err
		}
		v.report(what+" "+id, "%s", detail)
		return nil
	}, q)
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

// checkRevisions reports records that do not have one version and one outbox row for each
// revision, numbered from the first that is not archived, or that differ from their newest
// version.
func (v *verifier) checkRevisions() error {
	for _, tab := range []string{"ing_outbox", "ing_record_version"} {
		if err := v.reportRows("record", `SELECT r.id,
			CONCAT('has revision ', r.revision, ' and ', COUNT(o.id), ' rows in `+tab+`, from ', COALESCE(MIN(o.revision),0), ' to ',
			COALESCE(MAX(o.revision),0))
			FROM ing_record r LEFT JOIN `+tab+` o ON o.record_id=r.id GROUP BY r.id, r.revision, r.first_revision
			HAVING COUNT(o.id) <> r.revision-r.first_revision+1 OR COALESCE(MIN(o.revision),0) <> r.first_revision
			OR COALESCE(MAX(o.revision),0) <> r.revision`); err != nil {
			return err
		}
	}
	if err := v.reportRows("record", `SELECT r.id, 'differs from its newest version'
		FROM ing_record r JOIN ing_record_version v ON v.record_id=r.id AND v.revision=r.revision
		WHERE r.content_hash<>v.content_hash OR r.raw_sha256<>v.raw_sha256 OR r.status_code<>v.status_code`); err != nil {
		return err
	}
	if err := v.reportRows("record", `SELECT id, CONCAT('is ', status_code, ' and merged into ', COALESCE(merged_into, 'nothing'))
		FROM ing_record WHERE (status_code='MERGED') <> (merged_into IS NOT NULL)`); err != nil {
		return err
	}
	return v.reportRows("record", `SELECT MIN(id), CONCAT(COUNT(*), ' rows for one key') FROM ing_record
		GROUP BY provenance_code, record_type, ext_id HAVING COUNT(*) > 1`)
}

// checkAccounts reports pages whose items do not add up, and rows that came of a page
// which was not committed.
func (v *verifier) checkAccounts() error {
	for _, tab := range []string{"ing_record_version", "ing_quarantine", "ing_bad_id", "ing_signal"} {
		if err := v.reportRows(tab, `SELECT c.id, CONCAT('belongs to a page that was not committed, batch ', b.id)
			FROM `+tab+` c JOIN ing_task_run_batch b ON b.id=c.batch_id WHERE b.status_code<>'SUCCEEDED'`); err != nil {
			return err
		}
	}
	if err := v.reportRows("batch", `SELECT id, CONCAT('is SKIPPED, yet ', sent, ' requests were sent for it')
		FROM ing_task_run_batch WHERE status_code='SKIPPED' AND sent > 0`); err != nil {
		return err
	}
	return v.reportRows("batch", `SELECT id, CONCAT('has ', items, ' items, its account sums to ',
		inserted+updated+remapped+unchanged+stale+filtered+quarantined)
		FROM ing_task_run_batch WHERE status_code='SUCCEEDED' AND items <> inserted+updated+remapped+unchanged+stale+filtered+quarantined`)
}

// checkLineage reports moves of a HARVEST cursor by a plan that is none.
func (v *verifier) checkLineage() error {
	return v.reportRows("event", `SELECT e.id, CONCAT('moves a HARVEST cursor by a plan of ', p.operation_code)
		FROM ing_cursor_event e JOIN ing_plan p ON p.id=e.plan_id
		WHERE e.operation_code='HARVEST' AND p.operation_code<>'HARVEST'`)
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

// checkOrphans reports rows that name a parent which is neither there nor archived.
func (v *verifier) checkOrphans() error {
	for _, o := range [][3]string{
		{"ing_schedule_instance", "plan_id", "ing_plan"},
		{"ing_plan", "schedule_instance_id", "ing_schedule_instance"},
		{"ing_plan", "cursor_id", "ing_cursor"},
		{"ing_plan_slice", "plan_id", "ing_plan"},
		{"ing_plan_slice", "parent_id", "ing_plan_slice"},
		{"ing_plan_slice", "cursor_id", "ing_cursor"},
		{"ing_task", "schedule_instance_id", "ing_schedule_instance"},
		{"ing_task", "plan_id", "ing_plan"},
		{"ing_task", "slice_id", "ing_plan_slice"},
		{"ing_task_run", "task_id", "ing_task"},
		{"ing_task_run_batch", "run_id", "ing_task_run"},
		{"ing_task_run_batch", "task_id", "ing_task"},
		{"ing_task_run_batch", "slice_id", "ing_plan_slice"},
		{"ing_task_run_batch", "plan_id", "ing_plan"},
		{"ing_cursor", "plan_id", "ing_plan"},
		{"ing_cursor", "slice_id", "ing_plan_slice"},
		{"ing_cursor", "task_id", "ing_task"},
		{"ing_cursor", "run_id", "ing_task_run"},
		{"ing_cursor", "batch_id", "ing_task_run_batch"},
		{"ing_cursor_event", "cursor_id", "ing_cursor"},
		{"ing_cursor_event", "plan_id", "ing_plan"},
		{"ing_cursor_event", "slice_id", "ing_plan_slice"},
		{"ing_cursor_event", "task_id", "ing_task"},
		{"ing_cursor_event", "run_id", "ing_task_run"},
		{"ing_cursor_event", "batch_id", "ing_task_run_batch"},
		{"ing_record_version", "record_id", "ing_record"},
		{"ing_record_version", "batch_id", "ing_task_run_batch"},
		{"ing_outbox", "record_id", "ing_record"},
		{"ing_quarantine", "batch_id", "ing_task_run_batch"},
		{"ing_bad_id", "batch_id", "ing_task_run_batch"},
		{"ing_signal", "batch_id", "ing_task_run_batch"},
		{"ing_signal", "plan_id", "ing_plan"},
	} {
		if err := v.reportRows(o[0], `SELECT c.id, CONCAT('names `+o[2]+` ', c.`+o[1]+`, ', which is not there')
			FROM `+o[0]+` c LEFT JOIN `+o[2]+` p ON p.id=c.`+o[1]+` WHERE c.`+o[1]+` IS NOT NULL AND p.id IS NULL`+
			notArchived(o[2], "c."+o[1])); err != nil {
			return err
		}
	}
	if err := v.checkArchived(); err != nil {
		return err
	}
	return v.reportRows("batch", `SELECT b.id, 'is SUCCEEDED without a record of its end' FROM ing_task_run_batch b
		WHERE b.status_code='SUCCEEDED' AND b.after_position IS NULL`)
}
